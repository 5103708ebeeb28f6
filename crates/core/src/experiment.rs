//! Experiments as data: a file names a dataset, how it is prepared, the models, the measures
//! and the scores expected; running it says whether one moved.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::data::{Dataset, Import};
use crate::eval::{
    Candidates, CompareParams, Comparison, HeldOut, Measure, Variant, check_comparable,
    check_tunable, compare,
};
use crate::features::{Counts, Preparation};
use crate::matchers::{FitReport, Mixture, Params};
use crate::training::{check_validation, fit_all};
use crate::{Error, Result, Run};

/// An experiment file.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Experiment {
    /// Its name.
    pub name: String,
    /// What it shows, in a sentence or two.
    #[serde(default)]
    pub about: String,
    /// What to import; paths are relative to the data folder.
    pub data: Import,
    /// How text is read.
    #[serde(default)]
    pub preparation: Preparation,
    /// Models by name: a `method`, and the parameters that differ from its defaults. A method
    /// with defaults needs no entry.
    #[serde(default)]
    pub models: BTreeMap<String, Map<String, Value>>,
    /// What is compared.
    pub compare: CompareTable,
    /// What must come out.
    #[serde(default)]
    pub expected: Vec<Expected>,
}

/// The table of an experiment.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CompareTable {
    /// The rows: models and mixes.
    pub rows: Vec<String>,
    /// The columns.
    pub measures: Vec<Measure>,
    /// The row that others are tested against; the first if not given.
    #[serde(default)]
    pub baseline: Option<String>,
    /// Tunes the weights of mixes on validation; the first of `measures` if not given.
    #[serde(default)]
    pub tune_on: Option<Measure>,
    /// Which documents are ranked.
    #[serde(default)]
    pub candidates: Candidates,
    /// The variant of the measures.
    #[serde(default)]
    pub variant: Variant,
    /// Seed of the bootstrap and the randomisation test.
    #[serde(default = "one")]
    pub seed: u64,
}

fn one() -> u64 {
    1
}

/// One expectation: a score within a tolerance, a floor, a warning, or several of them.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expected {
    /// The row.
    pub model: String,
    /// The column, for `score` and `at_least`.
    #[serde(default)]
    pub measure: Option<Measure>,
    /// The score.
    #[serde(default)]
    pub score: Option<f64>,
    /// How far it may move.
    #[serde(default)]
    pub tolerance: Option<f64>,
    /// A floor.
    #[serde(default)]
    pub at_least: Option<f64>,
    /// A word of a warning that the fit must give.
    #[serde(default)]
    pub warns: Option<String>,
}

/// What running an experiment found.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The table.
    pub comparison: Comparison,
    /// Every model's fit.
    pub fits: Vec<(String, FitReport)>,
    /// Every expectation, and whether it was met.
    pub checks: Vec<Check>,
}

/// One expectation after the run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Check {
    /// What was expected, in words.
    pub expected: String,
    /// What came.
    pub found: String,
    /// Whether that is good.
    pub passed: bool,
}

impl Experiment {
    /// Reads an experiment file.
    pub fn open(path: &Path) -> Result<Self> {
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        let experiment: Experiment = toml::from_str(&text).map_err(|error| Error::Unusable {
            path: path.to_owned(),
            problem: error.to_string(),
            advice: "see experiments/nfcorpus.toml for how such a file looks".into(),
        })?;
        for expected in &experiment.expected {
            let complete = (expected.score.is_some() == expected.tolerance.is_some())
                && (expected.measure.is_some()
                    || (expected.score.is_none() && expected.at_least.is_none()))
                && (expected.score.is_some()
                    || expected.at_least.is_some()
                    || expected.warns.is_some());
            let row_exists = experiment.compare.rows.contains(&expected.model)
                || (expected.score.is_none() && expected.at_least.is_none());
            if !complete || !row_exists {
                return Err(Error::Unusable {
                    path: path.to_owned(),
                    problem: format!("the expectation for {:?} is not complete", expected.model),
                    advice: "an [[expected]] names a row as `model`, with `measure`, `score` and `tolerance`, or `measure` and `at_least`, or `warns`".into(),
                });
            }
        }
        experiment.check(path)?;
        Ok(experiment)
    }

    /// Finds wrong names before the data are read; `path` is the file that holds them.
    fn check(&self, path: &Path) -> Result<()> {
        let wrong = |place: &str, error: Error| Error::Unusable {
            path: path.to_owned(),
            problem: format!("{place}: {error}"),
            advice: "rows are made of methods and of the file's own [models]".into(),
        };
        let table = &self.compare;
        for name in self.models.keys() {
            let place = format!("[models.{name}]");
            self.model(name).map_err(|error| wrong(&place, error))?;
            let uses = |row: &String| {
                Mixture::parse(row).is_ok_and(|mix| mix.parts.iter().any(|(_, part)| part == name))
            };
            if !table.rows.iter().any(uses) {
                let unused = Error::parameter("model", name, "one that some row of the table uses");
                return Err(wrong(&place, unused));
            }
        }
        for row in &table.rows {
            let models = Mixture::parse(row).and_then(|row| self.models_of(&[row]));
            models.map_err(|error| wrong(&format!("the row {row:?}"), error))?;
        }
        if table.measures.is_empty() {
            let none = Error::parameter("measures", "[]", "at least one measure");
            return Err(wrong("[compare]", none));
        }
        if let Some(name) = table.baseline.as_ref().filter(|name| !table.rows.contains(name)) {
            let missing = Error::parameter("baseline", format!("{name:?}"), "one of the rows");
            return Err(wrong("[compare]", missing));
        }
        for measure in self.expected.iter().filter_map(|expected| expected.measure) {
            if !table.measures.contains(&measure) {
                let missing = Error::parameter("measure", measure, "one of the table's measures");
                return Err(wrong("[[expected]]", missing));
            }
        }
        Ok(())
    }

