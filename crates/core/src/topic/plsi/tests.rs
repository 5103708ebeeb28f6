use proptest::prelude::*;

use super::*;
use crate::oracle::same_at_any_thread_count;
use crate::sparse::Row;
use crate::topic::bags::tests::{are_found, bags, two_topics};
use crate::topic::simd::tests::same_with_any_instructions;

fn fit(dim: usize, iterations: usize) -> PlsiFit {
    PlsiFit { dim, iterations, tolerance: 0.0, tempering: 1.0, fold_in: 200, seed: 3 }
}

/// One iteration from the formulas, every p(k|d,w) written out; what climbs, between its halves.
fn brute(docs: &Csr, theta: &mut [Vec<f64>], phi: &mut [Vec<f64>], b: f64) -> f64 {
    let dim = phi[0].len();
    let expected = |theta: &[Vec<f64>], phi: &[Vec<f64>]| {
        let mut all = Vec::new();
        for (d, row) in docs.rows().enumerate() {
            for (w, n) in row.iter() {
                let p: Vec<f64> =
                    (0..dim).map(|k| (theta[d][k] * phi[w as usize][k]).powf(b)).collect();
                let sum: f64 = p.iter().sum();
                all.push((d, w as usize, f64::from(n), sum, p));
            }
        }
        all
    };
    let all = expected(theta, phi);
    for (d, row) in docs.rows().enumerate() {
        let n: f64 = row.values.iter().map(|&n| f64::from(n)).sum();
        if n > 0.0 {
            theta[d] = vec![0.0; dim];
            for (_, _, n_dw, sum, p) in all.iter().filter(|entry| entry.0 == d) {
                (0..dim).for_each(|k| theta[d][k] += n_dw * p[k] / sum / n);
            }
        }
    }
    let all = expected(theta, phi);
    phi.iter_mut().for_each(|row| row.fill(0.0));
    let mut log = 0.0;
    for (_, w, n, sum, p) in &all {
        log += n * sum.ln() / b;
        (0..dim).for_each(|k| phi[*w][k] += n * p[k] / sum);
    }
    for k in 0..dim {
        let sum: f64 = phi.iter().map(|row| row[k]).sum();
        phi.iter_mut().for_each(|row| row[k] /= sum);
    }
    log
}

fn rows(dense: &Dense) -> Vec<Vec<f64>> {
    (0..dense.n_rows())
        .map(|i| dense.row(i).iter().map(|&value| f64::from(value)).collect())
        .collect()
}

proptest! {
    #[test]
    fn em_is_the_brute_force_and_never_falls(
        docs in bags(),
        dim in 1usize..12,
        tempering in prop_oneof![2 => Just(1.0), 1 => 0.5f64..1.0],
    ) {
        let fit = PlsiFit { tempering, ..fit(dim, 8) };
        let corpus = BagCorpus::new(&docs, 0, u64::MAX).unwrap();
        let mut phi = rows(&untempered(fit.start(&corpus), tempering as f32));
        let mut theta = vec![vec![1.0 / dim as f64; dim]; docs.n_rows()];
        let fitted = fit.fit(&docs, &Run::silent()).unwrap();
        let mut before = f64::NEG_INFINITY;
        for &now in &fitted.objective {
            let expected = brute(&docs, &mut theta, &mut phi, tempering) / corpus.n_words;
            prop_assert!((now - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{now} {expected}");
            prop_assert!(now >= before - 2e-6 * (1.0 + before.abs()), "{before} {now}");
            before = now;
        }
        for (found, expected) in
            [(rows(&fitted.documents), &theta), (rows(fitted.topics.weights()), &phi)]
        {
            for (found, expected) in found.iter().flatten().zip(expected.iter().flatten()) {
                prop_assert!((found - expected).abs() < 2e-3, "{found} {expected}");
            }
        }
    }
}

#[test]
fn two_planted_topics_are_found_at_any_thread_count() {
    let docs = two_topics(61);
    let fitted = same_at_any_thread_count(|| fit(2, 60).fit(&docs, &Run::silent()).unwrap());
    are_found(&fitted.topics.probabilities(), &fitted.documents);
    let folded = fitted.topics.fold_in_all(&docs, 0, &Run::silent()).unwrap();
    are_found(&fitted.topics.probabilities(), &folded);
}

#[test]
fn folding_in_climbs_to_the_best_theta_and_knows_no_other_words() {
    let phi = Dense::from_values(3, 2, vec![0.7, 0.2, 0.3, 0.8, 0.0, 0.0]);
    let topics = fit(2, 1).topics(phi);
    let mut theta = [0.0f32; 2];
    let words = Row { indices: &[0, 1, 2], values: &[6.0, 4.0, 9.0] };
    topics.fold_in(words, &mut Workspace::new(2), &mut theta);
    let log =
        |t: f64| 6.0 * (0.7 * t + 0.2 * (1.0 - t)).ln() + 4.0 * (0.3 * t + 0.8 * (1.0 - t)).ln();
    let best = (1..10_000).map(|i| log(f64::from(i) / 1e4)).fold(f64::MIN, f64::max);
    assert!((log(f64::from(theta[0])) - best).abs() < 1e-6, "{theta:?}");
    for words in [Row { indices: &[2], values: &[3.0] }, Row { indices: &[], values: &[] }] {
        topics.fold_in(words, &mut Workspace::new(2), &mut theta);
        assert_eq!(theta, [0.5, 0.5]);
    }
}

#[test]
fn it_stops_where_the_log_likelihood_rests_and_more_topics_than_documents_do_no_harm() {
    let docs = two_topics(31);
    let fitted = PlsiFit { tolerance: 1e-3, ..fit(2, 500) }.fit(&docs, &Run::silent()).unwrap();
    assert!(fitted.converged && fitted.objective.len() < 100);
    let few = two_topics(4);
    let fitted = fit(9, 50).fit(&few, &Run::silent()).unwrap();
    assert!(fitted.objective.iter().all(|log| log.is_finite()));
    for d in 0..4 {
        let sum: f32 = fitted.documents.row(d).iter().sum();
        assert!((sum - 1.0).abs() < 1e-5);
    }
}

#[test]
fn documents_are_folded_in_alike_with_any_instructions() {
    let docs = two_topics(21);
    let topics =
        PlsiFit { tempering: 0.7, ..fit(3, 20) }.fit(&docs, &Run::silent()).unwrap().topics;
    same_with_any_instructions(|| {
        let mut theta = vec![0.0f32; 3 * 21];
        for (d, theta) in theta.chunks_mut(3).enumerate() {
            topics.fold_in(docs.row(d), &mut Workspace::new(3), theta);
        }
        theta
    });
}
