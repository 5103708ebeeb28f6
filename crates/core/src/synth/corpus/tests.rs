use std::collections::{BTreeMap, HashMap, HashSet};

use super::*;
use crate::data::Dataset;
use crate::oracle::same_at_any_thread_count;

fn small() -> Corpus {
    Corpus { documents: 5_000, terms: 1_500, topics: 30, length: 40.0, classes: 4, seed: 3 }
}

fn written(shape: &Corpus) -> (tempfile::TempDir, Dataset) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("corpus");
    shape.write(&path, false, &Run::silent()).unwrap();
    let dataset = Dataset::open(&path).unwrap();
    (dir, dataset)
}

/// Class and words of every topic.
fn planted(dataset: &Dataset) -> Vec<(Option<String>, BTreeMap<String, f64>)> {
    let text = std::fs::read_to_string(dataset.folder.file(TOPICS)).unwrap();
    let of_line = |line: &str| {
        let topic: Value = serde_json::from_str(line).unwrap();
        let words = topic["words"].as_object().unwrap();
        let words = words.iter().map(|(word, p)| (word.clone(), p.as_f64().unwrap())).collect();
        (topic["class"].as_str().map(str::to_owned), words)
    };
    text.lines().map(of_line).collect()
}

#[test]
fn documents_are_bags_with_a_class_and_there_are_no_queries() {
    let shape = small();
    let (_dir, dataset) = written(&shape);
    let counts = &dataset.about().counts;
    assert_eq!((counts.queries, counts.documents, counts.pairs), (0, 5_000, 0));
    let (mut tokens, mut classes, mut words) = (0, HashMap::new(), HashSet::new());
    for (row, document) in dataset.documents.iter().enumerate() {
        let document = document.unwrap();
        assert_eq!(document.id, format!("d{row}"));
        *classes.entry(document.fields["class"].as_str().unwrap().to_owned()).or_insert(0) += 1;
        for (word, n) in document.fields["body"].as_object().unwrap() {
            tokens += n.as_u64().unwrap();
            words.insert(word.clone());
        }
    }
    // Lengths vary by half around their mean: its error over 5,000 documents is 0.3.
    let length = tokens as f64 / 5_000.0;
    assert!((length - 40.0).abs() < 1.5, "{length}");
    assert_eq!(classes.len(), 4);
    assert!(classes.values().all(|&n| (1_100..1_400).contains(&n)), "{classes:?}");
    assert!(words.len() > 1_480, "{}", words.len());
}

#[test]
fn topics_are_sparse_distributions_and_documents_have_their_words() {
    let (_dir, dataset) = written(&small());
    let topics = planted(&dataset);
    assert_eq!(topics.len(), 30);
    assert_eq!(topics.iter().filter(|(class, _)| class.is_none()).count(), 6);
    for (_, words) in &topics {
        assert!((words.values().sum::<f64>() - 1.0).abs() < 1e-9);
        assert!((49..90).contains(&words.len()), "{}", words.len());
    }
    let topical: HashSet<&String> = topics.iter().flat_map(|(_, words)| words.keys()).collect();
    assert_eq!(topical.len(), 1_500 - 30);
    // A topical word comes from a shared topic or one of the document's own class.
    let mut allowed: HashMap<&str, HashSet<&String>> = HashMap::new();
    for class in ["c0", "c1", "c2", "c3"] {
        let of = |owner: &Option<String>| owner.as_deref().is_none_or(|owner| owner == class);
        let own = topics.iter().filter(|(owner, _)| of(owner));
        allowed.insert(class, own.flat_map(|(_, words)| words.keys()).collect());
    }
    let (mut general, mut all) = (0.0, 0.0);
    for document in dataset.documents.iter() {
        let document = document.unwrap();
        let class = document.fields["class"].as_str().unwrap();
        for (word, n) in document.fields["body"].as_object().unwrap() {
            all += n.as_f64().unwrap();
            match topical.contains(word) {
                true => assert!(allowed[class].contains(word), "{word} in {class}"),
                false => general += n.as_f64().unwrap(),
            }
        }
    }
    assert!((general / all - 0.4).abs() < 0.01, "{}", general / all);
}

/// Where a document has one topic, its words occur as often as the topic says.
#[test]
fn words_come_as_often_as_their_topic_says() {
    let shape = Corpus { topics: 1, classes: 1, terms: 100, documents: 4_000, ..small() };
    let (_dir, dataset) = written(&shape);
    let topic = planted(&dataset).remove(0);
    assert_eq!(topic.0.as_deref(), Some("c0"));
    let (mut seen, mut all) = (HashMap::<String, f64>::new(), 0.0);
    for document in dataset.documents.iter() {
        for (word, n) in document.unwrap().fields["body"].as_object().unwrap() {
            if topic.1.contains_key(word) {
                *seen.entry(word.clone()).or_default() += n.as_f64().unwrap();
                all += n.as_f64().unwrap();
            }
        }
    }
    for (word, p) in &topic.1 {
        let (share, error) = (seen[word] / all, (p * (1.0 - p) / all).sqrt());
        assert!((share - p).abs() < 5.0 * error, "{word}: {share} for {p}");
    }
}

#[test]
fn the_same_bytes_at_any_thread_count_and_others_for_another_seed() {
    let identity = |shape: &Corpus| written(shape).1.folder.identity();
    same_at_any_thread_count(|| identity(&small()));
    assert_ne!(identity(&small()), identity(&Corpus { seed: 4, ..small() }));
}

#[test]
fn every_shape_that_is_allowed_can_be_made() {
    for (topics, classes) in [(1, 1), (2, 2), (5, 5), (7, 3), (12, 1)] {
        let shape = Corpus { topics, classes, terms: 10 * topics, documents: 50, ..small() };
        let (_dir, dataset) = written(&shape);
        assert_eq!(dataset.documents.len(), 50);
        let owned = planted(&dataset);
        let owners: HashSet<String> = owned.into_iter().filter_map(|(class, _)| class).collect();
        assert_eq!(owners.len(), classes, "every class has a topic of its own");
    }
}

#[test]
fn impossible_shapes_are_refused_with_the_parameter_named() {
    let dir = tempfile::tempdir().unwrap();
    for (name, shape) in [
        ("documents", Corpus { documents: 0, ..small() }),
        ("documents", Corpus { documents: usize::MAX, ..small() }),
        ("terms", Corpus { terms: 299, ..small() }),
        ("terms", Corpus { terms: usize::MAX, ..small() }),
        ("topics", Corpus { topics: 0, ..small() }),
        ("topics", Corpus { topics: usize::MAX, ..small() }),
        ("classes", Corpus { classes: 0, ..small() }),
        ("classes", Corpus { classes: 31, ..small() }),
        ("length", Corpus { length: 0.0, ..small() }),
        ("length", Corpus { length: f64::NAN, ..small() }),
    ] {
        match shape.write(&dir.path().join("corpus"), false, &Run::silent()) {
            Err(Error::Parameter { name: named, .. }) => assert_eq!(named, name),
            other => panic!("{name} should be refused, got {other:?}"),
        }
    }
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}
