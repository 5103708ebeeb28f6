//! What gives scores to the rows of a table: a ranker of ours, a model of LightGBM, or a file of
//! scores from any program.

use std::path::{Path, PathBuf};

use liken::data::text_lines;
use liken::rank::{FeatureTable, Ranker};

use super::{note_names, warn_of_lacking};
use crate::console::Console;

/// A ranker, or scores.
pub enum System {
    /// A ranker.
    Ranker(Box<Ranker>),
    /// One score a row, in the order of the file.
    Scores(Vec<f64>),
}

impl System {
    /// Opens what is at `path`: a folder is a ranker, a file a LightGBM model or scores.
    pub fn open(path: &Path, console: &Console) -> liken::Result<Self> {
        if path.is_dir() || Ranker::is_lightgbm(path) {
            return Ok(System::Ranker(Box::new(console.run(|_| Ranker::open(path))?)));
        }
        let scores = console.run(|run| {
            let mut scores = Vec::new();
            for line in text_lines(path, *run)? {
                let (number, line) = line?;
                let text = line.trim();
                if text.is_empty() {
                    continue;
                }
                let score = text.parse::<f64>().ok().filter(|score| score.is_finite());
                scores.push(score.ok_or_else(|| {
                    liken::Error::Line {
                        path: PathBuf::from(path),
                        line: number,
                        expected: "a score: a finite number, one a row of the table".into(),
                        found: format!("{text:?}"),
                        advice:
                            "name a ranker (`liken rank train`), a model that LightGBM wrote as \
                             text, or a file with one score a line"
                                .into(),
                    }
                })?);
            }
            Ok(scores)
        })?;
        Ok(System::Scores(scores))
    }

    /// The scores of the rows of `table`, which was read from `file`; this one was from `path`.
    pub fn scores(
        &self,
        path: &Path,
        file: &Path,
        table: &FeatureTable,
        console: &Console,
    ) -> liken::Result<Vec<f64>> {
        match self {
            System::Ranker(ranker) => {
                note_names(ranker, table, console);
                let scored = console.run(|_| ranker.score(table))?;
                warn_of_lacking(file, &scored.lacking, table, console);
                Ok(scored.scores)
            }
            System::Scores(scores) => {
                if scores.len() != table.n_rows() {
                    return Err(liken::Error::Unusable {
                        path: path.to_owned(),
                        problem: format!("{} scores for {} rows", scores.len(), table.n_rows()),
                        advice: "write one score a line, in the order of the table's rows".into(),
                    });
                }
                Ok(table.from_added(scores))
            }
        }
    }
}
