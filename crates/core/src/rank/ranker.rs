//! A trained ranker as one artefact: the names of its features, their normalisation, and its scorer.
//!
//! ```text
//! manifest.json             parameters, features and training data
//! ranker.safetensors        weights or trees, and the statistics of a normalisation over all rows
//! report.json               the report of the fit
//! ```

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::arrays::Arrays;
use super::normalise::{Normalisation, Normaliser};
use super::table::first_names;
use super::trees::LightGbm;
use super::{FeatureTable, Goal, RankParams, RankReport, Scorer};
use crate::file::{Folder, FolderKind, NewFolder, Tensors, TensorsWriter};
use crate::{Error, Result};

/// A fitted scorer with everything it needs to score a table.
#[derive(Debug, Clone, PartialEq)]
pub struct Ranker {
    /// Manifest of the ranker folder.
    pub about: RankerAbout,
    normaliser: Normaliser,
    scorer: Scorer,
}

/// The manifest of a ranker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RankerAbout {
    /// The method and its parameters; nothing if the ranker is from another program.
    pub params: Option<RankParams>,
    /// The names of its features.
    pub features: Vec<String>,
    /// Whether features that a row does not name are missing, instead of 0.
    #[serde(default)]
    pub absent_is_missing: bool,
    /// Normalisation of features.
    pub normalisation: Normalisation,
    /// The measure on validation.
    pub goal: Goal,
    /// The validation score, if there was validation.
    pub validation: Option<f64>,
    /// The training data.
    pub learnt_from: LearntFrom,
}

/// The training data of a ranker.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct LearntFrom {
    /// The files, if there were any.
    pub paths: Vec<PathBuf>,
    /// The number of rows.
    pub rows: usize,
    /// The number of queries.
    pub queries: usize,
}

/// The importance of a feature for a ranker.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct FeatureUse {
    /// The name of the feature.
    pub name: String,
    /// Trees: the share of its splits in the reduction of the loss. Linear: its weight.
    pub weight: f64,
    /// Trees: the number of its splits.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub splits: Option<usize>,
}

/// The scores of a table.
pub struct Scored {
    /// One per row.
    pub scores: Vec<f64>,
    /// Features of the ranker that the table does not have: missing, or 0 in a sparse file.
    pub lacking: Vec<String>,
}

impl Ranker {
    /// Puts a ranker together.
    pub fn new(about: RankerAbout, normaliser: Normaliser, scorer: Scorer) -> Self {
        Ranker { about, normaliser, scorer }
    }

    /// The function from normalised features to a score.
    pub fn scorer(&self) -> &Scorer {
        &self.scorer
    }

    /// The name of the method, `lightgbm` for a model of LightGBM.
    pub fn name(&self) -> &'static str {
        self.about.params.as_ref().map_or("lightgbm", RankParams::name)
    }

    /// The rows of `table` as input of the scorer, and the features that the table does not have.
    /// An error if it has none.
    pub fn prepared(&self, table: &FeatureTable) -> Result<(FeatureTable, Vec<String>)> {
        let (names, _) = self.names_in(table);
        let (table, lacking) = table.with_features(&names);
        if lacking.len() == names.len() && !names.is_empty() {
            return Err(Error::Empty {
                what: "the table has none of the ranker's features".into(),
                advice: format!("the ranker uses {}", first_names(&self.about.features)),
            });
        }
        Ok((self.normaliser.table(&table), lacking))
    }

    /// The names of the ranker's features in `table`, and a note if they had to be guessed. LightGBM
    /// calls features without names `Column_0`, `Column_1` …: by number if it read a LETOR file
    /// itself, in which there may be a feature 0, and by place if it was given the features alone.
    /// The number of features distinguishes the two, unless the last ones are in no row of the file.
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
            true => format!("the model's features have no names: Column_0 is matched to {first}"),
            false => "the model's features have no names: Column_1 is matched to feature 1".into(),
        };
        let names = match by_place {
            true => {
                let known = table.names().iter().cloned();
                // A feature that the table does not have keeps a name that is not in the table.
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

    /// The contribution of each feature to the score of the row at `at` among the rows of one query,
    /// then that of every row; rows as for [`Ranker::score_rows`].
    pub fn contributions(&self, values: &mut [f32], at: usize) -> Vec<f64> {
        let n = self.about.features.len();
        self.normaliser.rows(values, n);
        self.scorer.contributions(&values[at * n..(at + 1) * n])
    }

    /// The importance of the features, the most important first.
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

    /// Writes the ranker into `folder`, which was created before training.
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

    /// Opens the ranker at `path`: a ranker folder, or a text model of LightGBM.
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

    /// A model of LightGBM as a ranker.
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

    /// Whether the file at `path` is a text model of LightGBM.
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

const TENSORS: &str = "ranker.safetensors";
