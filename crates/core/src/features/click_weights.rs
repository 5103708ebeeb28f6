//! Where a click becomes a training weight: [`click_weights`] is the only place that corrects
//! training clicks for what users examined; clicks without a raw log stay as they are. Age comes
//! before it, at import (`data/events/timeline.rs`); the response and the weighting of pairs come
//! after it (`Weighted::of` in `featurizer.rs`).
//!
//! A click counts for more the less likely it was that its document was examined. The propensity
//! of a pair is the probability that a user who asks the query examines the document: with N_q
//! impressions of the query, and θ the examination propensity of a rank,
//! ```text
//!   propensity_qd = s_qd / N_q        s_qd = Σ over the impressions that show d of θ at its rank
//! ```
//! so that c_qd / propensity_qd are the clicks it would have had if every user had examined it
//! (inverse propensity scoring: Joachims, Swaminathan and Schnabel 2017). c/s are clicks over
//! expected clicks (COEC); of a pair with few impressions they are mostly noise, so they are
//! smoothed by m = 2 examinations of a document with the mean rate μ = Σc / Σs:
//! ```text
//!   r'_qd = r_qd · f_qd / f̄_q        f_qd = min( N_q (c_qd + mμ) / (s_qd + m) / c_qd, 20 )
//! ```
//! This multiplies the weight r that a pair has after filtering and ageing. f̄_q is the mean of f
//! over the query's clicks: every query keeps the sum of its weights, and only its documents share
//! it differently. (Without it, queries whose answers stand low weigh most, which costs PLS
//! accuracy.) So the mean factor is 1, and a pair without impressions keeps its weight.
//!
//! - `propensity`: θ by rank is estimated from the log ([`Propensities`]).
//! - `rates`: ranks are unknown, θ = 1. c/s is the click-through rate.
//! - `clicks`: r unchanged.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::{Dataset, ImpressionCounts, Propensities};
use crate::sparse::Csr;
use crate::{Error, Result, Run};

/// Examinations of a document with the mean rate that every pair is smoothed by: m.
const SMOOTHING: f64 = 2.0;
/// The largest factor f.
const MAX_FACTOR: f64 = 20.0;
/// Ranks whose propensity the summary shows.
const SHOWN_RANKS: usize = 5;

/// The weighting of training clicks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClickEvidence {
    /// `propensity` if the log has ranks, else `rates` if it has impressions, else `clicks`.
    #[default]
    Auto,
    /// Clicks unweighted.
    Clicks,
    /// Clicks weighted by click-through rate; needs impressions.
    Rates,
    /// Clicks weighted by inverse examination propensity; needs impressions with ranks.
    Propensity,
}

/// The weighting that training clicks got.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceAbout {
    /// The weighting used: never `auto`.
    pub used: ClickEvidence,
    /// The reason why `auto` did not choose `rates` or `propensity`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Training pairs with a factor of their own, and all of them.
    pub weighted: (usize, usize),
    /// The smallest and the largest factor.
    pub factors: (f64, f64),
    /// The examination propensities, where they were used.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub propensities: Option<Propensities>,
}

impl EvidenceAbout {
    fn of(used: ClickEvidence) -> Self {
        EvidenceAbout {
            used,
            because: None,
            weighted: (0, 0),
            factors: (1.0, 1.0),
            propensities: None,
        }
    }

    /// How the training clicks of `dataset` would be weighted; `None` where they did not come
    /// from a raw log.
    pub fn for_dataset(
        dataset: &Dataset,
        asked: ClickEvidence,
        run: &Run<'_>,
    ) -> Result<Option<Self>> {
        Ok(click_weights(dataset, asked, run)?.1)
    }
}

