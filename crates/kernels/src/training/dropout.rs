//! Dropout whose mask is a function of a seed and the element's index, so that no mask is stored.

use rayon::prelude::*;

use crate::dispatch::vectorised;

/// Elements that one thread takes at a time.
const PIECE: usize = 1 << 16;

/// A dropout mask: which elements fall out, by seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DropoutMask {
    /// The probability that an element is set to zero, in [0, 1).
    pub probability: f32,
    /// Chooses the mask.
    pub seed: u64,
}

impl DropoutMask {
    /// What an element that stays is multiplied by, 1 / (1 - probability).
    #[inline(always)]
    fn scale(self) -> f32 {
        1.0 / (1.0 - self.probability)
    }

    /// Hashes at or above this one fall out.
    #[inline(always)]
    fn threshold(self) -> u32 {
        (f64::from(1.0 - self.probability) * f64::from(u32::MAX)) as u32
    }

    /// The seed mixed (SplitMix64's finaliser), so that neighbouring seeds do not give shifted masks.
    #[inline(always)]
    fn key(self) -> u64 {
        let mut z = self.seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }
}

/// x, or 0 with the mask's probability; what stays is scaled so that the expectation is x.
pub fn apply(x: &mut [f32], mask: DropoutMask) {
    x.par_chunks_mut(PIECE).enumerate().for_each(|(i, piece)| apply_from(piece, i * PIECE, mask));
}

/// x + dropout(y), into `y`: a sublayer's output, which nothing else needs, where the residual x is needed again.
pub fn add(x: &[f32], y: &mut [f32], mask: DropoutMask) {
    let pieces = x.par_chunks(PIECE).zip(y.par_chunks_mut(PIECE)).enumerate();
    pieces.for_each(|(i, (x, y))| add_from(x, y, i * PIECE, mask));
}

vectorised! {
    /// [`apply`] to a piece that begins at element `start` of the whole.
    pub(super) fn apply_from(x: &mut [f32], start: usize, mask: DropoutMask) {
        let (scale, threshold, key) = (mask.scale(), mask.threshold(), mask.key());
        for (i, x) in x.iter_mut().enumerate() {
            let stays = hash((start as u32).wrapping_add(i as u32), key) < threshold;
            *x = if stays { *x * scale } else { 0.0 };
        }
    }
}

vectorised! {
    fn add_from(x: &[f32], y: &mut [f32], start: usize, mask: DropoutMask) {
        let (scale, threshold, key) = (mask.scale(), mask.threshold(), mask.key());
        for (i, (x, y)) in x.iter().zip(y).enumerate() {
            let stays = hash((start as u32).wrapping_add(i as u32), key) < threshold;
            *y = *x + if stays { *y * scale } else { 0.0 };
        }
    }
}

/// A well-mixed number from an index and a key: two rounds of multiply and xor-shift over 32 bits, the key's halves
/// brought in before each.
#[inline(always)]
fn hash(index: u32, key: u64) -> u32 {
    let mut h = index.wrapping_add(key as u32);
    h = (h ^ (h >> 16)).wrapping_mul(0x7feb_352d);
    h ^= (key >> 32) as u32;
    h = (h ^ (h >> 15)).wrapping_mul(0x846c_a68b);
    h ^ (h >> 16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_keeps_the_expectation_and_depends_on_the_seed_alone() {
        let mask = DropoutMask { probability: 0.3, seed: 7 << 32 | 9 };
        let mut x = vec![1.0; 200_000];
        apply(&mut x, mask);
        let kept = x.iter().filter(|x| **x != 0.0).count() as f64 / x.len() as f64;
        assert!((kept - 0.7).abs() < 0.005, "{kept} of the elements stayed");
        assert!(x.iter().all(|x| *x == 0.0 || (*x - 1.0 / 0.7).abs() < 1e-6));
        let mut again = vec![1.0; 200_000];
        apply(&mut again, mask);
        assert_eq!(x, again);
        apply(&mut again, DropoutMask { seed: 8, ..mask });
        assert_ne!(x, again);
    }

    #[test]
    fn neighbouring_seeds_and_elements_fall_out_independently() {
        let dropped = |seed| {
            let mut x = vec![1.0; 100_000];
            apply(&mut x, DropoutMask { probability: 0.5, seed });
            x.into_iter().map(|x| x == 0.0).collect::<Vec<_>>()
        };
        let (a, b, c) = (dropped(1), dropped(2), dropped(1 << 32));
        let agreement =
            |x: &[bool], y: &[bool]| x.iter().zip(y).filter(|(x, y)| x == y).count() as f64 / x.len() as f64;
        for share in [agreement(&a, &b), agreement(&a, &c), agreement(&a[1..], &a), agreement(&a[1..], &b)] {
            assert!((share - 0.5).abs() < 0.01, "they agree on {share}");
        }
    }

    #[test]
    fn adding_is_applying_and_adding() {
        let mask = DropoutMask { probability: 0.1, seed: 3 };
        let y: Vec<f32> = (0..70_000).map(|i| i as f32).collect();
        let (mut sum, mut dropped) = (y.clone(), y);
        add(&vec![1.0; sum.len()], &mut sum, mask);
        apply(&mut dropped, mask);
        assert!(sum.iter().zip(&dropped).all(|(sum, dropped)| sum.to_bits() == (dropped + 1.0).to_bits()));
    }
}
