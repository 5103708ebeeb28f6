use std::path::Path;

use serde_json::{Value, json};

use crate::data::fixture::Fixture;
use crate::data::{Dataset, Document};
use crate::features::{Counts, NO_CLASS, Preparation};
use crate::linalg::dot_f64;
use crate::matchers::{FitReport, Mixture, Model, Params, Trained};
use crate::training::train;
use crate::{Error, Result, Run};

/// Two classes of documents that share a few words, an empty one, one without a class, and a class of one.
fn documents() -> Vec<(String, Value)> {
    let texts = [
        ("arts", "album singer rock music year"),
        ("arts", "singer pop album song year"),
        ("arts", "rock band music guitar"),
        ("arts", "song guitar singer band year"),
        ("politics", "election party vote senate year"),
        ("politics", "party parliament vote minister"),
        ("politics", "senate minister election year"),
        ("politics", "parliament election party law"),
        ("sport", "football goal match"),
        ("arts", "..."),
    ];
    let mut documents: Vec<(String, Value)> = (0..)
        .zip(texts)
        .map(|(i, (class, body))| (format!("d{i}"), json!({ "body": body, "class": class })))
        .collect();
    documents.push(("d-none".into(), json!({ "body": "year vote music" })));
    documents
}

fn dataset(path: &Path, documents: &[(String, Value)], held_out: &[u32]) -> Dataset {
    let documents: Vec<(&str, Value)> =
        documents.iter().map(|(id, fields)| (&id[..], fields.clone())).collect();
    let clicks = [(0, 0, 1.0), (1, 4, 1.0)];
    let queries = ["song singer", "vote election"];
    Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out }.open(path)
}

fn params(method: &str, settings: &[(&str, &str)]) -> Params {
    let mut params = Params::named(method).unwrap();
    params.set("dim", "2").unwrap();
    settings.iter().for_each(|(key, value)| params.set(key, value).unwrap());
    params
}

fn fit(dataset: &Dataset, params: Params) -> Result<Trained> {
    let mixture = Mixture::parse(params.name()).unwrap();
    train(dataset, &Preparation::default(), &mixture, &[params], &Run::silent())
}

const GROUPS: [&str; 4] = ["grlsi", "crlsi", "gnmf", "cnmf"];

#[test]
fn one_class_without_topics_of_its_own_is_the_plain_model() {
    let dir = tempfile::tempdir().unwrap();
    let plain: Vec<(String, Value)> = documents()
        .into_iter()
        .map(|(id, fields)| (id, json!({ "body": fields["body"] })))
        .collect();
    let data = dataset(&dir.path().join("d"), &plain, &[]);
    let scores = |params: Params| {
        let model = fit(&data, params).unwrap().model;
        ["song year", "election music", "goal"]
            .map(|text| model.scores(&model.read_query(text).unwrap()))
    };
    for (alone, group) in [("rlsi", "grlsi"), ("nmf", "gnmf")] {
        let one = [("class_dim", "0"), ("clusters", "1")];
        assert_eq!(scores(params(alone, &[])), scores(params(group, &one)), "{group}");
    }
    // Of one class, its own topics are all topics.
    for (alone, classes) in [("rlsi", "crlsi"), ("nmf", "cnmf")] {
        let (a, b) = (scores(params(alone, &[])), scores(params(classes, &[("clusters", "1")])));
        let all = |scores: [Vec<f32>; 3]| scores.concat();
        assert_eq!(all(a).len(), all(b).len());
    }
}

