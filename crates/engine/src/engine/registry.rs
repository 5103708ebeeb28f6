//! Versions of models: added to the index, activated, rolled back. A version is named by the
//! beginning of its folder's checksum, so the same model is never added twice.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use liken::Run;
use liken::data::{Dataset, Document};
use liken::index::{EMBEDDINGS_FILE, EmbeddingIndex, Embeddings, IndexParams, MEASURED};
use liken::matchers::{Bilinear, Model};

use super::Engine;
use super::docs::Chunk;
use super::fold_in::fold_in;
use super::layout::{
    IndexAbout, Layout, TextReading, check_name, link_folder, make_folder, model_folder,
};
use super::postings::{Postings, sparse_of};
use super::served::{DocMapping, ServedModel, UNMAPPED};
use super::snapshot::IndexState;
use super::view::ModelView;
use crate::Error;
use crate::store::ModelEntry;
use crate::types::{LoadRequest, ModelAbout, ModelRef};

/// Characters of a checksum that name a version.
const VERSION: usize = 12;
/// Documents per block that are compared with those of training.
const BLOCK: usize = 4096;

impl Engine {
    /// All versions of all models.
    pub fn models(&self) -> Result<Vec<ModelAbout>, Error> {
        Ok(self.store.models()?.into_iter().map(|entry| entry.about).collect())
    }

    /// The active models, in the order of the index.
    pub fn active(&self) -> Vec<Arc<ServedModel>> {
        self.state().models.iter().map(|view| Arc::clone(&view.served)).collect()
    }

    /// Adds a model folder to the index. Searches do not wait for it.
    pub fn load(&self, request: &LoadRequest) -> Result<ModelAbout, Error> {
        if request.name.is_empty() || request.path.is_empty() {
            return Err(Error::invalid("expected a name and a path, neither of them empty"));
        }
        check_name("model", &request.name)?;
        let path = Path::new(&request.path);
        let entry = add_version(&self.layout, &self.about, &request.name, path, &Run::silent())?;
        let served =
            Arc::new(open_version(&self.layout, &self.about, self.dataset.as_ref(), &entry)?);
        let entry = self.store.add_model(&entry)?;
        let model = entry.about.model.clone();
        self.maker.lock().unwrap_or_else(PoisonError::into_inner).loaded.insert(model, served);
        match request.activate {
            true => self.activate(&entry.about.model.name, &entry.about.model.version),
            false => Ok(entry.about),
        }
    }

    /// Makes a version the active one: later searches use it, running ones finish with theirs.
    pub fn activate(&self, name: &str, version: &str) -> Result<ModelAbout, Error> {
        let wanted = ModelRef { name: name.to_owned(), version: version.to_owned() };
        let find = || -> Result<ModelEntry, Error> {
            let mut known = self.store.models()?;
            known.retain(|entry| entry.about.model.name == name);
            if let Some(at) = known.iter().position(|entry| entry.about.model == wanted) {
                return Ok(known.swap_remove(at));
            }
            let versions: Vec<&str> =
                known.iter().map(|entry| entry.about.model.version.as_str()).collect();
            Err(Error::not_found(match &versions[..] {
                [] => format!("no model is called {name:?}"),
                _ => format!(
                    "{name} has no version {version:?}; its versions are {}",
                    versions.join(", ")
                ),
            }))
        };
        self.exchange(find, || Ok(self.store.activate(&wanted)?))
    }

    /// Activates the version of a model that was active before the current one.
    pub fn roll_back(&self, name: &str) -> Result<ModelAbout, Error> {
        self.exchange(|| Ok(self.store.version_before(name)?), || Ok(self.store.roll_back(name)?))
    }

