//! Random numbers as a function of (seed, purpose, index).
//!
//! Nothing in oxibert draws from a shared generator. Whoever needs chance names what it is for and which
//! item it is for, so the numbers are the same on any thread, on any rank, in any order, and after a
//! kill and resume:
//!
//! ```
//! use oxibert::random::Random;
//!
//! let mut masking = Random::new(42, "mlm masking", 7);   // example 7 of a run with seed 42
//! let mut again = Random::new(42, "mlm masking", 7);
//! assert_eq!(masking.below(100), again.below(100));
//! ```
//!
//! The generator is counter-based: the n-th number is `mix(mix(a + n * GAMMA) + b)`, where `mix` is the
//! finalizer of SplitMix64 (Steele, Lea and Flood, 2014) and `(a, b)` is a key of 128 bits hashed from the
//! three arguments. Plain SplitMix64 has one orbit of 2^64 numbers that all its streams share; with the
//! second key word two streams that meet on the orbit still give different numbers, which matters when
//! billions of examples have a stream each. It is fast and statistically good, and no cryptography.

/// 2^64 / golden ratio, odd: the step of SplitMix64's counter.
const GAMMA: u64 = 0x9e37_79b9_7f4a_7c15;

/// A stream of random numbers that belongs to one (seed, purpose, index).
///
/// A clone continues where the original stood; a new one with the same arguments starts at the beginning.
#[derive(Debug, Clone)]
pub struct Random {
    counter: u64,
    key: u64,
}

impl Random {
    /// The stream for item `index` of the work named `purpose`.
    ///
    /// Purposes are short phrases, one per use ("mlm masking", "world story"); two uses never share one,
    /// because equal arguments give equal numbers.
    #[must_use]
    pub fn new(seed: u64, purpose: &str, index: u64) -> Self {
        let name =
            purpose.bytes().fold(FNV_OFFSET, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(FNV_PRIME));
        let base = mix(mix(seed.wrapping_add(GAMMA)) ^ name);
        let counter = mix(base.wrapping_add(index.wrapping_mul(GAMMA)));
        let key = mix(base.rotate_left(32) ^ mix(index.wrapping_add(GAMMA)));
        Self { counter, key }
    }

    /// The next 64 random bits.
    pub fn bits(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(GAMMA);
        mix(mix(self.counter).wrapping_add(self.key))
    }

    /// A whole number in `0..n`, every one exactly as likely (Lemire's multiply-and-reject, 2019).
    ///
    /// ```
    /// # use oxibert::random::Random;
    /// let die = 1 + Random::new(1, "die", 0).below(6);
    /// assert!((1..=6).contains(&die));
    /// ```
    ///
    /// # Panics
    /// If `n` is zero: there is no such number.
    pub fn below(&mut self, n: u64) -> u64 {
        assert!(n > 0, "Random::below needs at least one number to choose from");
        loop {
            let product = u128::from(self.bits()) * u128::from(n);
            let (high, low) = ((product >> 64) as u64, product as u64);
            // The lowest `2^64 mod n` fractions would make some numbers one draw likelier: draw again.
            if low >= n || low >= n.wrapping_neg() % n {
                return high;
            }
        }
    }

    /// A whole number in `low..=high`.
    ///
    /// # Panics
    /// If `low > high`.
    pub fn between(&mut self, low: u32, high: u32) -> u32 {
        assert!(low <= high, "Random::between({low}, {high}) is empty");
        low + self.below(u64::from(high - low) + 1) as u32
    }

    /// A number in `[0, 1)`, a multiple of 2^-53.
    pub fn unit(&mut self) -> f64 {
        (self.bits() >> 11) as f64 * (1.0 / (1u64 << 53) as f64)
    }

    /// True with probability `p`; never for 0, always for 1.
    pub fn chance(&mut self, p: f64) -> bool {
        self.unit() < p
    }

