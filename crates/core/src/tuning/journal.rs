//! The journal of a tuning: JSON lines, the first saying what is tuned, each other one trial.
//!
//! Every trial is appended when it is done, so that whatever ends the program costs one trial at
//! most; a last line that was cut off is dropped when the journal is opened again. What a run
//! uses of a trial is always what the journal's line gives back, so that a run that was
//! interrupted and one that was not have the same numbers to the last bit.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, Result};

/// The layout of the lines.
const FORMAT: u32 = 1;

/// What is tuned. A journal goes on only with the same.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct About {
    /// The layout of the lines.
    pub tuning: u32,
    /// The method or mix.
    pub method: String,
    /// The dataset's identity.
    pub dataset: String,
    /// The measure, with its variant and the documents that are ranked.
    pub measure: Value,
    /// What varies.
    pub space: Value,
    /// What does not, and what the defaults are.
    pub base: Value,
    /// The seed.
    pub seed: u64,
}

impl About {
    /// What is tuned, in today's layout.
    pub(super) fn new(
        method: String,
        dataset: String,
        measure: Value,
        space: Value,
        base: Value,
        seed: u64,
    ) -> Self {
        About { tuning: FORMAT, method, dataset, measure, space, base, seed }
    }
}

/// One try.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The values of what varies.
    pub setting: Map<String, Value>,
    /// Fitted to one in so many of the training queries (or pairs), with fewer dimensions.
    pub one_in: u32,
    /// The mean of the measure on validation, unless the trial failed.
    pub score: Option<f64>,
    /// Why it failed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// What was kept of the fit, where there is a choice: the sweep.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// The weights of a mix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f64>,
    /// What the fit warned of.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// How long it took, what it shared with other trials not counted.
    pub seconds: f64,
    /// The measure of every validation query, to six digits after the point; of full fits only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
}

/// A journal, open for more.
pub struct Journal {
    path: PathBuf,
    file: File,
    trials: Vec<Trial>,
    opened_with: usize,
}

impl Journal {
    /// Opens the journal at `path`, or begins it. One of something else is refused.
    pub fn open(path: &Path, about: &About) -> Result<Self> {
        let text = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        // What comes after the last line's end was cut off while it was written.
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut lines = text[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let mut trials = Vec::new();
        let head = lines.next();
        if let Some(head) = head {
            check_head(path, head, about)?;
        }
        for (n, line) in (2..).zip(lines) {
            trials.push(serde_json::from_slice(line).map_err(|error| {
                Error::Line {
                    path: path.to_owned(),
                    line: n,
                    expected: "one trial as JSON".into(),
                    found: error.to_string(),
                    advice:
                        "take the line out, and the trial is made again; or begin anew with `force`"
                            .into(),
                }
            })?);
        }
        let file = OpenOptions::new().create(true).append(true).open(path);
        let file = file.map_err(Error::io("write", path))?;
        if whole < text.len() {
            file.set_len(whole as u64).map_err(Error::io("write", path))?;
        }
        let opened_with = trials.len();
        let mut journal = Journal { path: path.to_owned(), file, trials, opened_with };
        if head.is_none() {
            journal.line(about)?;
        }
        Ok(journal)
    }

    /// The trial of a setting on one in `one_in`, if it was made before.
    pub fn find(&self, setting: &Map<String, Value>, one_in: u32) -> Option<&Trial> {
        self.trials.iter().find(|made| made.one_in == one_in && same(&made.setting, setting))
    }

    /// Writes a trial down, and gives it back as it will be read.
    pub fn push(&mut self, made: &Trial) -> Result<&Trial> {
        let line = self.line(made)?;
        let back = serde_json::from_slice(&line)
            .map_err(|error| Error::damaged(&self.path, error.to_string()))?;
        self.trials.push(back);
        Ok(&self.trials[self.trials.len() - 1])
    }

    /// How many trials there were when the journal was opened.
    pub fn opened_with(&self) -> usize {
        self.opened_with
    }

    /// Every trial, in the order in which they were made.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// How many trials there are.
    pub fn len(&self) -> usize {
        self.trials.len()
    }

    /// Whether there is no trial yet.
    pub fn is_empty(&self) -> bool {
        self.trials.is_empty()
    }

    /// Appends one line in one piece, and sees it onto the disk.
    fn line(&mut self, value: &impl Serialize) -> Result<Vec<u8>> {
        let failed = Error::io("write", &self.path);
        let written =
            serde_json::to_vec(value).map_err(std::io::Error::from).and_then(|mut line| {
                line.push(b'\n');
                self.file.write_all(&line)?;
                self.file.sync_data()?;
                Ok(line)
            });
        written.map_err(failed)
    }
}

/// Whether two settings are the same. A number may have lost its last bit on the way through
/// text.
pub(super) fn same(a: &Map<String, Value>, b: &Map<String, Value>) -> bool {
    fn equal(a: &Value, b: &Value) -> bool {
        match (a, b) {
            (Value::Number(a), Value::Number(b)) => match (a.as_f64(), b.as_f64()) {
                (Some(a), Some(b)) => (a - b).abs() <= 1e-15 * a.abs().max(b.abs()),
                _ => a == b,
            },
            (Value::Object(a), Value::Object(b)) => same(a, b),
            (Value::Array(a), Value::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(a, b)| equal(a, b))
            }
            _ => a == b,
        }
    }
    a.len() == b.len()
        && a.iter().all(|(key, value)| b.get(key).is_some_and(|other| equal(value, other)))
}

fn check_head(path: &Path, head: &[u8], about: &About) -> Result<()> {
    let unusable = |problem: String| Error::Unusable {
        path: path.to_owned(),
        problem,
        advice: "choose another folder, or begin anew with `force`".into(),
    };
    let found: Value = serde_json::from_slice(head)
        .map_err(|_| unusable("is not a journal of a tuning".into()))?;
    let wanted: Value = serde_json::to_value(about)
        .and_then(|value| serde_json::from_str(&value.to_string()))
        .map_err(|error| unusable(error.to_string()))?;
    if !found["tuning"].is_u64() {
        return Err(unusable("is not a journal of a tuning".into()));
    }
    if found == wanted {
        return Ok(());
    }
    let words = [
        ("tuning", "layout"),
        ("method", "method"),
        ("dataset", "dataset"),
        ("measure", "measure"),
        ("space", "grid or space"),
        ("base", "fixed parameters"),
        ("seed", "seed"),
    ];
    let others: Vec<&str> = words
        .into_iter()
        .filter(|&(key, _)| found[key] != wanted[key])
        .map(|(_, word)| word)
        .collect();
    Err(unusable(format!("holds trials with another {}", others.join(", another "))))
}
