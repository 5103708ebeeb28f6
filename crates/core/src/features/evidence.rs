//! What training clicks are worth, by what the log tells of the pages they were made on.
//!
//! A click counts for more the less likely it was that its document was seen. The propensity of
//! a pair is the chance that somebody who asks the query sees the document: with N_q pages
//! shown for the query, and θ the chance that people look at a rank,
//! ```text
//!   propensity_qd = s_qd / N_q        s_qd = Σ over the pages that show d of θ at its rank
//! ```
//! so that c_qd / propensity_qd are the clicks it would have had if everybody had seen it
//! (inverse propensity scoring: Joachims, Swaminathan and Schnabel 2017). c/s are clicks over
//! expected clicks; of a pair that was shown a few times they are little but noise, so they are
//! smoothed by m = 2 looks at a document of mean worth μ = Σc / Σs:
//! ```text
//!   r'_qd = r_qd · f_qd / f̄_q        f_qd = min( N_q (c_qd + mμ) / (s_qd + m) / c_qd, 20 )
//! ```
//! The weight r that a pair had (filtered, aged, whatever) is multiplied. f̄_q is the mean of f
//! over the query's clicks, so that every query keeps the sum of its weights and only its
//! documents share it otherwise: how much is known of a query is what people did, not what they
//! would have done. (Without it queries whose answers stand low weigh most, which PLS pays
//! for.) So the mean factor is 1, and a pair that no page shows keeps its weight.
//!
//! - `propensity`: θ by rank is estimated from the log ([`Propensities`]).
//! - `rates`: ranks are unknown, θ = 1. c/s is the click-through rate.
//! - `clicks`: r as it is.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::data::{Dataset, ImpressionCounts, Propensities};
use crate::sparse::Csr;
use crate::{Error, Result, Run};

/// Looks at a document of mean worth that every pair is smoothed by.
const SMOOTHING: f64 = 2.0;
/// No click counts for more than so many.
const MOST: f64 = 20.0;
/// Ranks that the line for people names.
const NAMED: usize = 5;

/// What is made of the training clicks.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClickEvidence {
    /// The best of the following that the log allows.
    #[default]
    Auto,
    /// Clicks as they are.
    Clicks,
    /// Clicks by how rarely their document was shown for the query; needs what was shown.
    Rates,
    /// Clicks by how unlikely their document was seen, given the ranks it was shown at; needs
    /// what was shown, and where.
    Propensity,
}

/// What was made of the training clicks.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EvidenceAbout {
    /// What was used: never `auto`.
    pub used: ClickEvidence,
    /// Why no more was used, where the choice was left to the log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub because: Option<String>,
    /// Training pairs with a factor of their own, and all of them.
    pub weighted: (usize, usize),
    /// The smallest and the largest factor.
    pub factors: (f64, f64),
    /// How likely people look at each rank, where that was used.
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

    /// What would be made of the training clicks of `dataset`; nothing where they did not come
    /// from a raw log.
    pub fn for_dataset(
        dataset: &Dataset,
        asked: ClickEvidence,
        run: &Run<'_>,
    ) -> Result<Option<Self>> {
        Ok(weigh(dataset, asked, run)?.1)
    }
}

impl std::fmt::Display for EvidenceAbout {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match (self.used, &self.propensities) {
            (ClickEvidence::Propensity, Some(propensities)) => {
                let ranks = (1..).zip(propensities.by_rank.iter().take(NAMED));
                let ranks: Vec<String> =
                    ranks.map(|(k, theta)| format!("{k}: {theta:.2}")).collect();
                let more = if propensities.by_rank.len() > NAMED { " …" } else { "" };
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
            _ => write!(f, "clicks as they are")?,
        }
        if self.used != ClickEvidence::Clicks {
            let ((own, all), (least, most)) = (self.weighted, self.factors);
            write!(f, "; factors from {least:.2} to {most:.2} on {own} of {all} pairs")?;
        }
        self.because.iter().try_for_each(|because| write!(f, "; {because}"))
    }
}

