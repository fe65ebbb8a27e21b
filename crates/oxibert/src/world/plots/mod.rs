//! Plots: small chains of causes and consequences that happen to the people of a scene.
//!
//! Each plot is a function that tells three to five events; its frames stand beside it in all languages.
//! Days and letters are made of plots. A new plot is a function and a line in [`PLOTS`].

mod danger;
mod friends;
mod skills;
mod trade;
mod trouble;

use super::scene::Scene;

/// A chain of events.
type Plot = fn(&mut Scene<'_>);

/// All plots.
const PLOTS: [Plot; 17] = [
    trade::sale,
    trade::stock,
    trade::swap,
    trouble::lost,
    trouble::broken,
    trouble::thief,
    danger::illness,
    danger::storm,
    danger::rescue,
    trouble::escape,
    friends::quarrel,
    friends::birthday,
    friends::loan,
    friends::promise,
    friends::guests,
    skills::lesson,
    skills::contest,
];

/// Lets different plots happen until the scene has at least `length` events.
pub(crate) fn happen(scene: &mut Scene<'_>, length: usize) {
    let mut order = PLOTS;
    scene.random.shuffle(&mut order);
    for plot in order {
        if scene.length() >= length {
            return;
        }
        plot(scene);
    }
}
