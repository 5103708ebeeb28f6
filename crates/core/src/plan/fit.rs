//! The plans of all methods but RMLS: one function each, with the formula beside each line.

use std::ops::Deref;

use super::{MOST, Plan, Rates, Shape};
use crate::linalg::PANEL;
use crate::linalg::{SvdParams, svd_bytes};
use crate::matchers::{Alpha, Form, Kinds, Mpls, Params, Square, Ssi, SvdFeature};

/// Latent columns that go through the factors together.
pub(super) const WIDTH: u64 = PANEL as u64;
/// Bytes of an entry of a sparse matrix: column and value.
pub(super) const ENTRY: u64 = 8;
/// Bytes of a name with its place in a table, on average.
pub(super) const NAME: u64 = 120;
/// Iterations of the solver that are reckoned with, and products with C in each; how many it
/// takes depends on the spectrum.
pub(super) const ITERATIONS: u64 = 6;
pub(super) const PRODUCTS: u64 = 16;
/// What the rates do not measure, as seen on the one-week shape: reading lines, names and counts
/// beside cutting text into terms; ranking beside scoring; files of gigabytes beside small ones.
pub(super) const READING_LINES: f64 = 10.0;
pub(super) const RANKING: f64 = 4.0;
pub(super) const LARGE_FILES: f64 = 1.5;
/// Bytes a second at which the system gives fresh memory.
pub(super) const FRESH: f64 = 1.5e9;
/// Counts while they are read take this many times what they take afterwards.
pub(super) const READING: f64 = 2.0;
/// Lines that several plans have.
pub(super) const SOUGHT: &str = "singular vectors while they are sought";
/// What the program itself takes.
pub(super) const PROGRAM: u64 = 16 << 20;

