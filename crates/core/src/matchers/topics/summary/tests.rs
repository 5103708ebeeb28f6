//! Summaries of topics, beside what one counts by hand.

use std::borrow::Cow;

use crate::Run;
use crate::data::Dataset;
use crate::data::fixture::Fixture;
use crate::features::{Counts, Preparation};
use crate::linalg::Dense;
use crate::matchers::model_topics::part_with_topics;
use crate::matchers::{
    Map, Mixture, Model, Params, TextTopic, TextTopics, TopicSummaryOptions, TopicsSummary,
    TopicsView,
};
use crate::oracle::same_at_any_thread_count;
use crate::random::Random;
use crate::sparse::Csr;
use crate::training::train;

const N_DOCS: usize = 40;
const N_TERMS: usize = 12;

/// Documents of four words each out of twelve, one query, one click.
fn data(path: &std::path::Path) -> Dataset {
    let mut random = Random::new(7, 0);
    let documents: Vec<(String, serde_json::Value)> = (0..N_DOCS)
        .map(|doc| {
            // The first documents have every word, so that none is missing.
            let word = |at: u64| match doc {
                0..3 => (4 * doc as u64 + at) % 12,
                _ => (random.below(3) + 3 * (doc as u64 % 4)) % 12,
            };
            let words: Vec<String> = (0..4).map(word).map(|w| format!("word{w:02}")).collect();
            (format!("d{doc:02}"), serde_json::json!({ "title": words.join(" ") }))
        })
        .collect();
    let documents: Vec<(&str, serde_json::Value)> =
        documents.iter().map(|(id, fields)| (id.as_str(), fields.clone())).collect();
    let clicks = &[(0, 1, 3.0), (1, 5, 1.0)];
    let queries = &["word03", "word07 word08"];
    Fixture { documents: &documents, queries, clicks, held_out: &[2] }.open(path)
}

fn counts() -> (tempfile::TempDir, Counts) {
    let dir = tempfile::tempdir().unwrap();
    let data = data(&dir.path().join("d"));
    let counts = Counts::of(&data, &Preparation::default(), &Run::silent()).unwrap();
    assert_eq!((counts.n_docs(), counts.n_terms()), (N_DOCS, N_TERMS));
    (dir, counts)
}

fn model(name: &str, dim: usize) -> (tempfile::TempDir, Model) {
    let dir = tempfile::tempdir().unwrap();
    let data = data(&dir.path().join("d"));
    let mixture = Mixture::parse(name).unwrap();
    let params: Vec<Params> = name
        .split('+')
        .map(|part| {
            let mut params = Params::named(part).unwrap();
            if params.has_dim() {
                params.set("dim", &dim.to_string()).unwrap();
            }
            params
        })
        .collect();
    let trained = train(&data, &Preparation::default(), &mixture, &params, &Run::silent()).unwrap();
    (dir, trained.model)
}

const LOOK: TopicSummaryOptions =
    TopicSummaryOptions { words: 4, coherence: 3, documents: 3, map: true };

/// Two shared topics and two of each of three classes, some weights missing; topic 3 is dead.
struct Grouped {
    weights: Map,
    documents: Dense,
    classes: Vec<String>,
    class_of: Vec<u32>,
    non_negative: bool,
}

impl Grouped {
    fn drawn(non_negative: bool, sparse: bool) -> Self {
        let mut random = Random::new(3, 1);
        let mut draw = |n_rows: usize, n_cols: usize, dead: Option<usize>| {
            let values = (0..n_rows * n_cols)
                .map(|at| {
                    let value = random.normal() as f32;
                    let value = if non_negative { value.abs() } else { value };
                    let kept = random.below(3) > 0 && dead != Some(at % n_cols);
                    if kept { value } else { 0.0 }
                })
                .collect();
            Dense::from_values(n_rows, n_cols, values)
        };
        let weights = draw(N_TERMS, 8, Some(3));
        let mut documents = draw(N_DOCS, 4, None);
        documents.row_mut(9).fill(0.0);
        let weights = match sparse {
            false => Map::Dense(weights),
            true => {
                let row = |i: usize| -> (Vec<u32>, Vec<f32>) {
                    let row = (0u32..).zip(weights.row(i).iter().copied());
                    row.filter(|&(_, weight)| weight != 0.0).unzip()
                };
                Map::Sparse(Csr::by_rows(8, N_TERMS, |i| Ok(row(i))).unwrap())
            }
        };
        let classes = ["cars", "hockey", "space"].map(str::to_owned).to_vec();
        let class_of = (0..N_DOCS as u32).map(|doc| doc * doc % 3).collect();
        Grouped { weights, documents, classes, class_of, non_negative }
    }

