//! The page of a run: curves and sample translations in one HTML file that needs nothing else.

use std::fmt::Write;
use std::path::Path;

use crate::TrainError;
use crate::log::{self, Event};
use crate::validation::Example;

/// The name of the page in a run's folder.
pub const FILE: &str = "report.html";

const WIDTH: f64 = 640.0;
const HEIGHT: f64 = 220.0;
const MARGIN: f64 = 48.0;
/// Translations of an example that are shown, beside the first.
const SHOWN: usize = 5;

/// Draws the log of `run` into its page; `examples` are the pairs whose translations the log holds.
///
/// # Errors
/// If the log cannot be read or the page not written.
pub fn write(run: &Path, examples: &[Example]) -> Result<(), TrainError> {
    let events = log::read(&run.join(log::FILE))?;
    let name = run.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    Ok(umlaut_model::directory::write_whole(&run.join(FILE), html(&name, &events, examples).as_bytes())?)
}

/// The beginning of a page that needs nothing else: what browsers ask for, the look of the house, the title.
#[must_use]
pub fn head(title: &str) -> String {
    let title = escape(title);
    format!(
        "<!doctype html><html lang=\"en\"><meta charset=\"utf-8\"><title>{title}</title><style>body{{font:15px/1.5 \
         system-ui,sans-serif;max-width:44rem;margin:2rem auto;padding:0 1rem;color:#222}}svg{{width:100%;height:auto}}\
         text{{font:11px system-ui,sans-serif;fill:#555}}td{{padding:.1rem .8rem .1rem 0;vertical-align:top}}\
         .example{{margin:1rem 0}}.example th{{width:6rem;text-align:left;font-weight:normal;color:#777;\
         vertical-align:top}}</style><h1>{title}</h1>"
    )
}

/// `text` as it stands in a page, between tags or in quotes: no part of it is markup.
#[must_use]
pub fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// A line of a figure.
struct Curve {
    label: &'static str,
    colour: &'static str,
    /// (update, value).
    points: Vec<(f64, f64)>,
}

fn html(name: &str, events: &[Event], examples: &[Example]) -> String {
    let mut page = head(name);
    let training = updates(events, |event| event.0);
    let validation = validations(events, |event| event.0);
    let figures = [
        (
            "Loss of a target token, in nats",
            vec![
                Curve { label: "training", colour: "#8aa", points: training },
                Curve { label: "validation", colour: "#c40", points: validation },
            ],
        ),
        (
            "BLEU of the validation set",
            vec![Curve { label: "BLEU", colour: "#06c", points: validations(events, |event| event.1) }],
        ),
        (
            "Learning rate",
            vec![Curve { label: "learning rate", colour: "#484", points: updates(events, |event| event.1) }],
        ),
        (
            "Target tokens a second",
            vec![Curve { label: "tokens a second", colour: "#848", points: updates(events, |event| event.2) }],
        ),
    ];
    for (title, curves) in &figures {
        figure(&mut page, title, curves);
    }
    samples(&mut page, events, examples);
    page.push_str("</html>\n");
    page
}

/// (update, value) of each line about updates; `value` picks from (loss, learning rate, tokens a second).
fn updates(events: &[Event], value: impl Fn((f64, f64, f64)) -> f64) -> Vec<(f64, f64)> {
    let point = |event: &Event| match event {
        Event::Update { update, loss, learning_rate, tokens_per_second, .. } => {
            Some((*update as f64, value((*loss, *learning_rate, *tokens_per_second))))
        }
        _ => None,
    };
    events.iter().filter_map(point).filter(|(_, y)| y.is_finite()).collect()
}

/// (update, value) of each validation; `value` picks from (loss, BLEU).
fn validations(events: &[Event], value: impl Fn((f64, f64)) -> f64) -> Vec<(f64, f64)> {
    let point = |event: &Event| match event {
        Event::Validation { update, loss, bleu, .. } => Some((*update as f64, value((*loss, *bleu)))),
        _ => None,
    };
    events.iter().filter_map(point).filter(|(_, y)| y.is_finite()).collect()
}

