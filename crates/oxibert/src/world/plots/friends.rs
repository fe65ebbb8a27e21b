//! What people do to and for each other: quarrels, presents, loans, promises, visits.

use crate::world::event::{Frame, frame};
use crate::world::lexicon::{DISHES, FOODS};
use crate::world::scene::{Scene, event};
use crate::world::word::{Word, plain};

static REASONS: [Word; 6] = [
    plain("the price of a fence", "一道篱笆的价钱"),
    plain("a garden path", "一条花园小路"),
    plain("an old debt", "一笔旧账"),
    plain("the noise at night", "夜里的吵闹声"),
    plain("a game of chess", "一盘棋"),
    plain("a silly joke", "一个无聊的玩笑"),
];

static QUARRELLED: Frame = frame(
    &[
        "{whom.name} and {who.name} [quarrelled|had a quarrel] about {reason}.",
        "{who} {who.was} angry with {whom.obj} because of {reason}.",
        "loud voices were heard {spot.at}: {whom.name} and {who.name} were quarrelling about {reason}.",
    ],
    &[
        "{whom.name}和{who.name}为了{reason}吵[了起来|了一架]。",
        "因为{reason}，{who}对{whom}很生气。",
        "{spot.at}传来吵闹声，原来{whom.name}和{who.name}为了{reason}吵起来了。",
    ],
);
static SULKED: Frame = frame(
    &[
        "{who} called {whom.obj} {bad}, and {whom} [went away|left] without a word.",
        "\"I will never speak to you again!\" {who} said, although {whom} was {who.his} [friend|neighbour].",
        "{whom.name} and {who.name} walked past each other {spot.at} and did not say hello.",
    ],
    &[
        "{who}说{whom}{bad}，{whom}一声不响地走了。",
        "“我再也不跟你说话了！”{who}说，虽然{whom}是{who.he}的[朋友|邻居]。",
        "{whom.name}和{who.name}在{spot.at}擦肩而过，连招呼也没打。",
    ],
);
static MEDIATED: Frame = frame(
    &[
        "{third} listened to both sides and said that friendship was worth more than {reason}.",
        "\"Why do you quarrel about {reason}?\" asked {third.name}, who was known to be {trait}.",
        "{third} invited {them} both to {spot.the} and poured [tea|wine|warm milk].",
    ],
    &[
        "{third}听了双方的话，说友谊比{reason}更重要。",
        "“你们为什么要为{reason}争吵呢？”{trait}的{third}问道。",
        "{third}把两个人都请到{spot}，给{them}倒上了[茶|酒|热牛奶]。",
    ],
);
static RECONCILED: Frame = frame(
    &[
        "{who} said sorry first, {whom} smiled, and {they} were friends again.",
        "{whom} gave {who.obj} {whom.his} hand, and the quarrel was [over|forgotten].",
        "{who} regretted {who.his} hard words, and {whom} forgave {who.him}.",
    ],
    &[
        "{who}先道了歉，{whom}笑了，{they}又成了朋友。",
        "{whom}向{who}伸出手，争吵就这样[结束|过去]了。",
        "{who}后悔说了重话，{whom}原谅了{who.he}。",
    ],
);

/// Two people quarrel; a third reconciles them.
pub(crate) fn quarrel(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let third = scene.other(&[who, whom]);
    let facts = scene.facts;
    let reason = scene.random.pick(&REASONS);
    let spot = scene.spot();
    let about = |frame| {
        let pair = event(frame).with("who", who).with("whom", whom);
        pair.with("reason", reason).with("spot", spot)
    };
    scene.begin(about(&QUARRELLED));
    // In anger people say the opposite of what is true.
    scene.tell(about(&SULKED).with("bad", &facts.person(whom).character.1));
    scene.follow(about(&MEDIATED).with("third", third).with("trait", &facts.person(third).character.0));
    scene.conclude(about(&RECONCILED));
}

