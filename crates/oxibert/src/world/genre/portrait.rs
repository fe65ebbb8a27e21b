//! An encyclopedia's entry on a person: the facts of the world, the same in every document.

use crate::world::event::{Event, Frame, frame};
use crate::world::facts::PersonId;
use crate::world::lexicon::{PUPIL, THINGS};
use crate::world::scene::{Scene, Story, event};

static TITLE: Frame = frame(&["{who.full}"], &["{who.full}"]);
static IS: Frame = frame(
    &[
        "{who.full} is a {job} in {home}.",
        "{who.full} is a {job} who lives in {home}.",
        "a {job} named {who.full} lives in the {home.kind} of {home}.",
        "the {job} {who.full} lives and works in {home}.",
    ],
    &[
        "{who.full}是{home}的{job}。",
        "{who.full}是住在{home}的一位{job}。",
        "{home}有一位叫{who.full}的{job}。",
        "{job}{who.full}在{home}生活和工作。",
    ],
);
static BORN: Frame = frame(
    &[
        "{who} was born in {birth} in {year.digits} and is {age.years} old.",
        "{who} is {age.years} old and was born in {birth}.",
        "{who.his} birthplace is {birth}, where {who.he} was born in {year.digits}.",
        "in {year.digits} {who} was born in {birth}.",
    ],
    &[
        "{who}{year.digits}年出生在{birth}，今年{age}岁。",
        "{who}今年{age}岁，出生在{birth}。",
        "{who}的出生地是{birth}，{who.he}生于{year.digits}年。",
        "{year.digits}年，{who}在{birth}出生。",
    ],
);
static MARRIED: Frame = frame(
    &[
        "{who.his} {spouse.wife} {spouse.full} is a {sjob}.",
        "{who} is married to {spouse.full}, a {sjob}, and has two children, {one.call} and {two.call}.",
        "with {spouse.full} {who} has two children, {one.call} and {two.call}.",
    ],
    &[
        "{who.he}的{spouse.wife}{spouse.full}是{sjob}。",
        "{who}和{sjob}{spouse.full}结了婚，有两个孩子，{one.full}和{two.full}。",
        "{who}和{spouse.full}有两个孩子，{one.full}和{two.full}。",
    ],
);
static CHILD: Frame = frame(
    &[
        "{who.his} father is the {fjob} {father.full}, and {who.his} mother is the {mjob} {mother.full}.",
        "{who} is the {who.daughter} of {father.full}, a {fjob}, and {mother.full}, a {mjob}.",
        "{who} grew up as the {who.daughter} of the {mjob} {mother.full}.",
    ],
    &[
        "{who.he}的父亲是{fjob}{father.full}，母亲是{mjob}{mother.full}。",
        "{who}是{fjob}{father.full}和{mjob}{mother.full}的{who.daughter}。",
        "{who}是{mjob}{mother.full}的{who.daughter}。",
    ],
);
static WORKS: Frame = frame(
    &[
        "[every day|on most days|six days a week] {who.he} can be found {spot.at} with {tool.a} in {who.his} hand.",
        "{who} has learned to {work} and does it {spot.at} [in {home}|with {tool.a}|with pleasure].",
        "{who} likes to {work}, and {what.a} from {who.his} hands costs {n.coins}[ in {home}| on market day|, which is not too much].",
    ],
    &[
        "[每天|几乎每天|一星期六天]都能看见{who}拿着{tool}在{spot.at}忙碌。",
        "{who}学会了{work}，[每天|高高兴兴地|拿着{tool}]在[{home}的|]{spot.at}干活。",
        "{who}喜欢{work}，{who.he}的{what}[在{home}|赶集时|]每{what.measure}卖{n.coins}。",
    ],
);
static STUDIES: Frame = frame(
    &[
        "{who} still goes to school and learns arithmetic with {who.his} friend {friend.full}.",
        "at school {who.he} sits beside {friend.full} and likes to draw.",
    ],
    &[
        "{who}还在上学，和朋友{friend.full}一起学算术。",
        "在学校里，{who.he}坐在{friend.full}旁边，喜欢画画。",
    ],
);
static CHARACTER: Frame = frame(
    &[
        "those who know {who.obj} [well|from {home}|as a {job}] say that {who.he} is {trait} and never {opposite}.",
        "{who} is not {opposite} but {trait}, [says {friend.full}|as all of {home} knows|even on a bad day].",
        "in {home} everyone knows how {trait} {who.name} is [as a {job}|at home|to everybody|with {who.his} {pet}].",
    ],
    &[
        "[在{home}|当{job}时|很早就]认识{who}的人都说{who.he}很{trait}。",
        "有人{opposite}，{who}却很{trait}[，{friend.full}说|，{home}人都知道|]。",
        "{home}人人都知道[当{job}的|]{who.name}[对谁都|对{pet}|总是]很{trait}。",
    ],
);
static LIKES: Frame = frame(
    &[
        "{who.s} favourite food is {good} {food}[, like that of {friend.full}|, which {who.he} shares with {who.his} {pet}|].",
        "{who} likes {good} {food} but hates {bad} {food}[, as everyone in {home} knows|, and so does {friend.full}|].",
        "on {who.his} birthday {who} always gets {food.a} [from {friend.full}|and sings|in {home}].",
    ],
    &[
        "{who}最喜欢{good}的{food}[，和{friend.full}一样|，{who.he}的{pet}也喜欢|]。",
        "{who}喜欢{food}，可是不喜欢{bad}的[，{home}人人都知道|，{friend.full}也一样|]。",
        "每年过生日，{who}都会[从{friend.full}那里|在{home}|]得到{food.a}。",
    ],
);
static HOBBY: Frame = frame(
    &[
        "in {who.his} free time {who} likes to {hobby} [with {friend.full}|in {home}|alone|while {who.his} {pet} watches].",
        "{who} plays the {instrument} [in {home}|with {friend.full}|in the evening] and enjoys {hobby.ing}.",
        "when the work is done, {who} likes {hobby.ing} [best|most of all|with {friend.full}|or playing the {instrument}].",
    ],
    &[
        "闲暇时{who}喜欢[和{friend.full}一起|在{home}|独自|带着{pet}]{hobby}。",
        "{who}[在{home}|和{friend.full}|晚上]演奏{instrument}，也喜欢{hobby}。",
        "干完活以后，{who}[最|特别|总]喜欢[和{friend.full}一起|]{hobby}。",
    ],
);
static PET: Frame = frame(
    &[
        "{who} has a {colour} {pet}, which follows {who.him} [everywhere|through {home}|to {friend.full}].",
        "a {colour} {pet} lives in {who.s} house [in {home}|and eats {food}|and is afraid of {friend.full}].",
        "{who.s} {pet} is {colour} and likes {food} [too|more than {who.he} does|and {friend.full}].",
    ],
    &[
        "{who}养了一{pet.measure}{colour}的{pet}，[走到哪里都|在{home}总是|去找{friend.full}时也]跟着{who.he}。",
        "{who}[在{home}的|]家里住着一{pet.measure}{colour}的{pet}[，爱吃{food}|，害怕{friend.full}|]。",
        "{who}的{pet}是{colour}的，[也|比{who.he}更|和{friend.full}一样]喜欢{food}。",
    ],
);
static FRIEND: Frame = frame(
    &[
        "{who.his} best friend is {friend.full}, a {fjob}.",
        "{who} has known {friend.full}, the {fjob}, since they were children.",
        "{who} and the {fjob} {friend.full} are close friends.",
    ],
    &[
        "{who.he}最好的朋友是{fjob}{friend.full}。",
        "{who}和{fjob}{friend.full}从小就认识。",
        "{who}和{fjob}{friend.full}是好朋友。",
    ],
);
static DREAM: Frame = frame(
    &[
        "{who} hopes to travel to {far} one day[ and see its {landmark}|].",
        "{who} often speaks of {far}, where {who.he} would like to live.",
        "one day {who} wants to own {what.a}[ and show it to {friend.full}|, if the money allows it| and leave {home} with it].",
    ],
    &[
        "{who}希望有一天能去{far}[看看那里的{landmark}|]。",
        "{who}常常说起{far}，很想到那里生活。",
        "{who}希望有一天能有{what.a}[，给{friend.full}看看|，只要钱够|]。",
    ],
);

