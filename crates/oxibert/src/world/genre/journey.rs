//! A journey over the map: distances, directions and what each place is known for are the world's facts.

use crate::world::event::{Frame, frame};
use crate::world::facts::{PersonId, PlaceId};
use crate::world::lexicon::FOODS;
use crate::world::scene::{Scene, Story, event};
use crate::world::word::{Word, plain};

/// Ways to travel: on what, and how fast in miles a day.
static MEANS: [(Word, u32); 5] = [
    (plain("on foot", "步行"), 14),
    (plain("on horseback", "骑马"), 28),
    (plain("by cart", "坐马车"), 20),
    (plain("by mule", "骑骡子"), 16),
    (plain("by coach", "乘驿车"), 32),
];
/// Reasons to travel.
static PURPOSES: [Word; 6] = [
    plain("to visit an aunt", "去看望姑姑"),
    plain("to find new customers", "去找新顾客"),
    plain("to see the world", "去见见世面"),
    plain("to bring back medicine", "去买药"),
    plain("to look for work", "去找活干"),
    plain("to deliver a secret letter", "去送一封密信"),
];

static TITLE: Frame = frame(
    &["a journey from {from} to {to}", "{who.full} travels to {to}", "the road to {to}"],
    &["从{from}到{to}的旅行", "{who.full}去{to}", "去{to}的路"],
);
static LEFT: Frame = frame(
    &[
        "one {weather} morning in {season}, {who} left {from} {means} {why}.",
        "{who} packed {what.a} and set out from {from} {means} {why}.",
        "{who} had never been far from {from}, but this {season} {who.he} set out {means} {why}.",
    ],
    &[
        "{season}里一个{weather}的早晨，{who}{means}离开{from}，{why}。",
        "{who}带上{what.a}，{means}从{from}出发，{why}。",
        "{who}从没离开过{from}，可是这个{season}{who.he}{means}上路了，{why}。",
    ],
);
static FAREWELL: Frame = frame(
    &[
        "{rel} gave {who.obj} {food.a} for the journey and waved until {who.he} {who.was} out of sight.",
        "\"Come back safely,\" {rel} said, and put {food.a} into {who.his} bag.",
        "{rel} walked with {who.obj} as far as the last house of {from}.",
    ],
    &[
        "{rel}给{who}准备了{food.a}带在路上，一直挥手到看不见{who.he}为止。",
        "“平安回来。”{rel}说着，把{food.a}放进{who.he}的包里。",
        "{rel}陪{who}一直走到{from}最后一座房子。",
    ],
);
static ROAD: Frame = frame(
    &[
        "from {from} it was {n.miles} {dir} to {to}, so the way took about {h.hours}.",
        "{to} lies {n.miles} {dir} of {from}, and {who} needed {h.hours} for it.",
        "the road led {dir}, and after {n.miles} and {h.hours} {who} saw the {colour} roofs of {to}.",
        "{who} travelled {n.miles} to the {dir} and reached {to} after {h.hours}.",
    ],
    &[
        "从{from}往{dir}走{n.miles}就是{to}，大约要走{h.hours}。",
        "{to}在{from}{dir}边{n.miles}的地方，{who}走了{h.hours}。",
        "路一直向{dir}，走了{n.miles}，过了{h.hours}，{who}看见了{to}{colour}的屋顶。",
        "{who}向{dir}走了{n.miles}，{h.hours}后到了{to}。",
    ],
);
static MISHAP: Frame = frame(
    &[
        "halfway from {from} to {to}, it began to [rain|hail|storm], and {who} hid under a tree for {h.hours}.",
        "the bridge over the {river} near {from} was closed, so {who} paid a ferryman {n.coins}.",
        "{who} took a wrong turn and lost {h.hours} before a [shepherd|monk|child] showed {who.him} the way to {to}.",
        "at a crossroads {who} met a stranger, who asked for {n.coins} and told {who.him} a story about {to}.",
        "a [wheel|strap|shoe] broke, and the repair on the road to {to} cost {who.obj} {n.coins} and {h.hours}.",
    ],
    &[
        "从{from}到{to}的半路上[下起雨来|下起冰雹|起了大风]，{who}在树下躲了{h.hours}。",
        "{from}附近{river}上的桥不能走，{who}付给船夫{n.coins}过了河。",
        "{who}走错了路，耽误了{h.hours}，后来一个[牧羊人|僧人|孩子]给{who.he}指了去{to}的路。",
        "在十字路口，{who}遇见一个陌生人，那人要了{n.coins}，给{who.he}讲了一个{to}的故事。",
        "[轮子|带子|鞋子]在去{to}的路上坏了，{who}花了{n.coins}和{h.hours}才修好。",
    ],
);
static ARRIVED: Frame = frame(
    &[
        "{to} is known for its {craft.s}, and {who} saw {craft.s} [in every window|in every street|next to the {landmark}|on both banks of the {river}].",
        "the first thing that {who} saw in {to} was the {landmark} [by the {river}|among the {colour} roofs|with {n.people} in front of it].",
        "{who} slept at [an inn|a small inn|an old inn] by the {river} in {to}, which cost {who.him} {n.coins} [with|without] breakfast.",
        "in {to} {who} ate {dish}, the favourite dish of the people there, and paid {n.coins}.",
        "{to} was [busy|lively|noisy], because it was {day}, the market day of the {to.kind}, and {who} [bought {food.a}|spent {n.coins}|could hardly get through].",
    ],
    &[
        "{to}以{craft}闻名，{who}在[每扇窗前|每条街上|{landmark}旁边|{river}两岸]都看得到{craft}。",
        "{who}在{to}最先看到的是[{river}边的|{colour}屋顶中间的|门前站着{n.people}的]{landmark}。",
        "{who}住进{to}{river}边的一家[客栈|小客栈|老客栈]，[连早饭|不算早饭]花了{n.coins}。",
        "在{to}，{who}吃了当地人最爱的{dish}，付了{n.coins}。",
        "{to}很[热闹|忙碌|嘈杂]，因为那天是{day}，正是赶集的日子，{who}[买了{food.a}|花了{n.coins}|差点走不过去]。",
    ],
);
static MET: Frame = frame(
    &[
        "{who} met {host.name}, a {job} from {to}, who showed {who.him} {spot.the} [for {h.hours}|and {tool.the}|and told {who.him} about the {river}].",
        "a {job} named {host.name} {work.past} {spot.at} and let {who.obj} watch [for {h.hours}|with pleasure|from a bench].",
        "{who} bought {craft.a} from {host.obj} for {n.coins} [after {h.hours} of talk|and took it along|as a present].",
    ],
    &[
        "{who}认识了{to}的{job}{host.name}，跟着{host.he}参观了{spot}[，看了{h.hours}|，看了{tool}|，听了{river}的故事]。",
        "一位叫{host.name}的{job}在{spot.at}{work}，让{who}在旁边[看了{h.hours}|尽情地看|坐着看]。",
        "{who}[谈了{h.hours}|高高兴兴|挑了又挑]，花{n.coins}从{host}那里买了{craft.a}。",
    ],
);
static RETURNED: Frame = frame(
    &[
        "after {d.days}, {who} {who.was} back in {from} and had travelled {t.miles} in all.",
        "the whole journey was {t.miles} long, and {rel} was [happy|glad] to see {who.obj} again.",
        "{who} came home to {from} with {food.a} for {rel.obj} and many stories.",
        "\"There is no place like {from},\" {who} said, when {who.he} sat at home again after {d.days}.",
    ],
    &[
        "{d.days}以后，{who}回到了{from}，一共走了{t.miles}。",
        "整个旅程有{t.miles}，{rel}很[高兴|欢喜]又见到了{who}。",
        "{who}回到{from}，给{rel}带了{food.a}，还有许多故事。",
        "“哪里也比不上{from}。”{d.days}以后，{who}坐在家里说。",
    ],
);

