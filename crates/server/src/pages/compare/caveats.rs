//! Notes on the comparison: the method of measurement, and sources of bias.

use liken::eval::{Candidates, RunComparison};
use maud::{Markup, html};

use super::params::CompareParams;
use crate::pages::judged_queries::{DEPTH, JudgedQueries};
use crate::pages::layout::{NoticeKind, count, grouped, notice};

/// The method of the measurement in a paragraph.
pub fn how(params: &CompareParams, judged: &JudgedQueries, comparison: &RunComparison) -> Markup {
    let queries = count(comparison.queries.len(), "query");
    let left_out = match comparison.judged_queries - comparison.queries.len() {
        0 => String::new(),
        n => format!(" ({} without results in every run left out)", grouped(n)),
    };
    html! {
        p.quiet.small.how {
            (queries) (left_out) ". " strong { "Candidates: " } (candidates(params, judged))
            ", and the first " (grouped(DEPTH)) " results of every query. nDCG and ERR count a grade g as 2"
            sup { "g" } " − 1 (exponential gain). Means with 95 % bootstrap intervals; * p < 0.05, ** p < 0.01 by a paired t-test against "
            strong { (comparison.baseline) } ", corrected by Holm."
        }
    }
}

/// The documents that were ranked, and why.
fn candidates(params: &CompareParams, judged: &JudgedQueries) -> String {
    let mut text = String::from(match (judged.judged_only, params.with_run()) {
        (true, _) => "the judged documents of each query alone",
        (false, false) => "all documents; unjudged ones count as not relevant",
        (false, true) if params.wanted == Candidates::Auto => {
            "all documents, because a run has what its engine retrieved rather than what was \
             judged; unjudged documents count as not relevant"
        }
        (false, true) => "all documents; unjudged ones count as not relevant",
    });
    if judged.queries.iter().any(|query| !query.excluded.is_empty()) {
        text.push_str("; documents clicked for a query in training are left out for it");
    }
    text
}

/// Warnings about a possible bias of rows.
pub fn warnings(
    params: &CompareParams,
    judged: &JudgedQueries,
    comparison: &RunComparison,
) -> Markup {
    let complete = params.complete;
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let mut warnings: Vec<String> = Vec::new();
    if judged.judged_only && params.with_run() {
        warnings.push(
            "Models rank all judged documents, a run only those that its engine retrieved: it may \
             look worse by that alone. Choose “all documents” for a fair comparison."
                .into(),
        );
    }
    for row in &comparison.rows {
        let name = &row.name;
        if row.caveats.missing > 0 {
            let effect = if complete { "they count as 0" } else { "they do not count" };
            let missing = count(row.caveats.missing, "judged query");
            warnings.push(format!("{name}: no results for {missing}; {effect}."));
        }
        if row.caveats.tied > 0.1 {
            let tied = percent(row.caveats.tied);
            warnings.push(format!("{name}: {tied} of the results have the same score as another of their query; ties are broken by descending id."));
        }
        if row.caveats.judged < 0.5 {
            let judged = percent(row.caveats.judged);
            warnings.push(format!("{name}: only {judged} of the first ten results are judged; the others count as not relevant."));
        }
    }
    html! {
        @if !warnings.is_empty() {
            (notice(NoticeKind::Warning, html! { ul { @for line in &warnings { li { (line) } } } }))
        }
    }
}
