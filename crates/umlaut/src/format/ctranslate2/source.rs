//! The variables of a model, asked for one by one.

use anyhow::{Context, Result, bail, ensure};

use super::binary::{Dtype, Variable, Variables};

/// What the name of a variable without a place here says of the model.
const REASONS: [(&str, &str); 9] = [
    ("layernorm_embedding", "embeddings are not normalised here"),
    ("relative_", "there are no relative positions here"),
    ("encodings", "positions are either rotated or added here"),
    ("rotary_", "rotations are not scaled here"),
    ("_noact", "feed-forward layers have no gates here"),
    ("num_heads_kv", "each head has keys and values of its own here"),
    ("queries_scale", "scores are scaled by 1/sqrt(d_head) here"),
    ("scale_outputs", "outputs are not scaled here"),
    ("encoder/embeddings_", "a token has one embedding here"),
];

/// The variables that nobody has asked for yet.
pub(super) struct Source<'a> {
    pub(super) rest: Variables<'a>,
}

impl<'a> Source<'a> {
    /// The numbers of an array of `shape`, codes divided by their scales.
    pub(super) fn array(&mut self, name: &str, shape: &[usize]) -> Result<Vec<f32>> {
        let variable = self.take(name)?;
        ensure!(variable.shape() == shape, "`{name}` is {:?}, {shape:?} was expected", variable.shape());
        let mut numbers = variable.numbers();
        match variable.dtype() {
            Dtype::F32 | Dtype::F16 | Dtype::Bf16 => Ok(numbers),
            Dtype::I8 if shape.len() == 2 => {
                let scales = self.array(&format!("{name}_scale"), &shape[..1])?;
                for (row, scale) in numbers.chunks_exact_mut(shape[1]).zip(scales) {
                    for code in row {
                        *code /= scale;
                    }
                }
                Ok(numbers)
            }
            other => bail!("`{name}` is {other:?}: f32, f16, bf16 and, for matrices, int8 are read"),
        }
    }

    /// Refuses an attribute that is not the only number that models here have.
    pub(super) fn expect(&mut self, name: &str, expected: i32, reason: &str) -> Result<()> {
        let number = self.integer(name)?;
        ensure!(number == expected, "{name} is {number}: {reason}");
        Ok(())
    }

    /// A whole number.
    pub(super) fn integer(&mut self, name: &str) -> Result<i32> {
        let number = self.number(name)?;
        ensure!(number.fract() == 0.0, "{name} is {number}, not a whole number");
        Ok(number as i32)
    }

    /// A number.
    pub(super) fn number(&mut self, name: &str) -> Result<f32> {
        let numbers = self.take(name)?.numbers();
        let &[number] = numbers.as_slice() else { bail!("`{name}` is {} numbers, not one", numbers.len()) };
        Ok(number)
    }

    fn take(&mut self, name: &str) -> Result<Variable<'a>> {
        self.rest.remove(name).with_context(|| format!("`{name}` is missing"))
    }

    /// Refuses variables that nobody asked for.
    pub(super) fn finish(self) -> Result<()> {
        let Some(name) = self.rest.into_keys().next() else { return Ok(()) };
        let reason = REASONS.iter().find(|(part, _)| name.contains(part));
        bail!("`{name}`: {}", reason.map_or("no part of the Transformers here", |(_, reason)| reason));
    }
}
