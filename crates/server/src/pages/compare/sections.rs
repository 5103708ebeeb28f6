//! The sections of the Compare page: the form, the tables, and what is shown where there are none.

use liken::eval::{Against, Candidates, Cell, RunComparison};
use liken_engine::Changed;
use maud::{Markup, html};

use super::caveats;
use super::choice::{Choice, JudgedBy, System};
use super::judged_queries::JudgedQueries;
use super::plots;
use crate::pages::layout::{
    self, TableColumn, Tone, count, empty, figure, fixed, notice, signed, table,
};
use crate::pages::page_jobs::plots as side_by_side;
use crate::pages::page_params::PageParams;

/// What to compare, and how.
pub fn form(asked: &PageParams, choice: &Choice, all: &[System]) -> Markup {
    let chosen = |system: &System| choice.systems.iter().any(|e| e.key() == system.key());
    let is_baseline = |system: &System| {
        choice.systems.get(choice.baseline).is_some_and(|e| e.key() == system.key())
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
                            option value=(name) selected[by == choice.by] { (about) }
                        }
                    }
                }
                div.field {
                    label for="measures" { "Measures" }
                    input #measures type="text" name="measures" value=(choice.measures) size="30";
                }
                div.field {
                    label for="candidates" { "Documents ranked" }
                    select #candidates name="candidates" {
                        @for (which, name, about) in candidates {
                            option value=(name) selected[which == choice.wanted] { (about) }
                        }
                    }
                }
                label.check {
                    input type="checkbox" name="missing" value="zero" checked[choice.complete];
                    "count missing queries as 0"
                }
                button.main type="submit" { "Compare" }
            }
            // Which queries are shown, and how, stays as it was.
            @for (name, value) in asked.except(&[
                "runs", "add", "baseline", "on", "qrels", "measures", "candidates", "missing", "page", "sort", "of",
            ]) {
                input type="hidden" name=(name) value=(value);
            }
        }
    }
}

/// Says so where the index has other documents than those that are ranked.
pub fn changed(changed: Changed, by: JudgedBy) -> Markup {
    let mut said = Vec::new();
    if changed.added > 0 {
        let are = if changed.added == 1 { "is" } else { "are" };
        said.push(format!(
            "{} written after training {are} not ranked",
            count(changed.added, "document")
        ));
    }
    if changed.removed > 0 {
        let are = if changed.removed == 1 { "is" } else { "are" };
        let gone = count(changed.removed, "document");
        said.push(format!("{gone} deleted or replaced since {are} still ranked"));
    }
    html! { @if !said.is_empty() {
        (notice(Tone::Plain, html! {
            "Models rank the documents that they were trained with: " (said.join("; ")) "."
            @if changed.added > 0 && by == JudgedBy::Page { " Grades of unseen documents count against every model." }
            " To compare with the current documents, train models on them and load these."
        }))
    } }
}

/// The whole comparison.
pub fn results(
    asked: &PageParams,
    choice: &Choice,
    questions: &JudgedQueries,
    comparison: &RunComparison,
) -> Markup {
    html! {
        h2 { "Means" }
        (caveats::doubts(choice, questions, comparison))
        (means(comparison))
        (caveats::how(choice, questions, comparison))
        (figure(
            "The mean of each system with its 95 % confidence interval; the diamond is the baseline.",
            side_by_side(&plots::intervals(comparison)),
        ))
        @if comparison.rows.len() > 1 {
            details {
                summary { "Differences and tests in full" }
                (tests(comparison))
            }
            (super::by_query::by_query(asked, choice, questions, comparison))
        } @else {
            p.quiet { "Choose a second model or run to see which queries it wins and loses." }
        }
    }
}

fn means(comparison: &RunComparison) -> Markup {
    let cell = |cell: &Cell| match (cell.mean, cell.interval) {
        (Some(mean), Some(interval)) => layout::Cell {
            shown: html! {
                strong { (fixed(mean, 4)) } (stars(cell.against.as_ref())) " "
                span.quiet { "[" (fixed(interval.low, 3)) ", " (fixed(interval.high, 3)) "]" }
            },
            key: Some(mean),
        },
        _ => layout::Cell::text("–"),
    };
    let rows = comparison.rows.iter().enumerate().map(|(r, row)| {
        let baseline = r == comparison.baseline_row;
        let name = layout::Cell::markup(html! {
            (row.name) @if baseline { " " span.quiet { "(baseline)" } }
        });
        std::iter::once(name).chain(row.cells.iter().map(cell)).collect()
    });
    let mut columns = vec![TableColumn::text("system")];
    columns.extend(comparison.measures.iter().map(TableColumn::number));
    table("Means over the queries", &columns, rows.collect())
}

fn stars(against: Option<&Against>) -> &'static str {
    match against {
        Some(against) if against.t_holm < 0.01 => "**",
        Some(against) if against.t_holm < 0.05 => "*",
        _ => "",
    }
}

fn tests(comparison: &RunComparison) -> Markup {
    let p = |value: f64| layout::Cell {
        shown: html! { (if value < 0.0001 { "<0.0001".to_owned() } else { fixed(value, 4) }) },
        key: Some(value),
    };
    let mut lines = Vec::new();
    for row in &comparison.rows {
        for (measure, cell) in comparison.measures.iter().zip(&row.cells) {
            let Some(against) = cell.against else { continue };
            let (wins, ties, losses) = against.wins_ties_losses;
            lines.push(vec![
                layout::Cell::text(&row.name),
                layout::Cell::text(measure),
                layout::Cell {
                    shown: html! { (signed(against.difference, 4)) },
                    key: Some(against.difference),
                },
                against
                    .effect_size
                    .map_or_else(|| layout::Cell::text("–"), |d| layout::Cell::number(d, 2)),
                p(against.t),
                p(against.t_holm),
                p(against.t_bh),
                p(against.sign),
                p(against.randomisation),
                p(against.bootstrap),
                layout::Cell::number(wins as f64, 0),
                layout::Cell::number(ties as f64, 0),
                layout::Cell::number(losses as f64, 0),
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

/// Shown where the index has no dataset.
pub fn no_dataset() -> Markup {
    empty(
        "This index has no dataset inside",
        html! { p {
            "Build the index again from a dataset, or use the grades given on the " a href="/judge" { "Judge page" } ": "
            a href="/compare?on=judged" { "compare by those" } "."
        } },
    )
}

/// Shown where no model was trained on the dataset.
pub fn no_model_of_the_dataset() -> Markup {
    empty(
        "None of the active models was trained on the dataset of this index",
        html! { p {
            "Load one with " code { "POST /models" } ", or "
            a href="/compare?on=judged" { "compare by the grades of the Judge page" } "."
        } },
    )
}

/// Shown where there are no judgments.
pub fn nothing_judged(by: JudgedBy) -> Markup {
    match by {
        JudgedBy::Page => empty(
            "Nothing has been judged yet",
            html! { p {
                "Grade some results on the " a href="/judge" { "Judge page" }
                "; they count here at once."
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
