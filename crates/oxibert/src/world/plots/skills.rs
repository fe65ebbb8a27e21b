//! Learning and competing: failure before success, winners and losers.

use crate::world::event::{Frame, frame};
use crate::world::facts::PersonId;
use crate::world::scene::{Scene, event};
use crate::world::word::{Word, plain, spot};

static ASKED: Frame = frame(
    &[
        "{who} wanted to learn how to {work} and asked {whom.name}, a {job}.",
        "{whom.name}, who was a {job}, showed {who.obj} how to {work}.",
        "\"Can you teach me to {work}?\" {who} asked {whom.obj}.",
    ],
    &[
        "{who}想学{work}，就去请教{job}{whom.name}。",
        "{whom.name}是{job}，{whom.he}教{who}怎么{work}。",
        "“你能教我{work}吗？”{who}问{whom}。",
    ],
);
static FAILED: Frame = frame(
    &[
        "the first attempt was a failure: {who} held {tool.the} the wrong way.",
        "at first everything went wrong, and {who.s} {what} looked [terrible|strange|very odd].",
        "{who} tried {n} times and failed {n} times.",
    ],
    &[
        "第一次失败了，{who}把{tool}拿反了。",
        "起初样样都不顺，{who}做出来的{what}[难看极了|怪模怪样]。",
        "{who}试了{n.of}次，失败了{n.of}次。",
    ],
);
static ENCOURAGED: Frame = frame(
    &[
        "\"Slowly,\" {whom} said, \"{tool.the} must do the work, not the arm.\"",
        "{whom}, always {trait}, showed everything once more {spot.at}.",
        "{whom} guided {who.his} hand and said that nobody learns it in one day.",
    ],
    &[
        "“慢一点，”{whom}说，“要让{tool}出力，不要用蛮力。”",
        "{whom}在{spot.at}又从头示范了一遍，{whom.he}向来很{trait}。",
        "{whom}手把手地教{who.he}，说这不是一天能学会的。",
    ],
);
static SUCCEEDED: Frame = frame(
    &[
        "after {d.days} {who} succeeded, and {whom} praised {who.his} first {what.unit}.",
        "{d.days} later {who} could {work} without any help.",
        "{who} practised for {d.days}, and {whom} was proud of {who.him}.",
    ],
    &[
        "{d.days}以后，{who}终于成功了，{whom}也夸{who.he}做得好。",
        "{d.days}以后，{who}不用帮忙也会{work}了。",
        "{who}练了{d.days}，{whom}为{who.he}感到自豪。",
    ],
);

/// Somebody learns another's trade.
pub(crate) fn lesson(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = teacher(scene, who);
    let master = scene.facts.person(whom);
    let (tries, days) = (scene.random.between(2, 5), scene.random.between(2, 9));
    let about = |frame| {
        let pair = event(frame).with("who", who).with("whom", whom).with("work", &master.job.work);
        pair.with("tool", &master.job.tool).with("what", &master.job.product)
    };
    scene.begin(about(&ASKED).with("job", &master.job.name));
    scene.tell(about(&FAILED).with("n", tries));
    scene.tell(about(&ENCOURAGED).with("trait", &master.character.0).with("spot", &master.job.place));
    scene.tell(about(&SUCCEEDED).with("d", days));
    scene.days_pass();
}

/// A grown-up of the place, of the cast if possible.
fn teacher(scene: &mut Scene<'_>, pupil: PersonId) -> PersonId {
    let facts = scene.facts;
    let grown = |id: &PersonId| *id != pupil && facts.person(*id).grown();
    let known = scene.cast.iter().copied().find(grown);
    known.or_else(|| facts.inhabitants(scene.place).into_iter().find(grown)).unwrap_or(pupil)
}

