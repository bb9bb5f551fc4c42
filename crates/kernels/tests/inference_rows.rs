//! Normalisation, rotation and attention: against plain formulas, on every instruction set, row by row.
#![expect(clippy::float_cmp, reason = "results are to agree to the bit")]

use umlaut_kernels::inference::{
    HeadShape, Isa, KeyValues, Norm, Precision, RotaryTable, SlotCache, normalise, rotate, with_isa_at_most,
};

/// Miri knows the portable path alone.
const ISAS: &[Isa] =
    if cfg!(miri) { &[Isa::Portable] } else { &[Isa::Portable, Isa::Avx2, Isa::AvxVnni, Isa::Avx512, Isa::Amx] };

fn numbers(n: usize, seed: u32) -> Vec<f32> {
    let hash = |i: u32| (i.wrapping_mul(2_654_435_761) ^ seed.wrapping_mul(40_503)).wrapping_mul(2_246_822_519) >> 8;
    (0..n as u32).map(|i| hash(i + 1) as f32 / (1 << 23) as f32 - 1.0).collect()
}

fn assert_near(got: &[f32], want: &[f64], bound: f64) {
    assert_eq!(got.len(), want.len());
    for (i, (got, want)) in got.iter().zip(want).enumerate() {
        assert!((f64::from(*got) - want).abs() < bound, "{got} for {want} at {i}");
    }
}

#[test]
fn normalisation_is_its_formula() {
    for d in [1, 2, 7, 8, 16, 33, 512] {
        let (gain, bias, x) = (numbers(d, 1), numbers(d, 2), numbers(3 * d, 3));
        let mut want = Vec::new();
        for row in x.chunks_exact(d) {
            let mean = row.iter().map(|&x| f64::from(x)).sum::<f64>() / d as f64;
            let variance = row.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / d as f64;
            let unit = |x: f32| (f64::from(x) - mean) / (variance + 1e-5).sqrt();
            want.extend((0..d).map(|i| unit(row[i]) * f64::from(gain[i]) + f64::from(bias[i])));
        }
        let norm = Norm::new(gain, bias, 1e-5);
        for isa in ISAS.iter().copied() {
            let mut got = x.clone();
            with_isa_at_most(isa, || normalise(&mut got, &norm));
            assert_near(&got, &want, 1e-5);
        }
    }
}