    /// Replaces the active version of a model by the one that `find` returns; `record` writes that to
    /// the database.
    fn exchange(
        &self,
        find: impl Fn() -> Result<ModelEntry, Error>,
        record: impl FnOnce() -> Result<ModelEntry, Error>,
    ) -> Result<ModelAbout, Error> {
        let lock = || self.maker.lock().unwrap_or_else(PoisonError::into_inner);
        // Opening a model takes long, and documents change meanwhile.
        let (mut maker, mut view) = loop {
            let entry = find()?;
            let known = lock().loaded.get(&entry.about.model).cloned();
            let served = match known {
                Some(served) => served,
                None => Arc::new(open_version(
                    &self.layout,
                    &self.about,
                    self.dataset.as_ref(),
                    &entry,
                )?),
            };
            let unseen = fold_in(&served, None, &self.state().chunks, &self.store)?;
            let maker = lock();
            // Another request may have exchanged it meanwhile.
            if find()?.about.model == entry.about.model {
                break (maker, ModelView { served, unseen });
            }
        };
        let state = self.state();
        view.unseen = fold_in(&view.served, Some(&view.unseen), &state.chunks, &self.store)?;
        let entry = record()?;
        let (model, served) = (entry.about.model.clone(), Arc::clone(&view.served));
        let mut next = IndexState::clone(&state);
        match next.models.iter_mut().find(|old| old.served.about.model.name == model.name) {
            Some(old) => *old = view,
            None => next.models.push(view),
        }
        // The version before stays in memory for a roll-back; older ones are opened again if needed.
        let before = |served: &Arc<ServedModel>| {
            state.models.iter().any(|old| Arc::ptr_eq(&old.served, served))
        };
        maker.loaded.retain(|other, served| other.name != model.name || before(served));
        maker.loaded.insert(model, served);
        self.publish(&mut maker, next);
        Ok(entry.about)
    }
}

/// Adds a model folder to the index and computes the embeddings of its documents.
pub(super) fn add_version(
    layout: &Layout,
    about: &IndexAbout,
    name: &str,
    path: &Path,
    run: &Run<'_>,
) -> Result<ModelEntry, Error> {
    let version = model_folder(path).map_err(invalid_model)?.identity()[..VERSION].to_owned();
    let id = ModelRef { name: name.to_owned(), version };
    let target = layout.model(&id);
    let is_new = !target.exists();
    if is_new {
        link_folder(path, &target)?;
    }
    let opened = Model::open(&target).map_err(invalid_model).and_then(|model| {
        let folder = layout.embeddings(&id);
        let neighbours = match (latent_of(&model), sparse_of(&model, about.exact_below)) {
            (Some(latent), _) => Some(embeddings(&folder, about, &model, latent, run)?),
            (None, Some(vectors)) => {
                make_folder(&folder)?;
                Some(Postings::measure(&folder, &model, vectors, run)?)
            }
            (None, None) => None,
        };
        let about = ModelAbout {
            model: id,
            active: false,
            method: model.about.name.clone(),
            dim: latent_of(&model).map(Bilinear::dim),
            loaded: 0.0,
            neighbours,
        };
        Ok(ModelEntry { about, folder: path.display().to_string() })
    });
    if opened.is_err() && is_new {
        // It would never be used or deleted.
        let _ = fs::remove_dir_all(&target);
    }
    opened
}

/// A damaged model folder is the caller's mistake; a full disk is not.
fn invalid_model(error: liken::Error) -> Error {
    match Error::from(error) {
        Error::Internal(message) => Error::Invalid(message),
        other => other,
    }
}

/// The latent space whose dot products are the scores of the whole model.
fn latent_of(model: &Model) -> Option<&Bilinear> {
    match &model.parts[..] {
        [only] => only.matcher.bilinear(),
        _ => None,
    }
}

