//! CTranslate2's model folder: `model.bin` (variables by name), `config.json` and a vocabulary.
//!
//! A variable is a number or an array. Linear layers that read the same input are one array, one part below the other:
//! `self_attention/linear_0` is query, key and value. Embeddings and linear layers of int8 have a `weight_scale` for each
//! row, by which the codes are *divided*. Equal arrays stand once and have aliases.

mod binary;
mod export;
mod import;
mod source;

pub(crate) use export::{Type, write};
pub(crate) use import::read;

use serde::{Deserialize, Serialize};
use umlaut_model::TransformerConfig;

use super::inventory::{self, Part, Stack};

/// Name of the variables' file.
const MODEL: &str = "model.bin";
/// Name of the vocabulary where source and target have the same.
const SHARED_VOCABULARY: &str = "shared_vocabulary.json";
/// The tables of source, target and output.
const TABLES: [&str; 3] = ["encoder/embeddings_0/weight", "decoder/embeddings/weight", "decoder/projection/weight"];

/// `config.json`.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Settings {
    add_source_bos: bool,
    add_source_eos: bool,
    bos_token: String,
    decoder_start_token: Option<String>,
    eos_token: String,
    /// Absent or null: 1e-5.
    #[serde(default)]
    layer_norm_epsilon: Option<f64>,
    #[serde(default)]
    multi_query_attention: bool,
    unk_token: String,
}

/// Parts that are one variable's rows, one part below the other.
struct Group {
    /// Without `/weight`, `/bias`, `/gamma` and `/beta`.
    scope: String,
    is_norm: bool,
    parts: Vec<Part>,
}

impl Group {
    /// The names of what we call weight and bias.
    fn variables(&self) -> [String; 2] {
        let kinds = if self.is_norm { ["gamma", "beta"] } else { ["weight", "bias"] };
        kinds.map(|kind| format!("{}/{kind}", self.scope))
    }
}

/// The variables of a model but for its tables and attributes.
fn groups(config: &TransformerConfig) -> Vec<Group> {
    let parts: Vec<Part> = inventory::parts(config).collect();
    let groups = parts.chunk_by(|a, b| scope(a) == scope(b));
    groups
        .map(|parts| Group { scope: scope(&parts[0]), is_norm: parts[0].shape.len() == 1, parts: parts.into() })
        .collect()
}

/// The variable to which a part belongs.
fn scope(part: &Part) -> String {
    let stack = part.stack.name();
    let Some(layer) = part.layer else { return format!("{stack}/layer_norm") };
    let place = match part.sublayer {
        "self_attention_norm" => "self_attention/layer_norm",
        "self_attention.query" | "self_attention.key" | "self_attention.value" => "self_attention/linear_0",
        "self_attention.output" => "self_attention/linear_1",
        "cross_attention_norm" => "attention/layer_norm",
        "cross_attention.query" => "attention/linear_0",
        "cross_attention.key" | "cross_attention.value" => "attention/linear_1",
        "cross_attention.output" => "attention/linear_2",
        "feed_forward_norm" => "ffn/layer_norm",
        "feed_forward.inner" => "ffn/linear_0",
        _ => "ffn/linear_1",
    };
    format!("{stack}/layer_{layer}/{place}")
}

/// Where the attributes of the rotations of a layer are.
fn self_attention(stack: Stack, layer: usize) -> String {
    format!("{}/layer_{layer}/self_attention", stack.name())
}

/// Where the table of positions of a stack is.
fn encodings(stack: Stack) -> String {
    format!("{}/position_encodings/encodings", stack.name())
}