#[test]
fn rotation_is_half_split() {
    let mut table = RotaryTable::new(4, 10000.0);
    table.extend_to(2);
    for isa in ISAS.iter().copied() {
        let mut x = [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0];
        with_isa_at_most(isa, || rotate(&table, 0, &mut x));
        assert_eq!(x, [1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
        with_isa_at_most(isa, || rotate(&table, 1, &mut x));
        let want = [-1.98411, 1.9599, 2.46238, 4.0198];
        assert_near(&x, &[want, want].concat(), 1e-5);
    }
}

#[test]
fn rotated_products_depend_on_the_distance_alone() {
    let mut table = RotaryTable::new(4, 10000.0);
    table.extend_to(10);
    let at = |position, x: [f32; 4]| {
        let mut x = x;
        rotate(&table, position, &mut x);
        x
    };
    for (query, key) in [(2, 0), (9, 7)] {
        let (q, k) = (at(query, [1.0, 2.0, 3.0, 4.0]), at(key, [0.5, -1.0, 2.0, 0.25]));
        let product: f32 = q.iter().zip(k).map(|(q, k)| q * k).sum();
        assert!((product + 3.160).abs() < 1e-3, "{product}");
    }
}

/// Attention of one query over rows of keys and values, by its formula.
fn naive(query: &[f32], keys: &[&[f32]], values: &[&[f32]], shape: HeadShape) -> Vec<f64> {
    let mut out = vec![0.0; shape.d_model()];
    for head in 0..shape.n_heads {
        let range = head * shape.d_head..(head + 1) * shape.d_head;
        let score = |key: &[f32]| {
            let products = query[range.clone()].iter().zip(&key[range.clone()]);
            (products.map(|(&q, &k)| f64::from(q) * f64::from(k)).sum::<f64>() / (shape.d_head as f64).sqrt()).exp()
        };
        let total: f64 = keys.iter().map(|key| score(key)).sum();
        for (key, value) in keys.iter().zip(values) {
            let weight = score(key) / total;
            for i in range.clone() {
                out[i] += weight * f64::from(value[i]);
            }
        }
    }
    out
}

const SHAPES: &[HeadShape] = if cfg!(miri) {
    &[HeadShape { n_heads: 2, d_head: 9 }, HeadShape { n_heads: 1, d_head: 18 }]
} else {
    &[
        HeadShape { n_heads: 1, d_head: 2 },
        HeadShape { n_heads: 2, d_head: 9 },
        HeadShape { n_heads: 3, d_head: 64 },
        HeadShape { n_heads: 1, d_head: 80 },
    ]
};

#[test]
fn attention_over_a_sentence_is_its_formula_row_by_row() {
    for shape in SHAPES.iter().copied() {
        let (d_model, stride) = (shape.d_model(), 3 * shape.d_model());
        let lengths: &[usize] = if cfg!(miri) { &[1, 17] } else { &[1, 5, 16, 17, 40] };
        for len in lengths.iter().copied() {
            let rows = numbers(len * stride, len as u32);
            let keep = |precision| KeyValues::new(precision, shape, &rows, stride, d_model, 2 * d_model);
            let part = |which: usize| -> Vec<&[f32]> {
                rows.chunks_exact(stride).map(|row| &row[which * d_model..(which + 1) * d_model]).collect()
            };
            let want: Vec<Vec<f64>> = part(0).iter().map(|q| naive(q, &part(1), &part(2), shape)).collect();
            for isa in ISAS.iter().copied() {
                for (precision, bound) in [(Precision::F32, 1e-5), (Precision::Int8, 2e-2)] {
                    with_isa_at_most(isa, || {
                        let mut together = vec![0.0; len * d_model];
                        keep(precision).attend(&rows, stride, &mut together);
                        assert_near(&together, &want.concat(), bound);
                        let mut alone = vec![0.0; d_model];
                        keep(precision).attend(&rows[(len - 1) * stride..], stride, &mut alone);
                        assert_eq!(alone, together[(len - 1) * d_model..]);
                    });
                }
            }
        }
    }
}

#[test]
fn attention_over_paths_is_its_formula() {
    for shape in SHAPES.iter().copied() {
        let d_model = shape.d_model();
        let (keys, values, queries) = (numbers(9 * d_model, 1), numbers(9 * d_model, 2), numbers(2 * d_model, 3));
        let keep = |precision| {
            let mut cache = SlotCache::new(precision, shape);
            cache.extend_to(9);
            for slot in 0..9 {
                let range = slot * d_model..(slot + 1) * d_model;
                cache.set(slot, &keys[range.clone()], &values[range]);
            }
            cache
        };
        // Five slots: a whole group and one more.
        let paths: [u32; 10] = [8, 0, 3, 5, 1, 8, 0, 7, 2, 4];
        let at = |from: &'_ [f32], slot: u32| from[slot as usize * d_model..(slot as usize + 1) * d_model].to_vec();
        let want: Vec<f64> = (0..2)
            .flat_map(|row| {
                let path = &paths[row * 5..(row + 1) * 5];
                let (keys, values): (Vec<_>, Vec<_>) = path.iter().map(|&s| (at(&keys, s), at(&values, s))).unzip();
                let keys: Vec<&[f32]> = keys.iter().map(Vec::as_slice).collect();
                let values: Vec<&[f32]> = values.iter().map(Vec::as_slice).collect();
                naive(&queries[row * d_model..(row + 1) * d_model], &keys, &values, shape)
            })
            .collect();
        for isa in ISAS.iter().copied() {
            for (precision, bound) in [(Precision::F32, 1e-5), (Precision::Int8, 2e-2)] {
                let mut got = vec![0.0; 2 * d_model];
                with_isa_at_most(isa, || keep(precision).attend(&queries, d_model, &paths, 5, &mut got));
                assert_near(&got, &want, bound);
            }
        }
    }
}
