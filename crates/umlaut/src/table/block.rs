//! What a document of tables and plots is made of, before it is Markdown or a page.

/// A part of a document.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Block {
    /// The title, which stands first.
    Title(String),
    Heading(String),
    Paragraph(String),
    Grid(Grid),
    /// Shown on a page only; a grid beside it has the numbers.
    Bars(Bars),
    /// The same.
    Curves(Curves),
}

/// A table.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Grid {
    /// Name and alignment of each column.
    pub(crate) head: Vec<(String, Align)>,
    pub(crate) rows: Vec<Vec<Cell>>,
}

/// Where the text of a column stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Right,
}

/// What stands in a table's cell.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Cell {
    Text(String),
    /// Set as code: signatures, checksums, files.
    Code(String),
}

/// Bars with intervals, one below the other.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bars {
    pub(crate) title: String,
    pub(crate) bars: Vec<Bar>,
}

/// A figure as a bar.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Bar {
    pub(crate) label: String,
    pub(crate) value: f64,
    /// Half the width of its interval.
    pub(crate) half_width: Option<f64>,
    pub(crate) origin: Origin,
}

/// Where a figure comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// Reached now.
    Ours,
    /// In the ledger, and not reached now.
    Listed,
    Published,
}

/// Figures over an axis of words, a line for each system.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curves {
    pub(crate) title: String,
    /// What the axis is.
    pub(crate) axis: String,
    pub(crate) ticks: Vec<String>,
    pub(crate) lines: Vec<Curve>,
}

/// The figures of a system.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Curve {
    pub(crate) label: String,
    /// Value and half the width of its interval at each tick, where there are any.
    pub(crate) points: Vec<Option<(f64, f64)>>,
}

impl Cell {
    pub(crate) fn text(text: impl Into<String>) -> Self {
        Self::Text(text.into())
    }

    pub(crate) fn code(text: impl Into<String>) -> Self {
        Self::Code(text.into())
    }
}

impl Grid {
    /// A table with these columns and no row.
    pub(crate) fn new(head: impl IntoIterator<Item = (impl Into<String>, Align)>) -> Self {
        Self { head: head.into_iter().map(|(name, align)| (name.into(), align)).collect(), rows: Vec::new() }
    }
}
