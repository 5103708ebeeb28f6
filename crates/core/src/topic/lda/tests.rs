use proptest::prelude::*;

use super::*;
use crate::oracle::same_at_any_thread_count;
use crate::sparse::Row;
use crate::special::{digamma, ln_gamma};
use crate::topic::bags::tests::{are_found, bags, two_topics};
use crate::topic::simd::tests::same_with_any_instructions;

fn fit(dim: usize, iterations: usize) -> LdaFit {
    LdaFit {
        dim,
        alpha: 0.1,
        eta: 0.05,
        iterations,
        tolerance: 0.0,
        inner: 100,
        fold_in: 100,
        inner_tolerance: 1e-5,
        batch: 0,
        offset: 10.0,
        decay: 0.7,
        seed: 3,
    }
}

fn rows(dense: &Dense) -> Vec<Vec<f64>> {
    (0..dense.n_rows())
        .map(|i| dense.row(i).iter().map(|&value| f64::from(value)).collect())
        .collect()
}

/// The same from the formulas, in f64, nothing scaled.
struct Slow<'a> {
    docs: &'a Csr,
    alpha: f64,
    eta: f64,
    gamma: Vec<Vec<f64>>,
    lambda: Vec<Vec<f64>>,
}

impl Slow<'_> {
    fn dim(&self) -> usize {
        self.gamma[0].len()
    }

    fn log_theta(&self, d: usize) -> Vec<f64> {
        let sum: f64 = self.gamma[d].iter().sum();
        self.gamma[d].iter().map(|&g| digamma(g) - digamma(sum)).collect()
    }

    fn known(&self) -> Vec<usize> {
        let has = self.docs.columns_of(0..self.docs.n_rows());
        (0..has.len()).filter(|&w| has[w]).collect()
    }

    fn log_phi(&self) -> Vec<Vec<f64>> {
        let total = |k: usize| self.lambda.iter().map(|row| row[k]).sum::<f64>();
        let psi: Vec<f64> = (0..self.dim()).map(|k| digamma(total(k))).collect();
        let mut log = vec![vec![f64::NEG_INFINITY; self.dim()]; self.lambda.len()];
        for w in self.known() {
            log[w] = self.lambda[w].iter().zip(&psi).map(|(&l, psi)| digamma(l) - psi).collect();
        }
        log
    }

    /// p(k|d,w) and ln t.
    fn share(&self, theta: &[f64], phi: &[f64]) -> (Vec<f64>, f64) {
        let log: Vec<f64> = theta.iter().zip(phi).map(|(a, b)| a + b).collect();
        let most = log.iter().copied().fold(f64::MIN, f64::max);
        let sum: f64 = log.iter().map(|l| (l - most).exp()).sum();
        (log.iter().map(|l| (l - most).exp() / sum).collect(), most + sum.ln())
    }

    fn expect(&mut self, rounds: usize) {
        let phi = self.log_phi();
        for d in 0..self.docs.n_rows() {
            for _ in 0..rounds {
                let theta = self.log_theta(d);
                let mut gamma = vec![self.alpha; self.dim()];
                for (w, n) in self.docs.row(d).iter() {
                    let (p, _) = self.share(&theta, &phi[w as usize]);
                    gamma.iter_mut().zip(p).for_each(|(g, p)| *g += f64::from(n) * p);
                }
                self.gamma[d] = gamma;
            }
        }
    }

    fn bound(&self) -> f64 {
        let (phi, dim) = (self.log_phi(), self.dim() as f64);
        let dirichlet = |x: &[f64], log: &[f64], prior: f64| {
            let n = x.len() as f64;
            let parts = x
                .iter()
                .zip(log)
                .map(|(&x, log)| (prior - x) * log + ln_gamma(x) - ln_gamma(prior));
            ln_gamma(n * prior) - ln_gamma(x.iter().sum()) + parts.sum::<f64>()
        };
        let mut bound = 0.0;
        for d in 0..self.docs.n_rows() {
            let theta = self.log_theta(d);
            bound += dirichlet(&self.gamma[d], &theta, self.alpha);
            for (w, n) in self.docs.row(d).iter() {
                bound += f64::from(n) * self.share(&theta, &phi[w as usize]).1;
            }
        }
        let known = self.known();
        for k in 0..dim as usize {
            let of = |rows: &[Vec<f64>]| known.iter().map(|&w| rows[w][k]).collect::<Vec<f64>>();
            bound += dirichlet(&of(&self.lambda), &of(&phi), self.eta);
        }
        bound
    }

    fn maximise(&mut self) {
        let phi = self.log_phi();
        let mut lambda = vec![vec![0.0; self.dim()]; self.lambda.len()];
        for w in self.known() {
            lambda[w].fill(self.eta);
        }
        for d in 0..self.docs.n_rows() {
            let theta = self.log_theta(d);
            for (w, n) in self.docs.row(d).iter() {
                let (p, _) = self.share(&theta, &phi[w as usize]);
                lambda[w as usize].iter_mut().zip(p).for_each(|(l, p)| *l += f64::from(n) * p);
            }
        }
        self.lambda = lambda;
    }
}

