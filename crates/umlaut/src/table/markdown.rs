//! A document in Markdown. What systems and sources are called is text and never markup.

use super::block::{Align, Block, Cell, Grid};

/// Renders a document; plots are left out.
pub(crate) fn render(blocks: &[Block]) -> String {
    let parts: Vec<String> = blocks.iter().filter_map(part).collect();
    parts.join("\n")
}

fn part(block: &Block) -> Option<String> {
    match block {
        Block::Title(text) => Some(format!("# {}\n", escape(text))),
        Block::Heading(text) => Some(format!("## {}\n", escape(text))),
        Block::Paragraph(text) => Some(format!("{}\n", escape(text))),
        Block::Grid(grid) => Some(table(grid)),
        Block::Bars(_) | Block::Curves(_) => None,
    }
}

fn table(grid: &Grid) -> String {
    let head = grid.head.iter().map(|(name, _)| escape(name));
    let rule = grid.head.iter().map(|(_, align)| if *align == Align::Right { "--:" } else { "---" }.to_owned());
    let rows = grid.rows.iter().map(|row| line(row.iter().map(cell)));
    line(head) + &line(rule) + &rows.collect::<String>()
}

fn line(cells: impl Iterator<Item = String>) -> String {
    format!("| {} |\n", cells.collect::<Vec<_>>().join(" | "))
}

fn cell(cell: &Cell) -> String {
    match cell {
        Cell::Text(text) => escape(text),
        Cell::Code(text) if text.is_empty() => String::new(),
        // Inside code only these two could end it or the cell.
        Cell::Code(text) => format!("`{}`", text.replace('`', "'").replace('|', "\\|")),
    }
}

fn escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '<' => escaped.push_str("&lt;"),
            '&' => escaped.push_str("&amp;"),
            '\n' | '\r' => escaped.push(' '),
            '|' | '[' | ']' | '*' | '_' | '`' | '\\' | '#' => escaped.extend(['\\', character]),
            _ => escaped.push(character),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_document_is_paragraphs_and_tables() {
        let mut grid = Grid::new([("system", Align::Left), ("BLEU", Align::Right)]);
        grid.rows.push(vec![Cell::text("ours"), Cell::code("tok:13a|x")]);
        let blocks = [Block::Title("T".to_owned()), Block::Paragraph("Text.".to_owned()), Block::Grid(grid)];
        let expected = "# T\n\nText.\n\n| system | BLEU |\n| --- | --: |\n| ours | `tok:13a\\|x` |\n";
        assert_eq!(render(&blocks), expected);
    }

    #[test]
    fn a_name_is_no_markup_and_ends_no_cell() {
        assert_eq!(escape("a|b <script> [x](y)\n# z"), "a\\|b &lt;script> \\[x\\](y) \\# z");
    }
}
