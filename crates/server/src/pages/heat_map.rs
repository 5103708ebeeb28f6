//! Heat maps of a matcher's score: the contribution of each pair of a query word and a document
//! word, in a table whose sums are the score.

use std::collections::HashMap;

use maud::{Markup, html};

use super::layout::{count, fixed, shade};
use crate::api::types::PartExplanation;

/// The most columns; if there are more document words, the weakest share one.
const MOST_COLUMNS: usize = 8;

/// Contributions as a grid. Each is counted exactly once.
#[derive(Debug, Clone, PartialEq)]
pub struct Grid {
    /// The query words with their sums, the strongest first.
    pub rows: Vec<(String, f64)>,
    /// The document words with their sums, the strongest first.
    pub columns: Vec<(String, f64)>,
    /// The contribution of a row and a column; none where it is part of the rest.
    pub cells: Vec<Vec<Option<f64>>>,
    /// By row the contributions of words without a column; `None` if every word has one.
    pub others: Option<Vec<f64>>,
    /// The number of pairs that are too small to be listed, and their sum.
    pub rest: (usize, f64),
    /// The sum of all.
    pub total: f64,
}

impl Grid {
    /// The grid of a part.
    pub fn of(part: &PartExplanation) -> Self {
        let rows =
            strongest(part.contributions.iter().map(|line| (line.query.as_str(), line.value)));
        let mut columns =
            strongest(part.contributions.iter().map(|line| (line.doc.as_str(), line.value)));
        let more = columns.len() > MOST_COLUMNS;
        if more {
            // One fewer, for the shared column.
            columns.truncate(MOST_COLUMNS - 1);
        }
        let positions = |list: &[(String, f64)]| -> HashMap<String, usize> {
            list.iter().enumerate().map(|(i, (name, _))| (name.clone(), i)).collect()
        };
        let (row_of, column_of) = (positions(&rows), positions(&columns));
        let mut cells = vec![vec![None; columns.len()]; rows.len()];
        let mut others = vec![0.0; rows.len()];
        for line in &part.contributions {
            let row = row_of[&line.query];
            match column_of.get(&line.doc) {
                Some(&column) => *cells[row][column].get_or_insert(0.0) += line.value,
                None => others[row] += line.value,
            }
        }
        let total = rows.iter().map(|(_, sum)| sum).sum::<f64>() + part.rest;
        let others = more.then_some(others);
        Grid { rows, columns, cells, others, rest: (part.n_rest, part.rest), total }
    }

    fn largest(&self) -> f64 {
        let cells = self.cells.iter().flatten().flatten();
        cells.chain(self.others.iter().flatten()).fold(0.0, |most: f64, v| most.max(v.abs()))
    }
}

/// Names with the sums of their values, the largest absolute sum first.
fn strongest<'a>(values: impl Iterator<Item = (&'a str, f64)>) -> Vec<(String, f64)> {
    let mut place: HashMap<&str, usize> = HashMap::new();
    let mut sums: Vec<(String, f64)> = Vec::new();
    for (name, value) in values {
        let at = *place.entry(name).or_insert_with(|| {
            sums.push((name.to_owned(), 0.0));
            sums.len() - 1
        });
        sums[at].1 += value;
    }
    sums.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()));
    sums
}

/// The digits after the point that show three significant digits of `largest`.
pub fn digits(largest: f64) -> usize {
    if !(largest.is_finite() && largest > 0.0) {
        return 2;
    }
    (2.0 - largest.log10().floor()).clamp(0.0, 6.0) as usize
}

