//! Systems that score the rows of a table: rankers of liken, LightGBM models, and files of scores from
//! any program.

use std::path::{Path, PathBuf};

use liken::data::text_lines;
use liken::rank::{FeatureTable, Ranker};

use super::table::{note_names, warn_of_lacking};
use crate::console::Console;

/// A ranker or a list of scores.
pub enum System {
    Ranker(Box<Ranker>),
    /// One score per row, in the order of the file.
    Scores(Vec<f64>),
}

impl System {
    /// Opens a ranker folder, a LightGBM model or a file of scores.
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
                        expected: "a score: a finite number, one per row of the table".into(),
                        found: format!("{text:?}"),
                        advice:
                            "name a ranker (`liken rank train`), a model that LightGBM wrote as \
                             text, or a file with one score per line"
                                .into(),
                    }
                })?);
            }
            Ok(scores)
        })?;
        Ok(System::Scores(scores))
    }

    /// The scores of the rows of `table`, which was read from `file`; the system is from `path`.
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
                        advice: "write one score per line, in the order of the table's rows".into(),
                    });
                }
                Ok(table.from_input_order(scores))
            }
        }
    }
}
