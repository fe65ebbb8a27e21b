//! Dangers and how they are overcome: illness, storm, water.

use super::trouble::thank;
use crate::world::event::{Frame, frame};
use crate::world::lexicon::{FOODS, SPOTS};
use crate::world::scene::{Scene, event};

static ILL: Frame = frame(
    &[
        "{who} [had fallen ill|had caught a cold] and could not {work}.",
        "{who} [coughed|sneezed] so much that {who.he} could not {work} and had to stay in bed.",
        "{who} had a fever, so {spot.the} stayed empty.",
    ],
    &[
        "{who}[生病了|着凉了]，没法{work}。",
        "{who}[咳嗽|喷嚏打]得厉害，没法{work}，只好躺在床上。",
        "{who}发烧了，{spot.at}空无一人。",
    ],
);
static NURSED: Frame = frame(
    &[
        "{whom} came with {food.a} and sat by {who.his} bed for {h.hours}.",
        "{whom} brought {who.obj} {food.a} and [made a fire|opened the window|read {who.him} a story].",
        "{food.a} from {whom.obj} did {who.obj} good.",
    ],
    &[
        "{whom}带来{food.a}，在床边陪了{who.he}{h.hours}。",
        "{whom}给{who}送来{food.a}，还[生了火|打开了窗户|读了一个故事]。",
        "{whom}送来的{food.a}让{who}舒服了许多。",
    ],
);
static STOOD_IN: Frame = frame(
    &[
        "meanwhile {third} {work.past} {spot.at} in {who.his} place.",
        "{third} took {tool.the} and did {who.s} work, although it was [hard|new to {third.him}].",
        "{third} promised to look after {spot.the} until {who} {who.was} well again.",
    ],
    &[
        "与此同时，{third}替{who.he}在{spot.at}{work}。",
        "{third}拿起{tool}替{who}干活，虽然[很辛苦|{third.he}从没干过]。",
        "{third}答应照看{spot}，直到{who}好起来。",
    ],
);
static RECOVERED: Frame = frame(
    &[
        "after {d.days}, {who} {who.was} healthy again and thanked everyone who had helped.",
        "{who} {who.was} ill for {d.days}, and then the fever was gone.",
        "{d.days} later {who} {who.was} back {spot.at}, as strong as before.",
    ],
    &[
        "{d.days}以后，{who}恢复了健康，向所有帮过忙的人道谢。",
        "{who}病了{d.days}，然后烧就退了。",
        "{d.days}以后，{who}又回到了{spot.at}，和从前一样有力气。",
    ],
);

/// Somebody falls ill, is cared for and recovers.
pub(crate) fn illness(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let third = scene.other(&[who, whom]);
    let job = scene.facts.person(who).job;
    let food = &scene.random.pick(&FOODS).word;
    let (hours, days) = (scene.random.between(2, 4), scene.random.between(2, 6));
    let about = |frame| event(frame).with("who", who).with("work", &job.work).with("spot", &job.place);
    scene.begin(about(&ILL));
    scene.tell(about(&NURSED).with("whom", whom).with("food", food).with("h", hours));
    scene.tell(about(&STOOD_IN).with("third", third).with("tool", &job.tool));
    scene.tell(about(&RECOVERED).with("d", days));
    scene.days_pass();
}

static STORM: Frame = frame(
    &[
        "a sudden gust of wind tore {n.tiles} from the roof of {who.s} house.",
        "the wind blew so hard that {n.tiles} fell from {who.s} roof.",
        "{who} heard a crash: {n.tiles} had fallen from the roof.",
    ],
    &[
        "一阵狂风从{who}家的屋顶上掀掉了{n.tiles}。",
        "风刮得太猛，{who}家的屋顶掉下来{n.tiles}。",
        "{who}听见一声巨响，原来屋顶上掉下来{n.tiles}。",
    ],
);
static HELPED: Frame = frame(
    &[
        "{whom} brought a ladder, and {third} brought a hammer and nails.",
        "{whom} held the ladder while {third} climbed up.",
        "without a word {whom} fetched new tiles, and {third} went up to the roof.",
    ],
    &[
        "{whom}搬来梯子，{third}拿来锤子和钉子。",
        "{whom}扶着梯子，{third}爬了上去。",
        "{whom}二话没说去取新瓦，{third}上了屋顶。",
    ],
);
static REPAIRED: Frame = frame(
    &[
        "the {n.tiles} were put back, and the roof of {who.s} house was whole again.",
        "{h.hours} later no rain could get into {who.s} house any more, thanks to {whom.name} and {third.name}.",
        "in {h.hours} the hole was closed, and {who} could sleep [well|in peace] again.",
    ],
    &[
        "{n.tiles}铺好了，{who}家的屋顶又完好了。",
        "{h.hours}以后，雨水再也进不了{who}的家了，多亏了{whom.name}和{third.name}。",
        "用了{h.hours}，破洞就补好了，{who}又可以安心睡觉了。",
    ],
);

