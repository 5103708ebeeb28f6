//! Experiments as data: a file names the data, their preparation, the models, the measures and the
//! expected scores; a replay says which scores moved.
//!
//! A table of a paper is often several tables, one per collection or per value of a parameter. Such a
//! file has [`Setting`]s: each holds what differs from the rest of the file.

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
    /// Name of the setting, unique in its file.
    pub name: String,
    /// Purpose, in a sentence or two.
    #[serde(default)]
    pub about: String,
    /// Whether it is among the small ones, which are replayed where time is short.
    #[serde(default)]
    pub quick: bool,
    /// The import; paths are relative to the data folder.
    pub data: Option<Import>,
    /// A synthetic log instead.
    pub synthetic: Option<Synthetic>,
    /// Tables of features instead: the rows are rankers.
    pub folds: Option<Folds>,
    /// A retrieval task to make of the data, instead of the log as it is.
    pub task: Option<TaskParams>,
    /// The preparation of the text.
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
    /// The features that rankers learn from.
    #[serde(default)]
    pub stacking: Stacking,
    /// Rows, measures and split of the comparison table.
    pub compare: CompareTable,
    /// The settings that the table is made for, each with its differences from the file.
    #[serde(default)]
    pub settings: Vec<Setting>,
    /// The expected scores.
    #[serde(default)]
    pub expected: Vec<Expected>,
}

/// The report of every model's fit, by name.
pub type Fits = Vec<(String, FitReport)>;

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
    pub baseline: Option<String>,
    /// Tunes the weights of mixes on validation; the first of `measures` if not given.
    pub tune_on: Option<Measure>,
    /// Documents to rank.
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

/// The result of one setting of an experiment.
#[derive(Debug, Serialize)]
pub struct Outcome {
    /// The setting, where there are several.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub setting: Option<String>,
    /// Comparison table with all measured values.
    pub comparison: Comparison,
    /// Every model's fit.
    pub fits: Fits,
    /// Every expectation, and whether it was met.
    pub checks: Vec<Check>,
}

impl CompareTable {
    /// The place of the baseline among `rows`.
    fn baseline_of(&self, rows: &[String]) -> usize {
        rows.iter().position(|row| Some(row) == self.baseline.as_ref()).unwrap_or(0)
    }

    fn first_measure(&self) -> Measure {
        self.measures.first().copied().unwrap_or(Measure::Ndcg { k: Some(10) })
    }
}

impl Experiment {
    /// Reads an experiment file.
    pub fn open(path: &Path) -> Result<Self> {
        let unusable = |problem: String, advice: &str| Error::Unusable {
            path: path.to_owned(),
            problem,
            advice: advice.into(),
        };
        let text = std::fs::read_to_string(path).map_err(Error::io("read", path))?;
        let experiment: Experiment = toml::from_str(&text).map_err(|error| {
            unusable(error.to_string(), "see experiments/nfcorpus.toml for an example")
        })?;
        let settings = experiment.settings();
        let names: Vec<&String> = settings.iter().map(|setting| &setting.name).collect();
        if let Some(name) = first_repeated(&names) {
            let advice = "give every one of [[settings]] a name of its own";
            return Err(unusable(format!("two settings are called {name:?}"), advice));
        }
        for expected in &experiment.expected {
            expected.check_form(&settings).map_err(|problem| {
                unusable(problem, "an [[expected]] names a row as `model`, with `measure`, `score` and `tolerance`, or `measure` and `at_least` or `at_most`, or `warns`; or several rows as `scores`, with `measure` and `tolerance`; and its `setting`, where there are several")
            })?;
        }
        experiment.check(path, &settings)?;
        Ok(experiment)
    }