#[test]
fn classes_come_from_the_field_of_that_name_or_another_and_are_kept() {
    let dir = tempfile::tempdir().unwrap();
    let data = dataset(&dir.path().join("d"), &documents(), &[]);
    let renamed: Vec<(String, Value)> = documents()
        .into_iter()
        .map(|(id, fields)| (id, json!({ "body": fields["body"], "category": [fields["class"]] })))
        .collect();
    let other = dataset(&dir.path().join("o"), &renamed, &[]);
    for method in GROUPS {
        let by_class = fit(&data, params(method, &[])).unwrap();
        let by_category = fit(&other, params(method, &[("class", "category")])).unwrap();
        let (a, b) = (&by_class.model, &by_category.model);
        let query = a.read_query("song year").unwrap();
        assert_eq!(a.scores(&query), b.scores(&b.read_query("song year").unwrap()));
        let view = a.parts[0].matcher.topics().unwrap();
        assert_eq!(view.classes, [NO_CLASS, "arts", "politics", "sport"]);
        assert_eq!(view.n_topics(), view.n_shared + 4 * view.per_class);
        assert_eq!((view.class_of[0], view.class_of[8], view.class_of[10]), (1, 3, 0));
        assert_eq!(view.class_of_topic(view.n_shared), Some(0));
        assert_eq!(view.class_of_topic(view.n_topics() - 1), Some(3));
        assert_eq!(view.n_shared > 0, view.class_of_topic(0).is_none());
        assert_eq!(view.weights.n_cols(), view.n_topics());
        // A word of arts alone weighs in no topic of politics.
        let guitar = a.counts.vocabulary.id("guitar").unwrap();
        let row = view.weights.row(guitar as usize).to_vec();
        let politics = view.n_shared + 2 * view.per_class;
        if method.ends_with("nmf") {
            assert!(row[politics..politics + view.per_class].iter().all(|&u| u == 0.0));
        }
        let FitReport::Steps(report) = &by_class.reports[0] else { panic!("it learns in steps") };
        assert!(report.notes[0].contains("4 classes by the field class"), "{:?}", report.notes);
        by_class.save(&dir.path().join(method), true, std::time::Duration::ZERO).unwrap();
        let loaded = Model::open(&dir.path().join(method)).unwrap();
        assert_eq!(loaded.parts[0].matcher.topics().unwrap().classes, view.classes);
        assert_eq!(loaded.scores(&query), a.scores(&query));
    }
}

#[test]
fn without_classes_documents_are_dealt_into_clusters() {
    let dir = tempfile::tempdir().unwrap();
    let plain: Vec<(String, Value)> = documents()
        .into_iter()
        .map(|(id, fields)| (id, json!({ "body": fields["body"] })))
        .collect();
    let data = dataset(&dir.path().join("d"), &plain, &[]);
    for method in GROUPS {
        let trained = fit(&data, params(method, &[("clusters", "3")])).unwrap();
        let FitReport::Steps(report) = &trained.reports[0] else { panic!("it learns in steps") };
        assert!(report.notes[0].starts_with("3 clusters of documents"), "{:?}", report.notes);
        let view = trained.model.parts[0].matcher.topics().unwrap();
        assert_eq!(view.classes, ["cluster 1", "cluster 2", "cluster 3"]);
        // More than there are documents: as many as there can be.
        let trained = fit(&data, params(method, &[("clusters", "500")])).unwrap();
        let classes = trained.model.parts[0].matcher.topics().unwrap().classes.len();
        assert!((2..=10).contains(&classes), "{method} {classes}");
        let message = match fit(&data, params(method, &[("class", "category")])) {
            Err(error) => error.to_string(),
            Ok(_) => panic!("no document has a category"),
        };
        assert!(
            message.contains("category") && message.contains("no document has it"),
            "{message}"
        );
    }
}

#[test]
fn models_that_want_different_classes_are_not_fitted_together() {
    let dir = tempfile::tempdir().unwrap();
    let data = dataset(&dir.path().join("d"), &documents(), &[]);
    let models = [params("grlsi", &[]), params("gnmf", &[("class", "category")])];
    let mixture = Mixture::parse("0.5*grlsi+0.5*gnmf").unwrap();
    let fitted = train(&data, &Preparation::default(), &mixture, &models, &Run::silent());
    let message = fitted.err().unwrap().to_string();
    assert!(message.contains("share their classes"), "{message}");
}

