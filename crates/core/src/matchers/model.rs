//! A trained model as one artefact: counts, statistics, analyser and vocabulary, and one or more
//! fitted matchers with their weights. Serving needs nothing else.
//!
//! ```text
//! manifest.json             kind, parameters and dataset
//! parameters.json           weight and parameters of every part, as in the manifest
//! preparation.json          the analyser and the fields
//! statistics.json           counts of the collection
//! vocabulary.jsonl          the terms
//! documents.jsonl           ids of the documents
//! queries.jsonl             ids and texts of the queries
//! counts.safetensors        raw counts and training clicks
//! part-N.safetensors        the learnt state of matcher N
//! report.json               the report of every fit
//! times.json                when, how long and with how many threads; not part of the identity
//! ```

use std::collections::HashSet;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::mix::{MixKind, Mixture, reciprocal_ranks, standardise};
use super::{FitReport, Matcher, Params, SavedState};
use crate::data::{Dataset, Document};
use crate::features::{
    Classes, Counts, EvidenceAbout, Field, Positions, Preparation, QueryTerms, Sequences, Unread,
};
use crate::file::{
    Folder, FolderKind, LineTable, LineTableWriter, NewFolder, Tensors, TensorsWriter,
};
use crate::ranking::{Hit, tie_rank, top_k};
use crate::text::Vocabulary;
use crate::{Error, Result};

/// One matcher of a model.
pub struct Part {
    /// Its weight; 1 if it is the only one.
    pub weight: f64,
    /// Parameters of the fit.
    pub params: Params,
    /// What fitting yielded.
    pub matcher: Arc<dyn Matcher>,
}

impl Part {
    /// Adds weight·score to every sum.
    pub(super) fn add_weighted(&self, scores: &[f32], sums: &mut [f32]) {
        sums.iter_mut().zip(scores).for_each(|(sum, &score)| *sum += self.weight as f32 * score);
    }
}

/// A trained model, as stored in a model folder.
pub struct Model {
    /// The content of the manifest.
    pub about: ModelAbout,
    /// The counts of training.
    pub counts: Counts,
    /// One part, or those of a mix in its order.
    pub parts: Vec<Part>,
    tie_rank: Vec<u32>,
    /// The number of documents of training; documents added later come after them.
    n_own: usize,
}

/// A model fresh from training, with the reports of its fits.
pub struct Trained {
    /// Fitted model.
    pub model: Model,
    /// One report per part.
    pub reports: Vec<FitReport>,
    /// The validation score that chose the weights of a mix.
    pub validation: Option<f64>,
    /// Features that each part took over from an earlier model, with a warm start.
    pub known: Vec<Option<KnownFeatures>>,
}

/// How many of the features of a fit the model that it started from already had.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct KnownFeatures {
    /// Query features of the earlier model among those of the fit, and the latter in all.
    pub query_features: (usize, usize),
    /// The same of document features.
    pub doc_features: (usize, usize),
}

/// The description of a model in its manifest.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelAbout {
    /// `rmls`, or a mix such as `pls+bm25`.
    pub name: String,
    /// Combination of the scores of a mix.
    #[serde(default)]
    pub fusion: MixKind,
    /// Weight and parameters of every part.
    pub parts: Vec<PartAbout>,
    /// The dataset it was trained on.
    pub dataset: DatasetRef,
    /// The size of its training data.
    pub counts: ModelCounts,
    /// Weighting of the training clicks, if they came from a raw log.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<EvidenceAbout>,
}

/// Weight and parameters of a part.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PartAbout {
    /// Its weight in the mix.
    pub weight: f64,
    /// Parameters of the fit.
    #[serde(flatten)]
    pub params: Params,
}

/// A dataset by path and checksum.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct DatasetRef {
    /// The folder with the text of the documents.
    pub path: PathBuf,
    /// The checksum of its content.
    pub identity: String,
}

/// The size of the training data of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct ModelCounts {
    /// Number of training queries.
    pub queries: usize,
    /// Number of documents.
    pub documents: usize,
    /// Terms.
    pub terms: usize,
    /// Training pairs.
    pub pairs: usize,
}

