//! Adam over a model's parameters, with one norm for all gradients.

use burn::module::ParamId;
use burn::tensor::backend::AutodiffBackend;
use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};
use umlaut_model::ops::AdamStep;
use umlaut_model::ops::{float, tensor};
use umlaut_model::parameters::{self, Array, Arrays, MapParameters, VisitParameters};
use umlaut_model::{FusedOps, ModelError, Transformer};

use crate::exchange::Checksum;
use crate::update::Gradients;

/// Adam's settings (arXiv 1412.6980).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AdamConfig {
    /// Decay of the first moment.
    pub beta_1: f32,
    /// Decay of the second moment.
    pub beta_2: f32,
    /// Added to the root of the second moment.
    pub epsilon: f32,
    /// Largest norm of all gradients together; 0 for no limit.
    #[serde(default)]
    pub clip_norm: f64,
}

/// Both moments of a parameter, flat.
#[derive(Clone, Debug)]
struct Moments<B: AutodiffBackend> {
    first: Tensor<B::InnerBackend, 1>,
    second: Tensor<B::InnerBackend, 1>,
}

/// Adam and its state.
#[derive(Clone, Debug)]
pub struct Adam<B: AutodiffBackend> {
    config: AdamConfig,
    /// One for each parameter, in the model's order; empty before the first update.
    moments: Vec<(String, Moments<B>)>,
}

impl<B> Adam<B>
where
    B: AutodiffBackend + FusedOps,
    B::InnerBackend: FusedOps,
{
    /// Adam before its first update.
    #[must_use]
    pub fn new(config: AdamConfig) -> Self {
        Self { config, moments: Vec::new() }
    }

    /// Update `update` (the first is 1): `gradients` are sums over `tokens` target tokens, of norm `norm` once divided
    /// by them.
    #[must_use]
    pub fn update(
        &mut self,
        model: Transformer<B>,
        gradients: Gradients<B>,
        update: u64,
        learning_rate: f64,
        (tokens, norm): (usize, f64),
    ) -> Transformer<B> {
        let clip = if self.config.clip_norm > 0.0 { (self.config.clip_norm / norm).min(1.0) } else { 1.0 };
        let betas = (self.config.beta_1, self.config.beta_2);
        let scale = (clip / tokens as f64) as f32;
        let step = AdamStep::new(betas, self.config.epsilon, learning_rate, update, scale);
        let mut apply = Apply::<B> {
            step,
            gradients: gradients.into_iter(),
            moments: std::mem::take(&mut self.moments).into_iter(),
            updated: Vec::new(),
        };
        let model = parameters::map(model, &mut apply);
        self.moments = apply.updated;
        model
    }

    /// The moments by name: `first.<parameter>` and `second.<parameter>`, flat.
    ///
    /// # Panics
    /// If the backend does not compute in f32.
    #[must_use]
    pub fn arrays(&self) -> Arrays {
        let array = |x: &Tensor<B::InnerBackend, 1>| {
            let data = x.to_data().convert::<f32>().into_vec().expect("converted to f32");
            Array { shape: x.dims().to_vec(), data }
        };
        let both = |(name, moments): &(String, Moments<B>)| {
            [(format!("first.{name}"), array(&moments.first)), (format!("second.{name}"), array(&moments.second))]
        };
        self.moments.iter().flat_map(both).collect()
    }

    /// A checksum of every bit of the moments.
    #[must_use]
    pub fn checksum(&self) -> u64 {
        let mut sum = Checksum::default();
        self.arrays().values().flat_map(|array| &array.data).for_each(|x| sum.add(x.to_bits()));
        sum.0
    }

    /// Takes back the moments that [`arrays`](Self::arrays) gave.
    ///
    /// # Errors
    /// [`ModelError::Parameter`] names a moment that is missing or of another size than its parameter.
    pub fn restore(&mut self, arrays: Arrays, model: &Transformer<B>, device: &B::Device) -> Result<(), ModelError> {
        if arrays.is_empty() {
            return Ok(()); // before the first update
        }
        let mut restore = Restore::<B> { arrays, device, moments: Ok(Vec::new()) };
        parameters::visit(model, &mut restore);
        self.moments = restore.moments?;
        Ok(())
    }
}

/// Finds each parameter's moments, in the model's order.
struct Restore<'a, B: AutodiffBackend> {
    arrays: Arrays,
    device: &'a B::Device,
    moments: Result<Vec<(String, Moments<B>)>, ModelError>,
}

impl<B: AutodiffBackend> Restore<'_, B> {
    fn take(&mut self, kind: &str, name: &str, len: usize) -> Result<Tensor<B::InnerBackend, 1>, ModelError> {
        let name = format!("{kind}.{name}");
        match self.arrays.remove(&name) {
            Some(Array { shape, data }) if data.len() == len => {
                Ok(Tensor::from_data(TensorData::new(data, shape), self.device))
            }
            Some(Array { data, .. }) => {
                Err(ModelError::Parameter { name, reason: format!("{} elements for {len}", data.len()) })
            }
            None => Err(ModelError::Parameter { name, reason: "missing".into() }),
        }
    }

    fn both(&mut self, name: &str, len: usize) -> Result<Moments<B>, ModelError> {
        Ok(Moments { first: self.take("first", name, len)?, second: self.take("second", name, len)? })
    }
}

impl<B: AutodiffBackend> VisitParameters<B> for Restore<'_, B> {
    fn parameter<const D: usize>(&mut self, name: &str, _: ParamId, parameter: Tensor<B, D>) {
        let moments = self.both(name, parameter.shape().num_elements());
        match (&mut self.moments, moments) {
            (Ok(all), Ok(moments)) => all.push((name.into(), moments)),
            (all @ Ok(_), Err(error)) => *all = Err(error),
            (Err(_), _) => {}
        }
    }
}

/// One update on its way through the parameters.
struct Apply<B: AutodiffBackend> {
    step: AdamStep,
    gradients: std::vec::IntoIter<Tensor<B::InnerBackend, 1>>,
    moments: std::vec::IntoIter<(String, Moments<B>)>,
    updated: Vec<(String, Moments<B>)>,
}

impl<B> MapParameters<B> for Apply<B>
where
    B: AutodiffBackend + FusedOps,
    B::InnerBackend: FusedOps,
{
    fn parameter<const D: usize>(&mut self, name: &str, _: ParamId, parameter: Tensor<B, D>) -> Tensor<B, D> {
        let gradient = self.gradients.next().expect("a gradient for each parameter");
        let zeros = || Tensor::zeros(gradient.dims(), &gradient.device());
        let moments = self.moments.next().map_or_else(|| Moments { first: zeros(), second: zeros() }, |(_, m)| m);
        let state = [float(parameter.inner()), float(gradient), float(moments.first), float(moments.second)];
        let [parameter, first, second] = B::InnerBackend::fused_adam(state, self.step);
        let moments = Moments { first: tensor(first), second: tensor(second) };
        self.updated.push((name.into(), moments));
        Tensor::from_inner(tensor(parameter)).require_grad()
    }
}
