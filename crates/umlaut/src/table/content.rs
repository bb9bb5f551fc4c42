//! The document made of what was found: for each test set its rows, paired tests, lengths and checksums, then the studies and the
//! comparisons over seeds.

mod seeds;

use std::collections::BTreeMap;

use umlaut_ledger::{Metric, Published};

use super::block::{Align, Bar, Bars, Block, Cell, Curve, Curves, Grid, Origin};
use super::plot::number;
use super::report::{Figure, Pair, RowTable, SetTable, State, StudyParty, StudyStep, StudyTable, Table};

/// The document.
pub(crate) fn blocks(table: &Table) -> Vec<Block> {
    let mut blocks = vec![Block::Title("English-German figures".to_owned()), Block::Paragraph(preface(table))];
    table.test_sets.iter().for_each(|set| blocks.extend(blocks_of_set(set)));
    table.studies.iter().for_each(|study| blocks.extend(blocks_of_study(study)));
    table.seeds.iter().for_each(|table| blocks.extend(seeds::blocks(table)));
    blocks
}

fn preface(table: &Table) -> String {
    let Table { version, intervals, tests, .. } = table;
    let test = if tests.method == "ar" { "approximate randomisation" } else { "the paired bootstrap" };
    format!(
        "Made by {version} from eval/table.toml. Each column is a metric of its own: compare within a column. After ± \
         stands half the width of the 95 % interval of {} bootstrap samples, seed {}; figures without it were not \
         reached now. p is how often chance alone makes a larger difference, by {test} with {} samples, seed {}; it is \
         not corrected for the number of tests.",
        intervals.samples, intervals.seed, tests.samples, tests.seed
    )
}

fn blocks_of_set(set: &SetTable) -> Vec<Block> {
    let columns = columns(set);
    let missing = set.missing.as_ref().map(|what| format!(" Not at hand ({what}).")).unwrap_or_default();
    let lines = format!("{}: {} lines of each side.{missing}", set.name, set.lines);
    let mut blocks = vec![Block::Heading(set.title.clone()), Block::Paragraph(lines)];
    blocks.push(Block::Grid(figures(set, &columns)));
    blocks.extend(columns.iter().filter_map(|metric| bars(set, *metric)));
    if !set.pairs.is_empty() {
        blocks.push(Block::Grid(pairs(&set.pairs)));
    }
    if let Some(by_length) = &set.by_length {
        let figures: Vec<_> = by_length.buckets.iter().map(|bucket| (&bucket.words, &bucket.figures)).collect();
        let recipes: Vec<&str> = set.rows.iter().map(|row| row.recipe.as_str()).collect();
        let mut grid = grid_by("words of the source", &recipes, &figures);
        grid.head.insert(1, ("lines".to_owned(), Align::Right));
        for (row, bucket) in grid.rows.iter_mut().zip(&by_length.buckets) {
            row.insert(1, Cell::text(bucket.lines.to_string()));
        }
        let title = format!("{} on {} by length", by_length.metric.label(), set.title);
        blocks.push(Block::Paragraph(format!("{title}, words being what white space separates:")));
        blocks.push(Block::Grid(grid));
        blocks.push(Block::Curves(curves(title, "words of the source", &recipes, &figures)));
    }
    blocks.push(Block::Grid(signatures(set)));
    blocks.push(Block::Grid(checksums(set)));
    blocks
}

/// The metrics of our rows and of the published ones.
fn columns(set: &SetTable) -> Vec<Metric> {
    let published = set.published.iter().flat_map(|row| row.figures.keys());
    let mut columns: Vec<Metric> = set.metrics.iter().chain(published).copied().collect();
    columns.sort();
    columns.dedup();
    columns
}

fn figures(set: &SetTable, columns: &[Metric]) -> Grid {
    let head = columns.iter().map(|metric| (metric.label(), Align::Right));
    let mut grid = Grid::new([("system", Align::Left)].into_iter().chain(head).chain([("from", Align::Left)]));
    for Published { system, source, figures, .. } in &set.published {
        // As printed: a figure given to one decimal gains none here.
        let cell = |metric: &Metric| figures.get(metric).map_or_else(String::new, f64::to_string);
        grid.rows.push(row(system, columns.iter().map(cell), &format!("published: {source}")));
    }
    for ours in &set.rows {
        let cell = |metric: &Metric| ours.figures.get(metric).map_or_else(String::new, number_of);
        grid.rows.push(row(&ours.system, columns.iter().map(cell), &origin(ours)));
    }
    grid
}

