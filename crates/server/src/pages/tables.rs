//! Sortable tables, bars, and the colours of heat maps.

use maud::{Markup, html};

use super::format::{fixed, grouped};

/// A column of a [`table`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    /// Its heading.
    pub name: String,
    /// Its meaning, a tooltip of the heading.
    pub about: Option<String>,
    /// Whether it holds numbers, which are aligned to the right and sorted as numbers.
    pub number: bool,
}

impl TableColumn {
    /// A column of text.
    pub fn text(name: impl Into<String>) -> Self {
        TableColumn { name: name.into(), about: None, number: false }
    }

    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        TableColumn { number: true, ..TableColumn::text(name) }
    }

    /// With a tooltip.
    pub fn about(self, about: impl Into<String>) -> Self {
        TableColumn { about: Some(about.into()), ..self }
    }
}

/// A cell of a [`table`].
pub struct Cell {
    /// Its content.
    pub shown: Markup,
    /// The number by which it is sorted; without one, its text.
    pub key: Option<f64>,
}

impl Cell {
    /// Text.
    pub fn text(text: &str) -> Self {
        Cell { shown: html! { (text) }, key: None }
    }

    /// Any markup.
    pub fn markup(shown: Markup) -> Self {
        Cell { shown, key: None }
    }

    /// A number, shown as `text`.
    pub fn value(value: f64, text: &str) -> Self {
        Cell { shown: html! { (text) }, key: Some(value) }
    }

    /// A number with `digits` digits after the point.
    pub fn number(value: f64, digits: usize) -> Self {
        Cell::value(value, &fixed(value, digits))
    }

    /// A count.
    pub fn count(n: usize) -> Self {
        Cell::value(n as f64, &grouped(n))
    }

    /// A number, shown as `text`, with a bar that is full at `largest`.
    pub fn bar(value: f64, text: &str, largest: f64) -> Self {
        let shown = html! { span.drawn { span { (text) } (bar(value, largest, false)) } };
        Cell { shown, key: Some(value) }
    }
}

/// A table that the script sorts by a click (or Enter) on a heading, and that scrolls inside its
/// frame where the page is narrow. The first cell of each row is its heading.
pub fn table(caption: &str, columns: &[TableColumn], rows: Vec<Vec<Cell>>) -> Markup {
    let class = |c: usize| columns.get(c).filter(|column| column.number).map(|_| "n");
    html! {
        div.wide tabindex="0" role="region" aria-label=(caption) {
            table.sortable {
                caption { (caption) }
                thead { tr { @for (c, column) in columns.iter().enumerate() {
                    th scope="col" class=[class(c)] title=[&column.about] { (column.name) }
                } } }
                tbody { @for row in rows { tr { @for (c, cell) in row.into_iter().enumerate() {
                    @let key = cell.key.map(|key| key.to_string());
                    @if c == 0 {
                        th scope="row" class=[class(c)] data-key=[key] { (cell.shown) }
                    } @else {
                        td class=[class(c)] data-key=[key] { (cell.shown) }
                    }
                } } } }
            }
        }
    }
}

/// The class that colours a cell of a heat map: `h0` to `h10` from nothing to `largest`, `n1` to
/// `n10` below zero.
pub fn shade(value: f64, largest: f64) -> String {
    let share = value.abs() / largest;
    if !(share.is_finite() && share > 0.0) {
        return "h0".into();
    }
    let step = (share.min(1.0) * 10.0).ceil();
    format!("{}{step}", if value < 0.0 { 'n' } else { 'h' })
}

/// A bar that is full at `largest`: from the left or, with `both` signs, from the middle.
pub fn bar(value: f64, largest: f64, both: bool) -> Markup {
    let share = value / largest;
    let share = if share.is_finite() { share.clamp(-1.0, 1.0) } else { 0.0 };
    let (full, zero) = if both { (50.0, 50.0) } else { (100.0, 0.0) };
    let width = (share.abs() * full).max(if share == 0.0 { 0.0 } else { 0.5 });
    let left = if share < 0.0 { (zero - width).max(0.0) } else { zero };
    html! {
        svg.bar viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" focusable="false" {
            rect.back x="0" y="0" width="100" height="10" {}
            rect class=(if share < 0.0 { "less" } else { "more" })
                x=(format!("{left:.1}")) y="0" width=(format!("{width:.1}")) height="10" {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shades_grow_with_the_value_and_stay_in_range() {
        let step = |value: f64| shade(value, 2.0);
        assert_eq!([step(0.0), step(2.0), step(9.0)], ["h0", "h10", "h10"]);
        assert_eq!([step(-2.0), step(-0.1), step(0.1)], ["n10", "n1", "h1"]);
        assert_eq!([shade(1.0, 0.0), shade(f64::NAN, 1.0)], ["h0", "h0"]);
    }

    #[test]
    fn tables_name_their_columns_and_rows() {
        let columns = [TableColumn::text("query"), TableColumn::number("nDCG@10").about("gain")];
        let rows = vec![vec![Cell::text("<a>"), Cell::number(0.25, 2)]];
        let html = table("Per query", &columns, rows).into_string();
        for text in [
            "<caption>Per query</caption>",
            "<th scope=\"col\" class=\"n\" title=\"gain\">nDCG@10</th>",
            "<th scope=\"row\">&lt;a&gt;</th>",
            "<td class=\"n\" data-key=\"0.25\">0.25</td>",
        ] {
            assert!(html.contains(text), "no {text} in {html}");
        }
    }
}