/// Contests: what it is, what one wins by, and where it is held.
static CONTESTS: [(Word, Word, Word); 6] = [
    (plain("running race", "赛跑"), plain("speed", "速度"), spot("in", "meadow", "草地", "上")),
    (plain("boat race", "划船比赛"), plain("strong arms", "强壮的手臂"), spot("on", "lake", "湖", "上")),
    (
        plain("singing contest", "歌唱比赛"),
        plain("a clear voice", "嘹亮的嗓音"),
        spot("in", "square", "广场", "上"),
    ),
    (plain("chess match", "象棋比赛"), plain("patience", "耐心"), spot("at", "teahouse", "茶馆", "里")),
    (plain("kite contest", "风筝比赛"), plain("skill", "技巧"), spot("on", "hill", "山坡", "上")),
    (plain("story contest", "故事比赛"), plain("wit", "机智"), spot("at", "inn", "客栈", "里")),
];

static ANNOUNCED: Frame = frame(
    &[
        "a {contest} took place {spot.at}, and the prize was {prize.a}.",
        "everyone came to {spot.the} for the {contest} between {whom.name} and {who.name}.",
        "{whom.name} and {who.name} took part in a {contest} {spot.at}.",
    ],
    &[
        "{spot.at}举行了一场{contest}，奖品是{prize.a}。",
        "大家都来到{spot}看{whom.name}和{who.name}的{contest}。",
        "{whom.name}和{who.name}在{spot.at}参加了一场{contest}。",
    ],
);
static COMPETED: Frame = frame(
    &[
        "{loser} was ahead at first, but {winner} [did not give up|stayed calm].",
        "{loser} was sure of victory, and {winner} was so nervous that {winner.his} hands shook.",
        "for a long time nobody could say whether {winner.name} or {loser.name} would win.",
    ],
    &[
        "起初{loser}领先，可是{winner}[没有放弃|沉住了气]。",
        "{loser}觉得自己赢定了，{winner}却紧张得双手发抖。",
        "很长时间谁也说不准，{winner.name}和{loser.name}到底谁会赢。",
    ],
);
static WON: Frame = frame(
    &[
        "{winner} won thanks to {skill}, and {loser} came second.",
        "{winner} beat {loser.obj} and received {prize.a}.",
        "{loser} lost the {contest} to {winner.obj}, who got {prize.a}.",
    ],
    &[
        "{winner}靠{skill}赢了，{loser}得了第二名。",
        "{winner}战胜了{loser}，得到了{prize.a}。",
        "{loser}在{contest}中输给了{winner}，{prize}归了{winner.he}。",
    ],
);
static AFTERWARDS: Frame = frame(
    &[
        "{loser} was [disappointed|sad] for a moment, but {loser.he} congratulated {winner.obj} all the same.",
        "the winner was happy, the loser was not, and {third} consoled {loser.obj} with a joke.",
        "\"Next year I will win,\" {loser} said, and {third} believed it.",
    ],
    &[
        "{loser}[失望|难过]了一会儿，但还是向{winner}表示祝贺。",
        "赢的人高兴，输的人难过，{third}讲了个笑话安慰{loser}。",
        "“明年我一定会赢。”{loser}说，{third}相信{loser.he}。",
    ],
);

/// A contest with a winner and a loser.
pub(crate) fn contest(scene: &mut Scene<'_>) {
    let who = scene.hero();
    let whom = scene.other(&[who]);
    let third = scene.other(&[who, whom]);
    let (contest, skill, spot) = scene.random.pick(&CONTESTS);
    let prize = scene.new_thing();
    let (winner, loser) = if scene.random.chance(0.5) { (who, whom) } else { (whom, who) };
    let about = |frame| {
        let sides = event(frame).with("winner", winner).with("loser", loser);
        sides.with("contest", contest).with("prize", &prize.word)
    };
    let announced = event(&ANNOUNCED).with("who", who).with("whom", whom).with("contest", contest);
    scene.begin(announced.with("spot", spot).with("prize", &prize.word));
    scene.tell(about(&COMPETED));
    scene.conclude(about(&WON).with("skill", skill));
    scene.tell(about(&AFTERWARDS).with("third", third));
    scene.give(prize, winner);
}
