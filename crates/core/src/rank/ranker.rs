//! A trained ranker as one artefact: what its features are called, how they are made comparable,
//! and what was learnt.
//!
//! ```text
//! manifest.json             what it is, its parameters, its features, what it learnt from
//! ranker.safetensors        weights or trees, and the statistics of a normalisation over all rows
//! report.json               the fit, step by step
//! ```

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::arrays::Arrays;
use super::normalise::{Normalisation, Normaliser};
use super::trees::LightGbm;
use super::{FeatureTable, Goal, RankParams, RankReport, Scorer};
use crate::file::{Folder, FolderKind, NewFolder, Tensors, TensorsWriter};
use crate::{Error, Result};

/// A fitted scorer with everything it needs to score a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranker {
    /// What the manifest says.
    pub about: RankerAbout,
    normaliser: Normaliser,
    scorer: Scorer,
}

/// What a ranker says of itself in its manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankerAbout {
    /// How it was learnt; nothing where it came from another program.
    pub params: Option<RankParams>,
    /// The names of its features.
    pub features: Vec<String>,
    /// Whether a feature that a row does not name was missing, not 0.
    #[serde(default)]
    pub absent_is_missing: bool,
    /// How features are made comparable.
    pub normalisation: Normalisation,
    /// What was looked at on validation.
    pub goal: Goal,
    /// Its measure on validation, where there was any.
    pub validation: Option<f64>,
    /// What it learnt from.
    pub learnt_from: LearntFrom,
}

/// What a ranker learnt from.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LearntFrom {
    /// The files, where there were any.
    pub paths: Vec<PathBuf>,
    /// Rows.
    pub rows: usize,
    /// Queries.
    pub queries: usize,
}

/// What a ranker makes of one feature.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeatureUse {
    /// The feature.
    pub name: String,
    /// Trees: by how much its splits made the loss smaller, as a share of all. Linear: its weight.
    pub weight: f64,
    /// Trees: how many splits look at it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub splits: Option<usize>,
}

/// The scores of a table.
pub struct Scored {
    /// One a row.
    pub scores: Vec<f64>,
    /// Features of the ranker that the table does not have: each is missing, or 0 in a sparse
    /// file.
    pub lacking: Vec<String>,
}

impl Ranker {
    /// A ranker of what was learnt.
    pub fn new(about: RankerAbout, normaliser: Normaliser, scorer: Scorer) -> Self {
        Ranker { about, normaliser, scorer }
    }

    /// What was learnt.
    pub fn scorer(&self) -> &Scorer {
        &self.scorer
    }