#[test]
fn new_documents_are_folded_into_the_topics_of_their_class_or_of_the_best() {
    let dir = tempfile::tempdir().unwrap();
    let data = dataset(&dir.path().join("d"), &documents(), &[]);
    let new = |id: &str, fields: Value| Document {
        id: id.into(),
        fields: fields.as_object().unwrap().clone(),
    };
    for method in GROUPS {
        let model = fit(&data, params(method, &[])).unwrap().model;
        let text = "election party vote senate year";
        let more = [
            new("same", json!({ "body": text, "class": "politics" })),
            new("unknown", json!({ "body": text, "class": "economy" })),
            new("none", json!({ "body": text })),
            new("empty", json!({ "body": "" })),
        ];
        let query = model.read_query("vote party").unwrap();
        let before = model.scores(&query);
        let model = model.with_documents(&more).unwrap();
        let after = model.scores(&model.read_query("vote party").unwrap());
        assert_eq!(before[..], after[..before.len()]);
        let [same, unknown, none, empty] = after[before.len()..] else { panic!("four are new") };
        assert!((same - before[4]).abs() < 1e-3, "{method}: {same} {}", before[4]);
        assert_eq!((unknown, empty), (none, 0.0), "{method}");
        let view = model.parts[0].matcher.topics().unwrap();
        assert_eq!((view.class_of[11], view.class_of[12]), (2, view.class_of[13]), "{method}");
    }
}

#[test]
fn held_out_documents_teach_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let all = documents();
    let less: Vec<(String, Value)> = all.iter().filter(|(id, _)| id != "d3").cloned().collect();
    let held_out = dataset(&dir.path().join("h"), &all, &[3]);
    let without = dataset(&dir.path().join("w"), &less, &[]);
    for method in ["rlsi", "nmf", "grlsi", "cnmf"] {
        let a = fit(&held_out, params(method, &[])).unwrap().model;
        let b = fit(&without, params(method, &[])).unwrap().model;
        let query = "vote music";
        let mut first = a.scores(&a.read_query(query).unwrap());
        first.remove(3);
        assert_eq!(first, b.scores(&b.read_query(query).unwrap()), "{method}");
    }
}

#[test]
fn a_text_is_weighed_in_the_topics_of_the_class_it_fits_best() {
    let dir = tempfile::tempdir().unwrap();
    let data = dataset(&dir.path().join("d"), &documents(), &[]);
    let counts = |model: &Model, text: &str| model.counts.read_query(text);
    for method in GROUPS {
        let model = fit(&data, params(method, &[])).unwrap().model;
        let matcher = &model.parts[0].matcher;
        let of = |text: &str| matcher.topics_of(&model.counts, &counts(&model, text)).unwrap();
        let class = |text: &str| of(text).0;
        assert_eq!((class("guitar band song"), class("parliament law")), (Some(1), Some(2)));
        assert_eq!(of("guitar").1.len(), matcher.topics().unwrap().documents.n_cols());
        assert!(of("zebra").1.iter().all(|&weight| weight == 0.0));
    }
}

/// The cosine by its definition, from what the view shows and a solve of the normal equations by hand.
#[test]
fn a_score_is_the_cosine_of_weights() {
    let dir = tempfile::tempdir().unwrap();
    let data = dataset(&dir.path().join("d"), &documents(), &[]);
    for method in ["rlsi", "nmf", "grlsi", "gnmf"] {
        let model = fit(&data, params(method, &[])).unwrap().model;
        let matcher = &model.parts[0].matcher;
        let view = matcher.topics().unwrap();
        // A query with the words of a document is that document.
        let query = model.read_query("album singer rock music year").unwrap();
        let scores = model.scores(&query);
        assert!((scores[0] - 1.0).abs() < 1e-4, "{method} {scores:?}");
        for (doc, &score) in scores.iter().enumerate().take(4) {
            let (a, b) = (view.documents.row(0), view.documents.row(doc));
            let cosine = dot_f64(a, b) / (dot_f64(a, a) * dot_f64(b, b)).sqrt();
            assert!((f64::from(score) - cosine).abs() < 1e-3, "{method}");
        }
        // An empty document has no direction.
        assert_eq!(scores[9], 0.0);
    }
}

