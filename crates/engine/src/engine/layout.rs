//! The folder of an index.
//!
//! ```text
//! index.json                 format, dataset, and how text is read
//! store.sqlite               documents, their changes, events, judgments, keys, versions of models
//! text/                      the text index
//! dataset/                   the dataset that the index was built from
//! models/NAME/VERSION/       a model folder, as training wrote it
//! embeddings/NAME/VERSION/   the embeddings of the documents, and the lists of the ANN index
//!                            (`images/` in indexes of earlier versions)
//! rankers/NAME               a ranker folder, or a model of LightGBM
//! counts/                    counts with positions of words, if rankers need them and no model has them
//! runs/                      runs of other engines, to compare with
//! ```
//! Datasets and models never change, so their files are hard links where the file system allows it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use liken::features::Preparation;
use liken::file::{Folder, FolderKind};
use liken::index::IndexParams;
use liken::matchers::ModelAbout;
use liken::text::{Analyzer, AnalyzerParams};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::Error;
use crate::text::Tokens;
use crate::types::ModelRef;

/// The newest layout that this version reads and writes.
pub(crate) const FORMAT: u32 = 1;

/// The contents of `index.json`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexAbout {
    /// `index`: other folders have another kind.
    pub kind: String,
    /// The version of the layout.
    pub format: u32,
    /// The version of liken that wrote it.
    pub liken: String,
    /// The checksum of the dataset that the index was built from.
    pub dataset: String,
    /// The number of documents of that dataset; they are numbered from 0.
    pub documents: u32,
    /// The text analysis of the text index.
    pub reading: TextReading,
    /// Up to this many documents every model scores every document, which is exact; beyond, it
    /// asks the text index or the ANN index which ones to score.
    #[serde(default = "exact_below")]
    pub exact_below: usize,
}

/// The default of [`IndexAbout::exact_below`].
pub(super) fn exact_below() -> usize {
    IndexParams::default().exact_below
}

/// The text analysis of documents and queries.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextReading {
    /// The analyser.
    pub analyzer: AnalyzerParams,
    /// The fields of a document that are read.
    pub fields: Vec<String>,
}

impl From<&Preparation> for TextReading {
    fn from(preparation: &Preparation) -> Self {
        TextReading { analyzer: preparation.analyzer.clone(), fields: preparation.fields.clone() }
    }
}

impl TextReading {
    /// The words of a document, for the text index.
    pub(crate) fn tokens(&self, analyzer: &Analyzer, fields: &Map<String, Value>) -> Tokens {
        let mut tokens = Tokens::new();
        for name in &self.fields {
            if let Some(value) = fields.get(name) {
                tokens.field(analyzer, name, value);
            }
        }
        tokens
    }
}

/// The folder of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Folder of the index.
    pub root: PathBuf,
}

impl Layout {
    /// The index at `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Layout { root: root.into() }
    }

    /// The file that describes it.
    pub fn about(&self) -> PathBuf {
        self.root.join("index.json")
    }

    /// The database.
    pub fn store(&self) -> PathBuf {
        self.root.join("store.sqlite")
    }

    /// The text index.
    pub fn text(&self) -> PathBuf {
        self.root.join("text")
    }

    /// The dataset that it was built from.
    pub fn dataset(&self) -> PathBuf {
        self.root.join("dataset")
    }

    /// A version of a model.
    pub fn model(&self, model: &ModelRef) -> PathBuf {
        self.root.join("models").join(&model.name).join(&model.version)
    }

    /// The embeddings of the documents under all models. Indexes of earlier versions hold them in `images`.
    pub fn all_embeddings(&self) -> PathBuf {
        let earlier = self.root.join("images");
        if earlier.is_dir() { earlier } else { self.root.join("embeddings") }
    }

    /// The embeddings of the documents under a version of a model.
    pub fn embeddings(&self, model: &ModelRef) -> PathBuf {
        self.all_embeddings().join(&model.name).join(&model.version)
    }

    /// Folder of the rankers.
    pub fn rankers(&self) -> PathBuf {
        self.root.join("rankers")
    }

    /// A model folder with the counts behind the features of rankers, if no model has them.
    pub fn counts(&self) -> PathBuf {
        self.root.join("counts")
    }

    /// Runs of other engines.
    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// Reads `index.json`; an error if the folder is no index, or one of a later version.
    pub fn read(&self) -> Result<IndexAbout, Error> {
        let path = self.about();
        let wrong = |what: String| Error::invalid(format!("{}: {what}", self.root.display()));
        let text = fs::read(&path).map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => wrong("is not an index: it has no index.json".into()),
            _ => wrong(format!("is not an index: {error}")),
        })?;
        let about: IndexAbout = serde_json::from_slice(&text)
            .map_err(|error| wrong(format!("index.json is damaged: {error}")))?;
        if about.kind != "index" {
            return Err(wrong(format!("is a {}, not an index", about.kind)));
        }
        if about.format > FORMAT {
            return Err(wrong(format!(
                "was written in format {}, but this liken reads formats up to {FORMAT}",
                about.format
            )));
        }
        Ok(about)
    }

    /// Whether `path` is an index.
    pub fn is_index(path: &Path) -> bool {
        Layout::new(path).read().is_ok()
    }
}

/// Makes a folder and its parents.
pub(crate) fn make_folder(path: &Path) -> liken::Result<()> {
    fs::create_dir_all(path).map_err(liken::Error::io("create", path))
}

/// The manifest of a model folder, with its files checked.
pub(crate) fn model_folder(path: &Path) -> liken::Result<Folder<ModelAbout>> {
    Folder::open(path, FolderKind::Model)
}

/// The text analysis of a model folder.
pub(crate) fn preparation_of(path: &Path) -> liken::Result<Preparation> {
    model_folder(path)?.read_json("preparation.json")
}

/// Copies the folder `from`, which holds files only, to `to`, as hard links where that is possible.
/// It appears whole or not at all.
pub(crate) fn link_folder(from: &Path, to: &Path) -> liken::Result<()> {
    link(from, to).map_err(liken::Error::io("copy", from))
}

fn link(from: &Path, to: &Path) -> io::Result<()> {
    let unfinished = to.with_extension("unfinished");
    match fs::remove_dir_all(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(&unfinished)?,
    }
    let linked = link_files(from, &unfinished).and_then(|()| fs::rename(&unfinished, to));
    if linked.is_err() {
        // Above all on a full disk.
        let _ = fs::remove_dir_all(&unfinished);
    }
    linked
}

fn link_files(from: &Path, to: &Path) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if entry.file_type()?.is_dir() {
            continue;
        }
        let target = to.join(entry.file_name());
        if fs::hard_link(entry.path(), &target).is_err() {
            fs::copy(entry.path(), &target)?;
        }
    }
    Ok(())
}

/// Bytes of a file or of all files in a folder; 0 if there is none.
pub fn bytes_of(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else {
        return fs::metadata(path).map_or(0, |file| file.len());
    };
    entries.flatten().map(|entry| bytes_of(&entry.path())).sum()
}

/// An error if `name` cannot name a model or a ranker (`kind`): it becomes part of paths and URLs.
pub(crate) fn check_name(kind: &str, name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let valid = (1..=64).contains(&name.len())
        && name.chars().all(plain)
        && !name.starts_with('.')
        && !name.ends_with(".unfinished");
    if valid {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{name:?} cannot name a {kind}: expected 1 to 64 letters, digits, '.', '_' or '-', not \
         starting with a dot"
    )))
}
