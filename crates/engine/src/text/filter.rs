//! Filters: conditions on the fields of documents, in JSON.
//!
//! `{"lang": "en", "year": {"gte": 2000, "lt": 2010}}`: all conditions must hold. A list, or
//! `{"in": [...]}`, allows any of its values; `or`, `and` and `not` take filters. A field with
//! several values passes if one of them does. Values are compared with those of their own type: the
//! string "7" is not the number 7. Strings are ordered by their bytes, so dates such as `2024-05-31`
//! can be compared, too.

use std::ops::Bound;

use liken::{excerpt, quoted};
use serde_json::{Map, Value};

use super::schema::{self, LONGEST_NAME, LONGEST_VALUE};

/// The deepest nesting of filters.
const MOST_DEPTH: usize = 16;
/// The most conditions of a filter.
const MOST_CONDITIONS: usize = 1_000;
/// The most values of all lists of a filter.
const MOST_VALUES: usize = 10_000;

/// A parsed filter.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    pub(super) rule: Rule,
    /// Its JSON, the key of cached results.
    pub(super) json: String,
}

/// A condition on a document.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rule {
    All(Vec<Rule>),
    Any(Vec<Rule>),
    Not(Box<Rule>),
    /// One of the values of a column passes.
    Field(String, Test),
}

/// A condition on a value of a field.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Test {
    OneOf(OneOf),
    Numbers(Bound<f64>, Bound<f64>),
    Strings(Bound<String>, Bound<String>),
    Prefix(String),
    /// There is a value.
    Exists,
}

/// Values by type.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OneOf {
    pub numbers: Vec<f64>,
    pub strings: Vec<String>,
    pub truths: Vec<bool>,
}

impl Filter {
    /// Parses a filter; the error says where it is wrong and what was expected.
    pub fn parse(filter: &Value) -> Result<Filter, String> {
        let mut reader = Reader { conditions: 0, values: 0 };
        let rule = reader.filter(filter, "filter", 0)?;
        Ok(Filter { rule, json: filter.to_string() })
    }
}

struct Reader {
    conditions: usize,
    values: usize,
}

impl Reader {
    fn filter(&mut self, filter: &Value, place: &str, depth: usize) -> Result<Rule, String> {
        let Value::Object(conditions) = filter else {
            let expected = r#"an object, such as {"lang": "en", "year": {"gte": 2000}}"#;
            return Err(unexpected(place, filter, expected));
        };
        if depth > MOST_DEPTH {
            return Err(format!(
                "{place}: filters are nested too deeply: at most {MOST_DEPTH} deep"
            ));
        }
        let mut rules = Vec::new();
        for (name, value) in conditions {
            let place = format!("{place}.{}", excerpt(name));
            self.conditions += 1;
            if self.conditions > MOST_CONDITIONS {
                return Err(format!("{place}: a filter has at most {MOST_CONDITIONS} conditions"));
            }
            rules.push(match name.as_str() {
                "and" => Rule::All(self.filters(value, &place, depth)?),
                "or" => Rule::Any(self.filters(value, &place, depth)?),
                "not" => Rule::Not(Box::new(self.filter(value, &place, depth + 1)?)),
                _ => self.field(name, value, &place)?,
            });
        }
        Ok(match rules.len() {
            1 => rules.swap_remove(0),
            _ => Rule::All(rules),
        })
    }

    fn filters(&mut self, value: &Value, place: &str, depth: usize) -> Result<Vec<Rule>, String> {
        let Value::Array(items) = value else {
            return Err(unexpected(place, value, "a list of filters"));
        };
        let one = |(at, item)| self.filter(item, &format!("{place}[{at}]"), depth + 1);
        items.iter().enumerate().map(one).collect()
    }

    fn field(&mut self, name: &str, value: &Value, place: &str) -> Result<Rule, String> {
        if name.len() > LONGEST_NAME {
            return Err(format!(
                "{place}: the name has {} bytes; filters take names of at most {LONGEST_NAME} bytes",
                name.len()
            ));
        }
        let column = schema::column(name);
        match value {
            Value::Object(operators) => self.operators(column, operators, place),
            Value::Array(items) => Ok(Rule::Field(column, self.one_of(items, place)?)),
            single => Ok(Rule::Field(column, self.one_of(std::slice::from_ref(single), place)?)),
        }
    }

