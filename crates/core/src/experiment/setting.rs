//! One setting of an experiment: the source of the data, their preparation, and the rows.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::{Folds, Models};
use crate::data::{Import, TaskParams};
use crate::features::Preparation;
use crate::matchers::{Mixture, Params};
use crate::stack::{RankerSpec, Stacking};
use crate::synth::Synthetic;
use crate::{Error, Result, Run};

/// A setting: what differs from the rest of the file.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct Setting {
    /// Name of the setting, unique in its file.
    pub name: String,
    /// Whether it is replayed where time is short; the file's value unless set.
    pub quick: Option<bool>,
    /// The import; paths are relative to the data folder.
    pub data: Option<Import>,
    /// A synthetic log instead.
    pub synthetic: Option<Synthetic>,
    /// Tables of features instead.
    pub folds: Option<Folds>,
    /// A retrieval task to make of the data, instead of the log as it is.
    pub task: Option<TaskParams>,
    /// The preparation of the text, instead of the file's.
    pub preparation: Option<Preparation>,
    /// Models that are added to those of the file, or replace them by name.
    pub models: Models,
    /// Rankers that are added to those of the file, or replace them by name.
    pub rankers: Models,
    /// The features that rankers learn from, instead of the file's.
    pub stacking: Option<Stacking>,
    /// The rows, instead of the file's.
    pub rows: Option<Vec<String>>,
}

impl Setting {
    /// This setting, completed by the values of `whole`.
    pub(super) fn within(&self, whole: &Setting) -> Setting {
        let has_source = self.data.is_some() || self.synthetic.is_some() || self.folds.is_some();
        let source = if has_source { self } else { whole };
        let mut models = whole.models.clone();
        models.extend(self.models.clone());
        let mut rankers = whole.rankers.clone();
        rankers.extend(self.rankers.clone());
        Setting {
            name: self.name.clone(),
            quick: self.quick.or(whole.quick),
            data: source.data.clone(),
            synthetic: source.synthetic.clone(),
            folds: source.folds.clone(),
            // A task belongs to its data.
            task: self.task.clone().or_else(|| source.task.clone()),
            preparation: self.preparation.clone().or_else(|| whole.preparation.clone()),
            models,
            rankers,
            stacking: self.stacking.clone().or_else(|| whole.stacking.clone()),
            rows: self.rows.clone().or_else(|| whole.rows.clone()),
        }
    }

    /// Whether it is replayed where time is short.
    pub fn is_quick(&self) -> bool {
        self.quick == Some(true)
    }

    /// The rows of its table.
    pub fn rows(&self) -> &[String] {
        self.rows.as_deref().unwrap_or_default()
    }

    /// Whether some row contains the model or ranker `name`, also as a feature of a ranker.
    pub(super) fn has_model(&self, name: &str) -> bool {
        let parts = |row: &String| Mixture::parse(row).map(|mix| mix.parts).unwrap_or_default();
        self.rows().iter().flat_map(parts).any(|(_, part)| {
            part == name
                || self.ranker(&part).is_ok_and(|spec| {
                    spec.is_some_and(|spec| spec.models().any(|model| model == name))
                })
        })
    }

    /// The first file of its import that does not exist.
    pub fn missing(&self, data_folder: &Path) -> Option<PathBuf> {
        if let Some(folds) = &self.folds {
            return folds.missing(data_folder);
        }
        let mut data = self.data.clone()?;
        data.relative_to(data_folder);
        data.paths().find(|path| !path.exists()).map(|path| path.clone())
    }

    /// Refuses a setting without data, with two sources of them, or with a task that does not fit.
    pub(super) fn check_source(&self) -> Result<()> {
        if let Some(folds) = &self.folds {
            let others = self.data.is_some() || self.synthetic.is_some() || self.task.is_some();
            let expected = "tables of features alone, or a log";
            if others {
                return Err(Error::parameter("folds", "tables and a log", expected));
            }
            return folds.check();
        }
        let (expected, both) = ("tables to import, or `synthetic`", "tables and `synthetic`");
        let source = match (&self.data, &self.synthetic) {
            (None, None) => return Err(Error::parameter("data", "nothing", expected)),
            (Some(_), Some(_)) => return Err(Error::parameter("data", both, "one of them")),
            (Some(data), None) => data.clone(),
            (None, Some(synthetic)) => {
                synthetic.check()?;
                raw_of(synthetic, Path::new(""))
            }
        };
        match &self.task {
            Some(task) => task.check().and_then(|()| task.check_source(&source)),
            None => Ok(()),
        }
    }

