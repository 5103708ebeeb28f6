//! Large blocks of f32 mapped by the system: in memory, with huge pages if available, or in a
//! scratch file that the system may page out.
//!
//! A product gathers rows at random. With pages of 4 KiB nearly every row is a TLB miss, which costs
//! a third of the time; allocators do not ask for huge pages.

use std::fs::File;
use std::io;
use std::ops::{Deref, DerefMut};
use std::path::Path;

use memmap2::MmapMut;
use rayon::prelude::*;

use crate::{Error, Result};

/// Numbers copied per task.
const COPIED: usize = 1 << 16;

/// A mapped block, initially zeros. The system provides its pages as they are written, and takes
/// them back when the buffer is dropped.
#[derive(Debug)]
pub struct Buffer {
    map: MmapMut,
    len: usize,
}

impl Buffer {
    /// `len` zeros in memory.
    pub fn zeros(len: usize) -> Result<Self> {
        let map = MmapMut::map_anon(bytes(len)).map_err(|error| Error::Memory {
            what: format!("cannot allocate a block of {len} numbers: {error}"),
            advice: "free memory, or use fewer dimensions".into(),
        })?;
        // Only a hint: without huge pages everything works, more slowly.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Buffer { map, len })
    }

    /// `len` zeros in an unnamed file in `folder`, which is deleted with the buffer.
    pub fn scratch(len: usize, folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(Error::io("create in", folder))?;
        reserve(&file, bytes(len) as u64)
            .map_err(Error::io("reserve space for a scratch file", folder))?;
        // SAFETY: the file has no name, so nobody else can change or shorten it.
        let map = unsafe { MmapMut::map_mut(&file) }.map_err(Error::io("map a file in", folder))?;
        Ok(Buffer { map, len })
    }

    /// `len` zeros in memory, or in a scratch file in `folder` if one is given.
    pub fn placed(len: usize, folder: Option<&Path>) -> Result<Self> {
        match folder {
            Some(folder) => Buffer::scratch(len, folder),
            None => Buffer::zeros(len),
        }
    }

    /// A copy in memory, or in a scratch file in `folder` if one is given.
    pub fn copy(&self, folder: Option<&Path>) -> Result<Self> {
        let mut copy = Buffer::placed(self.len, folder)?;
        copy.par_chunks_mut(COPIED)
            .zip(self.par_chunks(COPIED))
            .for_each(|(to, from)| to.copy_from_slice(from));
        Ok(copy)
    }
}

/// Extends a new file to `bytes` and reserves its blocks: writing to a hole when the disk is full
/// would kill the process.
#[cfg(target_os = "linux")]
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    use std::os::fd::AsRawFd;

    let len =
        libc::off_t::try_from(bytes).map_err(|_| io::Error::from(io::ErrorKind::FileTooLarge))?;
    loop {
        // SAFETY: the descriptor is open as long as `file` is.
        match unsafe { libc::posix_fallocate(file.as_raw_fd(), 0, len) } {
            0 => return Ok(()),
            libc::EINTR => {}
            // The file system does not support reservation.
            libc::EOPNOTSUPP | libc::EINVAL => return file.set_len(bytes),
            error => return Err(io::Error::from_raw_os_error(error)),
        }
    }
}

/// Extends a new file to `bytes`.
#[cfg(not(target_os = "linux"))]
fn reserve(file: &File, bytes: u64) -> io::Result<()> {
    file.set_len(bytes)
}

/// The length of a mapping, at least one number: an empty one is not possible.
fn bytes(len: usize) -> usize {
    (len * size_of::<f32>()).max(size_of::<f32>())
}

impl Deref for Buffer {
    type Target = [f32];

    fn deref(&self) -> &[f32] {
        &bytemuck::cast_slice(&self.map)[..self.len]
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [f32] {
        &mut bytemuck::cast_slice_mut(&mut self.map)[..self.len]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_start_as_zeros_and_keep_what_is_written() {
        let folder = tempfile::tempdir().unwrap();
        for mut buffer in
            [Buffer::zeros(5000).unwrap(), Buffer::scratch(5000, folder.path()).unwrap()]
        {
            assert_eq!(buffer.len(), 5000);
            assert!(buffer.iter().all(|&value| value == 0.0));
            buffer[4999] = 2.5;
            assert_eq!(buffer[4999], 2.5);
            for place in [None, Some(folder.path())] {
                assert_eq!(buffer.copy(place).unwrap()[..], buffer[..]);
            }
        }
        assert!(Buffer::zeros(0).unwrap().is_empty());
        let error = Buffer::scratch(8, &folder.path().join("missing")).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn the_disk_gives_all_of_a_scratch_file_at_once_or_says_no() {
        use std::os::unix::fs::MetadataExt;

        let folder = tempfile::tempdir().unwrap();
        let file = tempfile::tempfile_in(folder.path()).unwrap();
        reserve(&file, 3 << 20).unwrap();
        let about = file.metadata().unwrap();
        assert_eq!(about.len(), 3 << 20);
        assert!(512 * about.blocks() >= 3 << 20, "{} blocks", about.blocks());

        let refused = reserve(&File::open(folder.path()).unwrap(), 4096).unwrap_err();
        assert_eq!(refused.raw_os_error(), Some(libc::EBADF));
        assert_eq!(reserve(&file, u64::MAX).unwrap_err().kind(), io::ErrorKind::FileTooLarge);
        let full = io::Error::from_raw_os_error(libc::ENOSPC);
        let error = Error::io("reserve space for a scratch file", folder.path())(full).to_string();
        let named = folder.path().display().to_string();
        assert!(
            error.contains(&named) && error.contains("the disk or the quota is full"),
            "{error}"
        );
    }
}
