//! Two people talk: questions and their answers, about people, ways, prices and plans.

use crate::world::event::{Event, Frame, frame};
use crate::world::facts::PersonId;
use crate::world::lexicon::{FOODS, GOODS};
use crate::world::scene::{Scene, Story, event};

static TITLE: Frame = frame(
    &["a conversation in {place}", "{who.full} and {whom.full}", "what {who.call} said to {whom.call}"],
    &["{place}的一次谈话", "{who.full}和{whom.full}", "{who.full}对{whom.full}说的话"],
);
static MET: Frame = frame(
    &[
        "{who} met {whom.obj} {spot.at} in {place} one {weather} {season} day.",
        "{who.name} and {whom.name} sat together {spot.at} in {place} and talked.",
        "one {weather} day in {place}, {who} was standing {spot.at} when {whom} came by.",
    ],
    &[
        "{season}里{weather}的一天，{who}在{place}的{spot.at}遇见了{whom}。",
        "{who.name}和{whom.name}坐在{place}的{spot.at}聊天。",
        "{weather}的一天，{who}正站在{place}的{spot.at}，{whom}走了过来。",
    ],
);
static HELLO: Frame = frame(
    &[
        "\"Good morning, {whom.call}, how are you?\" asked {who.name}.",
        "\"How are you, {whom.call}, I have not seen you for {n.days}!\" said {who.name}.",
        "\"How are you, {whom.call}, after this {weather} week?\" {who} asked.",
    ],
    &[
        "“早上好，{whom.call}，你好吗？”{who}问。",
        "“{whom.call}，{n.days}没见到你了，你好吗？”{who}问。",
        "“{whom.call}，这几天天气{weather}，你过得好吗？”{who}问。",
    ],
);
static HELLO_BACK: Frame = frame(
    &[
        "\"I am well, thank you, {who.call},\" {whom} answered, \"but [a little tired|it is hard to {work}|I miss {place} when I am away].\"",
        "\"Tired, {who.call}, for I had to {work} {spot.at} all week,\" {whom} explained.",
        "\"Do not ask, {who.call}, I had to {work} day and night,\" said {whom.name}.",
    ],
    &[
        "“还好，谢谢你，{who.call}，”{whom}回答，“只是[有点累|{work}很辛苦|常常想念{place}]。”",
        "“累坏了，{who.call}，这个星期我一直在{spot.at}{work}。”{whom}解释说。",
        "“别提了，{who.call}，我日日夜夜都得{work}。”{whom}说。",
    ],
);
static WHERE_ASK: Frame = frame(
    &[
        "\"Do you know where {third.full} lives?\" asked {who.name}.",
        "\"I am looking for {third.full}, do you know {third.him}?\" {who} wanted to know.",
        "\"Who is {third.full}, and what does {third.he} do?\" asked {who.name}.",
    ],
    &[
        "“你知道{third.full}住在哪里吗？”{who}问。",
        "“我在找{third.full}，你认识{third.he}吗？”{who}想知道。",
        "“{third.full}是谁，是做什么的？”{who}问。",
    ],
);
static WHERE_TELL: Frame = frame(
    &[
        "\"{third.call} is a {job} and lives in {home},\" {whom} replied.",
        "\"You will find {third.call}, the {job}, {spot.at} in {home},\" said {whom.name}.",
        "\"{third.call} is the {trait} {job} whom everybody in {home} knows,\" said {whom.name}.",
    ],
    &[
        "“{third.full}是{job}，住在{home}。”{whom}回答。",
        "“{third.full}是{job}，你到{home}的{spot.at}就能找到{third.he}。”{whom}说。",
        "“{third.full}就是{home}那位{trait}的{job}，谁都认识。”{whom}说。",
    ],
);
static WAY_ASK: Frame = frame(
    &[
        "\"How far is it [from {place}|from here] to {far}, {whom.call}?\" {who} asked.",
        "\"I want to go to {far}, is it a long way?\" asked {who.name}.",
        "\"Which road leads [from {place}|from here] to {far}, {whom.call}?\" {who} asked next.",
    ],
    &[
        "“{whom.call}，[从{place}|从这里]到{far}有多远？”{who}问。",
        "“我想去{far}，路远吗？”{who}问。",
        "“{whom.call}，[从{place}|从这里]去{far}走哪条路？”{who}接着问。",
    ],
);
static WAY_TELL: Frame = frame(
    &[
        "\"{n.miles} from here, always to the {dir},\" said {whom.name}.",
        "\"Go {dir} for {n.miles}, and you will see the {landmark} of {far},\" {whom} answered.",
        "\"{far} lies {n.miles} {dir} of {place},\" {whom} explained.",
    ],
    &[
        "“离这里{n.miles}，一直往{dir}走。”{whom}说。",
        "“往{dir}走{n.miles}，就能看见{far}的{landmark}。”{whom}回答。",
        "“{far}在{place}{dir}边，有{n.miles}路。”{whom}解释说。",
    ],
);
static SUM_ASK: Frame = frame(
    &[
        "\"If {what.a} costs {p.coins}, what do {n:what} cost?\" asked {who.name}.",
        "\"I need {n:what} at {p.coins} each, how much is that?\" {who} wanted to know.",
    ],
    &[
        "“{what.a}卖{p.coins}，{n:what}要多少钱？”{who}问。",
        "“我要{n:what}，每{what.measure}{p.coins}，一共多少？”{who}想知道。",
    ],
);
static SUM_TELL: Frame = frame(
    &[
        "\"{n} times {p} is {t}, so you need {t.coins},\" said {whom.name}.",
        "{whom} counted on {whom.his} fingers and came to {t.coins}.",
        "\"That makes {t.coins}, and I would pay no more,\" {whom} answered.",
    ],
    &[
        "“{n}乘{p}是{t}，所以要{t.coins}。”{whom}说。",
        "{whom}扳着手指算了算，得出{t.coins}。",
        "“一共{t.coins}，多一枚我也不给。”{whom}回答。",
    ],
);
static TASTE_SAY: Frame = frame(
    &[
        "\"I found the {food} at the inn {good},\" said {who.name}.",
        "\"Yesterday I had {good} {food} at the inn,\" {who} said.",
    ],
    &["“客栈里的{food}真{good}。”{who}说。", "“我昨天在客栈里尝了{food}，真{good}。”{who}说。"],
);
static TASTE_REPLY: Frame = frame(
    &[
        "\"{good}? I found the {food} {bad}!\" cried {whom.name}.",
        "\"You were lucky, because my {food} tasted {bad},\" {whom} replied.",
        "{whom} laughed and said that nobody likes {bad} {food}.",
    ],
    &[
        "“{good}？我觉得{food}有点{bad}！”{whom}喊道。",
        "“你运气好，我尝的{food}有点{bad}。”{whom}回答。",
        "{whom}笑了，说谁也不喜欢{bad}的{food}。",
    ],
);
static MARKET_ASK: Frame = frame(
    &[
        "\"When is the market in {far}, {whom.call}?\" asked {who.name}.",
        "\"On which day can I sell my {product.s} in {far}?\" {who} asked.",
    ],
    &["“{whom.call}，{far}哪天有集市？”{who}问。", "“我哪天可以去{far}卖{product}？”{who}问。"],
);
static MARKET_TELL: Frame = frame(
    &[
        "\"Every {day} in {far},\" {whom} answered, \"but [come early|do not be late|bring money].\"",
        "\"The people of {far} go to market on {day}, {who.call},\" {whom} said.",
    ],
    &[
        "“{far}每逢{day}，”{whom}回答，“不过要[早点去|别迟到|带上钱]。”",
        "“{who.call}，{far}的人{day}赶集。”{whom}说。",
    ],
);
static PLAN: Frame = frame(
    &[
        "\"Shall we {hobby} together next {day}, {whom.call}?\" asked {who.name}.",
        "\"I will {hobby} this evening, do you want to come along?\" {who} asked.",
    ],
    &[
        "“{whom.call}，下个{day}我们一起去{hobby}好吗？”{who}问。",
        "“我今晚要去{hobby}，你想一起来吗？”{who}问。",
    ],
);
static PLAN_REPLY: Frame = frame(
    &[
        "\"With pleasure, {who.call}, and I will bring my {instrument},\" said {whom.name}.",
        "\"I am sorry, but I would rather [stay at home|sleep|rest a little], {who.call},\" {whom} answered.",
        "\"No, {third.call} and I have to {work},\" said {whom.name}.",
    ],
    &[
        "“好啊，{who.call}，我带上我的{instrument}。”{whom}说。",
        "“对不起，{who.call}，我更想[待在家里|睡觉|休息一下]。”{whom}回答。",
        "“不行，我和{third.full}得{work}。”{whom}说。",
    ],
);
static GOODBYE: Frame = frame(
    &[
        "then {who.name} and {whom.name} said goodbye [in {place}|under the {weather} sky|for today], and each went home.",
        "\"Goodbye, {who.call}, and greet {third.call} from me,\" said {whom.name}.",
        "\"It is getting late, {whom.call},\" {who} said, and {they} walked home through {place}.",
    ],
    &[
        "然后{who.name}和{whom.name}[在{place}|当天|匆匆]互相道别，各走各的路。",
        "“再见，{who.call}，替我向{third.full}问好。”{whom}说。",
        "“不早了，{whom.call}。”{who}说，两个人一起穿过{place}走回家。",
    ],
);

