//! Compares several models on one task: every query is measured under every model, mixes are tuned on
//! validation, differences are tested, and means are broken down by the clicks of the query.

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::cells::{Cell, cells};
use super::significance::mean;
use super::{Candidates, HeldOut, Measure, Task, Variant, check_choice};
use crate::data::Dataset;
use crate::features::{Counts, EvidenceAbout, Unread};
use crate::matchers::{Matcher, MixKind, Mixture, reciprocal_ranks, standardise, weight_grid};
use crate::suggest::did_you_mean;
use crate::{Error, Result, Run};

/// Upper bounds of the bins of queries by their clicks in the whole log; one more bin is open.
pub const CLICK_BINS: [f64; 3] = [10.0, 100.0, 1000.0];

/// The names of the bins: `≤10`, `10–100`, `100–1000`, `>1000`.
pub fn click_bins() -> Vec<String> {
    let mut names = vec![format!("≤{}", CLICK_BINS[0])];
    names.extend(CLICK_BINS.windows(2).map(|bounds| format!("{}–{}", bounds[0], bounds[1])));
    names.push(format!(">{}", CLICK_BINS[CLICK_BINS.len() - 1]));
    names
}

/// A fitted matcher in a comparison, alone or in mixes.
#[derive(Clone)]
pub struct System {
    /// The name that mixes refer to.
    pub name: String,
    /// Fitted to the counts of the comparison.
    pub matcher: Arc<dyn Matcher>,
    /// Whether its method uses the weights of clicks ([`crate::features::ClickEvidence`]).
    pub weighs_clicks: bool,
}

/// The rows, columns and settings of a comparison.
pub struct CompareParams<'a> {
    /// The rows of the table: single systems and mixes of them.
    pub rows: &'a [Mixture],
    /// Measures to compute, in the order of the columns.
    pub measures: &'a [Measure],
    /// The measure that tunes the weights of mixes on validation.
    pub tune_on: Measure,
    /// The row that others are tested against.
    pub baseline: usize,
    /// The queries of the table; weights are always tuned on validation.
    pub on: HeldOut,
    /// Documents to rank.
    pub candidates: Candidates,
    /// The variant of the measures.
    pub variant: Variant,
    /// Seed of the bootstrap and the randomisation test.
    pub seed: u64,
}

/// A comparison table.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Comparison {
    /// The measures, in the order of the columns.
    pub measures: Vec<Measure>,
    /// The variant of the measures.
    pub variant: Variant,
    /// Whether validation or test queries are measured.
    pub on: HeldOut,
    /// Documents ranked.
    pub candidates: Candidates,
    /// The number of queries.
    pub queries: usize,
    /// Queries without a known term, for which no model has a score.
    pub unread_queries: usize,
    /// Texts of the whole dataset without a term.
    pub unread: Unread,
    /// Queries without a relevant document.
    pub empty_queries: usize,
    /// The row that others are tested against.
    pub baseline: String,
    /// The weights of the training clicks, if they come from a raw log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceAbout>,
    /// Models that ignore these weights.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unweighed: Vec<String>,
    /// One row per model.
    pub rows: Vec<ComparisonRow>,
}

/// One model's row.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct ComparisonRow {
    /// The model or mix in the user's spelling.
    pub name: String,
    /// The weight of each part of a mix.
    pub weights: Vec<(String, f64)>,
    /// The validation score that chose the weights.
    pub validation: Option<f64>,
    /// One cell per measure.
    pub cells: Vec<Cell>,
    /// The means by clicks of the query: upper bound, queries, and one mean per measure, `None` if no
    /// query has a value.
    pub bins: Vec<(Option<f64>, usize, Vec<Option<f64>>)>,
    /// Queries for which all documents have the same score, and are ordered by id.
    #[serde(default)]
    pub tied: usize,
    /// Every query's value, one list per measure, in the order of the queries.
    #[serde(skip)]
    pub values: Vec<Vec<f64>>,
}

