//! Checks after the split and before anything is written: errors for an unusable dataset, warnings for
//! a surprising one.

use std::collections::HashMap;

use super::dataset::{RelevanceSource, SplitBy};
use super::identity::identity;
use super::log::Log;
use super::queries::Queries;
use super::report::FilterReport;
use super::split::SplitPairs;
use super::split_name::SplitName;
use crate::{Error, Result, counted};

/// Refuses an empty training split.
pub(super) fn check_training(divided: &SplitPairs, log: &Log, by: SplitBy) -> Result<()> {
    if !divided.train.is_empty() {
        return Ok(());
    }
    let held_out = divided.validation.len() + divided.test.len();
    if held_out == 0 && divided.held_out_pairs.is_empty() {
        return Err(no_pairs_error(log));
    }
    Err(Error::Empty {
        what: format!(
            "the training split is empty: validation and test hold {}",
            counted(held_out, "pair")
        ),
        advice: match by {
            SplitBy::Given => "mark some rows as train, or choose another `split`".into(),
            SplitBy::Time => {
                "let validation and test begin later (`validation_from`, `test_from`), or lower their shares".into()
            }
            _ => "lower `validation` and `test`, or choose another `split`".into(),
        },
    })
}

/// The error where no table yields a pair, with the reasons.
fn no_pairs_error(log: &Log) -> Error {
    let of_pairs = |role: &str| matches!(role, "clicks" | "links" | "events");
    let tables = || log.tables.iter().filter(|table| of_pairs(&table.role));
    let (rows, kept) =
        tables().fold((0, 0), |(rows, kept), table| (rows + table.rows, kept + table.kept));
    let reasons: Vec<String> = tables()
        .flat_map(|table| &table.dropped)
        .map(|dropped| format!("{} {}", dropped.count, dropped.why))
        .collect();
    if kept > 0 || reasons.is_empty() {
        return Error::Empty {
            what: format!(
                "there is nothing to learn from: {} read, no click",
                counted(kept, "row")
            ),
            advice: "check the column of clicks (`columns = events:clicked=NAME`)".into(),
        };
    }
    Error::Empty {
        what: format!(
            "there is nothing to learn from: {} read, all dropped ({})",
            counted(rows, "row"),
            reasons.join("; ")
        ),
        advice: "loosen what drops them, or correct the rows".into(),
    }
}

/// The note on a dataset without clicks and links.
pub(super) fn note_without_clicks(judged: bool) -> String {
    let models = "only methods that learn from documents alone can be trained (bm25, vsm, lm, lsi and topic models such as rlsi, nmf and lda)";
    if judged {
        format!(
            "no clicks or links: {models}; to learn from some of the judged pairs, split them (`split = queries`)"
        )
    } else {
        format!(
            "no clicks, links or judgments: {models}, for search; to compare models, give `judgments`"
        )
    }
}

/// Refuses an empty validation or test split whose share is above 0.
pub(super) fn check_requested_splits(
    divided: &SplitPairs,
    by: SplitBy,
    shares: (Option<f64>, Option<f64>),
) -> Result<()> {
    let parts = [("validation", &divided.validation, shares.0), ("test", &divided.test, shares.1)];
    for (name, pairs, share) in parts {
        let asked = share.map_or(by != SplitBy::Given, |share| share > 0.0);
        if !pairs.is_empty() || !asked {
            continue;
        }
        let why = match (by, divided.evidence) {
            (SplitBy::Given, _) => "the source assigns nothing to it",
            (SplitBy::Judgments, _) => "there are too few judged queries",
            (_, RelevanceSource::Judgments) => "it has no judgment",
            (SplitBy::Time, _) => "no click falls into its time",
            (SplitBy::Edges, _) => "too few queries have more than one document",
            _ => "there are too few pairs",
        };
        let advice = match by {
            SplitBy::Edges => "split by queries (`split = queries`)".to_owned(),
            SplitBy::Time if divided.evidence == RelevanceSource::HeldOutClicks => {
                format!("let it begin earlier (`{name}_from = TIME`), or omit it (`{name} = 0`)")
            }
            _ => format!("raise its share (`{name} = 0.3`), or omit it (`{name} = 0`)"),
        };
        return Err(Error::Empty { what: format!("the {name} split is empty: {why}"), advice });
    }
    Ok(())
}

