//! What devices without fused kernels run, on the processor: against the kernels, and in bf16 against f32.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use burn::backend::Autodiff;
use burn::tensor::{Tensor, TensorData};
use burn_flex::{Flex, FlexDevice, FlexTensor};
use umlaut_kernels::training::attention::Direction;
use umlaut_kernels::training::linear::Activation;
use umlaut_model::Precision;
use umlaut_model::ops::{AttentionSpec, Criterion, FusedOps, composed, float, tensor};

type B = Autodiff<Flex>;
type Read = fn(Vec<FlexTensor>, Vec<FlexTensor>) -> (Vec<f64>, f64);

fn numbers<const D: usize>(shape: [usize; D], seed: usize) -> Tensor<B, D> {
    let data = (0..shape.iter().product::<usize>())
        .map(|i| ((i + seed) * 7919 % 1009) as f32 / 500.0 - 1.0)
        .collect::<Vec<_>>();
    Tensor::from_data(TensorData::new(data, shape), &FlexDevice)
}

fn values<const D: usize>(x: Tensor<Flex, D>) -> Vec<f32> {
    x.into_data().into_vec().unwrap()
}

#[test]
fn the_greatest_are_found_one_by_one_as_by_sorting() {
    let x = numbers([5, 23], 4).inner();
    for k in [1, 2, 8, 23] {
        let sorted = Flex::read_greatest(float(x.clone()), k);
        assert_eq!(composed::read_greatest::<Flex>(float(x.clone()), k), sorted);
        let row = values(x.clone());
        let is_there = |(i, (column, value)): (usize, &(u32, f32))| {
            row[i / k * 23 + *column as usize].to_bits() == value.to_bits()
        };
        assert!(sorted.iter().enumerate().all(is_there));
        assert!(sorted.chunks(k).all(|row| row.is_sorted_by(|a, b| a.1 > b.1)));
    }
}

#[test]
fn numbers_and_squares_are_read_together() {
    let (loss, gradients) = (numbers([2], 1).inner(), [numbers([7], 2).inner(), numbers([40], 3).inner()]);
    let with = |read: Read| read(vec![float(loss.clone()), float(loss.clone())], gradients.clone().map(float).to_vec());
    let (fused, plain) = (with(Flex::read_with_squares), with(composed::read_with_squares::<Flex>));
    assert_eq!(fused.0, plain.0);
    assert_eq!(fused.0.len(), 4);
    let squares: f64 = gradients.into_iter().flat_map(values).map(|x| f64::from(x).powi(2)).sum();
    assert!((fused.1 - squares).abs() < 1e-9 && (plain.1 - squares).abs() < 1e-5);
}

/// Output and gradients of `f` over inputs of these shapes.
fn differentiated<const N: usize>(
    shapes: [[usize; 2]; N],
    f: impl Fn([Tensor<B, 2>; N]) -> Tensor<B, 2>,
) -> Vec<Vec<f32>> {
    let inputs = shapes.map(|shape| numbers(shape, shape[0]).require_grad());
    let output = f(inputs.clone());
    let gradients = (output.clone() * numbers(output.dims(), 9)).sum().backward();
    let gradients = inputs.iter().map(|input| values(input.grad(&gradients).unwrap()));
    std::iter::once(values(output.inner())).chain(gradients).collect()
}

#[track_caller]
fn assert_rounded(exact: &[Vec<f32>], rounded: &[Vec<f32>]) {
    for (exact, rounded) in exact.iter().zip(rounded) {
        let norm = |x: &mut dyn Iterator<Item = f32>| x.map(|x| x * x).sum::<f32>().sqrt();
        let far = norm(&mut exact.iter().zip(rounded).map(|(a, b)| a - b)) / norm(&mut exact.iter().copied());
        assert!(far > 1e-5 && far < 1e-2, "{far}");
    }
}

#[test]
fn products_in_bf16_are_those_in_f32_rounded_forward_and_backward() {
    let linear = |precision| {
        differentiated([[12, 16], [10, 16]], |[x, weight]| {
            let bias = float(numbers([10], 5));
            tensor(composed::linear::<B>(float(x), float(weight), bias, Activation::Identity, precision))
        })
    };
    assert_rounded(&linear(Precision::F32), &linear(Precision::Bf16));
    let attention = |precision| {
        let spec = AttentionSpec {
            n_heads: 2,
            q_len: 5,
            k_len: 5,
            key_lengths: vec![5, 3],
            direction: Direction::Past,
            dropout: None,
            precision,
        };
        differentiated([[10, 16]; 3], |inputs| {
            let [query, key, value] = inputs.map(float);
            tensor(composed::attention::<B>(query, key, value, None, &spec))
        })
    };
    assert_rounded(&attention(Precision::F32), &attention(Precision::Bf16));
    let loss = |precision| {
        differentiated([[10, 16], [30, 16]], |[hidden, projection]| {
            let targets: Vec<u32> = (0..10).collect();
            let criterion = Criterion::smoothed(0.1);
            let loss = composed::cross_entropy::<B>(float(hidden), float(projection), &targets, criterion, precision);
            tensor::<B, 1>(loss).reshape([2, 1])
        })
    };
    assert_rounded(&loss(Precision::F32), &loss(Precision::Bf16));
}

#[test]
fn the_gradient_of_an_embedding_is_a_product_with_its_ids() {
    let (ids, weight) = ([7, 2, 7, 0, 7, 2], numbers([9, 4], 1).require_grad());
    let embedded: Tensor<B, 2> = tensor(B::fused_embed(float(weight.clone()), &ids, 1.5));
    let gradients = (embedded * numbers([6, 4], 2)).sum().backward();
    let upstream = float(numbers([6, 4], 2).inner());
    let product = values(tensor::<Flex, 2>(composed::embed_backward::<Flex>(&ids, 1.5, upstream, 9)));
    for (product, sum) in product.iter().zip(values(weight.grad(&gradients).unwrap())) {
        assert!((product - sum).abs() < 1e-6, "{product} for {sum}");
    }
}
