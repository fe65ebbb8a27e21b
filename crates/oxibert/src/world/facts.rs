//! What is always true in a world: its places and its people.
//!
//! Facts depend on the seed only. Every document draws on them and none changes them, so what one document
//! says about a place or a person holds in all of them, and can be learned.

use std::collections::HashSet;

use super::lexicon::{
    ANIMALS, COLOURS, DIRECTIONS, DISHES, Dish, FAMILY_ENDS, FAMILY_STARTS, FOODS, Food, GIVEN_FEMALE_ENDS,
    GIVEN_MALE_ENDS, GIVEN_STARTS, HAN_FEMALE, HAN_FIRST, HAN_MALE, HAN_SURNAMES, HOBBIES, INSTRUMENTS, JOBS,
    Job, LANDMARKS, LANDS, PLACE_ENDS, PLACE_STARTS, PUPIL, REGIONS, RIVERS, TRAITS, WEEKDAYS,
};
use super::word::Word;
use crate::random::Random;

/// The year in which all documents play.
pub(crate) const NOW: u32 = 1830;
/// Places on the map, in rows of [`COLUMNS`].
const PLACES: usize = 36;
const COLUMNS: usize = 6;
/// Two households of four: father, mother, an elder and a younger child.
const HOUSEHOLD: usize = 4;
const PEOPLE_PER_PLACE: usize = 2 * HOUSEHOLD;
/// A child learns a trade from this age on.
const GROWN: u32 = 16;

/// A person, as an index into [`Facts::people`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PersonId(pub(crate) usize);

/// A place, as an index into [`Facts::places`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PlaceId(pub(crate) usize);

/// What is always true of a place.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) english: String,
    pub(crate) chinese: String,
    pub(crate) founded: u32,
    pub(crate) population: u32,
    pub(crate) region: &'static Word,
    pub(crate) land: &'static Word,
    pub(crate) river: &'static Word,
    pub(crate) landmark: &'static Word,
    /// Whose product the place is known for; its first inhabitant has this job.
    pub(crate) craft: &'static Job,
    pub(crate) dish: &'static Dish,
    pub(crate) market_day: &'static Word,
    pub(crate) roofs: &'static Word,
    east: i32,
    south: i32,
}

/// What is always true of a person.
#[derive(Debug)]
pub(crate) struct Person {
    /// English given name; no two people share one.
    pub(crate) given: String,
    pub(crate) family: String,
    pub(crate) chinese: String,
    pub(crate) female: bool,
    pub(crate) born: u32,
    pub(crate) job: &'static Job,
    pub(crate) home: PlaceId,
    pub(crate) birthplace: PlaceId,
    pub(crate) food: &'static Food,
    pub(crate) pet: &'static Word,
    pub(crate) pet_colour: &'static Word,
    pub(crate) hobby: &'static Word,
    pub(crate) instrument: &'static Word,
    /// A trait and its opposite.
    pub(crate) character: &'static (Word, Word),
}

impl Person {
    pub(crate) fn age(&self) -> u32 {
        NOW - self.born
    }

    pub(crate) fn grown(&self) -> bool {
        self.age() >= GROWN
    }
}

/// The whole world at rest.
#[derive(Debug)]
pub(crate) struct Facts {
    pub(crate) places: Vec<Place>,
    pub(crate) people: Vec<Person>,
}

impl Facts {
    /// The facts that belong to a seed.
    pub(crate) fn new(seed: u64) -> Self {
        let mut random = Random::new(seed, "world facts", 0);
        let mut names = Names::default();
        let mut places = Vec::with_capacity(PLACES);
        let mut people = Vec::with_capacity(PLACES * PEOPLE_PER_PLACE);
        let mut starts = PLACE_STARTS;
        random.shuffle(&mut starts);
        for (index, start) in starts.iter().enumerate() {
            // Jobs differ within a place, so that a job names a person there.
            let mut jobs: Vec<&'static Job> = JOBS.iter().collect();
            random.shuffle(&mut jobs);
            places.push(place(index, *start, jobs[0], &mut random));
            for household in jobs.chunks(HOUSEHOLD).take(2) {
                add_household(PlaceId(index), household, &mut names, &mut people, &mut random);
            }
        }
        Self { places, people }
    }

