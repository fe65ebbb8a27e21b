//! How to do something: cook a dish, step by step, or grow a plant from its seed to the harvest.

use crate::world::event::{Event, Frame, frame};
use crate::world::lexicon::{CROPS, Crop, DISHES, Dish, SEASONS};
use crate::world::scene::{Scene, Story, event};

static DISH_TITLE: Frame = frame(
    &["how to make {dish}", "{dish} from {place}", "{who.full}'s recipe for {dish}"],
    &["怎样做{dish}", "{place}的{dish}", "{who.full}的{dish}做法"],
);
static INTRODUCED: Frame = frame(
    &[
        "this is how {who} of {place} makes {dish} for {n.people}.",
        "{who.name}, a {job} from {place}, makes the best {dish} in {region}.",
        "{who} learned the recipe for {dish} from {rel.obj} in {place}.",
        "in {place} people like {dish}, and {who} knows how to make it.",
    ],
    &[
        "这是{place}的{who}做{dish}的方法，够{n.people}吃。",
        "{who.name}是{place}的{job}，{who.he}做的{dish}在{region}数第一。",
        "{who}在{place}跟{rel}学会了做{dish}。",
        "{place}人爱吃{dish}，{who}知道怎么做。",
    ],
);
static NEEDED: Frame = frame(
    &[
        "for {dish} you need {k} parts {one}, {j} parts {two}, one part {three} and a little {spice}.",
        "you need {k} parts {one} and {j} parts {two}, but without {three} it is not real {dish}, [says {who.name}|says {rel.name}|people in {place} say].",
        "buy [fresh|good] {one}, {two} and {three} at the {day} market [in {place}|with {rel.name}|near the {landmark}]; {spice} you will have at home.",
    ],
    &[
        "做{dish}需要{k.of}份{one}、{j.of}份{two}、一份{three}和少许{spice}。",
        "[{who.name}|{rel.name}|{place}人]说，要准备{k.of}份{one}和{j.of}份{two}，没有{three}就不是真正的{dish}了。",
        "{day}[到{place}的集市|和{rel.name}到集市|到{landmark}旁的集市]买[新鲜|上好]的{one}、{two}和{three}，{spice}家里都有。",
    ],
);
static FIRST: Frame = frame(
    &[
        "first, prepare the {one} [well|with care|slowly] in a [large|small|wooden|deep|clay] bowl[, as {rel.name} does|, as is usual in {place}|].",
        "begin with the {one}, which takes {who.obj} {q.minutes} and [most people|{rel.name}|a beginner] {m}.",
        "weigh the {one} [twice|with care|on a good scale] and divide everything into {k} parts[, one for each guest|, one of them for {rel.name}|].",
    ],
    &[
        "首先[仔细|好好|慢慢]准备{one}，放在[大|小|木|深|陶]碗里[，像{rel.name}那样|，{place}人都这样做|]。",
        "先处理{one}，{who}只要{q.minutes}，[一般人|{rel.name}|新手]要{m.minutes}。",
        "取出{one}，[称两遍|仔细称一称|用好秤称一称]，分成{k.of}份[，每位客人一份|，其中一份给{rel.name}|]。",
    ],
);
static SECOND: Frame = frame(
    &[
        "then add the {two} to the {one} [slowly|bit by bit|all at once|with a steady hand], as {who} [learned in {place}|learned from {rel.name}|always does].",
        "after that, mix the {two} with the {one} [slowly|well|with a wooden spoon|by hand], [always in the same direction|for {q.minutes}|until {who} would be content].",
        "while you wait, wash your hands, [think of {rel.name}|sing a song from {place}|sweep the kitchen for {who.obj}] and get the {two} ready[ for the {dish}| for {n.people}|].",
    ],
    &[
        "然后把{two}[慢慢|一点一点|一下子|稳稳]加到{one}里，{who}[在{place}学的就是这样|跟{rel.name}学的就是这样|一向这样做]。",
        "接着[慢慢|好好|用木勺|用手]把{two}和{one}拌匀，[总朝一个方向|要拌{q.minutes}|拌到{who}满意为止]。",
        "趁这个时候洗洗手，[想想{rel.name}|唱一首{place}的歌|帮{who}扫扫厨房]，准备好[做{dish}的|{n.people}吃的|]{two}。",
    ],
);
static THIRD: Frame = frame(
    &[
        "last of all, add the {three}[, as fresh as {who} buys it|, but not too much for {n.people}|, but only half of what {rel.name} takes|, as in every kitchen of {place}].",
        "put the {three} on top [with care|quickly|while it is warm], as people in {place} always do.",
        "now take the {three} and stir for {q.minutes}[, or until {rel.name} comes home|, as {who} does|, but not longer].",
    ],
    &[
        "最后放{three}[，要和{who}买的一样新鲜|，够{n.people}吃就行|，只放{rel.name}的一半就够了|，{place}家家都这样]。",
        "[小心|快速|趁热]把{three}放在最上面，{place}人一向这样做。",
        "现在放入{three}，搅拌{q.minutes}[，或者搅到{rel.name}回家|，像{who}那样|，不要再久了]。",
    ],
);
static HEATED: Frame = frame(
    &[
        "put everything {vessel.at} and {method} it for {m.minutes}[ over a small fire| over a hot fire|, as {who} does|, or until {rel.name} is hungry].",
        "{method} it {vessel.at} for {m.minutes}, but do not let it burn[, as {rel.name} once did| like a beginner|].",
        "now everything goes {vessel.at}, where you {method} it for {m.minutes}[ without a lid| under a lid| and think of {place}|].",
        "it must be {method.past} {vessel.at} for {m.minutes}, neither longer nor shorter, [says {who.name}|or {rel.name} will laugh|as everyone in {place} knows].",
    ],
    &[
        "把所有东西放在{vessel.at}，[用小火|用大火|像{who}那样]{method}{m.minutes}。",
        "在{vessel.at}{method}{m.minutes}，不要[像{rel.name}那次一样|像新手一样|]烧焦。",
        "现在全部放到{vessel.at}，[不盖盖子|盖上盖子|像{place}人那样]{method}{m.minutes}就够了。",
        "要在{vessel.at}{method}{m.minutes}，不能多也不能少，[{who}说|不然{rel.name}会笑的|{place}人都知道]。",
    ],
);
static SPICED: Frame = frame(
    &[
        "add the {spice} at the end, never at the beginning, [or the {dish} will not taste as in {place}|as {rel.name} does|says {who.name}].",
        "do not forget the {spice}, or the {dish} will have no taste [for {who.obj}|for {n.people}|and {rel.name} will complain].",
        "{who} takes {k} spoons of {spice}, but one is enough for most people.",
    ],
    &[
        "{spice}要最后放，千万不要先放，[不然就不是{place}的{dish}了|{rel.name}也是这样做的|{who}说]。",
        "别忘了放{spice}，不然{dish}就没有味道，[{who}也不爱吃|{n.people}都会失望|{rel.name}会抱怨的]。",
        "{who}要放{k.of}勺{spice}，不过对多数人来说一勺就够了。",
    ],
);
static WARNED: Frame = frame(
    &[
        "if you take too much {spice}, {who} says, drink [water|milk] and start again.",
        "when {who} was a child, {who.he} once forgot the {three}, and nobody ate the {dish}.",
        "{vessel.the} is hot, so be careful with your fingers[, as {who} learned at the age of {n}| when you taste the {dish} from {place}|, or you will need {rel.name}].",
        "{m.minutes} may seem long, but patience makes the {dish} better.",
    ],
    &[
        "{who}说，要是{spice}放多了，就喝点[水|牛奶]，重新来过。",
        "{who}小时候有一次忘了放{three}，结果谁也没吃那{dish}。",
        "{vessel}很烫，[尝{place}{dish}的时候|{who}{n}岁时就学会了|{rel.name}总是说]要小心手指。",
        "{m.minutes}听起来很长，不过有耐心才能做出好{dish}。",
    ],
);
static SERVED: Frame = frame(
    &[
        "serve the {dish} hot [to {n.people}|on a {colour} plate|with a smile]: it should taste {taste}.",
        "good {dish} should taste {taste}, and people in {place} eat it with [bread|rice|friends|{rel.name}].",
        "now call {rel.obj} to the table, for the {dish} is ready.",
        "it is enough for {n.people}, or for {who.name} alone after a long day.",
    ],
    &[
        "趁热[端给{n.people}|装在{colour}的盘子里|笑着]上桌，{dish}吃起来很{taste}。",
        "好的{dish}味道很{taste}，{place}人喜欢和[面包|米饭|朋友|{rel.name}]一起吃。",
        "现在叫{rel}来吃吧，{dish}做好了。",
        "这够{n.people}吃，或者够干了一天活的{who.name}一个人吃。",
    ],
);

