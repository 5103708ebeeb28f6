//! The thread that writes: whatever waits goes to the disk together.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, SyncSender, channel, sync_channel};
use std::thread::JoinHandle;

use rusqlite::Connection;

use super::space::Disk;
use super::{Result, StoreError, schema};

/// At most so many requests share a transaction, so that the first does not wait for long.
const MOST_TOGETHER: usize = 256;

/// Which part of the disk a request may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Room {
    /// What is free beyond the reserve.
    Usual,
    /// All: it makes room, or it must be possible whatever happens.
    Reserve,
}

/// A request with its answer, whatever types they have.
trait Request: Send {
    fn room(&self) -> Room;
    /// Does the work, anew if it was done before, and keeps the outcome.
    fn apply(&mut self, connection: &Connection) -> Result<()>;
    /// Tells the outcome to whoever waits; `failed` if the work did not reach the disk.
    fn answer(self: Box<Self>, failed: Option<StoreError>);
}

struct Waiting<T, F> {
    room: Room,
    work: F,
    outcome: Option<Result<T>>,
    reply: SyncSender<Result<T>>,
}

impl<T, F> Request for Waiting<T, F>
where
    T: Send,
    F: FnMut(&Connection) -> Result<T> + Send,
{
    fn room(&self) -> Room {
        self.room
    }

    fn apply(&mut self, connection: &Connection) -> Result<()> {
        let outcome = (self.work)(connection);
        let told = outcome.as_ref().map(|_| ()).map_err(Clone::clone);
        self.outcome = Some(outcome);
        told
    }

    fn answer(self: Box<Self>, failed: Option<StoreError>) {
        let outcome = match (failed, self.outcome) {
            (Some(error), _) => Err(error.on_write()),
            (None, Some(outcome)) => outcome.map_err(StoreError::on_write),
            (None, None) => Err(stopped()),
        };
        // Nobody may wait any more; what was written stays written.
        let _ = self.reply.send(outcome);
    }
}

/// The thread and the way to it.
pub(super) struct Writer {
    requests: Option<Sender<Box<dyn Request>>>,
    thread: Option<JoinHandle<()>>,
    full: Arc<AtomicBool>,
}

impl Writer {
    /// Gives `connection` to a thread of its own.
    pub(super) fn start(connection: Connection, disk: Disk, most: Option<u64>) -> Self {
        let (requests, waiting) = channel();
        let full = Arc::new(AtomicBool::new(false));
        let flag = full.clone();
        let thread = std::thread::spawn(move || {
            let limited = match most {
                Some(_) => schema::limit(&connection, most),
                None => Ok(()),
            };
            serve(&connection, &disk, &waiting, &flag, limited.err());
        });
        Writer { requests: Some(requests), thread: Some(thread), full }
    }

    /// Whether the last write found no room.
    pub(super) fn is_full(&self) -> bool {
        self.full.load(Ordering::Relaxed)
    }

    /// Does `work` with whatever else waits, and returns when it is on disk.
    pub(super) fn run<T: Send + 'static>(
        &self,
        room: Room,
        work: impl FnMut(&Connection) -> Result<T> + Send + 'static,
    ) -> Result<T> {
        let (reply, answer) = sync_channel(1);
        let request = Box::new(Waiting { room, work, outcome: None, reply });
        let requests = self.requests.as_ref().ok_or_else(stopped)?;
        requests.send(request).map_err(|_| stopped())?;
        answer.recv().map_err(|_| stopped())?
    }
}

impl Drop for Writer {
    /// Waits for all that was asked.
    fn drop(&mut self) {
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

fn stopped() -> StoreError {
    StoreError::Unusable("the thread that writes has ended; restart the service".into())
}

/// Takes what waits, again and again, until nobody can ask any more.
fn serve(
    connection: &Connection,
    disk: &Disk,
    waiting: &Receiver<Box<dyn Request>>,
    full: &AtomicBool,
    unfit: Option<StoreError>,
) {
    while let Ok(first) = waiting.recv() {
        let mut group = vec![first];
        group.extend(waiting.try_iter().take(MOST_TOGETHER - 1));
        if let Some(error) = &unfit {
            group.into_iter().for_each(|request| request.answer(Some(error.clone())));
            continue;
        }
        // Whoever has an answer shall find the flag as the answer says.
        let no_room = disk.has_room().err();
        if let Some(error) = &no_room {
            full.store(true, Ordering::Relaxed);
            let (fit, refused): (Vec<_>, Vec<_>) =
                group.into_iter().partition(|request| request.room() == Room::Reserve);
            group = fit;
            refused.into_iter().for_each(|request| request.answer(Some(error.clone())));
        }
        if !group.is_empty() {
            write(connection, group, full, no_room.is_some());
        }
    }
}

/// Writes a group, or, if it cannot be written together, each request alone.
fn write(
    connection: &Connection,
    mut group: Vec<Box<dyn Request>>,
    full: &AtomicBool,
    no_room: bool,
) {
    let error = match together(connection, &mut group) {
        Ok(()) => {
            full.store(no_room, Ordering::Relaxed);
            group.into_iter().for_each(|request| request.answer(None));
            return;
        }
        Err(error) => error,
    };
    if group.len() > 1 {
        // The whole transaction is undone. A large request must not take small ones with it.
        for request in group {
            write(connection, vec![request], full, no_room);
        }
        return;
    }
    if matches!(error, StoreError::Full(_) | StoreError::Disk(_)) {
        full.store(true, Ordering::Relaxed);
    }
    group.into_iter().for_each(|request| request.answer(Some(error.clone())));
}

/// Applies all requests of `group` in one transaction. Those that fail for reasons of their own
/// keep their error and leave nothing behind; an error here means that nothing was written.
fn together(connection: &Connection, group: &mut [Box<dyn Request>]) -> Result<()> {
    run(connection, "BEGIN IMMEDIATE")?;
    let written = (|| {
        for request in group.iter_mut() {
            run(connection, "SAVEPOINT request")?;
            match request.apply(connection) {
                Ok(()) => run(connection, "RELEASE request")?,
                Err(error @ (StoreError::Full(_) | StoreError::Disk(_))) => return Err(error),
                Err(error) if connection.is_autocommit() => return Err(error),
                Err(_) => {
                    run(connection, "ROLLBACK TO request")?;
                    run(connection, "RELEASE request")?;
                }
            }
        }
        run(connection, "COMMIT")
    })();
    // Some errors end the transaction by themselves.
    if written.is_err() && !connection.is_autocommit() {
        run(connection, "ROLLBACK")?;
    }
    written
}

fn run(connection: &Connection, sql: &str) -> Result<()> {
    connection.prepare_cached(sql)?.execute([])?;
    Ok(())
}
