//! Experiments as data: a file names the data, how they are prepared, the models, the measures
//! and the scores expected; running it says whether one moved.
//!
//! A table of a paper is often several tables, one for each collection or for each value of
//! something. Such a file has [`Setting`]s: each says what is different in it, and the rest is
//! the file's.

mod expected;
mod folds;
mod setting;

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

pub use self::expected::{Check, Expected};
pub use self::folds::Folds;
pub use self::setting::Setting;
use crate::data::{Dataset, Import, TaskParams};
use crate::eval::{
    Candidates, CompareParams, Comparison, HeldOut, Measure, Variant, check_comparable,
    check_tunable, compare,
};
use crate::features::{Counts, Preparation};
use crate::matchers::{FitReport, Mixture, Params};
use crate::stack::{Rankers, Stacking, fit_rankers};
use crate::synth::Synthetic;
use crate::training::{check_models, fit_all};
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
    /// Whether it is one of the small ones, which are replayed where time is short.
    #[serde(default)]
    pub quick: bool,
    /// What to import; paths are relative to the data folder.
    #[serde(default)]
    pub data: Option<Import>,
    /// A synthetic log instead.
    #[serde(default)]
    pub synthetic: Option<Synthetic>,
    /// Tables of features instead: the rows are rankers.
    #[serde(default)]
    pub folds: Option<Folds>,
    /// A task to be made of the data, instead of the log as it is.
    #[serde(default)]
    pub task: Option<TaskParams>,
    /// How text is read.
    #[serde(default)]
    pub preparation: Preparation,
    /// Models by name: a `method`, and the parameters that differ from its defaults. A method
    /// with defaults needs no entry.
    #[serde(default)]
    pub models: Models,
    /// Rankers by name: a `method`, its `features`, and the parameters that differ from its
    /// defaults.
    #[serde(default)]
    pub rankers: Models,
    /// What rankers learn from.
    #[serde(default)]
    pub stacking: Stacking,
    /// What is compared.
    pub compare: CompareTable,
    /// The settings that the table is made for, each with what is different in it.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// What must come out.
    #[serde(default)]
    pub expected: Vec<Expected>,
}

/// Models of an experiment by name.
pub type Models = BTreeMap<String, Map<String, Value>>;

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

