use super::super::impressions::{Impressions, MadeList as List};
use super::*;
use crate::oracle::same_at_any_thread_count;
use crate::random::Random;

fn seen(lists: &[List]) -> ImpressionCounts {
    let n_queries = lists.iter().map(|list| list.0 + 1).max().unwrap_or(0);
    ImpressionCounts::of(&Impressions::made(lists), n_queries as usize, &Run::silent()).unwrap()
}

fn estimate(lists: &[List]) -> Option<Propensities> {
    Propensities::of(&seen(lists), &Run::silent()).unwrap()
}

/// One document shown `shown` times at a rank and clicked `clicked` times.
fn lists_of(query: u32, doc: u32, rank: u32, shown: u32, clicked: u32) -> [List; 2] {
    [(query, clicked, vec![(doc, rank, true)]), (query, shown - clicked, vec![(doc, rank, false)])]
}

/// Pages of five results, liked by their documents' worth and looked at by `look`; better
/// documents stand higher, and now and then two change places.
fn simulated(look: &[f64], n_pages: usize, seed: u64) -> Vec<List> {
    let mut random = Random::new(seed, 0);
    let mut lists = Vec::new();
    for _ in 0..n_pages {
        let query = random.below(300) as u32;
        let mut page: Vec<u32> = (0..look.len() as u32).collect();
        if random.below(3) == 0 {
            let at = random.below(look.len() as u64 - 1) as usize;
            page.swap(at, at + 1);
        }
        let list = (1..).zip(&page).map(|(rank, &doc)| {
            let worth = 0.9 / (1.0 + f64::from(doc)) - 0.001 * f64::from(query % 100);
            (doc, rank, random.uniform() < look[rank as usize - 1] * worth)
        });
        let list = list.collect();
        lists.push((query, 1, list));
    }
    lists
}

/// Σ c log θγ − nθγ with the best γ for θ, but for what does not depend on θ.
fn log_likelihood(table: &RankClicks, theta: &[f64]) -> f64 {
    let ranks = table.by_rank.iter().zip(theta).filter(|(clicks, _)| **clicks > 0.0);
    let by_rank: f64 = ranks.map(|(clicks, theta)| clicks * theta.ln()).sum();
    let by_pair = (0..table.pairs())
        .map(|p| table.clicks[p] * table.examinations(p, theta).ln())
        .sum::<f64>();
    by_rank - by_pair
}

/// EM for clicks as coin throws, one impression after the other: (pair, rank from 0, clicked).
fn brute_force(impressions: &[(usize, usize, bool)], n_pairs: usize, n_ranks: usize) -> Vec<f64> {
    let (mut theta, mut gamma) = (vec![0.5; n_ranks], vec![0.5; n_pairs]);
    theta[0] = 1.0;
    for _ in 0..20_000 {
        let (mut looked, mut liked) = (vec![0.0; n_ranks], vec![0.0; n_pairs]);
        let (mut at, mut of) = (vec![0.0; n_ranks], vec![0.0; n_pairs]);
        for &(pair, rank, clicked) in impressions {
            let (t, g) = (theta[rank], gamma[pair]);
            let missed = 1.0 - t * g;
            looked[rank] += if clicked { 1.0 } else { t * (1.0 - g) / missed };
            liked[pair] += if clicked { 1.0 } else { g * (1.0 - t) / missed };
            at[rank] += 1.0;
            of[pair] += 1.0;
        }
        (1..n_ranks).for_each(|k| theta[k] = looked[k] / at[k]);
        (0..n_pairs).for_each(|p| gamma[p] = liked[p] / of[p]);
    }
    theta
}

fn relative(theta: &[f64]) -> Vec<f64> {
    theta.iter().map(|t| t / theta[0]).collect()
}

#[test]
fn the_likelihood_never_falls() {
    let table = RankClicks::of(&seen(&simulated(&[1.0, 0.6, 0.4, 0.3, 0.25], 3_000, 3)));
    let mut theta = vec![1.0; 5];
    let mut last = log_likelihood(&table, &theta);
    let first = last;
    for _ in 0..200 {
        theta = table.step(&theta);
        let now = log_likelihood(&table, &theta);
        assert!(now >= last - 1e-9 * last.abs(), "{last} falls to {now}");
        last = now;
    }
    assert!(last > first + 1.0);
}