/// The slow version at the start of `fit`.
fn slow<'a>(fit: &LdaFit, docs: &'a Csr) -> Slow<'a> {
    let corpus = BagCorpus::new(docs, 0, u64::MAX).unwrap();
    let state = LdaState::start(fit, &corpus);
    Slow {
        docs,
        alpha: f64::from(fit.alpha as f32),
        eta: f64::from(fit.eta as f32),
        gamma: rows(&state.gamma.to_dense()),
        lambda: rows(&state.lambda.to_dense()),
    }
}

proptest! {
    #[test]
    fn every_step_is_that_of_the_slow_version(
        docs in bags(),
        dim in 1usize..12,
        alpha in prop_oneof![Just(0.02), Just(0.5)],
        eta in prop_oneof![Just(0.02), Just(0.5)],
        rounds in 1usize..4,
    ) {
        // Rounds without a tolerance are the same in number.
        let inner_tolerance = -1.0;
        let fit = LdaFit { alpha, eta, inner: rounds, inner_tolerance, ..fit(dim, 4) };
        let mut slow = slow(&fit, &docs);
        let corpus = BagCorpus::new(&docs, 0, u64::MAX).unwrap();
        let mut state = LdaState::start(&fit, &corpus);
        for _ in 0..4 {
            let all = 0..docs.n_rows();
            // From the same place: what is symmetric is unstable, and rounding would grow.
            slow.gamma = rows(&state.gamma.to_dense());
            slow.lambda = rows(&state.lambda.to_dense());
            let documents = state.expect(all.clone(), false, &Run::silent()).unwrap();
            slow.expect(rounds);
            for (found, expected) in rows(&state.gamma.to_dense()).iter().flatten().zip(slow.gamma.iter().flatten()) {
                prop_assert!((found - expected).abs() < 1e-3 * (1.0 + expected), "{found} {expected}");
            }
            let expected = slow.bound();
            let bound = documents.bound + state.maximise(all, 1.0, true, &Run::silent()).unwrap();
            prop_assert!((bound - expected).abs() < 1e-4 * (1.0 + expected.abs()), "{bound} {expected}");
            slow.maximise();
            for (found, expected) in rows(&state.lambda.to_dense()).iter().flatten().zip(slow.lambda.iter().flatten()) {
                prop_assert!((found - expected).abs() < 1e-3 * (1.0 + expected), "{found} {expected}");
            }
        }
    }

    #[test]
    fn the_bound_never_falls(
        docs in bags(),
        dim in 1usize..12,
        alpha in 0.01f64..1.0,
        eta in 0.01f64..1.0,
        inner in 1usize..20,
    ) {
        let fit = LdaFit { alpha, eta, inner, ..fit(dim, 15) };
        let fitted = fit.fit(&docs, &Run::silent()).unwrap();
        for two in fitted.objective.windows(2) {
            prop_assert!(two[1] >= two[0] - 3e-6 * (1.0 + two[0].abs()), "{:?}", fitted.objective);
        }
    }
}

