//! Changes that are on disk become the next generation: the text index takes them in, every model
//! sees the new documents beside its own, and one pointer is exchanged. What a crash interrupted
//! is replayed from the database when the index is opened.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use liken::Run;
use liken::data::{Dataset, Document};
use liken::index::DocSet;
use liken::matchers::{Model, Newcomers};
use liken::text::Analyzer;
use serde_json::{Map, Value};

use super::docs::{Chunk, Ids, to_merge};
use super::layout::{IndexAbout, Layout};
use super::rankers::Rankers;
use super::served::{Later, Served, View};
use super::state::State;
use super::{Engine, registry};
use crate::problem::Problem;
use crate::store::{Change, Store};
use crate::text::{TextIndex, Tokens, Writer};

/// Changes that come together are applied together: the first waits so long for others.
const GATHER: Duration = Duration::from_millis(40);
/// How soon it is tried again after something went wrong.
const RETRY: Duration = Duration::from_secs(1);
/// The most changes applied at once.
const BATCH: usize = 20_000;

/// What only the maker of the next generation touches.
pub(super) struct Changing {
    /// Opened anew after something went wrong: whatever it had not committed is then forgotten.
    pub writer: Option<Writer>,
    /// Models at hand, by name and version: the active ones and those before them.
    pub loaded: HashMap<(String, String), Arc<Served>>,
}

/// Opens the first generation, with everything that is on disk.
pub(super) fn begin(
    layout: &Layout,
    about: &IndexAbout,
    analyzer: &Analyzer,
    store: &Store,
    text: &TextIndex,
    dataset: Option<&Dataset>,
) -> Result<(Changing, State), Problem> {
    let mut writer = text.writer()?;
    let applied = store.last_change()?;
    loop {
        let changes = store.changes_after(text.applied()?, BATCH)?;
        let Some(last) = changes.last().map(|change| change.seq) else { break };
        change_text(&mut writer, &changes, store, about, analyzer)?;
        writer.commit(last)?;
    }
    let mut base = Ids::default();
    store.ids(|no, id| {
        // Those that are gone have no name any more.
        while no < about.documents && (base.len() as u32) < no {
            base.push("");
        }
        if no < about.documents {
            base.push(id);
        }
    })?;
    while (base.len() as u32) < about.documents {
        base.push("");
    }
    let (mut chunk, mut documents) = (Chunk::default(), Vec::new());
    store.documents_from(about.documents, |no, id, fields| {
        chunk.numbers.push(no);
        chunk.ids.push(id.to_owned());
        documents.push(Document { id: id.to_owned(), fields });
        Ok::<_, Problem>(())
    })?;
    let end = chunk.numbers.last().map_or(about.documents, |no| no + 1);
    let chunks = if chunk.len() == 0 { Vec::new() } else { vec![Arc::new(chunk)] };
    let mut loaded = HashMap::new();
    let mut models = Vec::new();
    for entry in store.active_models()? {
        let served = Arc::new(registry::open(layout, about, dataset, &entry)?);
        loaded.insert((entry.name.clone(), entry.version.clone()), Arc::clone(&served));
        let later = later(&served, None, &chunks, &mut |_| Ok(documents.clone()))?;
        models.push(View { served, later });
    }
    let opened: Vec<Arc<Served>> = loaded.values().cloned().collect();
    let rankers = Rankers::open(layout, about, dataset, &store.models()?, &opened, &Run::silent())?;
    let state = State {
        base: Arc::new(base),
        chunks,
        dead: store.gone()?.into_iter().filter(|&no| no < end).collect(),
        alive: store.count()?,
        end,
        text: text.searcher(),
        models,
        rankers: Arc::new(rankers),
        applied,
    };
    Ok((Changing { writer: Some(writer), loaded }, state))
}

