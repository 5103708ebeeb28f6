use std::collections::HashMap;
use std::io::{BufRead, BufReader};
use std::path::Path;

use proptest::prelude::*;

use super::*;
use crate::Run;
use crate::data::fixture::{Fixture, many, real_data};
use crate::data::{Dataset, DatasetAbout, DatasetWriter, Document, Query, RelevanceSource};
use crate::features::Preparation;
use crate::matchers::Params;
use crate::oracle::same_at_any_thread_count;
use crate::text::{AnalyzerParams, Language};

/// A pair: the query's words, the document's words, the weight.
type Pair = (Vec<u32>, Vec<u32>, f64);

/// EM of model 1 as the book has it: pair by pair, position by position, a table of all words
/// by all words; the null word is the last source.
fn brute_force(pairs: &[Pair], n: usize, iterations: usize) -> Vec<Vec<f64>> {
    let asked = |u: u32| pairs.iter().any(|(query, _, _)| query.contains(&u));
    let even = 1.0 / (0..n as u32).filter(|&u| asked(u)).count() as f64;
    let mut t = vec![vec![even; n]; n + 1];
    for _ in 0..iterations {
        let mut counts = vec![vec![0.0; n]; n + 1];
        for (query, doc, weight) in pairs {
            for &u in query {
                let sources: Vec<usize> =
                    doc.iter().map(|&w| w as usize).chain(std::iter::once(n)).collect();
                let sum: f64 = sources.iter().map(|&w| t[w][u as usize]).sum();
                for &w in &sources {
                    counts[w][u as usize] += weight * t[w][u as usize] / sum;
                }
            }
        }
        for (t, counts) in t.iter_mut().zip(&counts) {
            let sum: f64 = counts.iter().sum();
            if sum > 0.0 {
                t.iter_mut().zip(counts).for_each(|(t, &count)| *t = count / sum);
            }
        }
    }
    t
}

fn bags(texts: &[Vec<u32>], n: usize) -> Csr {
    let words = |(i, text): (usize, &Vec<u32>)| {
        text.iter().map(move |&w| (i as u32, w, 1.0)).collect::<Vec<_>>()
    };
    Csr::from_triplets(texts.len(), n, texts.iter().enumerate().flat_map(words).collect()).unwrap()
}

const N: usize = 6;

/// Queries, documents and weights of all pairs, some of them 0.
fn toy() -> impl Strategy<Value = (Vec<Vec<u32>>, Vec<Vec<u32>>, Vec<f32>)> {
    let texts =
        |least| proptest::collection::vec(proptest::collection::vec(0..N as u32, least..5), 1..5);
    (texts(1), texts(0)).prop_flat_map(|(queries, docs)| {
        let weight = prop_oneof![Just(0.0f32), Just(1.0), Just(3.0)];
        let n = queries.len() * docs.len();
        (Just(queries), Just(docs), proptest::collection::vec(weight, n))
    })
}

fn cells_of(queries: &[Vec<u32>], docs: &[Vec<u32>], weights: &[f32]) -> Csr {
    let pairs = (0..queries.len())
        .flat_map(|i| (0..docs.len()).map(move |j| (i as u32, j as u32)))
        .zip(weights)
        .filter(|&(_, &weight)| weight > 0.0)
        .map(|((i, j), &weight)| (i, j, weight))
        .collect();
    let pairs = Csr::from_triplets(queries.len(), docs.len(), pairs).unwrap();
    em::cells(&bags(queries, N), &pairs).unwrap()
}

proptest! {
    #[test]
    fn em_over_cells_is_the_brute_force_over_pairs_and_the_likelihood_never_falls(
        (queries, docs, weights) in toy(),
        iterations in 1usize..8,
    ) {
        prop_assume!(weights.iter().any(|&weight| weight > 0.0));
        let cells = cells_of(&queries, &docs, &weights);
        let text = bags(&docs, N);
        let mut trainer = em::Trainer::new(&cells, &text, u64::MAX).unwrap();
        let mut before = f64::NEG_INFINITY;
        for _ in 0..iterations {
            let likelihood = trainer.iterate(&Run::silent()).unwrap();
            prop_assert!(likelihood >= before - 1e-9 * before.abs(), "{before} {likelihood}");
            before = likelihood;
        }
        let learnt = trainer.pruned(0.0, N).unwrap();
        let pairs: Vec<Pair> = weights
            .iter()
            .enumerate()
            .filter(|&(_, &weight)| weight > 0.0)
            .map(|(at, &weight)| {
                let (i, j) = (at / docs.len(), at % docs.len());
                (queries[i].clone(), docs[j].clone(), f64::from(weight))
            })
            .collect();
        let expected = brute_force(&pairs, N, iterations);
        for (u, row) in learnt.table.rows().enumerate() {
            // Words that no pair has keep what they began with in the brute force.
            if !cells.row(u).is_empty() {
                prop_assert!((learnt.null[u] - expected[N][u]).abs() < 1e-6);
            }
            for w in 0..N as u32 {
                if pairs.iter().any(|(_, doc, _)| doc.contains(&w)) {
                    let found = f64::from(row.get(w));
                    prop_assert!((found - expected[w as usize][u]).abs() < 1e-6);
                }
            }
        }
    }
}