static BIRTHDAY: Frame = frame(
    &[
        "{whom} celebrated {whom.his} birthday and was now {n.years} old.",
        "{whom} had a birthday party, because {whom.he} turned {n}.",
        "{who} remembered that {whom} turned {n} that day.",
    ],
    &[
        "{whom}过生日，今年{n}岁了。",
        "{whom}庆祝生日，{whom.he}满{n}岁了。",
        "{who}想起来，{whom}那天满{n}岁。",
    ],
);
static PREPARED: Frame = frame(
    &[
        "{who} wrapped {what.a} in paper and tied a {colour} ribbon around it.",
        "{who} had [secretly|long ago] bought {what.a} as a present.",
        "{who} knew that {whom} liked to {hobby}, but {who.he} chose {what.a} as a present.",
    ],
    &[
        "{who}用纸包好{what.a}，系上了一条{colour}的丝带。",
        "{who}[悄悄|早早]买好了{what.a}当礼物。",
        "{who}知道{whom}喜欢{hobby}，不过{who.he}还是选了{what.a}当礼物。",
    ],
);
static PRESENTED: Frame = frame(
    &[
        "{whom} opened the present and found {what.a}, [just what {whom.he} needed|the very thing {whom.he} had wished for].",
        "\"{n.years} old, and still no {what} of your own!\" {who} said, and gave {what.it} to {whom.obj}.",
        "when {whom} saw {what.the}, {whom.he} [jumped|shouted] for joy.",
    ],
    &[
        "{whom}打开礼物，里面是{what.a}，正是{whom.he}[想要|需要]的。",
        "“都{n}岁了，还没有自己的{what}！”{who}说着，把礼物递给了{whom}。",
        "{whom}看见{what}，高兴得[跳了起来|叫出声来]。",
    ],
);
static FEASTED: Frame = frame(
    &[
        "afterwards there was {food.a} for all the guests, and {third} played the {instrument}.",
        "{third} brought {food.a} and played a song on the {instrument}.",
        "{third} took {third.his} {instrument}, and everybody ate {food} and danced until [midnight|late].",
    ],
    &[
        "后来大家一起享用{food}，{third}还演奏了{instrument}。",
        "{third}带来了{food.a}，又用{instrument}演奏了一支曲子。",
        "{third}拿出{instrument}，大家享用{food}，一直跳舞跳到[半夜|很晚]。",
    ],
);

/// A birthday, a present, a feast.
pub(crate) fn birthday(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let third = scene.other(&[who, whom]);
    let facts = scene.facts;
    let child = facts.person(whom);
    let thing = scene.new_thing();
    let food = &scene.random.pick(&FOODS).word;
    let about = |frame| {
        event(frame).with("who", who).with("whom", whom).with("what", &thing.word).with("n", child.age())
    };
    scene.begin(about(&BIRTHDAY));
    scene.tell(about(&PREPARED).with("hobby", child.hobby).with("colour", child.pet_colour));
    scene.follow(about(&PRESENTED));
    let feast = event(&FEASTED).with("third", third).with("food", food);
    scene.tell(feast.with("instrument", facts.person(third).instrument));
    scene.give(thing, whom);
    scene.days_pass();
}