/// Writes the embeddings of the documents into `folder`, with inverted lists if there are many;
/// returns a description of the index.
fn embeddings(
    folder: &Path,
    about: &IndexAbout,
    model: &Model,
    latent: &Bilinear,
    run: &Run<'_>,
) -> Result<String, Error> {
    let n = model.counts.n_docs();
    // A version that is added again has them, and may be in use.
    if let Ok(index) = EmbeddingIndex::open(folder)
        && (index.embeddings.n_rows(), index.embeddings.dim()) == (n, latent.dim())
        && index.lists.is_some() == (n > about.exact_below)
    {
        return Ok(described(&index));
    }
    make_folder(folder)?;
    Embeddings::write(&folder.join(EMBEDDINGS_FILE), n, latent.dim(), run, |doc, row| {
        row.copy_from_slice(&latent.doc_embedding(doc as u32));
    })?;
    let n_queries = model.counts.n_queries();
    let step = n_queries.div_ceil(MEASURED).max(1);
    let mut queries = Vec::new();
    if n > about.exact_below {
        for i in (0..n_queries).step_by(step) {
            queries.extend(latent.query_embedding(&model.counts, &model.counts.query(i)));
        }
    }
    let params = IndexParams { exact_below: about.exact_below, ..IndexParams::default() };
    let index = EmbeddingIndex::build(folder, &params, &queries, run)?;
    Ok(described(&index))
}

/// A description of the search for neighbours.
fn described(index: &EmbeddingIndex) -> String {
    match index.report() {
        None => "exact".into(),
        Some(report) => format!(
            "{} of {} lists probed, recall@10 {:.3}, recall@100 {:.3}",
            report.probes, report.lists, report.recall_at_10, report.recall_at_100
        ),
    }
}

/// Opens a version of the index.
pub(super) fn open_version(
    layout: &Layout,
    about: &IndexAbout,
    dataset: Option<&Dataset>,
    entry: &ModelEntry,
) -> Result<ServedModel, Error> {
    let folder = layout.model(&entry.about.model);
    let model = Model::open(&folder)?;
    let mut neighbours = None;
    if let Some(latent) = latent_of(&model) {
        let embeddings = layout.embeddings(&entry.about.model);
        neighbours = Some(EmbeddingIndex::open(&embeddings)?);
        latent.read_embeddings(Embeddings::open(&embeddings.join(EMBEDDINGS_FILE))?)?;
    }
    let postings = match sparse_of(&model, about.exact_below) {
        Some(vectors) => Postings::open(&layout.embeddings(&entry.about.model), &model, vectors)?,
        None => None,
    };
    let mapping = doc_mapping(&model, about, dataset)?;
    let same_reading = TextReading::from(&model.counts.preparation) == about.reading;
    let (about, model) = (entry.about.clone(), Arc::new(model));
    Ok(ServedModel { about, folder, model, neighbours, postings, mapping, same_reading })
}

/// Maps the documents of the index to those of a model. A model of another dataset has seen
/// those with the same id and the same words.
fn doc_mapping(
    model: &Model,
    about: &IndexAbout,
    dataset: Option<&Dataset>,
) -> Result<DocMapping, Error> {
    if model.about.dataset.identity == about.dataset {
        return Ok(DocMapping::Same);
    }
    let counts = &model.counts;
    let known: HashMap<&str, u32> = counts.doc_ids.iter().map(String::as_str).zip(0..).collect();
    let mut in_model = vec![UNMAPPED; about.documents as usize];
    let mut in_index = vec![UNMAPPED; counts.n_docs()];
    let (mut unseen, mut documents) = (Chunk::default(), Vec::new());
    let n = dataset.map_or(0, |dataset| dataset.documents.len());
    for first in (0..n).step_by(BLOCK) {
        let Some(dataset) = dataset else { break };
        let block: Vec<Document> = (first..(first + BLOCK).min(n))
            .map(|i| dataset.documents.get(i))
            .collect::<liken::Result<_>>()?;
        let read = counts.read_documents(&block)?;
        for (j, document) in block.into_iter().enumerate() {
            let no = (first + j) as u32;
            match known.get(document.id.as_str()) {
                Some(&at) if counts.docs.row(at as usize) == read.docs.row(j) => {
                    in_model[no as usize] = at;
                    in_index[at as usize] = no;
                }
                _ => {
                    unseen.push(no, &document.id);
                    documents.push(document);
                }
            }
        }
    }
    Ok(DocMapping::Mapped { in_model, in_index, unseen: Arc::new(unseen), documents })
}
