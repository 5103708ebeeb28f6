//! What is checked in an answer to `POST /search`.

use std::collections::{BTreeMap, HashMap};
use std::hash::{DefaultHasher, Hash, Hasher};

use serde::Deserialize;

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    models: Vec<Version>,
    hits: Vec<Hit>,
    took_ms: f64,
}

#[derive(Deserialize)]
struct Version {
    name: String,
    version: String,
}

#[derive(Deserialize)]
struct Hit {
    id: String,
    score: f64,
}

/// What was read in answers.
#[derive(Default)]
pub struct Answers {
    /// How many were read.
    pub read: u64,
    /// How many did not name their models and versions.
    pub without_version: u64,
    /// How many had other hits than an earlier answer of the same versions to the same body.
    pub mixed: u64,
    /// How often each set of versions answered.
    pub versions: BTreeMap<String, u64>,
    /// What the service says that it took.
    pub took_micros: Vec<u32>,
    /// The hits of each body under each set of versions.
    seen: HashMap<(usize, String), u64>,
}

impl Answers {
    /// Reads the answer to the body of number `body`; what is wrong with it.
    pub fn read(&mut self, body: usize, bytes: &[u8]) -> Result<(), String> {
        let answer: Answer =
            serde_json::from_slice(bytes).map_err(|error| format!("an answer: {error}"))?;
        if !answer.hits.is_sorted_by(|a, b| a.score >= b.score) {
            return Err("hits that are not in the order of their scores".into());
        }
        self.read += 1;
        self.took_micros.push((answer.took_ms * 1e3) as u32);
        if answer.models.is_empty() || answer.models.iter().any(|model| model.version.is_empty()) {
            self.without_version += 1;
        }
        let named: Vec<_> =
            answer.models.iter().map(|model| format!("{} {}", model.name, model.version)).collect();
        let named = named.join(", ");
        *self.versions.entry(named.clone()).or_default() += 1;
        let mut hasher = DefaultHasher::new();
        for hit in &answer.hits {
            hit.id.hash(&mut hasher);
            hit.score.to_bits().hash(&mut hasher);
        }
        let hits = hasher.finish();
        let first = *self.seen.entry((body, named)).or_insert(hits);
        self.mixed += u64::from(first != hits);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(version: &str, hits: &str) -> String {
        let models = format!(r#"[{{"name": "a", "version": "{version}"}}]"#);
        format!(r#"{{"models": {models}, "hits": {hits}, "took_ms": 1.5, "more": 0}}"#)
    }

    #[test]
    fn the_same_versions_must_say_the_same_to_the_same_body() {
        let mut answers = Answers::default();
        let one = r#"[{"id": "x", "score": 2}, {"id": "y", "score": 1}]"#;
        let other = r#"[{"id": "x", "score": 3}, {"id": "y", "score": 1}]"#;
        for (body, version, hits) in
            [(0, "1", one), (1, "1", other), (0, "2", other), (0, "1", one), (0, "2", one)]
        {
            answers.read(body, answer(version, hits).as_bytes()).unwrap();
        }
        assert_eq!((answers.read, answers.mixed, answers.without_version), (5, 1, 0));
        assert_eq!(answers.versions["a 1"], 3);
        answers.read(2, answer("", "[]").as_bytes()).unwrap();
        assert_eq!(answers.without_version, 1);
    }

    #[test]
    fn hits_out_of_order_and_torn_answers_are_failures() {
        let mut answers = Answers::default();
        let hits = r#"[{"id": "x", "score": 1}, {"id": "y", "score": 2}]"#;
        let text = answer("1", hits);
        assert!(answers.read(0, text.as_bytes()).unwrap_err().contains("order"));
        assert!(answers.read(0, &text.as_bytes()[..text.len() - 1]).is_err());
        assert_eq!(answers.read, 0);
    }
}
