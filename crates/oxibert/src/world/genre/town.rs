//! An encyclopedia's entry on a place: the facts of the world, the same in every document.

use crate::world::event::{Event, Frame, frame};
use crate::world::facts::{NOW, PersonId, PlaceId};
use crate::world::lexicon::{SEASONS, WEATHERS};
use crate::world::scene::{Scene, Story, event};
use crate::world::word::{Word, plain};

static TITLE: Frame = frame(&["{place}"], &["{place}"]);
static IS: Frame = frame(
    &[
        "{place} is a {place.kind} in {region}, {land}[, {far.miles} from {other}|, on the {river}|].",
        "the {place.kind} of {place} lies {land} in {region}[, not far from {other}|, on the {river}|, where the {river} flows].",
        "{land} in {region} lies {place}, a {place.kind} [of {n.people}|with {colour} roofs|with a {landmark}].",
        "{place}, a {place.kind} {land}, belongs to {region}[, like {other}| and is known for its {product.s}| and lies on the {river}].",
    ],
    &[
        "{place}是{region}的一座{place.kind}，坐落在{land}[，离{other}{far.miles}|，在{river}边|]。",
        "{place}位于{region}，坐落在{land}[，离{other}不远|，在{river}边|，{river}从这里流过]。",
        "{region}{land}有一座[住着{n.people}的|{colour}屋顶的|有{landmark}的]{place.kind}，叫做{place}。",
        "{place}坐落在{land}，属于{region}[，离{other}不远|，以{product}闻名|，在{river}边]。",
    ],
);
static POPULATION: Frame = frame(
    &[
        "about {n.people} live [there|by the {river}|under its {colour} roofs|around the {landmark}], so it is [called|counted as] a {place.kind}.",
        "{place} has {n.people}, and about {m} of them are [children|under ten years old|too young to work|{craft.s} or their children].",
        "with its {n.people}, {place} is {size} than [{other}|its neighbour {other}|{other}, which lies {far.miles} away|{other} in the {dir}].",
    ],
    &[
        "[那里|{river}边|{colour}的屋顶下|{landmark}周围]大约住着{n.people}，[算是|称得上]一座{place.kind}。",
        "{place}有{n.people}，其中大约{m}个是[孩子|不到十岁的孩子|还不能干活的孩子|{craft}和他们的孩子]。",
        "{place}有{n.people}，比[{other}|邻近的{other}|{far.miles}外的{other}|{dir}边的{other}]{size}。",
    ],
);
static FOUNDED: Frame = frame(
    &[
        "[it|{place}|the {place.kind}] was founded in {year.digits}, which makes it {age.years} old, [a good age|older than the {landmark}|as old as its market].",
        "[{place}|the {place.kind} on the {river}|the {place.kind}] was founded in the year {year.digits} by {founders}[ who came up the {river}| from far away|].",
        "the oldest house of {place} [by the {river}|near the {landmark}|with a {colour} roof] was built in {year.digits}, when {founders} founded the {place.kind}.",
        "{place} is {age.years} old, for it was founded in {year.digits} [by {founders}|on the {river}|in {region}|{land}].",
    ],
    &[
        "[它|{place}|这座{place.kind}]建于{year.digits}年，至今已有{age.years}，[历史悠久|比{landmark}还老|和它的集市一样老]。",
        "[{place}|{river}边的{place}|这座{place.kind}]是{year.digits}年由[沿{river}而来的|远道而来的|]{founders}建立的。",
        "{place}最老的房子[在{river}边|在{landmark}附近|有{colour}的屋顶]，建于{year.digits}年，那年{founders}建立了{place}。",
        "{place}已有{age.years}历史，{year.digits}年[由{founders}|在{river}边|在{region}|在{land}]建立。",
    ],
);
static RIVER: Frame = frame(
    &[
        "the river {river} flows through {place} [under {n} bridges|from one end to the other|past the {landmark}].",
        "{place} stands on the {river}, and there are {n} bridges over it[, one of them near the {landmark}|, all with {colour} stones|].",
        "the people of {place} [fish and wash|swim and fish|wash their clothes] in the {river}[, below the {landmark}|, as {founders} did in {year.digits}|].",
    ],
    &[
        "{river}流经{place}，[上面有{n.of}座桥|从头流到尾|流过{landmark}]。",
        "{place}在{river}边，河上有{n.of}座桥[，其中一座在{landmark}附近|，都用{colour}的石头砌成|]。",
        "{place}的人在[{landmark}下的|]{river}里[捕鱼、洗衣|游泳、捕鱼|洗衣服][，和{year.digits}年的{founders}一样|]。",
    ],
);
static KNOWN: Frame = frame(
    &[
        "{place} is known for its {product.s} [far and wide|in all of {region}|as far as {other}|and for its {landmark}].",
        "the {craft.s} of {place} are famous [far and wide|in {other}|in {region}], and the best known of them is {who.name}.",
        "in {place} every second family [on the {river}|near the {landmark}|under the {colour} roofs] lives from the work of a {craft}.",
        "if you want good {product.s}, [ask for|go to|look for] {who.name}, the {craft} of {place}[ in {region}| on the {river}|].",
    ],
    &[
        "{place}的{product}[远近闻名|在{region}很有名|在{other}也很有名|和{landmark}一样有名]。",
        "{place}的{craft}[远近闻名|在{other}很有名|在{region}很有名]，其中最有名的是{who.name}。",
        "在{place}，[{river}边|{landmark}附近|{colour}的屋顶下]每两户人家就有一户靠{craft}的手艺生活。",
        "想要好{product}，就[去找|去问|打听]{region}{place}的{craft}{who.name}。",
    ],
);
static LANDMARK: Frame = frame(
    &[
        "[its|the {place.kind}'s] most famous building is the {landmark}[ by the {river}| near the market|], more than {n.years} old.",
        "visitors [from {other}|from all over {region}|with much time] come to {place} to see the {landmark} [and to buy {product.s}|and to eat {dish}|by the {river}].",
        "from [far away|the road to {other}|the {river}] one sees the {landmark} and the {colour} roofs of {place}.",
    ],
    &[
        "那里最有名的是[{river}边的|集市旁的|]{landmark}，已有{n}多年历史。",
        "[{other}|{region}各地|有空]的游客来{place}，是为了看[{river}边的|]{landmark}[，买{product}|，吃{dish}|]。",
        "从[远处|去{other}的路上|{river}上]就能看见{place}的{landmark}和{colour}的屋顶。",
    ],
);
static MARKET: Frame = frame(
    &[
        "the market of {place} is held every {day} near the {landmark}, [and {product.s} are sold there|and people come from {other}|not far from the {river}].",
        "on {day} [farmers|traders|people] from [{other}|{other} and the rest of {region}|the villages along the {river}] come to the market of {place}.",
        "{day} is market day in {place}, when [the square is full of people|one can buy {product.s}|even people from {other} come|the {landmark} is full of birds and children].",
    ],
    &[
        "{place}每逢{day}在{landmark}附近有集市，[那里卖{product}|{other}的人也来|离{river}不远]。",
        "每到{day}，[{other}|{other}和{region}各地|{river}两岸]的[农民|商人|人]都来{place}赶集。",
        "{day}是{place}赶集的日子，[广场上挤满了人|可以买到{product}|连{other}的人也会来|{landmark}旁到处是孩子]。",
    ],
);
static DISH: Frame = frame(
    &[
        "the favourite dish of {place} is {dish}, made of {one}, {two} and {three}[ from {other}| and a little {spice}|].",
        "nobody should leave {place} without having [tasted its {taste} {dish}|tasted its {dish} with {spice}|seen the {landmark} and tasted its {dish}].",
        "on every [holiday|feast day|{day}], people in {place} eat {dish} with {spice}[ by the {river}| near the {landmark}|].",
    ],
    &[
        "{place}人最爱吃{dish}，用{one}、{two}和[{other}的|]{three}做成[，再加一点{spice}|]。",
        "来{place}一定要[尝尝{dish}，味道很{taste}|尝尝加了{spice}的{dish}|看看{landmark}，尝尝{dish}]。",
        "每逢[过节|节日|{day}]，{place}人都要[在{river}边|在{landmark}附近|]吃加了{spice}的{dish}。",
    ],
);
static NEIGHBOUR: Frame = frame(
    &[
        "{next}, [known for its {nproduct.s}|where the market is on {nday}|a {next.kind} on the {nriver}], lies {n.miles} to the {ndir}.",
        "the nearest place in the {ndir} is {next}, {n.miles} away [on the {nriver}|from the {landmark}|by road].",
        "a [good|narrow|dusty] road of {n.miles} leads {ndir} [from {place}|along the fields|from the {landmark}] to {next}.",
        "travellers reach {next} [and its {nlandmark}|on the {nriver}|and its {nproduct.s}] if they go {n.miles} {ndir} from {place}.",
    ],
    &[
        "[以{nproduct}闻名的|每逢{nday}有集市的|{nriver}边的]{next}在往{ndir}{n.miles}的地方。",
        "{ndir}边最近的地方是[{nriver}边的|]{next}，[和{landmark}|走大路]相距{n.miles}。",
        "有一条{n.miles}长的[好路|窄路|土路][从{place}|沿着田野|从{landmark}]向{ndir}通往{next}。",
        "从{place}往{ndir}走{n.miles}，就到了[{nriver}边的|有{nlandmark}的|出产{nproduct}的]{next}。",
    ],
);
static SEASON: Frame = frame(
    &[
        "in {season} the days in {place} are often {weather}[ on the {river}|, and then the {craft.s} stay at home|, and then few come from {other}].",
        "{season} is {weather} there, as [everybody along the {river}|every {craft}|every traveller from {other}] knows.",
        "those who do not like {noun} should not come to {place} [from {other}|to see the {landmark}|to buy {product.s}] in {season}.",
    ],
    &[
        "{season}的{place}，天气常常{weather}[，{river}上也是|，{craft}都待在家里|，很少有人从{other}来]。",
        "那里{season}天气{weather}，[{river}两岸的人|{craft}|{other}来的旅客]都知道。",
        "不喜欢{noun}的人，{season}最好别[从{other}|]来{place}[看{landmark}|买{product}]。",
    ],
);

