//! The file of a shortlist.
//!
//! ```text
//! tag, 8 bytes | vocab, u32 | checksum of the vocabulary's file, u32 | numbers | checksum of all before, u32
//! ```
//!
//! Fixed numbers are little-endian, checksums CRC-32. The others are LEB128, seven bits a byte: how many tokens are
//! ranked and how many of them are in every list, the ranked tokens, and for each source token how many tokens it can
//! become and the gaps between those, ascending; the first is counted from 0, each other from the one before it and 1.

use std::fs;
use std::path::Path;

use super::Shortlist;
use crate::{TextError, TokenId};

const TAG: [u8; 8] = *b"UMLSHL01";
/// Bytes before the numbers.
const HEAD: usize = TAG.len() + 8;

impl Shortlist {
    /// Reads a shortlist.
    ///
    /// # Errors
    /// [`TextError::Open`] when the file cannot be read, [`TextError::NotAShortlist`] when it is none or is damaged.
    pub fn open(path: impl AsRef<Path>) -> Result<Self, TextError> {
        let path = path.as_ref();
        let bytes = fs::read(path).map_err(|source| TextError::Open { path: path.to_owned(), source })?;
        Self::from_bytes(&bytes).map_err(|reason| TextError::NotAShortlist { path: path.to_owned(), reason })
    }

    /// The bytes of its file.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = TAG.to_vec();
        bytes.extend((self.vocab as u32).to_le_bytes());
        bytes.extend(self.vocab_checksum.to_le_bytes());
        push(&mut bytes, self.ranking.len() as u32);
        push(&mut bytes, self.frequent as u32);
        self.ranking.iter().for_each(|token| push(&mut bytes, token.0));
        for list in &self.lists {
            push(&mut bytes, list.len() as u32);
            let mut expected = 0;
            for token in list {
                push(&mut bytes, token.0 - expected);
                expected = token.0 + 1;
            }
        }
        bytes.extend(checksum(&bytes).to_le_bytes());
        bytes
    }

    fn from_bytes(bytes: &[u8]) -> Result<Self, &'static str> {
        if bytes.get(..TAG.len()) != Some(&TAG[..]) {
            return Err("it does not begin like one");
        }
        let (body, sum) = bytes.split_last_chunk::<4>().filter(|(body, _)| body.len() >= HEAD).ok_or(DAMAGED)?;
        if checksum(body) != u32::from_le_bytes(*sum) {
            return Err(DAMAGED);
        }
        let fixed = |at: usize| u32::from_le_bytes([body[at], body[at + 1], body[at + 2], body[at + 3]]);
        let mut numbers = Numbers { bytes: &body[HEAD..], vocab: fixed(TAG.len()) };
        let (ranked, frequent) = (numbers.count()?, numbers.count()?);
        let ranking = (0..ranked).map(|_| numbers.token(0)).collect::<Result<Vec<_>, _>>()?;
        let lists = (0..numbers.vocab).map(|_| numbers.list()).collect::<Result<Vec<_>, _>>()?;
        if frequent > ranking.len() || !numbers.bytes.is_empty() {
            return Err(DAMAGED);
        }
        Ok(Self { vocab: lists.len(), vocab_checksum: fixed(TAG.len() + 4), ranking, frequent, lists })
    }
}

const DAMAGED: &str = "it is damaged; make it or copy it again";

/// CRC-32 (ISO 3309).
pub(super) fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = flate2::Crc::new();
    crc.update(bytes);
    crc.sum()
}

fn push(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// The numbers that are left. Each takes a byte at least, so that no count can ask for more memory than the file has.
struct Numbers<'a> {
    bytes: &'a [u8],
    vocab: u32,
}

impl Numbers<'_> {
    fn next(&mut self) -> Result<u32, &'static str> {
        let mut number = 0;
        for shift in (0..35).step_by(7) {
            let (&byte, rest) = self.bytes.split_first().ok_or(DAMAGED)?;
            self.bytes = rest;
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return u32::try_from(number).map_err(|_| DAMAGED);
            }
        }
        Err(DAMAGED)
    }

    fn count(&mut self) -> Result<usize, &'static str> {
        Ok(self.next()? as usize)
    }

    /// A token that is written as its distance from `base`.
    fn token(&mut self, base: u32) -> Result<TokenId, &'static str> {
        let token = self.next()?.checked_add(base).filter(|&token| token < self.vocab).ok_or(DAMAGED)?;
        Ok(TokenId(token))
    }

    fn list(&mut self) -> Result<Vec<TokenId>, &'static str> {
        let mut list = Vec::new();
        for _ in 0..self.count()? {
            list.push(self.token(list.last().map_or(0, |token: &TokenId| token.0 + 1))?);
        }
        Ok(list)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shortlist() -> Shortlist {
        let ids = |ids: &[u32]| ids.iter().copied().map(TokenId).collect::<Vec<_>>();
        let mut lists = vec![Vec::new(); 20_000];
        (lists[4], lists[19_999]) = (ids(&[0, 1, 128, 129, 19_999]), ids(&[16_384]));
        Shortlist { vocab: 20_000, vocab_checksum: 0xdead_beef, ranking: ids(&[2, 19_999, 3]), frequent: 2, lists }
    }

    /// The bytes with a checksum that fits.
    fn sealed(body: &[u8]) -> Vec<u8> {
        [body, &checksum(body).to_le_bytes()].concat()
    }

    #[test]
    fn what_is_written_is_read() {
        assert_eq!(Shortlist::from_bytes(&shortlist().to_bytes()), Ok(shortlist()));
    }

    #[test]
    fn damage_is_noticed_wherever_it_is() {
        let bytes = shortlist().to_bytes();
        for at in (0..bytes.len()).step_by(7) {
            let mut forged = bytes.clone();
            forged[at] ^= 1 << (at % 8);
            assert!(Shortlist::from_bytes(&forged).is_err(), "a bit of byte {at}");
            assert!(Shortlist::from_bytes(&bytes[..at]).is_err(), "cut at {at}");
        }
    }

    #[test]
    fn forged_numbers_under_a_good_checksum_are_refused() {
        let bytes = shortlist().to_bytes();
        let body = &bytes[..bytes.len() - 4];
        for at in TAG.len()..60 {
            for byte in [0, 1, 0x7f, 0x80, 0xff] {
                let mut forged = body.to_vec();
                forged[at] = byte;
                let _ = Shortlist::from_bytes(&sealed(&forged));
            }
        }
        let more_than_ranked = [&body[..HEAD], &[1, 2, 0], &body[HEAD + 2..]].concat();
        assert!(Shortlist::from_bytes(&sealed(&more_than_ranked)).is_err());
        assert!(Shortlist::from_bytes(&sealed(&[body, &[0]].concat())).is_err(), "a number too many");
        assert!(Shortlist::from_bytes(b"").is_err() && Shortlist::from_bytes(&TAG).is_err());
    }
}
