//! A day in a place: a setting, some plots from morning to night, an evening.

use crate::world::event::{Frame, frame};
use crate::world::plots;
use crate::world::scene::{Scene, Story, event};

static TITLE: Frame = frame(
    &["a day in {place}", "{who.full} of {place}", "what happened in {place}", "a {weather} day in {place}"],
    &["{place}的一天", "{place}的{who.full}", "{place}发生的事", "{place}{weather}的一天"],
);
static SETTING: Frame = frame(
    &[
        "it was a {weather} {season} day in {place}[, a {place.kind} on the {river}| in {month}|, and the bell rang at the {landmark}].",
        "{place} woke up to a {weather} {season} morning[ by the {river}|, and smoke rose from its {colour} roofs|, and the {landmark} was hardly visible].",
        "this is what happened in {place} on a {weather} day in {month}.",
        "on a {weather} day in {month}, the {place.kind} of {place} was already awake.",
        "it was {month}, and the {colour} roofs of {place} looked [beautiful|peaceful] on this {weather} morning.",
    ],
    &[
        "这是[{river}边的|]{place}[{month}|{season}]里{weather}的一天。",
        "{season}的一个早晨，{place}天气{weather}，[{river}静静地流着|{colour}的屋顶上升起了炊烟|{landmark}隐约可见]。",
        "{month}里{weather}的一天，{place}发生了这些事。",
        "{month}的一天，天气{weather}，{place}早早就醒来了。",
        "{month}的清晨天气{weather}，{place}{colour}的屋顶显得[格外好看|十分宁静]。",
    ],
);
static EVENING: Frame = frame(
    &[
        "so life went on in {place} [by the {river}|near the {landmark}], and {who} fell asleep [at once|quickly|late].",
        "night fell over {place}, and [soon|after {n.hours}] the lamp in {who.s} window went out, [and then that of {friend.call}|as on every night|and only the {landmark} stood in the moonlight].",
        "when the stars came out above the {river}, {who} {who.was} [tired|sleepy] but [happy|content], and {friend.call} [was asleep already|still had light in the window|sang a quiet song].",
        "{who} wrote everything down in {who.his} diary, [closed the window|looked at the {landmark}|thought of {friend.call}] and blew out the candle.",
        "at last it was quiet in {place}, and {who} [listened to|dreamed of|looked out over] the {river} [and the {landmark}|with {friend.call}|until the moon came].",
    ],
    &[
        "[{river}边|{landmark}下]的{place}，日子就这样过去了，{who}[很快|马上|很晚才]睡着了。",
        "夜幕降临{place}，[不久|过了{n.hours}]{who}窗前的灯熄灭了，[接着{friend.call}的灯也灭了|和每天夜里一样|只有{landmark}立在月光下]。",
        "星星出现在{river}上空，{who}虽然[累|困]，心里却很[高兴|满足]，{friend.call}[已经睡着了|的窗前还亮着灯|轻轻唱着歌]。",
        "{who}把这一切写进日记，[关上窗户|看了看{landmark}|想了想{friend.call}]，吹灭了蜡烛。",
        "{place}终于安静下来，{who}[和{friend.call}一起|在{landmark}上|独自][听着|望着]{river}。",
    ],
);

/// A day.
pub(crate) fn story(mut scene: Scene<'_>) -> Story {
    let place = scene.facts.place(scene.place);
    let month = super::chronicle::month(&mut scene);
    let hero = scene.cast[0];
    let hours = scene.random.between(1, 5);
    let here = |frame| event(frame).with("place", scene.place);
    let title = here(&TITLE).with("who", hero).with("weather", &scene.weather.adjective);
    let setting = here(&SETTING).with("weather", &scene.weather.adjective).with("season", &scene.season.word);
    let setting = setting
        .with("month", month)
        .with("colour", place.roofs)
        .with("river", place.river)
        .with("landmark", place.landmark);
    let evening =
        here(&EVENING).with("who", hero).with("river", place.river).with("landmark", place.landmark);
    let evening = evening.with("friend", scene.facts.friend(hero)).with("n", hours);
    scene.tell(setting);
    let length = scene.random.between(8, 18) as usize;
    plots::happen(&mut scene, length);
    scene.tell(evening);
    scene.finish(title)
}
