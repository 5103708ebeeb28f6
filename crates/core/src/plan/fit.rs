//! The arithmetic of plans: the parts that most fits share, each with its formula. Parts of a single
//! method are in the method's file.

use std::ops::Deref;

use super::{FitShape, MOST, MOST_PAIRS, Plan, Rates};
use crate::linalg::{PANEL, SvdParams, svd_bytes};

/// Latent columns of one pass through the factors.
pub(crate) const WIDTH: u64 = PANEL as u64;
/// Bytes of an entry of a sparse matrix: column and value.
pub(crate) const ENTRY: u64 = 8;
/// Bytes of a name with its place in a table, on average.
const NAME: u64 = 120;
/// Assumed iterations of the solver, and products with C in each; the real number depends on the
/// spectrum.
const ITERATIONS: u64 = 6;
const PRODUCTS: u64 = 16;
/// Factors for what the rates do not measure, from the one-week shape: reading lines, names and
/// counts relative to analysing text; ranking relative to scoring; large files relative to small.
const READING_LINES: f64 = 10.0;
pub(crate) const RANKING: f64 = 4.0;
const LARGE_FILES: f64 = 1.5;
/// Bytes of fresh memory per second that the system provides.
const FRESH: f64 = 1.5e9;
/// The memory of counts while they are read, relative to that afterwards.
const READING: f64 = 2.0;
/// A line of several plans.
pub(crate) const SOUGHT: &str = "singular vectors during training";
/// Bytes of the program itself.
pub(crate) const PROGRAM: u64 = 16 << 20;

/// The memory in use at one moment, by lines.
pub(crate) type Phase = Vec<(&'static str, u64)>;

/// The input of a plan: the shape of the fit, the machine and the memory limit.
pub struct Fit<'a> {
    /// The name of the method.
    pub(crate) method: &'a str,
    /// The shape, limited so that bytes fit into numbers.
    pub(crate) shape: FitShape,
    /// Pairs of R̃: those of the log and the negatives drawn for them.
    pub(crate) pairs: u64,
    /// The rates of the machine, if known.
    pub(crate) rates: Option<&'a Rates>,
    /// The memory limit in bytes: some methods use scratch files if it is too low.
    pub(crate) limit: u64,
    /// Advice on a smaller fit.
    pub(crate) advice: String,
}

impl Deref for Fit<'_> {
    type Target = FitShape;

    fn deref(&self) -> &FitShape {
        &self.shape
    }
}

impl<'a> Fit<'a> {
    pub(crate) fn new(
        method: &'a str,
        shape: &FitShape,
        rates: Option<&'a Rates>,
        limit: u64,
        advice: String,
    ) -> Self {
        let shape = shape.clamped();
        Fit { method, shape, pairs: shape.nnz_r, rates, limit, advice }
    }

    /// The same with `per_click` negatives drawn for each pair of the log, but no more pairs than
    /// cells.
    pub(crate) fn with_negatives(self, per_click: usize) -> Self {
        let drawn = self.nnz_r.saturating_mul(per_click as u64);
        let cells = self.n_queries.saturating_mul(self.n_docs).min(MOST_PAIRS);
        let pairs = self.nnz_r.max(self.nnz_r.saturating_add(drawn).min(cells));
        Fit { pairs, ..self }
    }

    /// The plan of a method without training: counts and one matrix of weights.
    pub(crate) fn lexical(&self) -> Plan {
        let weights = vec![("weights of the documents", csr(self.nnz_y, self.n_docs))];
        let seconds =
            self.rates.map(|rates| vec![self.reading(rates), self.writing(self.counts(), rates)]);
        self.worst(Vec::new(), weights, self.counts(), seconds)
    }

    /// The plan of a fit of maps whose time is unknown.
    pub(crate) fn maps_fit(&self) -> Plan {
        let maps = ("maps during training", self.maps());
        let sought = vec![self.factors(), self.between(), maps];
        self.solved(vec![sought], self.maps(), None)
    }

