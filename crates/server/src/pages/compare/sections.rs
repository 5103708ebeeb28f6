//! The sections of the Compare page: the form, the tables, and their placeholders.

use liken::eval::{self, Candidates, PairedDifference, RunComparison};
use liken_engine::Changed;
use maud::{Markup, html};

use super::caveats;
use super::params::{CompareParams, JudgedBy, System};
use super::plots;
use crate::pages::judged_queries::JudgedQueries;
use crate::pages::layout::{
    Cell, NoticeKind, TableColumn, count, empty, figure, fixed, notice, plots as side_by_side,
    signed, table,
};
use crate::pages::page_params::PageParams;

/// The form: systems, baseline, judgments, measures and candidates.
pub fn form(asked: &PageParams, params: &CompareParams, all: &[System]) -> Markup {
    let chosen = |system: &System| params.systems.iter().any(|e| e.key() == system.key());
    let is_baseline = |system: &System| {
        params.systems.get(params.baseline).is_some_and(|e| e.key() == system.key())
    };
    let candidates = [
        (
            Candidates::Auto,
            "auto",
            "auto: all with runs; else judged ones, if some are judged not relevant",
        ),
        (Candidates::All, "all", "all documents"),
        (Candidates::Judged, "judged", "judged documents only"),
    ];
    html! {
        form method="get" action="/compare" {
            fieldset.fields {
                legend { "Models and runs" }
                @for system in all {
                    label.check {
                        input type="checkbox" name="runs" value=(system.key()) checked[chosen(system)];
                        span { (system.name()) @if system.model().is_none() { " " span.quiet { "(run)" } } }
                    }
                }
            }
            div.fields {
                div.field {
                    label for="baseline" { "Test against" }
                    select #baseline name="baseline" {
                        @for system in all {
                            option value=(system.key()) selected[is_baseline(system)] { (system.name()) }
                        }
                    }
                }
                div.field {
                    label for="on" { "Judged by" }
                    select #on name="on" {
                        @for (by, name, about) in JudgedBy::NAMES {
                            option value=(name) selected[by == params.by] { (about) }
                        }
                    }
                }
                div.field {
                    label for="measures" { "Measures" }
                    input #measures type="text" name="measures" value=(params.measures) size="30";
                }
                div.field {
                    label for="candidates" { "Documents ranked" }
                    select #candidates name="candidates" {
                        @for (which, name, about) in candidates {
                            option value=(name) selected[which == params.wanted] { (about) }
                        }
                    }
                }
                label.check {
                    input type="checkbox" name="missing" value="zero" checked[params.complete];
                    "count missing queries as 0"
                }
                button.main type="submit" { "Compare" }
            }
            // The parameters of the list of queries are kept.
            @for (name, value) in asked.except(&[
                "runs", "add", "baseline", "on", "qrels", "measures", "candidates", "missing", "page", "sort", "of",
            ]) {
                input type="hidden" name=(name) value=(value);
            }
        }
    }
}

/// A note if the index has other documents than those that are ranked.
pub fn changed(changed: Changed, by: JudgedBy) -> Markup {
    let be = |n: usize| if n == 1 { "is" } else { "are" };
    let mut notes = Vec::new();
    if changed.added > 0 {
        let (added, be) = (count(changed.added, "document"), be(changed.added));
        notes.push(format!("{added} written after training {be} not ranked"));
    }
    if changed.removed > 0 {
        let (removed, be) = (count(changed.removed, "document"), be(changed.removed));
        notes.push(format!("{removed} deleted or replaced since {be} still ranked"));
    }
    html! { @if !notes.is_empty() {
        (notice(NoticeKind::Info, html! {
            "Models rank the documents that they were trained with: " (notes.join("; ")) "."
            @if changed.added > 0 && by == JudgedBy::Page { " Grades of unseen documents count against every model." }
            " To compare with the current documents, train models on them and load these."
        }))
    } }
}

/// The results of a comparison.
pub fn results(
    asked: &PageParams,
    params: &CompareParams,
    judged: &JudgedQueries,
    comparison: &RunComparison,
) -> Markup {
    html! {
        h2 { "Means" }
        (caveats::warnings(params, judged, comparison))
        (means(comparison))
        (caveats::how(params, judged, comparison))
        (figure(
            "The mean of each system with its 95 % confidence interval; the diamond is the baseline.",
            side_by_side(&plots::intervals(comparison)),
        ))
        @if comparison.rows.len() > 1 {
            details {
                summary { "Differences and tests in full" }
                (tests(comparison))
            }
            (super::by_query::by_query(asked, params, judged, comparison))
        } @else {
            p.quiet { "Choose a second model or run to compare the two query by query." }
        }
    }
}

