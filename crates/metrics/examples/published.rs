//! Scores published system outputs and compares with the figures published for them.
//!
//! `cargo run --release -p umlaut-metrics --example published -- FOLDER`, where FOLDER holds `published.tsv`, with the columns
//! system, `bleu_13a`, `chrf_plain` and `chrf_pp`, some of them empty; the reference `newstest2017.ref.de`; and the
//! outputs `newstest2017.SYSTEM.en-de.de`. Exits with 1 if a figure differs, and skips with a word if there is no FOLDER.

use std::error::Error;
use std::fs;
use std::path::Path;
use std::process::ExitCode;

use umlaut_metrics::{Averaging, Bleu, Chrf, Corpus, Metric, Tokenizer};

/// BLEU of LIUM-NMT with the tokenizer `intl`, from sacreBLEU's own documentation.
const LIUM_INTL: &str = "26.89";

fn main() -> Result<ExitCode, Box<dyn Error>> {
    let folder = std::env::args().nth(1).unwrap_or_else(|| "../shared/data/scoring/wmt17-en-de".to_owned());
    let folder = Path::new(&folder);
    let Ok(table) = fs::read_to_string(folder.join("published.tsv")) else {
        println!("skipped: no published.tsv in {}", folder.display());
        return Ok(ExitCode::SUCCESS);
    };
    let references = lines(&folder.join("newstest2017.ref.de"))?;
    let mut all_agree = true;
    for row in table.lines().skip(1) {
        let (system, published) = row.split_once('\t').ok_or("published.tsv: a row without columns")?;
        let hypotheses = lines(&folder.join(format!("newstest2017.{system}.en-de.de")))?;
        let corpus = Corpus::new(&hypotheses, &[&references])?;
        for (metric, figure) in checks(system, published) {
            all_agree &= agrees(system, &metric, &corpus, figure)?;
        }
    }
    Ok(if all_agree { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// The metrics that `system` has published figures for.
fn checks<'a>(system: &str, published: &'a str) -> Vec<(Metric, &'a str)> {
    let metrics = [
        Metric::Bleu(Bleu::default()),
        Metric::Chrf(Chrf::default()),
        Metric::Chrf(Chrf { averaging: Averaging::EveryOrder, ..Chrf::plus_plus() }),
    ];
    let mut checks: Vec<_> = metrics.into_iter().zip(published.split('\t')).filter(|(_, f)| !f.is_empty()).collect();
    if system.starts_with("LIUM-NMT") {
        checks.push((Metric::Bleu(Bleu { tokenizer: Tokenizer::Intl, ..Bleu::default() }), LIUM_INTL));
    }
    checks
}

/// Prints the score of `corpus` beside its published `figure`, and says whether they agree to its last decimal.
fn agrees(system: &str, metric: &Metric, corpus: &Corpus<'_>, figure: &str) -> Result<bool, Box<dyn Error>> {
    let decimals = figure.split('.').nth(1).map_or(0, str::len);
    let score = metric.score(corpus)?;
    let ours = format!("{:.decimals$}", score.score);
    let verdict = if ours == figure { "equal" } else { "DIFFERENT" };
    println!("{system}\t{}\tpublished {figure}\tours {ours}\t{verdict}\t{}", score.name, score.signature);
    Ok(ours == figure)
}

fn lines(path: &Path) -> Result<Vec<String>, Box<dyn Error>> {
    let text = fs::read_to_string(path).map_err(|error| format!("{}: {error}", path.display()))?;
    Ok(text.lines().map(str::to_owned).collect())
}
