//! The two steps of a pass: γ and θ̃ of the documents, then λ and φ̃ of the words.

use std::ops::Range;

use rayon::prelude::*;

use super::LdaFit;
use super::rounds::{begin, psi_of, rest, scale_document, scale_word};
use crate::random::Random;
use crate::special::ln_gamma;
use crate::topic::bags::{
    Corpus, LANES, Lane, Rows, Sums, Workspace, copy_in, each_row, length, logs, mask, total,
    walk_with_log,
};
use crate::topic::special::digamma_f64;
use crate::{Result, Run};

/// The shape of the gamma distribution of which λ begins, as scikit-learn draws it; its mean is 1.
const SHAPE: f64 = 100.0;

/// Everything that moves while LDA is learnt.
pub(super) struct State<'a> {
    fit: &'a LdaFit,
    corpus: &'a Corpus<'a>,
    mask: Vec<Lane>,
    /// Documents × topics.
    pub gamma: Rows,
    /// θ̃, scaled.
    theta: Rows,
    /// Terms × topics.
    pub lambda: Rows,
    /// φ̃, scaled, and what every row was scaled by, as a logarithm.
    phi: Rows,
    scales: Vec<f32>,
    /// Σ_w λ_wk.
    totals: Vec<f64>,
    /// Words that documents have.
    n_known: usize,
    /// Whether documents begin every pass anew.
    anew: bool,
}

/// What an E-step yields.
#[derive(Default)]
pub(super) struct Expected {
    /// The documents' part of the bound but for Σ n·ln t.
    pub bound: f64,
    /// The rounds of all documents.
    pub rounds: f64,
    /// How much better γ is than it was, where documents began anew: the change of the bound.
    pub gain: f64,
}

impl<'a> State<'a> {
    pub fn start(fit: &'a LdaFit, corpus: &'a Corpus<'a>) -> Self {
        let (dim, docs) = (fit.dim, corpus.docs);
        let mask = mask(dim);
        let mut gamma = Rows::zeros(docs.n_rows(), dim);
        gamma.par_rows_mut().enumerate().for_each(|(d, gamma)| {
            begin(gamma, fit.alpha as f32, docs.row(d).values, &mask, dim);
        });
        let mut lambda = Rows::zeros(docs.n_cols(), dim);
        lambda.par_rows_mut().enumerate().for_each_init(
            || vec![0.0f32; dim],
            |drawn, (w, row)| {
                if !corpus.postings.row(w).is_empty() {
                    let mut random = Random::new(fit.seed, w as u64);
                    drawn.fill_with(|| gamma_of_normal(random.normal()));
                    copy_in(drawn, row);
                }
            },
        );
        let n_known = corpus.postings.rows().filter(|row| !row.is_empty()).count();
        let mut state = State {
            fit,
            corpus,
            mask,
            gamma,
            theta: Rows::zeros(docs.n_rows(), dim),
            lambda,
            phi: Rows::zeros(docs.n_cols(), dim),
            scales: vec![0.0; docs.n_cols()],
            totals: Vec::new(),
            n_known,
            anew: true,
        };
        state.refresh();
        state
    }

    /// φ̃ from λ.
    fn refresh(&mut self) {
        self.totals = self.lambda.column_sums();
        let psi = psi_of(&self.totals);
        let State { corpus, mask, lambda, phi, scales, .. } = self;
        let rows = phi.par_rows_mut().zip(scales).enumerate().with_min_len(64);
        rows.for_each(|(w, (row, scale))| {
            if !corpus.postings.row(w).is_empty() {
                row.copy_from_slice(lambda.row(w));
                *scale = scale_word(row, &psi, mask);
            }
        });
    }

    /// γ and θ̃ of all documents, begun anew if that is better.
    pub fn expect_all(&mut self, first: bool, run: &Run<'_>) -> Result<Expected> {
        let all = 0..self.corpus.docs.n_rows();
        if self.anew && !first {
            let before = self.gamma.clone();
            let expected = self.expect(all.clone(), true, run)?;
            if expected.gain >= 0.0 {
                return Ok(expected);
            }
            self.gamma = before;
            self.anew = false;
        }
        self.expect(all, false, run)
    }

