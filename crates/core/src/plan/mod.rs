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
use crate::matchers::{Params, Pls, Rmls, Start};
use crate::{Error, Result};

/// Latent columns that go through the factors together.
const WIDTH: u64 = 96;
/// Bytes of an entry of a sparse matrix: column and value.
const ENTRY: u64 = 8;
/// Bytes of a name with its place in a table, on average.
const NAME: u64 = 120;
/// Iterations of the solver that are reckoned with; how many it takes depends on the spectrum.
const ITERATIONS: u64 = 12;
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
    /// Bytes of the model folder.
    pub disk: u64,
    /// Seconds, where the machine's rates are known: what is done, and for how long.
    pub seconds: Option<Vec<(String, f64)>>,
}

impl Shape {
    /// The shape of a fit of `params` to `counts`; `judged` as in [`Shape::judged`]. `None` for
    /// methods that learn nothing.
    pub fn of(counts: &Counts, params: &Params, judged: u64) -> Option<Shape> {
        let (features, dim) = match params {
            Params::Pls(pls) => (&pls.features, pls.dim),
            Params::Rmls(rmls) => (&rmls.features, rmls.dim),
            Params::Vsm(_) | Params::Bm25(_) | Params::Lm(_) => return None,
        };
        Some(Shape { dim: dim as u64, judged, ..Shape::of_features(counts, features) })
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
            if nnz > cells {
                let expected = format!("at most {cells}, one for each cell");
                return Err(Error::parameter(name, nnz, &expected));
            }
        }
        Ok(())
    }

    /// What a fit of `params` to this shape will take.
    pub fn plan(&self, params: &Params, rates: Option<&Rates>) -> Plan {
        match params {
            Params::Pls(pls) => self.pls(pls, rates),
            Params::Rmls(rmls) => self.rmls(rmls, rates),
            Params::Vsm(_) | Params::Bm25(_) | Params::Lm(_) => self.lexical(params.name(), rates),
        }
    }

    /// Counts and one matrix of weights: nothing is learnt.
    fn lexical(&self, method: &str, rates: Option<&Rates>) -> Plan {
        let lines = vec![
            ("the program".to_owned(), PROGRAM),
            ("texts and counts".to_owned(), self.counts()),
            ("weights of the documents".to_owned(), csr(self.nnz_y, self.n_docs)),
        ];
        let seconds =
            rates.map(|rates| vec![self.reading(rates), self.writing(self.counts(), rates)]);
        plan(method, lines, self.counts(), seconds)
    }

    fn pls(&self, pls: &Pls, rates: Option<&Rates>) -> Plan {
        let width = self.width(pls.oversample);
        let mut lines = self.data();
        lines.push(("singular vectors while they are sought".to_owned(), self.svd_bytes(width)));
        lines.push(("maps".to_owned(), self.maps()));
        let seconds = rates.map(|rates| {
            vec![
                self.reading(rates),
                ("singular vectors".to_owned(), self.svd_seconds(width, rates)),
                ("images of the documents".to_owned(), self.images_seconds(rates)),
                self.writing(self.counts() + self.maps(), rates),
            ]
        });
        plan("pls", lines, self.counts() + self.maps(), seconds)
    }

    /// Ω, the maps and the best of them so far; what is made for validation. The singular
    /// vectors of a spectral start are gone by then, but two of them stand beside the maps.
    fn rmls(&self, rmls: &Rmls, rates: Option<&Rates>) -> Plan {
        let spectral = rmls.start == Start::Spectral;
        let width = self.width(None);
        let mut lines = self.data();
        lines.push(("maps L_x and L_y".to_owned(), self.maps()));
        // The better of: singular vectors being sought, or sweeps with Ω and the best maps.
        let omega = self.d_x.max(self.d_y) * self.dim * 4;
        let judged = if self.judged > 0 {
            csr(self.nnz_x + self.nnz_y, self.n_queries + self.n_docs) + self.n_docs * self.dim * 4
        } else {
            0
        };
        let sweeps = self.maps() + omega + judged;
        let svd = if spectral { self.svd_bytes(width) + judged } else { 0 };
        if svd > sweeps {
            lines.push(("singular vectors of the start while they are sought".to_owned(), svd));
        } else {
            lines.push(("the best maps so far".to_owned(), self.maps()));
            lines.push(("Ω = C·L".to_owned(), omega));
            if judged > 0 {
                lines.push(("validation".to_owned(), judged));
            }
        }
        let sweeps = rmls.sweeps as u64;
        let seconds = rates.map(|rates| {
            let mut seconds = vec![self.reading(rates)];
            if spectral {
                seconds.push(("singular vectors".to_owned(), self.svd_seconds(width, rates)));
            }
            // A sweep is C·L_y and CᵀL_x; every row is then thresholded, scaled, compared with
            // the old one and kept, and the rank and density are looked at: some six passes.
            let passes = 6.0 * self.maps() as f64 / rates.stream;
            let sweep = 2.0 * self.product(self.dim, rates) + passes;
            seconds.push((format!("{sweeps} sweeps"), sweeps as f64 * sweep));
            if self.judged > 0 {
                let times = 2 * sweeps + u64::from(spectral);
                // Each score reads the image of its document.
                let scores = (self.judged * self.dim * 4) as f64 / rates.stream;
                let once = scores + self.images_seconds(rates);
                seconds.push((format!("validation, {times} times"), times as f64 * once));
            }
            seconds.push(("images of the documents".to_owned(), self.images_seconds(rates)));
            seconds.push(self.writing(self.counts() + self.maps(), rates));
            seconds
        });
        plan("rmls", lines, self.counts() + self.maps(), seconds)
    }

    /// What every bilinear fit has: the counts, three factors and their transposes, and the
    /// products in between, n × [`WIDTH`].
    fn data(&self) -> Vec<(String, u64)> {
        let factors = csr(self.nnz_x, self.n_queries)
            + csr(self.nnz_x, self.d_x)
            + csr(self.nnz_r, self.n_queries)
            + csr(self.nnz_r, self.n_docs)
            + csr(self.nnz_y, self.n_docs)
            + csr(self.nnz_y, self.d_y);
        let scratch = (self.n_queries + self.n_docs) * WIDTH.min(self.dim) * 4;
        vec![
            ("the program".to_owned(), PROGRAM),
            ("texts and counts".to_owned(), self.counts()),
            ("X, Y, R and their transposes".to_owned(), factors),
            ("products in between".to_owned(), scratch),
        ]
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

    fn width(&self, oversample: Option<usize>) -> u64 {
        let spare = oversample.map_or((self.dim / 2).max(10), |spare| spare as u64);
        (self.dim + spare).min(self.d_x).min(self.d_y)
    }

    /// U, Z and V with their spare columns, and a few small square matrices.
    fn svd_bytes(&self, width: u64) -> u64 {
        (2 * self.d_x + self.d_y) * width * 4 + 8 * width * width * 8
    }

    /// Per iteration C·V and Cᵀ·U, and on tall blocks about five products with a width × width
    /// matrix on the side of the queries and three on the other (CholeskyQR2, Rayleigh–Ritz).
    fn svd_seconds(&self, width: u64, rates: &Rates) -> f64 {
        let square = 2.0 * (width * width) as f64;
        let flops = square * (5 * self.d_x + 3 * self.d_y) as f64;
        let small = 30.0 * (width as f64).powi(3) / (rates.gemm_one * 1e9);
        let iteration = 2.0 * self.product(width, rates) + flops / (rates.gemm * 1e9) + small;
        ITERATIONS as f64 * iteration
    }

    /// C·B for `width` columns: each factor's entries gather rows of what comes before, and
    /// each row of what comes out is written once.
    fn product(&self, width: u64, rates: &Rates) -> f64 {
        let block = WIDTH.min(width).max(1);
        let factor = |nnz: u64, from: u64, to: u64| {
            let gathered = (nnz * width * 4) as f64 / rates.gather(from * block * 4);
            gathered + (to * width * 4) as f64 / rates.stream
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
        (self.nnz_y * self.dim * 4) as f64 / rates.gather(self.d_y * block)
            + (self.n_docs * self.dim * 4) as f64 / rates.stream
    }

    /// Texts are analysed term by term.
    fn reading(&self, rates: &Rates) -> (String, f64) {
        let terms = (self.nnz_x + self.nnz_y) as f64;
        ("reading".to_owned(), terms / rates.terms)
    }

    fn writing(&self, bytes: u64, rates: &Rates) -> (String, f64) {
        ("writing".to_owned(), bytes as f64 / rates.disk)
    }
}

fn csr(nnz: u64, n_rows: u64) -> u64 {
    nnz * ENTRY + n_rows * 8
}

fn plan(
    method: &str,
    lines: Vec<(String, u64)>,
    disk: u64,
    seconds: Option<Vec<(String, f64)>>,
) -> Plan {
    let total = lines.iter().map(|(_, bytes)| bytes).sum();
    Plan { method: method.to_owned(), lines, total, disk, seconds }
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
            "{}: {} of memory, {} on disk",
            self.method,
            Bytes(self.total),
            Bytes(self.disk)
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
mod tests {
    use super::*;

    fn one_week() -> Shape {
        Shape {
            n_queries: 94_022,
            n_docs: 111_631,
            d_x: 213_535,
            d_y: 195_926,
            nnz_x: 376_000,
            nnz_y: 658_000,
            nnz_r: 163_600,
            dim: 200,
            judged: 0,
        }
    }

    fn rates() -> Rates {
        Rates {
            gather_near: 40e9,
            gather_far: 10e9,
            stream: 10e9,
            gemm: 50.0,
            gemm_one: 25.0,
            disk: 5e8,
            terms: 1e6,
        }
    }

    fn params(method: &str, settings: &[(&str, &str)]) -> Params {
        let mut params = Params::named(method).unwrap();
        settings.iter().for_each(|(key, value)| params.set(key, value).unwrap());
        params
    }

    #[test]
    fn the_lines_add_up_and_the_maps_are_what_they_are() {
        let random = params("rmls", &[("start", "random"), ("sweeps", "10")]);
        for (params, word) in
            [(random, "Ω"), (params("pls", &[]), "singular"), (params("bm25", &[]), "weights")]
        {
            let plan = one_week().plan(&params, Some(&rates()));
            assert_eq!(plan.total, plan.lines.iter().map(|line| line.1).sum::<u64>());
            assert!(plan.lines.iter().any(|(what, _)| what.contains(word)), "{plan}");
            assert!(plan.total_seconds().unwrap() > 0.0);
            assert!(plan.to_string().contains(" on disk\n"), "{plan}");
        }
        assert_eq!(one_week().maps(), 409_461 * 800);
    }

    #[test]
    fn half_the_dimensions_take_about_half_of_what_they_are_for() {
        let random = params("rmls", &[("start", "random"), ("sweeps", "10")]);
        let of = |dim| Shape { dim, ..one_week() }.plan(&random, Some(&rates()));
        let fixed = of(0).total;
        assert_eq!(of(192).total - fixed, 2 * (of(96).total - fixed) - 96 * 4 * (94_022 + 111_631));
        let sweeps = |dim| of(dim).seconds.unwrap()[1].1;
        assert!((sweeps(192) / sweeps(96) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn what_does_not_fit_is_refused_with_advice() {
        let plan = one_week().plan(&params("rmls", &[]), None);
        assert_eq!(plan.seconds, None);
        assert!(plan.check(plan.total).is_ok());
        let message = plan.check(1 << 20).unwrap_err().to_string();
        for word in ["rmls would take", "may take 1.0 MiB", "--dim", "--max-memory", "start=random"]
        {
            assert!(message.contains(word), "{message}");
        }
    }

    #[test]
    fn shapes_that_cannot_be_are_refused() {
        assert!(one_week().check().is_ok());
        for (shape, word) in [
            (Shape { dim: 0, ..one_week() }, "dim = 0"),
            (Shape { n_docs: 0, ..one_week() }, "documents = 0"),
            (Shape { d_x: 1 << 32, ..one_week() }, "query_features = 4294967296"),
            (
                Shape { n_queries: 1, nnz_x: 1, nnz_r: 111_632, ..one_week() },
                "nnz_r = 111632: expected at most 111631",
            ),
        ] {
            let message = shape.check().unwrap_err().to_string();
            assert!(message.contains(word), "{message}");
        }
    }

    #[test]
    fn bytes_are_written_for_people() {
        let texts = [0, 1023, 1536, 3 << 30].map(|bytes| Bytes(bytes).to_string());
        assert_eq!(texts, ["0 bytes", "1023 bytes", "1.5 KiB", "3.0 GiB"]);
    }
}
