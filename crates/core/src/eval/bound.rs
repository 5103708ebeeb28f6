//! Bounds of the difference between the objectives on unseen and on training pairs: the
//! generalisation bounds of the RMLS papers (Wu, Lu and Li 2013, theorems 4.3 to 4.5), together with
//! the difference that is measured on held-out pairs.
//!
//! ```text
//! |training − expected| ≤ (2CR + RB√(2 ln(1/δ)))·(1/√(n_x·n^y) + 1/√n_x)   with probability 1 − 2δ
//!
//! PLS    B = 1                                  C = √d
//! RMLS   B = √(m_x·m_y)·min(d·λ_x·λ_y, θ_x·θ_y)   C = √(d_x·d_y)·min(λ_x·λ_y, θ_x·θ_y)
//! ```
//! n^y is the harmonic mean of the n_i, R the largest response, m_x and m_y the most non-zeros
//! of a query and a document, λ and θ the largest ℓ1 and ℓ2 norm that a row of a map may have.
//! A row's ℓ2 norm is never above its ℓ1 norm, so min(λ_x, θ_x)·min(λ_y, θ_y) may replace both
//! minima: the tighter form.
//!
//! The objective is the mean over queries of the mean over a query's pairs of r·match. Held-out pairs
//! have no number of clicks, so training and held-out objective are compared with r = 1 for every
//! clicked (or relevant) pair, which is the objective of the bound at R = 1.

use rayon::prelude::*;
use serde::Serialize;

use crate::data::{Dataset, RelevanceSource, SplitBy};
use crate::features::{Counts, Features, Featurizer, Response, Weighting};
use crate::linalg::{Centring, dot_f64};
use crate::matchers::{Bilinear, Map, Model, Params, Part, Penalty};
use crate::sparse::Csr;
use crate::{Error, Result};

/// The bound of one part of a model, and the measured gaps.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Bound {
    /// Method of the model.
    pub method: &'static str,
    /// Assumptions of the theorem that the model violates; the bound holds if this is empty.
    pub broken: Vec<String>,
    /// Notes on the interpretation.
    pub notes: Vec<String>,
    /// Sizes of the training data that the bound depends on.
    pub sample: Sample,
    /// The largest norms of rows; `None` for PLS.
    pub rows: Option<RowNorms>,
    /// The probability, on each of two sides, that the bound fails.
    pub delta: f64,
    /// 1 − 2δ.
    pub probability: f64,
    /// As published.
    pub published: Constants,
    /// With min(λ_x, θ_x)·min(λ_y, θ_y) in place of both minima.
    pub tighter: Constants,
    /// The training objective with the model's own response.
    pub training: f64,
    /// The training objective with r = 1 for every clicked pair.
    pub training_at_one: f64,
    /// The gaps measured on held-out pairs.
    pub held_out: Vec<Gap>,
}

/// The quantities of the data and the maps in a bound.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Sample {
    /// Training queries, n_x.
    pub n_x: usize,
    /// Harmonic mean of the pairs of a query, n^y.
    pub n_y: f64,
    /// The largest response, R.
    pub r: f64,
    /// Most non-zeros of a query, m_x.
    pub m_x: usize,
    /// Most non-zeros of a document, m_y.
    pub m_y: usize,
    /// Query features.
    pub d_x: usize,
    /// Document features.
    pub d_y: usize,
    /// Latent dimensions.
    pub d: usize,
}

/// The largest norms that rows of the maps may have.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct RowNorms {
    /// Largest ℓ1 norm of a row of L_x.
    pub lambda_x: f64,
    /// Largest ℓ1 norm of a row of L_y.
    pub lambda_y: f64,
    /// Largest ℓ2 norm of a row of L_x.
    pub theta_x: f64,
    /// Largest ℓ2 norm of a row of L_y.
    pub theta_y: f64,
    /// Whether λ was read off the fitted maps, because training had no bound on it.
    pub after_the_fact: bool,
}

/// B, C and the bounds that follow.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Constants {
    /// sup ‖L_xᵀx‖·‖L_yᵀy‖.
    pub b: f64,
    /// sup ‖L_x·L_yᵀ‖_F.
    pub c: f64,
    /// The bound on the gap between training and unseen data, in units of the responses.
    pub bound: f64,
    /// The bound at R = 1, to be compared with the measured gap.
    pub bound_at_one: f64,
    /// Whether the bound is above R·B, which no objective can exceed.
    pub vacuous: bool,
}

/// A measured gap.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Gap {
    /// `validation` or `test`.
    pub on: &'static str,
    /// Queries with a relevant pair.
    pub queries: usize,
    /// Relevant pairs.
    pub pairs: usize,
    /// The objective on them, with r = 1.
    pub objective: f64,
    /// The training objective with r = 1, less this one.
    pub gap: f64,
}

