//! A document as a page that needs nothing else. What systems and sources are called is text and never markup.

use std::fmt::Write as _;

use umlaut_train::page::{escape, head};

use super::block::{Align, Block, Cell, Grid};
use super::plot;

/// What tables look like beside the rest.
const STYLE: &str = "<style>body{max-width:72rem}svg{max-width:44rem}table{border-collapse:collapse;display:block;\
    overflow-x:auto}th{text-align:left;padding:.1rem .8rem .1rem 0;border-bottom:1px solid #999}.right{text-align:right}\
    code{font-size:.8em;overflow-wrap:anywhere}</style>";

/// Renders a document.
pub(crate) fn render(blocks: &[Block]) -> String {
    let mut page = String::new();
    for block in blocks {
        match block {
            Block::Title(text) => page += &(head(text) + STYLE),
            Block::Heading(text) => page += &["<h2>", &escape(text), "</h2>"].concat(),
            Block::Paragraph(text) => page += &["<p>", &escape(text), "</p>"].concat(),
            Block::Grid(grid) => table(&mut page, grid),
            Block::Bars(bars) => page += &plot::bars(bars),
            Block::Curves(curves) => page += &plot::curves(curves),
        }
        page.push('\n');
    }
    page + "</html>\n"
}

fn table(page: &mut String, grid: &Grid) {
    page.push_str("<table><tr>");
    for (name, align) in &grid.head {
        // Writing to a string cannot fail.
        let _ = write!(page, "<th{}>{}</th>", class(*align), escape(name));
    }
    page.push_str("</tr>");
    for row in &grid.rows {
        page.push_str("<tr>");
        for (cell, (_, align)) in row.iter().zip(&grid.head) {
            let _ = write!(page, "<td{}>{}</td>", class(*align), content(cell));
        }
        page.push_str("</tr>");
    }
    page.push_str("</table>");
}

fn class(align: Align) -> &'static str {
    match align {
        Align::Left => "",
        Align::Right => " class=\"right\"",
    }
}

fn content(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => escape(text),
        Cell::Code(text) => format!("<code>{}</code>", escape(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table::block::{Bar, Bars, Curve, Curves, Origin};

    #[test]
    fn nothing_that_is_named_is_markup() {
        let evil = || "<script>\"&'".to_owned();
        let mut grid = Grid::new([(evil(), Align::Left), (evil(), Align::Right)]);
        grid.rows.push(vec![Cell::Text(evil()), Cell::Code(evil())]);
        let bar = Bar { label: evil(), value: 1.0, half_width: Some(0.5), origin: Origin::Ours };
        let curve = Curve { label: evil(), points: vec![Some((1.0, 0.5))] };
        let curves = Curves { title: evil(), axis: evil(), ticks: vec![evil()], lines: vec![curve] };
        let page = render(&[
            Block::Title(evil()),
            Block::Heading(evil()),
            Block::Paragraph(evil()),
            Block::Grid(grid),
            Block::Bars(Bars { title: evil(), bars: vec![bar] }),
            Block::Curves(curves),
        ]);
        assert!(!page.contains("<script>") && !page.contains("\"&'"), "{page}");
        // Title and heading of the page; heading, paragraph, 2 + 2 cells; 3 in the bars; in the curves heading and label
        // with 2 names each, a tick, the axis, a curve.
        assert_eq!(page.matches("&lt;script&gt;&quot;&amp;'").count(), 18, "{page}");
    }
}
