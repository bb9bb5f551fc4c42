//! Products with packed weights: against plain sums, row by row, and instruction set against instruction set.
#![expect(clippy::float_cmp, reason = "results are to agree to the bit")]

use umlaut_kernels::inference::{
    Activations, GivenClass, Isa, Matrix, Precision, TopK, Write, product, with_isa_at_most,
};

/// Miri knows the portable path alone.
const ISAS: &[Isa] =
    if cfg!(miri) { &[Isa::Portable] } else { &[Isa::Portable, Isa::Avx2, Isa::AvxVnni, Isa::Avx512, Isa::Amx] };
/// Odd shapes: below, at and beyond a vector, a panel and a stretch of the inputs. Miri, which interprets, sees the small
/// ones.
const SHAPES: &[(usize, usize)] = if cfg!(miri) {
    &[(1, 1), (3, 5), (65, 18), (3, 130)]
} else {
    &[(1, 1), (3, 5), (16, 4), (64, 64), (65, 63), (130, 127), (63, 130), (130, 192), (192, 515), (70, 1030)]
};
const ROWS: &[usize] = if cfg!(miri) { &[0, 1, 7] } else { &[0, 1, 2, 5, 6, 7, 13, 29, 70] };

/// Numbers in -1..1 that look random.
fn numbers(n: usize, seed: u64) -> Vec<f32> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        ((state >> 40) as f32) / (1 << 23) as f32 - 1.0
    };
    (0..n).map(|_| next()).collect()
}

fn packed(precision: Precision, d_out: usize, d_in: usize) -> Matrix {
    let values = numbers(d_out * d_in, 1);
    let mut matrix = Matrix::zeros(precision, d_out, d_in);
    for (row, values) in values.chunks_exact(d_in).enumerate() {
        matrix.set_row(row, values);
    }
    matrix
}

fn multiply(matrix: &Matrix, x: &[f32], bias: &[f32], write: Write, before: f32) -> Vec<f32> {
    let mut activations = Activations::new(matrix.precision());
    activations.set(x, matrix.d_in());
    let mut out = vec![before; x.len() / matrix.d_in() * matrix.d_out()];
    product(&activations, matrix, bias, write, &mut out);
    out
}

/// The product in f64 of `x` with the weights as the matrix holds them.
fn naive(matrix: &Matrix, x: &[f32], bias: &[f32]) -> Vec<f64> {
    let (d_out, d_in) = (matrix.d_out(), matrix.d_in());
    let mut weights = vec![0.0; d_out * d_in];
    weights.chunks_exact_mut(d_in).enumerate().for_each(|(row, values)| matrix.copy_row(row, values));
    let dot = |x: &[f32], w: &[f32]| x.iter().zip(w).map(|(&x, &w)| f64::from(x) * f64::from(w)).sum::<f64>();
    x.chunks_exact(d_in)
        .flat_map(|x| weights.chunks_exact(d_in).zip(bias).map(move |(w, &b)| dot(x, w) + f64::from(b)))
        .collect()
}

#[test]
fn a_product_in_f32_is_the_sum_of_products() {
    for (d_out, d_in) in SHAPES.iter().copied() {
        let (matrix, bias) = (packed(Precision::F32, d_out, d_in), numbers(d_out, 2));
        for rows in ROWS.iter().copied() {
            let x = numbers(rows * d_in, 3);
            let want = naive(&matrix, &x, &bias);
            for isa in ISAS.iter().copied() {
                let got = with_isa_at_most(isa, || multiply(&matrix, &x, &bias, Write::Assign, 9.0));
                for (got, want) in got.iter().zip(&want) {
                    assert!((f64::from(*got) - want).abs() < 1e-4, "{rows}x{d_in}x{d_out} {isa:?}: {got} for {want}");
                }
            }
        }
    }
}

#[test]
fn a_product_in_int8_is_exact_for_numbers_that_codes_hold() {
    // Each row reaches 127, so its scale is 1 and the codes are the numbers themselves.
    for (d_out, d_in) in SHAPES.iter().copied() {
        let integers = |n: usize, seed| -> Vec<f32> {
            let mut values: Vec<f32> = numbers(n, seed).iter().map(|v| (v * 127.0).round()).collect();
            values.chunks_exact_mut(d_in).for_each(|row| row[0] = 127.0);
            values
        };
        let mut matrix = Matrix::zeros(Precision::Int8, d_out, d_in);
        integers(d_out * d_in, 4).chunks_exact(d_in).enumerate().for_each(|(row, w)| matrix.set_row(row, w));
        let (x, bias) = (integers(7 * d_in, 5), vec![0.0; d_out]);
        for isa in ISAS.iter().copied() {
            let got = with_isa_at_most(isa, || multiply(&matrix, &x, &bias, Write::Assign, 9.0));
            let got: Vec<f64> = got.into_iter().map(f64::from).collect();
            let want: Vec<f64> = naive(&matrix, &x, &bias).into_iter().map(|v| f64::from(v as f32)).collect();
            assert_eq!(got, want, "{d_in}x{d_out} {isa:?}");
        }
    }
}