    pub(crate) fn place(&self, id: PlaceId) -> &Place {
        &self.places[id.0]
    }

    pub(crate) fn person(&self, id: PersonId) -> &Person {
        &self.people[id.0]
    }

    /// Everyone who lives in a place.
    pub(crate) fn inhabitants(&self, id: PlaceId) -> Vec<PersonId> {
        (0..PEOPLE_PER_PLACE).map(|offset| PersonId(id.0 * PEOPLE_PER_PLACE + offset)).collect()
    }

    /// The places next to this one on the map: up to four.
    pub(crate) fn neighbours(&self, id: PlaceId) -> Vec<PlaceId> {
        let (row, column) = (id.0 / COLUMNS, id.0 % COLUMNS);
        let mut found = Vec::new();
        found.extend((row > 0).then(|| PlaceId(id.0 - COLUMNS)));
        found.extend((row + 1 < PLACES / COLUMNS).then(|| PlaceId(id.0 + COLUMNS)));
        found.extend((column > 0).then(|| PlaceId(id.0 - 1)));
        found.extend((column + 1 < COLUMNS).then(|| PlaceId(id.0 + 1)));
        found
    }

    /// Miles and direction on the way from one place to another.
    pub(crate) fn way(&self, from: PlaceId, to: PlaceId) -> (u32, &'static Word) {
        let (a, b) = (self.place(from), self.place(to));
        let (east, south) = (f64::from(b.east - a.east), f64::from(b.south - a.south));
        // Clockwise from north, in eighths of a turn.
        let eighth = (east.atan2(-south) / std::f64::consts::FRAC_PI_4).round() as i64;
        (east.hypot(south).round() as u32, &DIRECTIONS[eighth.rem_euclid(8) as usize])
    }

    /// The wife or husband of a parent.
    pub(crate) fn spouse(&self, id: PersonId) -> Option<PersonId> {
        (id.0 % HOUSEHOLD < 2).then_some(PersonId(id.0 ^ 1))
    }

    /// The children of a parent, the elder first.
    pub(crate) fn children(&self, id: PersonId) -> Option<[PersonId; 2]> {
        let first = id.0 - id.0 % HOUSEHOLD;
        (id.0 - first < 2).then_some([PersonId(first + 2), PersonId(first + 3)])
    }

    /// Father and mother of a child.
    pub(crate) fn parents(&self, id: PersonId) -> Option<[PersonId; 2]> {
        let first = id.0 - id.0 % HOUSEHOLD;
        (id.0 - first >= 2).then_some([PersonId(first), PersonId(first + 1)])
    }

    /// The best friend: the same position in the other household of the place.
    pub(crate) fn friend(&self, id: PersonId) -> PersonId {
        let offset = id.0 % PEOPLE_PER_PLACE;
        PersonId(id.0 - offset + (offset + HOUSEHOLD) % PEOPLE_PER_PLACE)
    }
}

fn place(index: usize, start: (&str, &str), craft: &'static Job, random: &mut Random) -> Place {
    let end = random.pick(&PLACE_ENDS);
    let population = random.between(3, 95) * 100;
    let kind = if population >= CITY { "城" } else { "镇" };
    let (row, column) = (index / COLUMNS, index % COLUMNS);
    let half = COLUMNS / 2;
    Place {
        english: format!("{}{}", start.0, end.0),
        chinese: format!("{}{}{}", start.1, end.1, if population < TOWN { "村" } else { kind }),
        founded: random.between(1150, 1720),
        population,
        region: &REGIONS[row / half * 2 + column / half],
        land: random.pick(&LANDS),
        river: random.pick(&RIVERS),
        landmark: random.pick(&LANDMARKS),
        craft,
        dish: random.pick(&DISHES),
        market_day: random.pick(&WEEKDAYS),
        roofs: random.pick(&COLOURS),
        east: column as i32 * 20 + random.between(0, 9) as i32,
        south: row as i32 * 20 + random.between(0, 9) as i32,
    }
}

