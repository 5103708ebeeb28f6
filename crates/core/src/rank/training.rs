//! Training: from a table to a ranker, and cross-validation.

use std::collections::HashMap;

use super::normalise::{Normalisation, Normaliser};
use super::ranker::{LearntFrom, Ranker, RankerAbout};
use super::scorer::or_zero;
use super::{FeatureTable, Goal, RankParams, RankReport, Training};
use crate::random::Random;
use crate::{Error, Result, Run};

/// The setup of a training.
#[derive(Debug, Clone, PartialEq)]
pub struct RankSetup {
    /// The method and its parameters.
    pub params: RankParams,
    /// Normalisation of features.
    pub normalisation: Normalisation,
    /// The measure on validation, and the objective of methods that learn a measure.
    pub goal: Goal,
}

impl RankSetup {
    /// Learns a ranker from `table`, with the best step on `validation`, if there is any.
    pub fn train(
        &self,
        table: &FeatureTable,
        validation: Option<&FeatureTable>,
        run: &Run<'_>,
    ) -> Result<(Ranker, RankReport)> {
        self.params.check()?;
        self.goal.variant.check()?;
        check(table)?;
        let mut warnings = Vec::new();
        let normaliser = Normaliser::fit(self.normalisation, table);
        let mut learnt = normaliser.table(table);
        if let Some(validation) = validation
            && !validation.names().iter().any(|name| table.names().contains(name))
        {
            return Err(Error::Empty {
                what: "validation has none of the features of training".into(),
                advice: "features are matched by name: read both tables the same way".into(),
            });
        }
        let mut aligned = validation.map(|validation| {
            let (aligned, lacking) = validation.with_features(table.names());
            if !lacking.is_empty() && validation.absent_is_missing() {
                warnings.push(format!("validation has no {}", lacking.join(", ")));
            }
            normaliser.table(&aligned)
        });
        let missing = match self.params.is_linear() {
            true => learnt.values().iter().filter(|value| value.is_nan()).count(),
            false => 0,
        };
        if missing > 0 {
            // Once, or every fit of linear weights would copy the table.
            learnt = learnt.with_values(learnt.values().iter().map(|&v| or_zero(v)).collect());
            warnings.push(format!(
                "{missing} of {} values are missing and count as 0 (after normalisation)",
                learnt.values().len()
            ));
        }
        let measure = |table: &FeatureTable, scores: &[f64]| self.goal.mean(table, scores);
        if aligned.take_if(|table| measure(table, &vec![0.0; table.n_rows()]).is_none()).is_some() {
            warnings.push(
                "no validation query has a value of the measure: validation is ignored".into(),
            );
        }
        let validation = aligned.as_ref();
        let training = Training { table: &learnt, validation, goal: self.goal, run };
        let (scorer, mut report) = self.params.fit(&training)?;
        warnings.append(&mut report.warnings);
        report.warnings = warnings;
        let about = RankerAbout {
            params: Some(self.params.clone()),
            features: table.names().to_vec(),
            absent_is_missing: table.absent_is_missing(),
            normalisation: self.normalisation,
            goal: self.goal,
            validation: validation.and_then(|table| measure(table, &scorer.scores(table))),
            learnt_from: LearntFrom {
                paths: Vec::new(),
                rows: table.n_rows(),
                queries: table.n_queries(),
            },
        };
        Ok((Ranker::new(about, normaliser, scorer), report))
    }

    /// Cross-validation: scores every fold of queries with a ranker trained on the other folds, of
    /// which the one before it is the validation. Returns the ranker and the scores of each fold.
    pub fn cross_validate(
        &self,
        folds: &[FeatureTable],
        run: &Run<'_>,
    ) -> Result<Vec<(Ranker, Vec<f64>)>> {
        let n = folds.len();
        if n < 3 {
            return Err(Error::parameter("folds", n, "3 or more: train, validation and test"));
        }
        (0..n)
            .map(|test| {
                run.step("folds", test as u64, Some(n as u64))?;
                let validation = (test + n - 1) % n;
                let learnt: Vec<&FeatureTable> =
                    (0..n).filter(|&f| f != test && f != validation).map(|f| &folds[f]).collect();
                let table = FeatureTable::joined(&learnt);
                let (ranker, _) = self.train(&table, Some(&folds[validation]), run)?;
                let scores = ranker.score(&folds[test])?.scores;
                Ok((ranker, scores))
            })
            .collect()
    }
}

/// Refuses a table from which nothing can be learnt.
fn check(table: &FeatureTable) -> Result<()> {
    if table.n_features() == 0 {
        return Err(Error::Empty {
            what: "the table has no features".into(),
            advice:
                "a row is written `grade qid:ID 1:value 2:value …`; a table has one column per \
                     feature"
                    .into(),
        });
    }
    let mut grades = table.grades().iter();
    let first = grades.next().copied();
    if grades.all(|&grade| Some(grade) == first) {
        return Err(Error::Empty {
            what: match first {
                Some(grade) => format!("all {} rows have the grade {grade}", table.n_rows()),
                None => "the table has no rows".into(),
            },
            advice: "a ranker learns from rows of a query with different grades".into(),
        });
    }
    Ok(())
}

/// The queries of `table` split into `n` folds; the queries of a group stay together.
pub fn folds(table: &FeatureTable, n: usize, seed: u64) -> Vec<FeatureTable> {
    let groups = shuffled_groups(table, seed);
    let fold = |f: usize| {
        let mut own: Vec<usize> = groups.iter().skip(f).step_by(n).flatten().copied().collect();
        own.sort_unstable();
        table.of_queries(&own)
    };
    (0..n).map(fold).collect()
}

/// Splits off about a `share` of the queries: the other queries, and these. The queries of a group
/// stay together. Nothing if no query would be left.
pub fn held_out(
    table: &FeatureTable,
    share: f64,
    seed: u64,
) -> Option<(FeatureTable, FeatureTable)> {
    let wanted = ((table.n_queries() as f64 * share).round() as usize).max(1);
    let (mut held, mut rest): (Vec<usize>, Vec<usize>) = (Vec::new(), Vec::new());
    for group in shuffled_groups(table, seed) {
        let into = if held.len() < wanted { &mut held } else { &mut rest };
        into.extend(group);
    }
    if rest.is_empty() {
        return None;
    }
    held.sort_unstable();
    rest.sort_unstable();
    Some((table.of_queries(&rest), table.of_queries(&held)))
}

/// The queries of every group, with the groups in random order.
fn shuffled_groups(table: &FeatureTable, seed: u64) -> Vec<Vec<usize>> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for query in 0..table.n_queries() {
        let place = *places.entry(table.group(query)).or_insert_with(|| {
            groups.push(Vec::new());
            groups.len() - 1
        });
        groups[place].push(query);
    }
    Random::new(seed, 0).shuffle(&mut groups);
    groups
}
