//! A market report: prices that rose and fell for a reason, totals that add up.

use crate::world::event::{Frame, frame};
use crate::world::facts::PersonId;
use crate::world::lexicon::{GOODS, Good};
use crate::world::scene::{Scene, Story, event};
use crate::world::word::{Word, plain};

/// Why a good becomes dear, and why it becomes cheap.
static SCARCE: [Word; 5] = [
    plain("the harvest had been poor", "收成不好"),
    plain("the roads were flooded", "道路被水淹了"),
    plain("the last ship had not arrived", "最后一条船没有到"),
    plain("many strangers had come to buy", "来了许多外地买主"),
    plain("mice had eaten half of the stores", "老鼠吃掉了一半存货"),
];
static PLENTY: [Word; 5] = [
    plain("the harvest had been rich", "收成很好"),
    plain("a ship had brought more than enough", "一条船运来了很多货"),
    plain("there were more sellers than buyers", "卖的人比买的人多"),
    plain("the stores were full", "仓库都满了"),
    plain("three new sellers had come", "来了三个新的卖家"),
];

static TITLE: Frame = frame(
    &["market report from {place}", "prices in {place}", "{day} market in {place}"],
    &["{place}市场报告", "{place}的物价", "{place}{day}的集市"],
);
static OPENING: Frame = frame(
    &[
        "it was {day}, market day in {place}, and on this {weather} {season} day the square was full of [people|carts|{n} traders and their carts].",
        "every {day} there is a market in {place}, and this week {n} traders came.",
        "the {day} market in {place} began [early|at sunrise] and lasted {h.hours}.",
        "{n} traders had come to {place} for the {day} market.",
    ],
    &[
        "{day}是{place}赶集的日子，{season}里{weather}的一天，广场上来了[许多人|许多车|{n}个商人]。",
        "{place}每逢{day}有集市，这个星期来了{n}个商人。",
        "{place}{day}的集市[一早|日出时]就开始了，持续了{h.hours}。",
        "{n}个商人来到{place}赶{day}的集。",
    ],
);
static ROSE: Frame = frame(
    &[
        "the price of {what} rose from {old} to {new.coins} a {what.unit}, because {why}.",
        "{what} became more expensive: a {what.unit} cost {new.coins} instead of {old}, [because {why}|said {who.name}].",
        "{who} asked {new.coins} for {what.a}, {d} more than last week, since {why}.",
        "last week {what.a} had cost {old.coins}, but now {who} wanted {new}.",
        "because {why}, {what} cost {d.coins} more than before, namely {new}.",
    ],
    &[
        "因为{why}，{what}的价格从每{what.measure}{old.coins}涨到了{new.coins}。",
        "[因为{why}，|{who.name}说，]{what}变贵了，每{what.measure}不再是{old.coins}，而是{new.coins}。",
        "{who}的{what}要价{new.coins}一{what.measure}，比上星期贵{d.coins}，因为{why}。",
        "上星期{what.a}卖{old.coins}，现在{who}要{new.coins}。",
        "由于{why}，{what}比以前贵了{d.coins}，要{new.coins}。",
    ],
);
static FELL: Frame = frame(
    &[
        "the price of {what} fell from {old} to {new.coins} a {what.unit}, because {why}.",
        "{what} became cheaper: a {what.unit} cost {new.coins} instead of {old}, [because {why}|said {who.name}].",
        "{who} asked only {new.coins} for {what.a}, {d} less than last week, since {why}.",
        "last week {what.a} had cost {old.coins}, but now {who} was content with {new}.",
        "because {why}, {what} cost {d.coins} less than before, namely {new}.",
    ],
    &[
        "因为{why}，{what}的价格从每{what.measure}{old.coins}降到了{new.coins}。",
        "[因为{why}，|{who.name}说，]{what}变便宜了，每{what.measure}不再是{old.coins}，而是{new.coins}。",
        "{who}的{what}只要{new.coins}一{what.measure}，比上星期便宜{d.coins}，因为{why}。",
        "上星期{what.a}卖{old.coins}，现在{who}只要{new.coins}。",
        "由于{why}，{what}比以前便宜了{d.coins}，只要{new.coins}。",
    ],
);
static STEADY: Frame = frame(
    &[
        "{who.s} {what} still cost {new.coins} a {what.unit}, just like last week.",
        "the price of {what} did not change and remained at {new.coins}, [although {why}|and {who} was content|as {who} had said].",
        "{who} sold {what} at the old price of {new.coins} a {what.unit}.",
    ],
    &[
        "{who}的{what}仍然是每{what.measure}{new.coins}，和上星期一样。",
        "{what}的价格没有变，[尽管{why}，|{who}很满意，|正像{who}说的，]还是{new.coins}。",
        "{who}的{what}照旧卖{new.coins}一{what.measure}。",
    ],
);
static SOLD: Frame = frame(
    &[
        "{buyer} bought {n:what} from {who.obj} and paid {t.coins} in all.",
        "{who} sold {n:what} to {buyer.obj} for {t.coins}, so {buyer} went home with a full cart.",
        "for {n:what} {buyer} had to pay {t.coins}.",
        "{buyer} needed {n:what}, which made {t.coins} altogether.",
    ],
    &[
        "{buyer}从{who}那里买了{n:what}，一共付了{t.coins}。",
        "{who}把{n:what}卖给{buyer}，收了{t.coins}，{buyer}推着满满一车回家了。",
        "{n:what}，{buyer}要付{t.coins}。",
        "{buyer}需要{n:what}，合起来是{t.coins}。",
    ],
);
static REFUSED: Frame = frame(
    &[
        "{buyer} found {who.s} {what} too expensive and bought nothing.",
        "\"{new.coins} is too much for {what.a},\" {buyer} told {who.obj}.",
        "{buyer} had only {less.coins}, which was not enough for {what.a}.",
    ],
    &[
        "{buyer}嫌{who}的{what}太贵，什么也没买。",
        "“{what.a}要{new.coins}，太贵了。”{buyer}对{who}说。",
        "{buyer}只有{less.coins}，不够买{what.a}。",
    ],
);
static EXTREMES: Frame = frame(
    &[
        "the most expensive good in {place} was {dear} at {n.coins}, and the cheapest was {cheap} at {m}.",
        "in {place} nothing cost more than {dear}, and nothing cost less than {cheap}, which cost {m.coins}.",
        "with {n.coins}, {dear} cost more than anything else, while {cheap} cost only {m}.",
    ],
    &[
        "这天{place}最贵的是{dear}，要{n.coins}，最便宜的是{cheap}，只要{m.coins}。",
        "{place}没有什么比{dear}更贵，也没有什么比只卖{m.coins}的{cheap}更便宜。",
        "{dear}卖{n.coins}，比什么都贵，{cheap}只卖{m.coins}。",
    ],
);
static CLOSING: Frame = frame(
    &[
        "in the evening {who} counted {who.his} money and had earned {t.coins}.",
        "{who} went home with {t.coins} in {who.his} [pocket|purse] and a much lighter [load|cart].",
        "when the market closed, {who} {who.was} {t.coins} richer.",
        "the next market in {place} will be on {day}, as always, and {who} will [be there|sell again|come with more goods].",
    ],
    &[
        "傍晚{who}数了数钱，一共赚了{t.coins}。",
        "{who}回家时[口袋|钱包]里多了{t.coins}，[担子|车子]也轻多了。",
        "散集的时候，{who}多了{t.coins}。",
        "{place}的下一次集市照例在{day}，{who}[还会来|还要来卖货|会带更多的货来]。",
    ],
);