    /// Imports the data from below `data_folder` into `work` and runs everything.
    pub fn run(&self, data_folder: &Path, work: &Path, run: &Run<'_>) -> Result<Outcome> {
        let folder = self.import(data_folder, work, run)?;
        let dataset = Dataset::open(&folder)?;
        let rows: Vec<Mixture> =
            self.compare.rows.iter().map(|row| Mixture::parse(row)).collect::<Result<_>>()?;
        let models = self.models_of(&rows)?;
        let is_baseline = |row: &String| Some(row) == self.compare.baseline.as_ref();
        let baseline = self.compare.rows.iter().position(is_baseline).unwrap_or(0);
        let first = self.compare.measures.first().copied();
        let params = CompareParams {
            rows: &rows,
            measures: &self.compare.measures,
            tune_on: self.compare.tune_on.or(first).unwrap_or(Measure::Ndcg { k: Some(10) }),
            baseline,
            on: HeldOut::Test,
            candidates: self.compare.candidates,
            variant: self.compare.variant,
            seed: self.compare.seed,
        };
        let (comparison, fits) =
            fit_and_compare(&dataset, &self.preparation, &models, &params, run)?;
        let checks = self.expected.iter().flat_map(|e| e.check(&comparison, &fits)).collect();
        Ok(Outcome { comparison, fits, checks })
    }

    fn import(&self, data_folder: &Path, work: &Path, run: &Run<'_>) -> Result<PathBuf> {
        let folder = work.join("data");
        let mut data = self.data.clone();
        data.relative_to(data_folder);
        data.run(&folder, true, run)?;
        Ok(folder)
    }

    fn models_of(&self, rows: &[Mixture]) -> Result<Vec<(String, Params)>> {
        let mut models: Vec<(String, Params)> = Vec::new();
        for (_, name) in rows.iter().flat_map(|row| &row.parts) {
            if models.iter().any(|(known, _)| known == name) {
                continue;
            }
            models.push((name.clone(), self.model(name)?));
        }
        Ok(models)
    }

    fn model(&self, name: &str) -> Result<Params> {
        let Some(table) = self.models.get(name) else { return Params::named(name) };
        let mut table = table.clone();
        let method = table.remove("method");
        let method = method.as_ref().and_then(Value::as_str).unwrap_or(name);
        let mut params = Params::named(method)?;
        params.merge(&table)?;
        params.check()?;
        Ok(params)
    }
}

/// Reads `dataset`, fits every model and compares.
pub fn fit_and_compare(
    dataset: &Dataset,
    preparation: &Preparation,
    models: &[(String, Params)],
    params: &CompareParams<'_>,
    run: &Run<'_>,
) -> Result<(Comparison, Vec<(String, FitReport)>)> {
    check_comparable(dataset, params.rows, Some(params.on))?;
    check_tunable(dataset, params.rows, params.tune_on, &params.variant)?;
    check_validation(dataset, models.iter().map(|(_, params)| params), &params.variant)?;
    let counts = Counts::of(dataset, preparation, run)?;
    let (contenders, reports) =
        fit_all(dataset, &counts, models, params.candidates, params.variant, run)?;
    let comparison = compare(dataset, &counts, &contenders, params, run)?;
    let names = models.iter().map(|(name, _)| name.clone());
    Ok((comparison, names.zip(reports).collect()))
}

impl Expected {
    fn check(&self, comparison: &Comparison, fits: &[(String, FitReport)]) -> Vec<Check> {
        let mut checks = Vec::new();
        if let Some(measure) = self.measure {
            let column = comparison.measures.iter().position(|&m| m == measure);
            let row = comparison.rows.iter().find(|row| row.name == self.model);
            let found = column.zip(row).and_then(|(column, row)| row.cells[column].mean);
            let text = found.map_or("not in the table".to_owned(), |score| format!("{score:.4}"));
            if let (Some(score), Some(tolerance)) = (self.score, self.tolerance) {
                checks.push(Check {
                    expected: format!("{} {measure} {score} ± {tolerance}", self.model),
                    found: text.clone(),
                    passed: found.is_some_and(|found| (found - score).abs() <= tolerance),
                });
            }
            if let Some(floor) = self.at_least {
                checks.push(Check {
                    expected: format!("{} {measure} at least {floor}", self.model),
                    found: text,
                    passed: found.is_some_and(|found| found >= floor),
                });
            }
        }
        if let Some(word) = &self.warns {
            let warnings: Vec<String> = fits
                .iter()
                .filter(|(name, _)| *name == self.model)
                .flat_map(|(_, report)| report.warnings())
                .collect();
            checks.push(Check {
                expected: format!("{} warns: …{word}…", self.model),
                found: if warnings.is_empty() { "no warning".into() } else { warnings.join("; ") },
                passed: warnings.iter().any(|warning| warning.contains(word.as_str())),
            });
        }
        checks
    }
}
