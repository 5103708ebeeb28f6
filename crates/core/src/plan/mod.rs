//! What a fit will take, before it starts: memory, disk and seconds, counted from the shape of
//! the data. Memory and disk follow from the shapes alone; seconds need the rates of the
//! machine ([`Rates`]), which are measured once.
//!
//! `fit.rs` has a function for each method, with the formula beside each line; `rmls.rs` has RMLS,
//! `topics.rs` topic models.

mod fit;
mod machine;
mod rmls;
mod topics;

use std::fmt;

use serde::{Deserialize, Serialize};

pub use machine::{Machine, Rates};

use fit::Fit;

use crate::features::{Counts, Features};
use crate::matchers::{Kinds, Params, Rmls, Start};
use crate::memory::Bytes;
use crate::{Error, Result};
/// Dimensions, rows and non-zeros beyond which nothing fits anywhere.
const MOST: u64 = 1 << 24;
const MOST_ROWS: u64 = 1 << 32;
const MOST_PAIRS: u64 = 1 << 52;

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
    /// Classes of documents; 0 where nobody knows.
    #[serde(default)]
    pub classes: u64,
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
        let words = Features::words();
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
            classes: counts.classes.as_ref().map_or(0, |classes| classes.names.len() as u64),
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
            classes: rows(self.classes),
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

/// What makes a fit of `params` smaller, for people.
fn advice(params: &Params) -> String {
    let mut ways = Vec::new();
    if params.has_dim() {
        ways.push("take fewer dimensions (`dim`)".to_owned());
    }
    if matches!(params, Params::Ridge(_)) {
        ways.push("keep fewer weights of a document (`keep = N`)".to_owned());
        ways.push("train square instead".to_owned());
    }
    ways.push("leave out rare words (`min_df`)".to_owned());
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
                ways.push(format!("leave out click features (`features.{key} = 0`)"));
            }
        }
    }
    if matches!(params, Params::Rmls(Rmls { start: Start::Spectral, .. })) {
        ways.push(
            "start from random rows instead of singular vectors (`start = random`)".to_owned(),
        );
    }
    ways.join(", ") + ", or allow more (`max_memory = SIZE`)"
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

#[cfg(test)]
mod tests;
