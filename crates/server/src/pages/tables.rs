//! Tables that can be ordered, bars, and the shades of heat maps.

use maud::{Markup, html};

use super::wording::{fixed, some};

/// A column of a [`table`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableColumn {
    /// Its heading.
    pub name: String,
    /// What it means, as a tooltip of the heading.
    pub about: String,
    /// Whether it holds numbers: aligned to the right and ordered as numbers.
    pub number: bool,
    /// Whether the rows come ordered by it.
    pub sorted: Option<Order>,
}

/// How rows are ordered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Order {
    /// Smallest first.
    Ascending,
    /// Largest first.
    Descending,
}

impl TableColumn {
    /// A column of text.
    pub fn text(name: impl Into<String>) -> Self {
        TableColumn { name: name.into(), about: String::new(), number: false, sorted: None }
    }

    /// A column of numbers.
    pub fn number(name: impl Into<String>) -> Self {
        TableColumn { number: true, ..TableColumn::text(name) }
    }

    /// With an explanation.
    pub fn about(self, about: impl Into<String>) -> Self {
        TableColumn { about: about.into(), ..self }
    }

    /// The column by which the rows come ordered.
    pub fn sorted(self, order: Order) -> Self {
        TableColumn { sorted: Some(order), ..self }
    }
}

/// A cell of a [`table`].
pub struct Cell {
    /// What it shows.
    pub shown: Markup,
    /// What it is ordered by, where that is not the text shown.
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

    /// A number, shown with so many digits after the point.
    pub fn number(value: f64, digits: usize) -> Self {
        Cell { shown: html! { (fixed(value, digits)) }, key: Some(value) }
    }
}

/// A table that the script lets readers order by a click (or Enter) on a heading, and that
/// scrolls inside its frame where the page is narrow. The first cell of each row is its heading.
pub fn table(caption: &str, columns: &[TableColumn], rows: Vec<Vec<Cell>>) -> Markup {
    let class = |c: usize| columns.get(c).filter(|column| column.number).map(|_| "n");
    html! {
        div.wide tabindex="0" role="region" aria-label=(caption) {
            table.sortable {
                caption { (caption) }
                thead { tr { @for (c, column) in columns.iter().enumerate() {
                    th scope="col" class=[class(c)] title=[some(&column.about)]
                        aria-sort=[column.sorted.map(|order| match order {
                            Order::Ascending => "ascending",
                            Order::Descending => "descending",
                        })] { (column.name) }
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

/// A bar from the left, or, if `both` sides occur, from the middle; full at `largest`.
pub fn bar(value: f64, largest: f64, both: bool) -> Markup {
    let share = value / largest;
    let share = if share.is_finite() { share.clamp(-1.0, 1.0) } else { 0.0 };
    let (room, zero) = if both { (50.0, 50.0) } else { (100.0, 0.0) };
    let width = (share.abs() * room).max(if share == 0.0 { 0.0 } else { 0.5 });
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
    fn tables_name_their_columns_rows_and_order() {
        let columns =
            [TableColumn::text("query"), TableColumn::number("nDCG@10").sorted(Order::Descending)];
        let rows = vec![vec![Cell::text("<a>"), Cell::number(0.25, 2)]];
        let html = table("Per query", &columns, rows).into_string();
        for text in [
            "<caption>Per query</caption>",
            "<th scope=\"col\" class=\"n\" aria-sort=\"descending\">nDCG@10</th>",
            "<th scope=\"row\">&lt;a&gt;</th>",
            "<td class=\"n\" data-key=\"0.25\">0.25</td>",
        ] {
            assert!(html.contains(text), "no {text} in {html}");
        }
    }
}