fn small(path: &Path) -> Dataset {
    let documents = [
        ("a", serde_json::json!({ "title": "automobile insurance", "body": "policy policy cost" })),
        ("b", serde_json::json!({ "title": "automobile repair", "body": "engine cost" })),
        ("c", serde_json::json!({ "title": "hypertension", "body": "treatment of pressure" })),
    ];
    let queries = ["car insurance", "fix my car", "blood pressure"];
    let clicks = [(0, 0, 5.0), (1, 1, 3.0), (2, 2, 2.0), (0, 1, 1.0)];
    Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out: &[] }.open(path)
}

fn counts(dataset: &Dataset) -> Counts {
    Counts::of(dataset, &Preparation::default(), &Run::silent()).unwrap()
}

fn fit(counts: &Counts, settings: &[(&str, &str)]) -> (Box<dyn Matcher>, StepsReport) {
    let mut params = Params::named("translation").unwrap();
    settings.iter().for_each(|(key, value)| params.set(key, value).unwrap());
    let (matcher, report) = params.fit(counts, None, &Run::silent()).unwrap();
    let FitReport::Steps(report) = report else { unreachable!() };
    (matcher, report)
}

#[test]
fn scores_are_the_formula_with_and_without_self_translation() {
    let dir = tempfile::tempdir().unwrap();
    let counts = counts(&small(&dir.path().join("d")));
    let query = counts.read_query("car pressure pressure zebra");
    for b in [0.0, 0.3, 1.0] {
        for (field, text) in [("title", &counts.fields[0].docs), ("", &counts.docs)] {
            let mut settings = vec![("b", b.to_string()), ("prune", "0".into())];
            if !field.is_empty() {
                settings.push(("field", field.into()));
            }
            let settings: Vec<(&str, &str)> =
                settings.iter().map(|(key, value)| (*key, value.as_str())).collect();
            let (matcher, _) = fit(&counts, &settings);
            let table = matcher.translations().unwrap();
            let scores = matcher.scores(&counts, &query, None);
            for (doc, score) in scores.into_iter().enumerate() {
                let words = text.row(doc);
                let n: f64 = words.values.iter().map(|&f| f64::from(f)).sum();
                let ml = |w: u32| f64::from(words.get(w)) / n;
                let mut expected = 0.0;
                for (word, count) in query.row().iter() {
                    let t = table.table().row(word as usize);
                    let translated: f64 =
                        (0..counts.n_terms() as u32).map(|w| f64::from(t.get(w)) * ml(w)).sum();
                    let p = b * ml(word) + (1.0 - b) * translated;
                    let null =
                        0.5 * table.null[word as usize] + 0.5 * table.collection[word as usize];
                    let mixed = n / (n + 1.0) * p + null / (n + 1.0);
                    expected += f64::from(count) * mixed.ln();
                }
                assert!((f64::from(score) - expected).abs() < 1e-5, "{score} {expected}");
            }
        }
    }
    // A document's words lead to query words that add up to 1.
    let (matcher, report) = fit(&counts, &[("prune", "0.05")]);
    let mut sums = vec![0.0f64; counts.n_terms()];
    for row in matcher.translations().unwrap().table().rows() {
        row.iter().for_each(|(w, t)| sums[w as usize] += f64::from(t));
    }
    assert!(sums.iter().all(|&sum| sum == 0.0 || (sum - 1.0).abs() < 1e-5), "{sums:?}");
    assert!(report.notes[1].contains("at least 0.05"), "{:?}", report.notes);
}

#[test]
fn a_field_that_is_not_there_is_refused_and_so_is_a_table_that_does_not_fit() {
    let dir = tempfile::tempdir().unwrap();
    let counts = counts(&small(&dir.path().join("d")));
    let mut params = Params::named("translation").unwrap();
    params.set("field", "anchor").unwrap();
    let message = params.fit(&counts, None, &Run::silent()).err().unwrap().to_string();
    assert!(message.contains("anchor") && message.contains("title"), "{message}");
    let pairs = clicked_pairs(&counts, Response::Raw).unwrap();
    let cells = em::cells(&counts.queries, &pairs).unwrap();
    let message = em::Trainer::new(&cells, &counts.docs, 10).err().unwrap().to_string();
    assert!(message.contains("entries") && message.contains("field = title"), "{message}");
}