/// The training clicks of `dataset` with the weight that `asked` gives them; what that was,
/// where the dataset was made from a raw log.
pub(super) fn weigh(
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
        let missing = if events.offers.impressions {
            "no page of results is left that training may learn from"
        } else {
            "the log does not say what was shown and not clicked"
        };
        if asked != ClickEvidence::Auto {
            return Err(lacking(asked, missing, NO_PAGES));
        }
        about.because = Some(missing.to_owned());
        return Ok((clicks(), Some(about)));
    }
    run.step("adding up what was shown", 0, None)?;
    let seen = ImpressionCounts::of(&lists, dataset.clicks.n_rows(), run)?;
    drop(lists);
    about.used = ClickEvidence::Rates;
    if asked != ClickEvidence::Rates {
        about.propensities = Propensities::of(&seen, run)?;
        if about.propensities.is_some() {
            about.used = ClickEvidence::Propensity;
        } else {
            let (missing, advice) = if events.offers.ranks {
                (NOT_TOLD, NOT_TOLD_ADVICE)
            } else {
                ("the log has no ranks", NO_RANKS)
            };
            if asked == ClickEvidence::Propensity {
                return Err(lacking(asked, missing, advice));
            }
            about.because = Some(missing.to_owned());
        }
    }
    let weighted = apply(&dataset.clicks, &seen, &mut about)?;
    Ok((weighted, Some(about)))
}

const NO_LOG: &str = "log a line for every result shown, with its rank and whether it was clicked, and import it (`events = FILE`); or use `evidence = clicks`";
const NO_PAGES: &str = "log a line for every result shown, with clicked = 0 or 1, not only for those clicked; or use `evidence = clicks`";
const NO_RANKS: &str =
    "log the rank of every result in a column rank, from 1; or use `evidence = rates`";
const NOT_TOLD: &str = "too few clicks on documents that were shown at several ranks for the same query tell ranks apart";
const NOT_TOLD_ADVICE: &str = "let results change places now and then (shuffling one page in a hundred will do), or wait for more pages; or use `evidence = rates`";

fn lacking(asked: ClickEvidence, missing: &str, advice: &str) -> Error {
    let name = if asked == ClickEvidence::Rates { "rates" } else { "propensity" };
    Error::Empty {
        what: format!("`evidence = {name}` cannot be had: {missing}"),
        advice: advice.to_owned(),
    }
}

/// `clicks` multiplied by their factors; `about` is told of them.
fn apply(clicks: &Csr, seen: &ImpressionCounts, about: &mut EvidenceAbout) -> Result<Csr> {
    let looks = looks(seen, about.propensities.as_ref());
    let look = |rank: u32| looks[(rank as usize).min(looks.len() - 1)];
    let (expected, clicked) = seen
        .by_rank
        .iter()
        .enumerate()
        .map(|(rank, &(shown, clicked))| (shown * look(rank as u32), clicked))
        .fold((0.0, 0.0), |sum, rank| (sum.0 + rank.0, sum.1 + rank.1));
    let worth = if expected > 0.0 { clicked / expected } else { 0.0 };
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
            // A pair that was clicked on no page that is left says nothing of being seen.
            factors.push((clicked > 0.0).then(|| {
                let looked: f64 = cells.iter().map(|cell| cell.shown * look(cell.rank)).sum();
                let rate = (clicked + SMOOTHING * worth) / (looked + SMOOTHING);
                (seen.pages[i] * rate / clicked).min(MOST)
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

/// The chance of a look by rank; first that of an unknown rank, which is the mean of the others.
fn looks(seen: &ImpressionCounts, propensities: Option<&Propensities>) -> Vec<f64> {
    let Some(propensities) = propensities else { return vec![1.0; seen.by_rank.len().max(1)] };
    let mut looks: Vec<f64> =
        (0..seen.by_rank.len().max(1)).map(|rank| propensities.at(rank as u32)).collect();
    let ranked = || seen.by_rank.iter().zip(&looks).skip(1);
    let shown: f64 = ranked().map(|((shown, _), _)| shown).sum();
    let looked: f64 = ranked().map(|((shown, _), look)| shown * look).sum();
    looks[0] = if shown > 0.0 { looked / shown } else { 1.0 };
    looks
}

#[cfg(test)]
mod tests;