    /// The plan of a fit whose maps are singular vectors.
    pub(crate) fn svd_fit(&self, oversample: Option<usize>) -> Plan {
        let (bytes, seconds) = self.svd(self.dim, oversample);
        let sought = vec![self.factors(), self.between(), (SOUGHT, bytes)];
        self.solved(vec![sought], self.maps(), seconds)
    }

    /// Bytes and seconds of the `dim` leading singular vectors.
    pub(crate) fn svd(&self, dim: u64, oversample: Option<usize>) -> (u64, Option<f64>) {
        let mut params = SvdParams::of(dim as usize);
        params.oversample = oversample.unwrap_or(params.oversample).min(MOST as usize);
        let bytes = svd_bytes(self.d_x as usize, self.d_y as usize, &params);
        let width = dim + params.oversample as u64;
        (bytes, self.rates.map(|rates| self.svd_seconds(width, rates)))
    }

    /// The plan of a fit of dense `maps` by a solver, whose line is the third of the first phase.
    pub(crate) fn solved(&self, phases: Vec<Phase>, maps: u64, seconds: Option<f64>) -> Plan {
        let sought = phases.first().and_then(|phase| phase.get(2)).map_or("maps", |line| line.0);
        self.found((sought, seconds), phases, self.fitted(maps))
    }

