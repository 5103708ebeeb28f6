//! Features of documents that do not depend on the query: the depth of the URL, numeric fields,
//! clicks and PageRank.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::data::Dataset;
use crate::features::Counts;
use crate::{Result, Run};

/// The field with the URL of a document.
const URL: &str = "url";
/// Documents between two reports of progress.
const BLOCK: usize = 1 << 14;

/// A number for every document; NaN if it is missing.
pub(super) type Numbers = Vec<f32>;

/// The depths of the URLs, if any document has one, and every numeric field by name. Fields that
/// `counts` read as text are excluded.
pub(super) fn read(
    dataset: &Dataset,
    counts: &Counts,
    run: &Run<'_>,
) -> Result<(Option<Numbers>, BTreeMap<String, Numbers>)> {
    let n_docs = dataset.documents.len();
    let mut depths = vec![f32::NAN; n_docs];
    // The numbers of each field; nothing once it has another value.
    let mut fields: BTreeMap<String, Option<Numbers>> = BTreeMap::new();
    for j in 0..n_docs {
        if j % BLOCK == 0 {
            run.step("reading numbers of documents", j as u64, Some(n_docs as u64))?;
        }
        for (name, value) in dataset.documents.get(j)?.fields {
            if let (URL, Value::String(url)) = (name.as_str(), &value) {
                depths[j] = depth(url) as f32;
            }
            if counts.fields.iter().any(|field| field.name == name) || value.is_null() {
                continue;
            }
            let numbers = fields.entry(name).or_insert_with(|| Some(vec![f32::NAN; n_docs]));
            match number(&value) {
                Some(number) => {
                    if let Some(numbers) = numbers {
                        numbers[j] = number;
                    }
                }
                None => *numbers = None,
            }
        }
    }
    let depths = depths.iter().any(|depth| !depth.is_nan()).then_some(depths);
    Ok((depths, fields.into_iter().filter_map(|(name, numbers)| Some((name, numbers?))).collect()))
}

/// A finite number, also if written as a string; a Boolean is 0 or 1.
fn number(value: &Value) -> Option<f32> {
    let number = match value {
        Value::Number(number) => number.as_f64()? as f32,
        Value::Bool(truth) => f32::from(u8::from(*truth)),
        Value::String(text) => text.trim().parse().ok()?,
        _ => return None,
    };
    number.is_finite().then_some(number)
}

/// The number of path segments of a URL.
fn depth(url: &str) -> usize {
    let place = url.trim().split(['?', '#']).next().unwrap_or_default();
    let place = place.split_once("//").map_or(place, |(_, place)| place);
    place.split('/').skip(1).filter(|name| !name.is_empty()).count()
}

/// The training clicks of every document, as ln(1 + n).
pub(super) fn clicks(counts: &Counts) -> Numbers {
    counts.clicks_by_document().into_iter().map(|n| n.ln_1p() as f32).collect()
}

/// The damping factor of PageRank.
const DAMPING: f64 = 0.85;
/// Steps of the walk; the influence of its start falls to 0.85⁵⁰ = 0.0003.
const STEPS: usize = 50;

/// PageRank, if queries are documents and clicks are their links: ln of the share times the number
/// of documents, so that 0 is the average.
pub(super) fn pagerank(counts: &Counts) -> Option<Numbers> {
    let n = counts.n_docs();
    if counts.own_documents.is_empty() || n == 0 {
        return None;
    }
    let even = 1.0 / n as f64;
    let mut rank = vec![even; n];
    for _ in 0..STEPS {
        let mut next = vec![0.0f64; n];
        let mut led = 0.0;
        for (i, &from) in counts.own_documents.iter().enumerate() {
            let links = counts.clicks.row(i);
            let total: f64 = links.values.iter().map(|&w| f64::from(w.max(0.0))).sum();
            if total > 0.0 {
                let share = rank[from as usize] / total;
                for (to, weight) in links.iter() {
                    next[to as usize] += share * f64::from(weight.max(0.0));
                }
                led += rank[from as usize];
            }
        }
        // From a document without links the walk goes anywhere.
        let rest = (1.0 - DAMPING * led) * even;
        next.iter_mut().for_each(|share| *share = DAMPING * *share + rest);
        rank = next;
    }
    Some(rank.into_iter().map(|share| (share * n as f64).ln() as f32).collect())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn the_depth_of_an_address_is_the_names_after_the_host() {
        for (url, expected) in [
            ("http://a.com", 0),
            ("https://a.com/", 0),
            ("a.com/x/y.html?q=/1/2#/3", 2),
            ("//a.com//x/", 1),
            ("", 0),
        ] {
            assert_eq!(depth(url), expected, "{url}");
        }
    }

    #[test]
    fn numbers_are_numbers_texts_of_them_and_truth_values() {
        for (value, expected) in [
            (json!(1.5), Some(1.5)),
            (json!(" -2 "), Some(-2.0)),
            (json!(true), Some(1.0)),
            (json!("two"), None),
            (json!("inf"), None),
            (json!([1]), None),
        ] {
            assert_eq!(number(&value), expected, "{value}");
        }
    }
}