fn means(comparison: &RunComparison) -> Markup {
    let cell = |cell: &eval::Cell| match (cell.mean, cell.interval) {
        (Some(mean), Some(interval)) => Cell {
            shown: html! {
                strong { (fixed(mean, 4)) } (stars(cell.against.as_ref())) " "
                span.quiet { "[" (fixed(interval.low, 3)) ", " (fixed(interval.high, 3)) "]" }
            },
            key: Some(mean),
        },
        _ => Cell::text("–"),
    };
    let rows = comparison.rows.iter().enumerate().map(|(r, row)| {
        let baseline = r == comparison.baseline_row;
        let name = Cell::markup(html! {
            (row.name) @if baseline { " " span.quiet { "(baseline)" } }
        });
        std::iter::once(name).chain(row.cells.iter().map(cell)).collect()
    });
    let mut columns = vec![TableColumn::text("system")];
    columns.extend(comparison.measures.iter().map(TableColumn::number));
    table("Means over the queries", &columns, rows.collect())
}

fn stars(against: Option<&PairedDifference>) -> &'static str {
    match against {
        Some(against) if against.t_holm < 0.01 => "**",
        Some(against) if against.t_holm < 0.05 => "*",
        _ => "",
    }
}

fn tests(comparison: &RunComparison) -> Markup {
    let p = |value: f64| match value {
        value if value < 0.0001 => Cell::value(value, "<0.0001"),
        value => Cell::number(value, 4),
    };
    let mut lines = Vec::new();
    for row in &comparison.rows {
        for (measure, cell) in comparison.measures.iter().zip(&row.cells) {
            let Some(against) = cell.against else { continue };
            let (wins, ties, losses) = against.wins_ties_losses;
            lines.push(vec![
                Cell::text(&row.name),
                Cell::text(measure),
                Cell::value(against.difference, &signed(against.difference, 4)),
                against.effect_size.map_or_else(|| Cell::text("–"), |d| Cell::number(d, 2)),
                p(against.t),
                p(against.t_holm),
                p(against.t_bh),
                p(against.sign),
                p(against.randomisation),
                p(against.bootstrap),
                Cell::count(wins),
                Cell::count(ties),
                Cell::count(losses),
            ]);
        }
    }
    let number = |name: &str, about: &str| TableColumn::number(name).about(about);
    let columns = [
        TableColumn::text("system"),
        TableColumn::text("measure"),
        number("difference", "mean difference to the baseline"),
        number("Cohen’s d", "the difference in units of its standard deviation over queries"),
        number("p: t", "paired t-test"),
        number("t (Holm)", "the same, corrected for multiple comparisons by Holm"),
        number("t (B–H)", "the same, corrected by Benjamini and Hochberg"),
        number("sign", "sign test"),
        number("randomisation", "Fisher’s randomisation test"),
        number("bootstrap", "bootstrap test"),
        number("wins", "queries for which the system is better"),
        number("ties", "queries without a difference"),
        number("losses", "queries for which the baseline is better"),
    ];
    let caption = format!("Difference to {} and p-values", comparison.baseline);
    table(&caption, &columns, lines)
}

/// The placeholder if the index has no dataset.
pub fn no_dataset() -> Markup {
    empty(
        "This index has no dataset inside",
        html! { p {
            "Build the index again from a dataset, or use the grades given on the " a href="/judge" { "Judge page" } ": "
            a href="/compare?on=judged" { "compare by those" } "."
        } },
    )
}

/// The placeholder if no model was trained on the dataset.
pub fn no_model_of_the_dataset() -> Markup {
    empty(
        "None of the active models was trained on the dataset of this index",
        html! { p {
            "Load one with " code { "POST /models" } ", or "
            a href="/compare?on=judged" { "compare by the grades of the Judge page" } "."
        } },
    )
}

/// The placeholder if there are no judgments.
pub fn nothing_judged(by: JudgedBy) -> Markup {
    match by {
        JudgedBy::Page => empty(
            "Nothing has been judged yet",
            html! { p {
                "Grade some results on the " a href="/judge" { "Judge page" }
                "; comparisons use them at once."
            } },
        ),
        JudgedBy::HeldOut(_) => empty(
            "The dataset has no such queries",
            html! { p {
                "Import it with judgments or with " code { "split = queries, test = 0.1" }
                ", or judge results on the " a href="/judge" { "Judge page" } "."
            } },
        ),
    }
}