/// Compares the rows on the test queries of `dataset`.
pub fn compare(
    dataset: &Dataset,
    counts: &Counts,
    systems: &[System],
    params: &CompareParams<'_>,
    run: &Run<'_>,
) -> Result<Comparison> {
    params.variant.check()?;
    check_comparable(dataset, params.rows, Some(params.on))?;
    check_tunable(dataset, params.rows, params.tune_on, &params.variant)?;
    let rows: Vec<Row> =
        params.rows.iter().map(|mix| Row::new(mix, systems)).collect::<Result<_>>()?;
    let tuned = tune(dataset, counts, systems, &rows, params, run)?;

    run.step("measuring", 0, None)?;
    let task = Task::new(dataset, params.on, counts, params.candidates, params.variant);
    let chosen: Vec<Vec<Vec<f64>>> = tuned.iter().map(|row| vec![row.weights.clone()]).collect();
    let (measured, tied) =
        measure_all(counts, systems, &rows, &chosen, &task, params.measures, run)?;

    let clicks = |&i: &u32| dataset.queries.get(i as usize).map(|query| query.clicks);
    let clicks: Vec<f64> = task.queries().iter().map(clicks).collect::<Result<_>>()?;
    let values_of = |r: usize, m: usize| measured.iter().filter_map(move |query| query[r][0][m]);
    let values: Vec<Vec<Vec<f64>>> = (0..rows.len())
        .map(|r| (0..params.measures.len()).map(|m| values_of(r, m).collect()).collect())
        .collect();
    let higher: Vec<bool> = params.measures.iter().map(Measure::higher_is_better).collect();
    let table = cells(&values, &higher, params.baseline, params.seed);
    let summaries = rows
        .iter()
        .zip(table)
        .enumerate()
        .map(|(r, (row, cells))| ComparisonRow {
            name: row.name.clone(),
            weights: (row.parts.iter().map(|&p| systems[p].name.clone()))
                .zip(tuned[r].weights.iter().copied())
                .collect(),
            validation: tuned[r].validation,
            cells,
            bins: by_clicks(&measured, r, &clicks, params.measures.len()),
            tied: tied[r],
            values: values[r].clone(),
        })
        .collect();
    let alike = systems.iter().filter(|system| !system.weighs_clicks);
    let unweighed: Vec<String> = alike.map(|system| system.name.clone()).collect();
    // The evidence does not matter if no model uses weights of clicks.
    let evidence = counts.evidence.clone().filter(|_| unweighed.len() < systems.len());
    let is_empty = |&place: &usize| {
        !task.grades(place).values.iter().any(|&g| g >= params.variant.relevant_from)
    };
    let is_unread = |&&i: &&u32| counts.queries.row(i as usize).is_empty();
    Ok(Comparison {
        measures: params.measures.to_vec(),
        variant: params.variant,
        on: params.on,
        candidates: task.candidates(),
        queries: task.queries().len(),
        unread_queries: task.queries().iter().filter(is_unread).count(),
        unread: counts.unread,
        empty_queries: (0..task.queries().len()).filter(is_empty).count(),
        baseline: rows[params.baseline].name.clone(),
        unweighed: if evidence.is_some() { unweighed } else { Vec::new() },
        evidence,
        rows: summaries,
    })
}

/// Refuses a comparison without queries to measure on, or without queries to tune the weights of a mix
/// on, before anything is fitted.
pub fn check_comparable(dataset: &Dataset, rows: &[Mixture], on: Option<HeldOut>) -> Result<()> {
    let path = dataset.folder.path.display();
    let (judged, name) = match on {
        Some(HeldOut::Test) => (dataset.test.nnz(), "test"),
        Some(HeldOut::Validation) => (dataset.validation.nnz(), "validation"),
        None => (usize::MAX, ""),
    };
    if judged == 0 {
        return Err(Error::Empty {
            what: format!("{path} has no {name} queries to measure on"),
            advice: format!(
                "import it again with judgments, or with `split = queries, {name} = 0.1`"
            ),
        });
    }
    let tunes = rows.iter().any(|row| row.weights().is_none());
    if tunes && dataset.validation.nnz() == 0 {
        return Err(Error::Empty {
            what: format!("{path} has no validation queries to tune the weights of a mix on"),
            advice: "give the weights (0.5*pls+0.5*bm25), or import with `validation = 0.1`".into(),
        });
    }
    Ok(())
}

