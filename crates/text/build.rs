//! Compiles the shim that calls SentencePiece's trainer and links the trainer that `sentencepiece-sys` builds.

fn main() {
    println!("cargo:rerun-if-changed=shim/trainer.cc");
    cc::Build::new().cpp(true).std("c++17").file("shim/trainer.cc").compile("umlaut_vocab_trainer");
    // Built, and its folder put on the search path, by the build script of sentencepiece-sys.
    println!("cargo:rustc-link-lib=static=sentencepiece_train");
}
