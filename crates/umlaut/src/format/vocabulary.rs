//! Vocabularies as other toolkits store them: a list of pieces, whose order is that of the rows of the embeddings.

use std::collections::HashMap;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use umlaut_model::parameters::Array;
use umlaut_text::{TokenId, Vocab};

/// Writes a list of pieces as JSON.
pub(super) fn to_json(vocab: &Vocab) -> Result<Vec<u8>> {
    Ok(serde_json::to_vec_pretty(&pieces(vocab))?)
}

/// Reads a list of pieces.
pub(super) fn read(path: &Path) -> Result<Vec<String>> {
    let json = std::fs::read(path).with_context(|| path.display().to_string())?;
    serde_json::from_slice(&json).with_context(|| format!("{} is no list of pieces", path.display()))
}

/// For each piece of `vocab`, in order, its row in a model of the pieces `theirs`.
///
/// # Errors
/// Names a piece that one has and the other has not, or that `theirs` has twice.
pub(super) fn rows(theirs: &[String], vocab: &Vocab) -> Result<Vec<usize>> {
    let mut places = HashMap::new();
    for (row, piece) in theirs.iter().enumerate() {
        ensure!(places.insert(piece.as_str(), row).is_none(), "`{piece}` stands twice in the model's vocabulary");
    }
    let row = |piece| places.remove(piece).with_context(|| format!("the model's vocabulary has no `{piece}`"));
    let rows = pieces(vocab).into_iter().map(row).collect::<Result<Vec<_>>>()?;
    // The first in their order, so that the message is always the same.
    if let Some(extra) = theirs.iter().find(|piece| vocab.id(piece).is_none() && places.contains_key(piece.as_str())) {
        bail!("the model's vocabulary has `{extra}`, which --vocab has not");
    }
    Ok(rows)
}

/// A table `[rows, width]` whose rows stand in another order.
pub(super) fn in_order(table: &Array, rows: &[usize]) -> Array {
    let width = table.shape[1];
    let data = rows.iter().flat_map(|&row| &table.data[row * width..(row + 1) * width]).copied().collect();
    Array { shape: vec![rows.len(), width], data }
}

/// The piece of one id.
pub(super) fn piece(vocab: &Vocab, id: TokenId) -> &str {
    vocab.piece(id).unwrap_or_default()
}

fn pieces(vocab: &Vocab) -> Vec<&str> {
    (0..vocab.len() as u32).map(|id| piece(vocab, TokenId(id))).collect()
}