/// A journey.
pub(crate) fn story(mut scene: Scene<'_>) -> Story {
    let who = scene.cast[0];
    let facts = scene.facts;
    let (means, speed) = scene.random.pick(&MEANS);
    let home = scene.place;
    let rel = facts.parents(who).map_or_else(|| facts.friend(who), |parents| parents[1]);
    depart(&mut scene, who, rel, means);
    let (mut here, mut miles, mut hours) = (home, 0, 0);
    let mut seen = vec![home];
    let legs = scene.random.between(1, 3);
    for leg in 0..legs {
        let Some(next) = step(&mut scene, here, &seen) else { break };
        let distance = facts.way(here, next).0;
        let time = (distance * 10 / speed).max(1);
        travel(&mut scene, who, here, next, time);
        if scene.random.chance(0.6) {
            mishap(&mut scene, who, (here, next));
        }
        arrive(&mut scene, who, next, leg + 1 == legs);
        seen.push(next);
        (here, miles, hours) = (next, miles + distance, hours + time);
    }
    let food = &scene.random.pick(&FOODS).word;
    // The way home is the same road, and nobody travels more than ten hours a day.
    let back = event(&RETURNED).with("who", who).with("from", home).with("t", 2 * miles).with("rel", rel);
    scene.tell(back.with("d", 2 + 2 * hours / 10).with("food", food));
    scene.finish(event(&TITLE).with("who", who).with("from", home).with("to", here))
}

