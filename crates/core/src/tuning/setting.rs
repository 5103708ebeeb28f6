//! One complete setting: the preparation of the text, and the parameters of every model of a mix.
//! Keys are those of parameter files: `dim` of a single model, `rmls.dim` in a mix,
//! `preparation.min_df` for the text.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::features::Preparation;
use crate::matchers::Params;
use crate::params::{edited, merge, to_json};
use crate::{Error, Result};

/// The preparation of the text, and the models by name.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Setting {
    /// Preparation of text and clicks.
    pub preparation: Preparation,
    /// The models of the mix, each once.
    pub models: Vec<(String, Params)>,
}

/// The table that a key belongs to, and its path there.
enum Target<'k> {
    Preparation(&'k str),
    Model(usize, &'k str),
}

impl Setting {
    /// This setting with other values for some keys. [`Setting::check`] says whether they fit
    /// together.
    pub fn with(&self, values: &[(String, Value)]) -> Result<Setting> {
        let mut text = Map::new();
        let mut models = vec![Map::new(); self.models.len()];
        for (key, value) in values {
            let (table, path) = match self.target(key)? {
                Target::Preparation(path) => (&mut text, path),
                Target::Model(m, path) => (&mut models[m], path),
            };
            put(table, path, value, key)?;
        }
        let mut setting = self.clone();
        if !text.is_empty() {
            setting.preparation = edited(&self.preparation, |json| {
                merge(json, &text);
                Ok(())
            })?;
        }
        for ((_, params), table) in setting.models.iter_mut().zip(&models) {
            if !table.is_empty() {
                params.merge(table)?;
            }
        }
        Ok(setting)
    }

    /// The same models with the defaults of their methods.
    pub fn defaults(&self) -> Result<Setting> {
        let mut setting = self.clone();
        for (_, params) in &mut setting.models {
            *params = Params::named(params.name())?;
        }
        Ok(setting)
    }

    /// The value of a key; null where an optional one is not set.
    pub fn value(&self, key: &str) -> Result<Value> {
        let (table, path) = match self.target(key)? {
            Target::Preparation(path) => (to_json(&self.preparation)?, path),
            Target::Model(m, path) => (params_of(&self.models[m].1)?, path),
        };
        let place = path.split('.').try_fold(&table, |place, name| place.get(name));
        Ok(place.cloned().unwrap_or_default())
    }

    /// Refuses parameters that make no sense.
    pub fn check(&self) -> Result<()> {
        self.models.iter().try_for_each(|(_, params)| params.check())
    }

    /// The parameters that differ from the methods' own defaults, as a parameter file.
    pub fn to_toml(&self) -> Result<String> {
        let mut file = Map::new();
        for (name, params) in &self.models {
            let defaults = params_of(&Params::named(name)?)?;
            if let Some(Value::Object(table)) = differing(&params_of(params)?, &defaults) {
                match self.models.len() {
                    1 => file.extend(table),
                    _ => file.extend([(name.clone(), Value::Object(table))]),
                }
            }
        }
        let defaults = to_json(&Preparation::default())?;
        if let Some(table) = differing(&to_json(&self.preparation)?, &defaults) {
            file.insert("preparation".into(), table);
        }
        toml::to_string(&file).map_err(|error| Error::Setting { problem: error.to_string() })
    }

    fn target<'k>(&self, key: &'k str) -> Result<Target<'k>> {
        if let Some(path) = key.strip_prefix("preparation.") {
            return Ok(Target::Preparation(path));
        }
        if let Some((name, path)) = key.split_once('.')
            && let Some(m) = self.models.iter().position(|(known, _)| known == name)
        {
            return Ok(Target::Model(m, path));
        }
        if self.models.len() == 1 {
            return Ok(Target::Model(0, key));
        }
        let names: Vec<&str> = self.models.iter().map(|(name, _)| name.as_str()).collect();
        let first = names.first().unwrap_or(&"rmls");
        Err(Error::Setting {
            problem: format!(
                "{key}: say which model is meant, one of {}: {first}.{key}",
                names.join(", ")
            ),
        })
    }
}

/// Sets the place that `path` names in `table`; `key` is the whole key, for the error.
fn put(table: &mut Map<String, Value>, path: &str, value: &Value, key: &str) -> Result<()> {
    match path.split_once('.') {
        None => {
            table.insert(path.to_owned(), value.clone());
            Ok(())
        }
        Some((name, rest)) => {
            let inner = table.entry(name).or_insert_with(|| Value::Object(Map::new()));
            match inner {
                Value::Object(inner) => put(inner, rest, value, key),
                _ => Err(Error::Setting {
                    problem: format!("{key}: {name} is set as a whole already"),
                }),
            }
        }
    }
}

/// A method's parameters without its name.
fn params_of(params: &Params) -> Result<Value> {
    Ok(to_json(params)?["params"].take())
}

/// The entries of `value` that differ from `default`, table by table. Null cannot be written to
/// TOML, and is the default wherever it is allowed.
fn differing(value: &Value, default: &Value) -> Option<Value> {
    if value == default || value.is_null() {
        return None;
    }
    let (Value::Object(table), Value::Object(defaults)) = (value, default) else {
        return Some(value.clone());
    };
    let null = Value::Null;
    let entry = |(key, value): (&String, &Value)| {
        Some((key.clone(), differing(value, defaults.get(key).unwrap_or(&null))?))
    };
    let found: Map<String, Value> = table.iter().filter_map(entry).collect();
    (!found.is_empty()).then_some(Value::Object(found))
}