/// The content of statistics.json.
#[derive(Debug, Serialize, Deserialize)]
struct Statistics {
    n_training_docs: usize,
    unread: Unread,
    fields: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    classes: Vec<String>,
}

#[derive(Debug, Serialize, Deserialize)]
struct QueryName {
    id: String,
    text: String,
}

impl Model {
    /// A model of the fitted parts of a mix and the counts they were fitted to.
    pub fn assemble(mix: &Mixture, dataset: &Dataset, counts: Counts, parts: Vec<Part>) -> Self {
        let path = std::path::absolute(&dataset.folder.path)
            .unwrap_or_else(|_| dataset.folder.path.clone());
        let about = ModelAbout {
            name: mix.to_string(),
            fusion: mix.fusion,
            parts: parts
                .iter()
                .map(|part| PartAbout { weight: part.weight, params: part.params.clone() })
                .collect(),
            dataset: DatasetRef { path, identity: dataset.folder.identity() },
            counts: ModelCounts {
                queries: counts.n_queries(),
                documents: counts.n_docs(),
                terms: counts.n_terms(),
                pairs: counts.clicks.nnz(),
            },
            evidence: counts.evidence.clone(),
        };
        Model::new(about, counts, parts)
    }

    fn new(about: ModelAbout, counts: Counts, parts: Vec<Part>) -> Self {
        let tie_rank = tie_rank(&counts.doc_ids);
        let n_own = counts.n_docs();
        Model { about, counts, parts, tie_rank, n_own }
    }

    /// The same model with unseen documents, which score by their words; the scores of all others
    /// stay the same to the bit. Documents whose ids it has are ignored.
    pub fn with_documents(self, documents: &[Document]) -> Result<Self> {
        let mut known: HashSet<&str> = self.counts.doc_ids.iter().map(String::as_str).collect();
        let new: Vec<Document> = documents
            .iter()
            .filter(|document| known.insert(document.id.as_str()))
            .cloned()
            .collect();
        let n_own = self.n_own;
        let counts = self.counts.with_documents(&new)?;
        let mut parts = Vec::with_capacity(self.parts.len());
        for Part { weight, params, matcher } in self.parts {
            let matcher = match matcher.with_documents(&counts, new.len())? {
                Some(matcher) => matcher,
                None => params.restore(&counts, SavedState(None))?,
            };
            parts.push(Part { weight, params, matcher: matcher.into() });
        }
        Ok(Model { n_own, ..Model::new(self.about, counts, parts) })
    }

    /// Standardises the scores of a part, or replaces them by reciprocal ranks, as the mix adds them;
    /// returns mean and deviation if it standardises.
    pub(super) fn make_comparable(&self, scores: &mut [f32]) -> Option<(f64, f64)> {
        match self.about.fusion {
            // By the documents of training, so that later ones do not change it.
            MixKind::Linear => Some(standardise(scores, self.n_own)),
            MixKind::Rrf => {
                reciprocal_ranks(scores, self.n_own);
                None
            }
        }
    }

    /// The `k` best documents for a query.
    pub fn search(&self, query: &QueryTerms, k: usize) -> Vec<Hit> {
        top_k(&self.scores(query), k, &self.tie_rank, &[])
    }

    /// Whether all parts match words only, so that a score of 0 means no word in common.
    pub fn is_lexical(&self) -> bool {
        self.parts.iter().all(|part| part.matcher.is_lexical())
    }

    /// Reads a query; an error if it has neither a word of the vocabulary nor clicks.
    pub fn read_query(&self, text: &str) -> Result<QueryTerms> {
        self.checked(self.counts.read_query(text), text)
    }

    /// Reads a query that has an id, as [`Counts::read_query_of`] does.
    pub fn read_query_of(&self, id: &str, text: &str) -> Result<QueryTerms> {
        self.checked(self.counts.read_query_of(id, text), text)
    }

