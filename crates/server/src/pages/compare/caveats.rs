//! The notes at the table: how it was measured, and what casts doubt on a row.

use liken::eval::{Candidates, RunComparison};
use maud::{Markup, html};

use super::choice::Choice;
use super::judged_queries::JudgedQueries;
use super::ranking::DEPTH;
use crate::pages::layout::{self, Tone, notice};

/// A line that says what was measured how.
pub fn how(choice: &Choice, questions: &JudgedQueries, comparison: &RunComparison) -> Markup {
    let queries = layout::grouped(comparison.queries.len());
    let left_out = match comparison.judged_queries - comparison.queries.len() {
        0 => String::new(),
        n => format!(" ({} without results in every run left out)", layout::grouped(n)),
    };
    html! {
        p.quiet.small.how {
            (queries) " queries" (left_out) ". " strong { "Candidates: " } (candidates(choice, questions))
            ", and of every query the first " (layout::grouped(DEPTH)) " results. nDCG and ERR count a grade g as 2"
            sup { "g" } " − 1 (exponential gain). Means with 95 % bootstrap intervals; * p < 0.05, ** p < 0.01 by a paired t-test against "
            strong { (comparison.baseline) } ", corrected by Holm."
        }
    }
}

/// Which documents were ranked, and why those.
fn candidates(choice: &Choice, questions: &JudgedQueries) -> String {
    let mut said = String::from(match (questions.judged_only, choice.with_run()) {
        (true, _) => "the judged documents of each query alone",
        (false, false) => "all documents; unjudged ones count as not relevant",
        (false, true) if choice.wanted == Candidates::Auto => {
            "all documents, because a run has what its engine retrieved rather than what was \
             judged; unjudged documents count as not relevant"
        }
        (false, true) => "all documents; unjudged ones count as not relevant",
    });
    if questions.queries.iter().any(|query| !query.excluded.is_empty()) {
        said.push_str("; documents clicked for a query in training are left out for it");
    }
    said
}

/// Warns of what casts doubt on a row.
pub fn doubts(choice: &Choice, questions: &JudgedQueries, comparison: &RunComparison) -> Markup {
    let complete = choice.complete;
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut said: Vec<String> = Vec::new();
    if questions.judged_only && choice.with_run() {
        said.push(
            "Models rank every judged document, a run only those of them that its engine found: it \
             may look worse by that alone. Choose “all documents” to rank alike."
                .into(),
        );
    }
    for row in &comparison.rows {
        let name = &row.name;
        if row.doubts.missing > 0 {
            let effect = if complete { "they count as 0" } else { "they do not count" };
            let queries = if row.doubts.missing == 1 { "query" } else { "queries" };
            let missing = format!("{} judged {queries}", layout::grouped(row.doubts.missing));
            said.push(format!("{name}: no results for {missing}; {effect}."));
        }
        if row.doubts.tied > 0.1 {
            let tied = percent(row.doubts.tied);
            said.push(format!("{name}: {tied} of the results share their score with another of the query; their order is that of the ids, descending."));
        }
        if row.doubts.judged < 0.5 {
            let judged = percent(row.doubts.judged);
            said.push(format!("{name}: only {judged} of the first ten results are judged; the others count as not relevant."));
        }
    }
    html! {
        @if !said.is_empty() {
            (notice(Tone::Warn, html! { ul { @for line in &said { li { (line) } } } }))
        }
    }
}