#[test]
fn the_extreme_codes_do_not_saturate_on_any_instruction_set() {
    let d_in = 1024;
    for sign in [1.0, -1.0] {
        let mut matrix = Matrix::zeros(Precision::Int8, 3, d_in);
        (0..3).for_each(|row| matrix.set_row(row, &vec![sign; d_in]));
        for isa in ISAS.iter().copied() {
            let got = with_isa_at_most(isa, || multiply(&matrix, &vec![1.0; d_in], &[0.0; 3], Write::Assign, 0.0));
            assert!(got.iter().all(|&v| (v - sign * 1024.0).abs() < 0.01), "{isa:?}: {got:?}");
        }
    }
}

#[test]
fn every_instruction_set_computes_the_same_integers() {
    for (d_out, d_in) in SHAPES.iter().copied() {
        let (matrix, bias) = (packed(Precision::Int8, d_out, d_in), numbers(d_out, 6));
        for rows in ROWS.iter().copied() {
            let x = numbers(rows * d_in, 7);
            let on = |isa| with_isa_at_most(isa, || multiply(&matrix, &x, &bias, Write::Add, 0.5));
            for isa in ISAS.iter().copied() {
                assert_eq!(on(Isa::Portable), on(isa), "{rows}x{d_in}x{d_out} {isa:?}");
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "long where instructions are interpreted")]
fn a_quantised_product_is_near_the_true_one() {
    let (matrix, bias) = (packed(Precision::Int8, 70, 512), vec![0.0; 70]);
    let x = numbers(9 * 512, 8);
    let got = multiply(&matrix, &x, &bias, Write::Assign, 0.0);
    let root_mean = |v: f64| (v / got.len() as f64).sqrt();
    let want = naive(&packed(Precision::F32, 70, 512), &x, &bias);
    let error = root_mean(got.iter().zip(&want).map(|(g, w)| (f64::from(*g) - w).powi(2)).sum());
    let size = root_mean(want.iter().map(|w| w * w).sum());
    assert!(error < 0.01 * size, "{error} beside {size}");
}

#[test]
#[cfg_attr(miri, ignore = "long where instructions are interpreted")]
fn a_row_does_not_depend_on_how_many_there_are() {
    for precision in [Precision::F32, Precision::Int8] {
        let (matrix, bias) = (packed(precision, 130, 300), numbers(130, 9));
        let x = numbers(70 * 300, 10);
        for isa in ISAS.iter().copied() {
            with_isa_at_most(isa, || {
                let singles: Vec<f32> =
                    x.chunks_exact(300).flat_map(|x| multiply(&matrix, x, &bias, Write::Assign, 0.0)).collect();
                for rows in 1..=70 {
                    let got = multiply(&matrix, &x[..rows * 300], &bias, Write::Assign, 0.0);
                    assert!(got == singles[..rows * 130], "{rows} rows, {precision:?}, {isa:?}");
                }
            });
        }
    }
}

#[test]
fn a_product_can_rectify_or_be_added() {
    for precision in [Precision::F32, Precision::Int8] {
        let (matrix, bias) = (packed(precision, 67, 20), numbers(67, 11));
        let x = numbers(3 * 20, 12);
        let plain = multiply(&matrix, &x, &bias, Write::Assign, 7.0);
        let rectified: Vec<f32> = plain.iter().map(|v| v.max(0.0)).collect();
        let added: Vec<f32> = plain.iter().map(|v| v + 7.0).collect();
        assert_eq!(multiply(&matrix, &x, &bias, Write::Relu, 7.0), rectified);
        assert_eq!(multiply(&matrix, &x, &bias, Write::Add, 7.0), added);
    }
}

#[test]
fn rows_of_zeros_and_of_next_to_nothing_quantise_to_zeros() {
    let matrix = packed(Precision::Int8, 5, 9);
    for value in [0.0, 1e-42] {
        assert_eq!(multiply(&matrix, &[value; 9], &[0.5; 5], Write::Assign, 0.0), [0.5; 5]);
    }
}

#[test]
fn a_row_of_weights_comes_back() {
    let values = numbers(70 * 9, 1);
    let f32 = packed(Precision::F32, 70, 9);
    let mut row = [0.0; 9];
    f32.copy_row(66, &mut row);
    assert_eq!(row, values[66 * 9..67 * 9]);
    packed(Precision::Int8, 70, 9).copy_row(66, &mut row);
    assert!(row.iter().zip(&values[66 * 9..]).all(|(a, b)| (a - b).abs() <= 0.5 / 127.0 + 1e-6));
}

#[test]
fn gathered_outputs_and_rows_compute_what_they_do_among_the_others() {
    for (d_out, d_in) in SHAPES.iter().copied() {
        for precision in [Precision::F32, Precision::Int8] {
            let matrix = packed(precision, d_out, d_in);
            let picks: Vec<u32> = (0..2 * d_out).map(|i| (i * 37 % d_out) as u32).collect();
            let gathered = matrix.gather(&picks);
            let mut x = Activations::new(precision);
            x.set(&numbers(7 * d_in, 3), d_in);
            let mut some = Activations::new(precision);
            some.set_rows(&x, 2..5);
            let (mut whole, mut part) = (vec![0.0; 7 * d_out], vec![0.0; 3 * picks.len()]);
            product(&x, &matrix, &vec![0.0; d_out], Write::Assign, &mut whole);
            product(&some, &gathered, &vec![0.0; picks.len()], Write::Assign, &mut part);
            for (whole, part) in whole.chunks_exact(d_out).skip(2).zip(part.chunks_exact(picks.len())) {
                let want: Vec<f32> = picks.iter().map(|&pick| whole[pick as usize]).collect();
                assert_eq!(part, want, "{d_out} of {d_in}, {precision:?}");
            }
        }
    }
    assert_eq!(packed(Precision::Int8, 5, 9).gather(&[]).d_out(), 0);
}

#[test]
fn the_best_tokens_are_those_of_a_sorted_softmax() {
    for (vocab, k) in [(1, 1), (5, 8), (64, 3), (65, 65), (1000, 8)] {
        let (matrix, x) = (packed(Precision::F32, vocab, 33), numbers(7 * 33, 13));
        let logits = naive(&matrix, &x, &vec![0.0; vocab]);
        for isa in ISAS.iter().copied() {
            let mut activations = Activations::new(Precision::F32);
            activations.set(&x, 33);
            let mut top = TopK::default();
            with_isa_at_most(isa, || top.find(&activations, &matrix, k));
            for (row, logits) in logits.chunks_exact(vocab).enumerate() {
                let log_sum = logits.iter().map(|v| v.exp()).sum::<f64>().ln();
                let mut order: Vec<usize> = (0..vocab).collect();
                order.sort_by(|&a, &b| logits[b].total_cmp(&logits[a]));
                let got: Vec<(u32, f32)> = top.row(row).collect();
                assert_eq!(got.len(), k.min(vocab));
                for ((class, log_prob), want) in got.into_iter().zip(order) {
                    assert_eq!(class as usize, want, "{vocab} classes, {isa:?}");
                    assert!((f64::from(log_prob) - (logits[want] - log_sum)).abs() < 1e-5);
                }
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "long where instructions are interpreted")]
fn a_given_class_has_the_log_probability_that_a_search_gives_it_to_the_bit() {
    for (vocab, k) in [(1, 1), (64, 64), (65, 3), (1000, 8), (1000, 1000)] {
        for precision in [Precision::F32, Precision::Int8] {
            let matrix = packed(precision, vocab, 33);
            let mut x = Activations::new(precision);
            x.set(&numbers(7 * 33, 13), 33);
            for isa in ISAS.iter().copied() {
                let (mut top, mut given) = (TopK::default(), GivenClass::default());
                with_isa_at_most(isa, || top.find(&x, &matrix, k));
                for rank in 0..k {
                    let row = |row| top.row(row).nth(rank).unwrap();
                    let (classes, want): (Vec<u32>, Vec<f32>) = (0..7).map(row).unzip();
                    with_isa_at_most(isa, || given.find(&x, &matrix, &classes));
                    assert_eq!(given.log_probs().collect::<Vec<_>>(), want, "rank {rank} of {vocab} classes, {isa:?}");
                }
            }
        }
    }
}

#[test]
fn of_equal_tokens_the_lower_comes_first() {
    let mut matrix = Matrix::zeros(Precision::F32, 200, 1);
    for class in [190, 70, 69, 3] {
        matrix.set_row(class, &[1.0]);
    }
    let mut x = Activations::new(Precision::F32);
    x.set(&[2.0], 1);
    let mut top = TopK::default();
    top.find(&x, &matrix, 6);
    assert_eq!(top.row(0).map(|(class, _)| class).collect::<Vec<_>>(), [3, 69, 70, 190, 0, 1]);
}

#[test]
fn a_softmax_of_distant_logits_neither_overflows_nor_vanishes() {
    // Ascending logits move the reference with every panel.
    let mut matrix = Matrix::zeros(Precision::F32, 300, 1);
    (0..300).for_each(|class| matrix.set_row(class, &[class as f32]));
    let mut x = Activations::new(Precision::F32);
    x.set(&[5.0, -5.0], 1);
    let mut top = TopK::default();
    top.find(&x, &matrix, 2);
    for (row, classes) in [(0, [299, 298]), (1, [0, 1])] {
        let got: Vec<(u32, f32)> = top.row(row).collect();
        assert_eq!([got[0].0, got[1].0], classes);
        assert!((got[0].1 + 0.006_760_7).abs() < 1e-5 && (got[1].1 + 5.006_760_7).abs() < 1e-4, "{got:?}");
    }
}

#[test]
#[should_panic(expected = "different precisions")]
fn a_product_of_mixed_precisions_is_refused() {
    let mut x = Activations::new(Precision::F32);
    x.set(&[1.0], 1);
    product(&x, &Matrix::zeros(Precision::Int8, 1, 1), &[0.0], Write::Assign, &mut [0.0]);
}