static BORROWED: Frame = frame(
    &[
        "{who} borrowed {tool.a} from {whom.obj}, because {who.he} wanted to {work}.",
        "\"May I borrow your {tool}?\" {who} asked {whom.obj}.",
        "{who} had no {tool} of {who.his} own, so {whom} lent {who.him} one.",
    ],
    &[
        "{who}向{whom}借了{tool.a}，因为{who.he}要{work}。",
        "“能把你的{tool}借给我吗？”{who}问{whom}。",
        "{who}自己没有{tool}，{whom}就借给{who.he}{tool.one}。",
    ],
);
static LENT: Frame = frame(
    &[
        "\"Bring {tool.it} back in {n.days},\" {whom} said.",
        "{whom} lent {tool.it} gladly, but only for {n.days}.",
        "{who} promised to return the {tool} to {whom.obj} after {n.days}.",
    ],
    &[
        "“{n.days}以后还我。”{whom}说。",
        "{whom}很乐意借，不过只借{n.days}。",
        "{who}答应{n.days}以后把{tool}还给{whom}。",
    ],
);
static KEPT: Frame = frame(
    &[
        "but {who} forgot about it, and {m.days} passed instead of {n}.",
        "{n.days} passed, then {m}, and {whom} still did not have {whom.his} {tool} back.",
        "{who} kept {tool.the} for {m.days}, which was {k} too many.",
    ],
    &[
        "可是{who}把这事忘了，{n.days}变成了{m.days}。",
        "{n.days}过去了，{m.days}也过去了，{whom}还是没有拿回{tool}。",
        "{who}把{tool}留了{m.days}，多了{k.days}。",
    ],
);
static RETURNED: Frame = frame(
    &[
        "{who} returned {tool.the} clean and [sharp|polished], with {food.a} as an apology.",
        "blushing, {who} gave {tool.the} back to {whom.obj}, and {food.a} with {tool.it}.",
        "{whom} got {whom.his} {tool} back and {food.a} on top.",
    ],
    &[
        "{who}把{tool}擦得干干净净还了回去，还带上{food.a}表示歉意。",
        "{who}红着脸把{tool}还给{whom}，又送上{food.a}。",
        "{whom}拿回了{tool}，还得到了{food.a}。",
    ],
);

/// Something is lent, kept too long and given back.
pub(crate) fn loan(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let job = scene.facts.person(whom).job;
    let (days, late) = (scene.random.between(2, 4), scene.random.between(2, 5));
    let food = &scene.random.pick(&FOODS).word;
    let about =
        |frame| event(frame).with("who", who).with("whom", whom).with("tool", &job.tool).with("n", days);
    scene.begin(about(&BORROWED).with("work", &job.work));
    scene.tell(about(&LENT));
    scene.tell(about(&KEPT).with("m", days + late).with("k", late));
    scene.conclude(about(&RETURNED).with("food", food));
    scene.days_pass();
}

static PROMISED: Frame = frame(
    &[
        "{who} had promised to meet {whom.obj} {spot.at}.",
        "{whom.name} and {who.name} wanted to meet {spot.at} to {hobby}.",
        "{whom} was waiting for {who.obj} {spot.at}, as {they} had agreed.",
    ],
    &[
        "{who.name}和{whom.name}要在{spot.at}见面。",
        "{who.name}和{whom.name}约好在{spot.at}见面，一起{hobby}。",
        "{whom}按照约定在{spot.at}等{who}。",
    ],
);
static WAITED: Frame = frame(
    &[
        "{whom} waited for {n.hours}, but {who} did not come.",
        "an hour passed {spot.at}, then another, and {whom} [grew|became] more and more impatient.",
        "{whom} had already [counted|watched] every cloud above {spot.the} when the bell rang again.",
    ],
    &[
        "{whom}等了{n.hours}，{who}也没有来。",
        "{whom}在{spot.at}等了一个小时，又等了一个小时，越来越不耐烦。",
        "{whom}在{spot.at}把天上的云都数遍了，钟声又响了起来。",
    ],
);
static LATE: Frame = frame(
    &[
        "{who} came {n.hours} late, because {who.he} first had to {work}.",
        "\"I am sorry, I had to {work},\" {who} said, out of breath.",
        "{who} had been {place.at} all that time and had forgotten the clock.",
    ],
    &[
        "{who}迟到了{n.hours}，因为{who.he}得{work}。",
        "“对不起，我得{work}。”{who}上气不接下气地说。",
        "{who}那段时间一直在{place.at}，忘了看钟。",
    ],
);
static FORGAVE: Frame = frame(
    &[
        "{whom} was not angry for long, for {who} had brought {food.a}.",
        "{they} shared {food.a} and stayed {spot.at} until it was dark.",
        "{whom} laughed, took {food.a} from {who.obj} and said, \"Next time I will be late!\"",
    ],
    &[
        "{whom}没有气多久，因为{who}带来了{food.a}。",
        "{who.name}和{whom.name}分吃了{food.a}，在{spot.at}一直待到天黑。",
        "{whom}接过{who}带来的{food.a}，笑着说：“下次换我迟到！”",
    ],
);

