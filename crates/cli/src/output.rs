//! How results look: a table for people, JSON for programs, Markdown and LaTeX for papers.

use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
pub use liken_pages::grouped;
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

/// A path as it is typed at a shell's prompt.
pub fn typed(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
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
            TableFormat::Markdown | TableFormat::Json => self.write_markdown(out),
            TableFormat::Table => self.write_plain(out),
        }
    }

    fn write_plain(&self, out: &mut impl Write) -> io::Result<()> {
        let mut table = Table::new();
        table.load_style(presets::NOTHING).set_content_arrangement(ContentArrangement::Disabled);
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

    fn write_markdown(&self, out: &mut impl Write) -> io::Result<()> {
        let escaped: Vec<Vec<String>> = std::iter::once(&self.heading)
            .chain(&self.rows)
            .map(|row| row.iter().map(|cell| markdown_escape(cell)).collect())
            .collect();
        // Three dashes are the least that every reader takes for a rule.
        let width = |c: usize| escaped.iter().map(|row| row[c].chars().count()).fold(3, usize::max);
        let widths: Vec<usize> = (0..self.heading.len()).map(width).collect();
        for (r, row) in escaped.iter().enumerate() {
            write!(out, "|")?;
            for (c, (cell, &width)) in row.iter().zip(&widths).enumerate() {
                if self.left.contains(&c) {
                    write!(out, " {cell:<width$} |")?;
                } else {
                    write!(out, " {cell:>width$} |")?;
                }
            }
            writeln!(out)?;
            if r == 0 {
                write!(out, "|")?;
                for (c, &width) in widths.iter().enumerate() {
                    let end = if self.left.contains(&c) { '-' } else { ':' };
                    write!(out, "{}{end}|", "-".repeat(width + 1))?;
                }
                writeln!(out)?;
            }
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

/// Writes a line of prose beside tables: a comment in LaTeX, a paragraph in Markdown.
pub fn remark(out: &mut impl Write, format: TableFormat, text: &str) -> io::Result<()> {
    match format {
        TableFormat::Latex => writeln!(out, "% {text}"),
        TableFormat::Markdown => writeln!(out, "{}\n", markdown_escape(text)),
        TableFormat::Table | TableFormat::Json => writeln!(out, "{text}"),
    }
}

/// The stars of 0.5*pls+0.5*bm25 are not emphasis.
fn markdown_escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '*' | '_' | '|' | '`' | '\\') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
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
            '–' => escaped.push_str("--"),
            // In LaTeX's own encoding these print as ¡, ¿ and a dash.
            '<' | '>' | '|' => escaped.extend(['$', c, '$']),
            _ => escaped.push(c),
        }
    }
    escaped
}

/// So many of something, in the words that fit the number.
pub fn counted(n: impl ToString, one: &str, many: &str) -> String {
    let n = n.to_string();
    let words = if n == "1" { one } else { many };
    format!("{} {words}", grouped(n))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_grouped_by_thousands() {
        assert_eq!([0, 999, 1000, 1_234_567].map(grouped), ["0", "999", "1,000", "1,234,567"]);
    }

    #[test]
    fn one_is_no_plural() {
        let lines = [0, 1, 2000].map(|n| counted(n, "line", "lines"));
        assert_eq!(lines, ["0 lines", "1 line", "2,000 lines"]);
    }

    #[test]
    fn a_path_with_spaces_is_quoted() {
        let paths = ["/tmp/a-1.b", "my data", "it's", ""].map(|path| typed(Path::new(path)));
        assert_eq!(paths, ["/tmp/a-1.b", "'my data'", "'it'\\''s'", "''"]);
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
        assert!(written(TableFormat::Markdown).contains("| bm25  |    0.31 |"));
        assert!(written(TableFormat::Latex).contains("model & nDCG\\_5 \\\\\n"));
    }

    #[test]
    fn signs_that_a_format_takes_for_its_own_are_escaped() {
        let mut grid = Grid::new(["model", "p"]);
        grid.row(["0.5*pls+0.5*bm25", "<0.0001"]);
        let written = |format| {
            let mut out = Vec::new();
            grid.write(&mut out, format).unwrap();
            remark(&mut out, format, "* p < 0.05").unwrap();
            String::from_utf8(out).unwrap()
        };
        let markdown = "| model              |       p |\n\
                        |--------------------|--------:|\n\
                        | 0.5\\*pls+0.5\\*bm25 | <0.0001 |\n\
                        \\* p < 0.05\n\n";
        assert_eq!(written(TableFormat::Markdown), markdown);
        let latex = written(TableFormat::Latex);
        assert!(latex.contains("0.5*pls+0.5*bm25 & $<$0.0001 \\\\\n"), "{latex}");
        assert!(latex.ends_with("\n% * p < 0.05\n"), "{latex}");
    }
}
