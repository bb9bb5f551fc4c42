//! Plots as SVG inside a page: bars with intervals, and curves with intervals.

use std::fmt::Write as _;

use umlaut_train::page::escape;

use super::block::{Bars, Curve, Curves, Origin};

const WIDTH: f64 = 640.0;
/// Room for the labels of bars.
const LABELS: f64 = 220.0;
/// Room for the numbers behind bars.
const NUMBERS: f64 = 90.0;
const ROW: f64 = 22.0;
const HEIGHT: f64 = 220.0;
const MARGIN: f64 = 48.0;
const COLOURS: [&str; 6] = ["#06c", "#c40", "#484", "#848", "#a80", "#088"];
/// Characters of a label that fit.
const LABEL_CHARACTERS: usize = 38;

/// Bars from 0, each with its number and, where it has one, its interval.
pub(crate) fn bars(plot: &Bars) -> String {
    let greatest = plot.bars.iter().map(|bar| bar.value + bar.half_width.unwrap_or(0.0)).fold(0.0, f64::max);
    let x = |value: f64| LABELS + value / if greatest > 0.0 { greatest } else { 1.0 } * (WIDTH - LABELS - NUMBERS);
    let mut svg = open(&plot.title, ROW * plot.bars.len() as f64 + 4.0);
    for (index, bar) in plot.bars.iter().enumerate() {
        let top = ROW * index as f64 + 4.0;
        let (middle, text) = (top + 7.0, top + 11.0);
        let colour = match bar.origin {
            Origin::Ours => "#06c",
            Origin::Listed => "#9bd",
            Origin::Published => "#bbb",
        };
        // Writing to a string cannot fail.
        let _ = write!(
            svg,
            "<text x=\"0\" y=\"{text:.1}\">{}</text><rect x=\"{LABELS}\" y=\"{top:.1}\" width=\"{:.1}\" height=\"14\" \
             fill=\"{colour}\"/>",
            label(&bar.label),
            x(bar.value) - LABELS,
        );
        if let Some(half_width) = bar.half_width {
            let (low, high) = (x((bar.value - half_width).max(0.0)), x(bar.value + half_width));
            let _ = write!(
                svg,
                "<path d=\"M{low:.1} {middle:.1}H{high:.1}M{low:.1} {0:.1}v8M{high:.1} {0:.1}v8\" stroke=\"#222\" \
                 fill=\"none\"/>",
                middle - 4.0
            );
        }
        let end = x(bar.value + bar.half_width.unwrap_or(0.0)) + 6.0;
        let _ = write!(svg, "<text x=\"{end:.1}\" y=\"{text:.1}\">{}</text>", number(bar.value, bar.half_width));
    }
    svg + "</svg>"
}

/// Lines over an axis of words, each point with its interval.
pub(crate) fn curves(plot: &Curves) -> String {
    let Some(frame) = Frame::of(plot) else { return String::new() };
    let mut svg = open(&format!("{}, by {}", plot.title, plot.axis), HEIGHT + 14.0 * plot.lines.len() as f64);
    for value in [frame.low, frame.high] {
        let _ = write!(svg, "<text x=\"0\" y=\"{:.1}\">{value:.1}</text>", frame.y(value) + 4.0);
    }
    for (tick, words) in plot.ticks.iter().enumerate() {
        let (x, y, words) = (frame.x(tick), HEIGHT - MARGIN + 18.0, escape(words));
        let _ = write!(svg, "<text x=\"{x:.1}\" y=\"{y:.1}\" text-anchor=\"middle\">{words}</text>");
    }
    let _ = write!(svg, "<text x=\"{MARGIN}\" y=\"{:.1}\">{}</text>", HEIGHT - 10.0, escape(&plot.axis));
    for (index, curve) in plot.lines.iter().enumerate() {
        // Curves stand a little apart, so that one interval does not hide another.
        let aside = 5.0 * (index as f64 - (plot.lines.len() as f64 - 1.0) / 2.0);
        let (colour, label) = (COLOURS[index % COLOURS.len()], escape(&curve.label));
        let (line, whiskers) = frame.trace(curve, aside);
        let below = HEIGHT + 14.0 * index as f64 + 8.0;
        let _ = write!(
            svg,
            "<polyline fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.5\" points=\"{line}\"/><path d=\"{whiskers}\" \
             stroke=\"{colour}\" fill=\"none\"/><text x=\"{MARGIN}\" y=\"{below:.1}\" style=\"fill:{colour}\">{label}</text>"
        );
    }
    svg + "</svg>"
}

