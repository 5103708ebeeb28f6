//! The initial topics of EM: each is one clicked document and the queries that led to it. The
//! documents are drawn far apart, as k-means++ draws its first centres, in the order of their
//! ids, so that the order in which documents were read does not matter.

use rayon::prelude::*;

use super::Bltm;
use super::em::Side;
use crate::Result;
use crate::features::{Counts, idf};
use crate::random::Random;
use crate::sparse::{Csr, Row};

/// The most documents to draw from; if there are more, every n-th of them.
const MOST_DOCS: usize = 20_000;
/// The share of an initial topic that is its document; the rest is the collection, so that no word
/// has probability 0.
const OWN: f64 = 0.5;

/// Initial topics over the words of queries and of documents.
pub(super) fn topics(params: &Bltm, counts: &Counts, pairs: &Csr, text: &Csr) -> Result<[Side; 2]> {
    let by_doc = pairs.transpose();
    let clicked: Vec<u32> =
        (0..by_doc.n_rows() as u32).filter(|&j| !by_doc.row(j as usize).is_empty()).collect();
    let asked = (0..pairs.n_rows()).filter(|&i| !pairs.row(i).is_empty());
    let (n, dim) = (counts.n_terms(), params.dim);
    let mut query = Side::of(asked.map(|i| counts.queries.row(i)), n, dim);
    let mut doc = Side::of(clicked.iter().map(|&j| text.row(j as usize)), n, dim);
    let seeds = seeds(params, counts, &clicked, text);
    let in_docs = clicked.iter().map(|&j| {
        let weight: f64 = by_doc.row(j as usize).values.iter().map(|&v| f64::from(v)).sum();
        (text.row(j as usize), weight)
    });
    fill(&mut doc, in_docs, |z, take| take(text.row(seeds[z] as usize), 1.0));
    let in_queries = (0..pairs.n_rows()).map(|i| {
        let weight: f64 = pairs.row(i).values.iter().map(|&v| f64::from(v)).sum();
        (counts.queries.row(i), weight)
    });
    fill(&mut query, in_queries, |z, take| {
        for (i, weight) in by_doc.row(seeds[z] as usize).iter() {
            take(counts.queries.row(i as usize), f64::from(weight));
        }
    });
    // If there are fewer documents than topics, several topics start from the same one: a little
    // noise per word tells them apart.
    for (side, stream) in [(&mut query, 1u64 << 40), (&mut doc, 2 << 40)] {
        for (phi, &term) in side.phi.chunks_mut(dim).zip(&side.terms) {
            let mut random = Random::new(params.seed, stream + u64::from(term));
            phi.iter_mut().for_each(|p| *p *= 0.9 + 0.2 * random.uniform());
        }
        side.normalise();
    }
    Ok([query, doc])
}

/// Fills the topics of a side with the words of `all` texts and of each topic's `own`.
fn fill<'t>(
    side: &mut Side,
    all: impl Iterator<Item = (Row<'t>, f64)>,
    own: impl Fn(usize, &mut dyn FnMut(Row<'_>, f64)),
) {
    let mut shares = vec![0.0f64; side.terms.len()];
    for (row, weight) in all.filter(|&(_, weight)| weight > 0.0) {
        for (term, f) in row.iter() {
            shares[side.rows[term as usize] as usize] += weight * f64::from(f);
        }
    }
    let total = shares.iter().sum::<f64>().max(f64::MIN_POSITIVE);
    for z in 0..side.dim {
        let mut length = 0.0;
        own(z, &mut |row, weight| {
            length += weight * row.values.iter().map(|&f| f64::from(f)).sum::<f64>();
        });
        let mut place = |row: Row<'_>, weight: f64| {
            for (term, f) in row.iter() {
                let at = side.rows[term as usize] as usize * side.dim + z;
                side.phi[at] += OWN * weight * f64::from(f) / length;
            }
        };
        own(z, &mut place);
        for (at, share) in shares.iter().enumerate() {
            side.phi[at * side.dim + z] += (1.0 - OWN) * share / total;
        }
    }
}

/// Documents far apart by the cosine of their words, one for each topic.
fn seeds(params: &Bltm, counts: &Counts, clicked: &[u32], text: &Csr) -> Vec<u32> {
    let mut docs = clicked.to_vec();
    docs.par_sort_by_key(|&doc| &counts.doc_ids[doc as usize]);
    let step = docs.len().div_ceil(MOST_DOCS);
    let docs: Vec<u32> = docs.into_iter().step_by(step.max(1)).collect();
    let idf = idf(counts);
    let weigh = |doc: u32| -> Vec<(u32, f64)> {
        let row = text.row(doc as usize);
        let weight = |(term, f): (u32, f32)| (term, f64::from((1.0 + f.ln()) * idf[term as usize]));
        let words: Vec<(u32, f64)> = row.iter().map(weight).collect();
        let norm = words.iter().map(|(_, w)| w * w).sum::<f64>().sqrt();
        let scale = if norm > 0.0 { 1.0 / norm } else { 0.0 };
        words.into_iter().map(|(term, w)| (term, w * scale)).collect()
    };
    let words: Vec<Vec<(u32, f64)>> = docs.par_iter().map(|&doc| weigh(doc)).collect();
    let mut dense = vec![0.0f64; text.n_cols()];
    // The distance of every document from the seed `at`.
    let mut distances = |at: usize| -> Vec<f64> {
        words[at].iter().for_each(|&(term, w)| dense[term as usize] = w);
        let far = |doc: &Vec<(u32, f64)>| {
            let cosine: f64 = doc.iter().map(|&(term, w)| w * dense[term as usize]).sum();
            (1.0 - cosine).max(0.0)
        };
        let far: Vec<f64> = words.par_iter().map(far).collect();
        words[at].iter().for_each(|&(term, _)| dense[term as usize] = 0.0);
        far
    };
    let mut random = Random::new(params.seed, 0);
    let tries = 2 + (params.dim as f64).ln() as usize;
    let mut nearest = vec![1.0f64; docs.len()];
    let mut seeds = Vec::with_capacity(params.dim);
    while seeds.len() < params.dim {
        let sum: f64 = nearest.iter().sum();
        // No document is apart from all seeds.
        let even = sum <= 1e-9 * docs.len() as f64;
        let mut best: Option<(f64, usize, Vec<f64>)> = None;
        for _ in 0..if even { 1 } else { tries } {
            let at = if even { seeds.len() % docs.len() } else { draw(&nearest, sum, &mut random) };
            let mut far = distances(at);
            far.iter_mut().zip(&nearest).for_each(|(far, &near)| *far = far.min(near));
            let left: f64 = far.iter().sum();
            if best.as_ref().is_none_or(|(least, ..)| left < *least) {
                best = Some((left, at, far));
            }
        }
        if let Some((_, at, far)) = best {
            seeds.push(docs[at]);
            nearest = far;
        }
    }
    seeds
}

/// A place drawn with a probability proportional to its weight.
fn draw(weights: &[f64], sum: f64, random: &mut Random) -> usize {
    let mut left = random.uniform() * sum;
    for (at, &weight) in weights.iter().enumerate() {
        left -= weight;
        if left < 0.0 {
            return at;
        }
    }
    weights.len() - 1
}
