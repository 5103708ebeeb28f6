//! Opening an index: its files, its models, and the snapshot of the text index's last commit.

use std::path::Path;
use std::sync::mpsc::channel;
use std::sync::{Arc, Condvar, Mutex, RwLock};

use liken::Run;
use liken::data::Dataset;
use liken::text::Analyzer;

use super::docs::{CHUNK, Chunk, Ids};
use super::fold_in::fold_in;
use super::layout::{IndexAbout, Layout};
use super::rankers::Rankers;
use super::served::ServedModel;
use super::snapshot::{IndexState, SnapshotMaker};
use super::view::ModelView;
use super::{Engine, Settings, live, registry};
use crate::store::Store;
use crate::text::TextIndex;
use crate::{Error, checks};

impl Engine {
    /// Opens the index at `path`, applies the changes on disk that it has not seen, and starts the
    /// thread that applies later ones.
    pub fn open(path: &Path, settings: Settings) -> Result<Arc<Self>, Error> {
        let limits = &settings.limits;
        limits.check()?;
        checks::models(&settings.models, limits)?;
        checks::number("candidate_depth", settings.candidate_depth, limits.candidate_depth)?;
        let layout = Layout::new(path);
        let about = layout.read()?;
        let analyzer = Analyzer::new(&about.reading.analyzer)?;
        let store = Store::open(&layout.store(), settings.reserve)?;
        let text = TextIndex::open(&layout.text())?;
        let dataset = match Dataset::open(&layout.dataset()) {
            Ok(dataset) => Some(dataset),
            Err(error) => {
                (settings.on_incident)(&format!("pages cannot show the dataset: {error}"));
                None
            }
        };
        let (maker, state) = open_snapshot(&layout, &about, &store, &text, dataset.as_ref())?;
        let (wake, woken) = channel();
        let applied = (Mutex::new(state.applied), Condvar::new());
        let engine = Arc::new(Engine {
            layout,
            about,
            settings,
            analyzer,
            store,
            text,
            dataset,
            state: RwLock::new(Arc::new(state)),
            maker: Mutex::new(maker),
            applied,
            wake,
            open_since: Mutex::new(None),
        });
        for name in &engine.settings.models {
            engine.views(&engine.state(), std::slice::from_ref(name))?;
        }
        engine.state().rankers.find(engine.settings.ranker.as_deref())?;
        let failed = !engine.catch_up_all();
        live::start(Arc::downgrade(&engine), woken, failed);
        Ok(engine)
    }
}

/// The snapshot of the text index's last commit.
fn open_snapshot(
    layout: &Layout,
    about: &IndexAbout,
    store: &Store,
    text: &TextIndex,
    dataset: Option<&Dataset>,
) -> Result<(SnapshotMaker, IndexState), Error> {
    let applied = text.applied()?;
    let written = store.last_change()?;
    if applied > written {
        return Err(Error::internal(format!(
            "{}: the text index includes change {applied}, but the database ends with change \
             {written}: one of them was restored from an older copy; restore both, or build the \
             index anew",
            layout.root.display()
        )));
    }
    let (mut base, mut chunks, mut alive) = (Ids::default(), Vec::<Chunk>::new(), 0);
    let end = store.ids_at(applied, |no, id| {
        alive += 1;
        if no < about.documents {
            // Removed documents have empty ids.
            base.extend_to(no);
            base.push(id);
            return;
        }
        if chunks.last().is_none_or(|last| last.len() >= CHUNK) {
            chunks.push(Chunk::default());
        }
        if let Some(last) = chunks.last_mut() {
            last.push(no, id);
        }
    })?;
    base.extend_to(about.documents);
    let chunks: Vec<Arc<Chunk>> = chunks.into_iter().map(Arc::new).collect();
    let (mut maker, mut models) = (SnapshotMaker::default(), Vec::new());
    for entry in store.active_models()? {
        let served = Arc::new(registry::open_version(layout, about, dataset, &entry)?);
        maker.loaded.insert(entry.about.model.clone(), Arc::clone(&served));
        let unseen = fold_in(&served, None, &chunks, store)?;
        models.push(ModelView { served, unseen });
    }
    let opened: Vec<Arc<ServedModel>> = maker.loaded.values().cloned().collect();
    let rankers = Rankers::open(layout, about, dataset, &store.models()?, &opened, &Run::silent())?;
    let state = IndexState {
        base: Arc::new(base),
        chunks,
        dead: store.gone_at(applied)?.into_iter().collect(),
        alive,
        end,
        text: text.snapshot(),
        models,
        rankers: Arc::new(rankers),
        applied,
    };
    Ok((maker, state))
}