/// The bound of every learnt part of `model`, and the gaps measured on `dataset`, which must be
/// the one it was trained on.
pub fn bounds(model: &Model, dataset: &Dataset, delta: f64) -> Result<Vec<Bound>> {
    if !(delta > 0.0 && delta < 0.5) {
        return Err(Error::parameter("delta", delta, "a number above 0 and below 0.5"));
    }
    if dataset.folder.identity() != model.about.dataset.identity {
        return Err(Error::Unusable {
            path: dataset.folder.path.clone(),
            problem: "is not the dataset that the model was trained on".into(),
            advice: format!("use that one, {}", model.about.dataset.path.display()),
        });
    }
    let learnt: Vec<Bound> = model
        .parts
        .iter()
        .filter_map(|part| of_part(model, part, dataset, delta).transpose())
        .collect::<Result<_>>()?;
    if learnt.is_empty() {
        return Err(Error::Empty {
            what: format!("no bound is known for {}", model.about.name),
            advice: "the theorem holds for pls and rmls, alone or in a mix".into(),
        });
    }
    Ok(learnt)
}

fn of_part(model: &Model, part: &Part, dataset: &Dataset, delta: f64) -> Result<Option<Bound>> {
    let Some(bilinear) = part.matcher.bilinear() else { return Ok(None) };
    let counts = &model.counts;
    let mut broken = Vec::new();
    let (features, weighting, response, centring, negatives) = match &part.params {
        Params::Pls(p) => (&p.features, p.weighting, p.response, p.centring, &p.negatives),
        Params::Rmls(p) => (&p.features, p.weighting, p.response, p.centring, &p.negatives),
        _ => return Ok(None),
    };
    if weighting != Weighting::Mean {
        broken.push("weighting is sum: the theorem assumes mean over queries (`weighting = mean`)");
    }
    if counts.clicks.values().iter().any(|&clicks| clicks < 0.0) || negatives.per_click > 0 {
        broken.push("some responses are negative: the theorem assumes r ≥ 0");
    }
    if centring != Centring::None {
        broken.push("C is centred: the theorem assumes no centring (`centring = none`)");
    }
    if !features.unit_rows {
        broken.push("rows are not scaled to unit norm (`features.unit_rows = true`)");
    }
    let maps = bilinear.maps();
    let rows = match &part.params {
        Params::Pls(pls) if pls.sigma != 0.0 => {
            broken.push("the maps carry Σ and are not orthonormal (`sigma = 0`)");
            None
        }
        Params::Rmls(rmls) => {
            let given = rmls.penalty == Penalty::Bound;
            let lambda = |bound: f64, map: &Map| if given { bound } else { largest_l1(map) };
            Some(RowNorms {
                lambda_x: lambda(rmls.lambda_x, &maps.l_x),
                lambda_y: lambda(rmls.lambda_y, &maps.l_y),
                theta_x: rmls.theta_x,
                theta_y: rmls.theta_y,
                after_the_fact: !given,
            })
        }
        _ => None,
    };
    let sample = Sample::of(counts, features, response, bilinear.dim())?;
    let [published, tighter] =
        [false, true].map(|tighter| sample.constants(rows.as_ref(), tighter, delta));
    let one = |value: f32| (value > 0.0).then_some(1.0);
    let training_at_one = objective(counts, bilinear, &counts.clicks, one);
    let own = |value: f32| Some(f64::from(response.of(value)));
    let held_out = [("validation", &dataset.validation), ("test", &dataset.test)]
        .into_iter()
        .map(|(on, pairs)| (on, objective(counts, bilinear, pairs, one)))
        .filter(|(_, found)| found.queries > 0)
        .map(|(on, found)| Gap {
            on,
            queries: found.queries,
            pairs: found.pairs,
            objective: found.mean,
            gap: training_at_one.mean - found.mean,
        })
        .collect();
    Ok(Some(Bound {
        method: part.params.name(),
        broken: broken.into_iter().map(str::to_owned).collect(),
        notes: notes(features, response, dataset),
        sample,
        rows,
        delta,
        probability: 1.0 - 2.0 * delta,
        published,
        tighter,
        training: objective(counts, bilinear, &counts.clicks, own).mean,
        training_at_one: training_at_one.mean,
        held_out,
    }))
}

