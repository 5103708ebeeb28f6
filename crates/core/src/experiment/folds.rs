//! Experiments on tables of features: cross-validation with the tables as folds, as in LETOR.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::{CompareTable, Models};
use crate::eval::{Candidates, Comparison, ComparisonRow, HeldOut, Measure, cells};
use crate::features::Unread;
use crate::rank::{FeatureTable, Goal, Normalisation, RankParams, RankSetup, TableFile};
use crate::{Error, Result, Run};

/// Tables of features. Each is the test set once, with the table before it as validation and the rest
/// as training.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Folds {
    /// The files, relative to the data folder.
    pub tables: Vec<PathBuf>,
    /// The normalisation of features, for all methods.
    #[serde(default)]
    pub normalise: Normalisation,
    /// The measure on validation; the first of the table's measures if not given.
    pub measure: Option<Measure>,
}

/// A row of the table: a method, and the number of seeds that its values are means over.
struct Row {
    name: String,
    params: RankParams,
    seeds: u64,
}

impl Row {
    fn of(name: &str, models: &Models) -> Result<Self> {
        let mut table: Map<String, Value> = models.get(name).cloned().unwrap_or_default();
        let method = table.remove("method");
        let seeds = table.remove("seeds");
        let seeds = match seeds.as_ref().map(|seeds| seeds.as_u64().filter(|&n| n > 0)) {
            None => 1,
            Some(Some(seeds)) => seeds,
            Some(None) => {
                let given = models[name]["seeds"].to_string();
                return Err(Error::parameter("seeds", given, "a whole number from 1 on"));
            }
        };
        let method = method.as_ref().and_then(Value::as_str).unwrap_or(name);
        let mut params = RankParams::named(method)?;
        params.merge(&table)?;
        params.check()?;
        Ok(Row { name: name.to_owned(), params, seeds })
    }
}

impl Folds {
    /// Refuses too few tables.
    pub(super) fn check(&self) -> Result<()> {
        match self.tables.len() {
            n @ 0..3 => Err(Error::parameter("tables", n, "3 or more: train, validation and test")),
            _ => Ok(()),
        }
    }

    /// Refuses a row that is neither a ranking method nor a model of the file.
    pub(super) fn check_row(row: &str, models: &Models) -> Result<()> {
        Row::of(row, models).map(|_| ())
    }

    /// The first file that does not exist.
    pub(super) fn missing(&self, data_folder: &Path) -> Option<PathBuf> {
        self.tables.iter().map(|path| data_folder.join(path)).find(|path| !path.exists())
    }

    /// Cross-validates every row.
    pub(super) fn run(
        &self,
        rows: &[String],
        models: &Models,
        compare: &CompareTable,
        data_folder: &Path,
        run: &Run<'_>,
    ) -> Result<Comparison> {
        let read = |path: &PathBuf| TableFile::new(data_folder.join(path)).read(run);
        let folds: Vec<FeatureTable> = self.tables.iter().map(read).collect::<Result<_>>()?;
        let all = FeatureTable::joined(&folds.iter().collect::<Vec<_>>());
        let variant = compare.variant;
        let measure = self.measure.unwrap_or_else(|| compare.first_measure());
        let goal = Goal { measure, variant };
        let values: Vec<Vec<Vec<f64>>> = rows
            .iter()
            .map(|row| self.measured(&Row::of(row, models)?, &folds, &all, goal, compare, run))
            .collect::<Result<_>>()?;
        let higher: Vec<bool> = compare.measures.iter().map(Measure::higher_is_better).collect();
        let baseline = compare.baseline_of(rows);
        let table = cells(&values, &higher, baseline, compare.seed);
        let is_empty = |range: std::ops::Range<usize>| {
            !all.grades()[range].iter().any(|&grade| grade >= variant.relevant_from)
        };
        let summaries =
            rows.iter().zip(table).zip(values).map(|((name, cells), values)| ComparisonRow {
                name: name.clone(),
                weights: vec![(name.clone(), 1.0)],
                validation: None,
                cells,
                bins: Vec::new(),
                tied: 0,
                values,
            });
        Ok(Comparison {
            measures: compare.measures.clone(),
            variant,
            on: HeldOut::Test,
            candidates: Candidates::Judged,
            queries: all.n_queries(),
            unread_queries: 0,
            unread: Unread::default(),
            empty_queries: all.by_query().filter(|rows| is_empty(rows.clone())).count(),
            baseline: rows[baseline].clone(),
            evidence: None,
            unweighed: Vec::new(),
            rows: summaries.collect(),
        })
    }

    /// Every query's value by measure, as means over seeds.
    fn measured(
        &self,
        row: &Row,
        folds: &[FeatureTable],
        all: &FeatureTable,
        goal: Goal,
        compare: &CompareTable,
        run: &Run<'_>,
    ) -> Result<Vec<Vec<f64>>> {
        let mut sums: Vec<Vec<f64>> = Vec::new();
        for seed in 1..=row.seeds {
            run.step(&row.name, seed - 1, Some(row.seeds))?;
            let mut setup =
                RankSetup { params: row.params.clone(), normalisation: self.normalise, goal };
            if row.seeds > 1 {
                setup.params.set_seed(seed)?;
            }
            let scored = setup.cross_validate(folds, run)?;
            let scores: Vec<f64> = scored.into_iter().flat_map(|(_, scores)| scores).collect();
            for (m, &measure) in compare.measures.iter().enumerate() {
                let goal = Goal { measure, variant: goal.variant };
                let values = goal.values(all, &scores).into_iter().flatten();
                match sums.get_mut(m) {
                    None => sums.push(values.collect()),
                    Some(sums) => sums.iter_mut().zip(values).for_each(|(sum, v)| *sum += v),
                }
            }
        }
        let n = row.seeds as f64;
        sums.iter_mut().flatten().for_each(|sum| *sum /= n);
        Ok(sums)
    }
}
