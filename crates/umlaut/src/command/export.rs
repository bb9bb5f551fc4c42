//! `umlaut export`: a model for other toolkits, or as int8.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use clap::ValueEnum;
use umlaut_engine::quantise_model;
use umlaut_model::{Positions, RopeLayout, directory};
use umlaut_text::Vocab;

use crate::format::{Model, VOCAB, ctranslate2, fairseq};

/// Write a model for other toolkits, or as int8.
#[derive(clap::Args)]
pub(crate) struct ExportArgs {
    /// A model directory
    model: PathBuf,
    /// What to write
    #[arg(long, value_name = "FORMAT")]
    to: Target,
    /// Where it goes
    #[arg(short, long)]
    output: PathBuf,
    /// Which components of a head are rotated together [default: interleaved]
    #[arg(long, value_name = "LAYOUT")]
    rope_layout: Option<Layout>,
    /// With --to ctranslate2: what matrices are stored as [default: f32]
    #[arg(long = "type", value_name = "TYPE")]
    stored: Option<ctranslate2::Type>,
}

/// What a model can be written as.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    /// A model directory with int8 matrices: `translate --model` reads it, a quarter of the size
    Int8,
    /// f32 tensors under fairseq's names, with config.json (fairseq's hyperparameters, and the layout of the rotations)
    /// and vocabulary.json (the pieces in the order of the embeddings' rows)
    Safetensors,
    /// A folder for `ctranslate2.Translator`; its input and output are pieces of the vocab.model beside it. Sinusoidal
    /// positions go up to 2048 tokens
    #[value(name = "ctranslate2")]
    CTranslate2,
}

/// A layout of the rotary embedding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Layout {
    /// Neighbours, (2i, 2i + 1)
    Interleaved,
    /// Across the halves, (i, i + d_head / 2)
    HalfSplit,
}

impl From<Layout> for RopeLayout {
    fn from(layout: Layout) -> Self {
        match layout {
            Layout::Interleaved => Self::Interleaved,
            Layout::HalfSplit => Self::HalfSplit,
        }
    }
}

pub(crate) fn run(args: &ExportArgs) -> Result<()> {
    ensure!(!args.output.exists(), "{} exists already", args.output.display());
    ensure!(args.stored.is_none() || args.to == Target::CTranslate2, "--type is for --to ctranslate2");
    if args.to == Target::Int8 {
        ensure!(args.rope_layout.is_none(), "--rope-layout is for other toolkits: --to int8 keeps the model's");
        return directory::write_whole_folder(&args.output, |part| Ok(quantise_model(&args.model, part)?));
    }
    let (model, vocab) = (Model::open(&args.model)?, Vocab::open(args.model.join(VOCAB))?);
    model.check_vocab(&vocab, &args.model)?;
    let has_rotations = model.config.positions == Positions::Rope;
    ensure!(has_rotations || args.rope_layout.is_none(), "--rope-layout: the model has no rotations");
    let model = model.with_rope_layout(args.rope_layout.map_or(RopeLayout::Interleaved, Into::into));
    directory::write_whole_folder(&args.output, |part| {
        match args.to {
            Target::CTranslate2 => ctranslate2::write(model, &vocab, part, args.stored.unwrap_or_default())?,
            _ => fairseq::write(model, &vocab, part)?,
        }
        copy_records(&args.model, part)
    })
}

/// What says where the model comes from goes with it.
fn copy_records(from: &Path, to: &Path) -> Result<()> {
    for name in ["card.md", umlaut_train::recipe::FILE, "averaged.json"] {
        let path = from.join(name);
        if path.exists() {
            fs::copy(&path, to.join(name)).with_context(|| path.display().to_string())?;
        }
    }
    Ok(())
}