fn notes(features: &Features, response: Response, dataset: &Dataset) -> Vec<String> {
    let mut notes = Vec::new();
    if response != Response::Binary {
        notes.push("held-out pairs have no number of clicks: both objectives of the gap count every relevant pair as 1, so compare the gap with the bound at R = 1".to_owned());
    }
    if features.query_clicks > 0.0 || features.doc_clicks > 0.0 {
        notes.push("click features are made from the training pairs themselves; the theorem takes features as given, so it covers word features alone".to_owned());
    }
    match (dataset.about().evidence, dataset.about().split.by) {
        (RelevanceSource::Judgments, _) => notes.push("the held-out pairs are judgments, of grade above 0, and no sample of the clicks: the measured gap is a hint".to_owned()),
        (RelevanceSource::HeldOutClicks, SplitBy::Queries) => {}
        (RelevanceSource::HeldOutClicks, by) => notes.push(format!("the split is by {}, so held-out queries are no independent sample of queries: the measured gap is a hint", by.name())),
    }
    notes.push("validation may have chosen the model; test has not".to_owned());
    notes
}

impl Sample {
    fn of(counts: &Counts, features: &Features, response: Response, d: usize) -> Result<Self> {
        let featurizer = Featurizer::new(counts, features)?;
        let most = |rows: &Csr| rows.rows().map(|row| row.len()).max().unwrap_or(0);
        let sizes = counts.clicks.rows().map(|row| row.len()).filter(|&n| n > 0);
        let (n_x, n_y) = harmonic_mean(sizes);
        let r =
            counts.clicks.values().iter().map(|&clicks| response.of(clicks)).fold(0.0, f32::max);
        Ok(Sample {
            n_x,
            n_y,
            r: f64::from(r),
            m_x: most(&featurizer.queries(counts)?),
            m_y: most(&featurizer.docs(counts)?),
            d_x: featurizer.d_x(),
            d_y: featurizer.d_y(),
            d,
        })
    }

    /// B, C and the bound; of RMLS where there are norms of rows, else of PLS.
    pub fn constants(&self, rows: Option<&RowNorms>, tighter: bool, delta: f64) -> Constants {
        let (b, c) = match rows {
            None => (1.0, (self.d as f64).sqrt()),
            Some(rows) => {
                let (l1, l2) = (rows.lambda_x * rows.lambda_y, rows.theta_x * rows.theta_y);
                let both = rows.lambda_x.min(rows.theta_x) * rows.lambda_y.min(rows.theta_y);
                let (in_b, in_c) =
                    if tighter { (both, both) } else { ((self.d as f64 * l1).min(l2), l1.min(l2)) };
                let root = |a: usize, b: usize| (a as f64).sqrt() * (b as f64).sqrt();
                (root(self.m_x, self.m_y) * in_b, root(self.d_x, self.d_y) * in_c)
            }
        };
        let n_x = self.n_x as f64;
        let shrinks = 1.0 / (n_x * self.n_y).sqrt() + 1.0 / n_x.sqrt();
        let bound_at_one = (2.0 * c + b * (2.0 * (1.0 / delta).ln()).sqrt()) * shrinks;
        let bound = self.r * bound_at_one;
        Constants { b, c, bound, bound_at_one, vacuous: bound > self.r * b }
    }
}

/// The number of sizes, and their harmonic mean.
fn harmonic_mean(sizes: impl Iterator<Item = usize>) -> (usize, f64) {
    let (n, inverse) = sizes.fold((0, 0.0), |(n, sum), size| (n + 1, sum + 1.0 / size as f64));
    (n, if n == 0 { 0.0 } else { n as f64 / inverse })
}

fn largest_l1(map: &Map) -> f64 {
    let l1 = |row: &[f32]| row.iter().map(|&value| f64::from(value).abs()).sum::<f64>();
    (0..map.n_rows()).into_par_iter().map(|i| l1(&map.row(i))).reduce(|| 0.0, f64::max)
}

struct Objective {
    mean: f64,
    queries: usize,
    pairs: usize,
}

/// The mean over queries of the mean over their pairs of r·match; `response` gives r, or `None` for
/// pairs that do not count.
fn objective(
    counts: &Counts,
    bilinear: &Bilinear,
    pairs: &Csr,
    response: impl Fn(f32) -> Option<f64> + Sync,
) -> Objective {
    let of_query: Vec<Option<(f64, usize)>> = (0..pairs.n_rows())
        .into_par_iter()
        .map(|i| {
            let counted: Vec<(u32, f64)> = pairs
                .row(i)
                .iter()
                .filter_map(|(doc, value)| Some((doc, response(value)?)))
                .collect();
            if counted.is_empty() {
                return None;
            }
            let embedding = bilinear.query_embedding(counts, &counts.query(i));
            let sum: f64 = counted
                .iter()
                .map(|&(doc, r)| r * dot_f64(&embedding, &bilinear.doc_embedding(doc)))
                .sum();
            Some((sum / counted.len() as f64, counted.len()))
        })
        .collect();
    let mut all = Objective { mean: 0.0, queries: 0, pairs: 0 };
    for (mean, n) in of_query.into_iter().flatten() {
        all.mean += mean;
        all.queries += 1;
        all.pairs += n;
    }
    all.mean /= all.queries.max(1) as f64;
    all
}

#[cfg(test)]
mod tests;