impl std::fmt::Display for EvidenceAbout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.used, &self.propensities) {
            (ClickEvidence::Propensity, Some(propensities)) => {
                let ranks = (1..).zip(propensities.by_rank.iter().take(SHOWN_RANKS));
                let ranks: Vec<String> =
                    ranks.map(|(k, theta)| format!("{k}: {theta:.2}")).collect();
                let more = if propensities.by_rank.len() > SHOWN_RANKS { " …" } else { "" };
                write!(
                    f,
                    "clicks weighted by propensity (rank {}{more}; {} clicked pairs were shown at several ranks)",
                    ranks.join(", "),
                    propensities.pairs
                )?;
            }
            (ClickEvidence::Rates, _) => {
                write!(f, "clicks weighted by how often their documents were shown")?;
            }
            _ => write!(f, "clicks unweighted")?,
        }
        if self.used != ClickEvidence::Clicks {
            let ((own, all), (least, most)) = (self.weighted, self.factors);
            write!(f, "; factors from {least:.2} to {most:.2} on {own} of {all} pairs")?;
        }
        self.because.iter().try_for_each(|because| write!(f, "; {because}"))
    }
}

/// The training clicks of `dataset`, weighted as `asked`; and how, where the dataset was made from
/// a raw log.
pub(super) fn click_weights(
    dataset: &Dataset,
    asked: ClickEvidence,
    run: &Run<'_>,
) -> Result<(Csr, Option<EvidenceAbout>)> {
    let clicks = || dataset.clicks.clone();
    let Some(events) = &dataset.about().events else {
        return match asked {
            ClickEvidence::Auto | ClickEvidence::Clicks => Ok((clicks(), None)),
            _ => Err(lacking(asked, "the dataset was not made from a raw log", NO_LOG)),
        };
    };
    let mut about = EvidenceAbout::of(ClickEvidence::Clicks);
    if asked == ClickEvidence::Clicks || dataset.clicks.nnz() == 0 {
        return Ok((clicks(), Some(about)));
    }
    let lists = dataset.impressions()?;
    if lists.is_empty() {
        let missing = if events.columns.impressions {
            "training may use none of the impressions"
        } else {
            "the log has no impressions without a click"
        };
        if asked != ClickEvidence::Auto {
            return Err(lacking(asked, missing, NO_IMPRESSIONS));
        }
        about.because = Some(missing.to_owned());
        return Ok((clicks(), Some(about)));
    }
    run.step("adding up impressions", 0, None)?;
    let seen = ImpressionCounts::of(&lists, dataset.clicks.n_rows(), run)?;
    drop(lists);
    about.used = ClickEvidence::Rates;
    if asked != ClickEvidence::Rates {
        about.propensities = Propensities::of(&seen, run)?;
        if about.propensities.is_some() {
            about.used = ClickEvidence::Propensity;
        } else {
            let (missing, advice) = if events.columns.ranks {
                (TOO_FEW, TOO_FEW_ADVICE)
            } else {
                ("the log has no ranks", NO_RANKS)
            };
            if asked == ClickEvidence::Propensity {
                return Err(lacking(asked, missing, advice));
            }
            about.because = Some(missing.to_owned());
        }
    }
    let weighted = scale_clicks(&dataset.clicks, &seen, &mut about)?;
    Ok((weighted, Some(about)))
}

const NO_LOG: &str = "log a line for every result shown, with its rank and whether it was clicked, and import the log (`events = FILE`); or use `evidence = clicks`";
const NO_IMPRESSIONS: &str = "log a line for every result shown, with clicked = 0 or 1, not only for those clicked; or use `evidence = clicks`";
const NO_RANKS: &str =
    "log the rank of every result in a column rank, from 1; or use `evidence = rates`";
const TOO_FEW: &str =
    "too few clicks are on documents that were shown at several ranks for the same query";
const TOO_FEW_ADVICE: &str = "randomise some rankings (shuffling one result page in a hundred is enough), or collect more impressions; or use `evidence = rates`";

