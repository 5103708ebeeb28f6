//! What a fit will take, before it starts: memory, disk and seconds, counted from the shape of
//! the data. Memory and disk follow from the shapes alone; seconds need the rates of the
//! machine ([`Rates`]), which are measured once.
//!
//! One function a method makes its plan, with the formula beside each line.

mod machine;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use machine::{Machine, Rates};

use crate::features::{Counts, Features};
use crate::linalg::{SvdParams, packed_bytes, svd_bytes};
use crate::matchers::{Kinds, Params, Penalty, Rmls, Start, rmls_bytes};
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
/// Dimensions beyond which nothing fits anywhere.
const MOST: u64 = 1 << 24;
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
    /// Bytes of scratch files while it runs.
    pub scratch: u64,
    /// Bytes of the model folder.
    pub disk: u64,
    /// Seconds, where the machine's rates are known: what is done, and for how long.
    pub seconds: Option<Vec<(String, f64)>>,
}

impl Shape {
    /// The shape of a fit of `params` to `counts`; `judged` as in [`Shape::judged`]. `None` for
    /// methods that learn nothing.
    pub fn of(counts: &Counts, params: &Params, judged: u64) -> Option<Shape> {
        let features = params.features()?;
        let dim = params.dim().unwrap_or(1) as u64;
        Some(Shape { dim, judged, ..Shape::of_features(counts, &features) })
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
        // Beyond this nothing fits anywhere, and bytes would no longer fit into a number.
        Shape { dim: self.dim.min(MOST), ..*self }.of_method(params, rates, limit)
    }

    fn of_method(&self, params: &Params, rates: Option<&Rates>, limit: u64) -> Plan {
        match params {
            Params::Pls(pls) => self.svd_fit("pls", self.dim, pls.oversample, rates),
            Params::LsiDt(lsi) => self.svd_fit("lsi_dt", self.dim, lsi.oversample, rates),
            Params::LsiQd(lsi) => self.svd_fit("lsi_qd", self.dim, lsi.oversample, rates),
            // `com` has the maps of both kinds side by side, and seeks them one after the other.
            Params::Mpls(mpls) => {
                let once = if mpls.kinds == Kinds::Com { self.dim / 2 } else { self.dim };
                self.svd_fit("mpls", once.max(1), mpls.oversample, rates)
            }
            Params::Rmls(rmls) => self.rmls(rmls, rates, limit),
            Params::Square(square) => {
                let pair = |x: u64, y: u64| (x as usize, y as usize);
                let (n, d) = (pair(self.n_queries, self.n_docs), pair(self.d_x, self.d_y));
                let bytes = square.bytes(n, d, pair(self.nnz_x, self.nnz_y));
                // Solves take some ten times as many products as the solver of PLS.
                let seconds = rates.map(|r| 10.0 * self.svd_seconds(self.dim * 5 / 4, r));
                self.solved("square", ("the square loss", bytes), seconds, rates)
            }
            Params::Ridge(ridge) => {
                let (n, d) = (self.n_queries as usize, self.d_x as usize);
                let bytes = ridge.bytes(n, d, self.n_docs as usize);
                let steps = 2.0 * 50.0 * (self.nnz_x * self.n_docs) as f64 * 4.0;
                let seconds = rates.map(|r| steps / r.gather(self.d_x * WIDTH * 4));
                self.solved("ridge", ("weights while they are sought", bytes), seconds, rates)
            }
            // Features and maps of the usual kinds, sought in a time that nobody has measured.
            other if other.dim().is_some() && other.features().is_some() => {
                self.solved(other.name(), ("maps while they are sought", self.maps()), None, rates)
            }
            other => self.lexical(other.name(), rates),
        }
    }

    /// Counts and one matrix of weights: nothing is learnt.
    fn lexical(&self, method: &str, rates: Option<&Rates>) -> Plan {
        let weights = csr(self.nnz_y, self.n_docs);
        let phases = vec![vec![("weights of the documents", weights)]];
        let seconds =
            rates.map(|rates| vec![self.reading(rates), self.writing(self.counts(), rates)]);
        self.worst(method, phases, self.counts(), seconds)
    }