    fn checked(&self, query: QueryTerms, text: &str) -> Result<QueryTerms> {
        let liked = |i: u32| self.counts.clicks.row(i as usize).values.iter().any(|&v| v > 0.0);
        let clicked = query.known.is_some_and(liked);
        if query.indices.is_empty() && !clicked {
            let advice = if query.unknown.is_empty() {
                "it has only stop words, punctuation or space: add a word".to_owned()
            } else {
                format!(
                    "the model does not know {}; character n-grams (`char_ngrams = 3-5` in training) help with unseen words",
                    query.unknown.join(", ")
                )
            };
            return Err(Error::Empty {
                what: format!("the query {text:?} analyses to nothing"),
                advice,
            });
        }
        Ok(query)
    }

    /// The number of the document called `id`.
    pub fn find_doc(&self, id: &str) -> Result<u32> {
        self.counts.doc_ids.iter().position(|known| known == id).map(|at| at as u32).ok_or_else(
            || Error::Unknown {
                kind: "document",
                name: id.to_owned(),
                advice: "a search shows the ids of documents".into(),
            },
        )
    }
}

impl Trained {
    /// Writes the model folder at `path`.
    pub fn save(&self, path: &Path, force: bool, took: Duration) -> Result<()> {
        self.save_in(NewFolder::create(FolderKind::Model, path, force)?, took)
    }

    /// Writes the model into `folder`, created before training so that a folder that is not writable
    /// is found before the work.
    pub fn save_in(&self, folder: NewFolder, took: Duration) -> Result<()> {
        let counts = &self.model.counts;
        folder.write_json("preparation.json", &counts.preparation)?;
        let statistics = Statistics {
            n_training_docs: counts.n_training_docs,
            unread: counts.unread,
            fields: counts.fields.iter().map(|field| field.name.clone()).collect(),
            classes: counts.classes.iter().flat_map(|classes| classes.names.clone()).collect(),
        };
        folder.write_json("statistics.json", &statistics)?;
        folder.write_json("parameters.json", &self.model.about.parts)?;
        folder.write_json("report.json", &self.reports)?;
        counts.vocabulary.write(&folder.path("vocabulary.jsonl"))?;
        let mut documents = LineTableWriter::create(&folder.path("documents.jsonl"))?;
        counts.doc_ids.iter().try_for_each(|id| documents.push(id))?;
        documents.finish()?;
        let mut queries = LineTableWriter::create(&folder.path("queries.jsonl"))?;
        for (id, text) in counts.query_ids.iter().zip(&counts.query_texts) {
            queries.push(&QueryName { id: id.clone(), text: text.clone() })?;
        }
        queries.finish()?;
        let mut tensors = TensorsWriter::new();
        for (f, field) in counts.fields.iter().enumerate() {
            tensors.csr(&format!("field.{f}"), &field.docs);
        }
        let positions = counts.positions.iter().flat_map(|positions| &positions.fields);
        for (f, field) in positions.enumerate() {
            let (starts, terms) = (field.starts(), field.terms());
            tensors.array(&format!("positions.{f}.starts"), &[starts.len()], starts);
            tensors.array(&format!("positions.{f}.terms"), &[terms.len()], terms);
        }
        tensors.csr("queries", &counts.queries).csr("clicks", &counts.clicks);
        tensors.array(
            "held_out_documents",
            &[counts.held_out_documents.len()],
            &counts.held_out_documents,
        );
        if let Some(classes) = &counts.classes {
            tensors.array("classes", &[classes.of.len()], &classes.of);
        }
        if !counts.own_documents.is_empty() {
            let own = &counts.own_documents;
            tensors.array("own_documents", &[own.len()], own);
        }
        tensors.write(&folder.path("counts.safetensors"))?;
        for (p, part) in self.model.parts.iter().enumerate() {
            let mut tensors = TensorsWriter::new();
            part.matcher.save_state(&mut tensors);
            if !tensors.is_empty() {
                tensors.write(&folder.path(&format!("part-{p}.safetensors")))?;
            }
        }
        let times = serde_json::json!({
            "finished": std::time::SystemTime::now()
                .duration_since(std::time::UNIX_EPOCH).map_or(0, |since| since.as_secs()),
            "seconds": took.as_secs_f64(),
            "threads": rayon::current_num_threads(),
        });
        folder.write_json("times.json", &times)?;
        folder.commit(&self.model.about)
    }
}

