//! How results look: a table for people, JSON for programs, Markdown and LaTeX for papers.

use std::io::{self, Write};

use clap::ValueEnum;
use comfy_table::{CellAlignment, ContentArrangement, Table, TableStyle, presets};
use serde::Serialize;

/// Table or JSON.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    #[default]
    Table,
    /// For programs.
    Json,
}

/// Everything a comparison can be written as.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// For people.
    #[default]
    Table,
    /// For programs.
    Json,
    /// For a README.
    Markdown,
    /// For a paper.
    Latex,
}

/// Writes `value` as indented JSON.
pub fn json(out: &mut impl Write, value: &impl Serialize) -> io::Result<()> {
    serde_json::to_writer_pretty(&mut *out, value)?;
    writeln!(out)
}

/// A table of text: a heading and rows, the first column to the left, others to the right
/// unless `left` says so.
pub struct Grid {
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
    left: Vec<usize>,
}

impl Grid {
    /// A table with this heading.
    pub fn new<S: Into<String>>(heading: impl IntoIterator<Item = S>) -> Self {
        Grid {
            heading: heading.into_iter().map(Into::into).collect(),
            rows: Vec::new(),
            left: vec![0],
        }
    }

    /// These columns, too, are aligned to the left.
    pub fn left(mut self, columns: &[usize]) -> Self {
        self.left.extend(columns);
        self
    }

    /// Appends a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Writes the table as `format` says; JSON is not a table and is written as Markdown.
    pub fn write(&self, out: &mut impl Write, format: TableFormat) -> io::Result<()> {
        match format {
            TableFormat::Latex => self.write_latex(out),
            TableFormat::Markdown | TableFormat::Json => {
                self.write_aligned(out, presets::ASCII_MARKDOWN)
            }
            TableFormat::Table => self.write_aligned(out, presets::NOTHING),
        }
    }

    fn write_aligned(&self, out: &mut impl Write, style: TableStyle) -> io::Result<()> {
        let mut table = Table::new();
        table.load_style(style).set_content_arrangement(ContentArrangement::Disabled);
        table.set_header(&self.heading);
        for row in &self.rows {
            table.add_row(row);
        }
        for (c, column) in table.column_iter_mut().enumerate() {
            if !self.left.contains(&c) {
                column.set_cell_alignment(CellAlignment::Right);
            }
        }
        for line in table.lines() {
            // Without borders every line begins with the padding of the first column.
            writeln!(out, "{}", line.strip_prefix(' ').unwrap_or(&line).trim_end())?;
        }
        Ok(())
    }

    fn write_latex(&self, out: &mut impl Write) -> io::Result<()> {
        let columns: String = (0..self.heading.len())
            .map(|c| if self.left.contains(&c) { 'l' } else { 'r' })
            .collect();
        writeln!(out, "\\begin{{tabular}}{{{columns}}}")?;
        writeln!(out, "\\hline")?;
        let line = |cells: &[String]| {
            cells.iter().map(|cell| latex_escape(cell)).collect::<Vec<_>>().join(" & ")
        };
        writeln!(out, "{} \\\\", line(&self.heading))?;
        writeln!(out, "\\hline")?;
        for row in &self.rows {
            writeln!(out, "{} \\\\", line(row))?;
        }
        writeln!(out, "\\hline")?;
        writeln!(out, "\\end{{tabular}}")
    }
}

fn latex_escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' | '%' | '$' | '#' | '_' | '{' | '}' => escaped.extend(['\\', c]),
            '~' => escaped.push_str("\\textasciitilde{}"),
            '^' => escaped.push_str("\\textasciicircum{}"),
            '\\' => escaped.push_str("\\textbackslash{}"),
            '≤' => escaped.push_str("$\\le$"),
            '±' => escaped.push_str("$\\pm$"),
            '−' => escaped.push_str("$-$"),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// A whole number with a comma after every three digits.
pub fn grouped(n: impl ToString) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (at, digit) in digits.chars().enumerate() {
        if at > 0 && (digits.len() - at).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn every_format_holds_the_same_cells() {
        let mut grid = Grid::new(["model", "nDCG_5"]);
        grid.row(["bm25", "0.31"]);
        let written = |format| {
            let mut out = Vec::new();
            grid.write(&mut out, format).unwrap();
            String::from_utf8(out).unwrap()
        };
        assert_eq!(written(TableFormat::Table), "model  nDCG_5\nbm25     0.31\n");
        assert!(written(TableFormat::Markdown).contains("| bm25  |   0.31 |"));
        assert!(written(TableFormat::Latex).contains("model & nDCG\\_5 \\\\\n"));
    }
}