#[test]
fn known_propensities_are_found() {
    for (slope, seed) in [(0.0, 4), (0.7, 5), (1.5, 6)] {
        let look: Vec<f64> = (1..=5).map(|k| f64::from(k).powf(-slope)).collect();
        let found = estimate(&simulated(&look, 120_000, seed)).unwrap();
        for (found, true_one) in found.by_rank.iter().zip(&look) {
            assert!((found / true_one - 1.0).abs() < 0.15, "{:?} for {look:?}", found);
        }
        assert!((found.slope - slope).abs() < 0.12, "{} for {slope}", found.slope);
        // The raw rates fall faster: what is better stands higher.
        let seen = seen(&simulated(&look, 20_000, seed));
        let rate = |k: usize| seen.by_rank[k].1 / seen.by_rank[k].0;
        assert!(rate(5) / rate(1) < 0.5 * look[4]);
    }
}

#[test]
fn where_all_was_shown_everywhere_equally_often_it_is_the_click_rate() {
    let mut random = Random::new(8, 0);
    let mut lists = Vec::new();
    for pair in 0..40 {
        for rank in 1..=4 {
            let clicked = (0..50).filter(|_| random.below(u64::from(rank) + 1) == 0).count() as u32;
            lists.extend(lists_of(pair, pair % 7, rank, 50, clicked));
        }
    }
    let table = RankClicks::of(&seen(&lists));
    let theta = relative(&table.fit(&Run::silent()).unwrap());
    for (theta, clicks) in theta.iter().zip(&table.by_rank) {
        assert!((theta - clicks / table.by_rank[0]).abs() < 1e-9, "{theta}");
    }
}

#[test]
fn em_over_single_impressions_finds_the_same() {
    // Clicks that are what the model expects, to the click.
    let (theta, gamma) = ([1.0, 0.5, 0.25], [0.8, 0.4, 0.2]);
    let shown = [[20, 40, 20], [40, 0, 80], [20, 20, 0]];
    let (mut lists, mut impressions) = (Vec::new(), Vec::new());
    for (pair, shown) in shown.iter().enumerate() {
        for (rank, &n) in shown.iter().enumerate().filter(|(_, n)| **n > 0) {
            let clicked = (f64::from(n) * theta[rank] * gamma[pair]).round() as u32;
            lists.extend(lists_of(0, pair as u32, rank as u32 + 1, n, clicked));
            impressions.extend((0..n).map(|i| (pair, rank, i < clicked)));
        }
    }
    let slow = brute_force(&impressions, 3, 3);
    let fast = relative(&RankClicks::of(&seen(&lists)).fit(&Run::silent()).unwrap());
    for k in 0..3 {
        assert!((slow[k] - theta[k]).abs() < 1e-6, "{slow:?}");
        assert!((fast[k] - slow[k]).abs() < 1e-6, "{fast:?} is not {slow:?}");
    }
}

#[test]
fn a_log_that_always_shows_the_same_tells_nothing() {
    let page = |clicked: usize| {
        let list = (0..4).map(|doc| (doc, doc + 1, doc as usize == clicked)).collect();
        (0, 100, list)
    };
    assert!(estimate(&[page(0), page(1), page(2)]).is_none());
    // Neither do a few clicks, nor ranks that are unknown.
    let few = [lists_of(0, 0, 1, 10, 6), lists_of(0, 0, 2, 10, 4)].concat();
    assert!(estimate(&few).is_none());
    let many = [lists_of(0, 0, 0, 900, 600), lists_of(0, 0, 2, 900, 400)].concat();
    assert!(estimate(&many).is_none());
    assert!(estimate(&[]).is_none());
}

#[test]
fn ranks_that_nothing_tells_of_follow_the_line_of_the_others() {
    let mut lists = Vec::new();
    for (rank, clicked) in [(1, 8_000), (2, 4_000), (4, 2_000)] {
        lists.extend(lists_of(0, 0, rank, 10_000, clicked));
    }
    // Linked to each other, but to no rank above.
    lists.extend(lists_of(1, 1, 7, 100, 30));
    lists.extend(lists_of(1, 1, 8, 100, 60));
    let found = estimate(&lists).unwrap();
    assert!((found.slope - 1.0).abs() < 0.02, "{}", found.slope);
    for rank in [1, 2, 3, 4, 5, 6, 7, 8, 16] {
        let line = (1.0 / f64::from(rank)).max(FLOOR);
        assert!((found.at(rank) / line - 1.0).abs() < 0.05, "{rank}: {}", found.at(rank));
    }
    assert_eq!(found.effective_clicks[6..], [0.0, 0.0]);
    assert_eq!(found.at(1_000), FLOOR);
    assert_eq!(found.pairs, 2);
}

#[test]
fn the_same_at_any_thread_count() {
    let seen = seen(&simulated(&[1.0, 0.5, 0.4, 0.3, 0.3], 20_000, 9));
    same_at_any_thread_count(|| Propensities::of(&seen, &Run::silent()).unwrap());
}
