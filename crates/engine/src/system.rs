//! Calls of the operating system: free disk space, and the limit of open files.
#![allow(unsafe_code)]

use std::path::Path;

/// The free bytes of the disk that `folder` is on, if the system reports them.
#[cfg(unix)]
pub(crate) fn free_bytes(folder: &Path) -> Option<u64> {
    use std::os::unix::ffi::OsStrExt;

    let name = std::ffi::CString::new(folder.as_os_str().as_bytes()).ok()?;
    let mut about = std::mem::MaybeUninit::<libc::statvfs>::uninit();
    // SAFETY: the name ends in NUL, and `about` has the size that the call writes; it is read only
    // if the call succeeds.
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

/// The limit of open files of the process, if the system reports it.
#[cfg(unix)]
pub fn open_files() -> Option<usize> {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: the call only writes to the struct that it is given.
    let succeeded = unsafe { libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) } == 0;
    succeeded.then(|| usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX))
}

/// The limit of open files of the process, if the system reports it.
#[cfg(not(unix))]
pub fn open_files() -> Option<usize> {
    None
}