fn figure(page: &mut String, title: &str, curves: &[Curve]) {
    let points = || curves.iter().flat_map(|curve| &curve.points);
    let Some(last) = points().map(|p| p.0).reduce(f64::max) else { return };
    let low = points().map(|p| p.1).fold(f64::INFINITY, f64::min);
    let high = points().map(|p| p.1).fold(f64::NEG_INFINITY, f64::max);
    let span = if high > low { high - low } else { 1.0 };
    let x = |update: f64| MARGIN + update / last.max(1.0) * (WIDTH - 2.0 * MARGIN);
    let y = |value: f64| HEIGHT - MARGIN / 2.0 - (value - low) / span * (HEIGHT - MARGIN);
    // Writing to a string cannot fail.
    let _ = write!(page, "<h2>{title}</h2><svg viewBox=\"0 0 {WIDTH} {HEIGHT}\" role=\"img\" aria-label=\"{title}\">");
    for (value, anchor) in [(low, y(low)), (high, y(high))] {
        let _ = write!(page, "<text x=\"0\" y=\"{:.1}\">{}</text>", anchor + 4.0, number(value));
    }
    let _ = write!(page, "<text x=\"{:.1}\" y=\"{HEIGHT}\" text-anchor=\"end\">update {last}</text>", WIDTH - MARGIN);
    for (i, curve) in curves.iter().enumerate() {
        let line: Vec<String> = curve.points.iter().map(|p| format!("{:.1},{:.1}", x(p.0), y(p.1))).collect();
        let _ = write!(
            page,
            "<polyline fill=\"none\" stroke=\"{0}\" stroke-width=\"1.5\" points=\"{1}\"/><text x=\"{2:.1}\" y=\"{3}\" \
             text-anchor=\"end\" style=\"fill:{0}\">{4}</text>",
            curve.colour,
            line.join(" "),
            WIDTH - MARGIN,
            12 * (i + 1),
            curve.label
        );
    }
    page.push_str("</svg>");
}

/// The examples over time: source, reference, and what the model made of them after some of the validations.
fn samples(page: &mut String, events: &[Event], examples: &[Example]) {
    let all: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            Event::Validation { update, samples, .. } => Some((update, samples)),
            _ => None,
        })
        .collect();
    let Some(last) = all.len().checked_sub(1) else { return };
    let mut shown: Vec<usize> = (0..=SHOWN).map(|part| last * part / SHOWN).collect();
    shown.dedup();
    page.push_str("<h2>Translations</h2>");
    for (line, Example { source, reference }) in examples.iter().enumerate() {
        page.push_str("<table class=\"example\">");
        row(page, "source", source);
        row(page, "reference", reference);
        for (update, samples) in shown.iter().map(|i| &all[*i]) {
            row(page, &update.to_string(), samples.get(line).map_or("", String::as_str));
        }
        page.push_str("</table>");
    }
}

fn row(page: &mut String, head: &str, text: &str) {
    let _ = write!(page, "<tr><th>{head}</th><td>{}</td></tr>", escape(text));
}

fn number(value: f64) -> String {
    if value.abs() < 0.01 { format!("{value:.1e}") } else { format!("{value:.2}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_model_says_is_text_and_not_markup() {
        let validation = Event::Validation {
            update: 10,
            loss: 1.0,
            nll: 1.0,
            bleu: 2.0,
            signature: String::new(),
            samples: vec!["<script>&".into()],
            elapsed_seconds: 1.0,
        };
        let example = Example { source: "a < b".into(), reference: "a & b".into() };
        let page = html("run", &[validation], &[example]);
        assert!(page.contains("&lt;script&gt;&amp;") && !page.contains("<script>"));
        assert!(page.contains("a &lt; b") && page.contains("a &amp; b"));
        assert!(page.contains("<polyline"));
    }

    #[test]
    fn a_run_without_events_has_a_page() {
        assert!(html("empty", &[], &[]).contains("<h1>empty</h1>"));
    }
}
