//! Seeded random numbers that are the same on every machine and for any number of threads.
//!
//! SplitMix64 (Steele, Lea and Flood, OOPSLA 2014): a counter that advances by a constant, and a mixing function of
//! it. [`mix`] turns several numbers into one seed, so that a sentence can have a stream of its own.

const GOLDEN_GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

/// A stream of random numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SplitMix64 {
    counter: u64,
}

impl SplitMix64 {
    /// The stream of a seed.
    #[must_use]
    pub fn new(seed: u64) -> Self {
        Self { counter: seed }
    }

    /// The next 64 bits.
    pub fn next_u64(&mut self) -> u64 {
        self.counter = self.counter.wrapping_add(GOLDEN_GAMMA);
        finalise(self.counter)
    }

    /// A number in `[0, 1)` with 53 random bits.
    pub fn next_f64(&mut self) -> f64 {
        (self.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// A number below `bound`, by multiplication (Lemire 2019, without rejection: the bias is below `bound` / 2^64).
    ///
    /// # Panics
    /// If `bound` is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        assert!(bound > 0, "no number is below 0");
        ((u128::from(self.next_u64()) * u128::from(bound)) >> 64) as u64
    }

    /// Shuffles in place (Fisher and Yates).
    pub fn shuffle<T>(&mut self, items: &mut [T]) {
        for i in (1..items.len()).rev() {
            items.swap(i, self.below(i as u64 + 1) as usize);
        }
    }
}

/// One seed out of several numbers, such as (run seed, epoch, sentence). The order of the numbers matters.
#[must_use]
pub fn mix(parts: &[u64]) -> u64 {
    parts.iter().fold(0, |seed, &part| finalise((seed ^ part).wrapping_add(GOLDEN_GAMMA)))
}

/// The mixing function of SplitMix64: a bijection of 64 bits in which each input bit moves about half of the output.
fn finalise(counter: u64) -> u64 {
    let z = (counter ^ (counter >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    z ^ (z >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_stream_is_the_published_one() {
        // The first outputs for seed 1234567 that the reference C program prints.
        let mut stream = SplitMix64::new(1_234_567);
        let first: Vec<u64> = (0..3).map(|_| stream.next_u64()).collect();
        assert_eq!(first, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn a_shuffle_keeps_every_item_and_moves_some() {
        let mut items: Vec<u32> = (0..1000).collect();
        SplitMix64::new(7).shuffle(&mut items);
        assert_ne!(items, (0..1000).collect::<Vec<u32>>());
        items.sort_unstable();
        assert_eq!(items, (0..1000).collect::<Vec<u32>>());
    }

    #[test]
    fn numbers_below_a_bound_fill_it_evenly() {
        let mut stream = SplitMix64::new(3);
        let mut counts = [0u32; 10];
        for _ in 0..10_000 {
            counts[stream.below(10) as usize] += 1;
        }
        assert!(counts.iter().all(|&count| (900..1100).contains(&count)), "{counts:?}");
        let mean = (0..10_000).map(|_| stream.next_f64()).sum::<f64>() / 10_000.0;
        assert!((mean - 0.5).abs() < 0.01, "{mean}");
    }

    #[test]
    fn mixing_depends_on_each_number_and_on_their_order() {
        let seeds = [mix(&[1, 2]), mix(&[2, 1]), mix(&[1, 3]), mix(&[0, 0]), mix(&[0, 0, 0]), mix(&[3, 3])];
        for (i, seed) in seeds.iter().enumerate() {
            assert!(!seeds[..i].contains(seed));
        }
    }
}