    /// How it was learnt, in a word.
    pub fn name(&self) -> &'static str {
        self.about.params.as_ref().map_or("lightgbm", RankParams::name)
    }

    /// The rows of `table` as the scorer sees them, and the features that it does not have. An
    /// error if it has none.
    pub fn prepared(&self, table: &FeatureTable) -> Result<(FeatureTable, Vec<String>)> {
        let (names, _) = self.names_in(table);
        let (table, lacking) = table.with_features(&names);
        if lacking.len() == names.len() && !names.is_empty() {
            return Err(Error::Empty {
                what: "the table has none of the ranker's features".into(),
                advice: format!("the ranker looks at {}", some(&self.about.features)),
            });
        }
        Ok((self.normaliser.table(&table), lacking))
    }

    /// What the ranker's features are called in `table`. LightGBM calls features without names
    /// `Column_0`, `Column_1` …: by number where it read a LETOR file itself, in which there may be
    /// a feature 0, and by place where it was given the features alone. The number of features
    /// tells which, unless the last ones are in no row of the file: so it is told.
    pub fn names_in(&self, table: &FeatureTable) -> (Vec<String>, Option<String>) {
        let own = &self.about.features;
        let unnamed = (0..).zip(own).all(|(at, name)| *name == format!("Column_{at}"));
        if own.is_empty() || !unnamed || table.names().contains(&own[0]) {
            return (own.clone(), None);
        }
        let numbers: Option<Vec<usize>> =
            table.names().iter().map(|name| name.parse().ok()).collect();
        let by_place = match &numbers {
            None => true,
            Some(numbers) => numbers.first() == Some(&1) && numbers.last() == Some(&own.len()),
        };
        let first = table.names().first().map_or("", String::as_str);
        let note = match by_place {
            true => format!("the model's features have no names: Column_0 is taken for {first}"),
            false => "the model's features have no names: Column_1 is taken for feature 1".into(),
        };
        let names = match by_place {
            true => {
                let known = table.names().iter().cloned();
                // What the table does not have keeps a name that it cannot have.
                known.chain(own.iter().skip(table.n_features()).cloned()).take(own.len()).collect()
            }
            false => (0..own.len()).map(|at| at.to_string()).collect(),
        };
        (names, Some(note))
    }

    /// Scores every row of `table`.
    pub fn score(&self, table: &FeatureTable) -> Result<Scored> {
        let (table, lacking) = self.prepared(table)?;
        Ok(Scored { scores: self.scorer.scores(&table), lacking })
    }

    /// Scores the rows of one query, each with the ranker's features in its order.
    pub fn score_rows(&self, values: &mut [f32]) -> Vec<f64> {
        let n = self.about.features.len();
        self.normaliser.rows(values, n);
        values.chunks_exact(n.max(1)).map(|row| self.scorer.score(row)).collect()
    }

    /// What each feature adds to the score of the row at `at` among the rows of one query, and last
    /// what every row has; rows as for [`Ranker::score_rows`].
    pub fn contributions(&self, values: &mut [f32], at: usize) -> Vec<f64> {
        let n = self.about.features.len();
        self.normaliser.rows(values, n);
        self.scorer.contributions(&values[at * n..(at + 1) * n])
    }

    /// What the ranker makes of its features, the most used first.
    pub fn importance(&self) -> Vec<FeatureUse> {
        let names = self.about.features.iter();
        let mut found: Vec<FeatureUse> = match &self.scorer {
            Scorer::Linear(linear) => names
                .zip(&linear.weights)
                .map(|(name, &weight)| FeatureUse { name: name.clone(), weight, splits: None })
                .collect(),
            Scorer::Trees(trees) => {
                let uses = trees.importance(self.about.features.len());
                let all = uses.iter().fold(0.0, |sum, feature| sum + feature.gain);
                names
                    .zip(uses)
                    .map(|(name, feature)| FeatureUse {
                        name: name.clone(),
                        weight: if all > 0.0 { feature.gain / all } else { 0.0 },
                        splits: Some(feature.splits),
                    })
                    .collect()
            }
        };
        found.sort_by(|a, b| b.weight.abs().total_cmp(&a.weight.abs()));
        found
    }

    /// Writes the ranker into `folder`, which was begun before training.
    pub fn save_in(&self, folder: NewFolder, report: &RankReport) -> Result<()> {
        let arrays = Arrays::of(&self.scorer, &self.normaliser);
        let mut tensors = TensorsWriter::new();
        arrays.write(&mut tensors);
        tensors.write(&folder.path(TENSORS))?;
        folder.write_json("report.json", report)?;
        folder.commit(&self.about)
    }

    /// Writes the ranker to `path`.
    pub fn save(&self, path: &Path, force: bool, report: &RankReport) -> Result<()> {
        self.save_in(NewFolder::create(FolderKind::Ranker, path, force)?, report)
    }

    /// Opens the ranker at `path`: a folder of ours, or a model that LightGBM wrote as text.
    pub fn open(path: &Path) -> Result<Self> {
        if Self::is_lightgbm(path) {
            return LightGbm::read(path).map(Self::of_lightgbm);
        }
        let folder: Folder<RankerAbout> = Folder::open(path, FolderKind::Ranker)?;
        let file = folder.file(TENSORS);
        let about = folder.manifest.about;
        let arrays = Arrays::read(&Tensors::open(&file)?)?;
        let (scorer, normaliser) = arrays
            .restored(about.normalisation, about.features.len())
            .map_err(|error| Error::damaged(&file, error.to_string()))?;
        Ok(Ranker { about, normaliser, scorer })
    }

    /// A model of LightGBM as a ranker of ours.
    pub fn of_lightgbm(model: LightGbm) -> Self {
        let normalisation = Normalisation::default();
        let about = RankerAbout {
            params: None,
            features: model.names,
            absent_is_missing: false,
            normalisation,
            goal: Goal::default(),
            validation: None,
            learnt_from: LearntFrom::default(),
        };
        let scorer = Scorer::Trees(model.trees);
        Ranker { about, normaliser: Normaliser::restore(normalisation, Vec::new()), scorer }
    }

    /// Whether the file at `path` is a model that LightGBM wrote as text.
    pub fn is_lightgbm(path: &Path) -> bool {
        let mut opening = [0u8; 5];
        let read = std::fs::File::open(path)
            .and_then(|mut file| std::io::Read::read_exact(&mut file, &mut opening));
        read.is_ok() && (opening == *b"tree\n" || opening == *b"tree\r")
    }

    /// The report of the fit of the ranker at `path`.
    pub fn report(path: &Path) -> Result<RankReport> {
        let folder: Folder<RankerAbout> = Folder::open(path, FolderKind::Ranker)?;
        folder.read_json("report.json")
    }
}

/// A few names, for people.
fn some(names: &[String]) -> String {
    const MOST: usize = 8;
    let shown = names.iter().take(MOST).cloned().collect::<Vec<_>>().join(", ");
    match names.len() > MOST {
        true => format!("{shown} and {} more", names.len() - MOST),
        false => shown,
    }
}

const TENSORS: &str = "ranker.safetensors";
