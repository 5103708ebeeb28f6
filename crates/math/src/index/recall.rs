//! Measures how many lists a search must probe for the wanted recall, on queries whose exact
//! neighbours are computed.

use rayon::prelude::*;

use super::lists::{DEPTH, Effort, FEW, Lists};
use super::{Embeddings, IndexParams, Report};
use crate::random::Random;
use crate::ranking::Hit;
use crate::{Result, Run};

/// The most queries of a measurement, and the number drawn if none are given.
pub const MEASURED: usize = 256;
/// The distance of a drawn query from its embedding, which is scaled to norm 1.
const MOVED: f64 = 0.5;
/// The values of `rescore` that are tried, in order.
const RESCORED: [usize; 5] = [2, 3, 4, 6, 8];

/// The smallest effort that reaches the wanted recall, and its recall. `list_of` has the list of
/// every document.
pub(super) fn measure(
    lists: &Lists,
    embeddings: &Embeddings,
    list_of: &[u32],
    params: &IndexParams,
    queries: &[f32],
    run: &Run<'_>,
) -> Result<Report> {
    let drawn;
    let queries = if queries.is_empty() {
        drawn = draw(embeddings, params.seed);
        &drawn
    } else {
        &queries[..queries.len().min(MEASURED * embeddings.dim())]
    };
    run.step("exact neighbours", 0, None)?;
    let exact = embeddings.nearest_to_each(queries, DEPTH);
    run.step("recall", 0, None)?;
    let queries: Vec<&[f32]> = queries.chunks_exact(embeddings.dim()).collect();
    let places = places(lists, list_of, &queries, &exact);
    let recall = |k: usize, effort: Effort| {
        let shares = queries.par_iter().zip(&exact).map(|(query, exact)| {
            let found = lists.nearest(embeddings, query, k, None, effort);
            found_share(&exact[..k.min(exact.len())], &found)
        });
        mean(&shares.collect::<Vec<f64>>())
    };
    let smallest = |k: usize| -> Result<Effort> {
        let mut probes = probes(&places, k, params.recall).clamp(1, lists.len().max(1));
        loop {
            for rescore in RESCORED {
                run.check()?;
                let effort = Effort { probes, rescore };
                if recall(k, effort) >= params.recall {
                    return Ok(effort);
                }
            }
            if probes >= lists.len() {
                return Ok(Effort { probes, rescore: RESCORED[RESCORED.len() - 1] });
            }
            probes = (probes + probes.div_ceil(8)).min(lists.len());
        }
    };
    let (few, many) = (smallest(FEW)?, smallest(DEPTH)?);
    let rescore = few.rescore.max(many.rescore);
    Ok(Report {
        lists: lists.len(),
        probes: few.probes,
        probes_at_100: many.probes.max(few.probes),
        rescore,
        recall_at_10: recall(FEW, Effort { rescore, ..few }),
        recall_at_100: recall(DEPTH, Effort { rescore, probes: many.probes.max(few.probes) }),
        queries: queries.len(),
        bytes: lists.report().bytes,
    })
}

/// For every query, the ranks of its neighbours' lists in the order of probes.
fn places(lists: &Lists, list_of: &[u32], queries: &[&[f32]], exact: &[Vec<Hit>]) -> Vec<Vec<u32>> {
    let of_query = |(query, exact): (&&[f32], &Vec<Hit>)| {
        let mut place = vec![u32::MAX; lists.len()];
        (0..).zip(lists.order(query)).for_each(|(at, list)| place[list as usize] = at);
        let place = |hit: &Hit| place.get(list_of[hit.doc as usize] as usize).copied();
        exact.iter().map(|hit| place(hit).unwrap_or(u32::MAX)).collect()
    };
    queries.par_iter().zip(exact).map(of_query).collect()
}

/// The smallest number of probed lists that hold the share `target` of the first `k` neighbours.
fn probes(places: &[Vec<u32>], k: usize, target: f64) -> usize {
    let mut all: Vec<u32> =
        places.iter().flat_map(|places| &places[..k.min(places.len())]).copied().collect();
    all.sort_unstable();
    let at = ((all.len() as f64 * target).ceil() as usize).clamp(1, all.len().max(1)) - 1;
    all.get(at).map_or(1, |&place| (place as usize).saturating_add(1))
}

/// The share of `exact` that is in `found`; 1 if `exact` is empty.
pub(super) fn found_share(exact: &[Hit], found: &[Hit]) -> f64 {
    if exact.is_empty() {
        return 1.0;
    }
    let there = |hit: &&Hit| found.iter().any(|found| found.doc == hit.doc);
    exact.iter().filter(there).count() as f64 / exact.len() as f64
}

fn mean(shares: &[f64]) -> f64 {
    if shares.is_empty() { 1.0 } else { shares.iter().sum::<f64>() / shares.len() as f64 }
}

/// Perturbed embeddings as queries.
fn draw(embeddings: &Embeddings, seed: u64) -> Vec<f32> {
    let n = embeddings.n_rows();
    let mut random = Random::new(seed, 2);
    let mut queries = Vec::new();
    for _ in 0..MEASURED.min(n) {
        let row = embeddings.row(random.below(n as u64) as usize);
        let norm = row.iter().map(|&value| f64::from(value).powi(2)).sum::<f64>().sqrt();
        if norm > 0.0 && norm.is_finite() {
            let spread = MOVED / (embeddings.dim() as f64).sqrt();
            let moved = |&value: &f32| (f64::from(value) / norm + spread * random.normal()) as f32;
            queries.extend(row.iter().map(moved));
        }
    }
    queries
}
