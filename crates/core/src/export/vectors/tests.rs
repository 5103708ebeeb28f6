use std::fs;

use serde_json::{Value, json};

use super::*;
use crate::data::Dataset;
use crate::data::fixture::Fixture;
use crate::features::Preparation;
use crate::file::Tensors;
use crate::linalg::dot;
use crate::matchers::{Mixture, Params};
use crate::training::train;

const ALL: [VectorSet; 3] = [VectorSet::Documents, VectorSet::Queries, VectorSet::Words];

fn dataset(path: &Path) -> Dataset {
    Fixture {
        documents: &[
            ("sun", json!({ "title": "Distance between Earth and its star" })),
            ("cars", json!({ "title": "Automobile policies" })),
            ("moon", json!({ "title": "Distance of the satellite" })),
            ("house", json!({ "title": "Policies for a home" })),
        ],
        queries: &["how far is the sun", "insure my car", "far moon", "insure my house"],
        clicks: &[(0, 0, 9.0), (1, 1, 4.0), (2, 2, 5.0), (2, 0, 1.0), (3, 3, 2.0), (3, 1, 1.0)],
        held_out: &[],
    }
    .open(path)
}

fn model(mix: &str, path: &Path) -> Model {
    let mixture = Mixture::parse(mix).unwrap();
    let params: Vec<Params> = mixture
        .parts
        .iter()
        .map(|(_, name)| {
            let mut params = Params::named(name).unwrap();
            if name != "bm25" {
                params.set("dim", "3").unwrap();
            }
            params
        })
        .collect();
    let run = Run::silent();
    train(&dataset(path), &Preparation::default(), &mixture, &params, &run).unwrap().model
}

fn export(model: &Model, format: VectorFormat, target: &Path) -> VectorsAbout {
    let vectors = Vectors { model, format, sets: &ALL, queries: None };
    vectors.write(target, false, &Run::silent()).unwrap().0
}

/// The rows of a file of JSON lines.
fn lines(path: &Path) -> Vec<(String, Vec<f32>)> {
    let text = fs::read_to_string(path).unwrap();
    let read = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        let numbers = line["vector"].as_array().unwrap().iter();
        let vector = numbers.map(|number| number.as_f64().unwrap() as f32).collect();
        (line["id"].as_str().unwrap().to_owned(), vector)
    };
    text.lines().map(read).collect()
}

/// The rows of a npy file, as far as our own reading of the format goes.
fn npy(path: &Path, dim: usize) -> Vec<Vec<f32>> {
    let bytes = fs::read(path).unwrap();
    let start = 10 + usize::from(u16::from_le_bytes([bytes[8], bytes[9]]));
    let numbers: Vec<f32> =
        bytes[start..].chunks(4).map(|b| f32::from_le_bytes(b.try_into().unwrap())).collect();
    numbers.chunks(dim).map(<[f32]>::to_vec).collect()
}

#[test]
fn dot_products_are_the_scores_of_the_model() {
    let dir = tempfile::tempdir().unwrap();
    for name in ["pls", "rmls"] {
        let model = model(name, &dir.path().join(format!("{name}-data")));
        let out = dir.path().join(name);
        let about = export(&model, VectorFormat::Jsonl, &out);
        let (documents, queries) =
            (lines(&out.join("documents.jsonl")), lines(&out.join("queries.jsonl")));
        assert_eq!((documents.len(), queries.len(), about.parts.len()), (4, 4, 1));
        for (id, query) in &queries {
            let scores = model.scores(&model.read_query(id).unwrap());
            for ((doc, document), score) in documents.iter().zip(scores) {
                assert_eq!(dot(query, document), score, "{name}: {id}, {doc}");
            }
        }
    }
}

/// In a mix the dot product is the part's own score, which explanations show.
#[test]
fn in_a_mix_dot_products_are_the_scores_of_the_learnt_part() {
    let dir = tempfile::tempdir().unwrap();
    let model = model("0.7*pls+0.3*bm25", &dir.path().join("data"));
    let out = dir.path().join("out");
    let about = export(&model, VectorFormat::Jsonl, &out);
    assert!(about.notes[0].starts_with("bm25 is lexical"), "{:?}", about.notes);
    assert!(about.score.contains("(s - mean) / deviation"));
    let documents = lines(&out.join("documents.jsonl"));
    for (id, query) in lines(&out.join("queries.jsonl")) {
        let scores = model.scores(&model.read_query(&id).unwrap());
        for (j, (_, document)) in documents.iter().enumerate() {
            let why = model.explain(&id, j as u32, 0).unwrap();
            assert_eq!(f64::from(dot(&query, document)), why.parts[0].score);
            // What about.json says of the whole.
            let whole: f64 = why
                .parts
                .iter()
                .map(|part| {
                    let (mean, deviation) = part.standard.unwrap();
                    let standard =
                        if deviation > 0.0 { (part.score - mean) / deviation } else { 0.0 };
                    part.weight * standard
                })
                .sum();
            assert!((whole - f64::from(scores[j])).abs() < 1e-5);
        }
    }
}