/// An entry on a place.
pub(crate) fn story(mut scene: Scene<'_>) -> Story {
    let n = scene.facts.place(scene.place).population;
    let other = neighbour(&mut scene);
    let is = about(&scene, &IS, other).with("n", n);
    scene.tell(is);
    let mut parts = [basics(&mut scene), sights(&mut scene), surroundings(&mut scene)].concat();
    scene.random.shuffle(&mut parts);
    let length = scene.random.between(6, parts.len() as u32) as usize;
    parts.truncate(length);
    parts.into_iter().for_each(|part| scene.tell(part));
    let title = event(&TITLE).with("place", scene.place);
    scene.finish(title)
}

/// All that is known of the place, and one of its neighbours: any sentence may mention any of it.
fn about(scene: &Scene<'_>, frame: &'static Frame, other: PlaceId) -> Event {
    let place = scene.facts.place(scene.place);
    let (miles, direction) = scene.facts.way(scene.place, other);
    // Small facts that nothing else needs follow from the year.
    let founders = &FOUNDERS[place.founded as usize % FOUNDERS.len()];
    let base = event(frame).with("place", scene.place).with("region", place.region).with("land", place.land);
    let base = base.with("river", place.river).with("landmark", place.landmark).with("colour", place.roofs);
    let base = base.with("product", &place.craft.product).with("craft", &place.craft.name);
    let base = base.with("dish", &place.dish.word).with("day", place.market_day).with("founders", founders);
    base.with("year", place.founded).with("other", other).with("far", miles).with("dir", direction)
}

