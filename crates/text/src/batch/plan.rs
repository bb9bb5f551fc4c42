//! Which sentences go into which batch.

use crate::{
    TextError,
    rng::{SplitMix64, mix},
};

/// Batches' worth of pairs that are sorted by length together. More of them pad less, fewer mix the lengths of an
/// epoch's batches better; at 100 the padding is within a percent of that of sorting everything.
const WINDOW_BATCHES: usize = 100;

/// Batches of sentence pairs for one epoch of training: each pair exactly once, as indices into `lengths`.
///
/// `lengths` are (source, target) tokens without eos; every side gets one more for eos (or bos). A batch's cost is its
/// rows times the longest side in it, and at most `max_tokens`.
///
/// The pairs are shuffled, cut into windows, sorted by length within each window, cut into batches, and the batches
/// shuffled. `seed` and `epoch` alone decide; an epoch's plan does not need those before it, so that a resumed run can
/// make it anew.
///
/// # Errors
/// [`TextError::TooLong`] for a pair that costs more than `max_tokens` on its own.
pub fn plan_batches(
    lengths: &[(usize, usize)],
    max_tokens: usize,
    seed: u64,
    epoch: u64,
) -> Result<Vec<Vec<u32>>, TextError> {
    let cost = |pair: u32| {
        let (src_len, tgt_len) = lengths[pair as usize];
        src_len.max(tgt_len) + 1
    };
    let mut pairs: Vec<u32> = (0..lengths.len() as u32).collect();
    let mut total = 0;
    for &pair in &pairs {
        let tokens = cost(pair);
        if tokens > max_tokens {
            return Err(TextError::TooLong { index: pair as usize, tokens, max_tokens });
        }
        total += tokens;
    }
    let mut random = SplitMix64::new(mix(&[seed, epoch]));
    random.shuffle(&mut pairs);
    let pairs_per_batch = (max_tokens * lengths.len()).div_ceil(total.max(1)).max(1);
    let mut batches = Vec::new();
    for window in pairs.chunks_mut(pairs_per_batch * WINDOW_BATCHES) {
        // Stable: pairs of equal lengths stay shuffled.
        window.sort_by_key(|&pair| (cost(pair), lengths[pair as usize]));
        cut(window, max_tokens, cost, &mut batches);
    }
    random.shuffle(&mut batches);
    Ok(batches)
}

/// Groups lines of similar length for translating: the longest first, so that memory is asked for once.
///
/// `lengths` are tokens with whatever marks the model adds. A batch's cost is its rows times its longest line, and at
/// most `max_tokens`, except that a line beyond the limit is a batch of its own: every line is translated. The result
/// is a function of the lengths, and indices into them.
#[must_use]
pub fn plan_lines(lengths: &[usize], max_tokens: usize) -> Vec<Vec<usize>> {
    let mut lines: Vec<usize> = (0..lengths.len()).collect();
    lines.sort_by_key(|&line| (std::cmp::Reverse(lengths[line]), line));
    let mut batches = Vec::new();
    cut(&lines, max_tokens, |line| lengths[line], &mut batches);
    batches
}

/// Cuts a list into runs of which each costs at most `max_tokens`: length of the run times its greatest cost.
fn cut<T: Copy>(items: &[T], max_tokens: usize, cost: impl Fn(T) -> usize, batches: &mut Vec<Vec<T>>) {
    let mut batch = Vec::new();
    let mut longest = 0;
    for &item in items {
        longest = longest.max(cost(item));
        if !batch.is_empty() && longest * (batch.len() + 1) > max_tokens {
            batches.push(std::mem::take(&mut batch));
            longest = cost(item);
        }
        batch.push(item);
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
}
