//! How much room the disk has.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Result, StoreError};
use crate::system::free_bytes;

/// So long what was learnt of the disk will do for those who only want to know.
const FRESH: Duration = Duration::from_secs(1);

/// The disk of a database.
pub(super) struct Disk {
    folder: PathBuf,
    reserve: u64,
    /// The free bytes of the disk that a folder is on, if the system tells.
    ask: fn(&Path) -> Option<u64>,
    lately: Mutex<Option<(Instant, Option<u64>)>>,
}

impl Disk {
    pub(super) fn new(path: &Path, reserve: u64) -> Self {
        Disk::told_by(path, reserve, free_bytes)
    }

    /// A disk whose free bytes `ask` tells.
    pub(super) fn told_by(path: &Path, reserve: u64, ask: fn(&Path) -> Option<u64>) -> Self {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        Disk { folder, reserve, ask, lately: Mutex::new(None) }
    }

    /// The free bytes of now, if the system tells.
    pub(super) fn free(&self) -> Option<u64> {
        let free = (self.ask)(&self.folder);
        *self.lately.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), free));
        free
    }

    /// Whether less than the reserve is free: now, or a moment ago.
    pub(super) fn is_short(&self) -> bool {
        let lately = *self.lately.lock().unwrap_or_else(PoisonError::into_inner);
        let free = match lately {
            Some((when, free)) if when.elapsed() < FRESH => free,
            _ => self.free(),
        };
        free.is_some_and(|free| free < self.reserve)
    }

    /// An error if, with `free` bytes left, writing `needed` would touch the reserve.
    pub(super) fn has_room(&self, free: Option<u64>, needed: u64) -> Result<()> {
        let Some(free) = free.filter(|free| *free < self.reserve.saturating_add(needed)) else {
            return Ok(());
        };
        let (folder, left, kept) = (self.folder.display(), free >> 20, self.reserve >> 20);
        Err(StoreError::Full(if free < self.reserve {
            format!(
                "the disk of {folder} has {left} MiB left, and {kept} are kept free; searching \
                 goes on. Make room, and write again"
            )
        } else {
            format!(
                "the disk of {folder} has {left} MiB left; this may take {} MiB for a while, and \
                 {kept} are kept free; searching goes on. Make room, or write less at a time",
                needed.div_ceil(1 << 20)
            )
        }))
    }
}
