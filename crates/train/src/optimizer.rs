//! Adam over a model's parameters, with one norm for all gradients.

use std::collections::BTreeMap;

use burn::module::ParamId;
use burn::tensor::backend::{AutodiffBackend, Backend};
use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};
use umlaut_model::ops::AdamStep;
use umlaut_model::ops::{float, tensor};
use umlaut_model::parameters::{self, Array, Arrays, MapParameters, VisitParameters};
use umlaut_model::{FusedOps, ModelError, Transformer};

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

    /// Takes back the moments that [`arrays`](Self::arrays) gave.
    ///
    /// # Errors
    /// [`ModelError::Parameter`] names a moment that is missing or of another size than its parameter.
    pub fn restore(
        &mut self,
        mut arrays: Arrays,
        model: &Transformer<B>,
        device: &B::Device,
    ) -> Result<(), ModelError> {
        if arrays.is_empty() {
            return Ok(()); // before the first update
        }
        let mut moments = Vec::new();
        for (name, parameter) in parameters::arrays(model) {
            let mut take = |kind: &str| {
                let name = format!("{kind}.{name}");
                match arrays.remove(&name) {
                    Some(array) if array.data.len() == parameter.data.len() => {
                        Ok(Tensor::from_data(TensorData::new(array.data, array.shape), device))
                    }
                    Some(array) => {
                        let reason = format!("{} elements for {}", array.data.len(), parameter.data.len());
                        Err(ModelError::Parameter { name, reason })
                    }
                    None => Err(ModelError::Parameter { name, reason: "missing".into() }),
                }
            };
            moments.push((name.clone(), Moments { first: take("first")?, second: take("second")? }));
        }
        self.moments = order_like(model, moments);
        Ok(())
    }
}

/// The moments in the model's own order of parameters.
fn order_like<B>(model: &Transformer<B>, moments: Vec<(String, Moments<B>)>) -> Vec<(String, Moments<B>)>
where
    B: AutodiffBackend + FusedOps,
{
    struct Names(Vec<String>);
    impl<B: Backend> VisitParameters<B> for Names {
        fn parameter<const D: usize>(&mut self, name: &str, _: ParamId, _: Tensor<B, D>) {
            self.0.push(name.into());
        }
    }
    let mut names = Names(Vec::new());
    parameters::visit(model, &mut names);
    let mut by_name: BTreeMap<_, _> = moments.into_iter().collect();
    names.0.into_iter().filter_map(|name| by_name.remove(&name).map(|m| (name, m))).collect()
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
