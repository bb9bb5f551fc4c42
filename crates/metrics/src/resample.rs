//! Seeded draws of lines, for the bootstrap and for approximate randomisation.

use std::num::NonZeroUsize;

/// How often and from which seed lines are drawn. Results depend on these two numbers and on nothing else.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Resampling {
    /// The number of samples or trials.
    pub samples: NonZeroUsize,
    /// The seed of the generator.
    pub seed: u64,
}

/// SplitMix64 (Steele, Lea and Flood, 2014, "Fast Splittable Pseudorandom Number Generators").
#[derive(Debug, Clone)]
pub(crate) struct Generator {
    state: u64,
}

impl Generator {
    pub(crate) fn new(seed: u64) -> Self {
        Self { state: seed }
    }

    fn next(&mut self) -> u64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.state;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// `lines` line numbers below `lines`, drawn with replacement. The bias of scaling instead of rejecting is below
    /// `lines` / 2^64.
    pub(crate) fn draw(&mut self, lines: usize) -> Vec<usize> {
        (0..lines).map(|_| ((u128::from(self.next()) * lines as u128) >> 64) as usize).collect()
    }

    /// One fair coin for each of `lines` lines.
    pub(crate) fn coins(&mut self, lines: usize) -> Vec<bool> {
        (0..lines).map(|_| self.next() >> 63 == 1).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_splitmix64() {
        let mut generator = Generator::new(1_234_567);
        assert_eq!(generator.next(), 6_457_827_717_110_365_317);
        assert_eq!(generator.next(), 3_203_168_211_198_807_973);
    }

    #[test]
    fn draws_are_even() {
        let mut generator = Generator::new(7);
        let mut counts = [0_u32; 10];
        (0..10_000).flat_map(|_| generator.draw(10)).for_each(|line| counts[line] += 1);
        // 10,000 expected, standard deviation 95.
        assert!(counts.iter().all(|&count| count.abs_diff(10_000) < 400), "{counts:?}");
        let heads = generator.coins(100_000).into_iter().filter(|&coin| coin).count();
        assert!(heads.abs_diff(50_000) < 700, "{heads}");
    }
}
