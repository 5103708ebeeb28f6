//! MAP-EM of the bilingual topic model.

use rayon::prelude::*;

use super::{Bltm, NONE, WordTopics};
use crate::params::check::check_memory;
use crate::sparse::{Csr, Row};
use crate::{Result, Run};

/// φ of one side while it is learnt.
#[derive(Clone)]
pub(super) struct Side {
    /// The words, sorted.
    pub terms: Vec<u32>,
    /// The row of every term.
    pub rows: Vec<u32>,
    /// Words × topics.
    pub phi: Vec<f64>,
    pub dim: usize,
}

impl Side {
    /// The words of `texts`, with all weights 0.
    pub fn of<'t>(texts: impl Iterator<Item = Row<'t>>, n_terms: usize, dim: usize) -> Self {
        let mut rows = vec![NONE; n_terms];
        texts.for_each(|row| row.indices.iter().for_each(|&term| rows[term as usize] = 0));
        let terms: Vec<u32> = (0..n_terms as u32).filter(|&t| rows[t as usize] == 0).collect();
        for (row, &term) in (0u32..).zip(&terms) {
            rows[term as usize] = row;
        }
        let phi = vec![0.0; terms.len() * dim];
        Side { terms, rows, phi, dim }
    }

    fn of_term(&self, term: u32) -> &[f64] {
        &self.phi[self.rows[term as usize] as usize * self.dim..][..self.dim]
    }

    /// Scales every topic to 1.
    pub fn normalise(&mut self) {
        let mut sums = vec![0.0f64; self.dim];
        for row in self.phi.chunks(self.dim) {
            sums.iter_mut().zip(row).for_each(|(sum, &p)| *sum += p);
        }
        self.phi.par_chunks_mut(self.dim).for_each(|row| {
            for (p, &sum) in row.iter_mut().zip(&sums) {
                *p = if sum > 0.0 { *p / sum } else { 0.0 };
            }
        });
    }

    /// Σ ln φ.
    fn log_sum(&self) -> f64 {
        let rows: Vec<f64> = self
            .phi
            .par_chunks(self.dim)
            .map(|row| row.iter().map(|p| p.ln()).sum::<f64>())
            .collect();
        rows.iter().sum()
    }

    pub fn to_f32(&self) -> WordTopics {
        WordTopics {
            terms: self.terms.clone(),
            phi: self.phi.iter().map(|&p| p as f32).collect(),
            rows: self.rows.clone(),
            dim: self.dim,
        }
    }
}

/// Clicked pairs, indexed by pair and by word.
pub(super) struct Pairs<'a> {
    queries: &'a Csr,
    docs: &'a Csr,
    /// Queries × documents; a stored entry is a pair.
    weights: Csr,
    /// The query of every pair.
    query_of: Vec<u32>,
    /// The pairs of every document.
    of_doc: Vec<Vec<u32>>,
    queries_of_word: Csr,
    docs_of_word: Csr,
}

impl<'a> Pairs<'a> {
    pub fn new(queries: &'a Csr, docs: &'a Csr, weights: Csr) -> Self {
        let mut query_of = Vec::with_capacity(weights.nnz());
        let mut of_doc = vec![Vec::new(); docs.n_rows()];
        for (i, row) in weights.rows().enumerate() {
            for &doc in row.indices {
                of_doc[doc as usize].push(query_of.len() as u32);
                query_of.push(i as u32);
            }
        }
        let (queries_of_word, docs_of_word) = (queries.transpose(), docs.transpose());
        Pairs { queries, docs, weights, query_of, of_doc, queries_of_word, docs_of_word }
    }

    fn len(&self) -> usize {
        self.query_of.len()
    }

    fn weight(&self, pair: usize) -> f64 {
        f64::from(self.weights.values()[pair])
    }
}

pub(super) struct Trainer<'a> {
    alpha: f64,
    beta: f64,
    dim: usize,
    pairs: Pairs<'a>,
    /// Pairs × topics.
    pub theta: Vec<f64>,
    query: Side,
    doc: Side,
    /// Words of all pairs, by weight.
    total: f64,
}

impl<'a> Trainer<'a> {
    /// Starts with uniform θ and the given topics of queries and of documents.
    pub fn new(params: &Bltm, pairs: Pairs<'a>, topics: [Side; 2], most: u64) -> Result<Self> {
        let dim = params.dim;
        check_memory(
            8 * dim as u64 * pairs.len() as u64,
            most,
            || format!("the topics of {} pairs", pairs.len()),
            "take fewer topics (`dim`), drop pairs with few clicks (`min_clicks = N`)",
        )?;
        let length = |row: Row<'_>| row.values.iter().map(|&f| f64::from(f)).sum::<f64>();
        let total = (0..pairs.len())
            .map(|p| {
                let query = length(pairs.queries.row(pairs.query_of[p] as usize));
                let doc = length(pairs.docs.row(pairs.weights.indices()[p] as usize));
                pairs.weight(p) * (query + doc)
            })
            .sum();
        let theta = vec![1.0 / dim as f64; pairs.len() * dim];
        let [query, doc] = topics;
        let (alpha, beta) = (params.alpha, params.beta);
        Ok(Trainer { alpha, beta, dim, pairs, theta, query, doc, total })
    }

    pub fn n_pairs(&self) -> usize {
        self.pairs.len()
    }

    pub fn into_topics(self) -> [Side; 2] {
        [self.query, self.doc]
    }

