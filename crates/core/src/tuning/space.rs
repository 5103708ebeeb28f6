//! The parameters that vary, and their values: a list for each key, or a range to draw from.
//!
//! ```toml
//! dim = { min = 50, max = 800, log = true, int = true }
//! response = ["log", "raw"]
//! features.doc_clicks = [0.0, 0.3, 1.0]
//! penalty = ["none", "relative"]
//! rho_x = { values = [0.1, 0.3], when = { penalty = "relative" } }
//! ```
//! A key with `when` varies only where another key of the space has that value; elsewhere it has the default
//! of its method. The other key is named as in a file of its own, or without the prefix that both share.
//!
//! Keys are kept in the order in which it is cheapest to vary them: those that change the counts
//! come first and change least often, then those that change the features, then those of fits, then
//! those of models that learn nothing.

use serde_json::{Map, Value, json};

use super::Setting;
use crate::random::Random;
use crate::{Error, Result};

/// The values of one key.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Exactly these.
    List(Vec<Value>),
    /// Any value from `min` to `max`, both included.
    Range {
        /// The smallest value.
        min: f64,
        /// The largest value.
        max: f64,
        /// Drawn uniformly on a logarithmic scale.
        log: bool,
        /// Whole numbers only.
        int: bool,
    },
}

/// Every key that may vary, in the order in which it is cheapest to vary them.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Space {
    /// Keys and their values.
    pub keys: Vec<(String, Values)>,
    /// Conditions of keys that do not always vary.
    conditions: Vec<Condition>,
    /// The values of these keys where their conditions are not met.
    defaults: Map<String, Value>,
}

/// A key varies only where another one has some value.
#[derive(Debug, Clone, PartialEq)]
struct Condition {
    key: String,
    on: String,
    value: Value,
}

/// The largest grid.
const MOST_SETTINGS: usize = 100_000;

impl Space {
    /// Parses a file of keys with their values; `base` must accept every one of them.
    pub fn parse(text: &str, base: &Setting) -> Result<Space> {
        let table: Map<String, Value> = toml::from_str(text)
            .map_err(|error| Error::Setting { problem: format!("not TOML: {error}") })?;
        let mut space = Space::default();
        space.add(&table, "")?;
        if space.keys.is_empty() {
            return Err(Error::Setting {
                problem: "no key with values to try, such as dim = [100, 300]".into(),
            });
        }
        space.checked(base)
    }

    /// The space of `base` by default: those of its methods
    /// ([`Method::search_space`](crate::matchers::Method::search_space)).
    pub fn built_in(base: &Setting) -> Result<Space> {
        let mut space = Space::default();
        for (name, params) in &base.models {
            for (key, values) in params.search_space() {
                let key = if base.models.len() > 1 { format!("{name}.{key}") } else { key.into() };
                let table = toml::from_str(&format!("{key} = {values}"))
                    .map_err(|error| Error::Setting { problem: format!("{key}: {error}") })?;
                space.add(&table, "")?;
            }
        }
        space.checked(base)
    }

    /// The space in the order of its stages, if `base` takes all of it.
    fn checked(mut self, base: &Setting) -> Result<Space> {
        for Condition { key, on, .. } in &mut self.conditions {
            let (tables, _) = key.rsplit_once('.').unwrap_or_default();
            let within = format!("{tables}.{on}");
            if self.keys.iter().any(|(known, _)| *known == within) {
                *on = within;
            }
        }
        for Condition { key, on, value } in &self.conditions {
            if key == on {
                let problem = format!("{key}: when: expected another key than {key} itself");
                return Err(Error::Setting { problem });
            }
            let values = self.keys.iter().find(|(known, _)| known == on).map(|(_, values)| values);
            let has = |list: &[Value]| list.iter().any(|listed| same(listed, value));
            if !matches!(values, Some(Values::List(list)) if has(list)) {
                return Err(Error::Setting {
                    problem: format!(
                        "{key}: when = {{ {on} = {value} }}: expected a key of this space with {value} in its list"
                    ),
                });
            }
        }
        for (key, values) in &self.keys {
            values.check(key)?;
            let probes = match values {
                Values::List(list) => list.clone(),
                Values::Range { min, int, .. } => vec![written(*min, *int)],
            };
            for value in probes {
                let Err(error) = base.with(&[(key.clone(), value.clone())]) else { continue };
                let Error::Setting { problem } = error else { return Err(error) };
                let whole = [(key.clone(), written(1.0, true))];
                let problem = match values {
                    Values::Range { int: false, .. } if base.with(&whole).is_ok() => {
                        format!("{key}: expected a whole number: add int = true to its range")
                    }
                    _ => format!("{key} = {value}: {problem}"),
                };
                return Err(Error::Setting { problem });
            }
        }
        self.keys.sort_by_key(|(key, _)| stage(key, base));
        let defaults = base.defaults()?;
        for condition in &self.conditions {
            let default = defaults.value(&condition.key)?;
            self.defaults.insert(condition.key.clone(), default);
        }
        Ok(self)
    }