    fn view(&self) -> TopicsView<'_> {
        TopicsView {
            weights: Cow::Borrowed(&self.weights),
            n_shared: 2,
            per_class: 2,
            classes: &self.classes,
            class_of: &self.class_of,
            documents: Cow::Borrowed(&self.documents),
            non_negative: self.non_negative,
        }
    }

    /// The weight of topic `k` in a document; nothing if it is of another class.
    fn in_document(&self, doc: usize, k: usize) -> f32 {
        let row = self.documents.row(doc);
        match k {
            0 | 1 => row[k],
            _ if (k - 2) / 2 == self.class_of[doc] as usize => row[2 + k % 2],
            _ => 0.0,
        }
    }
}

#[test]
fn topics_are_numbered_shared_first() {
    let grouped = Grouped::drawn(true, false);
    let view = grouped.view();
    assert_eq!(view.n_topics(), 8);
    let classes: Vec<Option<u32>> = (0..8).map(|k| view.class_of_topic(k)).collect();
    let expected = [None, None, Some(0), Some(0), Some(1), Some(1), Some(2), Some(2)];
    assert_eq!(classes, expected);
    assert_eq!([0, 1, 2, 3].map(|column| view.topic_at(column, Some(2))), [0, 1, 6, 7]);
}

#[test]
fn a_summary_is_what_one_counts_by_hand() {
    let (_dir, counts) = counts();
    for (non_negative, sparse) in [(true, false), (true, true), (false, false), (false, true)] {
        let grouped = Grouped::drawn(non_negative, sparse);
        let view = grouped.view();
        let found = TopicsSummary::of_view("x", &view, &counts, &LOOK, &Run::silent()).unwrap();
        let with: Vec<usize> =
            (0..N_DOCS).filter(|&doc| (0..8).any(|k| grouped.in_document(doc, k) != 0.0)).collect();
        assert_eq!(found.documents_without, N_DOCS - with.len());
        assert!(found.documents_without >= 1);
        assert_eq!(found.signed, !non_negative);
        for (k, topic) in found.topics.iter().enumerate() {
            let column: Vec<f32> = (0..N_TERMS).map(|t| grouped.weights.row(t)[k]).collect();
            let mut order: Vec<usize> = (0..N_TERMS).filter(|&t| column[t] != 0.0).collect();
            order.sort_by(|&a, &b| column[b].abs().total_cmp(&column[a].abs()));
            let flipped = order.first().is_some_and(|&t| column[t] < 0.0);
            assert_eq!((topic.topic, topic.n_words), (k + 1, order.len()));
            assert_eq!(topic.flipped, flipped);
            let sign = if flipped { -1.0 } else { 1.0 };
            order.sort_by(|&a, &b| (sign * column[b]).total_cmp(&(sign * column[a])));
            order.retain(|&t| sign * column[t] > 0.0);
            let words: Vec<(&str, f32)> = order
                .iter()
                .take(4)
                .map(|&t| (counts.vocabulary.term(t as u32), sign * column[t]))
                .collect();
            let shown: Vec<(&str, f32)> =
                topic.words.iter().map(|word| (word.word.as_str(), word.weight)).collect();
            assert_eq!(shown, words);
            let heaviest: Vec<u32> = order.iter().take(3).map(|&t| t as u32).collect();
            let npmi = crate::topic::npmi(&counts.docs, &[2], &[heaviest], &Run::silent());
            assert_eq!(topic.npmi, npmi.unwrap()[0]);
            // Documents, one by one.
            let weight = |doc: usize| grouped.in_document(doc, k);
            let total = |doc: usize| (0..8).map(|k| grouped.in_document(doc, k).abs()).sum::<f32>();
            let share: f64 =
                with.iter().map(|&doc| f64::from(weight(doc).abs() / total(doc))).sum();
            assert!((topic.share - share / with.len() as f64).abs() < 1e-6);
            let is_strongest = |&&doc: &&usize| {
                (0..8).all(|other| grouped.in_document(doc, other).abs() <= weight(doc).abs())
            };
            assert_eq!(topic.strongest_in, with.iter().filter(is_strongest).count());
            let mut docs: Vec<usize> =
                (0..N_DOCS).filter(|&doc| sign * weight(doc) > 0.0).collect();
            docs.sort_by(|&a, &b| (sign * weight(b)).total_cmp(&(sign * weight(a))));
            let ids: Vec<&str> = docs.iter().take(3).map(|&d| counts.doc_ids[d].as_str()).collect();
            let shown: Vec<&str> = topic.documents.iter().map(|d| d.id.as_str()).collect();
            assert_eq!(shown, ids);
            assert_eq!(topic.place.is_some(), topic.n_words > 0);
        }
        assert_eq!(found.topics[3].words, []);
        assert_eq!((found.all.dead, found.topics[4].class.as_deref()), (1, Some("hockey")));
    }
}