fn neighbour(scene: &mut Scene<'_>) -> PlaceId {
    *scene.random.pick(&scene.facts.neighbours(scene.place))
}

fn basics(scene: &mut Scene<'_>) -> Vec<Event> {
    let place = scene.facts.place(scene.place);
    let others = [(); 4].map(|()| neighbour(scene));
    let larger = place.population > scene.facts.place(others[0]).population;
    let size = if larger { &LARGER } else { &SMALLER };
    let population = about(scene, &POPULATION, others[0]).with("n", place.population);
    let bridges = 2 + place.founded % 5;
    vec![
        population.with("m", place.population / 4).with("size", size),
        about(scene, &FOUNDED, others[1]).with("age", NOW - place.founded),
        about(scene, &RIVER, others[2]).with("n", bridges),
        about(scene, &MARKET, others[3]),
    ]
}

static FOUNDERS: [Word; 5] = [
    plain("fishermen", "渔民"),
    plain("farmers", "农民"),
    plain("merchants", "商人"),
    plain("monks", "僧人"),
    plain("soldiers", "士兵"),
];
static LARGER: Word = plain("larger", "大");
static SMALLER: Word = plain("smaller", "小");

fn sights(scene: &mut Scene<'_>) -> Vec<Event> {
    let place = scene.facts.place(scene.place);
    let others = [(); 3].map(|()| neighbour(scene));
    let master: PersonId = scene.facts.inhabitants(scene.place)[0];
    let [one, two, three] = &place.dish.parts;
    let dish = about(scene, &DISH, others[0]).with("one", one).with("two", two).with("three", three);
    // A landmark is half as old as its place, in full decades.
    let age = (NOW - place.founded) / 20 * 10;
    vec![
        dish.with("spice", &place.dish.spice).with("taste", &place.dish.taste),
        about(scene, &KNOWN, others[1]).with("who", master),
        about(scene, &LANDMARK, others[2]).with("n", age),
    ]
}

fn surroundings(scene: &mut Scene<'_>) -> Vec<Event> {
    let facts = scene.facts;
    let mut ways: Vec<Event> = Vec::new();
    for next in facts.neighbours(scene.place) {
        let (miles, direction) = facts.way(scene.place, next);
        let there = facts.place(next);
        let way = about(scene, &NEIGHBOUR, next).with("next", next).with("n", miles).with("ndir", direction);
        let way = way.with("nriver", there.river).with("nday", there.market_day);
        ways.push(way.with("nproduct", &there.craft.product).with("nlandmark", there.landmark));
    }
    // The weather of a season in a place is a fact too: it follows from the year of its founding.
    let year = facts.place(scene.place).founded as usize;
    let season = &SEASONS[year % 4];
    let weather = &WEATHERS[season.weathers[year % season.weathers.len()]];
    let other = neighbour(scene);
    let climate =
        about(scene, &SEASON, other).with("season", &season.word).with("weather", &weather.adjective);
    ways.push(climate.with("noun", &weather.noun));
    ways
}
