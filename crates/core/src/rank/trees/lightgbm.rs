//! Reads the text models that LightGBM writes (`save_model`).
//!
//! A model has a head of `key=value` lines, then trees of such lines with one number per split or
//! leaf. `decision_type` holds bits: 1 for a test of categories, 2 if missing values go left, and in
//! the next two what is missing (0 nothing: a missing value is 0; 1 zero and missing values; 2 missing
//! values). Scores are raw: the transformation of an objective, to a probability for instance, is
//! left out, as it does not change the order. The score of a random forest is the mean of its trees.

use std::fs;
use std::path::Path;
use std::str::FromStr;

use super::{Leaf, Split, Tree, Trees};
use crate::{Error, Result};

/// A model of LightGBM.
#[derive(Debug, Clone, PartialEq)]
pub struct LightGbm {
    /// The names of the features.
    pub names: Vec<String>,
    /// Trees of the model file.
    pub trees: Trees,
    /// The objective, as LightGBM names it, such as `lambdarank`.
    pub objective: String,
}

impl LightGbm {
    /// Reads a model file. An error with the line if it cannot be scored.
    pub fn read(path: &Path) -> Result<Self> {
        let bytes = fs::read(path).map_err(Error::io("read", path))?;
        let text = String::from_utf8(bytes).map_err(|_| Error::Unusable {
            path: path.to_owned(),
            problem: "not text".into(),
            advice: ADVICE.into(),
        })?;
        LightGbm::parse(&text, path)
    }

    /// Reads a model from text; errors name `path`.
    pub fn parse(text: &str, path: &Path) -> Result<Self> {
        let reader = Reader { path };
        let mut sections = vec![Section { line: 1, entries: Vec::new() }];
        let mut is_averaged = false;
        let mut is_whole = false;
        for (line, content) in (1..).zip(text.lines()) {
            let content = content.trim();
            if line == 1 && content != "tree" {
                return Err(reader.line(1, "the word tree", content));
            }
            if content == "end of trees" {
                is_whole = true;
                break;
            }
            is_averaged |= content == "average_output";
            let Some((key, value)) = content.split_once('=') else { continue };
            if key == "Tree" {
                sections.push(Section { line, entries: Vec::new() });
            } else if let Some(section) = sections.last_mut() {
                section.entries.push(Entry { line, key, value });
            }
        }
        if !is_whole {
            let last = text.lines().count().max(1) as u64;
            return Err(reader.line(last, "the line \"end of trees\"", "the end of the file"));
        }
        let (head, bodies) = sections.split_at(1);
        let head = &head[0];
        for key in ["num_class", "num_tree_per_iteration"] {
            let entry = reader.entry(head, key)?;
            if entry.value != "1" {
                let expected = format!("{key}=1, one score per row");
                return Err(reader.line(entry.line, &expected, entry.value));
            }
        }
        let objective = head.entries.iter().find(|entry| entry.key == "objective");
        let names: Vec<String> = reader
            .entry(head, "feature_names")?
            .value
            .split_whitespace()
            .map(String::from)
            .collect();
        let mut trees = Vec::with_capacity(bodies.len());
        for body in bodies {
            trees.push(reader.tree(body, names.len())?);
        }
        if is_averaged {
            let share = 1.0 / trees.len().max(1) as f64;
            trees.iter_mut().for_each(|tree| tree.scale(share));
        }
        let objective = objective.map_or(String::new(), |entry| entry.value.to_owned());
        Ok(LightGbm { names, trees: Trees { trees, base: 0.0 }, objective })
    }
}

const ADVICE: &str = "give a text model as LightGBM's save_model writes it";

/// A line `key=value`.
#[derive(Clone, Copy)]
struct Entry<'a> {
    line: u64,
    key: &'a str,
    value: &'a str,
}

/// The head, or a tree.
struct Section<'a> {
    line: u64,
    entries: Vec<Entry<'a>>,
}

struct Reader<'a> {
    path: &'a Path,
}

