//! A day's work: somebody goes to work, makes things, sells some of them and goes home.
//!
//! The simplest genre, written so that a very small model can learn all of it in a minute or two: sentences are short, the
//! words around a trade are few, and each sentence has at least two that belong to the trade of its document (who does it,
//! where, with what, what comes of it). So any two sentences tell whether they can stand in one document.

use crate::world::event::{Event, Frame, frame};
use crate::world::facts::PersonId;
use crate::world::lexicon::Job;
use crate::world::scene::{Scene, Story, event};
use crate::world::word::{Word, count};

/// Who comes by: people without a trade of their own, because its words would be another document's.
static GUESTS: [Word; 4] = [
    count("neighbour", "位", "邻居"),
    count("friend", "位", "朋友"),
    count("child", "个", "孩子"),
    count("traveller", "位", "旅人"),
];

static TITLE: Frame = frame(
    &["a day's work {spot.at}", "the {job} of {place}", "{who.full} and the {what.s}"],
    &["{spot.at}的一天", "{place}的{job}", "{who.full}和{what}"],
);
static INTRODUCED: Frame = frame(
    &[
        "{who.full} is a {job} and [likes|loves] to {work}.",
        "{who.full} works {spot.at} as a {job}.",
        "every day the {job} {who.full} can be found {spot.at}.",
        "{who.full} can {work}, as every {job} can.",
    ],
    &[
        "{who.full}是{job}，[喜欢|最爱]{work}。",
        "{who.full}在{spot.at}当{job}。",
        "每天都能在{spot.at}见到{job}{who.full}。",
        "{who.full}会{work}，当{job}的都会。",
    ],
);
static ARRIVED: Frame = frame(
    &[
        "[at dawn|in the morning] the {job} took {who.his} {tool} to {spot.the}.",
        "the {job} was {spot.at} early, with {who.his} {tool}.",
        "the {job} cleaned {who.his} {tool} {spot.at}.",
        "like any good {job}, {who} came to {spot.the} early.",
    ],
    &[
        "[清早|早上]{job}带着{tool}来到{spot}。",
        "{job}带着{tool}，早早到了{spot}。",
        "{job}在{spot.at}擦了擦{tool}。",
        "和所有好{job}一样，{who}早早来到{spot}。",
    ],
);
static WORKED: Frame = frame(
    &[
        "the {job} took {tool.the} and began to {work}.",
        "the {job} {work.past} {spot.at} [for {h.hours}|without a rest].",
        "with {tool.the} in hand, the {job} {work.past}.",
        "a {job} needs [time|care] to {work}.",
    ],
    &[
        "{job}拿起{tool}，开始{work}。",
        "{job}在{spot.at}{work}，[忙了{h.hours}|没有休息]。",
        "{job}手里拿着{tool}，忙着{work}。",
        "{job}{work}要花[时间|心思]。",
    ],
);
static LOST: Frame = frame(
    &[
        "suddenly {tool.the} {tool.was} gone, and the {job} could not {work}.",
        "\"Where did I leave {tool.the}?\" asked the {job}.",
        "the {job} looked for {tool.the} {spot.at}.",
    ],
    &[
        "忽然{tool}不见了，{job}没法{work}了。",
        "“我把{tool}放在哪儿了？”{job}问。",
        "{job}在{spot.at}找{tool}。",
    ],
);
static FOUND: Frame = frame(
    &[
        "{guest.a} found the {job}'s {tool} beside the {what.s}.",
        "the {job} found {tool.the} beside the {what.s}.",
        "{guest.a} brought {tool.the} back to the {job}.",
    ],
    &[
        "{guest.a}在{what}旁边找到了{job}的{tool}。",
        "{job}在{what}旁边找到了{tool}。",
        "{guest.a}把{tool}还给了{job}。",
    ],
);
static TAUGHT: Frame = frame(
    &[
        "the {job} showed {guest.a} how to {work}.",
        "\"May I {work} too?\" {guest.a} asked the {job}.",
        "{guest.a} tried {tool.the}, and the {job} [smiled|laughed].",
    ],
    &[
        "{job}教{guest.a}{work}。",
        "“我也能{work}吗？”{guest.a}问{job}。",
        "{guest.a}试了试{tool}，{job}[笑了|大笑]。",
    ],
);
static KNOWN: Frame = frame(
    &[
        "a {job} needs {tool.a} to {work}.",
        "without {tool.a}, no {job} can {work}.",
        "people like the {what.s} of a good {job}.",
    ],
    &["{job}{work}要用{tool}。", "没有{tool}，{job}就没法{work}。", "人们喜欢好{job}的{what}。"],
);
static RESTED: Frame = frame(
    &[
        "the {job} put {tool.the} down and rested {spot.at}.",
        "the {job} sat {spot.at} and looked at the {what.s}.",
        "{guest.a} brought water to {spot.the} for the {job}.",
    ],
    &[
        "{job}放下{tool}，在{spot.at}歇了歇。",
        "{job}坐在{spot.at}，看着{what}。",
        "{guest.a}给{spot.at}的{job}送来了水。",
    ],
);
static READY: Frame = frame(
    &[
        "the {job} had {n:what} ready {spot.at}.",
        "after {h.hours}, the {job} had {n:what}.",
        "the {job} counted {n:what} {spot.at}.",
    ],
    &[
        "{job}在{spot.at}备好了{n:what}。",
        "过了{h.hours}，{job}有了{n:what}。",
        "{job}在{spot.at}数了数，有{n:what}。",
    ],
);
static PRAISED: Frame = frame(
    &[
        "\"What fine {what.s}!\" {guest.a} told the {job}.",
        "{guest.a} praised the {job} and the {what.s}.",
        "\"No {job} can {work} like {who.name},\" said {guest.a}.",
    ],
    &[
        "“多好的{what}！”{guest.a}对{job}说。",
        "{guest.a}夸了{job}，也夸了{what}。",
        "“没有哪位{job}比{who.name}更会{work}。”{guest.a}说。",
    ],
);
static SOLD: Frame = frame(
    &[
        "{guest.a} bought {m:what} from the {job}.",
        "the {job} sold {m:what} for {t.coins}.",
        "{guest.a} came to the {job} for {m:what}.",
    ],
    &[
        "{guest.a}向{job}买了{m:what}。",
        "{job}卖了{m:what}，收了{t.coins}。",
        "{guest.a}来找{job}，要了{m:what}。",
    ],
);
static LEFT: Frame = frame(
    &[
        "the {job} had {r:what} left {spot.at}.",
        "the {job} still had {r:what}.",
        "of the {n:what}, the {job} kept {r}.",
    ],
    &[
        "{job}的{spot.at}还剩{r:what}。",
        "{job}还有{r:what}。",
        "{n:what}里，{job}留下了{r.of}{what.measure}。",
    ],
);
static CLOSED: Frame = frame(
    &[
        "[in the evening|at last] the {job} put {tool.the} away and left {spot.the}.",
        "the {job} went home from {spot.the} with {t.coins}.",
        "tomorrow the {job} will {work} again {spot.at}.",
        "{who} was tired, but a {job} likes to {work}.",
    ],
    &[
        "[傍晚|最后]{job}收好{tool}，离开了{spot}。",
        "{job}带着{t.coins}从{spot}回家了。",
        "明天{job}还要在{spot.at}{work}。",
        "{who}累了，可是{job}就爱{work}。",
    ],
);