/// A neighbouring place that the traveller has not seen.
fn step(scene: &mut Scene<'_>, here: PlaceId, seen: &[PlaceId]) -> Option<PlaceId> {
    let onward: Vec<PlaceId> =
        scene.facts.neighbours(here).into_iter().filter(|place| !seen.contains(place)).collect();
    (!onward.is_empty()).then(|| *scene.random.pick(&onward))
}

fn depart(scene: &mut Scene<'_>, who: PersonId, rel: PersonId, means: &'static Word) {
    let why = scene.random.pick(&PURPOSES);
    let thing = scene.new_thing();
    let food = &scene.random.pick(&FOODS).word;
    let left = event(&LEFT).with("who", who).with("from", scene.place).with("means", means).with("why", why);
    let left = left.with("what", &thing.word).with("season", &scene.season.word);
    scene.tell(left.with("weather", &scene.weather.adjective));
    scene.tell(
        event(&FAREWELL).with("who", who).with("rel", rel).with("food", food).with("from", scene.place),
    );
}

fn travel(scene: &mut Scene<'_>, who: PersonId, from: PlaceId, to: PlaceId, hours: u32) {
    let (miles, direction) = scene.facts.way(from, to);
    let road = event(&ROAD).with("who", who).with("from", from).with("to", to).with("n", miles);
    let roofs = scene.facts.place(to).roofs;
    scene.tell(road.with("dir", direction).with("h", hours).with("colour", roofs));
}

fn mishap(scene: &mut Scene<'_>, who: PersonId, (from, to): (PlaceId, PlaceId)) {
    let (coins, hours) = (scene.random.between(2, 7), scene.random.between(1, 4));
    let river = scene.facts.place(from).river;
    let mishap = event(&MISHAP).with("who", who).with("from", from).with("to", to).with("river", river);
    scene.tell(mishap.with("n", coins).with("h", hours));
}

/// What the traveller sees in a place, and whom they meet.
fn arrive(scene: &mut Scene<'_>, who: PersonId, to: PlaceId, last: bool) {
    let place = scene.facts.place(to);
    // The first inhabitant has the job that the place is known for.
    let host = scene.facts.inhabitants(to)[0];
    let (coins, hours) = (scene.random.between(2, 9), scene.random.between(1, 4));
    let food = &scene.random.pick(&FOODS).word;
    let seen = || {
        let base = event(&ARRIVED)
            .with("who", who)
            .with("to", to)
            .with("craft", &place.craft.product)
            .with("n", coins);
        let base = base.with("landmark", place.landmark).with("river", place.river);
        let base = base.with("colour", place.roofs).with("food", food);
        base.with("dish", &place.dish.word).with("day", place.market_day)
    };
    scene.tell(seen());
    if last {
        scene.tell(seen());
    }
    let met = event(&MET).with("who", who).with("to", to).with("host", host).with("n", place.craft.price);
    let met = met.with("job", &place.craft.name).with("work", &place.craft.work);
    let met = met.with("h", hours).with("tool", &place.craft.tool).with("river", place.river);
    scene.tell(met.with("spot", &place.craft.place).with("craft", &place.craft.product));
}