    /// One of the items, each as likely.
    ///
    /// ```
    /// # use oxibert::random::Random;
    /// let season = Random::new(1, "season", 0).pick(&["spring", "summer", "autumn", "winter"]).len();
    /// assert!(season == 6);
    /// ```
    ///
    /// # Panics
    /// If there is none.
    pub fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len() as u64) as usize]
    }

    /// Puts the items in a random order, every order as likely (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

/// FNV-1a's constants for 64 bits: a purpose is short, and `mix` follows.
const FNV_OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const FNV_PRIME: u64 = 0x0000_0100_0000_01b3;

/// SplitMix64's finalizer: a bijection in which every input bit moves about half of the output bits.
fn mix(mut z: u64) -> u64 {
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Chi-squared of `draws` over `cells`; its mean is `cells - 1`, its deviation sqrt(2 (cells - 1)).
    fn chi_squared(cells: usize, draws: usize, mut draw: impl FnMut() -> usize) -> f64 {
        let mut counts = vec![0u32; cells];
        (0..draws).for_each(|_| counts[draw()] += 1);
        let expected = draws as f64 / cells as f64;
        counts.iter().map(|&count| (f64::from(count) - expected).powi(2) / expected).sum()
    }

    #[test]
    fn the_numbers_never_change() {
        let mut random = Random::new(42, "mlm masking", 7);
        let first: Vec<u64> = (0..3).map(|_| random.bits()).collect();
        assert_eq!(first, GOLDEN, "changed numbers change every seeded result of every user");
    }
    const GOLDEN: [u64; 3] = [0x80747de8adbd468b, 0xeaf1b53807f67298, 0x887895d6a5f536c9];

    #[test]
    fn each_argument_matters() {
        let first = |seed, purpose, index| Random::new(seed, purpose, index).bits();
        let base = first(1, "a", 0);
        assert_ne!(base, first(2, "a", 0));
        assert_ne!(base, first(1, "b", 0));
        assert_ne!(base, first(1, "a", 1));
        assert_eq!(base, first(1, "a", 0));
    }

    #[test]
    fn below_is_uniform_within_a_stream_and_across_streams() {
        let mut random = Random::new(3, "test", 0);
        assert!(chi_squared(10, 100_000, || random.below(10) as usize) < 40.0);
        let mut index = 0;
        let across = chi_squared(64, 100_000, || {
            index += 1;
            Random::new(3, "test", index).below(64) as usize
        });
        assert!(across < 63.0 + 6.0 * 126f64.sqrt(), "{across}");
    }

    #[test]
    fn below_is_unbiased_for_huge_ranges() {
        // Four draws for three numbers: without rejection every third number would be twice as likely.
        let n = 3u64 << 62;
        let mut random = Random::new(5, "test", 0);
        assert!(chi_squared(3, 30_000, || (random.below(n) % 3) as usize) < 25.0);
    }

    #[test]
    fn unit_and_chance_keep_their_limits() {
        let mut random = Random::new(4, "test", 0);
        let mean =
            (0..10_000).map(|_| random.unit()).inspect(|u| assert!((0.0..1.0).contains(u))).sum::<f64>()
                / 1e4;
        assert!((mean - 0.5).abs() < 0.02, "{mean}");
        assert!((0..1000).all(|_| !random.chance(0.0) && random.chance(1.0)));
        let hits = (0..10_000).filter(|_| random.chance(0.15)).count();
        assert!((1350..1650).contains(&hits), "{hits}");
    }

    #[test]
    fn shuffle_reaches_every_order_equally() {
        let mut random = Random::new(6, "test", 0);
        let order = || {
            let mut items = [0usize, 1, 2];
            random.shuffle(&mut items);
            items[0] * 2 + usize::from(items[1] > items[2])
        };
        assert!(chi_squared(6, 60_000, order) < 30.0);
        Random::new(6, "test", 1).shuffle::<u8>(&mut []);
    }

    #[test]
    fn between_includes_both_ends() {
        let mut random = Random::new(7, "test", 0);
        let drawn: Vec<u32> = (0..200).map(|_| random.between(3, 5)).collect();
        assert!((3..=5).all(|n| drawn.contains(&n)) && drawn.iter().all(|n| (3..=5).contains(n)));
    }
}
