//! Measures the engine on a fixed amount of work: every sentence of a file gets exactly as many tokens as asked for.
//!
//! ```text
//! fixed_work MODEL_DIRECTORY SENTENCES [--int8] [--workers 2] [--rows 256] [--tokens 27] [--beam 4] [--first 300]
//!            [--isa portable|avx2|avxvnni|avx512|amx] [--print]
//! ```
//!
//! `SENTENCES` has one source a line, as token ids; EOS is added here. Each worker is a thread with batches of its own of
//! at most `--rows` decoder rows. Prints sentences and target tokens a second, CPU seconds, and the peak of memory; with
//! `--print` also each line's score and tokens on stdout.
#![expect(clippy::unwrap_used, reason = "a measurement stops at the first surprise")]

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use umlaut_engine::{Engine, Isa, Precision, with_isa_at_most};
use umlaut_search::{BeamOptions, Hypothesis, LengthPenalty, TokenId, beam_search};

struct Options {
    model: PathBuf,
    sentences: PathBuf,
    precision: Precision,
    isa: Isa,
    workers: usize,
    rows: usize,
    tokens: usize,
    beam: usize,
    first: usize,
    prints: bool,
}

fn main() {
    let options = Options::from_arguments();
    let mut sources = read_sources(&options.sentences);
    sources.truncate(options.first);
    let start = Instant::now();
    let engine = Engine::open(&options.model, options.precision).unwrap_or_else(|error| panic!("{error}"));
    let load_seconds = start.elapsed().as_secs_f64();
    // Memory and processor as they are after the first moments, which the peers' scripts do not count either.
    decode(&engine, &sources[..sources.len().min(4)], &options);
    let (start, cpu) = (Instant::now(), cpu_seconds());
    let hypotheses = decode(&engine, &sources, &options);
    let (seconds, cpu) = (start.elapsed().as_secs_f64(), cpu_seconds() - cpu);
    if options.prints {
        for hypothesis in &hypotheses {
            let tokens: Vec<String> = hypothesis.tokens.iter().map(|token| token.0.to_string()).collect();
            println!("{:.6}\t{}", hypothesis.score, tokens.join(" "));
        }
    }
    let tokens: usize = hypotheses.iter().map(|hypothesis| hypothesis.tokens.len()).sum();
    eprintln!(
        "{seconds:.3} s, {:.1} sentences/s, {:.0} target tokens/s, {cpu:.3} CPU s, loaded in {load_seconds:.3} s, peak {:.0} MB",
        sources.len() as f64 / seconds,
        tokens as f64 / seconds,
        peak_megabytes()
    );
}

impl Options {
    fn from_arguments() -> Self {
        let mut arguments = std::env::args().skip(1);
        let mut path = || PathBuf::from(arguments.next().expect("MODEL_DIRECTORY SENTENCES"));
        let mut options = Self {
            model: path(),
            sentences: path(),
            precision: Precision::F32,
            isa: Isa::Amx,
            workers: 1,
            rows: 256,
            tokens: 27,
            beam: 4,
            first: usize::MAX,
            prints: false,
        };
        while let Some(name) = arguments.next() {
            let mut value = || arguments.next().unwrap_or_else(|| panic!("{name} needs a value"));
            let number = |value: String| value.parse().unwrap_or_else(|_| panic!("{value} is no number"));
            match name.as_str() {
                "--int8" => options.precision = Precision::Int8,
                "--print" => options.prints = true,
                "--isa" => options.isa = isa(&value()),
                "--workers" => options.workers = number(value()),
                "--rows" => options.rows = number(value()),
                "--tokens" => options.tokens = number(value()),
                "--beam" => options.beam = number(value()),
                "--first" => options.first = number(value()),
                _ => panic!("{name} is no option"),
            }
        }
        options
    }
}

fn isa(name: &str) -> Isa {
    match name {
        "portable" => Isa::Portable,
        "avx2" => Isa::Avx2,
        "avxvnni" => Isa::AvxVnni,
        "avx512" => Isa::Avx512,
        _ => Isa::Amx,
    }
}

fn read_sources(path: &Path) -> Vec<Vec<TokenId>> {
    let text = std::fs::read_to_string(path).unwrap();
    let ids = |line: &str| line.split_whitespace().map(|id| TokenId(id.parse().unwrap())).chain([TokenId(2)]).collect();
    text.lines().map(ids).collect()
}

/// The best hypothesis of each source, in order; workers take batches of sources of similar length, longest first.
fn decode(engine: &Engine, sources: &[Vec<TokenId>], options: &Options) -> Vec<Hypothesis> {
    let mut order: Vec<usize> = (0..sources.len()).collect();
    order.sort_by_key(|&i| std::cmp::Reverse(sources[i].len()));
    // Batches of equal size, so that no worker is left alone with a great last one.
    let batches = sources.len().div_ceil((options.rows / options.beam).max(1)).next_multiple_of(options.workers);
    let batches: Vec<&[usize]> = order.chunks(sources.len().div_ceil(batches)).collect();
    let (next, results) = (AtomicUsize::new(0), Mutex::new(vec![None; sources.len()]));
    std::thread::scope(|scope| {
        for _ in 0..options.workers {
            scope.spawn(|| {
                while let Some(&batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let found = with_isa_at_most(options.isa, || decode_batch(engine, sources, batch, options));
                    let mut results = results.lock().unwrap();
                    batch.iter().zip(found).for_each(|(&i, hypothesis)| results[i] = Some(hypothesis));
                }
            });
        }
    });
    results.into_inner().unwrap().into_iter().map(Option::unwrap).collect()
}

fn decode_batch(engine: &Engine, sources: &[Vec<TokenId>], batch: &[usize], options: &Options) -> Vec<Hypothesis> {
    let sources: Vec<&[TokenId]> = batch.iter().map(|&i| sources[i].as_slice()).collect();
    let beam = BeamOptions {
        width: options.beam,
        length_penalty: LengthPenalty::Length { alpha: 0.6 },
        min_len: options.tokens,
        forbidden: Vec::new(),
        ..BeamOptions::new(TokenId(1), TokenId(2))
    };
    let mut decoder = engine.decoder(&sources).unwrap_or_else(|error| panic!("{error}"));
    let found = beam_search(&mut decoder, &vec![options.tokens; sources.len()], &beam).unwrap();
    found.into_iter().map(|mut hypotheses| hypotheses.swap_remove(0)).collect()
}

/// CPU time of the process, from Linux's `/proc`; 0 elsewhere.
fn cpu_seconds() -> f64 {
    let Ok(stat) = std::fs::read_to_string("/proc/self/stat") else { return 0.0 };
    let ticks = stat.rsplit(')').next().unwrap_or("").split_whitespace().skip(11).take(2);
    ticks.map(|ticks| ticks.parse().unwrap_or(0.0)).sum::<f64>() / 100.0
}

/// The greatest resident set so far, from Linux's `/proc`; 0 elsewhere.
fn peak_megabytes() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    peak.and_then(|peak| peak.trim().trim_end_matches(" kB").parse().ok()).unwrap_or(0.0) / 1024.0
}
