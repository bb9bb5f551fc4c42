//! Two systems over several seeds: the comparison, seed by seed, and where it comes from.

use umlaut_metrics::{Range, Runs};

use super::super::block::{Align, Block, Cell, Curve, Curves, Grid};
use super::super::plot::number;
use super::super::report::{SeedsTable, TrainedTable};

/// The blocks of a comparison.
pub(super) fn blocks(table: &SeedsTable) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(table.title.clone())];
    let SeedsTable { system, baseline, metric, test_set, .. } = table;
    if let Some(missing) = &table.missing {
        blocks.push(Block::Paragraph(format!("Not scored ({missing}).")));
        return blocks;
    }
    blocks.push(Block::Paragraph(format!(
        "{} on {test_set}: mean ± standard deviation of {} seeds each. Over seeds: Student's interval of 95 % and t-test \
         of the paired differences. Over lines: the central 95 % of bootstrap samples of the difference of the means, and \
         the paired bootstrap. p is not corrected for the number of tests. Words are what white space separates in the \
         source.",
        metric.label(),
        system.outputs.len(),
    )));
    blocks.push(Block::Grid(comparison(table)));
    blocks.push(Block::Grid(seed_by_seed(table)));
    blocks.push(Block::Curves(curves(table)));
    blocks.push(Block::Grid(checksums([system, baseline])));
    blocks
}

fn comparison(table: &SeedsTable) -> Grid {
    let right = |name: &str| (name.to_owned(), Align::Right);
    let mut grid = Grid::new([
        ("words of the source".to_owned(), Align::Left),
        right("lines"),
        right(&table.system.name),
        right(&table.baseline.name),
        right("difference"),
        right("over seeds"),
        right("p"),
        right("over lines"),
        right("p"),
    ]);
    for step in &table.steps {
        let found = &step.comparison;
        let runs = |runs: &Runs| Cell::Text(number(runs.mean, Some(runs.deviation)));
        let range = |range: Range| Cell::Text(format!("{:+.2} to {:+.2}", range.low, range.high));
        let p_value = |range: Range| Cell::Text(format!("{:.4}", range.p_value));
        grid.rows.push(vec![
            Cell::text(&step.words),
            Cell::text(step.lines.to_string()),
            runs(&found.system),
            runs(&found.baseline),
            Cell::Text(format!("{:+.2}", found.difference)),
            range(found.over_seeds),
            p_value(found.over_seeds),
            range(found.over_lines),
            p_value(found.over_lines),
        ]);
    }
    grid
}

/// The scores of all lines.
fn seed_by_seed(table: &SeedsTable) -> Grid {
    let SeedsTable { system, baseline, steps, .. } = table;
    let head = [system, baseline].map(|trained| (trained.name.clone(), Align::Right));
    let first = [("seed".to_owned(), Align::Left)];
    let last = [("difference".to_owned(), Align::Right)];
    let mut grid = Grid::new(first.into_iter().chain(head).chain(last));
    let scores = steps.iter().take(1).flat_map(|all| {
        let [system, baseline] = [&all.comparison.system, &all.comparison.baseline].map(|runs| &runs.scores);
        system.iter().zip(baseline)
    });
    for (seed, (system, baseline)) in scores.enumerate() {
        let difference = format!("{:+.2}", system - baseline);
        let scores = [system, baseline].map(|score| number(*score, None));
        let cells = [(seed + 1).to_string()].into_iter().chain(scores).chain([difference]);
        grid.rows.push(cells.map(Cell::Text).collect());
    }
    grid
}

fn curves(table: &SeedsTable) -> Curves {
    let steps = || table.steps.iter().skip(1);
    let curve = |trained: &TrainedTable, runs: Vec<&Runs>| Curve {
        label: trained.name.clone(),
        points: runs.iter().map(|runs| Some((runs.mean, runs.deviation))).collect(),
    };
    let system = curve(&table.system, steps().map(|step| &step.comparison.system).collect());
    let baseline = curve(&table.baseline, steps().map(|step| &step.comparison.baseline).collect());
    Curves {
        title: format!("{} on {} by length", table.metric.label(), table.test_set),
        axis: "words of the source".to_owned(),
        ticks: steps().map(|step| step.words.clone()).collect(),
        lines: vec![system, baseline],
    }
}

fn checksums(systems: [&TrainedTable; 2]) -> Grid {
    let mut grid = Grid::new([("file", Align::Left), ("SHA-256", Align::Left)]);
    for trained in systems {
        let recipe = format!("recipes/{}", trained.recipe.display());
        grid.rows.push(vec![Cell::Code(recipe), Cell::code(&trained.recipe_sha256)]);
        let outputs = trained.outputs.iter().map(|output| vec![Cell::code(&output.file), Cell::code(&output.sha256)]);
        grid.rows.extend(outputs);
    }
    grid
}
