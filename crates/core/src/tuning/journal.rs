//! The journal of a tuning: JSON lines, a header that says what is tuned, then one line per trial.
//!
//! Every trial is appended when it ends, so that a crash costs one trial at most; a last line that
//! was cut off is dropped when the journal is opened again. A run uses every trial as it is read
//! back from its line, so that a run that was interrupted and one that was not have the same
//! numbers to the last bit.

use std::fs::{self, File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::{Error, Result};

/// The version of the format.
pub(super) const FORMAT: u32 = 1;

/// Identity of a tuning. A journal is continued only by the same one.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct JournalHeader {
    /// The version of the format.
    pub tuning: u32,
    /// The method or mix.
    pub method: String,
    /// The dataset's identity.
    pub dataset: String,
    /// The measure, with its variant and the documents that are ranked.
    pub measure: Value,
    /// The parameters that vary.
    pub space: Value,
    /// The fixed parameters, and the defaults of the others.
    pub base: Value,
    /// The seed of the drawn settings.
    pub seed: u64,
}

/// A fit of one setting, and its score on validation.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct Trial {
    /// The values of the parameters that vary.
    pub setting: Map<String, Value>,
    /// The fit used 1/`one_in` of the training queries (or pairs), with fewer dimensions.
    pub one_in: u32,
    /// The mean of the measure on validation, unless the trial failed.
    pub score: Option<f64>,
    /// Error of a failed trial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The sweep that validation chose, where there is a choice.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kept: Option<String>,
    /// The weights of a mix.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub weights: Vec<f64>,
    /// The warnings of the fit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<String>,
    /// Wall time, without the counts and features that it shares with other trials.
    pub seconds: f64,
    /// The measure of every validation query, to six decimals; of full fits only.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub values: Vec<f64>,
}

/// A journal, open for appending.
pub struct Journal {
    path: PathBuf,
    file: File,
    trials: Vec<Trial>,
    opened_with: usize,
}

impl Journal {
    /// Opens the journal at `path`, or creates it. A journal of another tuning is refused.
    pub fn open(path: &Path, header: &JournalHeader) -> Result<Self> {
        let text = match fs::read(path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Vec::new(),
            Err(error) => return Err(Error::io("read", path)(error)),
        };
        // Whatever follows the last line break was cut off while it was written.
        let whole = text.iter().rposition(|&byte| byte == b'\n').map_or(0, |at| at + 1);
        let mut lines = text[..whole].split(|&byte| byte == b'\n').filter(|line| !line.is_empty());
        let mut trials = Vec::new();
        let head = lines.next();
        if let Some(head) = head {
            check_header(path, head, header)?;
        }
        for (n, line) in (2..).zip(lines) {
            trials.push(serde_json::from_slice(line).map_err(|error| Error::Line {
                path: path.to_owned(),
                line: n,
                expected: "one trial as JSON".into(),
                found: error.to_string(),
                advice: "delete the line to run the trial again, or start over with `force`".into(),
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
            journal.append(header)?;
        }
        Ok(journal)
    }

    /// The trial of a setting on 1/`one_in` of the training data, if it has been run.
    pub fn find(&self, setting: &Map<String, Value>, one_in: u32) -> Option<&Trial> {
        self.trials.iter().find(|trial| trial.one_in == one_in && same(&trial.setting, setting))
    }

    /// Appends a trial, and returns it as it will be read back.
    pub fn push(&mut self, trial: &Trial) -> Result<&Trial> {
        let line = self.append(trial)?;
        let back = serde_json::from_slice(&line)
            .map_err(|error| Error::damaged(&self.path, error.to_string()))?;
        self.trials.push(back);
        Ok(&self.trials[self.trials.len() - 1])
    }

    /// The number of trials when the journal was opened.
    pub fn opened_with(&self) -> usize {
        self.opened_with
    }

    /// Every trial, in the order in which they were run.
    pub fn trials(&self) -> &[Trial] {
        &self.trials
    }

    /// Appends one line by a single write, and syncs it to the disk.
    fn append(&mut self, value: &impl Serialize) -> Result<Vec<u8>> {
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

/// Whether two settings are the same. A number may have lost its last bit in the conversion to
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

fn check_header(path: &Path, head: &[u8], header: &JournalHeader) -> Result<()> {
    let unusable = |problem: String| Error::Unusable {
        path: path.to_owned(),
        problem,
        advice: "choose another folder, or start over with `force`".into(),
    };
    let found: Value = serde_json::from_slice(head).unwrap_or_default();
    if !found["tuning"].is_u64() {
        return Err(unusable("is not a journal of a tuning".into()));
    }
    let wanted: Value = serde_json::to_value(header)
        .and_then(|value| serde_json::from_str(&value.to_string()))
        .map_err(|error| unusable(error.to_string()))?;
    if found == wanted {
        return Ok(());
    }
    let words = [
        ("tuning", "format"),
        ("method", "method"),
        ("dataset", "dataset"),
        ("measure", "measure"),
        ("space", "grid or space"),
        ("base", "fixed parameters"),
        ("seed", "seed"),
    ];
    let others = words.into_iter().filter(|&(key, _)| found[key] != wanted[key]);
    let others: Vec<&str> = others.map(|(_, word)| word).collect();
    Err(unusable(format!("holds trials with another {}", others.join(", another "))))
}
