//! Versions of models: taken into the index, made active, taken back. A version is found by the
//! beginning of its folder's checksum, so the same model is never there twice.

use std::collections::HashMap;
use std::fs;
use std::path::Path;
use std::sync::{Arc, PoisonError};

use liken::Run;
use liken::data::{Dataset, Document};
use liken::file::{Folder, FolderKind};
use liken::index::{EMBEDDINGS_FILE, EmbeddingIndex, Embeddings, IndexParams, MEASURED};
use liken::matchers::{Bilinear, Model, ModelAbout as Trained};

use super::Engine;
use super::docs::Chunk;
use super::fold_in::fold_in;
use super::layout::{IndexAbout, Layout, Reading, check_name, link_folder};
use super::served::{DocMapping, Served, UNMAPPED};
use super::snapshot::IndexState;
use super::view::View;
use crate::Error;
use crate::store::ModelEntry;
use crate::types::{LoadRequest, ModelAbout, ModelRef};

/// Characters of a checksum that name a version.
const VERSION: usize = 12;
/// Documents compared with training at a time.
const BLOCK: usize = 4096;

impl Engine {
    /// Every version of every model, the active ones among them.
    pub fn models(&self) -> Result<Vec<ModelAbout>, Error> {
        Ok(self.store.models()?.iter().map(about_of).collect())
    }

    /// The active models, in the order of the index.
    pub fn active(&self) -> Vec<Arc<Served>> {
        self.state().models.iter().map(|view| Arc::clone(&view.served)).collect()
    }

    /// Takes a model folder into the index. Searches do not wait for it.
    pub fn load(&self, request: &LoadRequest) -> Result<ModelAbout, Error> {
        if request.name.is_empty() || request.path.is_empty() {
            return Err(Error::invalid("name and path: expected both, and neither of them empty"));
        }
        check_name("model", &request.name)?;
        let path = Path::new(&request.path);
        let entry = take(&self.layout, &self.about, &request.name, path, &Run::silent())?;
        let served = Arc::new(open(&self.layout, &self.about, self.dataset.as_ref(), &entry)?);
        let entry = self.store.add_model(&entry)?;
        let key = (entry.name.clone(), entry.version.clone());
        self.changing.lock().unwrap_or_else(PoisonError::into_inner).loaded.insert(key, served);
        match request.activate {
            true => self.activate(&entry.name, &entry.version),
            false => Ok(about_of(&entry)),
        }
    }

    /// Makes a loaded version the one that searches get. Those that run finish with theirs.
    pub fn activate(&self, name: &str, version: &str) -> Result<ModelAbout, Error> {
        self.exchange(
            name,
            |engine| {
                let known = engine.store.models()?;
                let of_name: Vec<&ModelEntry> = known.iter().filter(|e| e.name == name).collect();
                let found = of_name.iter().find(|entry| entry.version == version);
                found.map(|&entry| entry.clone()).ok_or_else(|| {
                    let there: Vec<&str> =
                        of_name.iter().map(|entry| entry.version.as_str()).collect();
                    Error::not_found(match there.is_empty() {
                        true => format!("no model is called {name:?}"),
                        false => format!(
                            "{name} has no version {version:?}; there are {}",
                            there.join(", ")
                        ),
                    })
                })
            },
            |engine| Ok(engine.store.activate(name, version)?),
        )
    }

    /// Makes the version active that was active before.
    pub fn roll_back(&self, name: &str) -> Result<ModelAbout, Error> {
        self.exchange(
            name,
            |engine| Ok(engine.store.version_before(name)?),
            |engine| Ok(engine.store.roll_back(name)?),
        )
    }

    /// Puts another version in the place of a model: `which` says which, `note` writes it down.
    fn exchange(
        &self,
        name: &str,
        which: impl Fn(&Self) -> Result<ModelEntry, Error>,
        note: impl FnOnce(&Self) -> Result<ModelEntry, Error>,
    ) -> Result<ModelAbout, Error> {
        let lock = || self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        // Opening a model takes its time, in which documents come and go.
        let (mut changing, key, prepared) = loop {
            let entry = which(self)?;
            let key = (entry.name.clone(), entry.version.clone());
            let known = lock().loaded.get(&key).cloned();
            let served = match known {
                Some(served) => served,
                None => Arc::new(open(&self.layout, &self.about, self.dataset.as_ref(), &entry)?),
            };
            let seen = fold_in(&served, None, &self.state().chunks, &self.store)?;
            let changing = lock();
            // Somebody else may have exchanged it meanwhile.
            let now = which(self)?;
            if (&now.name, &now.version) == (&key.0, &key.1) {
                break (changing, key, View { served, unseen: seen });
            }
        };
        let state = self.state();
        let view = View {
            unseen: fold_in(&prepared.served, Some(&prepared.unseen), &state.chunks, &self.store)?,
            ..prepared
        };
        let entry = note(self)?;
        changing.loaded.insert(key, Arc::clone(&view.served));
        let mut models: Vec<View> = Vec::with_capacity(state.models.len() + 1);
        let mut view = Some(view);
        for old in &state.models {
            if old.served.about.model.name == name {
                models.extend(view.take());
            } else {
                models.push(old.clone());
            }
        }
        models.extend(view);
        // The versions before stay at hand for a way back; older ones are opened again if asked.
        let before: Vec<Arc<Served>> =
            state.models.iter().map(|old| Arc::clone(&old.served)).collect();
        changing.loaded.retain(|(other, _), served| {
            other != name
                || models.iter().any(|view| Arc::ptr_eq(&view.served, served))
                || before.iter().any(|old| Arc::ptr_eq(old, served))
        });
        let next = IndexState {
            base: Arc::clone(&state.base),
            chunks: state.chunks.clone(),
            dead: state.dead.clone(),
            alive: state.alive,
            end: state.end,
            text: state.text.clone(),
            models,
            rankers: Arc::clone(&state.rankers),
            applied: state.applied,
        };
        self.publish(&mut changing, next);
        Ok(about_of(&entry))
    }
}