    /// `setting` with the defaults of keys whose conditions it does not meet.
    fn met(&self, mut setting: Vec<(String, Value)>) -> Vec<(String, Value)> {
        let mut met = vec![true; setting.len()];
        // The key of a condition may have a condition itself.
        loop {
            let is_met = |c: &Condition| {
                let mut keys = setting.iter().zip(&met);
                keys.any(|((key, value), met)| *met && *key == c.on && same(value, &c.value))
            };
            let now: Vec<bool> = setting
                .iter()
                .map(|(key, _)| self.conditions.iter().filter(|c| c.key == *key).all(is_met))
                .collect();
            if now == met {
                break;
            }
            met = now;
        }
        for ((key, value), _) in setting.iter_mut().zip(met).filter(|(_, met)| !met) {
            *value = self.defaults.get(key).cloned().unwrap_or_default();
        }
        setting
    }

    /// Every combination, the first key varying slowest; some more than once if there are conditions.
    pub fn grid(&self) -> Result<Vec<Vec<(String, Value)>>> {
        let mut all = vec![Vec::new()];
        for (key, values) in &self.keys {
            let Values::List(list) = values else {
                return Err(Error::Setting {
                    problem: format!(
                        "{key}: a grid needs a list of values, {key} = [ … ], not a range"
                    ),
                });
            };
            if all.len() * list.len() > MOST_SETTINGS {
                let expected = "fewer settings, or a `budget` to try some of them";
                let many = format!("more than {MOST_SETTINGS} settings");
                return Err(Error::parameter("grid", many, expected));
            }
            let longer = |so_far: Vec<(String, Value)>| {
                list.iter()
                    .map(move |value| [&so_far[..], &[(key.clone(), value.clone())]].concat())
            };
            all = all.into_iter().flat_map(longer).collect();
        }
        Ok(all.into_iter().map(|setting| self.met(setting)).collect())
    }

    /// One setting of the space at random.
    pub fn draw(&self, random: &mut Random) -> Vec<(String, Value)> {
        self.met(self.keys.iter().map(|(key, values)| (key.clone(), values.draw(random))).collect())
    }

    /// The space as JSON, for the journal.
    pub fn to_json(&self) -> Value {
        let entry = |(key, values): &(String, Values)| {
            let mut values = match values {
                Values::List(list) => Value::Array(list.clone()),
                Values::Range { min, max, log, int } => {
                    json!({ "min": min, "max": max, "log": log, "int": int })
                }
            };
            let conditions = self.conditions.iter().filter(|c| c.key == *key);
            let when: Map<String, Value> =
                conditions.map(|c| (c.on.clone(), c.value.clone())).collect();
            if !when.is_empty() {
                values = json!({ "values": values, "when": when });
            }
            (key.clone(), values)
        };
        Value::Object(self.keys.iter().map(entry).collect())
    }

    /// Adds the keys of `table`. Tables become dotted keys; one with numbers `min` and `max` is a range,
    /// and one with `values` a list.
    fn add(&mut self, table: &Map<String, Value>, prefix: &str) -> Result<()> {
        for (name, value) in table {
            let key = format!("{prefix}{name}");
            let is_range = value["min"].is_number() && value["max"].is_number();
            if value.get("when").is_some() && !is_range && !value["values"].is_array() {
                return Err(Error::Setting {
                    problem: format!(
                        "{key} = {value}: expected values = [ … ], or min and max, beside when"
                    ),
                });
            }
            let values = match value {
                Value::Array(list) => Values::List(list.clone()),
                Value::Object(inner) if is_range || value["values"].is_array() => {
                    let mut inner = inner.clone();
                    self.add_conditions(&key, inner.remove("when"))?;
                    match inner.remove("values") {
                        Some(Value::Array(list)) if inner.is_empty() => Values::List(list),
                        Some(_) => {
                            return Err(Error::Setting {
                                problem: format!(
                                    "{key} = {value}: expected either values = [ … ] or a range, min and max"
                                ),
                            });
                        }
                        None => range(&key, &inner)?,
                    }
                }
                Value::Object(inner) => {
                    self.add(inner, &format!("{key}."))?;
                    continue;
                }
                single => Values::List(vec![single.clone()]),
            };
            self.keys.push((key, values));
        }
        Ok(())
    }

    fn add_conditions(&mut self, key: &str, when: Option<Value>) -> Result<()> {
        match when {
            None => Ok(()),
            Some(Value::Object(table)) if !table.is_empty() => {
                let condition =
                    |(on, value): (String, Value)| Condition { key: key.to_owned(), on, value };
                self.conditions.extend(flat(&table).into_iter().map(condition));
                Ok(())
            }
            Some(other) => Err(Error::Setting {
                problem: format!(
                    "{key}: when = {other}: expected a table, when = {{ key = value }}"
                ),
            }),
        }
    }

