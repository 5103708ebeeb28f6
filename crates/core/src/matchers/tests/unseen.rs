//! Documents that a model meets after training.

use super::*;
use crate::data::Document;

fn document(id: &str, title: &str) -> Document {
    let mut fields = serde_json::Map::new();
    fields.insert("title".into(), title.into());
    Document { id: id.into(), fields }
}

/// Three documents with clicks and one without, whose copy must then score as it does.
fn four(path: &Path) -> Dataset {
    let docs = [
        ("sun", "distance earth sun"),
        ("car", "automobile insurance policy"),
        ("bp", "hypertension therapy"),
        ("alone", "sun insurance insurance earth"),
    ];
    let queries = ["far sun", "cheap insurance", "high pressure therapy", "earth policy"];
    let clicks = [(0, 0, 5.0), (1, 1, 7.0), (2, 2, 4.0), (3, 0, 2.0), (3, 1, 3.0)];
    dataset(path, &docs, &queries, &clicks)
}

#[test]
fn a_new_document_scores_as_one_of_training_with_the_same_words() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = four(&dir.path().join("d"));
    for name in every() {
        let model = train(&dataset, &name).model;
        // "cheap" is a word that only queries have so far.
        let queries = ["far sun", "earth insurance", "therapy policy", "cheap earth"];
        let scores =
            |model: &Model| queries.map(|text| model.scores(&model.read_query(text).unwrap()));
        let before = scores(&model);
        let again = [
            document("copy", "sun insurance insurance earth"),
            // Known already, whatever it says now.
            document("sun", "something else"),
            document("blank", "words nobody knew"),
            document("copy", "named twice"),
            document("cheap", "cheap cheap pressure"),
        ];
        let beside = model.unseen(&[again[0].clone(), again[2].clone(), again[4].clone()]);
        let beside = beside.unwrap().map(|new| {
            queries.map(|text| {
                let query = model.read_query(text).unwrap();
                let (own, new) = model.scores_with_unseen(&query, Some(&[0, 1, 2, 3]), &[&new]);
                [own, new].concat()
            })
        });
        let model = model.with_documents(&again).unwrap();
        if let Some(beside) = beside {
            assert_eq!(beside, scores(&model), "{name}");
        }
        assert_eq!(model.counts.doc_ids[3..], ["alone", "copy", "blank", "cheap"], "{name}");
        for (before, after) in before.iter().zip(scores(&model)) {
            assert_eq!(before[..], after[..4], "{name}");
            assert_eq!(after[4], after[3], "{name}");
        }
        // One more time, and some alone: still the same bits.
        let model = model.with_documents(&[document("third", "sun policy")]).unwrap();
        let query = model.read_query(queries[1]).unwrap();
        let all = model.scores(&query);
        assert_eq!(all[..4], before[1][..], "{name}");
        assert_eq!(model.scores_of(&query, &[4, 0, 6]), [all[4], all[0], all[6]], "{name}");
    }
}

#[test]
fn unseen_documents_are_explained_as_documents_of_the_model() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = four(&dir.path().join("d"));
    for name in ["bm25", "vsm", "lm", "lm-jm", "pls", "rmls", "pls+bm25", "rrf:pls+bm25"] {
        let (model, text) = (train(&dataset, name).model, "earth insurance");
        let documents = [document("blank", "nothing"), document("new", "earth policy sun")];
        let new = model.unseen(&documents).unwrap().expect("a short way");
        let beside = model.explain_at(text, Place::Unseen(&new, 1), 2).unwrap();
        assert_eq!(beside.parts.len(), model.parts.len());
        let extended = model.with_documents(&documents).unwrap();
        let made = extended.explain(text, 5, 2).unwrap();
        assert_eq!(beside, made, "{name}");
        let shown = extended.scores(&extended.read_query(text).unwrap())[5];
        assert_eq!(made.score, f64::from(shown), "{name}");
    }
}
