//! Where things lie in the folder of an index.
//!
//! ```text
//! index.json             what it is, and how text is read
//! store.sqlite           documents, their changes, events, judgments, keys, versions of models
//! text/                  the text index
//! dataset/               the dataset that it was made of
//! models/NAME/VERSION/   a model folder, as training wrote it
//! images/NAME/VERSION/   the embeddings of the documents, and the lists of the ANN index
//! rankers/NAME           a ranker folder, or a model of LightGBM
//! counts/                words and their places, where rankers need them and no model has them
//! runs/                  runs of other engines, to compare with
//! ```
//! What training wrote is linked where the file system allows it: it never changes, so two names
//! of one file do no harm.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use liken::features::Preparation;
use liken::index::IndexParams;
use liken::text::AnalyzerParams;
use serde::{Deserialize, Serialize};

use crate::Error;

/// The newest layout that this version reads and writes.
pub(crate) const FORMAT: u32 = 1;

/// What `index.json` holds.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct IndexAbout {
    /// `index`, so that nobody takes it for another folder of ours.
    pub kind: String,
    /// The version of the layout.
    pub format: u32,
    /// The version of liken that wrote it.
    pub liken: String,
    /// The checksum of the dataset that it was made of.
    pub dataset: String,
    /// How many documents that one has; they are numbered from 0.
    pub documents: u32,
    /// How the text index reads documents.
    pub reading: Reading,
    /// Up to this many documents every model scores every document, which is exact; beyond, it
    /// asks the text index or the ANN index which ones to score.
    #[serde(default = "exact_below")]
    pub exact_below: usize,
}

/// [`IndexAbout::exact_below`] of an index that does not say.
pub(super) fn exact_below() -> usize {
    IndexParams::default().exact_below
}

/// How documents and queries are read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Reading {
    /// How text is cut into terms.
    pub analyzer: AnalyzerParams,
    /// The fields of a document that are read.
    pub fields: Vec<String>,
}

impl From<&Preparation> for Reading {
    fn from(preparation: &Preparation) -> Self {
        Reading { analyzer: preparation.analyzer.clone(), fields: preparation.fields.clone() }
    }
}

/// The folder of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Layout {
    /// Its path.
    pub root: PathBuf,
}

impl Layout {
    /// The index at `root`.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Layout { root: root.into() }
    }

    /// What it is.
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

    /// The dataset that it was made of.
    pub fn dataset(&self) -> PathBuf {
        self.root.join("dataset")
    }

    /// A version of a model.
    pub fn model(&self, name: &str, version: &str) -> PathBuf {
        self.root.join("models").join(name).join(version)
    }

    /// The embeddings of the documents under a version of a model.
    pub fn embeddings(&self, name: &str, version: &str) -> PathBuf {
        self.root.join("images").join(name).join(version)
    }

    /// The rankers.
    pub fn rankers(&self) -> PathBuf {
        self.root.join("rankers")
    }

    /// A model folder whose counts the features of rankers are made of, where no other will do.
    pub fn counts(&self) -> PathBuf {
        self.root.join("counts")
    }

    /// Runs of other engines.
    pub fn runs(&self) -> PathBuf {
        self.root.join("runs")
    }

    /// Reads what it is; an error that helps if it is no index, or one of a later version.
    pub fn read(&self) -> Result<IndexAbout, Error> {
        let path = self.about();
        let wrong = |what: String| Error::invalid(format!("{}: {what}", self.root.display()));
        let text = fs::read(&path).map_err(|error| wrong(format!("is no index: {error}")))?;
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

    /// Whether `path` is an index, so that it may be replaced by another.
    pub fn is_index(path: &Path) -> bool {
        Layout::new(path).read().is_ok()
    }
}

/// Puts a copy of the folder `from`, which holds files only, at `to`: as links to the same files
/// where that is possible. It appears whole or not at all.
pub(crate) fn link_folder(from: &Path, to: &Path) -> io::Result<()> {
    let unfinished = to.with_extension("unfinished");
    match fs::remove_dir_all(&unfinished) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => fs::create_dir_all(&unfinished)?,
    }
    let linked = link_files(from, &unfinished).and_then(|()| fs::rename(&unfinished, to));
    if linked.is_err() {
        // On a full disk all the more: what came of it is of no use to anybody.
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

/// Bytes of a file or of all files in a folder; 0 where there is none.
pub fn bytes_of(path: &Path) -> u64 {
    let Ok(entries) = fs::read_dir(path) else {
        return fs::metadata(path).map_or(0, |file| file.len());
    };
    entries.flatten().map(|entry| bytes_of(&entry.path())).sum()
}

/// Whether `name` can name a model, a ranker or a run: it becomes part of a path and of URLs.
pub(crate) fn check_name(kind: &str, name: &str) -> Result<(), Error> {
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    let sound = (1..=64).contains(&name.len())
        && name.chars().all(plain)
        && !name.starts_with('.')
        && !name.ends_with(".unfinished");
    if sound {
        return Ok(());
    }
    Err(Error::invalid(format!(
        "{name:?} cannot name a {kind}: expected 1 to 64 letters, digits, '.', '_' or '-', not \
         beginning with a dot"
    )))
}
