//! The dataset folder: what every importer writes and every trainer reads.
//!
//! ```text
//! manifest.json                  counts, sources with checksums, how it was split and filtered
//! queries.jsonl                  one query per line: id, text as shown, clicks in the whole log
//! documents.jsonl                one document per line: id and its fields, unchanged
//! *.offsets.safetensors          where each line starts
//! matrices.safetensors           clicks (training), validation and test judgments, held-out documents,
//!                                and relevant pairs in none of the three, if there are any
//! impressions.safetensors        impressions, if the log has them
//! log.jsonl.zst                  the aggregated raw log, to which another day can be appended
//! ```
//! Rows of the matrices are queries, columns are documents, both in the order of the
//! text tables. Judgments of grade 0 are stored, so that "not relevant" differs from "not judged".

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::events::EventsAbout;
use super::impressions::{self, Impressions, ImpressionsAt};
use super::task_params::TaskParams;
use crate::file::{
    Folder, FolderKind, LineTable, LineTableWriter, NewFolder, Tensors, TensorsWriter,
};
use crate::rows::Source;
use crate::sparse::Csr;
use crate::{Error, Result};

/// One query.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Query {
    /// Its identity: the source's id, or the normalised text where the source has none.
    pub id: String,
    /// Its most frequent spelling.
    pub text: String,
    /// Clicks in the whole log, before any split or filter.
    pub clicks: f64,
}

/// One document: an id and fields, written flat. A field is text, or a bag of counts (an
/// object of numbers), or any other JSON, which is stored and not read.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Document {
    /// The source's id.
    pub id: String,
    /// `title`, `body`, `url`, `class` and whatever else the source has, in its order.
    #[serde(flatten)]
    pub fields: Map<String, Value>,
}

/// The description of a dataset in its manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatasetAbout {
    /// Numbers of queries, documents and pairs.
    pub counts: DatasetSize,
    /// The files it was made from.
    pub sources: Vec<Source>,
    /// Split of the pairs.
    pub split: SplitAbout,
    /// Training pairs with fewer clicks than this were dropped.
    pub min_clicks: Option<f64>,
    /// Source of the grades of validation and test.
    pub evidence: RelevanceSource,
    /// The raw log it was made from, if there was one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub events: Option<EventsAbout>,
    /// The retrieval task it was made as, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task: Option<TaskParams>,
    /// The report of the import, in sentences.
    pub report: Vec<String>,
}

impl DatasetAbout {
    /// A generated dataset: no sources, split as given, no filter.
    pub fn as_given(evidence: RelevanceSource) -> Self {
        DatasetAbout {
            counts: DatasetSize::default(),
            sources: Vec::new(),
            split: SplitAbout { by: SplitBy::Given, seed: 0, shares: (0.0, 0.0) },
            min_clicks: None,
            evidence,
            events: None,
            task: None,
            report: Vec::new(),
        }
    }
}

/// The size of a dataset.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct DatasetSize {
    /// Queries, judged or clicked.
    pub queries: usize,
    /// Documents, clicked or not.
    pub documents: usize,
    /// Training pairs of query and document.
    pub pairs: usize,
    /// Training clicks, or the sum of the weights.
    pub clicks: f64,
    /// Judged queries and pairs in validation.
    pub validation: (usize, usize),
    /// Judged queries and pairs in test.
    pub test: (usize, usize),
}

/// Split of a dataset into training, validation and test.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct SplitAbout {
    /// Unit of the split.
    pub by: SplitBy,
    /// The seed of the random split.
    pub seed: u64,
    /// The shares of validation and test.
    pub shares: (f64, f64),
}

/// Unit of the split.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum SplitBy {
    /// Queries: all clicks of a held-out query are held out.
    Queries,
    /// Pairs of query and document: a query may have some in training and some held out.
    Edges,
    /// Documents: all clicks on a held-out document are held out.
    Documents,
    /// Judged queries: all clicks are training, the judgments are split.
    Judgments,
    /// Clicks, by time: the newest are held out.
    Time,
    /// As given in the source.
    Given,
}

/// Source of the grades of validation and test.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum RelevanceSource {
    /// Judgments by people (or the known truth of a synthetic log).
    Judgments,
    /// Held-out clicks, each of grade 1.
    #[default]
    HeldOutClicks,
}

/// A dataset folder, opened.
pub struct Dataset {
    /// The folder and its manifest.
    pub folder: Folder<DatasetAbout>,
    /// The queries' texts.
    pub queries: LineTable<Query>,
    /// The documents' texts.
    pub documents: LineTable<Document>,
    /// Training clicks (or weights): queries × documents.
    pub clicks: Csr,
    /// Validation grades: queries × documents.
    pub validation: Csr,
    /// Test grades: queries × documents.
    pub test: Csr,
    /// Documents that training must not count, sorted (split by documents only).
    pub held_out_documents: Vec<u32>,
    /// Relevant pairs that a task put in none of the three. They are not wrong answers, so their
    /// documents are not ranked for their queries. Queries × documents.
    pub set_aside: Csr,
}