static CROP_TITLE: Frame = frame(
    &["how to grow {crop}", "{crop} in the gardens of {place}"],
    &["怎样种{crop}", "{place}菜园里的{crop}"],
);
static GROWS: Frame = frame(
    &[
        "{who} has grown {crop} in {place} for {n.years} and gives this advice.",
        "if you want to grow {crop} in {place}, ask {who.obj}.",
        "the best {crop} in {place} grow in the garden of {who.name}, the {job}.",
    ],
    &[
        "{who}在{place}种{crop}已经{n.years}了，{who.he}有这些建议。",
        "想在{place}种{crop}，就去请教{who}。",
        "{place}最好的{crop}长在{job}{who.name}的菜园里。",
    ],
);
static SOWN: Frame = frame(
    &[
        "in {place}, {crop} are sown in {season}, when [the nights are mild|{whom} sows them too|the {river} is quiet|the birds are back].",
        "wait until {season}, then put the seeds of the {crop} {k} inches deep into the [black|soft|warm] earth [of {place}|of your garden].",
        "in {season} dig the [black|soft|warm] soil [by the {river}|behind the house|of {place}], make small holes and put {k} seeds into each.",
    ],
    &[
        "{place}的{crop}要在{season}播种，那时[夜里不太冷|{whom}也在播种|{river}水流平稳|鸟儿回来了]。",
        "等到{season}，把{crop}的种子埋进[{place}|园子里]{k.of}寸深的[黑|软|暖]土里。",
        "{season}的时候在[{river}边|屋后|{place}]松一松[黑|软|暖]土，挖小坑，每个坑里放{k.of}粒种子。",
    ],
);
static WATERED: Frame = frame(
    &[
        "water the {crop} every {k.days} [with water from the {river}|from the well|as {whom} does], in the evening and never at noon.",
        "without water {crop} dry up, but too much water is just as bad[, as {whom} learned last {season}|, says {who.name}|, even in {place}].",
        "after {k.weeks} the first green leaves of the {crop} come out of the ground[ in {place}|, and {who} is happy|, and so do the weeds].",
    ],
    &[
        "[用{river}的水|用井水|像{whom}那样]每隔{k.days}给{crop}浇一次水，要在傍晚浇，不要在中午浇。",
        "没有水{crop}会干死，水太多也一样不好，[{whom}去年{season}就明白了|{who}说|{place}也不例外]。",
        "{k.weeks}以后，{crop}的第一批绿叶就从[{place}的|]土里钻出来了[，{who}很高兴|，杂草也一样|]。",
    ],
);
static PROTECTED: Frame = frame(
    &[
        "the worst enemies of {crop} are {pest}, so look at the leaves every morning[, as {whom} does|, says {who.name}| before you {work}].",
        "{who} once lost half of {who.his} {crop} to {pest} and has built a fence since.",
        "{pest} love {crop} as much as {whom} does, [and that is very much|and they come at night|so watch both].",
    ],
    &[
        "{crop}最大的敌人是{pest}，所以每天早上[|像{whom}那样|{work}以前]都要看看叶子。",
        "{who}有一次被{pest}毁掉了一半{crop}，后来就围了篱笆。",
        "{pest}和{whom}一样喜欢{crop}，[而且非常喜欢|还专在夜里来|两个都要防着]。",
    ],
);
static HARVESTED: Frame = frame(
    &[
        "{w.weeks} after sowing the {crop} are {ripe} and can be harvested [by {who.obj}|by {who.name} and {whom.name}|before the rain comes].",
        "the {crop} are ripe when they are {ripe}, which takes {w.weeks} [in {place}|in the garden of {who.obj}|in most years].",
        "count {w.weeks} from the day of sowing: then {who.s} garden [in {place}|by the {river}] is {ripe} with {crop}.",
    ],
    &[
        "播种{w.weeks}以后，{crop}变成{ripe}色，[{who}|{who.name}和{whom.name}|人们]就可以收了。",
        "[{place}的|{who}种的|通常]{crop}变成{ripe}色就是熟了，大约要{w.weeks}。",
        "从播种那天起数{w.weeks}，[{place}|{river}边]{who}的菜园里就满是{ripe}色的{crop}了。",
    ],
);
static EATEN: Frame = frame(
    &[
        "last year {who} harvested {n} baskets, gave {m} to {whom.obj} and kept {r}.",
        "{who} eats {who.his} {crop} fresh, but {whom} likes them better in a soup.",
        "sell the {crop} that you do not need in {place} on {day}, [when the market is open|next to {whom.name}|near the {landmark}].",
    ],
    &[
        "去年{who}收了{n}筐，送给{whom}{m.of}筐，自己留了{r.of}筐。",
        "{who}喜欢吃新鲜的{crop}，{whom}却更喜欢拿来做汤。",
        "吃不完的{crop}可以{day}拿到{place}的集市上，[|在{whom.name}旁边|在{landmark}附近]卖掉。",
    ],
);