    /// Singular vectors are sought, `dim` of them at a time, and are the maps.
    fn svd_fit(
        &self,
        method: &str,
        dim: u64,
        oversample: Option<usize>,
        rates: Option<&Rates>,
    ) -> Plan {
        let mut params = SvdParams::of(dim as usize);
        params.oversample = oversample.unwrap_or(params.oversample).min(MOST as usize);
        let bytes = svd_bytes(self.d_x as usize, self.d_y as usize, &params);
        let width = dim + params.oversample as u64;
        let seconds = rates.map(|rates| self.svd_seconds(width, rates));
        self.solved(method, ("singular vectors while they are sought", bytes), seconds, rates)
    }

    /// A fit whose maps are found by a solver.
    fn solved(
        &self,
        method: &str,
        sought: (&'static str, u64),
        seconds: Option<f64>,
        rates: Option<&Rates>,
    ) -> Plan {
        let phases = vec![vec![self.factors(), self.between(), sought], self.fitted(self.maps())];
        let disk = self.counts() + self.maps();
        let seconds = rates.zip(seconds).map(|(rates, seconds)| {
            vec![
                self.reading(rates),
                (sought.0.to_owned(), seconds),
                ("images of the documents".to_owned(), self.images_seconds(rates)),
                self.writing(disk, rates),
            ]
        });
        self.worst(method, phases, disk, seconds)
    }

    /// Three moments may be the worst: the singular vectors of a spectral start being sought, a
    /// half-sweep, and the rows of a map being put together from its panels.
    fn rmls(&self, rmls: &Rmls, rates: Option<&Rates>, limit: u64) -> Plan {
        let spectral = rmls.start == Start::Spectral;
        let shape = self.factor_shape();
        let share = share_left(rmls);
        let maps = match share {
            Some(share) => self.packed(share),
            None => rmls_bytes::dense_bytes(shape, self.dim as usize),
        };
        let mut sweep = vec![self.factors(), ("a half-sweep", rmls_bytes::scratch_bytes(shape))];
        if spectral {
            sweep.push((
                "singular vectors that the first half-sweep starts from",
                self.d_y * self.dim * 4,
            ));
        }
        if self.judged > 0 {
            let again = csr(self.nnz_x + self.nnz_y, self.n_queries + self.n_docs);
            sweep.push(("queries and documents for validation", again));
        }
        // The fit decides in this order, too, what it can keep in memory: the maps, a copy of the
        // best of them, the images of the documents.
        let base = PROGRAM + self.counts() + sweep.iter().map(|(_, bytes)| bytes).sum::<u64>();
        let mut left = limit.saturating_sub(base);
        let mut scratch = 0;
        let on_disk = rmls.penalty == Penalty::None && maps > left;
        if on_disk {
            scratch += maps;
        } else {
            left = left.saturating_sub(maps);
            sweep.push(("maps L_x and L_y", maps));
        }
        if self.judged > 0 {
            if on_disk || maps > left {
                scratch += maps;
            } else {
                left -= maps;
                sweep.push(("the best maps so far", maps));
            }
            let images = self.n_docs * self.dim * 4;
            if 2 * images <= left {
                sweep.push(("images of the documents for validation", images));
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
            phases.push(vec![("maps L_x and L_y", maps), ("the rows of one of them", larger)]);
        }
        if share.is_some() {
            phases.push(vec![("maps", kept)]);
        } else {
            let mut fitted = self.fitted(kept);
            if on_disk {
                fitted.remove(0);
                let (images, (_, bytes)) = (self.n_docs * self.dim * 4, fitted[0]);
                if PROGRAM + self.counts() + bytes > limit {
                    fitted[0] = ("features of the documents", bytes - images);
                    scratch = scratch.max(kept + images);
                }
            }
            phases.push(fitted);
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
        Plan { scratch, ..self.worst("rmls", phases, disk, seconds) }
    }

    /// The lines of the phase that takes most, below what is there all the time.
    fn worst(
        &self,
        method: &str,
        mut phases: Vec<Vec<(&'static str, u64)>>,
        disk: u64,
        seconds: Option<Vec<(String, f64)>>,
    ) -> Plan {
        let while_read = (READING * self.counts() as f64) as u64 - self.counts();
        phases.push(vec![("texts while they are counted", while_read)]);
        let sum = |phase: &Vec<(&str, u64)>| phase.iter().map(|(_, bytes)| bytes).sum::<u64>();
        let phase = phases.into_iter().max_by_key(sum).unwrap_or_default();
        let always = [("the program", PROGRAM), ("texts and counts", self.counts())];
        let lines: Vec<(String, u64)> =
            always.into_iter().chain(phase).map(|(what, bytes)| (what.to_owned(), bytes)).collect();
        let total: u64 = lines.iter().map(|(_, bytes)| bytes).sum();
        let seconds = seconds.map(|mut seconds| {
            seconds.push(("taking memory from the system".to_owned(), total as f64 / FRESH));
            seconds
        });
        Plan { method: method.to_owned(), lines, total, scratch: 0, disk, seconds }
    }

    /// The three factors and their transposes.
    fn factors(&self) -> (&'static str, u64) {
        let bytes = csr(self.nnz_x, self.n_queries)
            + csr(self.nnz_x, self.d_x)
            + csr(self.nnz_r, self.n_queries)
            + csr(self.nnz_r, self.n_docs)
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
    fn fitted(&self, maps: u64) -> Vec<(&'static str, u64)> {
        let images = csr(self.nnz_y, self.n_docs) + self.n_docs * self.dim * 4;
        vec![("maps", maps), ("images of the documents", images)]
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

    /// Counts: documents twice (by field and together), queries and clicks; ids and texts, and
    /// the terms with their places.
    fn counts(&self) -> u64 {
        let terms = self.d_x.min(self.d_y);
        csr(2 * self.nnz_y, 2 * self.n_docs)
            + csr(self.nnz_x + self.nnz_r, 2 * self.n_queries)
            + NAME * (2 * self.n_queries + self.n_docs + terms)
    }

    /// (d_x + d_y)·d·4.
    fn maps(&self) -> u64 {
        (self.d_x + self.d_y) * self.dim * 4
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
            + factor(self.nnz_r, self.n_docs, self.n_queries)
            + factor(self.nnz_x, self.n_queries, self.d_x)
            + factor(self.nnz_x, self.d_x, self.n_queries)
            + factor(self.nnz_r, self.n_queries, self.n_docs)
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

fn csr(nnz: u64, n_rows: u64) -> u64 {
    nnz * ENTRY + n_rows * 8
}

/// The share of entries that a relative penalty leaves, if the entries of a row are spread like
/// normals, the largest of d of which is about √(2 ln d): P(|z| > ρ·√(2 ln d)). Nothing is
/// known of an absolute threshold; the maps are then watched while they are made.
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
        let penalty = match self.method.as_str() {
            "rmls" => ", start from random rows instead of singular vectors (--set start=random)",
            _ => "",
        };
        Err(Error::Empty {
            what: format!(
                "{} would take {} of memory, and may take {}; most of it for: {largest}",
                self.method,
                Bytes(self.total),
                Bytes(limit)
            ),
            advice: format!(
                "take fewer dimensions (--dim), leave out rare words (--min-df) or click features (--set features.query_clicks=0){penalty}, or allow more (--max-memory SIZE)"
            ),
        })
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "{}: {} of memory, {} on disk{}",
            self.method,
            Bytes(self.total),
            Bytes(self.disk),
            match self.scratch {
                0 => String::new(),
                scratch => format!(", {} of scratch files while it runs", Bytes(scratch)),
            }
        )?;
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