/// The wind damages a roof; neighbours repair it.
pub(crate) fn storm(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let third = scene.other(&[who, whom]);
    let (tiles, hours) = (scene.random.between(3, 30), scene.random.between(2, 7));
    let about = |frame| event(frame).with("who", who).with("n", tiles).with("h", hours);
    scene.begin(about(&STORM));
    scene.follow(event(&HELPED).with("whom", whom).with("third", third));
    scene.tell(about(&REPAIRED).with("whom", whom).with("third", third));
    if scene.random.chance(0.5) {
        thank(scene, who, whom);
    }
}

static FELL: Frame = frame(
    &[
        "{who} {who.was} [on the way to {whom.name}|carrying {food.a}], slipped on the wet stones and fell into the {river}.",
        "{who} {who.was} crossing the {river} when the ice-cold water [swept|pulled] {who.him} away.",
        "{who} {who.was} [fetching water|watching the fish|washing a shirt|looking for {whom.name}], leaned over too far and fell into the {river}.",
    ],
    &[
        "{who}[正要去找{whom.name}|正提着{food.a}走路]，在湿滑的石头上滑了一跤，掉进了{river}。",
        "{who}正在过{river}，冰冷的河水把{who.he}[冲|卷]走了。",
        "{who}正在[打水|看鱼|洗衣服|找{whom.name}]，身子探得太远，掉进了{river}。",
    ],
);
static CRIED: Frame = frame(
    &[
        "{who} could not swim and [called|cried] for help, but only {whom} was near, {spot.at}.",
        "\"Help!\" {who} cried, and {whom}, who was {spot.at}, heard it.",
        "luckily {whom} was {spot.at} and heard {who.him} cry.",
    ],
    &[
        "{who}不会游泳，[大声|拼命]呼救，只有{spot.at}的{whom}听见了。",
        "“救命！”{who}喊道，正在{spot.at}的{whom}听见了。",
        "幸好{whom}正在{spot.at}，听见了{who.he}的喊声。",
    ],
);
static SAVED: Frame = frame(
    &[
        "{whom} jumped into the water and pulled {who.obj} out.",
        "{whom} threw {who.him} a rope and pulled with all {whom.his} strength.",
        "{whom} did not hesitate: {whom.he} swam out and saved {who.obj}.",
    ],
    &[
        "{whom}跳进水里，把{who}拉了上来。",
        "{whom}扔给{who.he}一根绳子，使出全身力气往上拉。",
        "{whom}毫不犹豫，游过去救起了{who}。",
    ],
);
static DRIED: Frame = frame(
    &[
        "wet but alive, {who} sat by the fire and drank [hot tea|hot milk|warm soup] [with|beside] {whom.obj}.",
        "{who} {who.was} [cold|wet], but {who.he} {who.was} safe, and {whom} was called a hero.",
        "{who} never forgot that {whom.name} had saved {who.his} life in the {river}.",
    ],
    &[
        "{who}浑身湿透，但总算平安，在火边和{whom}一起喝着[热茶|热牛奶|热汤]。",
        "{who}又冷又湿，但是得救了，大家都说{whom}是英雄。",
        "{who}永远不会忘记，是{whom.name}从{river}里救了自己的命。",
    ],
);

/// Somebody falls into the river and is saved.
pub(crate) fn rescue(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let river = scene.facts.place(scene.place).river;
    let spot = scene.random.pick(&SPOTS[1..4]);
    let food = &scene.random.pick(&FOODS).word;
    let about = |frame| event(frame).with("who", who).with("whom", whom).with("river", river);
    scene.begin(about(&FELL).with("food", food));
    scene.tell(about(&CRIED).with("spot", spot));
    scene.follow(about(&SAVED));
    scene.tell(about(&DRIED));
}
