//! Measures products with packed weights: `products [portable|avx2|avxvnni|avx512|amx]`.
//!
//! For each shape the shortest of many runs counts, so that other work on the machine does not.

use std::time::Instant;

use umlaut_kernels::inference::{Activations, Isa, Matrix, Precision, TopK, Write, product, with_isa_at_most};

fn main() {
    let isa = match std::env::args().nth(1).as_deref() {
        Some("portable") => Isa::Portable,
        Some("avx2") => Isa::Avx2,
        Some("avxvnni") => Isa::AvxVnni,
        Some("avx512") => Isa::Avx512,
        _ => Isa::Amx,
    };
    println!(
        "giga-operations a second on one thread ({:?}), a multiply-add being two",
        with_isa_at_most(isa, Isa::best)
    );
    println!("{:>9} {:>7} {:>6} {:>6} {:>6} {:>6} {:>6} {:>6}", "", "", "1", "4", "16", "64", "128", "256 rows");
    for precision in [Precision::F32, Precision::Int8] {
        for (d_out, d_in) in [(512, 512), (2048, 512), (512, 2048), (1024, 256)] {
            print(precision, d_out, d_in, isa, false);
        }
        print(precision, 37_000, 512, isa, true);
    }
}

fn print(precision: Precision, d_out: usize, d_in: usize, isa: Isa, is_search: bool) {
    let mut matrix = Matrix::zeros(precision, d_out, d_in);
    let numbers = |n: usize| (0..n).map(|i| (i * 7919 % 2003) as f32 / 1000.0 - 1.0).collect::<Vec<f32>>();
    let row = numbers(d_in + 97);
    for i in 0..d_out {
        matrix.set_row(i, &row[i % 97..][..d_in]);
    }
    let figures: Vec<String> = [1, 4, 16, 64, 128, 256]
        .into_iter()
        .map(|rows| {
            let mut x = Activations::new(precision);
            x.set(&numbers(rows * d_in), d_in);
            let (bias, mut out, mut top) = (vec![0.0; d_out], vec![0.0; rows * d_out], TopK::default());
            let run = || {
                if is_search { top.find(&x, &matrix, 8) } else { product(&x, &matrix, &bias, Write::Assign, &mut out) }
            };
            let seconds = with_isa_at_most(isa, || shortest(run));
            format!("{:>6.0}", 2e-9 * (rows * d_out * d_in) as f64 / seconds)
        })
        .collect();
    let name = if is_search { "top 8 of" } else { "" };
    println!("{name:>9} {d_out:>5}x{d_in:<4} {} {precision:?}", figures.join(" "));
}

fn shortest(mut run: impl FnMut()) -> f64 {
    let start = Instant::now();
    let mut best = f64::INFINITY;
    while start.elapsed().as_secs_f64() < 0.4 {
        let start = Instant::now();
        run();
        best = best.min(start.elapsed().as_secs_f64());
    }
    best
}