/// A good with its price of last week and of today.
struct Quote {
    good: &'static Good,
    old: u32,
    new: u32,
}

/// A market report.
pub(crate) fn story(mut scene: Scene<'_>) -> Story {
    let day = scene.facts.place(scene.place).market_day;
    let (traders, hours) = (scene.random.between(12, 60), scene.random.between(4, 9));
    let here = |frame, place| event(frame).with("place", place).with("day", day);
    let opening = here(&OPENING, scene.place).with("n", traders).with("h", hours);
    let opening = opening.with("weather", &scene.weather.adjective).with("season", &scene.season.word);
    scene.tell(opening);
    let mut goods: Vec<&'static Good> = GOODS.iter().collect();
    scene.random.shuffle(&mut goods);
    let number = scene.random.between(3, 6) as usize;
    let quotes: Vec<Quote> = goods.into_iter().take(number).map(|good| quote(&mut scene, good)).collect();
    let seller = scene.cast[0];
    let mut earned = 0;
    for quote in &quotes {
        // The first of the cast is the one whose day is counted.
        let who = if scene.random.chance(0.6) { seller } else { scene.other(&[seller]) };
        let paid = trade(&mut scene, quote, who);
        earned += if who == seller { paid } else { 0 };
    }
    extremes(&mut scene, &quotes);
    if earned > 0 {
        scene.tell(here(&CLOSING, scene.place).with("who", seller).with("t", earned));
    }
    let title = here(&TITLE, scene.place);
    scene.finish(title)
}

fn quote(scene: &mut Scene<'_>, good: &'static Good) -> Quote {
    let mut price = || good.price + scene.random.between(0, 4) - 2;
    Quote { good, old: price(), new: price() }
}

/// Tells the price and what is bought; gives back what was paid.
fn trade(scene: &mut Scene<'_>, quote: &Quote, who: PersonId) -> u32 {
    let buyer = scene.other(&[who]);
    let (frame, reasons) = match quote.new.cmp(&quote.old) {
        std::cmp::Ordering::Greater => (&ROSE, &SCARCE),
        std::cmp::Ordering::Less => (&FELL, &PLENTY),
        std::cmp::Ordering::Equal => (&STEADY, &PLENTY),
    };
    let why = scene.random.pick(reasons);
    let about = |frame| event(frame).with("who", who).with("what", &quote.good.word).with("new", quote.new);
    let change = quote.new.abs_diff(quote.old);
    scene.tell(about(frame).with("old", quote.old).with("d", change).with("why", why));
    if scene.random.chance(0.25) {
        scene.tell(about(&REFUSED).with("buyer", buyer).with("less", quote.new - 1));
        return 0;
    }
    let number = scene.random.between(2, 9);
    scene.tell(about(&SOLD).with("buyer", buyer).with("n", number).with("t", number * quote.new));
    number * quote.new
}

fn extremes(scene: &mut Scene<'_>, quotes: &[Quote]) {
    let ordered = || quotes.iter().map(|quote| (quote.new, &quote.good.word));
    let (Some(dear), Some(cheap)) = (ordered().max_by_key(|q| q.0), ordered().min_by_key(|q| q.0)) else {
        return;
    };
    let unique = |price| quotes.iter().filter(|quote| quote.new == price).count() == 1;
    if unique(dear.0) && unique(cheap.0) {
        let about = event(&EXTREMES).with("dear", dear.1).with("cheap", cheap.1).with("place", scene.place);
        scene.tell(about.with("n", dear.0).with("m", cheap.0));
    }
}
