//! Changes that are on disk become the next snapshot: they are written to the text index, every
//! model folds the new documents in, and one pointer is exchanged. After a crash, opening the index
//! replays them from the database.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, PoisonError, Weak};
use std::time::Duration;

use liken::index::DocSet;

use super::Engine;
use super::docs::{CHUNK, Chunk, merged};
use super::fold_in::fold_in;
use super::snapshot::{IndexState, SnapshotMaker};
use crate::Error;
use crate::store::Change;
use crate::text::Writer;

/// The time for which the first change waits for others, to be applied with them.
const GATHER: Duration = Duration::from_millis(40);
/// The time from an error to the next attempt.
const RETRY: Duration = Duration::from_secs(1);
/// The most changes applied at once.
const BATCH: usize = 20_000;
/// The most bytes of text applied at once: this takes a few times as much memory.
const BATCH_BYTES: u64 = 32 << 20;

/// Applies changes in a thread until the engine is dropped; `failed` if the last attempt was one.
pub(super) fn start(engine: Weak<Engine>, woken: Receiver<()>, mut failed: bool) {
    std::thread::spawn(move || {
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
            failed = !engine.catch_up_all();
        }
    });
}

impl Engine {
    /// Applies all changes on disk; returns whether that worked. If not, as on a full disk, searches
    /// go on with the current snapshot.
    pub(super) fn catch_up_all(&self) -> bool {
        loop {
            // A panic must not stop later changes.
            let caught = catch_unwind(AssertUnwindSafe(|| self.catch_up()));
            match caught.unwrap_or_else(|_| Err(Error::internal("applying changes panicked"))) {
                Ok(true) => {}
                Ok(false) => return true,
                Err(error) => {
                    self.report(&format!("changes wait to be applied: {error}"));
                    return false;
                }
            }
        }
    }

    /// Applies a batch of changes; returns whether there were any.
    fn catch_up(&self) -> Result<bool, Error> {
        let mut maker = self.maker.lock().unwrap_or_else(PoisonError::into_inner);
        let state = self.state();
        let changes = self.store.changes_after(state.applied, BATCH, BATCH_BYTES)?;
        let Some(last) = changes.last().map(|change| change.seq) else { return Ok(false) };
        // An error drops the writer, and the next attempt starts after the last commit.
        let mut writer = match maker.writer.take() {
            Some(writer) => writer,
            None => self.text.writer()?,
        };
        let added = self.write_text(&mut writer, &changes)?;
        writer.commit(last)?;
        maker.writer = Some(writer);
        let mut next = IndexState::clone(&state);
        for change in &changes {
            if change.added {
                next.alive += 1;
                next.end = next.end.max(change.no + 1);
            } else {
                next.alive -= 1;
                next.dead.insert(change.no);
            }
        }
        next.chunks = with_documents(next.chunks, added, &next.dead);
        for view in &mut next.models {
            view.unseen = fold_in(&view.served, Some(&view.unseen), &next.chunks, &self.store)?;
        }
        next.text = self.text.snapshot();
        next.applied = last;
        self.publish(&mut maker, next);
        drop(state);
        // Earlier searches may still read removed documents: only those that no snapshot in use has
        // are deleted. If the disk is full, a later attempt will do.
        maker.in_use.retain(|snapshot| snapshot.strong_count() > 0);
        let in_use = maker.in_use.iter().filter_map(|snapshot| Some(snapshot.upgrade()?.applied));
        if let Err(error) = self.store.clear_gone(in_use.min().unwrap_or(last)) {
            self.report(&format!("the space of deleted texts is not yet freed: {error}"));
        }
        Ok(true)
    }

    /// Makes a snapshot the current one.
    pub(super) fn publish(&self, maker: &mut SnapshotMaker, state: IndexState) {
        let applied = state.applied;
        let mut current = self.state.write().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *current, Arc::new(state));
        drop(current);
        maker.in_use.push(Arc::downgrade(&before));
        let (last, changed) = &self.applied;
        *last.lock().unwrap_or_else(PoisonError::into_inner) = applied;
        changed.notify_all();
    }

    /// Writes changes to the text index; returns the documents that were added.
    fn write_text(
        &self,
        writer: &mut Writer,
        changes: &[Change],
    ) -> Result<Vec<(u32, String)>, Error> {
        let numbers: Vec<u32> =
            changes.iter().filter(|change| change.added).map(|change| change.no).collect();
        let mut added = Vec::with_capacity(numbers.len());
        let mut found = self.store.ids_of(&numbers)?.into_iter().zip(self.store.bodies(&numbers)?);
        for change in changes {
            // Also before an addition: after a crash the document may be there already.
            writer.remove(change.no);
            if change.added
                && let Some((Some(id), Some(fields))) = found.next()
            {
                let tokens = self.about.reading.tokens(&self.analyzer, &fields);
                writer.add(change.no, &tokens, &fields)?;
                added.push((change.no, id));
            }
        }
        Ok(added)
    }

    /// Reports an incident; the failed work is tried again.
    fn report(&self, incident: &str) {
        (self.settings.on_incident)(incident);
    }
}

/// `chunks` with the documents `added` that are not `dead`, and the last ones merged.
fn with_documents(
    mut chunks: Vec<Arc<Chunk>>,
    mut added: Vec<(u32, String)>,
    dead: &DocSet,
) -> Vec<Arc<Chunk>> {
    added.retain(|(no, _)| !dead.contains(*no));
    for group in added.chunks(CHUNK) {
        let mut chunk = Chunk::default();
        group.iter().for_each(|(no, id)| chunk.push(*no, id));
        chunks.push(Arc::new(chunk));
    }
    merged(chunks, dead)
}
