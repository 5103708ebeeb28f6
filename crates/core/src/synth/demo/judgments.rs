//! The demo's judgments: the true grades of pooled documents for some of the queries.

use std::collections::BTreeSet;

use super::draw::Stream;
use super::log::{Demo, DemoLog};

/// The shares of head and torso among the searched queries.
const HEAD: f64 = 0.1;
const TORSO: f64 = 0.3;
/// The depth of the pool in the engine's results.
const TOP: usize = 5;
/// The number of documents on related concepts in the pool.
const RELATED: usize = 4;

/// Judges a quarter each of `demo.judged` queries from the head, the torso, the tail and the unseen
/// ones, into `log`. The pool holds every document of grade 2 or more, so that rankings of the whole
/// collection are measured correctly.
pub(super) fn draw(demo: &Demo, log: &mut DemoLog, rankings: &[Vec<u32>], about: &[Vec<u32>]) {
    let mut random = demo.random(Stream::Judgments);
    let head = (demo.queries as f64 * HEAD).round() as usize;
    let torso = head + (demo.queries as f64 * TORSO).round() as usize;
    let parts = [0..head, head..torso, torso..demo.queries, demo.queries..log.queries.len()];
    for (turn, part) in parts.into_iter().enumerate() {
        let quota = (demo.judged + turn) / 4;
        let mut queries: Vec<usize> = part.collect();
        random.shuffle(&mut queries);
        for &query in queries.iter().take(quota) {
            let concept = log.query_truths[query].concept;
            let mut pool: BTreeSet<u32> = about[concept].iter().copied().collect();
            pool.extend(rankings[query].iter().take(TOP));
            let mut related: Vec<u32> = log
                .concepts
                .related(concept)
                .into_iter()
                .flat_map(|other| about[other].iter().copied())
                .collect();
            random.shuffle(&mut related);
            pool.extend(related.iter().take(RELATED));
            for document in pool {
                let grade = log.grade(query, document as usize);
                log.judgments.push((query as u32, document, grade));
            }
        }
    }
    log.judgments.sort_unstable();
}
