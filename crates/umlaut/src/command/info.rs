//! `umlaut info`: what a model directory holds.

use std::fs;
use std::path::PathBuf;

use anyhow::Result;
use umlaut_model::average::count_parameters;
use umlaut_model::directory::{self, WEIGHTS};
use umlaut_train::Recipe;
use umlaut_train::recipe::Stage;

use super::average::{AVERAGED, Trained};

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
    if let Ok(recipe) = Recipe::open(&args.model) {
        if let Some(init) = &recipe.init {
            println!("begun with   {}", init.display());
        }
        for stage in &recipe.data.stages {
            println!("data         {}", describe(stage));
        }
    }
    if let Some(trained) = Trained::read(&args.model) {
        println!("trained      {trained}");
    }
    for name in [AVERAGED, "card.md"] {
        if let Ok(text) = fs::read_to_string(args.model.join(name)) {
            println!("\n{name}\n{text}");
        }
    }
    Ok(())
}

/// The files and corpora of a stage, and when it begins.
fn describe(stage: &Stage) -> String {
    let files: Vec<_> = stage.files.iter().map(|files| files.src.display().to_string()).collect();
    let corpora = stage.corpora.iter().flatten().map(String::as_str).collect::<Vec<_>>();
    let of = if corpora.is_empty() { String::new() } else { format!(", of which {}", corpora.join(", ")) };
    format!("from update {}: {}{of}", stage.from_update, files.join(", "))
}
