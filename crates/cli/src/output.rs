//! Output of results: tables for the terminal, JSON, Markdown and LaTeX, and files that appear
//! whole or not at all.

use std::io::{self, BufWriter, Write};
use std::path::Path;

use clap::ValueEnum;
use comfy_table::{CellAlignment, ContentArrangement, Table, presets};
use liken::file::NewFile;
pub use liken_pages::grouped;
use serde::Serialize;

/// Shown where there is no number.
pub const NOTHING: &str = "–";

/// Table or JSON.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// Aligned columns for the terminal.
    #[default]
    Table,
    /// For programs.
    Json,
}

/// The formats of a comparison.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum TableFormat {
    /// Aligned columns for the terminal.
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

/// Whether `path` is `-`, which is standard output (or input).
pub fn is_stdout(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Lets `write` write the file at `path`, which appears whole or not at all.
pub fn write_file<T>(
    path: &Path,
    write: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    let file = NewFile::create(path)?;
    let mut out = BufWriter::new(file.writer()?);
    let written = write(&mut out).and_then(|written| Ok(out.flush().map(|()| written)?));
    let written = written.map_err(|error| match error.downcast::<io::Error>() {
        Ok(error) => liken::Error::io("write", path)(error).into(),
        Err(error) => error,
    })?;
    drop(out);
    file.commit()?;
    Ok(written)
}

/// A path, quoted where a shell needs it.
pub fn typed(path: &Path) -> String {
    let text = path.display().to_string();
    let plain = |c: char| c.is_alphanumeric() || "/._-+=:@,".contains(c);
    if !text.is_empty() && text.chars().all(plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}

/// A table of text. The first column and those that [`Grid::left`] names are aligned to the left,
/// all others to the right.
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

    /// Aligns these columns to the left, too.
    pub fn left(mut self, columns: &[usize]) -> Self {
        self.left.extend(columns);
        self
    }

    /// Appends a row.
    pub fn row<S: Into<String>>(&mut self, cells: impl IntoIterator<Item = S>) {
        self.rows.push(cells.into_iter().map(Into::into).collect());
    }

    /// Writes the table; as Markdown if `format` is JSON, which is no table.
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
        // Every parser of Markdown takes three dashes for a rule, not every one fewer.
        let width = |c: usize| escaped.iter().map(|row| row[c].chars().count()).fold(3, usize::max);
        let widths: Vec<usize> = (0..self.heading.len()).map(width).collect();
        for (r, row) in escaped.iter().enumerate() {
            let cells = row.iter().zip(&widths).enumerate();
            let line = cells.map(|(c, (cell, &width))| match self.left.contains(&c) {
                true => format!(" {cell:<width$} |"),
                false => format!(" {cell:>width$} |"),
            });
            writeln!(out, "|{}", line.collect::<String>())?;
            if r == 0 {
                let rule = widths.iter().enumerate().map(|(c, &width)| {
                    let end = if self.left.contains(&c) { '-' } else { ':' };
                    format!("{}{end}|", "-".repeat(width + 1))
                });
                writeln!(out, "|{}", rule.collect::<String>())?;
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

/// Writes a line of text beside a table: a comment in LaTeX, a paragraph in Markdown.
pub fn remark(out: &mut impl Write, format: TableFormat, text: &str) -> io::Result<()> {
    match format {
        TableFormat::Latex => writeln!(out, "% {text}"),
        TableFormat::Markdown => writeln!(out, "{}\n", markdown_escape(text)),
        TableFormat::Table | TableFormat::Json => writeln!(out, "{text}"),
    }
}

/// Escapes what Markdown takes for markup, such as the stars of 0.5*pls+0.5*bm25.
fn markdown_escape(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        escaped.extend(matches!(c, '*' | '_' | '|' | '`' | '\\').then_some('\\'));
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

/// A fraction with four digits, or [`NOTHING`].
pub fn four_digits(value: Option<f64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| format!("{value:.4}"))
}

/// The first five names, and whether there are more.
pub fn some_of(names: &[String]) -> String {
    let more = if names.len() > 5 { ", …" } else { "" };
    format!("{}{more}", names[..names.len().min(5)].join(", "))
}

/// A number with its noun: `1 row`, `2,000 queries`.
pub fn counted(n: impl ToString, noun: &str) -> String {
    liken::counted(grouped(n), noun)
}

/// A number with the first words if it is 1, else with the others.
pub fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{} {}", grouped(n), if n == 1 { one } else { many })
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
        let lines = [0, 1, 2000].map(|n| counted(n, "line"));
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
