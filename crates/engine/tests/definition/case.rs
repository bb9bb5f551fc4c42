//! A model in both implementations, and sentences for it, drawn from a seed.

use burn_flex::{Flex, FlexDevice};
use umlaut_engine::{Engine, Precision};
use umlaut_model::directory::{self, Storage};
use umlaut_model::{Embeddings, NormPlacement, Positions, Sequences, Transformer, TransformerConfig, parameters};
use umlaut_search::TokenId;

/// Random numbers of a seed (xorshift).
pub(crate) struct Draw(u64);

impl Draw {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    /// One of `range`.
    pub(crate) fn within(&mut self, range: std::ops::RangeInclusive<usize>) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        range.start() + (self.0 >> 11) as usize % (range.end() - range.start() + 1)
    }

    /// One of `choices`.
    pub(crate) fn one_of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.within(0..=choices.len() - 1)]
    }

    /// A number in [-1, 1].
    pub(crate) fn number(&mut self) -> f32 {
        self.within(0..=1 << 20) as f32 / (1 << 19) as f32 - 1.0
    }
}

/// A shape that both implementations know.
pub(crate) fn draw_config(draw: &mut Draw) -> TransformerConfig {
    let n_heads = draw.within(1..=4);
    TransformerConfig {
        format: umlaut_model::config::FORMAT.into(),
        vocab: draw.within(5..=150),
        d_model: n_heads * 2 * draw.within(1..=20),
        n_heads,
        d_ff: draw.within(1..=150),
        encoder_layers: draw.within(0..=3),
        decoder_layers: draw.within(0..=3),
        norm: draw.one_of(&[NormPlacement::Pre, NormPlacement::Post]),
        positions: draw.one_of(&[Positions::Rope, Positions::Sinusoidal]),
        rope_theta: 10_000.0,
        rope_layout: umlaut_model::RopeLayout::Interleaved,
        embeddings: draw.one_of(&[Embeddings::Shared, Embeddings::Separate]),
        norm_epsilon: 1e-5,
        dropout: 0.0,
        attention_dropout: 0.0,
        activation_dropout: 0.0,
        precision: umlaut_model::Precision::F32,
        unk_id: 0,
        bos_id: 1,
        eos_id: 2,
        pad_id: 3,
    }
}

/// One set of weights, twice.
pub(crate) struct Pair {
    pub(crate) model: Transformer<Flex>,
    pub(crate) engine: Engine,
}

impl Pair {
    /// Weights uniform within `spread / sqrt(d_in)`, vectors within `spread / 3`, gains around 1.
    pub(crate) fn new(config: &TransformerConfig, spread: f32, precision: Precision, draw: &mut Draw) -> Self {
        let device = FlexDevice;
        let mut arrays = parameters::arrays(&config.init::<Flex>(0, &device).unwrap());
        for (name, array) in &mut arrays {
            let is_gain = name.ends_with("norm.weight");
            let bound = if array.shape.len() == 1 { spread / 3.0 } else { spread / (array.shape[1] as f32).sqrt() };
            array.data.fill_with(|| bound * draw.number() + f32::from(u8::from(is_gain)));
        }
        let model = parameters::load(config.init::<Flex>(0, &device).unwrap(), arrays).unwrap();
        let folder = tempfile::tempdir().unwrap();
        directory::write(&model, folder.path(), Storage::F32).unwrap();
        let engine = Engine::open(folder.path(), precision).unwrap();
        Self { model, engine }
    }
}

/// Sources of 1 to 40 tokens, each with its EOS.
pub(crate) fn draw_sources(count: usize, vocab: usize, draw: &mut Draw) -> Vec<Vec<TokenId>> {
    let mut source = || {
        let len = draw.within(0..=39);
        (0..len).map(|_| TokenId(draw.within(3..=vocab - 1) as u32)).chain([TokenId(2)]).collect()
    };
    (0..count).map(|_| source()).collect()
}

/// Sources as the burn model takes them: padded to the longest.
pub(crate) struct Padded {
    ids: Vec<u32>,
    lengths: Vec<usize>,
}

impl Padded {
    pub(crate) fn new(sources: &[Vec<TokenId>]) -> Self {
        let longest = sources.iter().map(Vec::len).max().unwrap();
        let row = |source: &Vec<TokenId>| {
            source.iter().map(|token| token.0).chain(std::iter::repeat_n(3, longest - source.len())).collect::<Vec<_>>()
        };
        Self { ids: sources.iter().flat_map(row).collect(), lengths: sources.iter().map(Vec::len).collect() }
    }

    pub(crate) fn sequences(&self) -> Sequences<'_> {
        Sequences { ids: &self.ids, lengths: &self.lengths }
    }
}
