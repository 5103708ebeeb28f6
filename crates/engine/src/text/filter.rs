//! Filters: which documents may be found, said in JSON.
//!
//! `{"lang": "en", "year": {"gte": 2000, "lt": 2010}}` – all that is said must hold. A list, or
//! `{"in": [...]}`, allows any of its values; `or`, `and` and `not` take filters. A field with
//! several values passes if one of them does. Numbers and strings are compared as what they are:
//! the string "7" is not the number 7. Strings are in the order of their bytes, so dates written
//! as `2024-05-31` can be compared too.

use std::ops::Bound;

use liken::{excerpt, quoted};
use serde_json::{Map, Value};

use super::schema::{self, LONGEST_NAME, LONGEST_VALUE};

/// Filters inside filters.
const MOST_DEPTH: usize = 16;
/// Conditions of one filter.
const MOST_CONDITIONS: usize = 1_000;
/// Values of all lists of one filter.
const MOST_VALUES: usize = 10_000;

/// Which documents may be found.
#[derive(Debug, Clone, PartialEq)]
pub struct Filter {
    pub(super) rule: Rule,
    /// What it was read from: filters that are written the same allow the same.
    pub(super) written: String,
}

/// What must hold.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Rule {
    All(Vec<Rule>),
    Any(Vec<Rule>),
    Not(Box<Rule>),
    /// A value of a column.
    Field(String, Test),
}

/// What one value of a field must be.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Test {
    /// One of these.
    OneOf(OneOf),
    Numbers(Bound<f64>, Bound<f64>),
    Strings(Bound<String>, Bound<String>),
    Prefix(String),
    /// Anything at all.
    Exists,
}

/// Values, by kind.
#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct OneOf {
    pub numbers: Vec<f64>,
    pub strings: Vec<String>,
    pub truths: Vec<bool>,
}

impl Filter {
    /// Reads a filter, or says where it makes no sense and what is allowed there.
    pub fn parse(filter: &Value) -> Result<Filter, String> {
        let mut reader = Reader { conditions: 0, values: 0 };
        let rule = reader.filter(filter, "filter", 0)?;
        Ok(Filter { rule, written: filter.to_string() })
    }
}

struct Reader {
    conditions: usize,
    values: usize,
}

impl Reader {
    fn filter(&mut self, filter: &Value, place: &str, depth: usize) -> Result<Rule, String> {
        let Value::Object(conditions) = filter else {
            return Err(format!(
                "{place}: {} where an object is expected, such as {{\"lang\": \"en\", \
                 \"year\": {{\"gte\": 2000}}}}",
                shown(filter)
            ));
        };
        if depth > MOST_DEPTH {
            return Err(format!("{place}: filters inside filters may go {MOST_DEPTH} deep"));
        }
        let mut rules = Vec::new();
        for (name, value) in conditions {
            let place = format!("{place}.{}", excerpt(name));
            self.conditions += 1;
            if self.conditions > MOST_CONDITIONS {
                return Err(format!("{place}: a filter may have {MOST_CONDITIONS} conditions"));
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
            return Err(format!("{place}: {} where a list of filters is expected", shown(value)));
        };
        let one = |(at, item)| self.filter(item, &format!("{place}[{at}]"), depth + 1);
        items.iter().enumerate().map(one).collect()
    }

    fn field(&mut self, name: &str, value: &Value, place: &str) -> Result<Rule, String> {
        if name.len() > LONGEST_NAME {
            return Err(format!(
                "{place}: the name has {} bytes; names of at most {LONGEST_NAME} can be filtered by",
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
                    other => {
                        return Err(format!("{place}: {} where a list is expected", shown(other)));
                    }
                },
                "prefix" => match value {
                    Value::String(prefix) => Test::Prefix(short(prefix, &place)?.to_owned()),
                    other => {
                        return Err(format!(
                            "{place}: {} where a string is expected",
                            shown(other)
                        ));
                    }
                },
                "exists" => match value {
                    Value::Bool(true) => Test::Exists,
                    Value::Bool(false) => {
                        let there = Rule::Field(column.clone(), Test::Exists);
                        rules.push(Rule::Not(Box::new(there)));
                        continue;
                    }
                    other => {
                        return Err(format!(
                            "{place}: {} where true or false is expected",
                            shown(other)
                        ));
                    }
                },
                _ => {
                    return Err(format!("{place}: no such operator; there are {OPERATORS}"));
                }
            };
            rules.push(Rule::Field(column.clone(), test));
        }
        rules.extend(range.test(place)?.map(|test| Rule::Field(column, test)));
        match rules.len() {
            0 => Err(format!("{place}: an operator is expected, one or more of {OPERATORS}")),
            1 => Ok(rules.swap_remove(0)),
            _ => Ok(Rule::All(rules)),
        }
    }

    fn one_of(&mut self, items: &[Value], place: &str) -> Result<Test, String> {
        self.values += items.len();
        if self.values > MOST_VALUES {
            return Err(format!("{place}: the lists of a filter may have {MOST_VALUES} values"));
        }
        let mut values = OneOf::default();
        for item in items {
            match item {
                Value::String(text) => values.strings.push(short(text, place)?.to_owned()),
                Value::Bool(truth) => values.truths.push(*truth),
                Value::Number(_) => values.numbers.push(finite(item, place)?),
                other => {
                    return Err(format!(
                        "{place}: {} where a string, a number, true or false is expected; \
                         for fields that are missing, write {{\"exists\": false}}",
                        shown(other)
                    ));
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

/// What `gt`, `gte`, `lt` and `lte` of one field say together.
#[derive(Default)]
struct Range {
    low: Option<(Value, bool)>,
    high: Option<(Value, bool)>,
}

impl Range {
    fn narrow(&mut self, operator: &str, value: &Value, place: &str) -> Result<(), String> {
        match value {
            Value::Number(_) => drop(finite(value, place)?),
            Value::String(text) => drop(short(text, place)?),
            other => {
                return Err(format!(
                    "{place}: {} where a number or a string is expected",
                    shown(other)
                ));
            }
        }
        let side = if operator.starts_with('g') { &mut self.low } else { &mut self.high };
        if side.replace((value.clone(), operator.ends_with('e'))).is_some() {
            return Err(format!("{place}: a range has one bound on each side"));
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
                Err(format!("{place}: the bounds of a range are both numbers or both strings"))
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
    number.ok_or_else(|| format!("{place}: {value} is no finite number"))
}

fn short<'t>(text: &'t str, place: &str) -> Result<&'t str, String> {
    if text.len() <= LONGEST_VALUE {
        return Ok(text);
    }
    Err(format!(
        "{place}: the string has {} bytes; values of at most {LONGEST_VALUE} can be filtered by",
        text.len()
    ))
}

/// A value for an error message.
fn shown(value: &Value) -> String {
    match value {
        Value::Null => "null".into(),
        Value::Bool(_) | Value::Number(_) => value.to_string(),
        Value::String(text) => quoted(text),
        Value::Array(_) => "a list".into(),
        Value::Object(_) => "an object".into(),
    }
}