fn row(first: &str, middle: impl Iterator<Item = String>, last: &str) -> Vec<Cell> {
    [Cell::text(first)].into_iter().chain(middle.map(Cell::Text)).chain([Cell::text(last)]).collect()
}

fn number_of(figure: &Figure) -> String {
    number(figure.score, figure.half_width)
}

/// Recipe and state of a row.
fn origin(row: &RowTable) -> String {
    let words = [in_words(&row.state, !row.figures.is_empty())];
    let words: Vec<String> = words.into_iter().chain(row.differences.iter().cloned()).collect();
    format!("{}, {}", row.recipe, words.join("; "))
}

fn in_words(state: &State, has_figures: bool) -> String {
    match state {
        State::Scored => "scored now".to_owned(),
        State::NotRun => "not run".to_owned(),
        State::Missing(what) if has_figures => format!("listed, not scored now ({what})"),
        State::Missing(what) => format!("not scored ({what})"),
    }
}

/// Every figure of a metric, if there is any.
fn bars(set: &SetTable, metric: Metric) -> Option<Block> {
    let published = set.published.iter().filter_map(|row| {
        let value = *row.figures.get(&metric)?;
        Some(Bar { label: row.system.clone(), value, half_width: None, origin: Origin::Published })
    });
    let ours = set.rows.iter().filter_map(|row| {
        let Figure { score, half_width, .. } = row.figures.get(&metric)?;
        let origin = if row.state == State::Scored { Origin::Ours } else { Origin::Listed };
        Some(Bar { label: row.system.clone(), value: *score, half_width: *half_width, origin })
    });
    let bars: Vec<Bar> = published.chain(ours).collect();
    let title = format!("{} on {}", metric.label(), set.title);
    (!bars.is_empty()).then_some(Block::Bars(Bars { title, bars }))
}

fn pairs(pairs: &[Pair]) -> Grid {
    let right = |name| (name, Align::Right);
    let left = |name| (name, Align::Left);
    let mut grid = Grid::new([
        left("paired test"),
        left("against"),
        left("metric"),
        right("difference"),
        right("p"),
        left("signature"),
    ]);
    for Pair { recipe, against, metric, comparison, signature } in pairs {
        let p = if comparison.difference == 0.0 { String::new() } else { format!("{:.4}", comparison.p_value) };
        grid.rows.push(vec![
            Cell::text(recipe),
            Cell::text(against),
            Cell::text(metric.label()),
            Cell::text(format!("{:+.2}", comparison.difference)),
            Cell::Text(p),
            Cell::code(signature),
        ]);
    }
    grid
}

/// Figures of recipes, a line for each of `steps`; recipes without any have no column.
fn grid_by(axis: &str, recipes: &[&str], steps: &[(&String, &BTreeMap<String, Figure>)]) -> Grid {
    let recipes = with_figures(recipes, steps);
    let head = recipes.iter().map(|recipe| (*recipe, Align::Right));
    let mut grid = Grid::new([(axis, Align::Left)].into_iter().chain(head));
    for (step, figures) in steps {
        let cells = recipes.iter().map(|recipe| figures.get(*recipe).map_or_else(String::new, number_of));
        grid.rows.push([Cell::text(*step)].into_iter().chain(cells.map(Cell::Text)).collect());
    }
    grid
}

fn curves(title: String, axis: &str, recipes: &[&str], steps: &[(&String, &BTreeMap<String, Figure>)]) -> Curves {
    let point = |figure: &Figure| (figure.score, figure.half_width.unwrap_or(0.0));
    let curve = |recipe: &str| Curve {
        label: recipe.to_owned(),
        points: steps.iter().map(|(_, figures)| figures.get(recipe).map(point)).collect(),
    };
    let ticks = steps.iter().map(|(step, _)| (*step).clone()).collect();
    let lines = with_figures(recipes, steps).into_iter().map(curve).collect();
    Curves { title, axis: axis.to_owned(), ticks, lines }
}

fn with_figures<'a>(recipes: &[&'a str], steps: &[(&String, &BTreeMap<String, Figure>)]) -> Vec<&'a str> {
    recipes.iter().copied().filter(|recipe| steps.iter().any(|(_, figures)| figures.contains_key(*recipe))).collect()
}

