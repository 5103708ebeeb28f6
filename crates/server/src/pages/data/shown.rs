//! Table 1 and the plots of a dataset.

use liken::features::{ClickHistogram, TableOne};
use liken_pages::{Axis, Chart, Mark, Panel, Point, Series};
use maud::{Markup, html};

use super::figures::{Bins, Figures};
use crate::pages::layout::{self, Cell, TableColumn, figure, fixed, grouped};
use crate::pages::page_jobs::plots;

/// Table 1 and the plots.
pub fn shown(figures: &Figures) -> Markup {
    html! {
        @if let Some(table) = &figures.table {
            h2 { "Table 1" }
            (table_one(table))
        }
        h2 { "How clicks and words are spread" }
        @if let Some(clicks) = &figures.clicks {
            @let bins = click_bins(clicks);
            @let queries: Bins = bins.iter().map(|(name, queries, _)| (name.clone(), *queries)).collect();
            @let pairs: Bins = bins.iter().map(|(name, _, pairs)| (name.clone(), *pairs)).collect();
            (figure(
                "Training queries by all their clicks, and pairs of query and document by theirs.",
                plots(&bars(&[("Queries by clicks", "clicks", "queries", &queries), ("Pairs by clicks", "clicks", "pairs", &pairs)])),
            ))
            @if clicks.negative > 0 { p.small { (grouped(clicks.negative)) " pairs have a weight below zero and are in no bin." } }
        }
        @if !figures.documents_per_query.is_empty() {
            (figure(
                "Clicked documents of a training query, and training queries of a clicked document.",
                plots(&bars(&[
                    ("Documents of a query", "clicked documents", "queries", &figures.documents_per_query),
                    ("Queries of a document", "queries", "documents", &figures.queries_per_document),
                ])),
            ))
        }
        (figure(
            "Lengths in terms, as the analyser reads them.",
            plots(&bars(&[
                ("Length of queries", "terms", "queries", &figures.query_lengths),
                ("Length of documents", "terms", "documents", &figures.document_lengths),
            ])),
        ))
        @let rates: Vec<&(u64, u64)> = figures.by_rank.iter().filter(|(shown, _)| *shown > 0).collect();
        @if !rates.is_empty() {
            (figure("How often a result at each rank was clicked, of all times that it was shown.", plots(&[click_through(&figures.by_rank)])))
        }
        @let graded: Vec<(&str, Bins)> = ["validation", "test"].into_iter().zip(&figures.grades)
            .filter(|(_, grades)| !grades.is_empty())
            .map(|(name, grades)| (name, grades.iter().map(|(grade, n)| (grade.to_string(), *n)).collect()))
            .collect();
        @if !graded.is_empty() {
            @let titles: Vec<String> = graded.iter().map(|(name, _)| format!("Grades in {name}")).collect();
            @let panels: Vec<(&str, &str, &str, &Bins)> = graded.iter().zip(&titles)
                .map(|((_, bins), title)| (title.as_str(), "grade", "pairs", bins)).collect();
            (figure("Judged pairs of query and document by their grade.", plots(&bars(&panels))))
        }
        @if figures.agreement.pairs > 0 {
            p {
                (grouped(figures.agreement.pairs)) " preference pairs: a clicked result beats an unclicked one above it."
                @if figures.agreement.judged > 0 {
                    @let share = |n: usize| fixed(100.0 * n as f64 / figures.agreement.judged as f64, 1);
                    " Of the " (grouped(figures.agreement.judged)) " that are judged, judgments contradict " (share(figures.agreement.contradicted)) " %."
                }
            }
        }
        @if figures.unread.queries + figures.unread.documents > 0 {
            p.small { (grouped(figures.unread.queries)) " queries and " (grouped(figures.unread.documents)) " documents analyse to nothing." }
        }
    }
}

/// The statistics of Table 1: name, value, whether it is a whole number, and what it means.
pub fn statistics(table: &TableOne) -> [(&'static str, f64, bool, &'static str); 13] {
    let whole = |name, n: usize, meaning| (name, n as f64, true, meaning);
    let part = |name, x: f64, meaning| (name, x, false, meaning);
    [
        whole("n_x", table.n_x, "training queries"),
        whole("n_y", table.n_y, "documents with training clicks"),
        whole("words", table.words, "distinct words"),
        whole("d_x", table.d_x, "query features: words and documents"),
        whole("d_y", table.d_y, "document features: words and queries"),
        part("c_x", table.c_x, "non-zeros a query"),
        part("c_y", table.c_y, "non-zeros a document"),
        part("ñ^y", table.docs_per_query, "clicked documents a query"),
        part("ñ^x", table.queries_per_doc, "queries a clicked document"),
        part("N_x", table.queries_per_feature, "queries a feature"),
        part("N_y", table.docs_per_feature, "documents a feature"),
        part("W_x", table.w_x, "non-zeros a row of C = XᵀRY"),
        part("W_y", table.w_y, "non-zeros a column of C"),
    ]
}

