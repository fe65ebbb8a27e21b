//! The words of the world, in tables: one row is one meaning in all languages.
//!
//! The tables carry what makes words predictable from each other: a job goes with its workplace, tool and
//! product, a dish with its ingredients, a weather with its season. Prices are in coins.

mod food;
mod jobs;
mod names;
mod nature;
mod things;

pub(crate) use food::{CROPS, Crop, DISHES, Dish, FOODS, Food, GOODS, Good};
pub(crate) use jobs::{JOBS, Job, PUPIL};
pub(crate) use names::{
    FAMILY_ENDS, FAMILY_STARTS, GIVEN_FEMALE_ENDS, GIVEN_MALE_ENDS, GIVEN_STARTS, HAN_FEMALE, HAN_FIRST,
    HAN_MALE, HAN_SURNAMES, PLACE_ENDS, PLACE_STARTS, REGIONS, RIVERS,
};
pub(crate) use nature::{
    ANIMALS, COLOURS, DIRECTIONS, HIDEOUTS, LANDMARKS, LANDS, MONTHS, PART_OF_DAY, SEASONS, SPOTS, Season,
    UNITS, WEATHERS, WEEKDAYS, Weather,
};
pub(crate) use things::{HOBBIES, INSTRUMENTS, THINGS, TRAITS, Thing};
