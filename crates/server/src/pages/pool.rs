//! What is to be graded: the documents that all models find, mixed, and the grades so far.

use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::layout::{Tab, address};
use crate::api::types::{Hit, Judgment};
use crate::problem::Problem;

/// What the address asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct JudgeParams {
    /// `q`: the query.
    pub query: String,
    /// `judge`: who judges.
    pub judge: String,
    /// `depth`: how many hits of each model.
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
                    Problem::bad(format!("{name} must be from 1 to {most}, not “{value}”"))
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
        let usual = JudgeParams::default();
        let (depth, max) = (self.depth.to_string(), self.max.to_string());
        let mut parameters = Vec::new();
        if !query.is_empty() {
            parameters.push(("q", query));
        }
        if !self.judge.is_empty() {
            parameters.push(("judge", self.judge.as_str()));
        }
        if self.depth != usual.depth {
            parameters.push(("depth", depth.as_str()));
        }
        if self.max != usual.max {
            parameters.push(("max", max.as_str()));
        }
        address(Tab::Judge.path(), &parameters)
    }
}

/// A document to be graded.
pub struct Pooled {
    /// The document, as one of the models found it.
    pub hit: Hit,
    /// The grade that this judge gave.
    pub own: Option<u8>,
    /// The grades of others.
    pub others: Vec<(String, u8)>,
}

/// Every document once, in an order that depends on query and id alone.
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
    let of = |hit: Hit| {
        let graded = grades.iter().filter(|j| j.id == hit.id);
        let graded = graded.filter_map(|j| Some((j.judge.clone().unwrap_or_default(), j.grade?)));
        let (own, others): (Vec<_>, Vec<_>) = graded.partition(|(name, _)| name == judge);
        Pooled { hit, own: own.last().map(|(_, grade)| *grade), others }
    };
    hits.into_iter().map(|(_, hit)| of(hit)).collect()
}

/// What a form without script sends: the grade (or `-` to take it back), a space, the id.
pub fn read_grade(value: &str, ask: &JudgeParams) -> Result<Judgment, Problem> {
    let wrong = || {
        Problem::bad(format!(
            "g must be a grade from 0 to {} (or - to take it back), a space and a document's id",
            ask.max
        ))
    };
    let (grade, id) = value.split_once(' ').filter(|(_, id)| !id.is_empty()).ok_or_else(wrong)?;
    let grade = match grade {
        "-" => None,
        digits => {
            let grade: u8 = digits.parse().map_err(|_| wrong())?;
            Some(Some(grade).filter(|grade| *grade <= ask.max).ok_or_else(wrong)?)
        }
    };
    if ask.query.is_empty() {
        return Err(Problem::bad("q, the query that the grade is for, is missing"));
    }
    let judge = Some(ask.judge.clone()).filter(|name| !name.is_empty());
    Ok(Judgment { query: ask.query.clone(), id: id.to_owned(), grade, judge })
}