/// Every distinct signature, once.
fn signatures(set: &SetTable) -> Grid {
    let mut grid = Grid::new([("metric", Align::Left), ("signature", Align::Left)]);
    let figures = set.rows.iter().flat_map(|row| &row.figures);
    let mut distinct: Vec<_> = figures.map(|(metric, figure)| (*metric, figure.signature.as_str())).collect();
    distinct.sort_unstable();
    distinct.dedup();
    grid.rows.extend(distinct.iter().map(|(metric, text)| vec![Cell::text(metric.label()), Cell::code(*text)]));
    grid
}

fn checksums(set: &SetTable) -> Grid {
    let mut grid = Grid::new([("what", Align::Left), ("file", Align::Left), ("SHA-256", Align::Left)]);
    let mut add = |what: String, file: String, sum: &str| {
        grid.rows.push(vec![Cell::Text(what), Cell::Code(file), Cell::code(sum)]);
    };
    for (what, side) in [("source", &set.source), ("reference", &set.reference)] {
        add(what.to_owned(), side.file.display().to_string(), &side.sha256);
    }
    for row in &set.rows {
        if let Some(output) = &row.output {
            add(format!("output of {}", row.recipe), output.file.clone(), &output.sha256);
        }
        if let Some(model) = &row.model {
            add(
                format!("model of {} (its list of sums)", row.recipe),
                model.directory.display().to_string(),
                &model.sha256,
            );
        }
        if let Some(sum) = &row.recipe_sha256 {
            add("recipe".to_owned(), format!("recipes/{}/recipe.toml", row.recipe), sum);
        }
    }
    grid
}

fn blocks_of_study(study: &StudyTable) -> Vec<Block> {
    let mut blocks = vec![Block::Heading(study.title.clone())];
    let state = |party: &StudyParty| format!("{} ({}): {}", party.system, party.recipe, in_words(&party.state, false));
    let parties: Vec<String> = study.parties.iter().map(state).collect();
    blocks.push(Block::Paragraph(format!("{}.", parties.join("; "))));
    if study.steps.is_empty() {
        return blocks;
    }
    let metric = study.metric.label();
    blocks.push(Block::Paragraph(format!(
        "{metric} on {} with neighbouring lines joined by a space on both sides; a rest of fewer lines is left out. The \
         lines are not of one text: what grows is the number of positions.",
        study.test_set
    )));
    let label = |step: &StudyStep| format!("{} ({:.1} words)", step.joined, step.mean_words);
    let labels: Vec<String> = study.steps.iter().map(label).collect();
    let figures: Vec<_> = labels.iter().zip(study.steps.iter().map(|step| &step.figures)).collect();
    let recipes: Vec<&str> = study.parties.iter().map(|party| party.recipe.as_str()).collect();
    let axis = "lines joined";
    blocks.push(Block::Grid(steps(study, grid_by(axis, &recipes, &figures))));
    blocks.push(Block::Curves(curves(format!("{metric} on {}", study.test_set), axis, &recipes, &figures)));
    blocks.push(Block::Grid(sums_of_steps(study)));
    blocks
}

/// With the number of inputs and the paired tests of each step.
fn steps(study: &StudyTable, mut grid: Grid) -> Grid {
    grid.head.insert(1, ("inputs".to_owned(), Align::Right));
    let pairs = study.steps.first().map_or(&[][..], |step| step.pairs.as_slice());
    for pair in pairs {
        grid.head.push((format!("{} less {}", pair.recipe, pair.against), Align::Right));
        grid.head.push(("p".to_owned(), Align::Right));
    }
    for (row, step) in grid.rows.iter_mut().zip(&study.steps) {
        row.insert(1, Cell::text(step.inputs.to_string()));
        for pair in &step.pairs {
            row.push(Cell::text(format!("{:+.2}", pair.comparison.difference)));
            row.push(Cell::text(format!("{:.4}", pair.comparison.p_value)));
        }
    }
    grid
}

fn sums_of_steps(study: &StudyTable) -> Grid {
    let mut grid = Grid::new([("what", Align::Left), ("SHA-256", Align::Left)]);
    for step in study.steps.iter().filter(|step| step.joined > 1) {
        for (side, sum) in [("source", &step.source_sha256), ("reference", &step.reference_sha256)] {
            grid.rows.push(vec![Cell::text(format!("{side}, {} lines joined", step.joined)), Cell::code(sum)]);
        }
        grid.rows
            .extend(step.outputs.values().map(|output| vec![Cell::code(&output.file), Cell::code(&output.sha256)]));
    }
    grid
}
