//! Buying, selling, swapping: what is paid and who owns what afterwards adds up.

use crate::world::event::{Frame, frame};
use crate::world::scene::{Scene, event};

static WANTED: Frame = frame(
    &[
        "{who} needed {what.a}, because {who.his} old {what} {what.was} too {bad}.",
        "{who} had wanted {what.a} for [weeks|months|a long time], and {whom} had just the right thing.",
        "{who} had been saving [coins|money] for {what.a}, and {whom} was willing to sell {what.it}.",
        "{whom} had {what.a} to sell, and {who} wanted {what.it} very much.",
        "{who} wanted {what.a} that was {good.er} than the one {who.he} had.",
        "{who} saw {what.a} in {whom.s} window and [stopped|went in].",
    ],
    &[
        "{who}的旧{what}{bad}，{who.he}想买{what.one}{good}一点的。",
        "{who}早就想要{what.a}了，[正好|恰好]{whom}有{what.one}要卖。",
        "{who}一直在攒钱买{what}，{whom}愿意卖给{who.he}。",
        "{whom}有{what.a}要卖，{who}[非常喜欢|一眼就看中了]。",
        "{who}想要{what.a}，要比{who.he}现在用的更{good}。",
        "{who}在{whom}家的橱窗里看见{what.a}，就走了进去。",
    ],
);
static PRICED: Frame = frame(
    &[
        "{whom} asked {n.coins} for {what.it}, but {who} offered only {m.coins}.",
        "\"The price is {n.coins},\" {whom} said, but {who} thought that {m} was enough.",
        "{who} found {n.coins} too expensive and said that {what.the} {what.was} worth {m} at most.",
        "when {whom} named a price of {n.coins}, {who} [laughed|shook {who.his} head] and offered {m}.",
    ],
    &[
        "{whom}要价{n.coins}，{who}只肯出{m.coins}。",
        "“价钱是{n.coins}。”{whom}说，可是{who}觉得{m.coins}就够了。",
        "{who}嫌{n.coins}太贵，说{what.that}最多值{m.coins}。",
        "{whom}开价{n.coins}，{who}[笑了笑|摇摇头]，只给{m.coins}。",
    ],
);
static AGREED: Frame = frame(
    &[
        "{they} settled on {k.coins}, so {who} paid and carried {what.the} home.",
        "{whom} sold {what.the} to {who.obj} for {k.coins}, and now {what.the} belonged to {who.obj}.",
        "{who} counted out {k.coins}, and from then on {what.the} {what.was} {who.his} own.",
        "{who} bought {what.the} for {k.coins}, less than {n} but more than {m}.",
    ],
    &[
        "{they}谈定{k.coins}，{who}付了钱，把{what}带回了家。",
        "{whom}以{k.coins}的价钱把{what}卖给了{who}，现在{what}归{who}了。",
        "{who}数出{k.coins}，从此{what.that}就是{who.he}的了。",
        "{who}花{k.coins}买下了{what}，比{n}枚少，比{m}枚多。",
    ],
);
static CHANGE: Frame = frame(
    &[
        "{who} had come with {t.coins} and went home with {r}.",
        "{who.s} purse had held {t.coins}, and now {r} were left in it.",
        "of {who.his} {t.coins} {who} still had {r}, and {who.he} {who.was} [happy|content] with {what.the}.",
        "{who} had {r.coins} left of the {t} that {who.he} had brought.",
    ],
    &[
        "{who}来的时候有{t.coins}，回家时还剩{r.of}枚。",
        "{who}的钱袋里原来有{t.coins}，现在只剩{r.of}枚了。",
        "{who}带来的{t.coins}还剩下{r.of}枚，{who.he}对{what.that}很满意。",
        "{who}付完钱，{t.coins}里还剩{r.of}枚。",
    ],
);

/// Somebody buys a thing after some bargaining.
pub(crate) fn sale(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let thing = scene.new_thing();
    let asked = thing.price + scene.random.between(2, 6);
    let offered = thing.price - scene.random.between(2, 4);
    let paid = scene.random.between(offered + 1, asked - 1);
    let left = scene.random.between(2, 15);
    let about = |frame| event(frame).with("who", who).with("whom", whom).with("what", &thing.word);
    scene.begin(about(&WANTED).with("good", &thing.good).with("bad", &thing.bad));
    scene.tell(about(&PRICED).with("n", asked).with("m", offered));
    scene.conclude(about(&AGREED).with("n", asked).with("m", offered).with("k", paid));
    if scene.random.chance(0.6) {
        scene.tell(about(&CHANGE).with("t", paid + left).with("r", left));
    }
    scene.give(thing, who);
}

