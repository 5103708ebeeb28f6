//! The demo's clicks: users with a position bias on partly random result pages.
//!
//! P(click on the document at position i) = P(examine i) · P(click | grade), independently (the
//! position-based model), with the examination propensity P(examine i) = i^−bias, 0.7 by default.

use std::collections::HashMap;

use super::draw::{Stream, chance, pick};
use super::log::{Demo, DemoLog, PAGE};
use crate::random::Random;
use crate::synth::zipf::Zipf;
use crate::{Result, Run};

/// The probability of a click on an examined result, by grade; the first is noise.
const CLICK: [f64; 5] = [0.02, 0.06, 0.25, 0.45, 0.85];
/// The exponent of the query frequencies.
const ZIPF: f64 = 0.87;
/// Searches between two reports of progress.
const REPORT: usize = 20_000;

/// Called for every search, with the query, the result page, and which results were clicked.
pub(super) type Watch<'a> = dyn FnMut(&DemoLog, usize, &[u32], &[bool]) -> Result<()> + 'a;

/// Draws the searches and the clicks, into `log`.
pub(super) fn draw(
    demo: &Demo,
    log: &mut DemoLog,
    rankings: &[Vec<u32>],
    about: &[Vec<u32>],
    watch: &mut Watch<'_>,
    run: &Run<'_>,
) -> Result<()> {
    let mut random = demo.random(Stream::Clicks);
    let frequencies = Zipf::new(demo.queries, |rank| rank.powf(-ZIPF));
    let propensity: Vec<f64> = (1..=PAGE).map(|i| (i as f64).powf(-demo.bias)).collect();
    let mut clicks: HashMap<(u32, u32), u32> = HashMap::new();
    let mut clicked = Vec::with_capacity(PAGE);
    for search in 0..demo.searches {
        if search % REPORT == 0 {
            run.step("searching and clicking", search as u64, Some(demo.searches as u64))?;
        }
        let query = frequencies.draw(demo.queries, &mut random);
        log.searches[query] += 1;
        let concept = log.query_truths[query].concept;
        let mut page = result_page(&rankings[query], &about[concept], demo.explored, &mut random);
        // Nothing is drawn for a share of 0, so that the default log never changes.
        if demo.shuffled > 0.0 && chance(demo.shuffled, &mut random) {
            random.shuffle(&mut page);
        }
        clicked.clear();
        for (position, &document) in page.iter().enumerate() {
            let grade = log.grade(query, document as usize);
            clicked.push(chance(propensity[position] * CLICK[grade as usize], &mut random));
            if clicked[position] {
                *clicks.entry((query as u32, document)).or_default() += 1;
                log.clicks_by_position[position] += 1;
            }
        }
        watch(log, query, &page, &clicked)?;
    }
    log.clicks = clicks.into_iter().map(|((query, doc), n)| (query, doc, n)).collect();
    log.clicks.sort_unstable();
    Ok(())
}

/// The ranking with some results replaced. Places beyond the end of the ranking may be filled as well;
/// those that stay empty are dropped.
fn result_page(ranking: &[u32], about: &[u32], explored: f64, random: &mut Random) -> Vec<u32> {
    let mut page: Vec<u32> = Vec::with_capacity(PAGE);
    for place in 0..PAGE {
        let ranked = ranking.get(place).copied();
        let drawn = chance(explored, random).then(|| *pick(about, random));
        // No document is shown twice, neither as drawn nor as ranked.
        let fresh = |document: &u32| !page.contains(document);
        let shown = drawn.filter(fresh).or(ranked.filter(fresh));
        page.extend(shown);
    }
    page
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_page_shows_no_document_twice_and_a_fifth_from_the_concept() {
        let mut random = Random::new(5, 0);
        let ranking: Vec<u32> = (0..10).collect();
        let about: Vec<u32> = (100..200).collect();
        let mut replaced = 0;
        for _ in 0..1_000 {
            let page = result_page(&ranking, &about, 0.2, &mut random);
            let mut sorted = page.clone();
            sorted.sort_unstable();
            sorted.dedup();
            assert_eq!(sorted.len(), page.len());
            replaced += page.iter().filter(|&&document| document >= 100).count();
        }
        assert!((1_800..2_200).contains(&replaced), "{replaced}");
        let unranked = result_page(&[], &about, 0.2, &mut random);
        assert!(unranked.iter().all(|document| about.contains(document)));
    }

    #[test]
    fn the_head_is_drawn_most() {
        let zipf = Zipf::new(1_000, |rank| rank.powf(-ZIPF));
        let mut random = Random::new(6, 0);
        let mut drawn = vec![0u32; 1_000];
        for _ in 0..100_000 {
            drawn[zipf.draw(1_000, &mut random)] += 1;
        }
        let ratio = f64::from(drawn[0]) / f64::from(drawn[9]);
        assert!((ratio / 10f64.powf(ZIPF) - 1.0).abs() < 0.15, "{ratio}");
    }
}