#[test]
fn figures_are_split_into_shared_topics_and_those_of_classes() {
    let (_dir, counts) = counts();
    let grouped = Grouped::drawn(true, true);
    let found =
        TopicsSummary::of_view("x", &grouped.view(), &counts, &LOOK, &Run::silent()).unwrap();
    let (shared, own) = (found.shared.as_ref().unwrap(), found.of_classes.as_ref().unwrap());
    assert_eq!((shared.topics, own.topics, shared.dead, own.dead), (2, 6, 0, 1));
    assert!((shared.share + own.share - 1.0).abs() < 1e-9);
    assert!((found.all.share - 1.0).abs() < 1e-9);
    let filled: usize = found.topics.iter().map(|topic| topic.n_words).sum();
    assert!((found.all.avg_comp - filled as f64 / 8.0 / N_TERMS as f64).abs() < 1e-12);
    let mean = (2.0 * shared.avg_comp + 6.0 * own.avg_comp) / 8.0;
    assert!((found.all.avg_comp - mean).abs() < 1e-12);
    // Classes weighted by their documents are all documents.
    let documents: usize = found.classes.iter().map(|class| class.documents).sum();
    assert_eq!(documents, N_DOCS - found.documents_without);
    for k in 0..2 {
        let sum: f64 = found.classes.iter().map(|c| c.documents as f64 * c.shared_topics[k]).sum();
        assert!((sum / documents as f64 - found.topics[k].share).abs() < 1e-9);
    }
    assert!(found.find_class("space").is_ok());
    let error = found.find_class("boats").unwrap_err().to_string();
    assert!(error.contains("cars, hockey, space"), "{error}");
    let json = serde_json::to_string(&found).unwrap();
    let back: TopicsSummary = serde_json::from_str(&json).unwrap();
    assert_eq!(back.topics[0].words, found.topics[0].words);
}

#[test]
fn the_same_at_any_number_of_threads() {
    let (_dir, counts) = counts();
    let grouped = Grouped::drawn(false, true);
    same_at_any_thread_count(|| {
        TopicsSummary::of_view("x", &grouped.view(), &counts, &LOOK, &Run::silent()).unwrap()
    });
}