    /// The plan of a fit that holds `held` at the end, with the first line written to disk.
    pub(crate) fn found(
        &self,
        (sought, seconds): (&'static str, Option<f64>),
        phases: Vec<Phase>,
        held: Phase,
    ) -> Plan {
        let disk = held.first().map_or(0, |line| line.1).saturating_add(self.counts());
        let seconds = self.rates.zip(seconds).map(|(rates, seconds)| {
            let mut all = vec![self.reading(rates), (sought.to_owned(), seconds)];
            if held.len() > 1 {
                let embeddings = self.embeddings_seconds(rates);
                all.push(("embeddings of the documents".to_owned(), embeddings));
            }
            all.push(self.writing(disk, rates));
            all
        });
        self.worst(phases, held, disk, seconds)
    }

    /// The plan with the lines of the largest phase, after those of the whole run; `held` is the
    /// memory at the end.
    pub(crate) fn worst(
        &self,
        mut phases: Vec<Phase>,
        held: Phase,
        disk: u64,
        seconds: Option<Vec<(String, f64)>>,
    ) -> Plan {
        let while_read = (READING * self.counts() as f64) as u64 - self.counts();
        phases.push(vec![("texts while they are counted", while_read)]);
        let bytes_held = sum(&held);
        phases.push(held);
        let phase = phases.into_iter().max_by_key(|phase| sum(phase)).unwrap_or_default();
        let mut lines = vec![("the program", PROGRAM), ("texts and counts", self.counts())];
        lines.extend(phase);
        let total = sum(&lines);
        let seconds = seconds.map(|mut seconds| {
            seconds.push(("taking memory from the system".to_owned(), total as f64 / FRESH));
            seconds
        });
        Plan {
            method: self.method.to_owned(),
            lines: lines.into_iter().map(|(what, bytes)| (what.to_owned(), bytes)).collect(),
            total,
            held: bytes_held,
            scratch: 0,
            disk,
            seconds,
            advice: self.advice.clone(),
        }
    }

    /// The model of a warm start, which is like the one to be fitted.
    pub(crate) fn earlier_model(&self) -> (&'static str, u64) {
        ("the earlier model", self.counts() + self.maps())
    }

    /// The three factors of C and their transposes.
    pub(crate) fn factors(&self) -> (&'static str, u64) {
        let bytes = csr(self.nnz_x, self.n_queries)
            + csr(self.nnz_x, self.d_x)
            + csr(self.pairs, self.n_queries)
            + csr(self.pairs, self.n_docs)
            + csr(self.nnz_y, self.n_docs)
            + csr(self.nnz_y, self.d_y);
        ("X, Y, R and their transposes", bytes)
    }

    /// A panel of every intermediate product with C.
    pub(crate) fn between(&self) -> (&'static str, u64) {
        let rows = self.n_queries + self.n_docs + self.d_x + self.d_y;
        ("intermediate products", rows * WIDTH * 4)
    }

    /// The memory of a fitted model without the counts.
    pub(crate) fn fitted(&self, maps: u64) -> Phase {
        let embeddings = csr(self.nnz_y, self.n_docs) + self.n_docs * self.dim * 4;
        vec![("maps", maps), ("embeddings of the documents", embeddings)]
    }

    /// The rows of queries and documents for validation scores.
    pub(crate) fn for_validation(&self) -> (&'static str, u64) {
        let again = csr(self.nnz_x + self.nnz_y, self.n_queries + self.n_docs);
        ("queries and documents for validation", again)
    }

    pub(crate) fn embeddings(&self) -> (&'static str, u64) {
        ("embeddings of the documents for validation", self.n_docs * self.dim * 4)
    }

    /// Bytes of counts: documents twice (by field and together), queries and clicks; ids, texts and
    /// terms.
    pub(crate) fn counts(&self) -> u64 {
        let terms = self.d_x.min(self.d_y);
        csr(2 * self.nnz_y, 2 * self.n_docs)
            + csr(self.nnz_x + self.nnz_r, 2 * self.n_queries)
            + NAME * (2 * self.n_queries + self.n_docs + terms)
    }

    /// Per iteration a filter of several products with CᵀC, two Gram matrices and a rotation of tall
    /// blocks, and a small eigenproblem; at the end C·V.
    pub(crate) fn svd_seconds(&self, width: u64, rates: &Rates) -> f64 {
        let square = 2.0 * (width * width) as f64;
        let flops = square * (self.d_x as f64 / 2.0 + 1.5 * self.d_y as f64);
        let small = 30.0 * (width as f64).powi(3) / (rates.gemm_one * 1e9);
        let products = PRODUCTS as f64 * self.product(width, rates);
        ITERATIONS as f64 * (products + flops / (rates.gemm * 1e9) + small)
    }

    /// C·B for `width` columns: each entry of a factor gathers a row of its input, and each row of
    /// the output is written once.
    pub(crate) fn product(&self, width: u64, rates: &Rates) -> f64 {
        let block = WIDTH.min(width).max(1);
        let factor = |nnz: u64, from: u64, to: u64| {
            let gathered = numbers(nnz, width) / rates.gather(from * block * 4);
            gathered + numbers(to, width) / rates.stream
        };
        // The mean of both directions, which use the same factors from either end.
        (factor(self.nnz_y, self.d_y, self.n_docs)
            + factor(self.pairs, self.n_docs, self.n_queries)
            + factor(self.nnz_x, self.n_queries, self.d_x)
            + factor(self.nnz_x, self.d_x, self.n_queries)
            + factor(self.pairs, self.n_queries, self.n_docs)
            + factor(self.nnz_y, self.n_docs, self.d_y))
            / 2.0
    }

    pub(crate) fn embeddings_seconds(&self, rates: &Rates) -> f64 {
        let block = WIDTH.min(self.dim) * 4;
        numbers(self.nnz_y, self.dim) / rates.gather(self.d_y * block)
            + numbers(self.n_docs, self.dim) / rates.stream
    }

    /// Analysing and counting texts, and merging their vocabularies.
    pub(crate) fn reading(&self, rates: &Rates) -> (String, f64) {
        let terms = (self.nnz_x + self.nnz_y) as f64;
        ("reading".to_owned(), READING_LINES * terms / rates.terms)
    }

    pub(crate) fn writing(&self, bytes: u64, rates: &Rates) -> (String, f64) {
        ("writing".to_owned(), LARGE_FILES * bytes as f64 / rates.disk)
    }
}

/// The bytes of n × k numbers.
pub(crate) fn numbers(n: u64, k: u64) -> f64 {
    4.0 * n as f64 * k as f64
}

/// The bytes of all lines.
pub(crate) fn sum(lines: &[(&str, u64)]) -> u64 {
    lines.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
}

/// The bytes of a sparse matrix.
pub(crate) fn csr(nnz: u64, n_rows: u64) -> u64 {
    nnz * ENTRY + n_rows * 8
}
