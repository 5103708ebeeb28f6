//! What every matcher must do, whatever it computes. The methods come from the list that the
//! program itself has, so that a new one is held to all of this; one that learns nothing from clicks is named below.

use std::path::Path;

use super::*;
use crate::data::fixture::many;
use crate::features::QueryTerms;

/// Methods that learn nothing from clicks.
const DOCUMENTS_ALONE: &[&str] = &[
    "bm25",
    "vsm",
    "lm",
    "lm-dirichlet",
    "lm-jm",
    "dependence",
    "lsi_dt",
    "lsi",
    "lsi_dt tfidf=0.5",
    "expansion",
    "rm3",
    "rlsi",
    "grlsi",
    "crlsi",
    "nmf",
    "gnmf",
    "cnmf",
    "plsi",
    "plsi tempering=1",
    "lda",
    "lda batch=4",
];
/// Methods that know queries by their clicks, not by their words.
const KNOWN_QUERIES_ALONE: &[&str] = &["lsi_qd", "walk"];

/// Whether clicks tell it which documents a word that none of them has belongs to.
pub(super) fn learns_of_other_words(name: &str) -> bool {
    // A diagonal has no other words, and a word that no document has is in no bin.
    let blind = name == "ssi form=diagonal" || name.contains("bins=");
    !blind && !DOCUMENTS_ALONE.contains(&name)
}

#[test]
fn what_learns_from_clicks_solves_the_checkerboard_and_words_alone_cannot() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = checkerboard(&dir.path().join("d"));
    for name in alone().filter(|name| learns_of_other_words(name)) {
        let model = train(&dataset, name).model;
        for (i, query) in model.counts.query_texts.clone().iter().enumerate() {
            let hits = model.search(&model.read_query(query).unwrap(), 3);
            let mut found: Vec<u32> = hits.iter().map(|hit| hit.doc / 3).collect();
            found.dedup();
            assert_eq!(found, [i as u32 / 3], "{name} {query}");
        }
        // A query nobody asked before, and words in another order.
        let unseen = model.read_query("high blood").unwrap();
        if KNOWN_QUERIES_ALONE.contains(&name) {
            assert!(model.scores(&unseen).iter().all(|&score| score == 0.0), "{name}");
        } else {
            assert_eq!(model.search(&unseen, 1)[0].doc / 3, 2, "{name}");
        }
    }
    let bm25 = train(&dataset, "bm25").model;
    assert_eq!(bm25.search(&bm25.read_query("star far").unwrap(), 1)[0].score, 0.0);
}

#[test]
fn who_learns_nothing_from_clicks_is_the_same_whatever_was_clicked() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = checkerboard(&dir.path().join("d"));
    let run = Run::silent();
    for name in alone() {
        let params = small(name);
        assert_eq!(params.learns_from_clicks(), !DOCUMENTS_ALONE.contains(&name), "{name}");
        if params.learns_from_clicks() {
            continue;
        }
        let prepared = Params::prepared(&Preparation::default(), [&params]);
        let counts = Counts::of(&dataset, &prepared, &run).unwrap();
        let first = counts.clicks.rows().next().unwrap().iter();
        let fewer = first.map(|(doc, clicks)| (0, doc, clicks)).collect();
        let fewer = Csr::from_triplets(counts.n_queries(), counts.n_docs(), fewer).unwrap();
        let fewer = counts.with_clicks(fewer).unwrap();
        let of = |counts: &Counts| {
            let (matcher, _) = params.fit(counts, None, &run).unwrap();
            matcher.scores(counts, &counts.read_query("star far"), None)
        };
        assert_eq!(of(&counts), of(&fewer), "{name}");
    }
}

