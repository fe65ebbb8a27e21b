//! A scene: the state of a story while it is simulated, and the events told so far.
//!
//! The facts of the world never change; a scene does. It knows who is there, what time it is, how the weather is and
//! who owns what, so that a thing bought at noon can be lost in the evening.

use super::discourse::Perspective;
use super::event::{Event, Frame, frame};
use super::facts::{Facts, PersonId, PlaceId};
use super::lexicon::{PART_OF_DAY, SEASONS, SPOTS, Season, THINGS, Thing, WEATHERS, Weather};
use super::word::{Word, plain};
use crate::random::Random;

/// A finished story: what there is to tell, in no language yet.
pub(crate) struct Story {
    pub(crate) title: Event,
    pub(crate) perspective: Perspective,
    pub(crate) events: Vec<Event>,
}

/// The changing state of a story.
pub(crate) struct Scene<'w> {
    pub(crate) facts: &'w Facts,
    pub(crate) random: Random,
    pub(crate) place: PlaceId,
    /// The people of this story; the first is its hero.
    pub(crate) cast: Vec<PersonId>,
    pub(crate) season: &'static Season,
    pub(crate) weather: &'static Weather,
    pub(crate) perspective: Perspective,
    /// What people are known to own at this moment.
    owned: Vec<(PersonId, &'static Thing)>,
    part_of_day: usize,
    days_passed: bool,
    events: Vec<Event>,
}

/// An opening that is one word or phrase.
static OPENING: Frame = frame(&["{when}, "], &["{when}，"]);

/// Openings that carry a story on.
static CONNECTIVES: [Word; 6] = [
    plain("soon after", "不久"),
    plain("a little later", "过了一会儿"),
    plain("after that", "后来"),
    plain("before long", "没过多久"),
    plain("in the end", "最后"),
    plain("at last", "终于"),
];

/// Openings after some days.
static LATER_DAYS: [Word; 8] = [
    plain("the next morning", "第二天早上"),
    plain("two days later", "两天后"),
    plain("in the same week", "同一个星期里"),
    plain("a few days later", "几天以后"),
    plain("the following week", "过了一个星期"),
    plain("one morning not long after", "不久后的一天早上"),
    plain("on another day", "又有一天"),
    plain("the next market day", "到了下一个赶集的日子"),
];

impl<'w> Scene<'w> {
    /// A scene somewhere in the world, with some of the people who live there.
    pub(crate) fn new(facts: &'w Facts, mut random: Random) -> Self {
        let place = PlaceId(random.below(facts.places.len() as u64) as usize);
        let mut cast = facts.inhabitants(place);
        random.shuffle(&mut cast);
        cast.truncate(4);
        // Somebody must have a trade: a hero is grown up. The parents of a place always are.
        let hero = cast.iter().position(|id| facts.person(*id).grown());
        cast.swap(0, hero.unwrap_or(0));
        let season = random.pick(&SEASONS);
        let weather = &WEATHERS[*random.pick(season.weathers)];
        Self {
            facts,
            random,
            place,
            cast,
            season,
            weather,
            perspective: Perspective::default(),
            owned: Vec::new(),
            part_of_day: 0,
            days_passed: false,
            events: Vec::new(),
        }
    }

    /// Tells an event.
    pub(crate) fn tell(&mut self, event: Event) {
        self.events.push(event);
    }

    /// Tells an event that begins something new: time has passed.
    pub(crate) fn begin(&mut self, mut event: Event) {
        let latest = PART_OF_DAY.len() - 1;
        let days_passed = std::mem::take(&mut self.days_passed);
        let when = if days_passed { self.random.pick(&LATER_DAYS) } else { &PART_OF_DAY[self.part_of_day] };
        self.part_of_day = (self.part_of_day + self.random.between(1, 2) as usize).min(latest);
        event.fresh = true;
        self.tell(event.after(Event::new(&OPENING).with("when", when)));
    }

    /// What happened has taken days: what begins next begins on another morning.
    pub(crate) fn days_pass(&mut self) {
        self.days_passed = true;
        // The morning is taken by what begins then.
        self.part_of_day = 2;
    }

    /// Tells an event that follows, sometimes with a word that says so.
    pub(crate) fn follow(&mut self, event: Event) {
        self.connect(event, &CONNECTIVES[..4]);
    }

    /// Tells an event that ends something, sometimes with a word that says so.
    pub(crate) fn conclude(&mut self, event: Event) {
        self.connect(event, &CONNECTIVES[4..]);
    }

    fn connect(&mut self, event: Event, words: &'static [Word]) {
        if self.random.chance(0.35) {
            let opening = Event::new(&OPENING).with("when", self.random.pick(words));
            self.tell(event.after(opening));
        } else {
            self.tell(event);
        }
    }

    /// Gives some of the events told since `start` that have no opening this one.
    pub(crate) fn sprinkle(&mut self, start: usize, share: f64, opening: &Event) {
        for event in &mut self.events[start..] {
            if event.opening.is_none() && self.random.chance(share) {
                event.opening = Some(Box::new(opening.clone()));
            }
        }
    }

    /// The hero in a letter, anyone grown up otherwise.
    pub(crate) fn hero(&mut self) -> PersonId {
        let narrated = self.perspective.narrator.is_some();
        let grown: Vec<PersonId> =
            self.cast.iter().copied().filter(|id| self.facts.person(*id).grown()).collect();
        if narrated || grown.is_empty() { self.cast[0] } else { *self.random.pick(&grown) }
    }

    /// Somebody of the cast who is none of these.
    pub(crate) fn other(&mut self, than: &[PersonId]) -> PersonId {
        let others: Vec<PersonId> = self.cast.iter().copied().filter(|id| !than.contains(id)).collect();
        *self.random.pick(&others)
    }

    /// A public spot.
    pub(crate) fn spot(&mut self) -> &'static Word {
        self.random.pick(&SPOTS)
    }

    /// Two different words of a table.
    pub(crate) fn two(&mut self, table: &'static [Word]) -> (&'static Word, &'static Word) {
        let first = self.random.below(table.len() as u64) as usize;
        let step = 1 + self.random.below(table.len() as u64 - 1) as usize;
        (&table[first], &table[(first + step) % table.len()])
    }

    /// Something this person owns: what the story gave them if it did, else something of their own.
    pub(crate) fn belonging(&mut self, of: PersonId) -> &'static Thing {
        let known = self.owned.iter().rev().find(|(owner, _)| *owner == of).map(|(_, thing)| *thing);
        match known {
            Some(thing) if self.random.chance(0.7) => thing,
            _ => self.new_thing(),
        }
    }

    /// Something that nobody in the story is known to own.
    pub(crate) fn new_thing(&mut self) -> &'static Thing {
        loop {
            let thing = self.random.pick(&THINGS);
            if !self.owned.iter().any(|(_, owned)| std::ptr::eq(*owned, thing)) {
                return thing;
            }
        }
    }

    /// From now on this thing is this person's.
    pub(crate) fn give(&mut self, thing: &'static Thing, to: PersonId) {
        self.owned.retain(|(_, owned)| !std::ptr::eq(*owned, thing));
        self.owned.push((to, thing));
    }

    /// How many events have been told.
    pub(crate) fn length(&self) -> usize {
        self.events.len()
    }

    /// Ends the scene under a title.
    pub(crate) fn finish(self, title: Event) -> Story {
        Story { title, perspective: self.perspective, events: self.events }
    }
}

/// Short for a new event of a frame.
pub(crate) fn event(frame: &'static Frame) -> Event {
    Event::new(frame)
}