    /// One iteration: every θ, then every φ. Returns the log posterior before it per word.
    pub fn iterate(&mut self, run: &Run<'_>) -> Result<f64> {
        let mut posterior = self.update_theta(run)?;
        if self.beta > 0.0 {
            posterior += self.beta * (self.query.log_sum() + self.doc.log_sum());
        }
        self.update_phi(run)?;
        Ok(if self.total > 0.0 { posterior / self.total } else { 0.0 })
    }

    /// Updates every θ; returns the log posterior before, without the prior of φ.
    fn update_theta(&mut self, run: &Run<'_>) -> Result<f64> {
        let (pairs, alpha, dim) = (&self.pairs, self.alpha, self.dim);
        let (query, doc) = (&self.query, &self.doc);
        let parts: Vec<f64> = self
            .theta
            .par_chunks_mut(dim)
            .enumerate()
            .map_init(
                || vec![0.0f64; dim],
                |next, (p, theta)| {
                    run.check()?;
                    next.fill(0.0);
                    let mut log = 0.0;
                    let words = pairs.queries.row(pairs.query_of[p] as usize);
                    log += expect(words, query, theta, next);
                    let words = pairs.docs.row(pairs.weights.indices()[p] as usize);
                    log += expect(words, doc, theta, next);
                    if alpha > 0.0 {
                        log += alpha * theta.iter().map(|t| t.ln()).sum::<f64>();
                    }
                    next.iter_mut().zip(&*theta).for_each(|(n, &t)| *n = alpha + *n * t);
                    let sum: f64 = next.iter().sum();
                    if sum > 0.0 {
                        theta.iter_mut().zip(&*next).for_each(|(t, &n)| *t = n / sum);
                    }
                    Ok(pairs.weight(p) * log)
                },
            )
            .collect::<Result<_>>()?;
        Ok(parts.iter().sum())
    }

    /// Updates every φ, word by word.
    fn update_phi(&mut self, run: &Run<'_>) -> Result<()> {
        let (pairs, theta, dim, beta) = (&self.pairs, &self.theta, self.dim, self.beta);
        let of_query = |query: u32| {
            let starts = pairs.weights.starts();
            let (from, to) = (starts[query as usize], starts[query as usize + 1]);
            from as u32..to as u32
        };
        let queries = |term: u32, phi: &[f64], next: &mut [f64]| {
            for (query, f) in pairs.queries_of_word.row(term as usize).iter() {
                for p in of_query(query) {
                    add(pairs.weight(p as usize) * f64::from(f), phi, row(theta, p, dim), next);
                }
            }
        };
        update(&mut self.query, beta, run, queries)?;
        let docs = |term: u32, phi: &[f64], next: &mut [f64]| {
            for (doc, f) in pairs.docs_of_word.row(term as usize).iter() {
                for &p in &pairs.of_doc[doc as usize] {
                    add(pairs.weight(p as usize) * f64::from(f), phi, row(theta, p, dim), next);
                }
            }
        };
        update(&mut self.doc, beta, run, docs)
    }
}

fn row(theta: &[f64], pair: u32, dim: usize) -> &[f64] {
    &theta[pair as usize * dim..][..dim]
}

/// next += Σ_w f(w)/p(w)·φ(w), the expected words of every topic without the factor θ; returns the
/// log likelihood of the words.
fn expect(words: Row<'_>, side: &Side, theta: &[f64], next: &mut [f64]) -> f64 {
    let mut log = 0.0;
    for (term, f) in words.iter() {
        let (phi, f) = (side.of_term(term), f64::from(f));
        let p = dot(theta, phi);
        log += f * p.ln();
        if p > 0.0 {
            axpy(f / p, phi, next);
        }
    }
    log
}

/// next += weight/p·θ, where p = φ·θ.
fn add(weight: f64, phi: &[f64], theta: &[f64], next: &mut [f64]) {
    let p = dot(phi, theta);
    if p > 0.0 {
        axpy(weight / p, theta, next);
    }
}

/// Sets every row of φ to β plus its expected words, which `count` adds up without the factor φ.
fn update(
    side: &mut Side,
    beta: f64,
    run: &Run<'_>,
    count: impl Fn(u32, &[f64], &mut [f64]) + Sync,
) -> Result<()> {
    let (terms, dim) = (&side.terms, side.dim);
    side.phi.par_chunks_mut(dim).zip(terms).try_for_each_init(
        || vec![0.0f64; dim],
        |next, (phi, &term)| {
            run.check()?;
            next.fill(0.0);
            count(term, phi, next);
            phi.iter_mut().zip(&*next).for_each(|(phi, &n)| *phi = beta + *phi * n);
            Ok(())
        },
    )?;
    side.normalise();
    Ok(())
}

/// In four sums, so that the processor can add several numbers in parallel.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0f64; 4];
    let ((a_lanes, a_rest), (b_lanes, b_rest)) = (a.as_chunks::<4>(), b.as_chunks::<4>());
    for (x, y) in a_lanes.iter().zip(b_lanes) {
        for lane in 0..4 {
            sums[lane] += x[lane] * y[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(x, y)| x * y).sum();
    (sums[0] + sums[2]) + (sums[1] + sums[3]) + rest
}

fn axpy(scale: f64, x: &[f64], y: &mut [f64]) {
    y.iter_mut().zip(x).for_each(|(y, &x)| *y += scale * x);
}