impl Dataset {
    /// Opens and verifies the dataset folder at `path`.
    pub fn open(path: &Path) -> Result<Self> {
        let folder: Folder<DatasetAbout> = Folder::open(path, FolderKind::Dataset)?;
        let matrices = Tensors::open(&folder.file("matrices.safetensors"))?;
        let clicks = matrices.csr("clicks")?;
        let shape = (clicks.n_rows(), clicks.n_cols());
        let set_aside = match matrices.has("set_aside.starts")? {
            true => matrices.csr("set_aside")?,
            false => Csr::empty(shape.0, shape.1),
        };
        if (set_aside.n_rows(), set_aside.n_cols()) != shape {
            let path = folder.file("matrices.safetensors");
            return Err(Error::damaged(&path, "set_aside and clicks have different sizes"));
        }
        Ok(Dataset {
            queries: LineTable::open(&folder.file("queries.jsonl"))?,
            documents: LineTable::open(&folder.file("documents.jsonl"))?,
            clicks,
            validation: matrices.csr("validation")?,
            test: matrices.csr("test")?,
            held_out_documents: matrices.array("held_out_documents")?.1,
            set_aside,
            folder,
        })
    }

    /// The impressions that training may learn from; none where the log has none.
    pub fn impressions(&self) -> Result<Impressions> {
        self.impressions_at().open()
    }

    /// The file of [`Dataset::impressions`].
    pub fn impressions_at(&self) -> ImpressionsAt {
        if !self.folder.manifest.files.contains_key(impressions::FILE) {
            return ImpressionsAt::default();
        }
        let path = self.folder.file(impressions::FILE);
        ImpressionsAt::new(path, self.clicks.n_rows(), self.clicks.n_cols())
    }

    /// The description in the manifest.
    pub fn about(&self) -> &DatasetAbout {
        &self.folder.manifest.about
    }
}

/// Writes a dataset folder, text first, matrices last. Dropped before
/// [`DatasetWriter::finish`], it removes what it wrote.
pub struct DatasetWriter {
    folder: NewFolder,
    queries: LineTableWriter,
    documents: LineTableWriter,
    set_aside: Option<Csr>,
}

impl DatasetWriter {
    /// Starts a dataset, which appears at `path` when it is finished.
    pub fn create(path: &Path, force: bool) -> Result<Self> {
        let folder = NewFolder::create(FolderKind::Dataset, path, force)?;
        let queries = LineTableWriter::create(&folder.path("queries.jsonl"))?;
        let documents = LineTableWriter::create(&folder.path("documents.jsonl"))?;
        Ok(DatasetWriter { folder, queries, documents, set_aside: None })
    }

    /// Where to write the file `name` of the dataset, and scratch files.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path(name)
    }

    /// The documents written so far.
    pub(super) fn documents_so_far(&mut self) -> Result<LineTable<Document>> {
        self.documents.so_far()
    }

    /// Appends a query.
    pub fn query(&mut self, query: &Query) -> Result<()> {
        self.queries.push(query)
    }

    /// Appends a document.
    pub fn document(&mut self, document: &Document) -> Result<()> {
        self.documents.push(document)
    }

    /// Sets [`Dataset::set_aside`].
    pub fn set_aside(&mut self, pairs: Csr) {
        self.set_aside = Some(pairs).filter(|pairs| pairs.nnz() > 0);
    }

    /// Writes the matrices and the manifest and renames the folder into place. Fills in
    /// `about.counts`.
    pub fn finish(
        self,
        clicks: &Csr,
        validation: &Csr,
        test: &Csr,
        held_out_documents: &[u32],
        mut about: DatasetAbout,
    ) -> Result<DatasetAbout> {
        let written = (self.queries.len(), self.documents.len());
        if written != (clicks.n_rows(), clicks.n_cols()) {
            return Err(Error::Structure {
                problem: format!(
                    "{} × {} clicks for {} queries and {} documents",
                    clicks.n_rows(),
                    clicks.n_cols(),
                    written.0,
                    written.1
                ),
            });
        }
        about.counts = DatasetSize {
            queries: clicks.n_rows(),
            documents: clicks.n_cols(),
            pairs: clicks.nnz(),
            // Weights below zero are not clicks. An empty sum is -0, which + 0.0 turns into 0.
            clicks: clicks.values().iter().map(|&v| f64::from(v).max(0.0)).sum::<f64>() + 0.0,
            validation: judged(validation),
            test: judged(test),
        };
        self.queries.finish()?;
        self.documents.finish()?;
        let mut matrices = TensorsWriter::new();
        matrices.csr("clicks", clicks).csr("validation", validation).csr("test", test);
        matrices.array("held_out_documents", &[held_out_documents.len()], held_out_documents);
        if let Some(set_aside) = &self.set_aside {
            matrices.csr("set_aside", set_aside);
        }
        matrices.write(&self.folder.path("matrices.safetensors"))?;
        self.folder.commit(&about)?;
        Ok(about)
    }
}

fn judged(grades: &Csr) -> (usize, usize) {
    (grades.rows().filter(|row| !row.is_empty()).count(), grades.nnz())
}
