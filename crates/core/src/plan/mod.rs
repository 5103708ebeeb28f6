//! What a fit will take, before it starts: memory, disk and seconds, counted from the shape of
//! the data. Memory and disk follow from the shapes alone; seconds need the rates of the
//! machine ([`Rates`]), which are measured once.
//!
//! One function a method makes its plan, with the formula beside each line.

mod machine;

use std::fmt;
use std::ops::Deref;

use serde::{Deserialize, Serialize};

pub use machine::{Machine, Rates};

use crate::features::{Counts, Features};
use crate::linalg::{SvdParams, packed_bytes, svd_bytes};
use crate::matchers::{Alpha, Kinds, Mpls, Params, Penalty, Rmls, Square, Start, rmls_bytes};
use crate::sparse::PANEL;
use crate::{Error, Result};

/// Latent columns that go through the factors together.
const WIDTH: u64 = PANEL as u64;
/// Bytes of an entry of a sparse matrix: column and value.
const ENTRY: u64 = 8;
/// Bytes of a name with its place in a table, on average.
const NAME: u64 = 120;
/// Iterations of the solver that are reckoned with, and products with C in each; how many it
/// takes depends on the spectrum.
const ITERATIONS: u64 = 6;
const PRODUCTS: u64 = 16;
/// What the rates do not measure, as seen on the one-week shape: reading lines, names and counts
/// beside cutting text into terms; ranking beside scoring; files of gigabytes beside small ones.
const READING_LINES: f64 = 10.0;
const RANKING: f64 = 4.0;
const LARGE_FILES: f64 = 1.5;
/// Bytes a second at which the system gives fresh memory.
const FRESH: f64 = 1.5e9;
/// Counts while they are read take this many times what they take afterwards.
const READING: f64 = 2.0;
/// Dimensions, rows and non-zeros beyond which nothing fits anywhere.
const MOST: u64 = 1 << 24;
const MOST_ROWS: u64 = 1 << 32;
const MOST_PAIRS: u64 = 1 << 52;
/// Lines that several plans have.
const SOUGHT: &str = "singular vectors while they are sought";
const MAPS: &str = "maps L_x and L_y";
/// What the program itself takes.
const PROGRAM: u64 = 16 << 20;

/// How large a fit is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Shape {
    /// Training queries.
    pub n_queries: u64,
    /// Documents.
    pub n_docs: u64,
    /// Query features.
    pub d_x: u64,
    /// Document features.
    pub d_y: u64,
    /// Non-zeros of the training queries.
    pub nnz_x: u64,
    /// Non-zeros of the documents.
    pub nnz_y: u64,
    /// Training pairs.
    pub nnz_r: u64,
    /// Latent dimensions.
    pub dim: u64,
    /// Scores that validation computes each time it is asked: queries × candidates.
    pub judged: u64,
}

/// What one fit will take.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// The method.
    pub method: String,
    /// What lies in memory at the worst moment, and how many bytes of it.
    pub lines: Vec<(String, u64)>,
    /// The sum of the lines.
    pub total: u64,
    /// Bytes that the fitted model holds beside the counts.
    pub held: u64,
    /// Bytes of scratch files while it runs.
    pub scratch: u64,
    /// Bytes of the model folder.
    pub disk: u64,
    /// Seconds, where the machine's rates are known: what is done, and for how long.
    pub seconds: Option<Vec<(String, f64)>>,
    /// What would make it smaller.
    #[serde(skip)]
    advice: String,
}