/// Applies changes as they come, until the engine ends.
pub(super) fn start(engine: Weak<Engine>, woken: Receiver<()>) {
    std::thread::spawn(move || {
        let mut failed = false;
        loop {
            match if failed { woken.recv_timeout(RETRY) } else { woken.recv().map_err(Into::into) }
            {
                Ok(()) => {
                    std::thread::sleep(GATHER);
                    while woken.try_recv().is_ok() {}
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
            let Some(engine) = engine.upgrade() else { return };
            failed = loop {
                // Whatever goes wrong, later changes must not wait for ever.
                let caught = catch_unwind(AssertUnwindSafe(|| engine.catch_up()));
                match caught
                    .unwrap_or_else(|_| Err(Problem::internal("applying changes broke off")))
                {
                    Ok(true) => {}
                    Ok(false) => break false,
                    Err(problem) => {
                        engine.troubled(&problem);
                        break true;
                    }
                }
            };
        }
    });
}

impl Engine {
    /// Applies what is on disk and not yet seen; whether there was anything.
    fn catch_up(&self) -> Result<bool, Problem> {
        let mut changing = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.state();
        let changes = self.store.changes_after(state.applied, BATCH)?;
        let Some(last) = changes.last().map(|change| change.seq) else { return Ok(false) };
        // It is put back when all went well: else the next try begins where the last commit ended.
        let mut writer = match changing.writer.take() {
            Some(writer) => writer,
            None => self.text.writer()?,
        };
        let added = change_text(&mut writer, &changes, &self.store, &self.about, &self.analyzer)?;
        writer.commit(last)?;
        changing.writer = Some(writer);
        let mut dead = state.dead.clone();
        let mut end = state.end;
        for change in &changes {
            end = end.max(change.no + 1);
            if !change.added {
                dead.insert(change.no);
            }
        }
        let chunks = self.with_chunk(&state, added, &dead)?;
        let mut models = Vec::with_capacity(state.models.len());
        for view in &state.models {
            models.push(View {
                served: Arc::clone(&view.served),
                later: self.later_of(&view.served, Some(&view.later), &chunks)?,
            });
        }
        self.publish(State {
            base: Arc::clone(&state.base),
            chunks,
            dead,
            alive: self.store.count()?,
            end,
            text: self.text.searcher(),
            models,
            rankers: Arc::clone(&state.rankers),
            applied: last,
        });
        // Searches that began before may still ask for a text that is gone: only what went before
        // the last generation is given up. It is no harm if there is no room for it now.
        if let Err(error) = self.store.clear_gone(state.applied) {
            self.troubled(&error.into());
        }
        Ok(true)
    }

    /// Lets requests see a new generation.
    pub(super) fn publish(&self, state: State) {
        let applied = state.applied;
        *self.state.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(state);
        let (seen, changed) = &self.applied;
        *seen.lock().unwrap_or_else(PoisonError::into_inner) = applied;
        changed.notify_all();
    }

    /// The chunks of `state` and one more of the documents `added`, with the last ones merged.
    fn with_chunk(
        &self,
        state: &State,
        added: Vec<(u32, String)>,
        dead: &DocSet,
    ) -> Result<Vec<Arc<Chunk>>, Problem> {
        let (numbers, ids): (Vec<u32>, Vec<String>) =
            added.into_iter().filter(|(no, _)| !dead.contains(*no)).unzip();
        let mut chunks = state.chunks.clone();
        if numbers.is_empty() {
            return Ok(chunks);
        }
        chunks.push(Arc::new(Chunk { numbers, ids }));
        let lengths: Vec<usize> = chunks.iter().map(|chunk| chunk.len()).collect();
        let n = to_merge(&lengths);
        if n > 1 {
            let mut merged = Chunk::default();
            for chunk in chunks.split_off(chunks.len() - n) {
                for (&no, id) in chunk.numbers.iter().zip(&chunk.ids) {
                    if !dead.contains(no) {
                        merged.numbers.push(no);
                        merged.ids.push(id.clone());
                    }
                }
            }
            chunks.push(Arc::new(merged));
        }
        Ok(chunks)
    }

    /// How a model sees the documents of `chunks`.
    pub(super) fn later_of(
        &self,
        served: &Served,
        old: Option<&Later>,
        chunks: &[Arc<Chunk>],
    ) -> Result<Later, Problem> {
        later(served, old, chunks, &mut |chunk| documents_of(&self.store, chunk))
    }

    /// Says that changes cannot be applied now. Reads go on, and it is tried again.
    fn troubled(&self, problem: &Problem) {
        (self.settings.trouble)(&format!("changes wait to be applied: {}", problem.detail));
    }
}

/// Gives changes to the text index; returns the documents that were added, by number.
fn change_text(
    writer: &mut Writer,
    changes: &[Change],
    store: &Store,
    about: &IndexAbout,
    analyzer: &Analyzer,
) -> Result<Vec<(u32, String)>, Problem> {
    let numbers: Vec<u32> =
        changes.iter().filter(|change| change.added).map(|change| change.no).collect();
    let mut added = Vec::with_capacity(numbers.len());
    let mut found = store.ids_of(&numbers)?.into_iter().zip(store.bodies(&numbers)?);
    for change in changes {
        if !change.added {
            writer.remove(change.no);
            continue;
        }
        // One that is gone for good already needs no place.
        let Some((Some(id), Some(fields))) = found.next() else { continue };
        // Adding twice would find it twice: after a crash it may be there already.
        writer.remove(change.no);
        writer.add(change.no, &tokens(about, analyzer, &fields), &fields)?;
        added.push((change.no, id));
    }
    Ok(added)
}

/// The words of a document, for the text index.
pub(super) fn tokens(
    about: &IndexAbout,
    analyzer: &Analyzer,
    fields: &Map<String, Value>,
) -> Tokens {
    let mut tokens = Tokens::new();
    for name in &about.reading.fields {
        if let Some(value) = fields.get(name) {
            tokens.field(analyzer, name, value);
        }
    }
    tokens
}

/// How a model sees the documents of `chunks`, whose texts `read` brings: what it saw of them
/// before is used again.
fn later(
    served: &Served,
    old: Option<&Later>,
    chunks: &[Arc<Chunk>],
    read: &mut dyn FnMut(&Chunk) -> Result<Vec<Document>, Problem>,
) -> Result<Later, Problem> {
    let known = match old {
        Some(Later::Beside(groups)) => &groups[..],
        _ => &[],
    };
    let seen = |chunk: &Arc<Chunk>| {
        known.iter().find(|(other, _)| Arc::ptr_eq(other, chunk)).map(|(_, new)| Arc::clone(new))
    };
    let mut groups: Vec<(Arc<Chunk>, Arc<Newcomers>)> = Vec::new();
    if let Some((strangers, documents)) = served.strangers() {
        let new = match seen(strangers) {
            Some(new) => new,
            None => match served.model.newcomers(documents)? {
                Some(new) => Arc::new(new),
                None => return within(served, chunks, read),
            },
        };
        groups.push((Arc::clone(strangers), new));
    }
    for chunk in chunks {
        let new = match seen(chunk) {
            Some(new) => new,
            None => match served.model.newcomers(&read(chunk)?)? {
                Some(new) => Arc::new(new),
                None => return within(served, chunks, read),
            },
        };
        groups.push((Arc::clone(chunk), new));
    }
    Ok(Later::Beside(groups))
}

/// The model made anew with all later documents.
fn within(
    served: &Served,
    chunks: &[Arc<Chunk>],
    read: &mut dyn FnMut(&Chunk) -> Result<Vec<Document>, Problem>,
) -> Result<Later, Problem> {
    let (mut all, mut documents) = (Chunk::default(), Vec::new());
    if let Some((strangers, texts)) = served.strangers() {
        all.numbers.extend(&strangers.numbers);
        all.ids.extend_from_slice(&strangers.ids);
        documents.extend_from_slice(texts);
    }
    for chunk in chunks {
        all.numbers.extend(&chunk.numbers);
        all.ids.extend_from_slice(&chunk.ids);
        documents.extend(read(chunk)?);
    }
    // A new version of a document is a new document: no name of training may hide it.
    for (document, no) in documents.iter_mut().zip(&all.numbers) {
        document.id = format!("\u{1}{no}");
    }
    let model = Model::open(&served.folder)?.with_documents(&documents)?;
    Ok(Later::Within(Arc::new(model), Arc::new(all)))
}

/// The documents of a chunk; empty ones for those that are gone for good.
fn documents_of(store: &Store, chunk: &Chunk) -> Result<Vec<Document>, Problem> {
    let bodies = store.bodies(&chunk.numbers)?;
    let document = |(id, fields): (&String, Option<Map<String, Value>>)| Document {
        id: id.clone(),
        fields: fields.unwrap_or_default(),
    };
    Ok(chunk.ids.iter().zip(bodies).map(document).collect())
}