#[test]
fn scores_are_the_same_bits_one_by_one_in_a_batch_and_after_loading() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = checkerboard(&dir.path().join("d"));
    for name in every() {
        let trained = train(&dataset, &name);
        let path = dir.path().join(name.replace('*', "x"));
        trained.save(&path, false, std::time::Duration::ZERO).unwrap();
        let (model, loaded) = (&trained.model, Model::open(&path).unwrap());
        for text in ["star far", "hypertension pressure cars", "distance insurance"] {
            let query = model.read_query(text).unwrap();
            let before = model.scores(&query);
            assert!(before.iter().all(|score| score.is_finite()), "{name}");
            assert_eq!(before, loaded.scores(&loaded.read_query(text).unwrap()), "{name}");
            for part in &model.parts {
                let all = part.matcher.scores(&model.counts, &query, None);
                let some = part.matcher.scores(&model.counts, &query, Some(&[7, 2, 5]));
                assert_eq!(some, [all[7], all[2], all[5]], "{name}");
            }
        }
    }
}

#[test]
fn sparse_vectors_have_the_scores_as_dot_products() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = checkerboard(&dir.path().join("d"));
    let mut sparse = Vec::new();
    for name in alone() {
        let Trained { model, .. } = train(&dataset, name);
        let Some(vectors) = model.parts[0].matcher.sparse() else { continue };
        sparse.push(name);
        let lists = vectors.lists(&model.counts).unwrap();
        for text in ["star far", "hypertension pressure cars", "distance insurance"] {
            let query = model.read_query(text).unwrap();
            let scores = model.scores(&query);
            let (features, weights) = vectors.weights(&model.counts, &query);
            let mut sums = vec![0.0; scores.len()];
            for (feature, weight) in features.into_iter().zip(weights) {
                for (doc, value) in lists.row(feature as usize).iter() {
                    sums[doc as usize] += f64::from(weight) * f64::from(value);
                }
            }
            if name == "translation" {
                // Its scores are logarithms of sums: the best document must have one of the largest sums.
                let by_score = |a: &usize, b: &usize| scores[*a].total_cmp(&scores[*b]);
                let best = (0..scores.len()).max_by(by_score).unwrap();
                let largest = sums.iter().copied().fold(0.0, f64::max);
                assert!(largest > 0.0 && sums[best] >= 0.5 * largest, "{text}: {sums:?}");
                continue;
            }
            for (sum, &score) in sums.into_iter().zip(&scores) {
                assert!((sum - f64::from(score)).abs() < 1e-5, "{name} {text}: {sum} {score}");
            }
        }
    }
    for name in ["association", "clicked", "feedback", "knn", "ridge", "translation", "vpcg"] {
        assert!(sparse.contains(&name), "{name} has no sparse vectors: {sparse:?}");
    }
}

/// As few steps as show what a step does.
fn hasty(name: &str) -> Params {
    let mut params = small(name);
    for key in ["epochs", "sweeps", "iterations"] {
        if params.docs().iter().any(|doc| doc.key == key) {
            params.set(key, "2").unwrap();
        }
    }
    params
}

#[test]
fn models_are_the_same_files_at_any_thread_count() {
    let dir = tempfile::tempdir().unwrap();
    // More rows than nearly all blocks have (4096 rows are summed at once by the operator alone).
    let dataset = many(&dir.path().join("d"), 2200);
    let identity = |threads: usize, name: &str| {
        let path = dir.path().join(format!("{threads}"));
        let mixture = Mixture::parse(name.split(' ').next().unwrap()).unwrap();
        let params: Vec<Params> = match &mixture.parts[..] {
            [_] => vec![hasty(name)],
            parts => parts.iter().map(|(_, name)| hasty(name)).collect(),
        };
        let (prepared, run) = (Preparation::default(), Run::silent());
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let trained = crate::training::train(&dataset, &prepared, &mixture, &params, &run);
            trained.unwrap().save(&path, true, std::time::Duration::ZERO).unwrap();
        });
        crate::file::Folder::<ModelAbout>::open(&path, crate::file::FolderKind::Model)
            .unwrap()
            .identity()
    };
    for name in every() {
        assert_eq!(identity(1, &name), identity(5, &name), "{name}");
    }
}