fn table_one(table: &TableOne) -> Markup {
    let rows = statistics(table).map(|(name, value, whole, meaning)| {
        let value = match whole {
            true => Cell { shown: html! { (grouped(value as usize)) }, key: Some(value) },
            false => Cell::number(value, 2),
        };
        vec![Cell::text(name), value, Cell::text(meaning)]
    });
    let columns = [
        TableColumn::text("statistic"),
        TableColumn::number("value"),
        TableColumn::text("meaning"),
    ];
    layout::table(
        "Table 1: how large and how sparse the data are",
        &columns,
        rows.into_iter().collect(),
    )
}

/// The bins of a histogram of clicks: their names, queries and pairs.
pub fn click_bins(clicks: &ClickHistogram) -> Vec<(String, usize, usize)> {
    let mut above = None;
    let mut named = Vec::new();
    for &(bound, queries, pairs) in &clicks.bins {
        let name = match (bound, above) {
            (Some(bound), None) => format!("≤ {bound}"),
            (Some(bound), Some(above)) => format!("{above}–{bound}"),
            (None, above) => format!("> {}", above.unwrap_or_default()),
        };
        above = bound.or(above);
        named.push((name, queries, pairs));
    }
    named
}

/// Panels of bars: title, what the bins are, what is counted, and the bins.
fn bars(panels: &[(&str, &str, &str, &Bins)]) -> Vec<String> {
    let panel = |&(title, of, counted, bins): &(&str, &str, &str, &Bins)| {
        let mut series = Series::scatter("", 0, Mark::Bar);
        series.points = bins
            .iter()
            .enumerate()
            .map(|(at, (name, n))| {
                Point::new(at as f64, *n as f64)
                    .about(format!("{name} {of}: {} {counted}", grouped(*n)))
            })
            .collect();
        Panel {
            x: Axis::names(of, bins.iter().map(|(name, _)| name.clone()).collect()),
            y: Axis::linear(counted).from_zero(),
            series: vec![series],
            ..Panel::titled(title)
        }
    };
    let words = |&(title, of, counted, bins): &(&str, &str, &str, &Bins)| {
        let bins: Vec<String> = bins.iter().map(|(name, n)| format!("{name} {of}: {n}")).collect();
        format!("{title} ({counted}): {}", bins.join(", "))
    };
    let chart = |one| Chart { about: words(one), ..Chart::of(vec![panel(one)]) }.svg();
    panels.iter().map(chart).collect()
}

fn click_through(by_rank: &[(u64, u64)]) -> String {
    let mut series = Series { mark: Mark::Dot, ..Series::line("", 0) };
    let rate = |&(shown, clicked): &(u64, u64)| clicked as f64 / shown.max(1) as f64;
    let seen = || by_rank.iter().zip(1u32..).filter(|((shown, _), _)| *shown > 0);
    series.points = seen()
        .map(|(both, rank)| {
            let about = format!("rank {rank}: {} of {} clicked", both.1, both.0);
            Point::new(f64::from(rank), rate(both)).about(about)
        })
        .collect();
    let panel = Panel {
        x: Axis::linear("rank"),
        y: Axis::linear("clicked").from_zero(),
        series: vec![series],
        ..Panel::titled("Click-through by rank")
    };
    let words: Vec<String> =
        seen().map(|(both, rank)| format!("rank {rank} {}", fixed(rate(both), 3))).collect();
    Chart { about: format!("Share clicked: {}", words.join(", ")), ..Chart::of(vec![panel]) }.svg()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_of_clicks_have_names() {
        let clicks = ClickHistogram {
            bins: vec![(Some(3.0), 1, 2), (Some(10.0), 0, 0), (None, 4, 5)],
            negative: 0,
        };
        let names: Vec<String> = click_bins(&clicks).into_iter().map(|bin| bin.0).collect();
        assert_eq!(names, ["≤ 3", "3–10", "> 10"]);
    }
}
