//! Small misfortunes and how they end well: a thing lost, a tool broken, food stolen, an animal gone.

use crate::world::event::{Frame, frame};
use crate::world::facts::PersonId;
use crate::world::lexicon::{ANIMALS, FOODS, HIDEOUTS, SPOTS};
use crate::world::scene::{Scene, event};

/// Somebody close: a parent, the wife or husband, or the friend, but nobody who is in the scene by role.
fn relative(scene: &Scene<'_>, of: PersonId) -> PersonId {
    let facts = scene.facts;
    facts.parents(of).map(|[_, mother]| mother).or(facts.spouse(of)).unwrap_or_else(|| facts.friend(of))
}

static LOST: Frame = frame(
    &[
        "{who} could not find {who.his} {good} {what} anywhere.",
        "{who} lost {who.his} {what} somewhere near {spot.the}.",
        "{who.s} {what} had [disappeared|vanished] without a trace.",
        "{who} noticed that {who.his} {what} {what.was} gone.",
    ],
    &[
        "{who}怎么也找不到自己那{what.measure}很{good}的{what}了。",
        "{who}在{spot}附近把{what}弄丢了。",
        "{who}的{what}[不见了|忽然没有了踪影]。",
        "{who}发现自己的{what}不见了。",
    ],
);
static MISSED: Frame = frame(
    &[
        "{who} {who.was} [sad|worried|upset], because {what.the} had been a present from {rel.obj}.",
        "{rel} had given {what.it} to {who.obj} [years ago|last winter|long ago], so {who} {who.was} [sad|unhappy].",
        "{who} {who.was} close to tears, for {what.the} had once belonged to {rel.obj}.",
    ],
    &[
        "{who}[很难过|很着急|很伤心]，因为那是{rel}送给{who.he}的礼物。",
        "{what.that}是{rel}[几年前|去年冬天|很久以前]送的，所以{who}[很难过|很不开心]。",
        "{who}差点哭出来，因为{what.that}原来是{rel}的。",
    ],
);
static SEARCHED: Frame = frame(
    &[
        "{who} looked {one.at} and {two.at}, but {what.the} {what.was} not there.",
        "{who} searched {one.the} and {two.the} in vain.",
        "first {who.he} went to {one.the}, then to {two.the}, but found nothing.",
    ],
    &[
        "{who}到{one}和{two}都找过了，可是{what}不在那里。",
        "{who}找遍了{one}和{two}，[什么也没找到|还是没有]。",
        "{who}先去了{one}，又去了{two}，都没有找到{what}。",
    ],
);
static FOUND: Frame = frame(
    &[
        "{whom} found {what.the} {hid.at} and brought {what.it} back.",
        "{whom} saw something {hid.at}: it was the missing {what}!",
        "{what.the} {what.was} lying {hid.at}, where {whom} discovered {what.it}.",
    ],
    &[
        "{whom}在{hid.at}找到了{what}，把它送了回来。",
        "{whom}看见{hid.at}有什么东西，原来就是丢了的{what}！",
        "{what}就在{hid.at}，被{whom}发现了。",
    ],
);
static THANKED: Frame = frame(
    &[
        "{who} thanked {whom.obj} [warmly|with all {who.his} heart] and gave {whom.him} {food.a}.",
        "full of joy, {who} gave {whom.obj} {food.a} as a reward.",
        "\"Thank you!\" {who} said, and {whom} got {food.a} for {whom.his} [help|trouble].",
        "{whom} wanted no money for {whom.his} help, so {who} [brought|gave] {whom.him} {food.a}.",
    ],
    &[
        "{who}[再三|衷心]感谢{whom}，还送给{whom.he}{food.a}。",
        "{who}高兴极了，送给{whom}{food.a}作为报答。",
        "“谢谢你！”{who}说，又拿出{food.a}[答谢|送给]{whom}。",
        "{whom}帮了忙却不肯收钱，{who}就送给{whom.he}{food.a}。",
    ],
);

/// Somebody loses a thing; somebody else finds it.
pub(crate) fn lost(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let rel = relative(scene, who);
    let whom = scene.other(&[who, rel]);
    let thing = scene.belonging(who);
    scene.give(thing, who);
    let (one, two) = scene.two(&SPOTS);
    let hid = scene.random.pick(&HIDEOUTS);
    let about = |frame| event(frame).with("who", who).with("what", &thing.word);
    scene.begin(about(&LOST).with("good", &thing.good).with("spot", one));
    if scene.random.chance(0.6) {
        scene.tell(about(&MISSED).with("rel", rel));
    }
    scene.tell(about(&SEARCHED).with("one", one).with("two", two));
    scene.conclude(about(&FOUND).with("whom", whom).with("hid", hid));
    thank(scene, who, whom);
}