/// A question and its answer, asked by the first person of the pair.
type Exchange = fn(&mut Scene<'_>, PersonId, PersonId) -> [Event; 2];

/// A dialogue.
pub(crate) fn story(mut scene: Scene<'_>) -> Story {
    let (who, whom) = (scene.cast[0], scene.cast[1]);
    let spot = scene.spot();
    let met = pair(&scene, &MET, who, whom).with("spot", spot).with("season", &scene.season.word);
    let met = met.with("weather", &scene.weather.adjective);
    scene.tell(met);
    let mut exchanges: [Exchange; 6] = [person, way, sum, taste, market, plan];
    scene.random.shuffle(&mut exchanges);
    let number = scene.random.between(3, 6) as usize;
    let mut speakers = (who, whom);
    for exchange in [hello as Exchange].iter().chain(&exchanges[..number]) {
        exchange(&mut scene, speakers.0, speakers.1).into_iter().for_each(|line| scene.tell(line));
        if scene.random.chance(0.4) {
            speakers = (speakers.1, speakers.0);
        }
    }
    let third = scene.other(&[who, whom]);
    let goodbye = pair(&scene, &GOODBYE, who, whom).with("third", third);
    let goodbye = goodbye.with("weather", &scene.weather.adjective);
    scene.tell(goodbye);
    let title = pair(&scene, &TITLE, who, whom);
    scene.finish(title)
}

fn pair(scene: &Scene<'_>, frame: &'static Frame, who: PersonId, whom: PersonId) -> Event {
    event(frame).with("who", who).with("whom", whom).with("place", scene.place)
}

fn hello(scene: &mut Scene<'_>, who: PersonId, whom: PersonId) -> [Event; 2] {
    let job = scene.facts.person(whom).job;
    let days = scene.random.between(2, 20);
    let hello = pair(scene, &HELLO, who, whom).with("n", days).with("weather", &scene.weather.adjective);
    [hello, pair(scene, &HELLO_BACK, who, whom).with("work", &job.work).with("spot", &job.place)]
}

fn person(scene: &mut Scene<'_>, who: PersonId, whom: PersonId) -> [Event; 2] {
    let third = PersonId(scene.random.below(scene.facts.people.len() as u64) as usize);
    let third = if third == who || third == whom { scene.other(&[who, whom]) } else { third };
    let person = scene.facts.person(third);
    let answer = pair(scene, &WHERE_TELL, who, whom).with("third", third).with("job", &person.job.name);
    let answer = answer.with("home", person.home).with("spot", &person.job.place);
    [pair(scene, &WHERE_ASK, who, whom).with("third", third), answer.with("trait", &person.character.0)]
}

fn way(scene: &mut Scene<'_>, who: PersonId, whom: PersonId) -> [Event; 2] {
    let far = *scene.random.pick(&scene.facts.neighbours(scene.place));
    let (miles, direction) = scene.facts.way(scene.place, far);
    let answer = pair(scene, &WAY_TELL, who, whom).with("far", far).with("n", miles).with("dir", direction);
    let landmark = scene.facts.place(far).landmark;
    [pair(scene, &WAY_ASK, who, whom).with("far", far), answer.with("landmark", landmark)]
}

fn sum(scene: &mut Scene<'_>, who: PersonId, whom: PersonId) -> [Event; 2] {
    let good = scene.random.pick(&GOODS);
    let (number, price) = (scene.random.between(2, 9), scene.random.between(2, 9));
    let about = |frame| {
        let sum = pair(scene, frame, who, whom).with("what", &good.word);
        sum.with("n", number).with("p", price).with("t", number * price)
    };
    [about(&SUM_ASK), about(&SUM_TELL)]
}

fn taste(scene: &mut Scene<'_>, who: PersonId, whom: PersonId) -> [Event; 2] {
    let food = scene.random.pick(&FOODS);
    let about = |frame| {
        let taste = pair(scene, frame, who, whom).with("food", &food.word);
        taste.with("good", &food.good).with("bad", &food.bad)
    };
    [about(&TASTE_SAY), about(&TASTE_REPLY)]
}

fn market(scene: &mut Scene<'_>, who: PersonId, whom: PersonId) -> [Event; 2] {
    let far = *scene.random.pick(&scene.facts.neighbours(scene.place));
    let product = &scene.facts.person(who).job.product;
    let day = scene.facts.place(far).market_day;
    let ask = pair(scene, &MARKET_ASK, who, whom).with("far", far).with("product", product);
    [ask, pair(scene, &MARKET_TELL, who, whom).with("far", far).with("day", day)]
}

fn plan(scene: &mut Scene<'_>, who: PersonId, whom: PersonId) -> [Event; 2] {
    let facts = scene.facts;
    let third = scene.other(&[who, whom]);
    let friend = facts.person(whom);
    let day = facts.place(scene.place).market_day;
    let ask = pair(scene, &PLAN, who, whom).with("hobby", facts.person(who).hobby).with("day", day);
    let reply =
        pair(scene, &PLAN_REPLY, who, whom).with("third", third).with("instrument", friend.instrument);
    [ask, reply.with("work", &friend.job.work)]
}