/// Copies a model folder into the index and computes the embeddings of its documents.
pub(super) fn take(
    layout: &Layout,
    about: &IndexAbout,
    name: &str,
    path: &Path,
    run: &Run<'_>,
) -> Result<ModelEntry, Error> {
    let folder: Folder<Trained> = Folder::open(path, FolderKind::Model).map_err(refused)?;
    let version = folder.identity()[..VERSION].to_owned();
    let target = layout.model(name, &version);
    let is_new = !target.exists();
    if is_new {
        link_folder(path, &target).map_err(liken::Error::io("copy", path))?;
    }
    let opened = Model::open(&target).map_err(refused).and_then(|model| {
        let folder = layout.embeddings(name, &version);
        let embeddings = |latent| embeddings(&folder, about, &model, latent, run);
        let neighbours = latent_of(&model).map(embeddings).transpose()?;
        Ok(ModelEntry {
            name: name.to_owned(),
            version,
            folder: path.display().to_string(),
            method: model.about.name.clone(),
            dim: latent_of(&model).map(Bilinear::dim),
            neighbours,
            ..ModelEntry::default()
        })
    });
    if opened.is_err() && is_new {
        // Nobody would ever use it or take it away.
        let _ = fs::remove_dir_all(&target);
    }
    opened
}

/// What a model cannot be taken for is the caller's mistake; a disk without room is not.
fn refused(error: liken::Error) -> Error {
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

/// Writes the embeddings of the documents into `folder`, with inverted lists where there are many;
/// says how neighbours are found.
fn embeddings(
    folder: &Path,
    about: &IndexAbout,
    model: &Model,
    latent: &Bilinear,
    run: &Run<'_>,
) -> Result<String, Error> {
    let n = model.counts.n_docs();
    // A version that is taken again has them, and may be serving searches.
    if let Ok(index) = EmbeddingIndex::open(folder)
        && (index.embeddings.n_rows(), index.embeddings.dim()) == (n, latent.dim())
        && index.lists.is_some() == (n > about.exact_below)
    {
        return Ok(said(&index));
    }
    fs::create_dir_all(folder).map_err(liken::Error::io("create", folder))?;
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
    Ok(said(&index))
}

/// How neighbours are found, in words.
fn said(index: &EmbeddingIndex) -> String {
    match index.report() {
        None => "exact".into(),
        Some(report) => format!(
            "{} of {} lists probed, recall@10 {:.3}, recall@100 {:.3}",
            report.probes, report.lists, report.recall_at_10, report.recall_at_100
        ),
    }
}

/// Opens a version that is in the index.
pub(super) fn open(
    layout: &Layout,
    about: &IndexAbout,
    dataset: Option<&Dataset>,
    entry: &ModelEntry,
) -> Result<Served, Error> {
    let folder = layout.model(&entry.name, &entry.version);
    let model = Model::open(&folder)?;
    let neighbours = match latent_of(&model) {
        Some(latent) => {
            let index = EmbeddingIndex::open(&layout.embeddings(&entry.name, &entry.version))?;
            let file = layout.embeddings(&entry.name, &entry.version).join(EMBEDDINGS_FILE);
            latent.read_embeddings(Embeddings::open(&file)?)?;
            Some(index)
        }
        None => None,
    };
    let mapping = doc_mapping(&model, about, dataset)?;
    let reads_alike = Reading::from(&model.counts.preparation) == about.reading;
    let about = about_of(entry);
    Ok(Served { about, folder, model: Arc::new(model), neighbours, mapping, reads_alike })
}

/// Which document of the index is which of a model. A model of another dataset has seen those with
/// the same id and the same words.
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
    let mut own = vec![UNMAPPED; about.documents as usize];
    let mut back = vec![UNMAPPED; counts.n_docs()];
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
                    own[no as usize] = at;
                    back[at as usize] = no;
                }
                _ => {
                    unseen.numbers.push(no);
                    unseen.ids.push(document.id.clone());
                    documents.push(document);
                }
            }
        }
    }
    Ok(DocMapping::Mapped { own, back, unseen: Arc::new(unseen), documents })
}

/// What is said of a version.
fn about_of(entry: &ModelEntry) -> ModelAbout {
    ModelAbout {
        model: ModelRef { name: entry.name.clone(), version: entry.version.clone() },
        active: entry.active,
        method: entry.method.clone(),
        dim: entry.dim,
        loaded: entry.loaded,
        neighbours: entry.neighbours.clone(),
    }
}