    fn operators(
        &mut self,
        column: String,
        operators: &Map<String, Value>,
        place: &str,
    ) -> Result<Rule, String> {
        let mut rules = Vec::new();
        let mut range = Range::default();
        for (operator, value) in operators {
            let place = format!("{place}.{}", excerpt(operator));
            let test = match operator.as_str() {
                "gt" | "gte" | "lt" | "lte" => {
                    range.narrow(operator, value, &place)?;
                    continue;
                }
                "eq" => self.one_of(std::slice::from_ref(value), &place)?,
                "in" => match value {
                    Value::Array(items) => self.one_of(items, &place)?,
                    other => return Err(unexpected(&place, other, "a list")),
                },
                "prefix" => match value {
                    Value::String(prefix) => Test::Prefix(short(prefix, &place)?.to_owned()),
                    other => return Err(unexpected(&place, other, "a string")),
                },
                "exists" => match value {
                    Value::Bool(true) => Test::Exists,
                    Value::Bool(false) => {
                        let exists = Rule::Field(column.clone(), Test::Exists);
                        rules.push(Rule::Not(Box::new(exists)));
                        continue;
                    }
                    other => return Err(unexpected(&place, other, "true or false")),
                },
                _ => return Err(format!("{place}: no such operator; there are {OPERATORS}")),
            };
            rules.push(Rule::Field(column.clone(), test));
        }
        rules.extend(range.test(place)?.map(|test| Rule::Field(column, test)));
        match rules.len() {
            0 => Err(format!("{place}: expected one or more of the operators {OPERATORS}")),
            1 => Ok(rules.swap_remove(0)),
            _ => Ok(Rule::All(rules)),
        }
    }

    fn one_of(&mut self, items: &[Value], place: &str) -> Result<Test, String> {
        self.values += items.len();
        if self.values > MOST_VALUES {
            return Err(format!(
                "{place}: the lists of a filter have at most {MOST_VALUES} values"
            ));
        }
        let mut values = OneOf::default();
        for item in items {
            match item {
                Value::String(text) => values.strings.push(short(text, place)?.to_owned()),
                Value::Bool(truth) => values.truths.push(*truth),
                Value::Number(_) => values.numbers.push(finite(item, place)?),
                other => {
                    let expected = "a string, a number, true or false";
                    let advice = r#"for missing fields, write {"exists": false}"#;
                    return Err(format!("{}; {advice}", unexpected(place, other, expected)));
                }
            }
        }
        values.numbers.sort_by(f64::total_cmp);
        values.numbers.dedup();
        values.strings.sort();
        values.strings.dedup();
        values.truths.sort();
        values.truths.dedup();
        Ok(Test::OneOf(values))
    }
}

const OPERATORS: &str = "eq, in, gt, gte, lt, lte, prefix and exists";

/// The bounds of one field by `gt`, `gte`, `lt` and `lte`.
#[derive(Default)]
struct Range {
    /// The bound, and whether it is included.
    low: Option<(Value, bool)>,
    high: Option<(Value, bool)>,
}

impl Range {
    fn narrow(&mut self, operator: &str, value: &Value, place: &str) -> Result<(), String> {
        match value {
            Value::Number(_) => drop(finite(value, place)?),
            Value::String(text) => drop(short(text, place)?),
            other => return Err(unexpected(place, other, "a number or a string")),
        }
        let side = if operator.starts_with('g') { &mut self.low } else { &mut self.high };
        if side.replace((value.clone(), operator.ends_with('e'))).is_some() {
            return Err(format!("{place}: a range has at most one bound on each side"));
        }
        Ok(())
    }

    fn test(self, place: &str) -> Result<Option<Test>, String> {
        let bound = |side: &Option<(Value, bool)>| match side {
            None => Bound::Unbounded,
            Some((value, true)) => Bound::Included(value.clone()),
            Some((value, false)) => Bound::Excluded(value.clone()),
        };
        let strings = |side: &Option<(Value, bool)>| side.as_ref().map(|(v, _)| v.is_string());
        match (strings(&self.low), strings(&self.high)) {
            (None, None) => Ok(None),
            (Some(true), Some(false)) | (Some(false), Some(true)) => {
                Err(format!("{place}: expected both bounds to be numbers or both to be strings"))
            }
            (Some(true), _) | (_, Some(true)) => {
                let text = |value: Value| value.as_str().unwrap_or_default().to_owned();
                Ok(Some(Test::Strings(bound(&self.low).map(text), bound(&self.high).map(text))))
            }
            _ => {
                let number = |value: Value| value.as_f64().and_then(schema::number).unwrap_or(0.0);
                Ok(Some(Test::Numbers(bound(&self.low).map(number), bound(&self.high).map(number))))
            }
        }
    }
}

fn finite(value: &Value, place: &str) -> Result<f64, String> {
    let number = value.as_f64().and_then(schema::number);
    number.ok_or_else(|| format!("{place}: {value} is not a finite number"))
}

fn short<'t>(text: &'t str, place: &str) -> Result<&'t str, String> {
    if text.len() <= LONGEST_VALUE {
        return Ok(text);
    }
    Err(format!(
        "{place}: the string has {} bytes; filters take values of at most {LONGEST_VALUE} bytes",
        text.len()
    ))
}

/// The message about a value of another kind than expected.
fn unexpected(place: &str, value: &Value, expected: &str) -> String {
    let found = match value {
        Value::Null | Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
    };
    format!("{place}: expected {expected}, found {found}")
}