/// Lines of one moment.
type Phase = Vec<(&'static str, u64)>;

/// A shape with what the parameters add to it.
struct Fit {
    shape: Shape,
    /// Pairs of R̃: those of the log, and the negatives drawn beside them.
    pairs: u64,
    advice: String,
}

impl Deref for Fit {
    type Target = Shape;

    fn deref(&self) -> &Shape {
        &self.shape
    }
}

/// What the fits of `params` to `counts` will take one after the other, as in a mix or a
/// comparison: what is fitted stays while the next is sought. `judged` as in [`Shape::judged`];
/// methods that learn nothing are left out, but not what they hold.
pub fn plan_all(
    counts: &Counts,
    params: &[&Params],
    judged: u64,
    rates: Option<&Rates>,
    limit: u64,
) -> Vec<Plan> {
    let shapes: Vec<Shape> =
        params.iter().map(|params| Shape::of(counts, params, judged)).collect();
    let plans = plan_parts(shapes.into_iter().zip(params.iter().copied()), rates, limit);
    let learns = plans.into_iter().zip(params).filter(|(_, params)| params.learns());
    learns.map(|(plan, _)| plan).collect()
}

/// The same for `parts` of any shape, all of them.
pub fn plan_parts<'a>(
    parts: impl IntoIterator<Item = (Shape, &'a Params)>,
    rates: Option<&Rates>,
    limit: u64,
) -> Vec<Plan> {
    let mut held = 0u64;
    let mut plans = Vec::new();
    for (shape, params) in parts {
        let mut plan = shape.plan(params, rates, limit.saturating_sub(held));
        if held > 0 {
            plan.lines.push(("models fitted before it".to_owned(), held));
            plan.total = plan.total.saturating_add(held);
        }
        held = held.saturating_add(plan.held);
        plans.push(plan);
    }
    plans
}

impl Shape {
    /// The shape of a fit of `params` to `counts`; `judged` as in [`Shape::judged`]. Methods that
    /// learn nothing have words alone.
    pub fn of(counts: &Counts, params: &Params, judged: u64) -> Shape {
        let words = Features { query_clicks: 0.0, doc_clicks: 0.0, ..Features::default() };
        let features = params.features().unwrap_or(words);
        let dim = params.dim().unwrap_or(1) as u64;
        Shape { dim, judged, ..Shape::of_features(counts, &features) }
    }

    fn of_features(counts: &Counts, features: &Features) -> Shape {
        let training = || (0..counts.n_queries()).filter(|&i| !counts.clicks.row(i).is_empty());
        let positive = counts.clicks.values().iter().filter(|&&value| value > 0.0).count() as u64;
        let words: u64 = training().map(|i| counts.queries.row(i).len() as u64).sum();
        let share = |weight: f64, n: u64| if weight > 0.0 { n } else { 0 };
        let (n_terms, n_docs) = (counts.n_terms() as u64, counts.n_docs() as u64);
        Shape {
            n_queries: training().count() as u64,
            n_docs,
            d_x: n_terms + share(features.query_clicks, n_docs),
            d_y: n_terms + share(features.doc_clicks, counts.n_queries() as u64),
            nnz_x: share(features.query_words, words) + share(features.query_clicks, positive),
            nnz_y: share(features.doc_words, counts.docs.nnz() as u64)
                + share(features.doc_clicks, positive),
            nnz_r: counts.clicks.nnz() as u64,
            dim: 1,
            judged: 0,
        }
    }

    /// Refuses shapes that cannot be.
    pub fn check(&self) -> Result<()> {
        for (name, value) in [
            ("queries", self.n_queries),
            ("documents", self.n_docs),
            ("query_features", self.d_x),
            ("doc_features", self.d_y),
            ("dim", self.dim),
        ] {
            if value == 0 || value > u64::from(u32::MAX) {
                return Err(Error::parameter(name, value, "1 or more, below 2³²"));
            }
        }
        for (name, nnz, cells) in [
            ("nnz_x", self.nnz_x, self.n_queries.saturating_mul(self.d_x)),
            ("nnz_y", self.nnz_y, self.n_docs.saturating_mul(self.d_y)),
            ("nnz_r", self.nnz_r, self.n_queries.saturating_mul(self.n_docs)),
        ] {
            let most = cells.min(1 << 48);
            if nnz > most {
                let expected = format!("at most {most}, one for each cell");
                return Err(Error::parameter(name, nnz, &expected));
            }
        }
        Ok(())
    }

    /// What a fit of `params` to this shape will take, if it may take `limit` bytes of memory: some
    /// methods use scratch files where that is too little.
    pub fn plan(&self, params: &Params, rates: Option<&Rates>, limit: u64) -> Plan {
        let shape = self.clamped();
        let per_click = match params {
            Params::Pls(pls) => pls.negatives.per_click,
            Params::Rmls(rmls) => rmls.negatives.per_click,
            _ => 0,
        };
        let drawn = shape.nnz_r.saturating_mul(per_click as u64);
        let cells = shape.n_queries.saturating_mul(shape.n_docs).min(MOST_PAIRS);
        let pairs = shape.nnz_r.max(shape.nnz_r.saturating_add(drawn).min(cells));
        Fit { shape, pairs, advice: advice(params) }.of_method(params, rates, limit)
    }

    /// The same, or what is far beyond all that fits anywhere: bytes must fit into a number.
    fn clamped(&self) -> Shape {
        let (rows, nnz) = (|n: u64| n.min(MOST_ROWS), |nnz: u64| nnz.min(MOST_PAIRS));
        Shape {
            n_queries: rows(self.n_queries),
            n_docs: rows(self.n_docs),
            d_x: rows(self.d_x),
            d_y: rows(self.d_y),
            nnz_x: nnz(self.nnz_x),
            nnz_y: nnz(self.nnz_y),
            nnz_r: nnz(self.nnz_r),
            dim: self.dim.clamp(1, MOST),
            judged: nnz(self.judged),
        }
    }

    /// (d_x + d_y)·d·4.
    fn maps(&self) -> u64 {
        (self.d_x + self.d_y) * self.dim * 4
    }

    fn factor_shape(&self) -> crate::linalg::Shape {
        crate::linalg::Shape {
            n_queries: self.n_queries as usize,
            n_docs: self.n_docs as usize,
            d_x: self.d_x as usize,
            d_y: self.d_y as usize,
            nnz_x: self.nnz_x as usize,
            nnz_y: self.nnz_y as usize,
            nnz_r: self.nnz_r as usize,
        }
    }
}

impl Fit {
    fn of_method(&self, params: &Params, rates: Option<&Rates>, limit: u64) -> Plan {
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
    fn lexical(&self, method: &str, rates: Option<&Rates>) -> Plan {
        let weights = vec![("weights of the documents", csr(self.nnz_y, self.n_docs))];
        let seconds =
            rates.map(|rates| vec![self.reading(rates), self.writing(self.counts(), rates)]);
        self.worst(method, Vec::new(), weights, self.counts(), seconds)
    }

    /// Singular vectors are sought, and are the maps.
    fn svd_fit(&self, method: &str, oversample: Option<usize>, rates: Option<&Rates>) -> Plan {
        let (bytes, seconds) = self.svd(self.dim, oversample, rates);
        let sought = vec![self.factors(), self.between(), (SOUGHT, bytes)];
        self.solved(method, vec![sought], self.maps(), seconds, rates)
    }

    /// Bytes and seconds of the `dim` leading singular vectors.
    fn svd(
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
    fn com(&self, mpls: &Mpls, rates: Option<&Rates>) -> Plan {
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
    fn solved(
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
    fn found(
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

    /// Nothing is known of what an absolute threshold leaves: all of it, where that fits; else a
    /// tenth, and the fit watches memory while it makes the maps.
    fn rmls(&self, rmls: &Rmls, rates: Option<&Rates>, limit: u64) -> Plan {
        let plan = self.rmls_left(rmls, share_left(rmls), MAPS, rates, limit);
        if rmls.penalty == Penalty::Absolute && plan.total > limit {
            let name = "maps L_x and L_y, if a tenth of them is left";
            return self.rmls_left(rmls, Some(0.1), name, rates, limit);
        }
        plan
    }

    /// Maps with `share` of their entries left, or dense ones, in a line called `name`. Three
    /// moments may be the worst: the singular vectors of a spectral start being sought, a
    /// half-sweep, and the rows of a map being put together from its panels.
    fn rmls_left(
        &self,
        rmls: &Rmls,
        share: Option<f64>,
        name: &'static str,
        rates: Option<&Rates>,
        limit: u64,
    ) -> Plan {
        let spectral = rmls.start == Start::Spectral;
        let shape = self.factor_shape();
        let dense = rmls_bytes::dense_bytes(shape, self.dim as usize);
        let maps = share.map_or(dense, |share| self.packed(share));
        let mut sweep = vec![self.factors(), ("a half-sweep", rmls_bytes::scratch_bytes(shape))];
        if spectral {
            sweep.push((
                "singular vectors that the first half-sweep starts from",
                self.d_y * self.dim * 4,
            ));
        }
        if self.judged > 0 {
            sweep.extend(self.for_validation());
        }
        // The fit decides in this order, too, what it can keep in memory: the maps, a copy of the
        // best of them, the images of the documents.
        let base = PROGRAM + self.counts() + sum(&sweep);
        let room = limit.saturating_sub(base);
        let mut left = room;
        let mut scratch = 0;
        let on_disk = rmls.penalty == Penalty::None && maps > left;
        if on_disk {
            scratch += maps;
        } else {
            left = left.saturating_sub(maps);
            sweep.push((name, maps));
        }
        if self.judged > 0 {
            // Whatever a penalty leaves: how much that is, the fit does not know beforehand.
            if dense.saturating_mul(2) > room || maps > left {
                scratch += maps;
            } else {
                left -= maps;
                sweep.push(("the best maps so far", maps));
            }
            let (what, images) = self.images();
            if 2 * images <= left {
                sweep.push((what, images));
            }
        }
        let mut phases = vec![sweep];
        if spectral {
            let svd =
                svd_bytes(self.d_x as usize, self.d_y as usize, &SvdParams::of(self.dim as usize));
            let seeking = ("singular vectors of the start while they are sought", svd);
            phases.push(vec![self.factors(), self.between(), seeking]);
        }
        // An entry of a sparse row takes eight bytes, one of a dense row four.
        let rows = |d: u64| (d * self.dim) as f64 * share.map_or(4.0, |share| 8.0 * share);
        let larger = rows(self.d_x.max(self.d_y)) as u64;
        let kept = rows(self.d_x + self.d_y) as u64;
        // Maps in scratch files stay there until they are written to the model; so do the images
        // of the documents, if memory cannot hold them.
        if on_disk {
            scratch = scratch.max(maps + larger);
        } else {
            phases.push(vec![(name, maps), ("the rows of one of them", larger)]);
        }
        let mut held = if share.is_some() { vec![("maps", kept)] } else { self.fitted(kept) };
        if on_disk {
            held.remove(0);
            let (images, (_, bytes)) = (self.n_docs * self.dim * 4, held[0]);
            if PROGRAM + self.counts() + bytes > limit {
                held[0] = ("features of the documents", bytes - images);
                scratch = scratch.max(kept + images);
            }
        }
        let disk = self.counts() + kept;
        let sweeps = rmls.sweeps as u64;
        let seconds = rates.map(|rates| {
            let mut seconds = vec![self.reading(rates)];
            if spectral {
                let width = self.dim + (self.dim / 5).max(10);
                seconds.push(("singular vectors".to_owned(), self.svd_seconds(width, rates)));
            }
            // A sweep is C·L_y and CᵀL_x; packed maps are packed and unpacked beside that.
            let passes =
                if share.is_some() { 4.0 } else { 0.0 } * self.maps() as f64 / rates.stream;
            let sweep = 2.0 * self.product(self.dim, rates) + passes;
            seconds.push((format!("{sweeps} sweeps"), sweeps as f64 * sweep));
            if self.judged > 0 {
                let times = sweeps.saturating_mul(2).saturating_add(u64::from(spectral));
                // Each score reads the image of its document.
                let scores = numbers(self.judged, self.dim) / rates.stream;
                let once = RANKING * (scores + self.images_seconds(rates));
                seconds.push((format!("validation, {times} times"), times as f64 * once));
            }
            seconds.push(("images of the documents".to_owned(), self.images_seconds(rates)));
            seconds.push(self.writing(disk, rates));
            seconds
        });
        Plan { scratch, ..self.worst("rmls", phases, held, disk, seconds) }
    }

    /// The lines of the phase that takes most, below what is there all the time; `held` is what
    /// is there in the end.
    fn worst(
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
    fn factors(&self) -> (&'static str, u64) {
        let bytes = csr(self.nnz_x, self.n_queries)
            + csr(self.nnz_x, self.d_x)
            + csr(self.pairs, self.n_queries)
            + csr(self.pairs, self.n_docs)
            + csr(self.nnz_y, self.n_docs)
            + csr(self.nnz_y, self.d_y);
        ("X, Y, R and their transposes", bytes)
    }

    /// A panel of everything that a product with C goes through.
    fn between(&self) -> (&'static str, u64) {
        let rows = self.n_queries + self.n_docs + self.d_x + self.d_y;
        ("products in between", rows * WIDTH * 4)
    }

    /// What a fitted model holds beside the counts.
    fn fitted(&self, maps: u64) -> Phase {
        let images = csr(self.nnz_y, self.n_docs) + self.n_docs * self.dim * 4;
        vec![("maps", maps), ("images of the documents", images)]
    }

    /// The rows of queries and documents that a judge scores by.
    fn for_validation(&self) -> [(&'static str, u64); 1] {
        let again = csr(self.nnz_x + self.nnz_y, self.n_queries + self.n_docs);
        [("queries and documents for validation", again)]
    }

    fn images(&self) -> (&'static str, u64) {
        ("images of the documents for validation", self.n_docs * self.dim * 4)
    }

    /// Both maps with `share` of their entries left.
    fn packed(&self, share: f64) -> u64 {
        let panels = self.dim.div_ceil(WIDTH);
        let side = |d: u64| {
            let filled = (share * (d * self.dim) as f64) as u64;
            panels * packed_bytes(d as usize, filled / panels) + 4 * d
        };
        side(self.d_x) + side(self.d_y)
    }

    /// Counts: documents twice (by field and together), queries and clicks; ids and texts, and
    /// the terms with their places.
    fn counts(&self) -> u64 {
        let terms = self.d_x.min(self.d_y);
        csr(2 * self.nnz_y, 2 * self.n_docs)
            + csr(self.nnz_x + self.nnz_r, 2 * self.n_queries)
            + NAME * (2 * self.n_queries + self.n_docs + terms)
    }

    /// Per iteration a filter of some products with CᵀC, two Gram matrices and a rotation of
    /// tall blocks, and a small eigenproblem; at the end C·V.
    fn svd_seconds(&self, width: u64, rates: &Rates) -> f64 {
        let square = 2.0 * (width * width) as f64;
        let flops = square * (self.d_x as f64 / 2.0 + 1.5 * self.d_y as f64);
        let small = 30.0 * (width as f64).powi(3) / (rates.gemm_one * 1e9);
        let products = PRODUCTS as f64 * self.product(width, rates);
        ITERATIONS as f64 * (products + flops / (rates.gemm * 1e9) + small)
    }

    /// C·B for `width` columns: each factor's entries gather rows of what comes before, and
    /// each row of what comes out is written once.
    fn product(&self, width: u64, rates: &Rates) -> f64 {
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

    fn images_seconds(&self, rates: &Rates) -> f64 {
        let block = WIDTH.min(self.dim) * 4;
        numbers(self.nnz_y, self.dim) / rates.gather(self.d_y * block)
            + numbers(self.n_docs, self.dim) / rates.stream
    }

    /// Texts are analysed and counted term by term, and brought onto one vocabulary.
    fn reading(&self, rates: &Rates) -> (String, f64) {
        let terms = (self.nnz_x + self.nnz_y) as f64;
        ("reading".to_owned(), READING_LINES * terms / rates.terms)
    }

    fn writing(&self, bytes: u64, rates: &Rates) -> (String, f64) {
        ("writing".to_owned(), LARGE_FILES * bytes as f64 / rates.disk)
    }
}

/// The bytes of n × k numbers.
fn numbers(n: u64, k: u64) -> f64 {
    4.0 * n as f64 * k as f64
}

/// The bytes of all lines.
fn sum(lines: &[(&str, u64)]) -> u64 {
    lines.iter().fold(0, |sum, (_, bytes)| sum.saturating_add(*bytes))
}

/// What makes a fit of `params` smaller, for people.
fn advice(params: &Params) -> String {
    let mut ways = Vec::new();
    if params.has_dim() {
        ways.push("take fewer dimensions (--dim)".to_owned());
    }
    if matches!(params, Params::Ridge(_)) {
        ways.push("keep fewer weights of a document (--set keep=N)".to_owned());
        ways.push("train square instead".to_owned());
    }
    ways.push("leave out rare words (--min-df)".to_owned());
    let chosen = match params {
        Params::Mpls(mpls) => mpls.kinds == Kinds::Conca,
        Params::LsiDt(_) | Params::LsiQd(_) => false,
        _ => true,
    };
    if let Some(features) = params.features().filter(|_| chosen) {
        for (key, weight) in
            [("query_clicks", features.query_clicks), ("doc_clicks", features.doc_clicks)]
        {
            if weight > 0.0 {
                ways.push(format!("leave out click features (--set features.{key}=0)"));
            }
        }
    }
    if matches!(params, Params::Rmls(Rmls { start: Start::Spectral, .. })) {
        ways.push(
            "start from random rows instead of singular vectors (--set start=random)".to_owned(),
        );
    }
    ways.join(", ") + ", or allow more (--max-memory SIZE)"
}

fn csr(nnz: u64, n_rows: u64) -> u64 {
    nnz * ENTRY + n_rows * 8
}

/// The share of entries that a relative penalty leaves, if the entries of a row are spread like
/// normals, the largest of d of which is about √(2 ln d): P(|z| > ρ·√(2 ln d)). Nothing is
/// known of other penalties.
fn share_left(rmls: &Rmls) -> Option<f64> {
    let largest = (2.0 * (rmls.dim.max(2) as f64).ln()).sqrt();
    let share = |rho: f64| two_tails(rho * largest);
    (rmls.penalty == Penalty::Relative).then(|| (share(rmls.rho_x) + share(rmls.rho_y)) / 2.0)
}

/// P(|z| > x) of a standard normal, by Abramowitz and Stegun's formula 7.1.26.
fn two_tails(x: f64) -> f64 {
    let x = x / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let terms = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    terms.iter().fold(0.0, |sum, a| (sum + a) * t) * (-x * x).exp()
}

impl Plan {
    /// All seconds together, where they are known.
    pub fn total_seconds(&self) -> Option<f64> {
        self.seconds.as_ref().map(|lines| lines.iter().map(|(_, seconds)| seconds).sum())
    }

    /// Refuses a fit that takes more than `limit` bytes, and says what would help.
    pub fn check(&self, limit: u64) -> Result<()> {
        if self.total <= limit {
            return Ok(());
        }
        let largest = self.lines.iter().max_by_key(|(_, bytes)| *bytes);
        let largest = largest.map_or("", |(what, _)| what.as_str());
        Err(Error::Memory {
            what: format!(
                "{} would take {} of memory, and may take {}; most of it for: {largest}",
                self.method,
                Bytes(self.total),
                Bytes(limit)
            ),
            advice: self.advice.clone(),
        })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (total, disk) = (Bytes(self.total), Bytes(self.disk));
        write!(f, "{}: {total} of memory, {disk} on disk", self.method)?;
        if self.scratch > 0 {
            write!(f, ", {} of scratch files while it runs", Bytes(self.scratch))?;
        }
        if let Some(seconds) = self.total_seconds() {
            write!(f, ", {seconds:.1} s")?;
        }
        writeln!(f)?;
        for (what, bytes) in &self.lines {
            writeln!(f, "  {:>10}  {what}", Bytes(*bytes).to_string())?;
        }
        for (what, seconds) in self.seconds.iter().flatten() {
            writeln!(f, "  {:>10}  {what}", format!("{seconds:.1} s"))?;
        }
        Ok(())
    }
}

/// A number of bytes for people: 1.5 GiB.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bytes(pub u64);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let units = ["bytes", "KiB", "MiB", "GiB", "TiB"];
        let mut size = self.0 as f64;
        let mut unit = 0;
        while size >= 1024.0 && unit + 1 < units.len() {
            size /= 1024.0;
            unit += 1;
        }
        if unit == 0 {
            write!(f, "{} bytes", self.0)
        } else {
            write!(f, "{size:.1} {}", units[unit])
        }
    }
}

#[cfg(test)]
mod tests;
