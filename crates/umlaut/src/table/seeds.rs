//! Systems that were trained from several seeds, by their kept translations.

use anyhow::{Context, Result};
use umlaut_ledger::{Metric, Seeds, Trained, checksum};
use umlaut_metrics::Statistics;
use umlaut_text::corpus::read_lines;

use super::report::{OutputSum, SeedsStep, SeedsTable, TrainedTable};
use super::text::{Found, sha256};
use super::{Workplace, length, score};

/// The comparison on its test set, over all lines and by their length.
///
/// # Errors
/// If a translation cannot be read or is not one of the test set.
pub(super) fn table(workplace: &Workplace, seeds: &Seeds, metric: Metric, found: &Found) -> Result<SeedsTable> {
    let (system, of_system) = read(workplace, &seeds.system)?;
    let (baseline, of_baseline) = read(workplace, &seeds.baseline)?;
    let mut steps = Vec::new();
    if let Some(texts) = found.texts() {
        let statistics = |outputs: &[Vec<String>]| -> Result<Vec<Statistics>> {
            outputs.iter().map(|output| score::statistics(metric, output, &texts.reference)).collect()
        };
        let [system, baseline] = [statistics(&of_system)?, statistics(&of_baseline)?];
        let all = ("all".to_owned(), (0..texts.source.len()).collect());
        for (words, lines) in [all].into_iter().chain(length::buckets(&texts.source)) {
            let select = |runs: &[Statistics]| runs.iter().map(|run| run.select(&lines)).collect::<Vec<_>>();
            let comparison = workplace.judge.seeds(metric, &select(&system), &select(&baseline))?;
            steps.push(SeedsStep { words, lines: lines.len(), comparison });
        }
    }
    let (title, test_set) = (seeds.title.clone(), seeds.test_set.clone());
    let missing = found.missing().map(str::to_owned);
    Ok(SeedsTable { title, test_set, metric, system, baseline, missing, steps })
}

/// A system and its translations.
fn read(workplace: &Workplace, trained: &Trained) -> Result<(TrainedTable, Vec<Vec<String>>)> {
    let Trained { name, recipe, outputs } = trained;
    let path = workplace.root.join("recipes").join(recipe);
    let recipe_sha256 = checksum::of_file(&path).with_context(|| path.display().to_string())?;
    let lines = outputs.iter().map(|output| Ok(read_lines(workplace.root.join("eval").join(output))?));
    let lines = lines.collect::<Result<Vec<_>>>()?;
    let sums = outputs.iter().zip(&lines);
    let sums = sums.map(|(output, lines)| OutputSum { file: output.display().to_string(), sha256: sha256(lines) });
    let (name, outputs) = (name.clone(), sums.collect());
    Ok((TrainedTable { name, recipe: recipe.clone(), recipe_sha256, outputs }, lines))
}