/// Who works, and what comes of it.
struct Workday {
    who: PersonId,
    job: &'static Job,
    hours: u32,
    made: u32,
    sold: u32,
}

/// A day's work.
pub(crate) fn story(mut scene: Scene<'_>) -> Story {
    let day = Workday::new(&mut scene);
    day.tell(&mut scene, &INTRODUCED);
    day.tell(&mut scene, &ARRIVED);
    day.tell(&mut scene, &WORKED);
    let mut episodes: [&[&'static Frame]; 4] = [&[&LOST, &FOUND], &[&TAUGHT], &[&KNOWN], &[&RESTED]];
    scene.random.shuffle(&mut episodes);
    let number = scene.random.between(1, 2) as usize;
    episodes[..number].concat().into_iter().for_each(|frame| day.tell(&mut scene, frame));
    day.tell(&mut scene, &READY);
    if scene.length() < 7 && scene.random.chance(0.5) {
        day.tell(&mut scene, &PRAISED);
    }
    day.tell(&mut scene, &SOLD);
    if scene.random.chance(0.5) {
        day.tell(&mut scene, &LEFT);
    }
    day.tell(&mut scene, &CLOSED);
    let title = day.event(&mut scene, &TITLE);
    scene.finish(title)
}

impl Workday {
    /// Somebody of the place who has a trade. More is made than sold, so that something is left, and never just one:
    /// sentences that count speak in the plural.
    fn new(scene: &mut Scene<'_>) -> Self {
        let facts = scene.facts;
        let grown = |id: &PersonId| facts.person(*id).grown();
        let workers: Vec<PersonId> = facts.inhabitants(scene.place).into_iter().filter(grown).collect();
        let who = *scene.random.pick(&workers);
        let (hours, made) = (scene.random.between(2, 5), scene.random.between(4, 6));
        let sold = scene.random.between(2, made - 2);
        Self { who, job: facts.person(who).job, hours, made, sold }
    }

    fn tell(&self, scene: &mut Scene<'_>, frame: &'static Frame) {
        let event = self.event(scene, frame);
        scene.tell(event);
    }

    /// An event with all that the frames of a day speak of.
    fn event(&self, scene: &mut Scene<'_>, frame: &'static Frame) -> Event {
        let Job { name, place, tool, product, price, work } = self.job;
        let trade = event(frame).with("job", name).with("spot", place).with("tool", tool);
        let trade = trade.with("what", product).with("work", work).with("h", self.hours);
        let counted = trade.with("n", self.made).with("m", self.sold).with("r", self.made - self.sold);
        let people = counted.with("t", self.sold * price).with("who", self.who);
        people.with("guest", scene.random.pick(&GUESTS)).with("place", scene.place)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A template without what stands in brackets, which may be said or not.
    fn certain(template: &str) -> String {
        let mut parts = template.split('[');
        let first = parts.next().unwrap_or_default().to_owned();
        first + &parts.filter_map(|part| part.split_once(']')).map(|(_, after)| after).collect::<String>()
    }

    #[test]
    fn every_sentence_has_two_words_of_its_trade() {
        let frames = [
            &INTRODUCED,
            &ARRIVED,
            &WORKED,
            &LOST,
            &FOUND,
            &TAUGHT,
            &KNOWN,
            &RESTED,
            &READY,
            &PRAISED,
            &SOLD,
            &LEFT,
            &CLOSED,
        ];
        for template in frames.iter().flat_map(|frame| frame.english.iter().chain(frame.chinese)) {
            let template = certain(template);
            let slots = template.split('{').skip(1).filter_map(|slot| slot.split(['}', '.']).next());
            let trade: std::collections::HashSet<&str> = slots
                .map(|slot| slot.rsplit(':').next().unwrap_or(slot))
                .filter(|role| ["job", "spot", "tool", "what", "work"].contains(role))
                .collect();
            assert!(trade.len() >= 2, "{template}: {trade:?}");
        }
    }
}