/// The heat map of a part.
pub fn heat_map(part: &PartExplanation) -> Markup {
    let grid = Grid::of(part);
    let largest = grid.largest();
    let d = digits(largest.max(grid.total.abs()).max(grid.rest.1.abs()));
    let cell = |value: Option<f64>, pair: &str, none: Option<&str>| {
        let class = value.map_or_else(|| "quiet".to_owned(), |value| shade(value, largest));
        let title = match value {
            Some(value) => Some(format!("{pair}: {}", fixed(value, d + 2))),
            None => none.map(|none| format!("{pair}: {none}")),
        };
        let shown = value.map_or_else(|| "·".to_owned(), |value| fixed(value, d));
        html! { td class={ "n " (class) } title=[title] { (shown) } }
    };
    let caption = "Contribution of each pair of a word of the query (rows) and a word of the document \
                   (columns) to the score: blue is positive, orange negative.";
    html! {
        div.wide tabindex="0" role="region" aria-label="Heat map of words" {
            table.heat {
                caption { (caption) }
                thead { tr {
                    td.corner { span.hush { "word of the query" } }
                    @for (word, _) in &grid.columns { th.word scope="col" { (word) } }
                    @if grid.others.is_some() { th.word scope="col" { "other words" } }
                    th.n scope="col" { "sum" }
                } }
                tbody {
                    @for (r, (word, sum)) in grid.rows.iter().enumerate() {
                        tr {
                            th scope="row" { (word) }
                            @for (c, (doc, _)) in grid.columns.iter().enumerate() {
                                (cell(grid.cells[r][c], &format!("{word} × {doc}"), Some("among the smaller ones")))
                            }
                            @if let Some(others) = &grid.others {
                                (cell(Some(others[r]).filter(|v| *v != 0.0), &format!("{word} × other words"), None))
                            }
                            td.n.sum { (fixed(*sum, d)) }
                        }
                    }
                    @if grid.rest.0 > 0 || grid.rest.1 != 0.0 {
                        tr {
                            th scope="row" colspan=(1 + grid.columns.len() + usize::from(grid.others.is_some())) {
                                @if grid.rest.0 > 0 { "all smaller ones (" (count(grid.rest.0, "pair")) ")" }
                                @else { "rounding" }
                            }
                            td.n.sum { (fixed(grid.rest.1, d)) }
                        }
                    }
                }
                tfoot { tr {
                    th scope="row" { "sum" }
                    @for (_, sum) in &grid.columns { td.n { (fixed(*sum, d)) } }
                    @if let Some(others) = &grid.others { td.n { (fixed(others.iter().sum(), d)) } }
                    td.n title={ "score of " (part.method) } { strong { (fixed(grid.total, d)) } }
                } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::api::types::Contribution;

    fn part(pairs: &[(u8, u8, f64)], rest: f64) -> PartExplanation {
        let lines = pairs
            .iter()
            .map(|&(q, d, value)| Contribution {
                query: format!("q{q}"),
                doc: format!("d{d}"),
                value,
            })
            .collect();
        let score = pairs.iter().map(|p| p.2).sum::<f64>() + rest;
        PartExplanation {
            method: "rmls".into(),
            lexical: false,
            weight: 1.0,
            score,
            contribution: score,
            contributions: lines,
            n_rest: 7,
            rest,
        }
    }

    proptest! {
        #[test]
        fn rows_columns_and_cells_add_up_to_the_score(
            pairs in prop::collection::vec((0u8..6, 0u8..20, -3.0f64..3.0), 0..40),
            rest in -1.0f64..1.0,
        ) {
            let part = part(&pairs, rest);
            let grid = Grid::of(&part);
            let near = |a: f64, b: f64| (a - b).abs() < 1e-9;
            prop_assert!(grid.columns.len() + usize::from(grid.others.is_some()) <= MOST_COLUMNS);
            prop_assert!(near(grid.total, part.score));
            for (r, (_, sum)) in grid.rows.iter().enumerate() {
                let shown: f64 = grid.cells[r].iter().flatten().sum();
                let others = grid.others.as_ref().map_or(0.0, |others| others[r]);
                prop_assert!(near(shown + others, *sum));
            }
            for (c, (_, sum)) in grid.columns.iter().enumerate() {
                let shown: f64 = grid.cells.iter().filter_map(|row| row[c]).sum();
                prop_assert!(near(shown, *sum));
            }
            let by_columns: f64 = grid.columns.iter().map(|(_, sum)| sum).sum();
            let others: f64 = grid.others.iter().flatten().sum();
            prop_assert!(near(by_columns + others + grid.rest.1, part.score));
        }
    }

    #[test]
    fn the_table_says_its_numbers_and_escapes_words() {
        let mut part = part(&[(0, 0, 1.5), (0, 1, -0.25)], 0.125);
        part.contributions[0].doc = "<script>".into();
        let html = heat_map(&part).into_string();
        for text in [
            "<th class=\"word\" scope=\"col\">&lt;script&gt;</th>",
            "<td class=\"n h10\" title=\"q0 × &lt;script&gt;: 1.5000\">1.50</td>",
            "<td class=\"n n2\" title=\"q0 × d1: −0.2500\">−0.25</td>",
            "all smaller ones (7 pairs)",
            "<strong>1.38</strong>",
        ] {
            assert!(html.contains(text), "no {text} in {html}");
        }
        assert!(!html.contains("style="), "{html}");
    }

    #[test]
    fn digits_follow_the_largest_value() {
        assert_eq!([digits(123.0), digits(12.3), digits(1.5), digits(0.015)], [0, 1, 2, 4]);
        assert_eq!([digits(0.0), digits(f64::NAN), digits(1e-30)], [2, 2, 6]);
    }
}