impl Model {
    /// Opens and verifies the model folder at `path`.
    pub fn open(path: &Path) -> Result<Self> {
        let folder: Folder<ModelAbout> = Folder::open(path, FolderKind::Model)?;
        // The manifest is for readers; its parameters must be those that were saved.
        let parts: Vec<PartAbout> = folder.read_json("parameters.json")?;
        if parts != folder.manifest.about.parts {
            let problem = "its parameters differ from those of parameters.json";
            return Err(Error::damaged(&folder.file("manifest.json"), problem));
        }
        let preparation: Preparation = folder.read_json("preparation.json")?;
        let statistics: Statistics = folder.read_json("statistics.json")?;
        let tensors_path = folder.file("counts.safetensors");
        let tensors = Tensors::open(&tensors_path)?;
        let mut fields = Vec::new();
        for (f, name) in statistics.fields.into_iter().enumerate() {
            fields.push(Field { name, docs: tensors.csr(&format!("field.{f}"))? });
        }
        let vocabulary = Vocabulary::open(&folder.file("vocabulary.jsonl"))?;
        let sequences = |f: usize| {
            let (_, starts) = tensors.array::<u64>(&format!("positions.{f}.starts"))?;
            let (_, terms) = tensors.array::<u32>(&format!("positions.{f}.terms"))?;
            Sequences::new(starts, terms, vocabulary.len())
                .map_err(|error| Error::damaged(&tensors_path, error.to_string()))
        };
        let positions = match preparation.positions {
            true => {
                Some(Positions { fields: (0..fields.len()).map(sequences).collect::<Result<_>>()? })
            }
            false => None,
        };
        let doc_ids: Vec<String> =
            LineTable::open(&folder.file("documents.jsonl"))?.iter().collect::<Result<_>>()?;
        let names: LineTable<QueryName> = LineTable::open(&folder.file("queries.jsonl"))?;
        let names = names.iter().map(|name| name.map(|name| (name.id, name.text)));
        let (query_ids, query_texts) = names.collect::<Result<Vec<_>>>()?.into_iter().unzip();
        let own_documents = match tensors.has("own_documents")? {
            true => tensors.array("own_documents")?.1,
            false => Vec::new(),
        };
        let classes = match tensors.has("classes")? {
            true => Some(Classes { names: statistics.classes, of: tensors.array("classes")?.1 }),
            false => None,
        };
        let stored = crate::features::StoredCounts {
            preparation,
            vocabulary,
            fields,
            positions,
            classes,
            queries: tensors.csr("queries")?,
            clicks: tensors.csr("clicks")?,
            evidence: folder.manifest.about.evidence.clone(),
            held_out_documents: tensors.array("held_out_documents")?.1,
            own_documents,
            doc_ids,
            query_ids,
            query_texts,
            unread: statistics.unread,
        };
        stored.check(&tensors_path)?;
        let counts = Counts::from_stored(stored)?;
        let mut fitted = Vec::new();
        for (p, about) in folder.manifest.about.parts.iter().enumerate() {
            let path = folder.file(&format!("part-{p}.safetensors"));
            let tensors = if path.exists() { Some(Tensors::open(&path)?) } else { None };
            let restored = about.params.restore(&counts, SavedState(tensors.as_ref()));
            let matcher = restored.map_err(|error| match error {
                damaged @ Error::Damaged { .. } => damaged,
                other => Error::damaged(&path, other.to_string()),
            })?;
            let params = about.params.clone();
            fitted.push(Part { weight: about.weight, params, matcher: matcher.into() });
        }
        Ok(Model::new(folder.manifest.about, counts, fitted))
    }
}
