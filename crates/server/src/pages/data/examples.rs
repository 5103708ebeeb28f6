//! Examples of queries and documents of a dataset.

use liken::data::{Dataset, Document};
use liken_engine::titles::text_of;
use liken_pages::shorten;
use maud::{Markup, html};
use serde_json::Value;

use crate::pages::layout::{address, grouped};
use crate::pages::titles::title;

/// The number of examples of each kind.
const EXAMPLES: usize = 6;

/// Positions evenly spread over `n`, starting at `from`.
fn spread(n: usize, from: usize) -> Vec<usize> {
    if n == 0 {
        return Vec::new();
    }
    let step = (n / EXAMPLES).max(1);
    (0..EXAMPLES.min(n)).map(|at| (from % n + at * step) % n).collect()
}

/// The section of examples; `from` shifts the choice.
pub fn examples(dataset: &Dataset, from: usize) -> Markup {
    let queries = spread(dataset.queries.len(), from).into_iter().filter_map(|i| {
        let query = dataset.queries.get(i).ok()?;
        let row = dataset.clicks.row(i);
        let best =
            row.iter().max_by(|a, b| a.1.total_cmp(&b.1)).filter(|(_, clicks)| *clicks > 0.0);
        let best = best.and_then(|(doc, _)| dataset.documents.get(doc as usize).ok());
        Some((query, best.and_then(|document| title(&document.fields))))
    });
    let documents = spread(dataset.documents.len(), from)
        .into_iter()
        .filter_map(|i| dataset.documents.get(i).ok());
    let next = address("/data", &[("from", &from.wrapping_add(1).to_string())]) + "#examples";
    html! {
        h2 #examples { "Examples" }
        div.beside {
            div {
                h3 { "Queries" }
                ul { @for (query, best) in queries {
                    li {
                        a href=(address("/", &[("q", &query.text)])) { (shorten(&query.text, 120)) }
                        " " span.quiet { (grouped(query.clicks.max(0.0).round() as usize)) " clicks"
                            @if let Some(best) = &best { ", most on “" (best) "”" } }
                    }
                } }
            }
            div {
                h3 { "Documents" }
                ul { @for document in documents { li { (document_line(&document)) } } }
            }
        }
        p { a.button href=(next) { "Other examples" } }
    }
}

fn document_line(document: &Document) -> Markup {
    let fields = document.fields.iter().filter_map(|(name, value)| {
        let text = match value {
            Value::String(_) | Value::Array(_) => text_of(value)?,
            other => other.to_string(),
        };
        Some((name, shorten(&text, 160)))
    });
    html! {
        span.id { (shorten(&document.id, 80)) }
        @for (name, text) in fields.take(4) { br; span.quiet { (name) ": " } (text) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn examples_are_spread_and_stay_inside() {
        assert!(spread(0, 3).is_empty());
        for n in 1..40 {
            for from in [0, 1, 7, 1000, usize::MAX] {
                let places = spread(n, from);
                assert_eq!(places.len(), n.min(EXAMPLES));
                assert!(places.iter().all(|&at| at < n));
                let different: std::collections::HashSet<_> = places.iter().collect();
                assert_eq!(different.len(), places.len(), "{n} {from} {places:?}");
            }
        }
    }
}