/// Thanks with something for the table.
pub(super) fn thank(scene: &mut Scene<'_>, who: PersonId, whom: PersonId) {
    let food = &scene.random.pick(&FOODS).word;
    scene.tell(event(&THANKED).with("who", who).with("whom", whom).with("food", food));
}

static BROKE: Frame = frame(
    &[
        "while {who} {who.was} working {spot.at}, {who.his} {what} broke in two.",
        "{who.s} {what} broke, so {who.he} could not [{work}|go on].",
        "{who} dropped {who.his} {what} {spot.at}, and {what.they} broke.",
    ],
    &[
        "{who}正在{spot.at}干活，{what}忽然断成了两截。",
        "{who}的{what}坏了，没法再{work}。",
        "{who}在{spot.at}失手掉了{what}，{what}摔坏了。",
    ],
);
static BROUGHT: Frame = frame(
    &[
        "{who} took the broken {what} to {whom.obj}, who knew how to mend almost anything.",
        "\"Can you mend this?\" {who} asked {whom.obj}, holding up the broken {what}.",
        "{whom} looked at the pieces and said that {what.the} could be saved.",
    ],
    &[
        "{who}把坏了的{what}拿给{whom}，{whom.he}几乎什么都会修。",
        "“这个能修好吗？”{who}举着坏了的{what}问{whom}。",
        "{whom}看了看坏掉的地方，说{what}还有救。",
    ],
);
static MENDED: Frame = frame(
    &[
        "{whom} [mended|repaired] {what.the} in {h.hours} and asked for only {n.coins}.",
        "{h.hours} later {what.the} {what.was} whole again, and {who} paid {n.coins}.",
        "{whom} needed {h.hours} for the repair, and {who} gave {whom.him} {n.coins}.",
    ],
    &[
        "{whom}用{h.hours}修好了{what}，只收{n.coins}。",
        "{h.hours}以后，{what}又完好如初了，{who}付了{n.coins}。",
        "{whom}修了{h.hours}，{who}给了{whom.he}{n.coins}。",
    ],
);
static RESUMED: Frame = frame(
    &[
        "{who} could [{work}|work] again, and {what.the} {what.was} as good as new.",
        "now that {what.the} {what.was} no longer broken, {who} went back to {spot.the}.",
        "{who} tried {what.the} out at once {spot.at}, and this time nothing broke.",
    ],
    &[
        "{who}又可以{work}了，{what}和新的一样。",
        "{what}修好了，{who}又回到了{spot.at}。",
        "{who}马上在{spot.at}试了试，这一次{what}没有再坏。",
    ],
);

/// A tool breaks and is mended.
pub(crate) fn broken(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let job = scene.facts.person(who).job;
    let (hours, coins) = (scene.random.between(1, 5), scene.random.between(2, 8));
    let about = |frame| {
        let tool = event(frame).with("who", who).with("whom", whom).with("what", &job.tool);
        tool.with("spot", &job.place).with("work", &job.work)
    };
    scene.begin(about(&BROKE));
    scene.tell(about(&BROUGHT));
    scene.tell(about(&MENDED).with("h", hours).with("n", coins));
    scene.tell(about(&RESUMED));
}

static STOLEN: Frame = frame(
    &[
        "{n:food} were missing from {who.s} kitchen.",
        "{who} counted {who.his} stores and found that {n:food} had been stolen.",
        "somebody had stolen {n:food} from {who.obj}.",
    ],
    &["{who}的厨房里少了{n:food}。", "{who}清点存货，发现少了{n:food}。", "有人从{who}家里偷走了{n:food}。"],
);
static SUSPECTED: Frame = frame(
    &[
        "{who} thought that {whom} was the thief, but {whom} had been {spot.at} all night.",
        "\"Was it you?\" {who} asked {whom.obj}, who had been {spot.at} and knew nothing.",
        "{who} suspected {whom.obj}, although {whom} was known to be {trait}.",
    ],
    &[
        "{who}以为是{whom}干的，可是{whom}整夜都在{spot.at}。",
        "“是你吗？”{who}问{whom}，可{whom}一直在{spot.at}，什么都不知道。",
        "{who}怀疑{whom}，虽然大家都知道{whom}很{trait}。",
    ],
);
static WATCHED: Frame = frame(
    &[
        "that night {who.name} and {whom.name} hid {hid.at} and waited for the thief.",
        "{whom.name} and {who.name} kept watch together after dark, hidden {hid.at}.",
        "to catch the thief, {whom.name} and {who.name} spent half the night {hid.at}.",
    ],
    &[
        "当天夜里，{who.name}和{whom.name}躲在{hid.at}，等着小偷出现。",
        "{whom.name}和{who.name}天黑后藏在{hid.at}，一起守着。",
        "为了抓小偷，{whom.name}和{who.name}在{hid.at}守了半夜。",
    ],
);
static CAUGHT: Frame = frame(
    &[
        "it was a {colour} {animal} that came in and ate the {food}!",
        "{who} saw {animal.a} creep in, and the {animal} was the thief!",
        "then a {colour} {animal} came through the door and ate the {food}.",
    ],
    &[
        "来的竟是一{animal.measure}{colour}的{animal}，见了{food}就吃！",
        "{who}看见{animal.a}溜进来，原来{animal}才是小偷！",
        "这时一{animal.measure}{colour}的{animal}从门口溜进来，吃起了{food}。",
    ],
);
static EXCUSED: Frame = frame(
    &[
        "{who} laughed, said sorry to {whom.obj} and locked the door well.",
        "{who} {who.was} ashamed and asked {whom.obj} to forgive {who.him}.",
        "\"I was wrong about you,\" {who} told {whom.obj}, and {they} laughed about it together.",
    ],
    &[
        "{who}笑了，向{whom}道歉，又把门关得严严实实。",
        "{who}很惭愧，请{whom}原谅{who.he}。",
        "“我错怪你了。”{who}对{whom}说，{they}一起笑了起来。",
    ],
);

