//! The sections of the Data page: Table 1, plots and notes.

use liken::features::{ClickHistogram, TableOne};
use liken_pages::{Axis, Chart, Mark, Panel, Point, Series};
use maud::{Markup, html};

use crate::pages::charts;
use crate::pages::dataset_stats::{Bins, DatasetStats};
use crate::pages::layout::{self, Cell, TableColumn, count, figure, fixed, grouped, plots};

/// All sections.
pub fn sections(stats: &DatasetStats) -> Markup {
    html! {
        @if let Some(table) = &stats.table {
            h2 { "Table 1" }
            (table_one(table))
        }
        h2 { "Distribution of clicks and words" }
        @if let Some(clicks) = &stats.clicks {
            @let bins = click_bins(clicks);
            @let queries: Bins = bins.iter().map(|(name, queries, _)| (name.clone(), *queries)).collect();
            @let pairs: Bins = bins.iter().map(|(name, _, pairs)| (name.clone(), *pairs)).collect();
            (figure(
                "Training queries by their clicks, and pairs of query and document by theirs.",
                plots(&bars(&[("Queries by clicks", "clicks", "queries", &queries), ("Pairs by clicks", "clicks", "pairs", &pairs)])),
            ))
            @if clicks.negative > 0 { p.small { "In no bin: " (count(clicks.negative, "pair")) " with a weight below zero." } }
        }
        @if !stats.documents_per_query.is_empty() {
            (figure(
                "Training queries by their clicked documents, and clicked documents by their training queries.",
                plots(&bars(&[
                    ("Documents of a query", "clicked documents", "queries", &stats.documents_per_query),
                    ("Queries of a document", "queries", "documents", &stats.queries_per_document),
                ])),
            ))
        }
        (figure(
            "Lengths in terms of the analyser.",
            plots(&bars(&[
                ("Length of queries", "terms", "queries", &stats.query_lengths),
                ("Length of documents", "terms", "documents", &stats.document_lengths),
            ])),
        ))
        @let rates: Vec<&(u64, u64)> = stats.by_rank.iter().filter(|(shown, _)| *shown > 0).collect();
        @if !rates.is_empty() {
            (figure("The share of impressions of each rank that were clicked.", plots(&[click_through(&stats.by_rank)])))
        }
        @let graded: Vec<(&str, Bins)> = ["validation", "test"].into_iter().zip(&stats.grades)
            .filter(|(_, grades)| !grades.is_empty())
            .map(|(name, grades)| (name, grades.iter().map(|(grade, n)| (grade.to_string(), *n)).collect()))
            .collect();
        @if !graded.is_empty() {
            @let titles: Vec<String> = graded.iter().map(|(name, _)| format!("Grades in {name}")).collect();
            @let panels: Vec<(&str, &str, &str, &Bins)> = graded.iter().zip(&titles)
                .map(|((_, bins), title)| (title.as_str(), "grade", "pairs", bins)).collect();
            (figure("Judged pairs of query and document by their grade.", plots(&bars(&panels))))
        }
        @if stats.agreement.pairs > 0 {
            p {
                (count(stats.agreement.pairs, "preference pair")) ": a clicked result beats an unclicked one above it."
                @if stats.agreement.judged > 0 {
                    @let share = |n: usize| fixed(100.0 * n as f64 / stats.agreement.judged as f64, 1);
                    " Of the " (grouped(stats.agreement.judged)) " that are judged, judgments contradict " (share(stats.agreement.contradicted)) " %."
                }
            }
        }
        @if stats.unread.queries + stats.unread.documents > 0 {
            p.small { "Without a term after analysis: " (count(stats.unread.queries, "query")) " and " (count(stats.unread.documents, "document")) "." }
        }
    }
}

/// The statistics of Table 1: name, value, whether it is a whole number, and meaning.
pub fn statistics(table: &TableOne) -> [(&'static str, f64, bool, &'static str); 13] {
    let whole = |name, n: usize, meaning| (name, n as f64, true, meaning);
    let part = |name, x: f64, meaning| (name, x, false, meaning);
    [
        whole("n_x", table.n_x, "training queries"),
        whole("n_y", table.n_y, "documents with training clicks"),
        whole("words", table.words, "distinct words"),
        whole("d_x", table.d_x, "query features: words and documents"),
        whole("d_y", table.d_y, "document features: words and queries"),
        part("c_x", table.c_x, "non-zeros per query"),
        part("c_y", table.c_y, "non-zeros per document"),
        part("ñ^y", table.docs_per_query, "clicked documents per query"),
        part("ñ^x", table.queries_per_doc, "queries per clicked document"),
        part("N_x", table.queries_per_feature, "queries per feature"),
        part("N_y", table.docs_per_feature, "documents per feature"),
        part("W_x", table.w_x, "non-zeros per row of C = XᵀRY"),
        part("W_y", table.w_y, "non-zeros per column of C"),
    ]
}

fn table_one(table: &TableOne) -> Markup {
    let rows = statistics(table).map(|(name, value, whole, meaning)| {
        let value = if whole { Cell::count(value as usize) } else { Cell::number(value, 2) };
        vec![Cell::text(name), value, Cell::text(meaning)]
    });
    let columns = [
        TableColumn::text("statistic"),
        TableColumn::number("value"),
        TableColumn::text("meaning"),
    ];
    layout::table("Table 1: size and sparsity of the dataset", &columns, rows.into_iter().collect())
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

/// Bar charts: title, quantity of the bins, what is counted, and the bins.
fn bars(charts: &[(&str, &str, &str, &Bins)]) -> Vec<String> {
    let svg = |&(title, of, counted, bins): &(&str, &str, &str, &Bins)| {
        let bar = |(name, n): &(String, usize)| {
            (name.clone(), *n as f64, format!("{name} {of}: {} {counted}", grouped(*n)))
        };
        let y = Axis::linear(counted).from_zero();
        let panel = charts::bars(title, of, y, bins.iter().map(bar));
        let words: Vec<String> = bins.iter().map(|(name, n)| format!("{name} {of}: {n}")).collect();
        let about = format!("{title} ({counted}): {}", words.join(", "));
        Chart { about, ..Chart::of(vec![panel]) }.svg()
    };
    charts.iter().map(svg).collect()
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
