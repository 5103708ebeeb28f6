//! Facts about a model: what it was trained on, its parameters, and the counts of lexical models.

use liken::matchers::{FitReport, Model, Part};
use serde_json::Value;

use super::dimensions::latent_space;
use crate::pages::layout::{count, fixed, grouped};

/// The number of most frequent words.
const FREQUENT: usize = 12;

/// Facts about a model: names and values.
pub fn facts(model: &Model, version: &str, neighbours: Option<&str>) -> Vec<(String, String)> {
    let about = &model.about;
    let counts = &about.counts;
    let mut facts = vec![
        ("method".to_owned(), about.name.clone()),
        ("version".to_owned(), version.to_owned()),
        (
            "trained on".to_owned(),
            format!(
                "{}, {}, {}, {}",
                count(counts.documents, "document"),
                count(counts.queries, "query"),
                count(counts.terms, "term"),
                count(counts.pairs, "training pair")
            ),
        ),
        ("dataset".to_owned(), about.dataset.identity.chars().take(12).collect::<String>() + "…"),
    ];
    if let Some(space) = latent_space(model) {
        let share = |map: &liken::matchers::Map| {
            let all = (map.n_rows() * map.n_cols()).max(1);
            format!(
                "{} % of {} × {} numbers",
                fixed(100.0 * map.filled() as f64 / all as f64, 1),
                grouped(map.n_rows()),
                map.n_cols()
            )
        };
        facts.push(("latent dimensions".into(), grouped(space.dim())));
        facts.push(("map of queries".into(), share(&space.maps().l_x)));
        facts.push(("map of documents".into(), share(&space.maps().l_y)));
    }
    if let Some(neighbours) = neighbours {
        facts.push(("nearest neighbours".into(), neighbours.to_owned()));
    }
    if let Some(evidence) = &about.evidence {
        facts.push(("evidence".into(), evidence.to_string()));
    }
    facts
}

/// The parameters of a part by key; keys of nested tables are joined by full stops.
pub fn parameters(part: &Part) -> Vec<(String, String)> {
    let tagged = serde_json::to_value(&part.params).unwrap_or(Value::Null);
    let mut flat = Vec::new();
    flatten("", &tagged["params"], &mut flat);
    flat
}

fn flatten(prefix: &str, value: &Value, flat: &mut Vec<(String, String)>) {
    match value {
        Value::Object(table) if !table.is_empty() => {
            for (key, value) in table {
                let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&key, value, flat);
            }
        }
        Value::Null if prefix.is_empty() => {}
        Value::String(text) => flat.push((prefix.to_owned(), text.clone())),
        other => flat.push((prefix.to_owned(), other.to_string())),
    }
}

/// The counts of a model: lengths of fields, and the most frequent words.
pub fn statistics(model: &Model) -> Vec<(String, String)> {
    let counts = &model.counts;
    let n_docs = counts.n_docs().max(1) as f64;
    let mut facts = vec![
        ("documents counted".to_owned(), grouped(counts.n_training_docs)),
        ("distinct terms".to_owned(), grouped(counts.n_terms())),
    ];
    for field in &counts.fields {
        let words: f64 = field.docs.values().iter().map(|&value| f64::from(value)).sum();
        facts.push((
            format!("mean length of {}", field.name),
            format!("{} terms", fixed(words / n_docs, 1)),
        ));
    }
    let frequency = &counts.document_frequency;
    let mut frequent: Vec<usize> = (0..frequency.len()).collect();
    frequent.sort_by_key(|&term| (std::cmp::Reverse(frequency[term]), term));
    let words: Vec<String> = frequent
        .iter()
        .take(FREQUENT)
        .map(|&term| {
            format!(
                "{} ({})",
                counts.vocabulary.term(term as u32),
                grouped(frequency[term] as usize)
            )
        })
        .collect();
    facts.push(("most frequent terms (documents)".to_owned(), words.join(", ")));
    let once = frequency.iter().filter(|&&n| n == 1).count();
    facts.push(("terms of one document only".to_owned(), grouped(once)));
    facts
}

/// The reports of the fits in a model folder, one per part; none if they cannot be read.
pub fn reports(folder: &std::path::Path) -> Vec<FitReport> {
    let file = std::fs::File::open(folder.join("report.json"));
    file.ok()
        .and_then(|file| serde_json::from_reader(std::io::BufReader::new(file)).ok())
        .unwrap_or_default()
}
