//! Forced decoding: the probability of translations that are given, rather than searched for.

use crate::{ForcedDecoder, SearchError, TokenId};

/// Gives log p(`targets[i][j]` | source `i`, `targets[i][..j]`) in nats, at most 0, for each sentence that a fresh
/// `decoder` holds: `[sentences]` lists of `[tgt_len]`. A target ends with EOS if its end is to be scored; the decoder is
/// fed `bos` first. An empty target has an empty list.
///
/// Summed in f64 from first to last they are the [`log_prob`](crate::Hypothesis::log_prob) that
/// [`beam_search`](crate::beam_search) gives the same tokens, to the bit. Nothing about a sentence depends on the others
/// in the batch; one that has reached its end gives its row back.
///
/// # Errors
/// [`SearchError`]: a failure of the decoder, or NaN from it.
///
/// # Panics
/// If the decoder answers with another number of log-probabilities than rows.
pub fn force_decode<D: ForcedDecoder>(
    decoder: &mut D,
    targets: &[&[TokenId]],
    bos: TokenId,
) -> Result<Vec<Vec<f32>>, SearchError<D::Error>> {
    let mut log_probs: Vec<Vec<f32>> = targets.iter().map(|target| Vec::with_capacity(target.len())).collect();
    let mut live: Vec<usize> = (0..targets.len()).collect();
    let mut answers = Vec::new();
    for position in 0.. {
        let goes_on: Vec<usize> = (0..live.len()).filter(|&row| targets[live[row]].len() > position).collect();
        if goes_on.is_empty() {
            break;
        }
        if goes_on.len() < live.len() {
            decoder.reorder(&goes_on);
            live = goes_on.into_iter().map(|row| live[row]).collect();
        }
        let last = |&sentence: &usize| if position == 0 { bos } else { targets[sentence][position - 1] };
        let last: Vec<TokenId> = live.iter().map(last).collect();
        let next: Vec<TokenId> = live.iter().map(|&sentence| targets[sentence][position]).collect();
        decoder.step_to(&last, &next, &mut answers).map_err(SearchError::Decoder)?;
        assert_eq!(answers.len(), live.len(), "a decoder answers with a log-probability for each row");
        for (&sentence, answer) in live.iter().zip(&answers) {
            if answer.is_nan() {
                return Err(SearchError::NotANumber { sentence, length: position });
            }
            log_probs[sentence].push(answer.min(0.0));
        }
    }
    Ok(log_probs)
}