/// A recipe or a gardener's advice.
pub(crate) fn story(mut scene: Scene<'_>) -> Story {
    if scene.random.chance(0.65) { recipe(scene) } else { garden(scene) }
}

fn recipe(mut scene: Scene<'_>) -> Story {
    let local = scene.random.chance(0.5);
    let dish = if local { scene.facts.place(scene.place).dish } else { scene.random.pick(&DISHES) };
    let frames: [&'static Frame; 8] =
        [&INTRODUCED, &NEEDED, &FIRST, &SECOND, &THIRD, &HEATED, &SPICED, &SERVED];
    let warnings = scene.random.below(3) as usize;
    // The time and the number of guests are said once and stay as they are.
    let (shortest, longest) = dish.time();
    let minutes = 5 * scene.random.between(shortest, longest);
    let numbers = [scene.random.between(4, 9), minutes, scene.random.between(2, 5)];
    for (index, frame) in frames.into_iter().enumerate() {
        let step = cooking(&scene, frame, dish, numbers);
        scene.tell(step);
        if (5..5 + warnings).contains(&index) {
            let more = cooking(&scene, &WARNED, dish, numbers);
            scene.tell(more);
        }
    }
    let title = cooking(&scene, &DISH_TITLE, dish, numbers);
    scene.finish(title)
}

fn cooking(scene: &Scene<'_>, frame: &'static Frame, dish: &'static Dish, [n, m, k]: [u32; 3]) -> Event {
    let facts = scene.facts;
    let (who, rel) = (scene.cast[0], facts.friend(scene.cast[0]));
    let [one, two, three] = &dish.parts;
    let people = event(frame).with("who", who).with("rel", rel).with("place", scene.place);
    let home = facts.place(scene.place);
    let people = people.with("job", &facts.person(who).job.name).with("region", home.region);
    let people =
        people.with("day", home.market_day).with("landmark", home.landmark).with("colour", home.roofs);
    let food = people.with("dish", &dish.word).with("one", one).with("two", two).with("three", three);
    let food = food.with("spice", &dish.spice).with("vessel", &dish.vessel).with("method", &dish.method);
    food.with("taste", &dish.taste).with("n", n).with("m", m).with("k", k).with("q", 5 * k).with("j", n / 2)
}

fn garden(mut scene: Scene<'_>) -> Story {
    let crop = scene.random.pick(&CROPS);
    let frames: [&'static Frame; 6] = [&GROWS, &SOWN, &WATERED, &PROTECTED, &HARVESTED, &EATEN];
    let repeated = scene.random.below(4) as usize + 1;
    let numbers = [scene.random.between(5, 30), scene.random.between(2, 4)];
    for (index, frame) in frames.into_iter().enumerate() {
        let times = if index == repeated || index == repeated % 4 + 1 { 2 } else { 1 };
        for _ in 0..times {
            let step = growing(&scene, frame, crop, numbers);
            scene.tell(step);
        }
    }
    let title = growing(&scene, &CROP_TITLE, crop, numbers);
    scene.finish(title)
}

fn growing(scene: &Scene<'_>, frame: &'static Frame, crop: &'static Crop, [n, k]: [u32; 2]) -> Event {
    let (who, whom) = (scene.cast[0], scene.cast[1]);
    let people = event(frame).with("who", who).with("whom", whom).with("place", scene.place);
    let (job, home) = (scene.facts.person(who).job, scene.facts.place(scene.place));
    let people = people.with("job", &job.name).with("work", &job.work);
    let people = people.with("river", home.river).with("landmark", home.landmark);
    let plant =
        people.with("crop", &crop.word).with("season", &SEASONS[crop.sown].word).with("ripe", &crop.ripe);
    let plant = plant.with("pest", &crop.pest).with("w", crop.weeks).with("k", k);
    let market = plant.with("day", home.market_day);
    market.with("n", n).with("m", n / 3).with("r", n - n / 3)
}