/// What running one setting of an experiment found.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The setting, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// The table.
    pub comparison: Comparison,
    /// Every model's fit.
    pub fits: Vec<(String, FitReport)>,
    /// Every expectation, and whether it was met.
    pub checks: Vec<Check>,
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
        let settings = experiment.settings();
        for (s, setting) in settings.iter().enumerate() {
            if settings[..s].iter().any(|other| other.name == setting.name) {
                return Err(Error::Unusable {
                    path: path.to_owned(),
                    problem: format!("two settings are called {:?}", setting.name),
                    advice: "give every one of [[settings]] a name of its own".into(),
                });
            }
        }
        for expected in &experiment.expected {
            if let Err(problem) = expected.sound(&settings) {
                return Err(Error::Unusable {
                    path: path.to_owned(),
                    problem,
                    advice: "an [[expected]] names a row as `model`, with `measure`, `score` and `tolerance`, or `measure` and `at_least` or `at_most`, or `warns`; or several rows as `scores`, with `measure` and `tolerance`; and its `setting`, where there are several".into(),
                });
            }
        }
        experiment.check(path, &settings)?;
        Ok(experiment)
    }

    /// The settings, each with what it takes from the file. A file without settings is one.
    pub fn settings(&self) -> Vec<Setting> {
        let whole = Setting {
            name: String::new(),
            quick: Some(self.quick),
            data: self.data.clone(),
            synthetic: self.synthetic.clone(),
            folds: self.folds.clone(),
            task: self.task.clone(),
            preparation: Some(self.preparation.clone()),
            models: self.models.clone(),
            rankers: self.rankers.clone(),
            stacking: Some(self.stacking.clone()),
            rows: Some(self.compare.rows.clone()),
        };
        match self.settings.is_empty() {
            true => vec![whole],
            false => self.settings.iter().map(|setting| setting.within(&whole)).collect(),
        }
    }

    /// Finds wrong names before the data are read; `path` is the file that holds them.
    fn check(&self, path: &Path, settings: &[Setting]) -> Result<()> {
        let wrong = |place: &str, error: Error, advice: &str| Error::Unusable {
            path: path.to_owned(),
            problem: format!("{place}: {error}"),
            advice: advice.into(),
        };
        let (data, rows) = (
            "a setting has [data], `synthetic` or [folds], and a [task] that fits them",
            "rows are made of methods, and of the file's own [models] and [rankers]",
        );
        let table = &self.compare;
        for setting in settings {
            let place = match setting.name.as_str() {
                "" => "[data]".to_owned(),
                name => format!("the setting {name:?}"),
            };
            setting.check_source().map_err(|error| wrong(&place, error, data))?;
            for name in setting.models.keys() {
                let place = format!("[models.{name}]");
                setting.check_row(name).map_err(|error| wrong(&place, error, rows))?;
                if !settings.iter().any(|setting| setting.has_model(name)) {
                    let expected = "one that some row of the table uses";
                    return Err(wrong(&place, Error::parameter("model", name, expected), rows));
                }
            }
            for name in setting.rankers.keys() {
                let place = format!("[rankers.{name}]");
                setting.ranker(name).map_err(|error| wrong(&place, error, rows))?;
                if !settings.iter().any(|setting| setting.has_model(name)) {
                    let expected = "one that some row of the table uses";
                    return Err(wrong(&place, Error::parameter("ranker", name, expected), rows));
                }
            }
            let stacking = setting.stacking.clone().unwrap_or_default();
            stacking.check().map_err(|error| wrong("[stacking]", error, rows))?;
            if setting.rows().is_empty() {
                let none = Error::parameter("rows", "[]", "at least one model");
                return Err(wrong("[compare]", none, rows));
            }
            for (r, row) in setting.rows().iter().enumerate() {
                let checked = setting.check_row(row);
                checked.map_err(|error| wrong(&format!("the row {row:?}"), error, rows))?;
                if setting.rows()[..r].contains(row) {
                    let twice = Error::parameter("rows", format!("{row:?} twice"), "each once");
                    return Err(wrong("[compare]", twice, rows));
                }
            }
            let missing = |name: &&String| !setting.rows().contains(name);
            if let Some(name) = table.baseline.as_ref().filter(missing) {
                let missing = Error::parameter("baseline", format!("{name:?}"), "one of the rows");
                return Err(wrong("[compare]", missing, rows));
            }
        }
        let columns = "columns are measures, such as \"nDCG@10\" or \"AP\", each once";
        if table.measures.is_empty() {
            let none = Error::parameter("measures", "[]", "at least one measure");
            return Err(wrong("[compare]", none, columns));
        }
        for (m, measure) in table.measures.iter().enumerate() {
            if table.measures[..m].contains(measure) {
                let twice = Error::parameter("measures", format!("{measure} twice"), "each once");
                return Err(wrong("[compare]", twice, columns));
            }
        }
        for measure in self.expected.iter().filter_map(|expected| expected.measure) {
            if !table.measures.contains(&measure) {
                let missing = Error::parameter("measure", measure, "one of the table's measures");
                return Err(wrong("[[expected]]", missing, columns));
            }
        }
        Ok(())
    }

    /// Makes the data of `setting`, imported from below `data_folder`, in `work` and runs everything.
    pub fn run(
        &self,
        setting: &Setting,
        data_folder: &Path,
        work: &Path,
        run: &Run<'_>,
    ) -> Result<Outcome> {
        let of_it = |expected: &&Expected| expected.is_of(setting);
        let expected = self.expected.iter().filter(of_it);
        let name = (!setting.name.is_empty()).then(|| setting.name.clone());
        if let Some(folds) = &setting.folds {
            let (rows, models) = (setting.rows(), &setting.models);
            let comparison = folds.run(rows, models, &self.compare, data_folder, run)?;
            let checks = expected.flat_map(|e| e.check(&comparison, &[])).collect();
            return Ok(Outcome { setting: name, comparison, fits: Vec::new(), checks });
        }
        let folder = work.join("data");
        setting.write_data(data_folder, &folder, run)?;
        let dataset = Dataset::open(&folder)?;
        let rows: Vec<Mixture> =
            setting.rows().iter().map(|row| Mixture::parse(row)).collect::<Result<_>>()?;
        let models = setting.models_of(&rows)?;
        let is_baseline = |row: &String| Some(row) == self.compare.baseline.as_ref();
        let baseline = setting.rows().iter().position(is_baseline).unwrap_or(0);
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
        let preparation = setting.preparation.clone().unwrap_or_default();
        let (specs, stacking) = (setting.rankers_of(&rows)?, setting.stacking.clone());
        let rankers = Rankers { specs: &specs, stacking: &stacking.unwrap_or_default() };
        let (comparison, fits) =
            fit_and_compare_with(&dataset, &preparation, &models, rankers, &params, run)?;
        let checks = expected.flat_map(|e| e.check(&comparison, &fits)).collect();
        Ok(Outcome { setting: name, comparison, fits, checks })
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
    let rankers = Rankers { specs: &[], stacking: &Stacking::default() };
    fit_and_compare_with(dataset, preparation, models, rankers, params, run)
}

/// The same with rankers over the models' features among the rows.
pub fn fit_and_compare_with(
    dataset: &Dataset,
    preparation: &Preparation,
    models: &[(String, Params)],
    rankers: Rankers<'_>,
    params: &CompareParams<'_>,
    run: &Run<'_>,
) -> Result<(Comparison, Vec<(String, FitReport)>)> {
    check_comparable(dataset, params.rows, Some(params.on))?;
    check_tunable(dataset, params.rows, params.tune_on, &params.variant)?;
    check_models(dataset, models.iter().map(|(_, params)| params), &params.variant)?;
    rankers.check(dataset)?;
    let all = models.iter().map(|(_, params)| params);
    let mut preparation = Params::prepared(preparation, all);
    preparation.positions |= rankers.need_positions()?;
    let counts = Counts::of(dataset, &preparation, run)?;
    let (mut systems, reports) =
        fit_all(dataset, &counts, models, params.candidates, params.variant, run)?;
    let names = models.iter().map(|(name, _)| name.clone());
    let mut fits: Vec<(String, FitReport)> = names.zip(reports).collect();
    let fitted = fit_rankers(dataset, &counts, models, &systems, rankers, params, run)?;
    for (system, report) in fitted {
        fits.push((system.name.clone(), report));
        systems.push(system);
    }
    let comparison = compare(dataset, &counts, &systems, params, run)?;
    Ok((comparison, fits))
}