#[test]
fn explanations_add_up() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = checkerboard(&dir.path().join("d"));
    for name in every() {
        let model = train(&dataset, &name).model;
        for (text, doc) in [("star far", 1), ("hypertension pressure", 7), ("star sun", 4)] {
            let all = model.explain(text, doc, usize::MAX).unwrap();
            let few = model.explain(text, doc, 2).unwrap();
            let sum: f64 = all.parts.iter().map(|part| part.contribution).sum();
            assert!((sum - all.score).abs() < 1e-5, "{name}: {sum} {}", all.score);
            for (all, few) in all.parts.iter().zip(&few.parts) {
                // Every pair is shown, so what is left is rounding.
                assert!(all.rest.abs() < 1e-4 && all.n_rest == 0, "{name}: {all:?}");
                let shown: f64 = few.contributions.iter().map(|line| line.value).sum();
                assert!((shown + few.rest - few.score).abs() < 1e-9, "{name}");
                if let Some((mean, deviation)) = few.standard {
                    let expected = if deviation > 0.0 {
                        few.weight * (few.score - mean) / deviation
                    } else {
                        0.0
                    };
                    assert!((few.contribution - expected).abs() < 1e-4, "{name}: {few:?}");
                }
            }
        }
    }
}

/// Documents that draw from the same words and queries that click on some, in order or turned round.
pub(super) fn fifty(path: &Path, turned: bool) -> Dataset {
    const N: usize = 50;
    let words = ["red", "apple", "green", "tree", "blue", "sky", "cloud", "river", "stone"];
    let place = |doc: usize| if turned { N - 1 - doc } else { doc };
    let mut docs: Vec<(String, String)> = (0..N)
        .map(|i| {
            let some = (0..3 + i % 3).map(|k| words[(i * (k + 2) + k * k) % words.len()]);
            (format!("d{i}"), some.collect::<Vec<_>>().join(" "))
        })
        .collect();
    if turned {
        docs.reverse();
    }
    let docs: Vec<(&str, &str)> = docs.iter().map(|(id, text)| (&id[..], &text[..])).collect();
    let queries = ["fruit", "heaven above", "water", "green fruit", "rock water"];
    let mut clicks: Vec<(u32, u32, f32)> = (0..N)
        .flat_map(|i| [(i % 5, place(i), (1 + i % 7) as f32), (i % 3, place((i * 7) % N), 9.0)])
        .map(|(query, doc, clicks)| (query as u32, doc as u32, clicks))
        .collect();
    clicks.sort_by_key(|&(query, doc, _)| (query, doc));
    clicks.dedup_by_key(|&mut (query, doc, _)| (query, doc));
    dataset(path, &docs, &queries, &clicks)
}

#[test]
fn permuting_the_documents_permutes_the_scores() {
    let dir = tempfile::tempdir().unwrap();
    let (plain, turned) = (fifty(&dir.path().join("p"), false), fifty(&dir.path().join("t"), true));
    for name in alone() {
        let (a, b) = (train(&plain, name).model, train(&turned, name).model);
        for text in ["fruit", "apple heaven"] {
            let forward = a.scores(&a.read_query(text).unwrap());
            let mut backward = b.scores(&b.read_query(text).unwrap());
            backward.reverse();
            for (x, y) in forward.iter().zip(&backward) {
                // Solvers stop when they are near enough; what is drawn is the same to the bit.
                let drawn = name.starts_with("ssi") || name.starts_with("svdfeature");
                let near = if drawn { 0.0 } else { 1e-3 };
                assert!((x - y).abs() <= near, "{name}: {forward:?} {backward:?}");
            }
        }
    }
}

#[test]
fn a_query_of_stop_words_is_refused_with_advice() {
    let dir = tempfile::tempdir().unwrap();
    let model = train(&checkerboard(&dir.path().join("d")), "bm25").model;
    let message = model.read_query("the of").unwrap_err().to_string();
    assert!(message.contains("analyses to nothing") && message.contains("stop words"), "{message}");
    let message = model.read_query("zebra").unwrap_err().to_string();
    assert!(message.contains("does not know zebra"), "{message}");
}

#[test]
fn a_query_without_a_word_scores_finite() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = checkerboard(&dir.path().join("d"));
    let nothing = QueryTerms {
        indices: vec![],
        counts: vec![],
        unknown: vec!["zebra".into()],
        known: None,
        sequence: vec![crate::features::GAP],
    };
    for name in every() {
        let model = train(&dataset, &name).model;
        assert!(model.scores(&nothing).iter().all(|score| score.is_finite()), "{name}");
    }
}