/// Refuses to tune the weights of a mix by `measure` if all weights have the same validation score.
pub fn check_tunable(
    dataset: &Dataset,
    rows: &[Mixture],
    measure: Measure,
    variant: &Variant,
) -> Result<()> {
    if rows.iter().all(|row| row.weights().is_some()) {
        return Ok(());
    }
    let advice = "give the weights (0.5*pls+0.5*bm25), or import again with judgments that hold relevant documents";
    check_choice(dataset, measure, variant, " to tune the weights of a mix by", advice)
}

/// Weights of a mix.
#[derive(Debug, Clone, PartialEq)]
pub struct Weights {
    /// One weight per part.
    pub weights: Vec<f64>,
    /// Their validation score, if they were tuned.
    pub validation: Option<f64>,
}

/// The weights of a mix of fitted systems: those given, or the best on validation.
pub fn tune_weights(
    dataset: &Dataset,
    counts: &Counts,
    systems: &[System],
    mixture: &Mixture,
    params: &CompareParams<'_>,
    run: &Run<'_>,
) -> Result<Weights> {
    check_comparable(dataset, std::slice::from_ref(mixture), None)?;
    check_tunable(dataset, std::slice::from_ref(mixture), params.tune_on, &params.variant)?;
    let row = Row::new(mixture, systems)?;
    Ok(tune(dataset, counts, systems, &[row], params, run)?.swap_remove(0))
}

struct Row {
    name: String,
    fusion: MixKind,
    parts: Vec<usize>,
    weights: Option<Vec<f64>>,
}

impl Row {
    fn new(mixture: &Mixture, systems: &[System]) -> Result<Self> {
        let find = |name: &String| {
            systems.iter().position(|system| &system.name == name).ok_or_else(|| Error::Unknown {
                kind: "model",
                name: name.clone(),
                advice: did_you_mean(
                    name,
                    systems.iter().map(|system| system.name.as_str()),
                    "a mix consists of models of the comparison",
                ),
            })
        };
        let parts = mixture.parts.iter().map(|(_, name)| find(name)).collect::<Result<Vec<_>>>()?;
        let name = mixture.to_string();
        if parts.len() > 10 {
            return Err(Error::parameter("models", name, "a mix of at most ten models"));
        }
        Ok(Row { name, fusion: mixture.fusion, parts, weights: mixture.weights() })
    }
}

/// The weights of every row.
fn tune(
    dataset: &Dataset,
    counts: &Counts,
    systems: &[System],
    rows: &[Row],
    params: &CompareParams<'_>,
    run: &Run<'_>,
) -> Result<Vec<Weights>> {
    let choices: Vec<Vec<Vec<f64>>> = rows
        .iter()
        .map(|row| row.weights.clone().map_or_else(|| weight_grid(row.parts.len()), |w| vec![w]))
        .collect();
    if choices.iter().all(|choices| choices.len() == 1) {
        let given = |mut c: Vec<Vec<f64>>| Weights { weights: c.swap_remove(0), validation: None };
        return Ok(choices.into_iter().map(given).collect());
    }
    let validation =
        Task::new(dataset, HeldOut::Validation, counts, params.candidates, params.variant);
    run.step("tuning mixes on validation", 0, None)?;
    let measure = params.tune_on;
    let (measured, _) = measure_all(counts, systems, rows, &choices, &validation, &[measure], run)?;
    let mut tuned = Vec::with_capacity(rows.len());
    for (r, mut choices) in choices.into_iter().enumerate() {
        let means: Vec<f64> = (0..choices.len())
            .map(|c| mean(&measured.iter().filter_map(|query| query[r][c][0]).collect::<Vec<_>>()))
            .collect();
        let best = measure.best_of(&means);
        let any = measured.iter().any(|query| query[r][best][0].is_some());
        let validation = (any && choices.len() > 1).then_some(means[best]);
        tuned.push(Weights { weights: choices.swap_remove(best), validation });
    }
    Ok(tuned)
}

/// Indexed by query, row, choice of weights and measure.
type Measured = Vec<Vec<Vec<Vec<Option<f64>>>>>;