    /// γ and θ̃ of the documents `span`, from even γ or from what it is.
    pub fn expect(&mut self, span: Range<usize>, anew: bool, run: &Run<'_>) -> Result<Expected> {
        let State { fit, corpus, mask, gamma, theta, phi, .. } = self;
        let alpha = fit.alpha as f32;
        let constant = ln_gamma(fit.dim as f64 * f64::from(alpha));
        let prior = ln_gamma(f64::from(alpha));
        let rows = gamma.par_span_mut(span.clone()).zip(theta.par_span_mut(span.clone()));
        let parts: Vec<Expected> = rows
            .enumerate()
            .map_init(
                || Workspace::new(fit.dim),
                |workspace, (at, (gamma, theta))| {
                    run.check()?;
                    let words = corpus.docs.row(span.start + at);
                    workspace.clear();
                    for (term, count) in words.iter() {
                        workspace.push(count).copy_from_slice(phi.row(term as usize));
                    }
                    let (inner, tolerance) = (fit.inner, fit.inner_tolerance as f32);
                    let n_words = length(words);
                    let bound_of = |gamma: &[Lane], scale: f32| {
                        let sum = total(gamma);
                        let psi = digamma_f64(sum);
                        let divergence = divergence(gamma, alpha, prior, |_| psi, fit.dim);
                        constant - ln_gamma(sum) + n_words * (f64::from(scale) - psi) + divergence
                    };
                    let log = |workspace: &Workspace| {
                        logs(&workspace.words, &workspace.counts, &workspace.theta)
                    };
                    let mut gain = 0.0;
                    if anew {
                        workspace.theta.copy_from_slice(gamma);
                        let scale = scale_document(&mut workspace.theta, mask);
                        gain -= bound_of(gamma, scale) + log(workspace);
                        begin(gamma, alpha, words.values, mask, fit.dim);
                    }
                    let (scale, rounds) = rest(workspace, alpha, mask, inner, tolerance, gamma);
                    theta.copy_from_slice(&workspace.theta);
                    let bound = bound_of(gamma, scale);
                    if anew {
                        gain += bound + log(workspace);
                    }
                    Ok(Expected { bound, rounds: rounds as f64, gain })
                },
            )
            .collect::<Result<_>>()?;
        let add = |a: Expected, b: Expected| Expected {
            bound: a.bound + b.bound,
            rounds: a.rounds + b.rounds,
            gain: a.gain + b.gain,
        };
        Ok(parts.into_iter().fold(Expected::default(), add))
    }

    /// λ from the documents `span`: Σ n·ln t, and with `priors` the words' part of the bound, both before.
    pub fn maximise(
        &mut self,
        span: Range<usize>,
        rate: f64,
        priors: bool,
        run: &Run<'_>,
    ) -> Result<f64> {
        let State { fit, corpus, mask, theta, lambda, phi, scales, totals, n_known, .. } = self;
        let eta = fit.eta as f32;
        let prior = ln_gamma(f64::from(eta));
        let psi: Vec<f64> = totals.iter().map(|&total| digamma_f64(total)).collect();
        let whole = span.len() == corpus.docs.n_rows();
        let share = corpus.docs.n_rows() as f64 / span.len() as f64;
        let (stay, eta_now, new) =
            ((1.0 - rate) as f32, (rate * fit.eta) as f32, (rate * share) as f32);
        let span = span.start as u32..span.end as u32;
        let workspace = || Sums::new(mask.len());
        let mut bound = each_row(lambda.par_rows_mut(), run, workspace, |w, lambda, sums| {
            let all = corpus.postings.row(w);
            if all.is_empty() {
                return 0.0;
            }
            let entries = if whole { all } else { all.within(span.clone()) };
            let mut bound = walk_with_log(entries, theta, phi.row(w), sums)
                + length(entries) * f64::from(scales[w]);
            if priors {
                bound += divergence(lambda, eta, prior, |k| psi[k], fit.dim);
            }
            move_to(lambda, phi.row(w), &sums.sum, mask, [stay, eta_now, new]);
            bound
        })?;
        if priors {
            let constant = ln_gamma(*n_known as f64 * f64::from(eta));
            bound += totals.iter().map(|&total| constant - ln_gamma(total)).sum::<f64>();
        }
        self.refresh();
        Ok(bound)
    }
}

/// Σ_k (prior − x_k)·(ψ(x_k) − psi_k) + ln Γ(x_k) − ln Γ(prior). What is still at its prior adds nothing, and
/// most is.
fn divergence(
    x: &[Lane],
    prior: f32,
    ln_gamma_prior: f64,
    psi: impl Fn(usize) -> f64,
    dim: usize,
) -> f64 {
    let mut sum = 0.0;
    for (k, x) in x.iter().flat_map(|lane| lane.0).take(dim).enumerate() {
        if x != prior {
            let far = f64::from(prior) - f64::from(x);
            let x = f64::from(x);
            sum += far * (digamma_f64(x) - psi(k)) + ln_gamma(x) - ln_gamma_prior;
        }
    }
    sum
}

/// λ = stay·λ + eta + new·φ̃∘sum.
fn move_to(
    lambda: &mut [Lane],
    phi: &[Lane],
    sum: &[Lane],
    mask: &[Lane],
    [stay, eta, new]: [f32; 3],
) {
    for (((lambda, phi), sum), mask) in lambda.iter_mut().zip(phi).zip(sum).zip(mask) {
        for lane in 0..LANES {
            let old = if stay > 0.0 { stay * lambda.0[lane] } else { 0.0 };
            lambda.0[lane] = old + (eta * mask.0[lane] + new * (phi.0[lane] * sum.0[lane]));
        }
    }
}

/// A gamma variate of mean 1 from a normal one (Wilson and Hilferty's cube).
fn gamma_of_normal(z: f64) -> f32 {
    let root = 1.0 - 1.0 / (9.0 * SHAPE) + z / (3.0 * SHAPE.sqrt());
    root.max(0.1).powi(3) as f32
}
