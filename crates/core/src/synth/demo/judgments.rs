//! The demo's judgments: the true grades of a pool of documents for some of the queries.

use std::collections::BTreeSet;

use super::{Demo, DemoLog, Stream};

/// The share of the searchable queries that is called head, and that is called torso.
const HEAD: f64 = 0.1;
const TORSO: f64 = 0.3;
/// How many of the engine's results are judged.
const TOP: usize = 5;
/// How many documents on related concepts are judged.
const RELATED: usize = 4;

/// Judges a quarter each of `demo.judged` queries from the head, the torso, the tail and those
/// that nobody searches, into `log`. The pool holds every document of grade 2 or more, so that
/// a ranking of the whole collection loses nothing for want of a judgment.
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
