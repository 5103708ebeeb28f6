//! What lies near, against the cosines of all embeddings in plain loops.

use super::*;

fn cosine(a: &[f32], b: &[f32]) -> Option<f64> {
    let dot = |a: &[f32], b: &[f32]| -> f64 {
        a.iter().zip(b).map(|(&a, &b)| f64::from(a) * f64::from(b)).sum()
    };
    let norms = dot(a, a).sqrt() * dot(b, b).sqrt();
    (norms > 0.0).then(|| dot(a, b) / norms)
}

/// The `k` nearest to `embedding` of `n` rows, nearest first, but for those that `skip` names.
fn nearest(
    embedding: &[f32],
    n: usize,
    row: impl Fn(usize) -> Vec<f32>,
    skip: impl Fn(usize) -> bool,
    k: usize,
) -> Vec<(usize, f64)> {
    let cosines =
        (0..n).filter(|&i| !skip(i)).filter_map(|i| Some((i, cosine(embedding, &row(i))?)));
    let mut all: Vec<(usize, f64)> = cosines.collect();
    all.sort_by(|a, b| b.1.partial_cmp(&a.1).unwrap().then(a.0.cmp(&b.0)));
    all.truncate(k);
    all
}

fn same(found: &[(String, f64)], expected: &[(String, f64)], what: &str) {
    assert_eq!(found.len(), expected.len(), "{what}");
    for ((name, near), (other, cosine)) in found.iter().zip(expected) {
        assert!(name == other && (near - cosine).abs() < 1e-9, "{what}: {found:?} {expected:?}");
    }
}

#[test]
fn neighbours_are_the_largest_cosines_in_falling_order() {
    let dir = tempfile::tempdir().unwrap();
    let dataset = conformance::fifty(&dir.path().join("d"), false);
    let model = train(&dataset, "pls").model;
    let (counts, near) = (&model.counts, Neighbours::of(&model).unwrap());
    let bilinear = model.parts[0].matcher.bilinear().unwrap();
    let doc_embedding = |j: usize| bilinear.doc_embedding(j as u32).to_vec();
    let query_embedding = |i: usize| bilinear.query_embedding(counts, &counts.query(i));
    let n_terms = counts.n_terms();
    for k in [1, 3, 1000] {
        for doc in [0, 17, 49] {
            let expected = nearest(&doc_embedding(doc), 50, doc_embedding, |j| j == doc, k);
            let found = near.docs(doc as u32, k);
            // Documents of the same words have the same embedding, but for the last digits.
            assert_eq!(found.len(), expected.len());
            for (&(_, found), &(_, cosine)) in found.iter().zip(&expected) {
                assert!((found - cosine).abs() < 1e-9, "{found} {cosine}");
            }
            for &(j, found) in &found {
                let cosine = cosine(&doc_embedding(doc), &doc_embedding(j as usize)).unwrap();
                assert!((found - cosine).abs() < 1e-9 && j as usize != doc, "{j} {found}");
            }
        }
        for i in 0..counts.n_queries() {
            let expected = nearest(
                &query_embedding(i),
                counts.n_queries(),
                query_embedding,
                |other| other == i,
                k,
            );
            let named = |&(i, cosine): &(usize, f64)| (counts.query_texts[i].clone(), cosine);
            let expected: Vec<_> = expected.iter().map(named).collect();
            same(&near.queries(&counts.query(i), k), &expected, "queries");
        }
        for word in ["fruit", "water"] {
            let id = counts.vocabulary.id(word).unwrap() as usize;
            let maps = bilinear.maps();
            let embedding = maps.l_x.row(id).to_vec();
            let of_map = |map: &Map, own: Option<usize>| -> Vec<(String, f64)> {
                let row = |i: usize| map.row(i).to_vec();
                let skip = |i: usize| i >= n_terms || Some(i) == own;
                let all = nearest(&embedding, map.n_rows(), row, skip, k);
                let term = |(i, cosine)| (counts.vocabulary.term(i as u32).to_owned(), cosine);
                all.into_iter().map(term).collect()
            };
            let (in_queries, in_docs) = near.words(word, k).unwrap();
            same(&in_queries, &of_map(&maps.l_x, Some(id)), "words of queries");
            same(&in_docs, &of_map(&maps.l_y, None), "words of documents");
        }
    }
    // There is an order to be wrong about.
    let all = near.docs(0, 1000);
    assert!(all[0].1 > all[all.len() - 1].1 + 0.1, "{all:?}");
}