/// Lines of one moment.
pub(super) type Phase = Vec<(&'static str, u64)>;

/// A shape with what the parameters add to it.
pub(super) struct Fit {
    pub shape: Shape,
    /// Pairs of R̃: those of the log, and the negatives drawn beside them.
    pub pairs: u64,
    pub advice: String,
}

impl Deref for Fit {
    type Target = Shape;

    fn deref(&self) -> &Shape {
        &self.shape
    }
}

impl Fit {
    pub(super) fn of_method(&self, params: &Params, rates: Option<&Rates>, limit: u64) -> Plan {
        match params {
            Params::Pls(pls) => self.svd_fit("pls", pls.oversample, rates),
            Params::LsiDt(lsi) => self.svd_fit("lsi_dt", lsi.oversample, rates),
            Params::LsiQd(lsi) => self.svd_fit("lsi_qd", lsi.oversample, rates),
            Params::Mpls(mpls) if mpls.kinds == Kinds::Com => self.com(mpls, rates),
            Params::Mpls(mpls) => self.svd_fit("mpls", mpls.oversample, rates),
            Params::Rmls(rmls) => self.rmls(rmls, rates, limit),
            Params::Square(square) => {
                let pair = |x: u64, y: u64| (x as usize, y as usize);
                let (n, d) = (pair(self.n_queries, self.n_docs), pair(self.d_x, self.d_y));
                let oversample = square.oversample.map(|spare| spare.min(MOST as usize));
                let square = Square { dim: self.dim as usize, oversample, ..square.clone() };
                let bytes = square.bytes(n, d, pair(self.nnz_x, self.nnz_y));
                // Solves take some ten times as many products as the solver of PLS.
                let seconds = rates.map(|r| 10.0 * self.svd_seconds(self.dim * 5 / 4, r));
                let sought = vec![self.factors(), self.between(), ("the square loss", bytes)];
                self.solved("square", vec![sought], self.maps(), seconds, rates)
            }
            Params::Ridge(ridge) => {
                let (n, d, docs) =
                    (self.n_queries as usize, self.d_x as usize, self.n_docs as usize);
                let name = "weights while they are sought";
                let sought = vec![self.factors(), (name, ridge.bytes(n, d, docs))];
                let steps = 2.0 * 50.0 * numbers(self.nnz_x, self.n_docs);
                let seconds = rates.map(|r| steps / r.gather(self.d_x * WIDTH * 4));
                let held = vec![("weights", ridge.kept_bytes(d, docs))];
                self.found("ridge", (name, seconds), vec![sought], held, rates)
            }
            Params::SvdFeature(svd) => self.svdfeature(svd, rates),
            Params::Bltm(bltm) => self.bltm(bltm.iterations, rates),
            Params::Plsi(plsi) => self.bags("plsi", 1, 2.0 * plsi.iterations as f64, rates),
            Params::Lda(lda) => {
                self.bags("lda", 2, (lda.iterations as f64) * (lda.inner as f64), rates)
            }
            Params::Ssi(ssi) => self.ssi(ssi, rates),
            Params::Rlsi(_)
            | Params::Nmf(_)
            | Params::Grlsi(_)
            | Params::Gnmf(_)
            | Params::Crlsi(_)
            | Params::Cnmf(_) => self.topics(params, rates, limit),
            // Features and maps of the usual kinds, sought in a time that nobody has measured.
            other if other.dim().is_some() && other.features().is_some() => {
                let maps = ("maps while they are sought", self.maps());
                let sought = vec![self.factors(), self.between(), maps];
                self.solved(other.name(), vec![sought], self.maps(), None, rates)
            }
            other => self.lexical(other.name(), rates),
        }
    }

    /// Counts and one matrix of weights: nothing is learnt.
    pub(super) fn lexical(&self, method: &str, rates: Option<&Rates>) -> Plan {
        let weights = vec![("weights of the documents", csr(self.nnz_y, self.n_docs))];
        let seconds =
            rates.map(|rates| vec![self.reading(rates), self.writing(self.counts(), rates)]);
        self.worst(method, Vec::new(), weights, self.counts(), seconds)
    }

    /// Singular vectors are sought, and are the maps.
    pub(super) fn svd_fit(
        &self,
        method: &str,
        oversample: Option<usize>,
        rates: Option<&Rates>,
    ) -> Plan {
        let (bytes, seconds) = self.svd(self.dim, oversample, rates);
        let sought = vec![self.factors(), self.between(), (SOUGHT, bytes)];
        self.solved(method, vec![sought], self.maps(), seconds, rates)
    }

    /// Bytes and seconds of the `dim` leading singular vectors.
    pub(super) fn svd(
        &self,
        dim: u64,
        oversample: Option<usize>,
        rates: Option<&Rates>,
    ) -> (u64, Option<f64>) {
        let mut params = SvdParams::of(dim as usize);
        params.oversample = oversample.unwrap_or(params.oversample).min(MOST as usize);
        let bytes = svd_bytes(self.d_x as usize, self.d_y as usize, &params);
        let width = dim + params.oversample as u64;
        (bytes, rates.map(|rates| self.svd_seconds(width, rates)))
    }

    /// `com` of MPLS has the maps of both kinds side by side: they are sought one after the
    /// other, and then put together.
    pub(super) fn com(&self, mpls: &Mpls, rates: Option<&Rates>) -> Plan {
        let (bytes, seconds) = self.svd((self.dim / 2).max(1), mpls.oversample, rates);
        let first = ("maps of the first kind", self.maps() / 2);
        let sought = vec![self.factors(), self.between(), (SOUGHT, bytes), first];
        let mut joined = vec![("maps of each kind", self.maps()), ("both together", self.maps())];
        if mpls.alpha == Alpha::Tuned && self.judged > 0 {
            joined.extend(self.for_validation());
            joined.push(self.images());
        }
        let seconds = seconds.map(|once| 2.0 * once);
        self.solved("mpls", vec![sought, joined], self.maps(), seconds, rates)
    }

    /// A fit whose dense `maps` are found by a solver, in the first of the `phases`.
    pub(super) fn solved(
        &self,
        method: &str,
        phases: Vec<Phase>,
        maps: u64,
        seconds: Option<f64>,
        rates: Option<&Rates>,
    ) -> Plan {
        let sought = phases.first().and_then(|phase| phase.get(2)).map_or("maps", |line| line.0);
        self.found(method, (sought, seconds), phases, self.fitted(maps), rates)
    }

    /// A fit that holds `held` in the end, the first line of which goes to disk.
    pub(super) fn found(
        &self,
        method: &str,
        (sought, seconds): (&'static str, Option<f64>),
        phases: Vec<Phase>,
        held: Phase,
        rates: Option<&Rates>,
    ) -> Plan {
        let disk = held.first().map_or(0, |line| line.1).saturating_add(self.counts());
        let seconds = rates.zip(seconds).map(|(rates, seconds)| {
            let mut all = vec![self.reading(rates), (sought.to_owned(), seconds)];
            if held.len() > 1 {
                let images = self.images_seconds(rates);
                all.push(("images of the documents".to_owned(), images));
            }
            all.push(self.writing(disk, rates));
            all
        });
        self.worst(method, phases, held, disk, seconds)
    }

    /// Maps with a bias for every row while they are learnt, and, where there is validation, those
    /// of the best epoch. A sample gathers the rows of its features twice and writes them once.
    fn svdfeature(&self, params: &SvdFeature, rates: Option<&Rates>) -> Plan {
        let rows = self.d_x + self.d_y;
        let once = rows * (self.dim + 1) * 4;
        let name = "maps while they are learnt";
        let mut sought =
            vec![("X and Y", csr(self.nnz_x + self.nnz_y, self.n_queries + self.n_docs))];
        sought.push((name, once));
        if self.judged > 0 {
            sought.push(("maps of the best epoch and of the last", 2 * once));
            sought.push(self.images());
        }
        let in_sample = self.nnz_x as f64 / self.n_queries.max(1) as f64
            + 2.0 * self.nnz_y as f64 / self.n_docs.max(1) as f64;
        let samples = self.nnz_r as f64 * (params.samples_a_pair() * params.epochs) as f64;
        let moved = 3.0 * 4.0 * (self.dim + 1) as f64 * in_sample * samples;
        let seconds = rates.map(|rates| moved / rates.gather(once));
        self.found("svdfeature", (name, seconds), vec![sought], self.fitted(self.maps()), rates)
    }

    /// Topics of every pair and of every word while they are learnt; in the end those of words
    /// and documents.
    fn bltm(&self, iterations: usize, rates: Option<&Rates>) -> Plan {
        let times = |n: u64, bytes: u64| n.saturating_mul(self.dim).saturating_mul(bytes);
        let words = self.d_x + self.d_y;
        let name = "topics of the pairs while they are learnt";
        let mut sought = vec![(name, times(self.pairs, 8))];
        sought.push(("topics of the words while they are learnt", times(words, 8)));
        // Twice a dot product and a sum for every word of every pair.
        let in_pair = self.nnz_x as f64 / self.n_queries.max(1) as f64
            + self.nnz_y as f64 / self.n_docs.max(1) as f64;
        let moved = 8.0 * numbers(self.pairs, self.dim) * in_pair * iterations as f64;
        let seconds = rates.map(|rates| moved / rates.gather(times(words, 8)));
        let held = vec![("topics of words and documents", times(words + self.n_docs, 4))];
        self.found("bltm", (name, seconds), vec![sought], held, rates)
    }

    /// W while it is learnt, and by words as the best epoch and the last leave it, each with the
    /// images of the documents where W is of maps.
    fn ssi(&self, ssi: &Ssi, rates: Option<&Rates>) -> Plan {
        let name = "W while it is learnt";
        let words = csr(self.nnz_x + 2 * self.nnz_y, self.n_queries + self.n_docs + self.d_y);
        let ssi = &Ssi { dim: self.dim as usize, ..ssi.clone() };
        let triples = ssi.triples(self.nnz_r as usize) as f64;
        let in_query = self.nnz_x as f64 / self.n_queries.max(1) as f64;
        let in_docs = 2.0 * self.nnz_y as f64 / self.n_docs.max(1) as f64;
        let touched = match ssi.form {
            Form::LowRank | Form::Symmetric => self.dim as f64 * (in_query + in_docs),
            Form::Diagonal => in_query,
            Form::Full | Form::Hash => in_query * in_docs,
        };
        // All of them different: that is the most.
        let cells = (triples * ssi.epochs as f64 * touched) as u64;
        let all = ssi.bytes(self.d_y, self.n_docs, cells);
        let by_words = ssi.bytes(self.d_y, 0, cells).epoch;
        let sought = vec![
            (name, all.learnt),
            ("words of queries and documents", words),
            ("the best epoch and the last", all.epoch.saturating_mul(2)),
        ];
        let mut held = vec![("W", by_words)];
        if all.epoch > by_words {
            held.push(("images of the documents", all.epoch - by_words));
        }
        // Read to be looked at; read and written where the margin is violated, as it is at first.
        let moved = 3.0 * 4.0 * triples * touched;
        let seconds = rates.map(|rates| {
            let images = if held.len() > 1 { self.images_seconds(rates) } else { 0.0 };
            ssi.epochs as f64 * (moved / rates.gather(all.learnt) + images)
        });
        self.found("ssi", (name, seconds), vec![sought], held, rates)
    }

    /// The lines of the phase that takes most, below what is there all the time; `held` is what
    /// is there in the end.
    pub(super) fn worst(
        &self,
        method: &str,
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
            method: method.to_owned(),
            lines: lines.into_iter().map(|(what, bytes)| (what.to_owned(), bytes)).collect(),
            total,
            held: bytes_held,
            scratch: 0,
            disk,
            seconds,
            advice: self.advice.clone(),
        }
    }

    /// The three factors and their transposes.
    pub(super) fn factors(&self) -> (&'static str, u64) {
        let bytes = csr(self.nnz_x, self.n_queries)
            + csr(self.nnz_x, self.d_x)
            + csr(self.pairs, self.n_queries)
            + csr(self.pairs, self.n_docs)
            + csr(self.nnz_y, self.n_docs)
            + csr(self.nnz_y, self.d_y);
        ("X, Y, R and their transposes", bytes)
    }

    /// A panel of everything that a product with C goes through.
    pub(super) fn between(&self) -> (&'static str, u64) {
        let rows = self.n_queries + self.n_docs + self.d_x + self.d_y;
        ("products in between", rows * WIDTH * 4)
    }

    /// What a fitted model holds beside the counts.
    pub(super) fn fitted(&self, maps: u64) -> Phase {
        let images = csr(self.nnz_y, self.n_docs) + self.n_docs * self.dim * 4;
        vec![("maps", maps), ("images of the documents", images)]
    }

    /// The rows of queries and documents that a judge scores by.
    pub(super) fn for_validation(&self) -> [(&'static str, u64); 1] {
        let again = csr(self.nnz_x + self.nnz_y, self.n_queries + self.n_docs);
        [("queries and documents for validation", again)]
    }

    pub(super) fn images(&self) -> (&'static str, u64) {
        ("images of the documents for validation", self.n_docs * self.dim * 4)
    }

    /// Counts: documents twice (by field and together), queries and clicks; ids and texts, and
    /// the terms with their places.
    pub(super) fn counts(&self) -> u64 {
        let terms = self.d_x.min(self.d_y);
        csr(2 * self.nnz_y, 2 * self.n_docs)
            + csr(self.nnz_x + self.nnz_r, 2 * self.n_queries)
            + NAME * (2 * self.n_queries + self.n_docs + terms)
    }

    /// Per iteration a filter of some products with CᵀC, two Gram matrices and a rotation of
    /// tall blocks, and a small eigenproblem; at the end C·V.
    pub(super) fn svd_seconds(&self, width: u64, rates: &Rates) -> f64 {
        let square = 2.0 * (width * width) as f64;
        let flops = square * (self.d_x as f64 / 2.0 + 1.5 * self.d_y as f64);
        let small = 30.0 * (width as f64).powi(3) / (rates.gemm_one * 1e9);
        let products = PRODUCTS as f64 * self.product(width, rates);
        ITERATIONS as f64 * (products + flops / (rates.gemm * 1e9) + small)
    }

    /// C·B for `width` columns: each factor's entries gather rows of what comes before, and
    /// each row of what comes out is written once.
    pub(super) fn product(&self, width: u64, rates: &Rates) -> f64 {
        let block = WIDTH.min(width).max(1);
        let factor = |nnz: u64, from: u64, to: u64| {
            let gathered = numbers(nnz, width) / rates.gather(from * block * 4);
            gathered + numbers(to, width) / rates.stream
        };
        // The two directions meet the same factors from either end; their mean.
        (factor(self.nnz_y, self.d_y, self.n_docs)
            + factor(self.pairs, self.n_docs, self.n_queries)
            + factor(self.nnz_x, self.n_queries, self.d_x)
            + factor(self.nnz_x, self.d_x, self.n_queries)
            + factor(self.pairs, self.n_queries, self.n_docs)
            + factor(self.nnz_y, self.n_docs, self.d_y))
            / 2.0
    }

    pub(super) fn images_seconds(&self, rates: &Rates) -> f64 {
        let block = WIDTH.min(self.dim) * 4;
        numbers(self.nnz_y, self.dim) / rates.gather(self.d_y * block)
            + numbers(self.n_docs, self.dim) / rates.stream
    }

    /// Texts are analysed and counted term by term, and brought onto one vocabulary.
    pub(super) fn reading(&self, rates: &Rates) -> (String, f64) {
        let terms = (self.nnz_x + self.nnz_y) as f64;
        ("reading".to_owned(), READING_LINES * terms / rates.terms)
    }

    pub(super) fn writing(&self, bytes: u64, rates: &Rates) -> (String, f64) {
        ("writing".to_owned(), LARGE_FILES * bytes as f64 / rates.disk)
    }
}

/// The bytes of n × k numbers.
pub(super) fn numbers(n: u64, k: u64) -> f64 {
    4.0 * n as f64 * k as f64
}

/// The bytes of all lines.
pub(super) fn sum(lines: &[(&str, u64)]) -> u64 {
    lines.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
}

/// The bytes of a sparse matrix.
pub(super) fn csr(nnz: u64, n_rows: u64) -> u64 {
    nnz * ENTRY + n_rows * 8
}
