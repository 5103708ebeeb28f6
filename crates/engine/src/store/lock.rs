//! One process writes to a database.

use std::fs::{File, OpenOptions, TryLockError};
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use super::{Result, StoreError};

/// A lock of the operating system on a file beside the database. It ends with the process, also
/// when that is killed; the file stays and means nothing by itself.
pub(super) struct Lock {
    file: File,
}

impl Drop for Lock {
    /// Lets go at once: closing the file would not do that while a program that is just being
    /// started has a copy of it.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Takes the lock of the database at `path`, or says who has it.
    pub(super) fn take(path: &Path) -> Result<Self> {
        let file = lock_path(path);
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
                // Whoever holds it may be about to write its name: it is only a help.
                let _ = file.take(64).read_to_string(&mut holder);
                let holder = holder.trim().parse::<u32>();
                let holder = holder.map_or("another process".into(), |id| format!("process {id}"));
                return Err(StoreError::Held(format!(
                    "{}: {holder} writes to this index; stop it, or send it what is to be written",
                    path.display()
                )));
            }
            Err(TryLockError::Error(error)) => return Err(failed(error)),
        }
        file.set_len(0).map_err(failed)?;
        file.seek(SeekFrom::Start(0)).map_err(failed)?;
        // On a full disk there is no room for the name, but reads shall go on.
        let _ = writeln!(file, "{}", std::process::id());
        Ok(Lock { file })
    }
}

/// `path` with `.lock` behind it.
fn lock_path(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    PathBuf::from(name)
}