/// An entry on a person.
pub(crate) fn story(mut scene: Scene<'_>) -> Story {
    let index = scene.random.below(scene.cast.len() as u64) as usize;
    let who = scene.cast[index];
    let is = about(&scene, who, &IS);
    scene.tell(is);
    let mut parts = vec![about(&scene, who, &BORN), family(&scene, who), work(&scene, who)];
    let mut more = [tastes(&scene, who), vec![dream(&scene, who)]].concat();
    scene.random.shuffle(&mut more);
    let length = scene.random.between(3, more.len() as u32) as usize;
    parts.extend(more.into_iter().take(length));
    parts.into_iter().for_each(|part| scene.tell(part));
    scene.finish(event(&TITLE).with("who", who))
}

fn about(scene: &Scene<'_>, who: PersonId, frame: &'static Frame) -> Event {
    let person = scene.facts.person(who);
    let base = event(frame).with("who", who).with("home", person.home).with("birth", person.birthplace);
    let base = base.with("year", person.born).with("age", person.age()).with("job", &person.job.name);
    let friend = scene.facts.friend(who);
    base.with("food", &person.food.word).with("pet", person.pet).with("friend", friend)
}

fn family(scene: &Scene<'_>, who: PersonId) -> Event {
    let facts = scene.facts;
    let job = |id: PersonId| &facts.person(id).job.name;
    if let (Some(spouse), Some([one, two])) = (facts.spouse(who), facts.children(who)) {
        let married = about(scene, who, &MARRIED).with("spouse", spouse).with("sjob", job(spouse));
        return married.with("one", one).with("two", two);
    }
    let [father, mother] = facts.parents(who).expect("who is no parent is a child");
    let child = about(scene, who, &CHILD).with("father", father).with("mother", mother);
    child.with("fjob", job(father)).with("mjob", job(mother))
}

