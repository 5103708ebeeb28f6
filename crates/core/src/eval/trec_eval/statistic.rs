//! The statistics of a ranking, and their aggregation over queries.

use super::binary::*;
use super::gains::{
    Gains, binary_rbp, dcg, err, ideal_dcg, ndcg, ndcg_rel, normalised_gain, r_ndcg, rbp,
};
use super::graded::Graded;
use crate::eval::diversity::DiversityMeasure;
use crate::eval::{Measure, Variant};

/// A statistic of one query's ranking. A cut `k` is the number of documents from the top that count;
/// `usize::MAX` means all.
#[derive(Debug, Clone, PartialEq)]
#[allow(missing_docs, reason = "the guide defines each; the fields are cuts and parameters")]
pub enum Statistic {
    RunId,
    NumQ,
    NumRet,
    NumRel,
    NumRelRet,
    NumNonrelJudgedRet,
    Ap { k: usize },
    GmAp,
    Rprec,
    Bpref,
    GmBpref,
    Rr { k: usize },
    IprecAtRecall { recall: f64 },
    P { k: usize },
    RelString { k: usize },
    Recall { k: usize },
    InfAp,
    RprecMult { multiple: f64 },
    Utility { weights: [f64; 4] },
    ElevenPoints { recalls: Vec<f64> },
    BinG,
    G { gains: Gains },
    Dcg { k: usize, gains: Gains },
    IdealDcg { gains: Gains },
    Ndcg { k: usize, gains: Gains },
    NdcgRel { gains: Gains },
    Rndcg { gains: Gains },
    RelativeP { k: usize },
    Success { k: usize },
    SetP,
    SetRelativeP,
    SetRecall,
    SetAp,
    SetF { x: f64 },
    Yaap,
    Rbp { k: usize, p: f64, gains: Gains },
    BinaryRbp { k: usize, p: f64 },
    RbpResid { p: f64 },
    Unjudged { k: usize },
    Judged { k: usize },
    Err { k: usize, highest: i32 },
    Own { measure: Measure, variant: Box<Variant> },
    Diversity(DiversityMeasure),
}

/// Aggregation of the values of queries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Over {
    /// Their mean.
    Mean,
    /// Their sum, a whole number.
    Sum,
    /// exp of the mean of logarithms, each value at least 0.00001; printed for all queries only.
    GeometricMean,
    /// The number of queries; printed for all only.
    Count,
    /// Not aggregated: text about one query.
    Nothing,
    /// Text about the run; printed for all only.
    Once,
}

/// The least value in a geometric mean.
const LEAST: f64 = 0.00001;

impl Statistic {
    /// Aggregation over queries.
    pub fn over(&self) -> Over {
        use Statistic as S;
        match self {
            S::RunId => Over::Once,
            S::NumQ => Over::Count,
            S::NumRet | S::NumRel | S::NumRelRet | S::NumNonrelJudgedRet => Over::Sum,
            S::GmAp | S::GmBpref => Over::GeometricMean,
            S::RelString { .. } => Over::Nothing,
            _ => Over::Mean,
        }
    }

    /// Whether documents must be judged by subtopic.
    pub fn needs_subtopics(&self) -> bool {
        matches!(self, Statistic::Diversity(_))
    }

    /// The value of one query, its logarithm where the mean is geometric. `n_docs` is the size of the
    /// collection, for utility.
    pub(super) fn of(&self, graded: &Graded<'_>, n_docs: u64) -> f64 {
        use Statistic as S;
        match self {
            // Computed elsewhere: they need scores and documents, or subtopics.
            S::Own { .. } | S::Diversity(_) => 0.0,
            S::RunId | S::RelString { .. } => 0.0,
            S::NumQ => 1.0,
            S::NumRet => graded.n_retrieved() as f64,
            S::NumRel => graded.n_relevant as f64,
            S::NumRelRet => graded.relevant.len() as f64,
            S::NumNonrelJudgedRet => {
                let judged = graded.grades.iter().filter(|&&grade| grade >= 0).count();
                (judged - graded.relevant.len()) as f64
            }
            S::Ap { k } => average_precision(graded, *k),
            S::GmAp => average_precision(graded, usize::MAX).max(LEAST).ln(),
            S::Rprec => recall(graded, graded.n_relevant),
            S::Bpref => bpref(graded),
            S::GmBpref => bpref(graded).max(LEAST).ln(),
            S::Rr { k } => reciprocal_rank(graded, *k),
            S::IprecAtRecall { recall } => interpolated_precision(graded, *recall),
            S::P { k } => precision(graded, *k),
            S::Recall { k } => recall(graded, *k),
            S::InfAp => inferred_ap(graded),
            S::RprecMult { multiple } => precision_at_multiple(graded, *multiple),
            S::Utility { weights } => utility(graded, *weights, n_docs),
            S::ElevenPoints { recalls } => mean_interpolated_precision(graded, recalls),
            S::BinG => binary_g(graded),
            S::G { gains } => normalised_gain(graded, gains),
            S::Dcg { k, gains } => dcg(graded, *k, gains, 0),
            S::IdealDcg { gains } => ideal_dcg(graded, usize::MAX, gains, 0),
            S::Ndcg { k, gains } => ndcg(graded, *k, gains),
            S::NdcgRel { gains } => ndcg_rel(graded, gains),
            S::Rndcg { gains } => r_ndcg(graded, gains),
            S::RelativeP { k } => relative_precision(graded, *k),
            S::Success { k } => success(graded, *k),
            S::SetP => set_precision(graded),
            S::SetRelativeP => relative_precision(graded, graded.n_retrieved()),
            S::SetRecall => recall(graded, usize::MAX),
            S::SetAp => set_ap(graded),
            S::SetF { x } => set_f(graded, *x),
            S::Yaap => yaap(graded),
            S::Rbp { k, p, gains } => rbp(graded, *k, *p, gains),
            S::BinaryRbp { k, p } => binary_rbp(graded, *k, *p),
            S::RbpResid { p } => rbp_residual(graded, *p),
            S::Unjudged { k } => unjudged(graded, *k),
            S::Judged { k } => judged(graded, *k),
            S::Err { k, highest } => err(graded, *k, *highest),
        }
    }

    /// The text of one query, where it is text.
    pub(super) fn text(&self, graded: &Graded<'_>) -> Option<String> {
        match self {
            Statistic::RelString { k } => Some(relevance_string(graded, *k)),
            _ => None,
        }
    }
}
