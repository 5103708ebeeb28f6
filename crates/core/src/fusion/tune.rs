//! Tunes the weights of runs on judgments.

use rayon::prelude::*;

use super::RunFusion;
use crate::eval::significance::mean;
use crate::eval::trec::{Judgments, Numbered, Qrels, Ranked, TrecRun};
use crate::eval::{Measure, Variant};
use crate::{Error, Result};

/// The result of tuning.
#[derive(Debug, Clone, PartialEq)]
pub struct TunedWeights {
    /// The best weights, one per run; their sum is 1.
    pub weights: Vec<f64>,
    /// Their mean on the judgments.
    pub score: f64,
    /// The mean of each run alone.
    pub alone: Vec<f64>,
    /// The number of judged queries for which some run has results, over which the means are.
    pub queries: usize,
}

/// The most runs: weights of five in tenths have 1001 combinations.
const MOST: usize = 5;

/// The weights, in tenths, for which `fusion` has the best mean of `measure` on `qrels`; of several the
/// most even ones.
pub fn tune(
    fusion: &RunFusion,
    runs: &[TrecRun],
    qrels: &Qrels,
    measure: Measure,
    variant: &Variant,
) -> Result<TunedWeights> {
    variant.check()?;
    if !(2..=MOST).contains(&runs.len()) {
        return Err(Error::parameter("runs", runs.len(), "two to five runs"));
    }
    let mut choices: Vec<RunFusion> = shares(runs.len())
        .into_iter()
        .map(|weights| RunFusion { weights: Some(weights), ..fusion.clone() })
        .collect();
    choices.iter().try_for_each(|choice| choice.check(runs.len()))?;
    // A run alone is a fusion in which all others have no results.
    let alone = RunFusion { weights: None, ..fusion.clone() };
    let judged: Vec<(Judgments<'_>, Vec<Option<Ranked<'_>>>)> = qrels
        .queries()
        .map(|query| {
            let lists = runs.iter().map(|run| run.find(query.id).map(|at| run.query(at)));
            (query, lists.collect::<Vec<_>>())
        })
        .filter(|(_, lists)| lists.iter().any(Option::is_some))
        .collect();
    if judged.is_empty() {
        return Err(Error::Empty {
            what: "no query of the runs is judged".into(),
            advice:
                "the first column of the judgments and of the runs must hold the same query ids"
                    .into(),
        });
    }
    // For each query: every choice, then every run alone.
    let values: Vec<Vec<Option<f64>>> = judged
        .par_iter()
        .map(|(judgments, lists)| {
            let grades = Numbered::new(*judgments);
            let of = |hits: &[(&str, f32)]| grades.measure(measure, hits.iter().copied(), variant);
            let mut values: Vec<Option<f64>> =
                choices.iter().map(|choice| of(&choice.query(lists))).collect();
            for r in 0..lists.len() {
                let mut only: Vec<Option<Ranked<'_>>> = vec![None; lists.len()];
                only[r] = lists[r];
                values.push(of(&alone.query(&only)));
            }
            values
        })
        .collect();
    if values.iter().all(|query| query.iter().all(Option::is_none)) {
        return Err(Error::Empty {
            what: "no judged query of the runs has a relevant document".into(),
            advice: "lower `relevant_from`, or set `empty = zero`".into(),
        });
    }
    let means: Vec<f64> = (0..choices.len() + runs.len())
        .map(|c| mean(&values.iter().filter_map(|query| query[c]).collect::<Vec<_>>()))
        .collect();
    let (fused, alone) = means.split_at(choices.len());
    let best = measure.best_of(fused);
    Ok(TunedWeights {
        weights: choices.swap_remove(best).weights.unwrap_or_default(),
        score: fused[best],
        alone: alone.to_vec(),
        queries: judged.len(),
    })
}

/// Every distribution of ten tenths over `n` runs, the most even first.
fn shares(n: usize) -> Vec<Vec<f64>> {
    let mut all: Vec<Vec<u32>> = vec![Vec::new()];
    for _ in 1..n {
        let longer = |share: &Vec<u32>| {
            let rest = 10 - share.iter().sum::<u32>();
            (0..=rest).map(|next| [&share[..], &[next]].concat()).collect::<Vec<_>>()
        };
        all = all.iter().flat_map(longer).collect();
    }
    for share in &mut all {
        share.push(10 - share.iter().sum::<u32>());
    }
    all.sort_by_key(|share| share.iter().map(|tenths| tenths * tenths).sum::<u32>());
    let weights = |share: Vec<u32>| share.iter().map(|&t| f64::from(t) / 10.0).collect();
    all.into_iter().map(weights).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_all_ways_to_part_one() {
        assert_eq!(shares(2).len(), 11);
        assert_eq!(shares(2)[..3], [[0.5, 0.5], [0.4, 0.6], [0.6, 0.4]]);
        assert_eq!(shares(2)[10], [1.0, 0.0]);
        assert_eq!((shares(3).len(), shares(MOST).len()), (66, 1001));
        assert!(shares(3).iter().all(|w| (w.iter().sum::<f64>() - 1.0).abs() < 1e-12));
    }
}
