//! The free space of the disk.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::schema::folder_of;
use super::{Result, StoreError};
use crate::system::free_bytes;

/// The age up to which a measurement is good enough for [`Disk::is_short`].
const FRESH: Duration = Duration::from_secs(1);

/// The disk of a database.
pub(super) struct Disk {
    folder: PathBuf,
    reserve: u64,
    /// The free bytes of the disk that a folder is on, if the system reports them.
    measure: fn(&Path) -> Option<u64>,
    last: Mutex<Option<(Instant, Option<u64>)>>,
}

impl Disk {
    pub(super) fn new(path: &Path, reserve: u64) -> Self {
        Disk::measured_by(path, reserve, free_bytes)
    }

    /// A disk whose free bytes `measure` returns.
    pub(super) fn measured_by(
        path: &Path,
        reserve: u64,
        measure: fn(&Path) -> Option<u64>,
    ) -> Self {
        Disk { folder: folder_of(path).to_owned(), reserve, measure, last: Mutex::new(None) }
    }

    /// The free bytes of now, if the system reports them.
    pub(super) fn free(&self) -> Option<u64> {
        let free = (self.measure)(&self.folder);
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some((Instant::now(), free));
        free
    }

    /// Whether less than the reserve is free, or was within the last second.
    pub(super) fn is_short(&self) -> bool {
        let last = *self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let free = match last {
            Some((when, free)) if when.elapsed() < FRESH => free,
            _ => self.free(),
        };
        free.is_some_and(|free| free < self.reserve)
    }

    /// An error if, with `free` bytes left, writing `needed` bytes would use the reserve.
    pub(super) fn check(&self, free: Option<u64>, needed: u64) -> Result<()> {
        let Some(free) = free.filter(|free| *free < self.reserve.saturating_add(needed)) else {
            return Ok(());
        };
        let (folder, left, kept) = (self.folder.display(), free >> 20, self.reserve >> 20);
        Err(StoreError::Full(if free < self.reserve {
            format!(
                "the disk of {folder} has {left} MiB left, and {kept} MiB are kept free; searching \
                 goes on. Free some space, and write again"
            )
        } else {
            format!(
                "the disk of {folder} has {left} MiB left; this may take {} MiB for a while, and \
                 {kept} MiB are kept free; searching goes on. Free some space, or write less at a \
                 time",
                needed.div_ceil(1 << 20)
            )
        }))
    }
}
