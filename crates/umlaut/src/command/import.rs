//! `umlaut import`: a model directory from the weights of another toolkit.

use std::path::PathBuf;

use anyhow::{Result, ensure};
use clap::ValueEnum;
use umlaut_model::{Positions, RopeLayout, directory};
use umlaut_text::Vocab;

use super::export::Layout;
use crate::format::{ctranslate2, fairseq};

/// Read a model of another toolkit into a model directory of f32 weights.
///
/// What a model directory cannot hold is refused with the reason: learned or relative positions, sinusoids in halves or
/// from 1, other activations than ReLU, missing biases, normalised embeddings, a bias of the output.
#[derive(clap::Args)]
pub(crate) struct ImportArgs {
    /// The model's folder: what `umlaut export` writes, or what one of CTranslate2's converters wrote
    model: PathBuf,
    /// What it is
    #[arg(long, value_name = "FORMAT")]
    from: Origin,
    /// The vocabulary, a SentencePiece model: rows are put into its order by the names of its pieces
    #[arg(long, value_name = "NAME.model")]
    vocab: PathBuf,
    /// Where the model directory goes
    #[arg(short, long)]
    output: PathBuf,
    /// Which components of a head are rotated together, where the model does not say
    #[arg(long, value_name = "LAYOUT")]
    rope_layout: Option<Layout>,
}

/// What a model can be read from.
#[derive(Clone, Copy, Debug, ValueEnum)]
enum Origin {
    /// model.bin of f32, f16, bf16 or int8, config.json and a vocabulary as JSON
    #[value(name = "ctranslate2")]
    CTranslate2,
    /// model.safetensors under fairseq's names, config.json and vocabulary.json
    Fairseq,
}

pub(crate) fn run(args: &ImportArgs) -> Result<()> {
    ensure!(!args.output.exists(), "{} exists already", args.output.display());
    let (vocab, layout) = (Vocab::open(&args.vocab)?, args.rope_layout.map(RopeLayout::from));
    let model = match args.from {
        Origin::CTranslate2 => ctranslate2::read(&args.model, &vocab, layout)?,
        Origin::Fairseq => fairseq::read(&args.model, &vocab, layout)?,
    };
    if model.config.positions == Positions::Rope && model.config.rope_layout == RopeLayout::HalfSplit {
        eprintln!("rotations were half-split: queries and keys are permuted to interleaved ones, which are equal");
    }
    let model = model.with_rope_layout(RopeLayout::Interleaved);
    directory::write_whole_folder(&args.output, |part| model.write(&vocab, part))
}