#[test]
fn the_gain_of_a_new_beginning_is_the_change_of_the_slow_bound() {
    let docs = two_topics(21);
    let fit = LdaFit { inner: 2, ..fit(3, 5) };
    let corpus = BagCorpus::new(&docs, 0, u64::MAX).unwrap();
    let mut state = LdaState::start(&fit, &corpus);
    let mut slow = slow(&fit, &docs);
    for anew in [false, true, true] {
        slow.gamma = rows(&state.gamma.to_dense());
        slow.lambda = rows(&state.lambda.to_dense());
        let before = slow.bound();
        let gain = state.expect(0..21, anew, &Run::silent()).unwrap().gain;
        slow.gamma = rows(&state.gamma.to_dense());
        let expected = if anew { slow.bound() - before } else { 0.0 };
        assert!((gain - expected).abs() < 1e-2, "{gain} {expected}");
        state.maximise(0..21, 1.0, false, &Run::silent()).unwrap();
    }
}

#[test]
fn two_planted_topics_are_found_at_any_thread_count() {
    let docs = two_topics(61);
    for batch in [0, 20] {
        let fit = LdaFit { batch, inner: 3, ..fit(2, 40) };
        let fitted = same_at_any_thread_count(|| fit.fit(&docs, &Run::silent()).unwrap());
        are_found(&fitted.topics.probabilities(), &fitted.documents);
        let folded = fitted.topics.fold_in_all(&docs, 0, &Run::silent()).unwrap();
        are_found(&fitted.topics.probabilities(), &folded);
    }
}

#[test]
fn a_batch_of_all_documents_with_rate_one_is_the_whole() {
    let docs = two_topics(31);
    let whole = fit(3, 5).fit(&docs, &Run::silent()).unwrap();
    // Rest is only looked for where there are no batches, which always begin anew.
    let batch = LdaFit { batch: 31, decay: 0.0, ..fit(3, 5) };
    let batch = batch.fit(&docs, &Run::silent()).unwrap();
    let same = whole.rounds.iter().zip(&batch.rounds).take_while(|(a, b)| a == b).count();
    assert!(same > 0 && whole.objective[..same] == batch.objective[..same]);
}

#[test]
fn folding_in_is_the_slow_e_step() {
    let docs = two_topics(31);
    let fit = fit(3, 5);
    let fitted = fit.fit(&docs, &Run::silent()).unwrap();
    let even = |d: usize| {
        let n: f64 = docs.row(d).values.iter().map(|&n| f64::from(n)).sum();
        vec![f64::from(fit.alpha as f32) + n / 3.0; 3]
    };
    let mut slow = Slow {
        docs: &docs,
        alpha: f64::from(fit.alpha as f32),
        eta: f64::from(fit.eta as f32),
        gamma: (0..31).map(even).collect(),
        lambda: rows(fitted.topics.weights()),
    };
    slow.expect(100);
    let folded = fitted.topics.fold_in_all(&docs, 0, &Run::silent()).unwrap();
    for d in 0..31 {
        let sum: f64 = slow.gamma[d].iter().sum();
        for (found, expected) in folded.row(d).iter().zip(&slow.gamma[d]) {
            assert!((f64::from(*found) - expected / sum).abs() < 1e-3, "{d}");
        }
    }
}

#[test]
fn more_topics_than_documents_and_tiny_priors_do_no_harm() {
    let few = two_topics(4);
    for prior in [1e-4, 0.01, 50.0] {
        let fit = LdaFit { alpha: prior, eta: prior, ..fit(9, 30) };
        let fitted = fit.fit(&few, &Run::silent()).unwrap();
        assert!(fitted.objective.iter().all(|bound| bound.is_finite()), "{:?}", fitted.objective);
        assert!(fitted.documents.values().iter().all(|share| share.is_finite()));
        let nobody = Row { indices: &[23], values: &[2.0] };
        let mut theta = [0.0f32; 9];
        fitted.topics.fold_in(nobody, &mut Workspace::new(9), &mut theta);
        assert_eq!(theta, [1.0 / 9.0; 9]);
    }
}

#[test]
fn documents_are_folded_in_alike_with_any_instructions() {
    let docs = two_topics(21);
    let topics = fit(3, 20).fit(&docs, &Run::silent()).unwrap().topics;
    same_with_any_instructions(|| {
        let mut theta = vec![0.0f32; 3 * 21];
        for (d, theta) in theta.chunks_mut(3).enumerate() {
            topics.fold_in(docs.row(d), &mut Workspace::new(3), theta);
        }
        theta
    });
}