/// The warnings of the report.
pub(super) fn warnings(
    divided: &SplitPairs,
    log: &Log,
    filter: Option<&FilterReport>,
    by: SplitBy,
) -> Vec<String> {
    let mut warnings = Vec::new();
    let n_documents = log.documents.len();
    if !log.documents_listed && log.text_documents.is_none() {
        warnings.push(format!(
            "no documents were given: {} made from the ids of the clicks, without text, except that an id which is a URL is the field url; add `documents = FILE`",
            counted(n_documents, "document")
        ));
    } else if log.without_text > 0 {
        warnings.push(format!(
            "without text in the fields that are read by default (title, body, url): {} of {}; if theirs has another name, map it: `columns = documents:body=NAME`",
            log.without_text,
            counted(n_documents, "document")
        ));
    }
    let nothing_judged = divided.validation.is_empty() && divided.test.is_empty();
    if divided.train.is_empty() && nothing_judged {
        return warnings;
    }
    // Without training data there is nothing to tune, either.
    if divided.validation.is_empty() && !divided.train.is_empty() {
        warnings.push("validation is empty: models cannot be tuned".into());
    }
    if divided.test.is_empty() {
        warnings.push("test is empty: models cannot be evaluated".into());
    }
    if let Some(filter) = filter.filter(|filter| filter.is_drastic()) {
        warnings.push(format!(
            "the click filter dropped {} of {} training pairs, those with fewer than {} clicks; to keep them all, add `min_clicks = 1`",
            filter.dropped, filter.before, filter.min_clicks
        ));
    }
    if matches!(by, SplitBy::Given | SplitBy::Time)
        && divided.evidence == RelevanceSource::HeldOutClicks
    {
        let learnt = |pair: &&(u32, u32, f32)| {
            let train = &divided.train;
            train.binary_search_by_key(&(pair.0, pair.1), |e| (e.query, e.doc)).is_ok()
        };
        let both = divided.validation.iter().chain(&divided.test).filter(learnt).count();
        if both > 0 {
            warnings.push(match by {
                // No leak: users repeat queries, and a split by time measures that, too.
                SplitBy::Time => format!(
                    "{both} of {} held-out pairs were clicked in training, too: the test measures repeated queries as well as new ones",
                    divided.validation.len() + divided.test.len()
                ),
                _ => format!("leak: also in training: {}", counted(both, "held-out pair")),
            });
        }
    }
    if log.queries.listed {
        warnings.extend(same_texts(divided, &log.queries));
    }
    warnings
}

/// A warning about queries with different ids but the same normalised text: pairs of them in
/// different splits leak from one into the other.
fn same_texts(divided: &SplitPairs, queries: &Queries) -> Option<String> {
    let mut parts: Vec<Option<SplitName>> = vec![None; queries.names.len()];
    for edge in &divided.train {
        parts[edge.query as usize] = Some(SplitName::Train);
    }
    for (pairs, part) in
        [(&divided.validation, SplitName::Validation), (&divided.test, SplitName::Test)]
    {
        for (query, _, _) in pairs {
            parts[*query as usize] = Some(part);
        }
    }
    // Per text: how many queries have it, and how many of those in each split.
    let mut groups: HashMap<String, (u64, [u64; 3])> = HashMap::new();
    for (text, part) in queries.texts.iter().zip(&parts) {
        let group = groups.entry(identity(text).into_owned()).or_default();
        group.0 += 1;
        if let Some(part) = part {
            group.1[*part as usize] += 1;
        }
    }
    let (mut n_queries, mut n_pairs, mut crossing) = (0, 0, 0);
    for (n, [train, validation, test]) in groups.into_values().filter(|(n, _)| *n > 1) {
        n_queries += n;
        n_pairs += n * (n - 1) / 2;
        crossing += train * validation + train * test + validation * test;
    }
    if n_queries == 0 {
        return None;
    }
    let leak = if crossing > 0 { "leak: " } else { "" };
    Some(format!(
        "{leak}{n_queries} queries with different ids share their normalised text with another: {}, {crossing} of them across splits",
        counted(n_pairs, "pair")
    ))
}