/// Food is stolen, a neighbour is suspected, an animal did it.
pub(crate) fn thief(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let friend = scene.facts.person(whom);
    // The first ten are solid enough to be carried off.
    let food = &scene.random.pick(&FOODS[..10]).word;
    let animal = scene.random.pick(&ANIMALS);
    let number = scene.random.between(2, 5);
    let spot = scene.spot();
    let hid = scene.random.pick(&HIDEOUTS);
    let about = |frame| event(frame).with("who", who).with("whom", whom).with("food", food);
    scene.begin(about(&STOLEN).with("n", number));
    scene.tell(about(&SUSPECTED).with("spot", spot).with("trait", &friend.character.0));
    scene.tell(about(&WATCHED).with("hid", hid));
    scene.tell(about(&CAUGHT).with("animal", animal).with("colour", friend.pet_colour));
    scene.tell(about(&EXCUSED));
    scene.days_pass();
}

static ESCAPED: Frame = frame(
    &[
        "{who.s} {colour} {animal} had escaped.",
        "the gate was open, and {who.s} {animal} was gone.",
        "{who} called and called, but {who.his} {colour} {animal} did not come.",
    ],
    &[
        "{who}家的{colour}{animal}跑掉了。",
        "门开着，{who}家的{animal}不见了。",
        "{who}喊了又喊，{who.he}的{colour}{animal}就是不回来。",
    ],
);
static TRACKED: Frame = frame(
    &[
        "{whom} had seen the {animal} near {spot.the}, so {they} went there together.",
        "footprints led {who.name} and {whom.name} from {spot.the} to the next house.",
        "\"I saw {animal.a} pass {spot.the}!\" {whom} told {who.obj}.",
    ],
    &[
        "{whom}在{spot}附近见过{animal.that}，于是{they}一起去找。",
        "脚印从{spot}一直通到隔壁人家，{who.name}和{whom.name}跟了过去。",
        "“我看见{animal.a}从{spot}跑过去了！”{whom}告诉{who}。",
    ],
);
static RECAPTURED: Frame = frame(
    &[
        "{who.s} {animal} was sitting {hid.at}, [hungry|tired] and afraid.",
        "{who} found {who.his} {animal} {hid.at}, where it was eating the [flowers|grass] in peace.",
        "{whom} heard a noise {hid.at}, and there was the {colour} {animal}.",
    ],
    &[
        "{who}的{animal}正待在{hid.at}，又[饿|累]又怕。",
        "{who}在{hid.at}找到了自己的{animal}，它正在安安静静地吃[花|草]呢。",
        "{whom}听见{hid.at}有响动，{colour}的{animal}就在那里。",
    ],
);
static HOME_AGAIN: Frame = frame(
    &[
        "{who} brought the {colour} {animal} home and shut the gate.",
        "{who} {who.was} [glad|relieved|happy] to have the {animal} back and thanked {whom.obj} for {whom.his} sharp eyes.",
        "from that day on, {who} kept the gate shut, so the {colour} {animal} stayed at home.",
    ],
    &[
        "{who}把{colour}的{animal}带回家，关好了门。",
        "{who}[放心了|高兴极了]，感谢{whom}眼尖。",
        "从那天起，{who}总是把门关好，{colour}的{animal}再也没有跑掉。",
    ],
);

/// An animal runs away and is found.
pub(crate) fn escape(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let owner = scene.facts.person(who);
    let spot = scene.spot();
    let hid = scene.random.pick(&HIDEOUTS);
    let about = |frame| {
        let pet = event(frame).with("who", who).with("whom", whom).with("animal", owner.pet);
        pet.with("colour", owner.pet_colour)
    };
    scene.begin(about(&ESCAPED));
    scene.tell(about(&TRACKED).with("spot", spot));
    scene.conclude(about(&RECAPTURED).with("hid", hid));
    scene.tell(about(&HOME_AGAIN));
}
