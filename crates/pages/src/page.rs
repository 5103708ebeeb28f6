//! A self-contained HTML page of headings, text, tables and plots.

use std::fmt::Write;

use crate::bars::{self, Bar, Card};
use crate::escape;

/// An HTML page.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Page {
    /// The title and first heading.
    pub title: String,
    /// The parts, from top to bottom.
    pub parts: Vec<Part>,
}

/// A part of a page.
#[derive(Debug, Clone, PartialEq)]
pub enum Part {
    /// A heading.
    Heading(String),
    /// A paragraph.
    Text(String),
    /// Lines of code.
    Code(String),
    /// An SVG element, as [`crate::Chart::svg`] returns it, inserted without escaping.
    Plot(String),
    /// A table whose columns in `numbers` are right-aligned.
    Table {
        /// The heading of each column.
        heading: Vec<String>,
        /// The rows.
        rows: Vec<Vec<String>>,
        /// The indices of the columns of numbers.
        numbers: Vec<usize>,
    },
    /// Bars below each other on one scale.
    Bars(Vec<Bar>),
    /// Cards, and the id that closing a card leads back to.
    Cards(Vec<Card>, String),
    /// A target of links with this id.
    Anchor(String),
    /// A heat map of shares; the heading has one more column, for the names.
    Heat {
        /// The heading of each column.
        heading: Vec<String>,
        /// The rows with their names.
        rows: Vec<(String, Vec<f64>)>,
    },
}

const STYLE: &str = "\
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.6rem; } h2 { font-size: 1.2rem; margin-top: 2rem; }
.plot { color: inherit; height: auto; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-size: 0.875rem; }
th, td { padding: 0.2rem 0.7rem; text-align: left; border-bottom: 1px solid #8884; white-space: nowrap; }
.n { text-align: right; font-variant-numeric: tabular-nums; }
pre { background: #8881; padding: 0.7rem; overflow-x: auto; }
";

impl Page {
    /// An empty page.
    pub fn titled(title: impl Into<String>) -> Self {
        Page { title: title.into(), parts: Vec::new() }
    }

    /// The page as HTML.
    pub fn html(&self) -> String {
        let title = escape(&self.title);
        let plain = |part: &Part| {
            !matches!(part, Part::Bars(_) | Part::Cards(..) | Part::Anchor(_) | Part::Heat { .. })
        };
        let more = if self.parts.iter().all(plain) { "" } else { bars::STYLE };
        let mut out = format!(
            "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
             <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
             <title>{title}</title>\n<style>\n{STYLE}{more}</style>\n</head>\n<body>\n<h1>{title}</h1>\n"
        );
        for part in &self.parts {
            part.write(&mut out);
        }
        out.push_str("</body>\n</html>\n");
        out
    }
}

impl Part {
    fn write(&self, out: &mut String) {
        let _ = match self {
            Part::Heading(text) => writeln!(out, "<h2>{}</h2>", escape(text)),
            Part::Text(text) => writeln!(out, "<p>{}</p>", escape(text)),
            Part::Code(text) => writeln!(out, "<pre><code>{}</code></pre>", escape(text)),
            Part::Plot(svg) => writeln!(out, "<figure style=\"margin: 1rem 0\">{svg}</figure>"),
            Part::Anchor(id) => writeln!(out, "<a id=\"{}\"></a>", escape(id)),
            Part::Bars(list) => bars::write_bars(out, list),
            Part::Cards(cards, home) => bars::write_cards(out, cards, home),
            Part::Heat { heading, rows } => bars::write_heat(out, heading, rows),
            Part::Table { heading, rows, numbers } => {
                let cell = |tag: &str, c: usize, text: &str| {
                    let class = if numbers.contains(&c) { " class=\"n\"" } else { "" };
                    format!("<{tag}{class}>{}</{tag}>", escape(text))
                };
                let row = |tag: &str, cells: &[String]| {
                    let cells: String =
                        cells.iter().enumerate().map(|(c, text)| cell(tag, c, text)).collect();
                    format!("<tr>{cells}</tr>\n")
                };
                let body: String = rows.iter().map(|cells| row("td", cells)).collect();
                writeln!(
                    out,
                    "<div class=\"wide\"><table>\n<thead>\n{}</thead>\n<tbody>\n{body}</tbody>\n</table></div>",
                    row("th", heading)
                )
            }
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn everything_is_on_the_page_and_nothing_of_it_is_markup() {
        let mut page = Page::titled("Tuning <rmls> & co");
        page.parts = vec![
            Part::Heading("Tries".into()),
            Part::Text("a < b".into()),
            Part::Code("liken train --set a=\"b\"".into()),
            Part::Plot("<svg></svg>".into()),
            Part::Table {
                heading: vec!["model".into(), "nDCG@10".into()],
                rows: vec![vec!["<script>".into(), "0.31".into()]],
                numbers: vec![1],
            },
        ];
        let html = page.html();
        assert!(html.starts_with("<!DOCTYPE html>\n<html lang=\"en\">"), "{html}");
        for text in [
            "<title>Tuning &lt;rmls&gt; &amp; co</title>",
            "<h2>Tries</h2>",
            "<p>a &lt; b</p>",
            "--set a=&quot;b&quot;</code></pre>",
            "<svg></svg>",
            "<tr><th>model</th><th class=\"n\">nDCG@10</th></tr>",
            "<tr><td>&lt;script&gt;</td><td class=\"n\">0.31</td></tr>",
        ] {
            assert!(html.contains(text), "no {text} in\n{html}");
        }
        assert!(!html.contains("<script") && !html.contains("http"), "{html}");
    }
}