static WORKED: Frame = frame(
    &[
        "{who} {work.past} {spot.at} [without a rest|as on every other day|with great care], for {who.he} {who.was} a {job}.",
        "{who} went to {spot.the} and {work.past}[| with {tool.a}| as usual].",
        "{who} took {tool.a}, went to {spot.the} and {work.past}.",
        "like any good {job}, {who.name} {work.past} {spot.at}.",
    ],
    &[
        "{who}在{spot.at}{work}，[一刻也没有休息|和往常一样|做得非常用心]，因为{who.he}是{job}。",
        "{who}来到{spot}，[开始|忙着]{work}。",
        "{who}拿起{tool}，到{spot.at}{work}去了。",
        "和所有好{job}一样，{who.name}在{spot.at}{work}。",
    ],
);
static READY: Frame = frame(
    &[
        "after {h.hours} {n:what} were ready for sale.",
        "{who} [worked hard|did not waste a minute], and {n:what} were [finished|ready] after {h.hours}.",
        "{h.hours} later {who} had {n:what} to sell.",
    ],
    &[
        "{h.hours}以后，{n:what}可以拿去卖了。",
        "{who}[干得很起劲|一分钟也没有浪费]，过了{h.hours}，{n:what}就准备好了。",
        "{h.hours}过去，{who}已经有{n:what}可以卖了。",
    ],
);
static BOUGHT: Frame = frame(
    &[
        "{whom} bought {m:what} and paid {t.coins}, {p.coins} for each.",
        "at {p.coins} each, {whom} took {m:what} and paid {t.coins}.",
        "{whom} paid {t.coins} for {m:what}.",
    ],
    &[
        "{whom}买走{m:what}，每{what.measure}{p.coins}，一共付了{t.coins}。",
        "每{what.measure}卖{p.coins}，{whom}要了{m:what}，付了{t.coins}。",
        "{whom}花{t.coins}买了{m:what}。",
    ],
);
static REMAINED: Frame = frame(
    &[
        "so {k:what} were left for {third.obj}, who came [last|late].",
        "{third} wanted {n:what}, but only {k} were left.",
        "{who} sold the other {k} to {third.obj} and had none left.",
        "{who} kept the remaining {k:what} for {third.obj}.",
    ],
    &[
        "于是还剩下{k:what}，留给了[最后|晚]来的{third}。",
        "{third}想买{n:what}，可是只剩下{k.of}{what.measure}了。",
        "{who}把剩下的{k.of}{what.measure}卖给了{third}，一{what.measure}也没有留下。",
        "{who}把剩下的{k:what}留给了{third}。",
    ],
);

/// Somebody's work yields so many pieces; some are sold, the rest remain.
pub(crate) fn stock(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let third = scene.other(&[who, whom]);
    let job = scene.facts.person(who).job;
    let (sold, left) = (scene.random.between(2, 6), scene.random.between(2, 9));
    let hours = scene.random.between(2, 6);
    let about = |frame| event(frame).with("who", who).with("what", &job.product).with("n", sold + left);
    let work = event(&WORKED).with("who", who).with("work", &job.work).with("tool", &job.tool);
    scene.begin(work.with("spot", &job.place).with("job", &job.name));
    scene.tell(about(&READY).with("h", hours));
    let bought = about(&BOUGHT).with("whom", whom).with("m", sold);
    scene.follow(bought.with("p", job.price).with("t", sold * job.price));
    scene.tell(about(&REMAINED).with("third", third).with("k", left));
}

static MET: Frame = frame(
    &[
        "{who} met {whom.obj} {spot.at} and looked at {whom.his} {other}.",
        "{who} carried {what.a} to {spot.the}, where {whom} was waiting with {other.a}.",
        "{whom} liked {who.s} {what}, and {who} liked {whom.s} {other}.",
    ],
    &[
        "{who}在{spot.at}遇见了{whom}，看了看{whom.he}的{other}。",
        "{who}带着{what.a}来到{spot}，{whom}正拿着{other.a}等在那里。",
        "{whom}喜欢{who}的{what}，{who}喜欢{whom}的{other}。",
    ],
);
static OFFERED: Frame = frame(
    &[
        "\"Give me your {other}, and you can have my {what},\" {who} said.",
        "{who} offered {who.his} {what} for the {other}, and {whom} thought about it for [a while|a moment].",
        "\"Shall we swap?\" {whom} asked, because {whom.he} had {other.a} but no {what}.",
    ],
    &[
        "“把你的{other}给我，我的{what}就归你。”{who}说。",
        "{who}想用自己的{what}换{other.that}，{whom}想了[一会儿|片刻]。",
        "“我们换一换吧？”{whom}问，因为{whom.he}有{other}，却没有{what}。",
    ],
);
static SWAPPED: Frame = frame(
    &[
        "{they} shook hands, and now {who} owned the {other} and {whom} the {what}.",
        "so the {what} went to {whom.obj}, and the {other} went to {who.obj}.",
        "{whom} got the {what}, {who} got the {other}, and both were [pleased|satisfied].",
    ],
    &[
        "{they}握了握手，现在{other}归{who}，{what}归{whom}。",
        "于是{what}给了{whom}，{other}给了{who}。",
        "{whom}得到了{what}，{who}得到了{other}，两个人都很[满意|高兴]。",
    ],
);

/// Two people exchange what they own.
pub(crate) fn swap(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let thing = scene.belonging(who);
    scene.give(thing, who);
    let other = scene.new_thing();
    let spot = scene.spot();
    let about = |frame| {
        let people = event(frame).with("who", who).with("whom", whom);
        people.with("what", &thing.word).with("other", &other.word)
    };
    scene.begin(about(&MET).with("spot", spot));
    scene.tell(about(&OFFERED));
    scene.conclude(about(&SWAPPED));
    scene.give(thing, whom);
    scene.give(other, who);
}
