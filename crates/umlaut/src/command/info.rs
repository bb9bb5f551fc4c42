//! `umlaut info`: what a model directory holds.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use umlaut_model::average::count_parameters;
use umlaut_model::directory::{self, WEIGHTS};
use umlaut_train::checkpoint;

/// Show what a model is made of.
#[derive(clap::Args)]
pub(crate) struct InfoArgs {
    /// A model directory or checkpoint
    model: PathBuf,
}

pub(crate) fn run(args: &InfoArgs) -> Result<()> {
    let config = directory::read_config(&args.model)?;
    println!("parameters   {}", count_parameters(&args.model)?);
    println!("layers       {} + {}", config.encoder_layers, config.decoder_layers);
    println!("width        {} ({} heads), feed-forward {}", config.d_model, config.n_heads, config.d_ff);
    println!("norm         {:?}", config.norm);
    println!("positions    {:?}", config.positions);
    println!("vocabulary   {} pieces, embeddings {:?}", config.vocab, config.embeddings);
    println!("weights      {} bytes", fs::metadata(args.model.join(WEIGHTS))?.len());
    if let Ok(state) = checkpoint::read_state(&args.model) {
        println!(
            "trained      {} updates, {} target tokens, {:.2} hours",
            state.update,
            state.tokens,
            state.elapsed_seconds / 3600.0
        );
    }
    for name in ["averaged.json", "card.md"] {
        if let Ok(text) = fs::read_to_string(args.model.join(name)) {
            println!("\n{name}\n{text}");
        }
    }
    Ok(())
}