    /// Whether values of this key are drawn on a logarithmic scale.
    pub fn is_log(&self, key: &str) -> bool {
        self.keys.iter().any(|(k, v)| k == key && matches!(v, Values::Range { log: true, .. }))
    }
}

/// The entries of a table and of the tables in it, with dotted keys.
fn flat(table: &Map<String, Value>) -> Vec<(String, Value)> {
    let mut entries = Vec::new();
    for (name, value) in table {
        match value {
            Value::Object(inner) => {
                let dotted = |(key, value): (String, Value)| (format!("{name}.{key}"), value);
                entries.extend(flat(inner).into_iter().map(dotted));
            }
            value => entries.push((name.clone(), value.clone())),
        }
    }
    entries
}

impl Values {
    fn check(&self, key: &str) -> Result<()> {
        match self {
            Values::List(list) if list.is_empty() => {
                Err(Error::parameter(key, "[]", "at least one value"))
            }
            Values::List(_) => Ok(()),
            &Values::Range { min, max, log, .. } => {
                let ordered = min.is_finite() && max.is_finite() && min <= max;
                if ordered && (!log || min > 0.0) {
                    return Ok(());
                }
                let positive = if log { "0 < " } else { "" };
                let expected = format!("{positive}min ≤ max, both finite");
                Err(Error::parameter(key, format!("{min} to {max}"), &expected))
            }
        }
    }

    fn draw(&self, random: &mut Random) -> Value {
        match self {
            Values::List(list) => list[random.below(list.len() as u64) as usize].clone(),
            &Values::Range { min, max, log, int } => {
                // From min − ½ to max + ½, so that the ends are as likely as other whole numbers.
                let (low, high) = if int { (min - 0.5, max + 0.5) } else { (min, max) };
                let low = if log { low.max(min / 2.0) } else { low };
                let at = random.uniform();
                let value = if log {
                    (low.ln() + at * (high.ln() - low.ln())).exp()
                } else {
                    low + at * (high - low)
                };
                written(if int { value.round() } else { three_digits(value) }.clamp(min, max), int)
            }
        }
    }
}

/// A number as JSON has it.
fn written(value: f64, int: bool) -> Value {
    if int && value >= 0.0 { json!(value as u64) } else { json!(value) }
}

/// More digits are noise, and hard to read and to type.
fn three_digits(value: f64) -> f64 {
    format!("{value:.2e}").parse().unwrap_or(value)
}

fn range(key: &str, table: &Map<String, Value>) -> Result<Values> {
    let wrong = |name: &str| Error::Setting {
        problem: format!(
            "{key}: {name}: expected {{ min = …, max = …, log = true, int = true }}, the last two as needed"
        ),
    };
    if let Some(name) = table.keys().find(|k| !["min", "max", "log", "int"].contains(&k.as_str())) {
        return Err(wrong(name));
    }
    let flag = |name: &str| match table.get(name) {
        None => Ok(false),
        Some(value) => value.as_bool().ok_or_else(|| wrong(name)),
    };
    let end = |name: &str| table.get(name).and_then(Value::as_f64).ok_or_else(|| wrong(name));
    let (min, max, log, int) = (end("min")?, end("max")?, flag("log")?, flag("int")?);
    if int && (min.fract() != 0.0 || max.fract() != 0.0) {
        return Err(Error::parameter(
            key,
            format!("{min} to {max}"),
            "whole numbers, since int = true",
        ));
    }
    Ok(Values::Range { min, max, log, int })
}

/// What a change of the key invalidates: 0 the counts, 1 the features, 2 a fit, 3 next to nothing.
fn stage(key: &str, base: &Setting) -> usize {
    if key.starts_with("preparation.") {
        return 0;
    }
    let named = |name: &str| base.models.iter().find(|(known, _)| known == name);
    let part = key.split_once('.').and_then(|(name, rest)| Some((named(name)?, rest)));
    let ((_, params), rest) = match (part, base.models.first()) {
        (Some((model, rest)), _) => (model, rest),
        (None, Some(first)) => (first, key),
        (None, None) => return 0,
    };
    let table = rest.split('.').next().unwrap_or(rest);
    let of_features = table == "features" || ["weighting", "response"].contains(&rest);
    match (params.learns(), of_features) {
        (false, _) => 3,
        (true, true) => 1,
        (true, false) => 2,
    }
}

/// Whether two values are equal; 1 and 1.0 are.
fn same(a: &Value, b: &Value) -> bool {
    a == b || a.is_number() && a.as_f64() == b.as_f64()
}

#[cfg(test)]
mod tests;