#[test]
fn the_table_is_the_same_at_any_thread_count() {
    let dir = tempfile::tempdir().unwrap();
    // The rows of the table are learnt in blocks of 32.
    let counts = counts(&many(&dir.path().join("d"), 300));
    same_at_any_thread_count(|| {
        let (matcher, report) = fit(&counts, &[]);
        let table = matcher.translations().unwrap();
        (table.t.clone(), table.null.clone(), report)
    });
}

/// Twenty common nouns of the captions, and what translators make of them.
const NOUNS: [(&str, &[&str]); 20] = [
    ("man", &["mann"]),
    ("woman", &["frau"]),
    ("dog", &["hund"]),
    ("boy", &["junge", "bub"]),
    ("girl", &["mädchen"]),
    ("children", &["kinder"]),
    ("water", &["wasser"]),
    ("street", &["straße"]),
    ("ball", &["ball"]),
    ("beach", &["strand"]),
    ("car", &["auto"]),
    ("guitar", &["gitarre"]),
    ("hat", &["hut", "mütze"]),
    ("snow", &["schnee"]),
    ("horse", &["pferd"]),
    ("table", &["tisch"]),
    ("people", &["personen", "menschen", "leute"]),
    ("soccer", &["fußball"]),
    ("baby", &["baby"]),
    ("bench", &["bank"]),
];

fn lines(path: &Path) -> Vec<String> {
    let file = std::fs::File::open(path).unwrap();
    BufReader::new(flate2::read::MultiGzDecoder::new(file)).lines().map(|l| l.unwrap()).collect()
}

#[test]
fn common_nouns_are_translated_rightly() {
    let Some(folder) = real_data("multi30k") else { return };
    let (english, german) =
        (lines(&folder.join("train.en.gz")), lines(&folder.join("train.de.gz")));
    assert_eq!(english.len(), german.len());
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("d");
    let mut writer = DatasetWriter::create(&path, false).unwrap();
    for (i, (english, german)) in english.iter().zip(&german).enumerate() {
        let id = format!("{i:05}");
        writer.query(&Query { id: id.clone(), text: german.clone(), clicks: 1.0 }).unwrap();
        let fields = serde_json::json!({ "title": english }).as_object().unwrap().clone();
        writer.document(&Document { id, fields }).unwrap();
    }
    let n = english.len();
    let clicks = Csr::from_triplets(n, n, (0..n as u32).map(|i| (i, i, 1.0)).collect()).unwrap();
    let none = Csr::empty(n, n);
    let about = DatasetAbout::as_given(RelevanceSource::Judgments);
    writer.finish(&clicks, &none, &none, &[], about).unwrap();
    let dataset = Dataset::open(&path).unwrap();
    let analyzer = AnalyzerParams { language: Language::None, ..AnalyzerParams::default() };
    let preparation = Preparation { analyzer, ..Preparation::default() };
    let counts = Counts::of(&dataset, &preparation, &Run::silent()).unwrap();
    let (matcher, _) = fit(&counts, &[]);
    let table = matcher.translations().unwrap();
    let mut found = HashMap::new();
    for (noun, _) in NOUNS {
        let word = counts.vocabulary.id(noun).unwrap();
        let (best, _) = table.of_document_word(word, 1)[0];
        found.insert(noun, counts.vocabulary.term(best).to_owned());
    }
    let read = |word: &str| counts.analyzer.terms(word).join(" ");
    let right = |noun: &str, accepted: &[&str]| accepted.iter().any(|a| read(a) == found[noun]);
    let wrong: Vec<_> = NOUNS
        .iter()
        .filter(|(noun, accepted)| !right(noun, accepted))
        .map(|(noun, _)| (noun, &found[noun]))
        .collect();
    assert!(wrong.len() <= 2, "{wrong:?}");
}

#[test]
fn a_document_without_a_word_comes_after_those_that_explain_the_query() {
    let dir = tempfile::tempdir().unwrap();
    let documents = [
        ("a", serde_json::json!({ "title": "automobile insurance policy cost" })),
        ("b", serde_json::json!({ "title": "" })),
    ];
    let path = dir.path().join("d");
    let clicks = [(0, 0, 1.0), (0, 1, 1.0)];
    let fixture =
        Fixture { documents: &documents, queries: &["car"], clicks: &clicks, held_out: &[] };
    let counts = counts(&fixture.open(&path));
    let (matcher, _) = fit(&counts, &[]);
    let scores = matcher.scores(&counts, &counts.read_query("car"), None);
    assert!(scores[0] > scores[1], "{scores:?}");
}