#[test]
fn two_learnt_parts_have_vectors_of_their_own() {
    let dir = tempfile::tempdir().unwrap();
    let model = model("0.5*pls+0.5*rmls", &dir.path().join("data"));
    let about = export(&model, VectorFormat::Npy, &dir.path().join("out"));
    let names: Vec<&str> = about.sets.iter().map(|set| set.name.as_str()).collect();
    assert_eq!(names[..2], ["1-pls.documents", "1-pls.queries"]);
    assert_eq!(names[6..], ["2-rmls.words-query", "2-rmls.words-document"]);
    assert!(dir.path().join("out/2-rmls.documents.npy").exists());
}

#[test]
fn every_format_holds_the_same_numbers() {
    let dir = tempfile::tempdir().unwrap();
    let model = model("pls", &dir.path().join("data"));
    let [a, b, c] = ["jsonl", "npy", "safetensors"].map(|name| dir.path().join(name));
    export(&model, VectorFormat::Jsonl, &a);
    export(&model, VectorFormat::Npy, &b);
    let about = export(&model, VectorFormat::Safetensors, &c);
    let tensors = Tensors::open(&c.join("vectors.safetensors")).unwrap();
    assert_eq!(about.sets.len(), 4);
    for set in &about.sets {
        let (ids, rows): (Vec<String>, Vec<Vec<f32>>) =
            lines(&a.join(format!("{}.jsonl", set.name))).into_iter().unzip();
        assert_eq!((rows.len(), rows[0].len()), (set.count, set.dim));
        assert_eq!(npy(&b.join(format!("{}.npy", set.name)), set.dim), rows);
        let (shape, values) = tensors.array::<f32>(&set.name).unwrap();
        assert_eq!((shape, values), (vec![set.count, set.dim], rows.concat()));
        for folder in [&b, &c] {
            let listed = fs::read_to_string(folder.join(format!("{}.ids.txt", set.name))).unwrap();
            assert_eq!(listed.lines().collect::<Vec<_>>(), ids);
        }
    }
    // A word on the side of the queries is its row of the map.
    let bilinear = model.parts[0].matcher.bilinear().expect("pls is learnt");
    let (id, row) = &lines(&a.join("words-query.jsonl"))[2];
    let term = model.counts.vocabulary.id(id).unwrap() as usize;
    assert_eq!(&row[..], &*bilinear.maps().l_x.row(term));
}

#[test]
fn new_queries_are_embedded_like_search_reads_them() {
    let dir = tempfile::tempdir().unwrap();
    let model = model("rmls", &dir.path().join("data"));
    let new = |id: &str, text: &str| NamedQuery {
        id: id.into(),
        terms: model.counts.read_query_of(id, text),
    };
    let queries = [new("a\nb", "far far sun"), new("q2", "nothing known")];
    let vectors = Vectors {
        model: &model,
        format: VectorFormat::Npy,
        sets: &[VectorSet::Documents, VectorSet::Queries],
        queries: Some(&queries),
    };
    let out = dir.path().join("out");
    let (about, files) = vectors.write(&out, false, &Run::silent()).unwrap();
    assert_eq!((about.sets[1].count, about.sets[1].zeros), (2, 1));
    assert!(about.notes[0].contains("1 of the 2 queries is all zeros"), "{:?}", about.notes);
    let (documents, rows) = (npy(&out.join("documents.npy"), 3), npy(&out.join("queries.npy"), 3));
    let scores = model.scores(&model.read_query("far far sun").unwrap());
    for (document, score) in documents.iter().zip(scores) {
        assert_eq!(dot(&rows[0], document), score);
    }
    // An id with a line break cannot stand on a line.
    assert!(files.iter().any(|file| file.name == "queries.ids.jsonl"), "{files:?}");
    let ids = fs::read_to_string(out.join("queries.ids.jsonl")).unwrap();
    assert_eq!(ids, "\"a\\nb\"\n\"q2\"\n");
}

#[test]
fn a_model_that_counts_words_has_no_vectors() {
    let dir = tempfile::tempdir().unwrap();
    let model = model("bm25", &dir.path().join("data"));
    let vectors = Vectors { model: &model, format: VectorFormat::Npy, sets: &ALL, queries: None };
    let error = vectors.write(&dir.path().join("out"), false, &Run::silent()).unwrap_err();
    assert!(error.to_string().contains("bm25 has no vectors to export"), "{error}");
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_stopped_export_leaves_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let model = model("pls", &dir.path().join("data"));
    let vectors = Vectors { model: &model, format: VectorFormat::Npy, sets: &ALL, queries: None };
    let run = Run::new(&|_| {}, &|| true);
    let stopped = vectors.write(&dir.path().join("out"), false, &run);
    assert!(matches!(stopped, Err(Error::Cancelled)));
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
}