/// From this population on a place is a town, from that on a city.
pub(crate) const TOWN: u32 = 2000;
pub(crate) const CITY: u32 = 6000;

/// Adds father, mother, an elder and a younger child.
fn add_household(
    home: PlaceId,
    jobs: &[&'static Job],
    names: &mut Names,
    people: &mut Vec<Person>,
    random: &mut Random,
) {
    let family = names.family(random);
    let surname = *random.pick(&HAN_SURNAMES);
    let father_born = random.between(1772, 1790);
    let mother_born = father_born + random.between(0, 5);
    let elder_born = mother_born + random.between(20, 24);
    let births = [father_born, mother_born, elder_born, elder_born + random.between(2, 6)];
    let sexes = [false, true, random.chance(0.5), random.chance(0.5)];
    for member in 0..HOUSEHOLD {
        let (female, born) = (sexes[member], births[member]);
        let parent = member < 2;
        // By Chinese custom a wife keeps the name of her father.
        let surname = if member == 1 { *random.pick(&HAN_SURNAMES) } else { surname };
        let job = if NOW - born >= GROWN { jobs[member] } else { &PUPIL };
        // Only parents have moved: a child was born where it lives.
        let birthplace = if parent { PlaceId(random.below(PLACES as u64) as usize) } else { home };
        let (given, chinese) = (names.given(female, random), names.chinese(surname, female, random));
        let origin = Origin { given, family: family.clone(), chinese, female, born, job, home, birthplace };
        people.push(person(origin, random));
    }
}

/// What a household decides for a person.
struct Origin {
    given: String,
    family: String,
    chinese: String,
    female: bool,
    born: u32,
    job: &'static Job,
    home: PlaceId,
    birthplace: PlaceId,
}

/// A person with tastes of their own.
fn person(origin: Origin, random: &mut Random) -> Person {
    let Origin { given, family, chinese, female, born, job, home, birthplace } = origin;
    Person {
        given,
        family,
        chinese,
        female,
        born,
        job,
        home,
        birthplace,
        food: random.pick(&FOODS),
        pet: random.pick(&ANIMALS),
        pet_colour: random.pick(&COLOURS[..4]),
        hobby: random.pick(&HOBBIES),
        instrument: random.pick(&INSTRUMENTS),
        character: random.pick(&TRAITS),
    }
}

/// Names given so far: each belongs to one person, or to one household.
#[derive(Default)]
struct Names {
    taken: HashSet<String>,
}

impl Names {
    fn fresh(&mut self, mut make: impl FnMut() -> String) -> String {
        loop {
            let name = make();
            if self.taken.insert(name.clone()) {
                return name;
            }
        }
    }

    fn given(&mut self, female: bool, random: &mut Random) -> String {
        let ends = if female { &GIVEN_FEMALE_ENDS } else { &GIVEN_MALE_ENDS };
        self.fresh(|| format!("{}{}", random.pick(&GIVEN_STARTS), random.pick(ends)))
    }

    fn family(&mut self, random: &mut Random) -> String {
        self.fresh(|| format!("{}{}", random.pick(&FAMILY_STARTS), random.pick(&FAMILY_ENDS)))
    }

    fn chinese(&mut self, surname: &str, female: bool, random: &mut Random) -> String {
        let ends = if female { &HAN_FEMALE } else { &HAN_MALE };
        self.fresh(|| format!("{surname}{}{}", random.pick(&HAN_FIRST), random.pick(ends)))
    }
}