#[test]
fn topics_of_a_text_are_those_of_its_class() {
    let (_dir, counts) = counts();
    let grouped = Grouped::drawn(false, false);
    let view = grouped.view();
    let summary = TopicsSummary::of_view("x", &view, &counts, &LOOK, &Run::silent()).unwrap();
    let found = TextTopic::all(&view, Some(1), &[0.5, 0.0, -2.0, 1.5], &summary);
    let numbers: Vec<usize> = found.iter().map(|topic| topic.topic).collect();
    assert_eq!(numbers, [5, 6, 1]);
    assert_eq!(found[0].class.as_deref(), Some("hockey"));
    assert!((found[0].share - 0.5).abs() < 1e-12);
    let sign = if summary.topics[4].flipped { 1.0 } else { -1.0 };
    assert_eq!(found[0].weight, sign * 2.0);
    assert_eq!(TextTopic::all(&view, Some(1), &[0.0; 4], &summary), []);
}

#[test]
fn a_document_s_text_has_the_topics_of_the_document() {
    for name in ["lsi", "bltm"] {
        let (_dir, model) = model(name, 3);
        let (part, view) = part_with_topics(&model, None).unwrap();
        assert_eq!((view.n_topics(), view.weights.n_rows()), (3, N_TERMS));
        for doc in [0, 1, 17] {
            let query = crate::features::QueryTerms {
                indices: model.counts.docs.row(doc).indices.to_vec(),
                counts: model.counts.docs.row(doc).values.to_vec(),
                unknown: Vec::new(),
                known: None,
                sequence: Vec::new(),
            };
            let (class, weights) = part.matcher.topics_of(&model.counts, &query).unwrap();
            assert_eq!(class, None);
            for (found, expected) in weights.iter().zip(view.documents.row(doc)) {
                assert!((found - expected).abs() < 1e-5, "{name} {doc}: {found} {expected}");
            }
        }
    }
}

#[test]
fn topics_of_bltm_are_distributions() {
    let (_dir, model) = model("bltm", 3);
    let (_, view) = part_with_topics(&model, None).unwrap();
    for k in 0..3 {
        let sum: f32 = (0..N_TERMS).map(|term| view.weights.row(term)[k]).sum();
        assert!((sum - 1.0).abs() < 1e-4, "topic {k}: {sum}");
    }
    for doc in 0..N_DOCS {
        assert!((view.documents.row(doc).iter().sum::<f32>() - 1.0).abs() < 1e-4);
    }
    assert!(view.non_negative);
}

#[test]
fn a_part_is_found_by_its_name() {
    let (_dir, model) = model("bm25+lsi", 2);
    let look = TopicSummaryOptions::default();
    for part in [None, Some("lsi"), Some("lsi_dt")] {
        let summary = TopicsSummary::of(&model, part, &look, &Run::silent()).unwrap();
        assert_eq!((summary.method.as_str(), summary.all.topics), ("lsi_dt", 2));
        let query = model.read_query("word03 word04 zebra").unwrap();
        let text = TextTopics::of(&model, part, &query, &summary).unwrap();
        assert!(!text.topics.is_empty() && text.unknown == ["zebra"]);
    }
    let error = |part| {
        let failed = TopicsSummary::of(&model, Some(part), &look, &Run::silent());
        failed.unwrap_err().to_string()
    };
    assert!(error("bm25").contains("bm25 has no topics"), "{}", error("bm25"));
    assert!(error("bm25").contains("lsi"), "{}", error("bm25"));
    assert!(error("vsm").contains("no part is called \"vsm\""), "{}", error("vsm"));
    assert!(error("vsm").contains("bm25, lsi_dt"), "{}", error("vsm"));
}

#[test]
fn lsi_mixed_with_tfidf_shows_the_same_topics() {
    let (_dir, plain) = model("lsi", 2);
    let dir = tempfile::tempdir().unwrap();
    let data = data(&dir.path().join("d"));
    let mut params = Params::named("lsi").unwrap();
    params.set("dim", "2").unwrap();
    params.set("tfidf", "0.5").unwrap();
    let mixture = Mixture::parse("lsi").unwrap();
    let mixed = train(&data, &Preparation::default(), &mixture, &[params], &Run::silent());
    let summary = |model: &Model| TopicsSummary::of(model, None, &LOOK, &Run::silent()).unwrap();
    assert_eq!(summary(&plain), summary(&mixed.unwrap().model));
}