fn work(scene: &Scene<'_>, who: PersonId) -> Event {
    let job = scene.facts.person(who).job;
    if *job == PUPIL {
        return about(scene, who, &STUDIES);
    }
    let works = about(scene, who, &WORKS).with("spot", &job.place).with("tool", &job.tool);
    works.with("work", &job.work).with("what", &job.product).with("n", job.price)
}

fn tastes(scene: &Scene<'_>, who: PersonId) -> Vec<Event> {
    let person = scene.facts.person(who);
    let character = about(scene, who, &CHARACTER).with("trait", &person.character.0);
    let friend_job = &scene.facts.person(scene.facts.friend(who)).job.name;
    vec![
        character.with("opposite", &person.character.1),
        about(scene, who, &LIKES).with("good", &person.food.good).with("bad", &person.food.bad),
        about(scene, who, &HOBBY).with("hobby", person.hobby).with("instrument", person.instrument),
        about(scene, who, &PET).with("colour", person.pet_colour),
        about(scene, who, &FRIEND).with("fjob", friend_job),
    ]
}

/// What somebody dreams of is a fact too: it follows from who they are.
fn dream(scene: &Scene<'_>, who: PersonId) -> Event {
    let neighbours = scene.facts.neighbours(scene.place);
    let far = neighbours[who.0 % neighbours.len()];
    let thing = &THINGS[who.0 % THINGS.len()];
    let dream = about(scene, who, &DREAM).with("far", far).with("what", &thing.word);
    dream.with("landmark", scene.facts.place(far).landmark)
}
