//! Sets the cfg `builtin_model` when `default-model/` holds a model to build in, so that the crate also builds without.

use std::path::Path;

/// What `builtin.rs` includes.
const FILES: [&str; 3] = ["config.json", "model.safetensors", "vocab.model"];

fn main() {
    let folder = Path::new("default-model");
    println!("cargo::rustc-check-cfg=cfg(builtin_model)");
    println!("cargo::rerun-if-changed={}", folder.display());
    if FILES.iter().all(|file| folder.join(file).is_file()) {
        println!("cargo::rustc-cfg=builtin_model");
    }
}
