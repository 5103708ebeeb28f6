//! The memory, disk and time that a fit will take, from the shape of its data. Memory and disk follow
//! from the shape alone; time needs the rates of the machine ([`Rates`]), which are measured once.
//!
//! Here are the common parts of plans: the shape of a fit, the machine, and the arithmetic of the
//! steps that most methods share (`fit.rs`). Each method plans itself from them
//! ([`Method::plan`](crate::matchers::Method::plan)).

mod fit;
mod machine;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use fit::Fit;
pub(crate) use fit::{ENTRY, PROGRAM, RANKING, SOUGHT, WIDTH, csr, numbers, sum};
pub use machine::{Machine, Rates};

use crate::memory::Bytes;
use crate::{Error, Result};

/// Upper limits of dimensions, rows and non-zeros, beyond what any machine can hold.
pub(crate) const MOST: u64 = 1 << 24;
const MOST_ROWS: u64 = 1 << 32;
const MOST_PAIRS: u64 = 1 << 52;

/// The size of the data and the model of a fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FitShape {
    /// Training queries.
    pub n_queries: u64,
    /// Number of documents.
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
    /// Classes of documents; 0 if unknown.
    #[serde(default)]
    pub classes: u64,
    /// Scores per validation: queries × candidates.
    #[serde(rename = "judged")]
    pub validation_scores: u64,
    /// Whether the fit starts from an earlier model, which stays in memory.
    #[serde(default)]
    pub warm_start: bool,
}

/// The memory, disk and time of one fit.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Plan {
    /// Method that is planned.
    pub method: String,
    /// The memory in use at the peak: description and bytes.
    pub lines: Vec<(String, u64)>,
    /// The sum of the lines.
    pub total: u64,
    /// Bytes of the fitted model without the counts.
    pub held: u64,
    /// Bytes of scratch files during the fit.
    pub scratch: u64,
    /// Bytes of the model folder.
    pub disk: u64,
    /// The steps with their seconds, if the machine's rates are known.
    pub seconds: Option<Vec<(String, f64)>>,
    /// Advice on a smaller fit.
    #[serde(skip)]
    pub(crate) advice: String,
}

impl FitShape {
    /// Refuses impossible shapes.
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

    /// The shape with upper limits, so that bytes fit into a number.
    fn clamped(&self) -> FitShape {
        let (rows, nnz) = (|n: u64| n.min(MOST_ROWS), |nnz: u64| nnz.min(MOST_PAIRS));
        FitShape {
            n_queries: rows(self.n_queries),
            n_docs: rows(self.n_docs),
            d_x: rows(self.d_x),
            d_y: rows(self.d_y),
            nnz_x: nnz(self.nnz_x),
            nnz_y: nnz(self.nnz_y),
            nnz_r: nnz(self.nnz_r),
            dim: self.dim.clamp(1, MOST),
            classes: rows(self.classes),
            validation_scores: nnz(self.validation_scores),
            warm_start: self.warm_start,
        }
    }

    /// (d_x + d_y)·d·4.
    pub(crate) fn maps(&self) -> u64 {
        (self.d_x + self.d_y) * self.dim * 4
    }

    pub(crate) fn factor_shape(&self) -> crate::linalg::Shape {
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

impl Plan {
    /// The plan with another line of memory.
    pub(crate) fn with_line(mut self, (what, bytes): (&str, u64)) -> Plan {
        self.lines.push((what.to_owned(), bytes));
        self.total = self.total.saturating_add(bytes);
        self
    }

    /// The total time, if known.
    pub fn total_seconds(&self) -> Option<f64> {
        self.seconds.as_ref().map(|lines| lines.iter().map(|(_, seconds)| seconds).sum())
    }

    /// Refuses a fit that takes more than `limit` bytes, with advice.
    pub fn check(&self, limit: u64) -> Result<()> {
        if self.total <= limit {
            return Ok(());
        }
        let largest = self.lines.iter().max_by_key(|(_, bytes)| *bytes);
        let largest = largest.map_or("", |(what, _)| what.as_str());
        Err(Error::Memory {
            what: format!(
                "{} would take {} of memory, but may take {}; most of it for: {largest}",
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
        let bytes = self.lines.iter().map(|(what, bytes)| (what, Bytes(*bytes).to_string()));
        let seconds = self.seconds.iter().flatten().map(|(what, s)| (what, format!("{s:.1} s")));
        let mut lines = bytes.chain(seconds);
        lines.try_for_each(|(what, amount)| writeln!(f, "  {amount:>10}  {what}"))
    }
}