    /// The settings, each with the values that it takes from the file. A file without settings is one.
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
        let wrong = |place: &str, advice: &'static str| {
            let (path, place) = (path.to_owned(), place.to_owned());
            move |error: Error| Error::Unusable {
                path,
                problem: format!("{place}: {error}"),
                advice: advice.into(),
            }
        };
        let (data, rows, columns) = (
            "a setting has [data], `synthetic` or [folds], and a [task] that fits them",
            "rows are made of methods, and of the file's own [models] and [rankers]",
            "columns are measures, such as \"nDCG@10\" or \"AP\", each once",
        );
        let table = &self.compare;
        for setting in settings {
            let place = match setting.name.as_str() {
                "" => "[data]".to_owned(),
                name => format!("the setting {name:?}"),
            };
            setting.check_source().map_err(wrong(&place, data))?;
            let check_used = |kind: &str, name: &String| {
                let used = settings.iter().any(|setting| setting.has_model(name));
                let unused = || Error::parameter(kind, name, "one that some row of the table uses");
                if used { Ok(()) } else { Err(unused()) }
            };
            for name in setting.models.keys() {
                let checked = setting.check_row(name).and_then(|()| check_used("model", name));
                checked.map_err(wrong(&format!("[models.{name}]"), rows))?;
            }
            for name in setting.rankers.keys() {
                let checked = setting.ranker(name).and_then(|_| check_used("ranker", name));
                checked.map_err(wrong(&format!("[rankers.{name}]"), rows))?;
            }
            let stacking = setting.stacking.clone().unwrap_or_default();
            stacking.check().map_err(wrong("[stacking]", rows))?;
            for row in setting.rows() {
                setting.check_row(row).map_err(wrong(&format!("the row {row:?}"), rows))?;
            }
            check_list("rows", setting.rows(), "model").map_err(wrong("[compare]", rows))?;
            let missing = |name: &&String| !setting.rows().contains(name);
            if let Some(name) = table.baseline.as_ref().filter(missing) {
                let missing = Error::parameter("baseline", format!("{name:?}"), "one of the rows");
                return Err(wrong("[compare]", rows)(missing));
            }
        }
        let measures: Vec<String> = table.measures.iter().map(Measure::to_string).collect();
        check_list("measures", &measures, "measure").map_err(wrong("[compare]", columns))?;
        for measure in self.expected.iter().filter_map(|expected| expected.measure) {
            if !table.measures.contains(&measure) {
                let missing = Error::parameter("measure", measure, "one of the table's measures");
                return Err(wrong("[[expected]]", columns)(missing));
            }
        }
        Ok(())
    }

    /// Makes the data of `setting`, imported from below `data_folder`, in `work`, and runs everything.
    pub fn run(
        &self,
        setting: &Setting,
        data_folder: &Path,
        work: &Path,
        run: &Run<'_>,
    ) -> Result<Outcome> {
        let (comparison, fits) = match &setting.folds {
            Some(folds) => {
                let (rows, models) = (setting.rows(), &setting.models);
                (folds.run(rows, models, &self.compare, data_folder, run)?, Vec::new())
            }
            None => {
                let folder = work.join("data");
                setting.write_data(data_folder, &folder, run)?;
                self.fit_and_compare(setting, &Dataset::open(&folder)?, run)?
            }
        };
        let expected = self.expected.iter().filter(|expected| expected.is_of(setting));
        let checks = expected.flat_map(|expected| expected.check(&comparison, &fits)).collect();
        let name = (!setting.name.is_empty()).then(|| setting.name.clone());
        Ok(Outcome { setting: name, comparison, fits, checks })
    }

    fn fit_and_compare(
        &self,
        setting: &Setting,
        dataset: &Dataset,
        run: &Run<'_>,
    ) -> Result<(Comparison, Fits)> {
        let table = &self.compare;
        let rows: Vec<Mixture> =
            setting.rows().iter().map(|row| Mixture::parse(row)).collect::<Result<_>>()?;
        let models = setting.models_of(&rows)?;
        let params = CompareParams {
            rows: &rows,
            measures: &table.measures,
            tune_on: table.tune_on.unwrap_or_else(|| table.first_measure()),
            baseline: table.baseline_of(setting.rows()),
            on: HeldOut::Test,
            candidates: table.candidates,
            variant: table.variant,
            seed: table.seed,
        };
        let preparation = setting.preparation.clone().unwrap_or_default();
        let stacking = setting.stacking.clone().unwrap_or_default();
        let rankers = Rankers { specs: &setting.rankers_of(&rows)?, stacking: &stacking };
        fit_and_compare_with(dataset, &preparation, &models, rankers, &params, run)
    }
}

/// Refuses an empty list of `kind`s, and repetitions.
fn check_list(name: &str, list: &[String], kind: &str) -> Result<()> {
    if list.is_empty() {
        return Err(Error::parameter(name, "[]", &format!("at least one {kind}")));
    }
    first_repeated(list).map_or(Ok(()), |again| {
        Err(Error::parameter(name, format!("{again:?} twice"), "each once"))
    })
}

fn first_repeated<T: PartialEq>(list: &[T]) -> Option<&T> {
    (1..list.len()).find(|&i| list[..i].contains(&list[i])).map(|i| &list[i])
}

/// Counts the text of `dataset`, fits every model and compares them.
pub fn fit_and_compare(
    dataset: &Dataset,
    preparation: &Preparation,
    models: &[(String, Params)],
    params: &CompareParams<'_>,
    run: &Run<'_>,
) -> Result<(Comparison, Fits)> {
    let rankers = Rankers { specs: &[], stacking: &Stacking::default() };
    fit_and_compare_with(dataset, preparation, models, rankers, params, run)
}

/// Like [`fit_and_compare`], with rankers over the models' features among the rows.
pub fn fit_and_compare_with(
    dataset: &Dataset,
    preparation: &Preparation,
    models: &[(String, Params)],
    rankers: Rankers<'_>,
    params: &CompareParams<'_>,
    run: &Run<'_>,
) -> Result<(Comparison, Fits)> {
    check_comparable(dataset, params.rows, Some(params.on))?;
    check_tunable(dataset, params.rows, params.tune_on, &params.variant)?;
    check_models(dataset, models.iter().map(|(_, params)| params), &params.variant)?;
    rankers.check(dataset)?;
    let all = models.iter().map(|(_, params)| params);
    let mut preparation = Params::prepared(preparation, all);
    preparation.positions |= rankers.need_positions()?;
    // The text is counted, models are fitted, rankers if there are any, and all are compared.
    let mut steps = run.steps(2 + models.len() + usize::from(!rankers.specs.is_empty()));
    let counts = Counts::of(dataset, &preparation, &steps.next_step())?;
    let (mut systems, reports) =
        fit_all(dataset, &counts, models, params.candidates, params.variant, &mut steps)?;
    let names = models.iter().map(|(name, _)| name.clone());
    let mut fits: Fits = names.zip(reports).collect();
    if !rankers.specs.is_empty() {
        let run = steps.next_step();
        let fitted = fit_rankers(dataset, &counts, models, &systems, rankers, params, &run)?;
        for (system, report) in fitted {
            fits.push((system.name.clone(), report));
            systems.push(system);
        }
    }
    let comparison = compare(dataset, &counts, &systems, params, &steps.next_step())?;
    Ok((comparison, fits))
}
