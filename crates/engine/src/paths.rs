//! Which cache slots the live prefixes consist of.

/// A prefix is a path of slots, one for each token; prefixes with a common beginning share its slots.
#[derive(Debug)]
pub(crate) struct Paths {
    rows: usize,
    len: usize,
    /// `[rows, len]`.
    slots: Vec<u32>,
    /// Slots named by no path, the lowest last.
    free: Vec<u32>,
    /// Slots ever handed out.
    total: usize,
}

impl Paths {
    /// `rows` empty prefixes.
    pub(crate) fn new(rows: usize) -> Self {
        Self { rows, len: 0, slots: Vec::new(), free: Vec::new(), total: 0 }
    }

    /// Tokens in each prefix.
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    /// Slots that a cache must have room for.
    pub(crate) fn total(&self) -> usize {
        self.total
    }

    /// `[rows, len]`.
    pub(crate) fn slots(&self) -> &[u32] {
        &self.slots
    }

    /// The slot of a row's latest token.
    pub(crate) fn latest(&self, row: usize) -> usize {
        self.slots[(row + 1) * self.len - 1] as usize
    }

    /// Gives each prefix one more token with a slot of its own.
    pub(crate) fn extend(&mut self) {
        let mut slots = Vec::with_capacity(self.rows * (self.len + 1));
        for row in 0..self.rows {
            slots.extend_from_slice(&self.slots[row * self.len..(row + 1) * self.len]);
            slots.push(self.take_slot());
        }
        (self.slots, self.len) = (slots, self.len + 1);
    }

    fn take_slot(&mut self) -> u32 {
        self.free.pop().unwrap_or_else(|| {
            self.total += 1;
            (self.total - 1) as u32
        })
    }

    /// Makes row `i` a copy of the present row `parents[i]` and frees what no row names any more.
    pub(crate) fn reorder(&mut self, parents: &[usize]) {
        let path = |&row: &usize| &self.slots[row * self.len..(row + 1) * self.len];
        self.slots = parents.iter().flat_map(path).copied().collect();
        self.rows = parents.len();
        let mut is_used = vec![false; self.total];
        self.slots.iter().for_each(|&slot| is_used[slot as usize] = true);
        self.free = (0..self.total as u32).rev().filter(|&slot| !is_used[slot as usize]).collect();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_share_the_past_and_part_ways() {
        let mut paths = Paths::new(2);
        paths.extend();
        paths.reorder(&[1, 1, 0]);
        paths.extend();
        assert_eq!(paths.slots(), [1, 2, 1, 3, 0, 4]);
        assert_eq!([paths.latest(0), paths.latest(2)], [2, 4]);
    }

    #[test]
    fn dropped_slots_are_used_again() {
        let mut paths = Paths::new(3);
        paths.extend();
        paths.reorder(&[2]);
        paths.extend();
        assert_eq!(paths.slots(), [2, 0]);
        assert_eq!((paths.total(), paths.len()), (3, 2));
    }
}