impl Reader<'_> {
    fn line(&self, line: u64, expected: &str, found: &str) -> Error {
        let shown: String = found.chars().take(60).collect();
        Error::Line {
            path: self.path.to_owned(),
            line,
            expected: expected.to_owned(),
            found: if shown.is_empty() { "nothing".into() } else { shown },
            advice: ADVICE.into(),
        }
    }

    fn entry<'e>(&self, section: &Section<'e>, key: &str) -> Result<Entry<'e>> {
        let found = section.entries.iter().find(|entry| entry.key == key);
        let missing = || self.line(section.line, &format!("{key}=… below this line"), "none");
        found.copied().ok_or_else(missing)
    }

    /// `n` numbers.
    fn numbers<T: FromStr>(&self, section: &Section<'_>, key: &str, n: usize) -> Result<Vec<T>> {
        let entry = self.entry(section, key)?;
        let mut numbers = Vec::new();
        for word in entry.value.split_whitespace() {
            let number = word
                .parse()
                .map_err(|_| self.line(entry.line, &format!("numbers in {key}"), word))?;
            numbers.push(number);
        }
        if numbers.len() == n {
            return Ok(numbers);
        }
        let found = format!("{} numbers", numbers.len());
        Err(self.line(entry.line, &format!("{n} numbers in {key}"), &found))
    }

    fn number(&self, section: &Section<'_>, key: &str) -> Result<usize> {
        self.numbers(section, key, 1).map(|numbers| numbers[0])
    }

    fn tree(&self, section: &Section<'_>, n_features: usize) -> Result<Tree> {
        let is_linear = section.entries.iter().find(|entry| entry.key == "is_linear");
        if let Some(entry) = is_linear.filter(|entry| entry.value != "0") {
            let expected = "leaves that are numbers (is_linear=0)";
            return Err(self.line(entry.line, expected, "linear leaves"));
        }
        let n_leaves = self.number(section, "num_leaves")?;
        let values: Vec<f64> = self.numbers(section, "leaf_value", n_leaves)?;
        let leaves: Vec<Leaf> = match n_leaves {
            // A tree that was not split has no count of rows.
            1 => vec![Leaf { value: values[0], count: 1 }],
            _ => {
                let counts: Vec<u32> = self.numbers(section, "leaf_count", n_leaves)?;
                let pairs = values.into_iter().zip(counts);
                pairs.map(|(value, count)| Leaf { value, count }).collect()
            }
        };
        let (starts, categories) = self.categories(section)?;
        let splits =
            if n_leaves > 1 { self.splits(section, n_leaves - 1, n_features)? } else { vec![] };
        Tree::with_categories(splits, leaves, starts, categories)
            .map_err(|error| self.line(section.line, "a tree", &error.to_string()))
    }

    /// The lists of categories: the start of each, and their bits.
    fn categories(&self, section: &Section<'_>) -> Result<(Vec<u32>, Vec<u32>)> {
        let n_lists = self.number(section, "num_cat")?;
        if n_lists == 0 {
            return Ok((vec![0], Vec::new()));
        }
        let starts: Vec<u32> =
            self.numbers(section, "cat_boundaries", n_lists.saturating_add(1))?;
        let n_words = starts.last().copied().unwrap_or(0);
        Ok((starts, self.numbers(section, "cat_threshold", n_words as usize)?))
    }

    fn splits(&self, section: &Section<'_>, n: usize, n_features: usize) -> Result<Vec<Split>> {
        let features: Vec<u32> = self.numbers(section, "split_feature", n)?;
        let thresholds: Vec<f64> = self.numbers(section, "threshold", n)?;
        let decisions: Vec<u8> = self.numbers(section, "decision_type", n)?;
        let lefts: Vec<i32> = self.numbers(section, "left_child", n)?;
        let rights: Vec<i32> = self.numbers(section, "right_child", n)?;
        let gains: Vec<f64> = self.numbers(section, "split_gain", n)?;
        let mut splits = Vec::with_capacity(n);
        for at in 0..n {
            let (decision, exact) = (decisions[at], thresholds[at]);
            let missing_kind = decision >> 2;
            if features[at] as usize >= n_features || missing_kind > 2 {
                let key = if missing_kind > 2 { "decision_type" } else { "split_feature" };
                let entry = self.entry(section, key)?;
                let (expected, found) = match missing_kind > 2 {
                    true => ("decision types from 0 to 11".to_owned(), decision.to_string()),
                    false => (format!("features below {n_features}"), features[at].to_string()),
                };
                return Err(self.line(entry.line, &expected, &found));
            }
            splits.push(Split {
                feature: features[at],
                threshold: if decision & 1 != 0 { exact } else { in_single(exact) },
                left: lefts[at],
                right: rights[at],
                missing_left: if missing_kind == 0 { 0.0 <= exact } else { decision & 2 != 0 },
                zero_is_missing: missing_kind == 1,
                is_category: decision & 1 != 0,
                gain: gains[at],
            });
        }
        Ok(splits)
    }
}

/// A threshold for values in 32 bits. LightGBM reads values in 64: one just below its threshold may
/// exceed it when rounded, so the threshold is rounded up as well. If it is the middle of two adjacent
/// numbers in 32 bits, the values were in 32 bits, and the upper one is to go right.
fn in_single(threshold: f64) -> f64 {
    let above = threshold as f32;
    let middle = (f64::from(above.next_down()) + f64::from(above)) / 2.0;
    let is_middle = threshold == middle || threshold == middle.next_up();
    if f64::from(above) <= threshold || is_middle { threshold } else { f64::from(above) }
}

#[cfg(test)]
mod tests;
