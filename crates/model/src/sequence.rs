//! A padded batch of token sequences.

/// Token ids of a batch, right-padded to one length.
#[derive(Clone, Copy, Debug)]
pub struct Sequences<'a> {
    /// `[batch, len]`, row-major.
    pub ids: &'a [u32],
    /// Real tokens of each sequence, `[batch]`.
    pub lengths: &'a [usize],
}

impl Sequences<'_> {
    /// Number of sequences.
    #[must_use]
    pub fn batch(&self) -> usize {
        self.lengths.len()
    }

    /// Tokens a row, padding included.
    #[must_use]
    pub fn len(&self) -> usize {
        if self.lengths.is_empty() { 0 } else { self.ids.len() / self.lengths.len() }
    }

    /// Whether there is no token.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.ids.is_empty()
    }
}
