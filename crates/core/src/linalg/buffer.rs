//! Large blocks of f32 straight from the system: in memory, with large pages where it has them,
//! or in a scratch file that the system may write out.
//!
//! A product gathers rows at random places. With pages of 4 KiB nearly every row needs a page
//! table to be read first, which costs a third of the time; an allocator asks for no others.

use std::ops::{Deref, DerefMut};
use std::path::Path;

use memmap2::MmapMut;

use crate::{Error, Result};

/// Zeros at first. The memory is taken from the system as it is written to, and given back when
/// the buffer is dropped.
#[derive(Debug)]
pub struct Buffer {
    map: MmapMut,
    len: usize,
}

impl Buffer {
    /// `len` zeros in memory.
    pub fn zeros(len: usize) -> Result<Self> {
        let map = MmapMut::map_anon(bytes(len)).map_err(|error| Error::Memory {
            what: format!("a block of {len} numbers cannot be had: {error}"),
            advice: "free memory, or use fewer dimensions".into(),
        })?;
        // Only a wish: without large pages everything works, slower.
        #[cfg(target_os = "linux")]
        let _ = map.advise(memmap2::Advice::HugePage);
        Ok(Buffer { map, len })
    }

    /// `len` zeros in a file without a name in `folder`, which vanishes with the buffer.
    pub fn scratch(len: usize, folder: &Path) -> Result<Self> {
        let file = tempfile::tempfile_in(folder).map_err(Error::io("create in", folder))?;
        file.set_len(bytes(len) as u64).map_err(Error::io("make room in", folder))?;
        // SAFETY: the file has no name, so nobody else can change or shorten it.
        let map = unsafe { MmapMut::map_mut(&file) }.map_err(Error::io("map a file in", folder))?;
        Ok(Buffer { map, len })
    }
}

/// Nothing cannot be mapped, so the least is one number.
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
        }
        assert!(Buffer::zeros(0).unwrap().is_empty());
        let error = Buffer::scratch(8, &folder.path().join("missing")).unwrap_err();
        assert!(error.to_string().contains("missing"), "{error}");
    }
}
