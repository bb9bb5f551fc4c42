//! The parts of a SentencePiece model file that the bindings do not show: each piece with its score and kind.
//!
//! A model file is a protocol buffer (`sentencepiece_model.proto`), of which this reads the fields
//!
//! - `ModelProto { repeated SentencePiece pieces = 1; TrainerSpec trainer_spec = 2; NormalizerSpec normalizer_spec = 3; }`
//! - `SentencePiece { string piece = 1; float score = 2; Type type = 3; }`
//! - `TrainerSpec { ModelType model_type = 3; bool byte_fallback = 35; }`
//!
//! The wire format is a list of fields, each a key (number << 3 | wire type) and a value.

/// What the model file says of its pieces.
#[derive(Debug)]
pub(super) struct ModelFile {
    /// By id.
    pub(super) pieces: Vec<Piece>,
    pub(super) is_bpe: bool,
    pub(super) byte_fallback: bool,
}

/// An entry of the vocabulary.
#[derive(Debug)]
pub(super) struct Piece {
    pub(super) text: String,
    /// For BPE, minus the rank of the merge that makes the piece.
    pub(super) score: f32,
    pub(super) kind: Kind,
}

/// What a piece stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Normal,
    Unknown,
    Control,
    UserDefined,
    Unused,
    Byte(u8),
}

impl ModelFile {
    /// Parses a model file, or says what is wrong with it.
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut model = Self { pieces: Vec::new(), is_bpe: false, byte_fallback: false };
        let mut has_normalizer = false;
        for field in Fields(bytes) {
            match field? {
                (1, Value::Bytes(piece)) => model.pieces.push(Piece::parse(piece)?),
                (2, Value::Bytes(spec)) => model.read_trainer_spec(spec)?,
                (3, Value::Bytes(_)) => has_normalizer = true,
                _ => {}
            }
        }
        // The normaliser is the last field that every trainer writes: a file cut at a field's end lacks it.
        if model.pieces.is_empty() || !has_normalizer { Err(TRUNCATED) } else { Ok(model) }
    }

    fn read_trainer_spec(&mut self, spec: &[u8]) -> Result<(), &'static str> {
        for field in Fields(spec) {
            match field? {
                (3, Value::Integer(model_type)) => self.is_bpe = model_type == 2,
                (35, Value::Integer(flag)) => self.byte_fallback = flag != 0,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Piece {
    fn parse(bytes: &[u8]) -> Result<Self, &'static str> {
        let mut piece = Self { text: String::new(), score: 0.0, kind: Kind::Normal };
        let mut number = 1;
        for field in Fields(bytes) {
            match field? {
                (1, Value::Bytes(text)) => {
                    piece.text = String::from_utf8(text.to_vec()).map_err(|_| "a piece is not UTF-8")?;
                }
                (2, Value::Fixed32(bits)) => piece.score = f32::from_bits(bits),
                (3, Value::Integer(kind)) => number = kind,
                _ => {}
            }
        }
        piece.kind = match number {
            1 => Kind::Normal,
            2 => Kind::Unknown,
            3 => Kind::Control,
            4 => Kind::UserDefined,
            5 => Kind::Unused,
            6 => Kind::Byte(byte_of(&piece.text).ok_or("a byte piece is not spelled <0xNN>")?),
            _ => return Err("a piece is of a kind unknown to SentencePiece 0.2.1"),
        };
        Ok(piece)
    }
}

/// The byte of a piece spelled `<0x41>`.
fn byte_of(piece: &str) -> Option<u8> {
    u8::from_str_radix(piece.strip_prefix("<0x")?.strip_suffix('>')?, 16).ok()
}

/// The fields of a protocol buffer, in the order of the file.
struct Fields<'a>(&'a [u8]);

/// A field's value, as the wire tells it.
enum Value<'a> {
    Integer(u64),
    Fixed32(u32),
    Fixed64,
    Bytes(&'a [u8]),
}

const TRUNCATED: &str = "the file is truncated or is something else";

impl<'a> Iterator for Fields<'a> {
    type Item = Result<(u64, Value<'a>), &'static str>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.0.is_empty() {
            return None;
        }
        let field = self.field();
        if field.is_err() {
            self.0 = &[];
        }
        Some(field)
    }
}

impl<'a> Fields<'a> {
    fn field(&mut self) -> Result<(u64, Value<'a>), &'static str> {
        let key = self.varint()?;
        let value = match key & 7 {
            0 => Value::Integer(self.varint()?),
            1 => self.take(8).map(|_| Value::Fixed64)?,
            2 => {
                let len = self.varint()?;
                Value::Bytes(self.take(usize::try_from(len).map_err(|_| TRUNCATED)?)?)
            }
            5 => Value::Fixed32(u32::from_le_bytes(self.take(4)?.try_into().map_err(|_| TRUNCATED)?)),
            _ => return Err(TRUNCATED),
        };
        Ok((key >> 3, value))
    }

    fn take(&mut self, len: usize) -> Result<&'a [u8], &'static str> {
        let (taken, rest) = self.0.split_at_checked(len).ok_or(TRUNCATED)?;
        self.0 = rest;
        Ok(taken)
    }

    /// A base-128 number, least significant group first.
    fn varint(&mut self) -> Result<u64, &'static str> {
        let mut number = 0;
        for shift in (0..64).step_by(7) {
            let byte = self.take(1)?[0];
            number |= u64::from(byte & 0x7f) << shift;
            if byte < 0x80 {
                return Ok(number);
            }
        }
        Err(TRUNCATED)
    }
}