/// Where the values of a plot stand.
struct Frame {
    low: f64,
    high: f64,
    /// Between two ticks.
    step: f64,
}

impl Frame {
    /// One that holds every interval; `None` without any.
    fn of(plot: &Curves) -> Option<Self> {
        let points = || plot.lines.iter().flat_map(|curve| curve.points.iter().flatten());
        let low = points().map(|(value, half_width)| value - half_width).reduce(f64::min)?.max(0.0);
        let high = points().map(|(value, half_width)| value + half_width).reduce(f64::max)?;
        Some(Self { low, high, step: (WIDTH - 2.0 * MARGIN) / plot.ticks.len().max(1) as f64 })
    }

    fn x(&self, tick: usize) -> f64 {
        MARGIN + self.step * (tick as f64 + 0.5)
    }

    fn y(&self, value: f64) -> f64 {
        let span = if self.high > self.low { self.high - self.low } else { 1.0 };
        HEIGHT - MARGIN - (value - self.low) / span * (HEIGHT - 1.5 * MARGIN)
    }

    /// The points of a polyline, and the path of its intervals.
    fn trace(&self, curve: &Curve, aside: f64) -> (String, String) {
        let (mut line, mut whiskers) = (String::new(), String::new());
        for (tick, point) in curve.points.iter().enumerate() {
            let Some((value, half_width)) = point else { continue };
            let (x, y) = (self.x(tick) + aside, self.y(*value));
            let (bottom, top) = (self.y(value - half_width), self.y(value + half_width));
            let _ = write!(line, "{x:.1},{y:.1} ");
            let _ = write!(whiskers, "M{x:.1} {bottom:.1}V{top:.1}");
        }
        (line, whiskers)
    }
}

/// Title and beginning of a plot.
fn open(title: &str, height: f64) -> String {
    let title = escape(title);
    format!("<h3>{title}</h3><svg viewBox=\"0 0 {WIDTH} {height:.0}\" role=\"img\" aria-label=\"{title}\">")
}

/// `9.64 ± 0.31`.
pub(crate) fn number(value: f64, half_width: Option<f64>) -> String {
    half_width.map_or_else(|| format!("{value:.2}"), |half_width| format!("{value:.2} ± {half_width:.2}"))
}

/// As much of a label as fits.
fn label(text: &str) -> String {
    match text.char_indices().nth(LABEL_CHARACTERS) {
        Some((end, _)) => escape(text[..end].trim_end()) + "…",
        None => escape(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::block::Bar;

    #[test]
    fn a_bar_is_as_long_as_its_figure_and_has_its_interval() {
        let bar = |value, half_width| Bar { label: "x".to_owned(), value, half_width, origin: Origin::Ours };
        let svg = bars(&Bars { title: "T".to_owned(), bars: vec![bar(20.0, None), bar(9.0, Some(1.0))] });
        assert!(svg.contains("width=\"330.0\"") && svg.contains("width=\"148.5\""), "{svg}");
        assert!(svg.contains("M352.0 33.0H385.0"), "{svg}");
        assert!(svg.contains(">9.00 ± 1.00<") && svg.contains(">20.00<"), "{svg}");
    }

    #[test]
    fn a_curve_passes_its_points_and_skips_what_is_not_there() {
        let curve = Curve { label: "x".to_owned(), points: vec![Some((10.0, 2.0)), None, Some((20.0, 4.0))] };
        let ticks = ["1", "2", "3"].map(str::to_owned).into();
        let plot = Curves { title: String::new(), axis: String::new(), ticks, lines: vec![curve] };
        let frame = Frame::of(&plot).unwrap();
        assert_eq!((frame.low, frame.high), (8.0, 24.0));
        assert_eq!(frame.trace(&plot.lines[0], 0.0).1, "M138.7 172.0V135.0M501.3 98.0V24.0");
    }

    #[test]
    fn curves_without_a_point_draw_nothing() {
        let curve = Curve { label: "x".to_owned(), points: vec![None] };
        let plot = |lines| Curves { title: String::new(), axis: String::new(), ticks: vec!["1".to_owned()], lines };
        assert_eq!(curves(&plot(vec![curve])), "");
    }
}