fn measure_all(
    counts: &Counts,
    systems: &[System],
    rows: &[Row],
    choices: &[Vec<Vec<f64>>],
    task: &Task<'_>,
    measures: &[Measure],
    run: &Run<'_>,
) -> Result<(Measured, Vec<usize>)> {
    let systems_in = |wanted: &dyn Fn(&Row) -> bool| -> Vec<bool> {
        let in_row = |c: usize| rows.iter().any(|row| wanted(row) && row.parts.contains(&c));
        (0..systems.len()).map(in_row).collect()
    };
    let used = systems_in(&|_| true);
    let mixed = systems_in(&|row| row.parts.len() > 1);
    let by_ranks = systems_in(&|row| row.fusion == MixKind::Rrf);
    let each: Vec<_> = (0..task.queries().len())
        .into_par_iter()
        .map(|place| {
            run.check()?;
            let query = counts.query(task.queries()[place] as usize);
            let docs = task.docs(place);
            let docs = docs.as_deref();
            // Mixes are standardised over all documents, so that a score does not depend on the
            // candidates; single models need the candidates only.
            let [mut plain, mut standard, mut ranks] =
                [(); 3].map(|()| vec![Vec::<f32>::new(); systems.len()]);
            for (c, system) in systems.iter().enumerate().filter(|&(c, _)| used[c]) {
                if mixed[c] {
                    let mut all = system.matcher.scores(counts, &query, None);
                    plain[c] = pick(&all, docs);
                    if by_ranks[c] {
                        let mut all = all.clone();
                        reciprocal_ranks(&mut all, counts.n_docs());
                        ranks[c] = pick(&all, docs);
                    }
                    standardise(&mut all, counts.n_docs());
                    standard[c] = pick(&all, docs);
                } else {
                    plain[c] = system.matcher.scores(counts, &query, docs);
                }
            }
            let measured = rows
                .iter()
                .zip(choices)
                .map(|(row, choices)| {
                    choices
                        .iter()
                        .map(|weights| match row.parts[..] {
                            [only] => task.measure(measures, place, docs, &plain[only]),
                            _ => {
                                let scores = match row.fusion {
                                    MixKind::Linear => &standard,
                                    MixKind::Rrf => &ranks,
                                };
                                let mut sum = vec![0.0f32; scores[row.parts[0]].len()];
                                for (&part, &weight) in row.parts.iter().zip(weights) {
                                    let scores = sum.iter_mut().zip(&scores[part]);
                                    scores.for_each(|(sum, score)| *sum += weight as f32 * score);
                                }
                                task.measure(measures, place, docs, &sum)
                            }
                        })
                        .collect()
                })
                .collect();
            let tied = |&c: &usize| plain[c].iter().all(|&score| score == plain[c][0]);
            let tied: Vec<bool> = rows.iter().map(|row| row.parts.iter().all(tied)).collect();
            Ok((measured, tied))
        })
        .collect::<Result<_>>()?;
    let tied = (0..rows.len()).map(|r| each.iter().filter(|(_, tied)| tied[r]).count()).collect();
    Ok((each.into_iter().map(|(measured, _)| measured).collect(), tied))
}

fn pick(scores: &[f32], docs: Option<&[u32]>) -> Vec<f32> {
    match docs {
        Some(docs) => docs.iter().map(|&doc| scores[doc as usize]).collect(),
        None => scores.to_vec(),
    }
}

fn by_clicks(
    measured: &Measured,
    row: usize,
    clicks: &[f64],
    n_measures: usize,
) -> Vec<(Option<f64>, usize, Vec<Option<f64>>)> {
    let bin = |c: f64| CLICK_BINS.iter().position(|&bound| c <= bound).unwrap_or(CLICK_BINS.len());
    (0..=CLICK_BINS.len())
        .map(|b| {
            let queries: Vec<usize> = (0..clicks.len()).filter(|&q| bin(clicks[q]) == b).collect();
            let means = (0..n_measures)
                .map(|m| {
                    let values: Vec<f64> =
                        queries.iter().filter_map(|&q| measured[q][row][0][m]).collect();
                    (!values.is_empty()).then(|| mean(&values))
                })
                .collect();
            (CLICK_BINS.get(b).copied(), queries.len(), means)
        })
        .collect()
}

#[cfg(test)]
mod tests;