    /// Makes its dataset at `target`.
    pub(super) fn write_data(
        &self,
        data_folder: &Path,
        target: &Path,
        run: &Run<'_>,
    ) -> Result<()> {
        self.check_source()?;
        if let (Some(synthetic), None) = (&self.synthetic, &self.task) {
            return synthetic.write(target, true, run).map(|_| ());
        }
        let work = tempfile::tempdir().map_err(Error::io("create", &std::env::temp_dir()))?;
        let mut data = self.data.clone().unwrap_or_default();
        data.relative_to(data_folder);
        if let Some(synthetic) = &self.synthetic {
            let raw = work.path().join("log");
            synthetic.write_raw(&raw, false, run)?;
            data = raw_of(synthetic, &raw);
        }
        match &self.task {
            Some(task) => task.run(&data, target, true, run)?,
            None => data.run(target, true, run)?,
        };
        Ok(())
    }

    /// The models of `rows`, also those that are features of rankers.
    pub(super) fn models_of(&self, rows: &[Mixture]) -> Result<Vec<(String, Params)>> {
        let mut models: Vec<(String, Params)> = Vec::new();
        let mut add = |name: &str| {
            if !models.iter().any(|(known, _)| known == name) {
                models.push((name.to_owned(), self.model(name)?));
            }
            Ok::<(), Error>(())
        };
        for (_, name) in rows.iter().flat_map(|row| &row.parts) {
            match self.ranker(name)? {
                Some(spec) => spec.models().try_for_each(&mut add)?,
                None => add(name)?,
            }
        }
        Ok(models)
    }

    /// The rankers of `rows`.
    pub(super) fn rankers_of(&self, rows: &[Mixture]) -> Result<Vec<RankerSpec>> {
        let mut rankers: Vec<RankerSpec> = Vec::new();
        for (_, name) in rows.iter().flat_map(|row| &row.parts) {
            if !rankers.iter().any(|known| known.name == *name) {
                rankers.extend(self.ranker(name)?);
            }
        }
        Ok(rankers)
    }

    /// The ranker `name`, if there is one.
    pub(super) fn ranker(&self, name: &str) -> Result<Option<RankerSpec>> {
        let Some(table) = self.rankers.get(name) else { return Ok(None) };
        if self.models.contains_key(name) || Params::named(name).is_ok() {
            let expected = "a name that no model has";
            return Err(Error::parameter("ranker", format!("{name:?}"), expected));
        }
        RankerSpec::of_table(name, table).map(Some)
    }

    /// Refuses a row that names an unknown model.
    pub(super) fn check_row(&self, row: &str) -> Result<()> {
        match &self.folds {
            Some(_) => Folds::check_row(row, &self.models),
            None => Mixture::parse(row).and_then(|row| self.models_of(&[row])).map(|_| ()),
        }
    }

    /// The model `name`: its method's defaults, the paper's own setting if the table asks for it
    /// (`published = true`), and what else the table sets.
    pub(super) fn model(&self, name: &str) -> Result<Params> {
        let Some(table) = self.models.get(name) else { return Params::named(name) };
        let mut table = table.clone();
        let (method, published) = (table.remove("method"), table.remove("published"));
        let method = method.as_ref().and_then(Value::as_str).unwrap_or(name);
        let mut params = Params::named(method)?;
        if method != name && Params::named(name).is_ok_and(|known| known.name() != params.name()) {
            let expected =
                format!("{name:?}, whose name the model has, or a model of another name");
            return Err(Error::parameter("method", format!("{method:?}"), &expected));
        }
        match published {
            None | Some(Value::Bool(false)) => {}
            Some(Value::Bool(true)) => params.set_published()?,
            Some(other) => return Err(Error::parameter("published", other, "true or false")),
        }
        params.merge(&table)?;
        params.check()?;
        Ok(params)
    }
}

/// The tables of a synthetic log that a task is made of: its truth is links or clicks, not judgments.
fn raw_of(synthetic: &Synthetic, raw: &Path) -> Import {
    Import { judgments: None, ..synthetic.import(raw) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_published_setting_yields_to_what_the_file_sets() {
        let text = "
            [models.mine]
            method = 'rmls'
            published = true
            response = 'log'
            [models.pls]
            published = false
            [models.bm25]
            published = true
            [models.ssi]
            published = 'yes'";
        let setting: Setting = toml::from_str(text).unwrap();
        let mut expected = Params::named("rmls").unwrap();
        expected.set_published().unwrap();
        expected.set("response", "log").unwrap();
        assert_eq!(setting.model("mine").unwrap(), expected);
        assert_eq!(setting.model("pls").unwrap(), Params::named("pls").unwrap());
        let message = setting.model("bm25").unwrap_err().to_string();
        assert!(message.contains("a method with its own: pls, rmls"), "{message}");
        let message = setting.model("ssi").unwrap_err().to_string();
        assert!(message.contains("published = \"yes\": expected true or false"), "{message}");
    }
}