#[test]
fn the_plain_cosine_ignores_how_much_a_class_explains() {
    let dir = tempfile::tempdir().unwrap();
    let data = dataset(&dir.path().join("d"), &documents(), &[]);
    for method in GROUPS {
        let scores = |cosine: &str, text: &str| {
            let trained = fit(&data, params(method, &[("cosine", cosine)])).unwrap();
            trained.save(&dir.path().join("m"), true, std::time::Duration::ZERO).unwrap();
            let model = Model::open(&dir.path().join("m")).unwrap();
            let scores = model.scores(&model.read_query(text).unwrap());
            assert_eq!(scores, trained.model.scores(&model.read_query(text).unwrap()), "{method}");
            scores
        };
        // Words of politics, and one that arts have as well.
        let text = "election party vote senate year";
        let (plain, weighted) = (scores("plain", text), scores("weighted", text));
        // The class that explains most of the query keeps its cosines; others gain the factor again.
        assert_eq!(plain[4..8], weighted[4..8], "{method}");
        let of_arts: Vec<f32> = (0..4).map(|doc| weighted[doc] / plain[doc]).collect();
        let alike = |a: f32| (a - of_arts[0]).abs() < 1e-4 && (0.0..1.0).contains(&a);
        assert!(of_arts.iter().all(|&a| alike(a)), "{method} {of_arts:?}");
    }
}

#[test]
fn validation_keeps_the_best_sweep_if_asked() {
    let dir = tempfile::tempdir().unwrap();
    let data = dataset(&dir.path().join("d"), &documents(), &[]);
    let trained = fit(&data, params("rlsi", &[("validate", "true"), ("lambda1", "0.01")])).unwrap();
    let FitReport::Steps(report) = &trained.reports[0] else { panic!("it learns in steps") };
    assert_eq!(report.figures, ["objective", "loss", "filled", "validation"]);
    let best = report.steps.iter().map(|step| step[3]).fold(0.0, f64::max);
    assert_eq!(report.steps[report.kept.unwrap()][3], best);
}

#[test]
fn what_makes_no_sense_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let data = dataset(&dir.path().join("d"), &documents(), &[]);
    for (method, key, value) in [
        ("rlsi", "dim", "0"),
        ("rlsi", "lambda1", "-1"),
        ("rlsi", "lambda2", "-0.5"),
        ("rlsi", "sweeps", "0"),
        ("nmf", "passes", "0"),
        ("nmf", "tolerance", "-1"),
        ("grlsi", "clusters", "0"),
    ] {
        let refused = fit(&data, params(method, &[(key, value)])).err().unwrap();
        assert!(matches!(refused, Error::Parameter { .. }), "{method} {key}: {refused}");
        assert!(refused.to_string().contains(key), "{refused}");
    }
    // Everything is priced away: no topic has a word, and that is said.
    let trained = fit(&data, params("rlsi", &[("lambda1", "1000")])).unwrap();
    assert!(trained.reports[0].warnings()[0].contains("topics without a word: 2; lower lambda1"));
    let query = trained.model.read_query("song").unwrap();
    assert!(trained.model.scores(&query).iter().all(|&score| score == 0.0));
    // No document has a word.
    let silent =
        [("a".to_owned(), json!({ "body": "..." })), ("b".into(), json!({ "body": "the" }))];
    let silent = dataset(&dir.path().join("s"), &pad(&silent), &[0, 1, 2, 3, 4]);
    let refused = fit(&silent, params("nmf", &[])).err().unwrap().to_string();
    assert!(refused.contains("no training document has a word"), "{refused}");
}

/// More documents, so that the clicks of [`dataset`] have theirs.
fn pad(documents: &[(String, Value)]) -> Vec<(String, Value)> {
    let more = (0..3).map(|i| (format!("p{i}"), json!({ "body": "word" })));
    documents.iter().cloned().chain(more).collect()
}

#[test]
fn more_topics_than_documents_are_fine() {
    let dir = tempfile::tempdir().unwrap();
    let data = dataset(&dir.path().join("d"), &documents(), &[]);
    for method in ["rlsi", "nmf", "grlsi", "crlsi", "gnmf", "cnmf"] {
        let trained = fit(&data, params(method, &[("dim", "40")])).unwrap();
        let query = trained.model.read_query("song year").unwrap();
        assert!(trained.model.scores(&query).iter().all(|score| score.is_finite()), "{method}");
        let counts: &Counts = &trained.model.counts;
        assert_eq!(counts.n_docs(), 11);
    }
}