/// Somebody is late and is forgiven.
pub(crate) fn promise(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let late = scene.facts.person(who);
    let spot = scene.spot();
    let hours = scene.random.between(2, 4);
    let food = &scene.random.pick(&FOODS).word;
    let about = |frame| event(frame).with("who", who).with("whom", whom).with("spot", spot).with("n", hours);
    scene.begin(about(&PROMISED).with("hobby", scene.facts.person(whom).hobby));
    scene.tell(about(&WAITED));
    scene.tell(about(&LATE).with("work", &late.job.work).with("place", &late.job.place));
    scene.tell(about(&FORGAVE).with("food", food));
    scene.days_pass();
}

static INVITED: Frame = frame(
    &[
        "{who} invited {whom.obj} and {third.obj} to {who.his} house for a meal.",
        "{who} had guests: {whom.name} and {third.name} came to eat {dish}.",
        "the kitchen smelled of {one}, because {who} {who.was} making {dish} for {who.his} guests.",
    ],
    &[
        "{who}请{whom.name}和{third.name}到家里吃饭。",
        "{who}家来了客人，{whom.name}和{third.name}来吃{dish}。",
        "厨房里飘出{one}的香味，{who}正在为客人做{dish}。",
    ],
);
static COOKED: Frame = frame(
    &[
        "for {dish} {who.he} needed {one}, {two} and {three}, and {third} brought the {spice}.",
        "{whom} took care of the {one} and {third} of the {two}, and {who} added the {three}.",
        "the {one} and the {two} were ready, but {who} had no {three}, so {whom} ran home to fetch some.",
    ],
    &[
        "做{dish}要用{one}、{two}和{three}，{third}还带来了{spice}。",
        "{whom}准备{one}，{third}准备{two}，{who}最后加上{three}。",
        "{one}和{two}都有了，可是{who}没有{three}，{whom}就跑回家去拿。",
    ],
);
static TASTED: Frame = frame(
    &[
        "{third} liked the {dish} so much that {third.he} ate {n} plates of it.",
        "\"It tastes {taste},\" {whom} said, and {third} agreed.",
        "the {dish} tasted {taste}, and after {n} plates {third} was still hungry.",
    ],
    &[
        "{third}太喜欢{dish}了，一连吃了{n.of}盘。",
        "“味道真{taste}。”{whom}说，{third}也点头。",
        "{dish}味道很{taste}，{third}吃了{n.of}盘还没吃饱。",
    ],
);
static PARTED: Frame = frame(
    &[
        "{third} washed the dishes, {whom} told a story, and it was late when the guests went home.",
        "when {whom.name} and {third.name} went home, {who} gave them the rest of the {spice} and a lamp.",
        "{whom} promised to cook {other} for {who.obj} next week.",
    ],
    &[
        "{third}洗碗，{whom}讲故事，客人回家时已经很晚了。",
        "{whom.name}和{third.name}回家时，{who}送给他们剩下的{spice}，还有一盏灯。",
        "{whom}答应下星期做{other}请{who}吃。",
    ],
);

/// Guests come and cook together.
pub(crate) fn guests(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let third = scene.other(&[who, whom]);
    let dish = scene.facts.place(scene.place).dish;
    let other = scene.random.pick(&DISHES);
    let plates = scene.random.between(2, 4);
    let about = |frame| {
        let people = event(frame).with("who", who).with("whom", whom).with("third", third);
        people.with("dish", &dish.word).with("spice", &dish.spice).with("one", &dish.parts[0])
    };
    scene.begin(about(&INVITED));
    scene.tell(about(&COOKED).with("two", &dish.parts[1]).with("three", &dish.parts[2]));
    scene.tell(about(&TASTED).with("taste", &dish.taste).with("n", plates));
    scene.tell(about(&PARTED).with("other", &other.word));
    scene.days_pass();
}
