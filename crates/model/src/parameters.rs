//! Parameters by name: the names of `model.safetensors` are the module's own paths.

use std::collections::BTreeMap;

use burn::module::{Module, ModuleMapper, ModuleVisitor, Param, ParamId};
use burn::tensor::{Tensor, TensorData, backend::Backend};

use crate::ModelError;

/// Calls `visit(name, id, tensor)` for each parameter, in the module's order.
pub trait VisitParameters<B: Backend> {
    /// Sees one parameter.
    fn parameter<const D: usize>(&mut self, name: &str, id: ParamId, tensor: Tensor<B, D>);
}

/// Walks the parameters of a module.
pub fn visit<B: Backend>(module: &impl Module<B>, visitor: &mut impl VisitParameters<B>) {
    module.visit(&mut Visitor { path: Vec::new(), visitor });
}

struct Visitor<'a, V> {
    path: Vec<String>,
    visitor: &'a mut V,
}

impl<B: Backend, V: VisitParameters<B>> ModuleVisitor<B> for Visitor<'_, V> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<B, D>>) {
        self.visitor.parameter(&self.path.join("."), param.id, param.val());
    }
}

/// Replaces parameters one by one.
pub trait MapParameters<B: Backend> {
    /// What stands in the parameter's place.
    fn parameter<const D: usize>(&mut self, name: &str, id: ParamId, tensor: Tensor<B, D>) -> Tensor<B, D>;
}

/// A module whose parameters went through `mapper`.
pub fn map<B: Backend, M: Module<B>>(module: M, mapper: &mut impl MapParameters<B>) -> M {
    module.map(&mut Mapper { path: Vec::new(), mapper })
}

struct Mapper<'a, M> {
    path: Vec<String>,
    mapper: &'a mut M,
}

impl<B: Backend, M: MapParameters<B>> ModuleMapper<B> for Mapper<'_, M> {
    fn enter_module(&mut self, name: &str, _: &str) {
        self.path.push(name.into());
    }
    fn exit_module(&mut self, _: &str, _: &str) {
        self.path.pop();
    }
    fn map_float<const D: usize>(&mut self, param: Param<Tensor<B, D>>) -> Param<Tensor<B, D>> {
        let (id, tensor, mapper) = param.consume();
        let tensor = self.mapper.parameter(&self.path.join("."), id, tensor);
        Param::from_mapped_value(id, tensor, mapper)
    }
}

/// A named array, as it stands in a file.
#[derive(Clone, Debug, PartialEq)]
pub struct Array {
    /// Its shape.
    pub shape: Vec<usize>,
    /// Its elements, row-major.
    pub data: Vec<f32>,
}

/// Arrays by name.
pub type Arrays = BTreeMap<String, Array>;

/// A copy of every parameter.
///
/// # Panics
/// If the backend does not compute in f32.
pub fn arrays<B: Backend>(module: &impl Module<B>) -> Arrays {
    struct Collect(Arrays);
    impl<B: Backend> VisitParameters<B> for Collect {
        fn parameter<const D: usize>(&mut self, name: &str, _: ParamId, tensor: Tensor<B, D>) {
            let shape = tensor.dims().to_vec();
            let data = tensor.into_data().convert::<f32>().into_vec().expect("converted to f32");
            self.0.insert(name.into(), Array { shape, data });
        }
    }
    let mut collect = Collect(Arrays::new());
    visit(module, &mut collect);
    collect.0
}

/// The module with each parameter taken from `arrays`.
///
/// # Errors
/// [`ModelError::Parameter`] names a parameter that is missing, has another shape, or belongs to nothing.
pub fn load<B: Backend, M: Module<B>>(module: M, arrays: Arrays) -> Result<M, ModelError> {
    struct Load {
        arrays: Arrays,
        error: Option<ModelError>,
    }
    impl<B: Backend> MapParameters<B> for Load {
        fn parameter<const D: usize>(&mut self, name: &str, _: ParamId, tensor: Tensor<B, D>) -> Tensor<B, D> {
            let want = tensor.dims().to_vec();
            let reason = match self.arrays.remove(name) {
                Some(Array { shape, data }) if shape == want => {
                    let loaded = Tensor::from_data(TensorData::new(data, want), &tensor.device());
                    return if tensor.is_require_grad() { loaded.require_grad() } else { loaded };
                }
                Some(Array { shape, .. }) => format!("expected shape {want:?}, found {shape:?}"),
                None => "missing".into(),
            };
            self.error.get_or_insert(ModelError::Parameter { name: name.into(), reason });
            tensor
        }
    }
    let mut load = Load { arrays, error: None };
    let module = map(module, &mut load);
    if let Some(error) = load.error {
        return Err(error);
    }
    match load.arrays.into_keys().next() {
        Some(name) => Err(ModelError::Parameter { name, reason: "belongs to no part of this model".into() }),
        None => Ok(module),
    }
}

/// Number of parameters, each shared matrix counted once.
pub fn count<B: Backend>(module: &impl Module<B>) -> usize {
    module.num_params()
}
