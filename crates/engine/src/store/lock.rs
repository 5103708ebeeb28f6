//! The lock by which one process alone writes to a database.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Result, StoreError};

/// A lock of the operating system on a file beside the database. It ends with the process, also
/// when that is killed; the file remains, and means nothing without a lock.
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    /// Unlocks at once: closing the file would not while a child process that is just being started
    /// has a copy of it.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Takes the lock of the database at `path`; the error names the process that has it.
    pub(super) fn take(path: &Path) -> Result<Self> {
        let mut file = path.as_os_str().to_owned();
        file.push(".lock");
        let file = PathBuf::from(file);
        let failed = |error: std::io::Error| {
            StoreError::Disk(format!("{}: cannot be locked: {error}", file.display()))
        };
        let mut file = OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&file)
            .map_err(failed)?;
        match file.try_lock() {
            Ok(()) => {}
            Err(TryLockError::WouldBlock) => {
                let mut holder = String::new();
                // The process id only helps: it may not be written yet.
                let _ = file.take(64).read_to_string(&mut holder);
                let holder = holder.trim().parse::<u32>();
                let holder = holder.map_or("another process".into(), |id| format!("process {id}"));
                return Err(StoreError::Unavailable(format!(
                    "{}: {holder} writes to this index; stop it, or send your changes to it",
                    path.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        file.set_len(0).map_err(failed)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        // This fails on a full disk, where reads must go on.
        let _ = writeln!(file, "{}", std::process::id());
        Ok(Lock { file })
    }
}
