//! Pooling: the documents that all models find for a query, in an order that hides the models, with
//! the grades so far.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::format::address;
use super::layout::Tab;
use crate::api::types::{Hit, Judgment};
use crate::problem::Problem;

/// The parameters of the Judge page.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeParams {
    /// `q`: the query.
    pub query: String,
    /// `judge`: the name of the person.
    pub judge: String,
    /// `depth`: the number of hits of each model.
    pub depth: usize,
    /// `max`: the best grade.
    pub max: u8,
}

impl Default for JudgeParams {
    fn default() -> Self {
        JudgeParams { query: String::new(), judge: String::new(), depth: 10, max: 3 }
    }
}

impl JudgeParams {
    /// Reads the parameters of an address or a form.
    pub fn read(parameters: &[(String, String)]) -> Result<Self, Problem> {
        let mut ask = JudgeParams::default();
        for (name, value) in parameters {
            let value = value.trim();
            let whole = |most: usize| {
                let parsed = value.parse().ok().filter(|n| (1..=most).contains(n));
                parsed.ok_or_else(|| {
                    let expected = format!("expected a whole number from 1 to {most}");
                    Problem::bad(format!("{name} is {value:?}: {expected}"))
                })
            };
            match name.as_str() {
                "q" => ask.query = value.to_owned(),
                "judge" => ask.judge = value.chars().take(100).collect(),
                "depth" if !value.is_empty() => ask.depth = whole(100)?,
                "max" if !value.is_empty() => ask.max = whole(9)? as u8,
                _ => {}
            }
        }
        Ok(ask)
    }

    /// The address of the page for a query.
    pub fn for_query(&self, query: &str) -> String {
        let default = JudgeParams::default();
        let all = [
            ("q", query.to_owned(), default.query),
            ("judge", self.judge.clone(), default.judge),
            ("depth", self.depth.to_string(), default.depth.to_string()),
            ("max", self.max.to_string(), default.max.to_string()),
        ];
        let given = all.into_iter().filter(|(_, value, default)| value != default);
        let given: Vec<_> = given.map(|(name, value, _)| (name, value)).collect();
        address(Tab::Judge.path(), &given)
    }
}

/// A document to grade.
pub struct Pooled {
    /// The document, as a hit of one of the models.
    pub hit: Hit,
    /// The grade of this judge.
    pub own: Option<u8>,
    /// The grades of other judges.
    pub others: Vec<(String, u8)>,
}

/// Every document once, in a pseudo-random order that depends on query and id alone.
pub fn pooled(query: &str, found: Vec<Hit>, grades: &[&Judgment], judge: &str) -> Vec<Pooled> {
    let mut seen = HashSet::new();
    let mut hits: Vec<([u8; 32], Hit)> = found
        .into_iter()
        .filter(|hit| seen.insert(hit.id.clone()))
        .map(|hit| {
            let mut digest = Sha256::new();
            digest.update(query.as_bytes());
            digest.update([0]);
            digest.update(hit.id.as_bytes());
            (digest.finalize().into(), hit)
        })
        .collect();
    hits.sort_by_key(|(digest, _)| *digest);
    let graded = |hit: Hit| {
        let own = grades.iter().filter(|j| j.id == hit.id);
        let named = own.filter_map(|j| Some((j.judge.clone().unwrap_or_default(), j.grade?)));
        let (own, others): (Vec<_>, Vec<_>) = named.partition(|(name, _)| name == judge);
        Pooled { hit, own: own.last().map(|(_, grade)| *grade), others }
    };
    hits.into_iter().map(|(_, hit)| graded(hit)).collect()
}

/// The grade of a form without script: the grade (or `-` to delete it), a space, the id.
pub fn read_grade(value: &str, ask: &JudgeParams) -> Result<Judgment, Problem> {
    let wrong = || {
        Problem::bad(format!(
            "g is {value:?}: expected a grade from 0 to {} (or - to delete it), a space and a \
             document's id",
            ask.max
        ))
    };
    let (grade, id) = value.split_once(' ').filter(|(_, id)| !id.is_empty()).ok_or_else(wrong)?;
    let grade = match grade {
        "-" => None,
        digits => Some(digits.parse().ok().filter(|grade| *grade <= ask.max).ok_or_else(wrong)?),
    };
    if ask.query.is_empty() {
        return Err(Problem::bad("q is missing: expected the query of the grade"));
    }
    let judge = Some(ask.judge.clone()).filter(|name| !name.is_empty());
    Ok(Judgment { query: ask.query.clone(), id: id.to_owned(), grade, judge })
}
