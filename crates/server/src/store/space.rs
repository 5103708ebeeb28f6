//! How much room the disk has.

use std::path::{Path, PathBuf};

use super::{Result, StoreError};

/// The disk of a database.
pub(super) struct Disk {
    folder: PathBuf,
    reserve: u64,
}

impl Disk {
    pub(super) fn new(path: &Path, reserve: u64) -> Self {
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
            _ => PathBuf::from("."),
        };
        Disk { folder, reserve }
    }

    /// An error if less than the reserve is free.
    pub(super) fn has_room(&self) -> Result<()> {
        match free(&self.folder) {
            Some(free) if free < self.reserve => Err(StoreError::Full(format!(
                "the disk of {} has {} MiB left, and {} are kept free; searching goes on. Make \
                 room, and write again",
                self.folder.display(),
                free >> 20,
                self.reserve >> 20,
            ))),
            _ => Ok(()),
        }
    }
}

/// The free bytes of the disk that `folder` is on, if the system tells.
#[cfg(unix)]
fn free(folder: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;

    let name = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    let mut about = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the name ends in NUL, and `about` has room for what the call writes; it is only
    // looked at if the call says that it was filled.
    let about = unsafe {
        if libc::statvfs(name.as_ptr(), about.as_mut_ptr()) != 0 {
            return None;
        }
        about.assume_init()
    };
    // The types differ from system to system.
    #[allow(clippy::unnecessary_cast)]
    Some((about.f_bavail as u64).saturating_mul(about.f_frsize as u64))
}

#[cfg(not(unix))]
fn free(_folder: &Path) -> Option<u64> {
    None
}