fn lacking(asked: ClickEvidence, missing: &str, advice: &str) -> Error {
    let name = if asked == ClickEvidence::Rates { "rates" } else { "propensity" };
    Error::Empty {
        what: format!("`evidence = {name}` is not possible: {missing}"),
        advice: advice.to_owned(),
    }
}

/// Multiplies `clicks` by their factors, and notes these in `about`.
fn scale_clicks(clicks: &Csr, seen: &ImpressionCounts, about: &mut EvidenceAbout) -> Result<Csr> {
    let by_rank = rank_propensities(seen, about.propensities.as_ref());
    let theta = |rank: u32| by_rank[(rank as usize).min(by_rank.len() - 1)];
    let (expected, clicked) = seen
        .by_rank
        .iter()
        .enumerate()
        .map(|(rank, &(shown, clicked))| (shown * theta(rank as u32), clicked))
        .fold((0.0, 0.0), |sum, rank| (sum.0 + rank.0, sum.1 + rank.1));
    let mean_rate = if expected > 0.0 { clicked / expected } else { 0.0 };
    let mut factors: Vec<Option<f64>> = Vec::with_capacity(clicks.nnz());
    let mut p = 0;
    for (i, row) in clicks.rows().enumerate() {
        for (doc, value) in row.iter() {
            // Both are sorted by query and document.
            let pair = (i as u32, doc);
            while seen.pairs.get(p).is_some_and(|known| *known < pair) {
                p += 1;
            }
            let known = seen.pairs.get(p) == Some(&pair) && value > 0.0;
            let cells = if known { seen.cells(p) } else { &[] };
            let clicked: f64 = cells.iter().map(|cell| cell.clicked).sum();
            // Without a clicked impression nothing is known of how the pair was examined.
            factors.push((clicked > 0.0).then(|| {
                let examined: f64 = cells.iter().map(|cell| cell.shown * theta(cell.rank)).sum();
                let rate = (clicked + SMOOTHING * mean_rate) / (examined + SMOOTHING);
                (seen.pages[i] * rate / clicked).min(MAX_FACTOR)
            }));
        }
    }
    let mut at = 0;
    for row in clicks.rows() {
        let factors = &mut factors[at..at + row.len()];
        at += row.len();
        let (mut before, mut after) = (0.0, 0.0);
        for (&value, factor) in row.values.iter().zip(&*factors) {
            if let Some(factor) = factor {
                before += f64::from(value);
                after += f64::from(value) * factor;
            }
        }
        factors.iter_mut().flatten().for_each(|factor| *factor *= before / after);
    }
    let own = || factors.iter().flatten().copied();
    about.weighted = (own().count(), clicks.nnz());
    if about.weighted.0 > 0 {
        about.factors = (own().fold(f64::MAX, f64::min), own().fold(0.0, f64::max));
    }
    let values = clicks.values().iter().zip(&factors).map(|(&value, factor)| match factor {
        Some(factor) => (f64::from(value) * factor) as f32,
        None => value,
    });
    Csr::new(clicks.n_cols(), clicks.starts().to_vec(), clicks.indices().to_vec(), values.collect())
}

/// The examination propensity by rank; first that of an unknown rank, the mean of the others.
fn rank_propensities(seen: &ImpressionCounts, propensities: Option<&Propensities>) -> Vec<f64> {
    let Some(propensities) = propensities else { return vec![1.0; seen.by_rank.len().max(1)] };
    let mut by_rank: Vec<f64> =
        (0..seen.by_rank.len().max(1)).map(|rank| propensities.at(rank as u32)).collect();
    let ranked = || seen.by_rank.iter().zip(&by_rank).skip(1);
    let shown: f64 = ranked().map(|((shown, _), _)| shown).sum();
    let examined: f64 = ranked().map(|((shown, _), theta)| shown * theta).sum();
    by_rank[0] = if shown > 0.0 { examined / shown } else { 1.0 };
    by_rank
}

#[cfg(test)]
mod tests;
