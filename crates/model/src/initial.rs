//! Initial parameters: drawn from one seed, the same on every backend and in every process.

use burn::module::Param;
use burn::tensor::{Tensor, TensorData, backend::Backend};

/// Draws the parameters of a model one after the other.
///
/// SplitMix64 (Steele, Lea and Flood, OOPSLA 2014), not the backend's generator: that one is shared by all threads of a
/// process.
#[derive(Debug)]
pub struct Initial<'a, B: Backend> {
    state: u64,
    device: &'a B::Device,
}

impl<'a, B: Backend> Initial<'a, B> {
    /// The draws of a seed.
    pub fn new(seed: u64, device: &'a B::Device) -> Self {
        Self { state: seed, device }
    }

    /// A number in [0, 1).
    fn draw(&mut self) -> f64 {
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.state ^ (self.state >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// Uniform in ±`bound`.
    pub fn uniform(&mut self, shape: [usize; 2], bound: f64) -> Param<Tensor<B, 2>> {
        self.fill(shape, |random| (2.0 * random.draw() - 1.0) * bound)
    }

    /// Normal with mean 0 (Box and Muller 1958).
    pub fn normal(&mut self, shape: [usize; 2], deviation: f64) -> Param<Tensor<B, 2>> {
        self.fill(shape, |random| {
            let radius = (-2.0 * (1.0 - random.draw()).ln()).sqrt();
            deviation * radius * (std::f64::consts::TAU * random.draw()).cos()
        })
    }

    /// The same value everywhere.
    #[must_use]
    pub fn constant(&self, len: usize, value: f32) -> Param<Tensor<B, 1>> {
        Param::from_tensor(Tensor::from_data(TensorData::new(vec![value; len], [len]), self.device))
    }

    fn fill(&mut self, shape: [usize; 2], mut value: impl FnMut(&mut Self) -> f64) -> Param<Tensor<B, 2>> {
        let data: Vec<f32> = (0..shape[0] * shape[1]).map(|_| value(self) as f32).collect();
        Param::from_tensor(Tensor::from_data(TensorData::new(data, shape), self.device))
    }
}
