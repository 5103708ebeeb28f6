//! What the operating system says: the room on a disk, and how many files may be open.
#![allow(unsafe_code)]

use std::path::Path;

/// The free bytes of the disk that `folder` is on, if the system tells.
#[cfg(unix)]
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
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
pub(crate) fn free_bytes(_folder: &Path) -> Option<u64> {
    None
}

/// How many files the process may have open, if the system says.
#[cfg(unix)]
pub fn open_files() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call only writes to the struct that it is given.
    let told = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
    told.then(|| usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX))
}

/// How many files the process may have open, if the system says.
#[cfg(not(unix))]
pub fn open_files() -> Option<usize> {
    None
}
