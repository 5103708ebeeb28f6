//! The file format of embeddings and lists: a header of numbers with a checksum, then arrays, each at
//! a multiple of 64 bytes, mapped into memory.

use std::fs::File;
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use memmap2::Mmap;

use crate::{Error, Result};

/// The format that this version writes.
const FORMAT: u64 = 1;
/// Numbers in a header: the magic number, the format, the fields, the checksum.
const WORDS: usize = 16;
/// The most fields of a header.
pub(super) const FIELDS: usize = WORDS - 3;
/// Bytes of a header.
pub(super) const HEADER: usize = WORDS * size_of::<u64>();
/// Every array starts at a multiple of this.
const ALIGNMENT: usize = 64;

/// The header of a file with the given magic number and fields.
pub(super) fn header(magic: &[u8; 8], fields: &[u64]) -> [u8; HEADER] {
    let mut words = [0u64; WORDS];
    words[0] = u64::from_le_bytes(*magic);
    words[1] = FORMAT;
    words[2..2 + fields.len()].copy_from_slice(fields);
    words[WORDS - 1] = extend_checksum(0, &words[..WORDS - 1]);
    let mut bytes = [0; HEADER];
    bytes.copy_from_slice(bytemuck::cast_slice(&words.map(u64::to_le)));
    bytes
}

/// Continues the checksum `sum` with `words` (FNV-1a on words, with a rotation).
pub(super) fn extend_checksum(sum: u64, words: &[u64]) -> u64 {
    words.iter().fold(sum ^ 0xcbf2_9ce4_8422_2325, |sum, &word| {
        (sum ^ word).wrapping_mul(0x0000_0100_0000_01b3).rotate_left(23)
    })
}

/// A mapped file whose header was checked.
pub(super) struct Mapped {
    path: PathBuf,
    map: Mmap,
    /// The fields of the header.
    pub fields: [u64; FIELDS],
}

impl Mapped {
    /// Maps the file at `path`, which must start with `magic`.
    pub fn open(path: &Path, magic: &[u8; 8]) -> Result<Self> {
        Mapped::of(File::open(path).map_err(Error::io("read", path))?, path, magic)
    }

    /// Maps an open file that is, or will be, at `path`.
    pub fn of(file: File, path: &Path, magic: &[u8; 8]) -> Result<Self> {
        let len = file.metadata().map_err(Error::io("read", path))?.len();
        if len < HEADER as u64 {
            let problem = format!("{len} bytes, but the header alone takes {HEADER}");
            return Err(Error::damaged(path, problem));
        }
        // SAFETY: as in `Tensors::open`: liken replaces files by rename and never writes in place.
        let map = unsafe { Mmap::map(&file) }.map_err(Error::io("map", path))?;
        let mut words = [0u64; WORDS];
        bytemuck::cast_slice_mut(&mut words).copy_from_slice(&map[..HEADER]);
        let words = words.map(u64::from_le);
        if words[0] != u64::from_le_bytes(*magic) {
            let kind = String::from_utf8_lossy(magic);
            return Err(Error::damaged(path, format!("it does not start with {kind:?}")));
        }
        if words[WORDS - 1] != extend_checksum(0, &words[..WORDS - 1]) {
            return Err(Error::damaged(path, "the header does not match its checksum"));
        }
        if words[1] != FORMAT {
            let found = u32::try_from(words[1]).unwrap_or(u32::MAX);
            return Err(Error::Newer { path: path.to_owned(), found, supported: FORMAT as u32 });
        }
        let mut fields = [0; FIELDS];
        fields.copy_from_slice(&words[2..WORDS - 1]);
        Ok(Mapped { path: path.to_owned(), map, fields })
    }

    /// An error unless the file ends with its last array, at `end` (`None`: beyond 2⁶⁴).
    pub fn check_len(&self, end: Option<usize>) -> Result<()> {
        if end == Some(self.map.len()) {
            return Ok(());
        }
        let expected = end.map_or("more than any file has".into(), |end| end.to_string());
        let found = self.map.len();
        Err(self.damaged(format!("{found} bytes, expected {expected} from its header")))
    }

    /// The `len` numbers from byte `start` on, as placed by [`ArrayLayout`] and checked by `check_len`.
    #[inline]
    pub fn array<T: Pod>(&self, start: usize, len: usize) -> &[T] {
        bytemuck::cast_slice(&self.map[start..start + len * size_of::<T>()])
    }

    /// An [`Error::Damaged`] for this file.
    pub fn damaged(&self, problem: impl Into<String>) -> Error {
        Error::damaged(&self.path, problem)
    }

    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.map.len() as u64
    }
}

/// Assigns the positions of consecutive arrays.
pub(super) struct ArrayLayout {
    end: Option<usize>,
}

impl ArrayLayout {
    /// Starts after the header.
    pub fn new() -> Self {
        ArrayLayout { end: Some(HEADER) }
    }

    /// The position of an array of `rows` × `width` numbers of type T; 0 on overflow.
    pub fn place<T>(&mut self, rows: usize, width: usize) -> usize {
        let start = self.end.and_then(|end| end.checked_next_multiple_of(ALIGNMENT));
        let bytes = rows.checked_mul(width).and_then(|len| len.checked_mul(size_of::<T>()));
        self.end = start.zip(bytes).and_then(|(start, bytes)| start.checked_add(bytes));
        start.unwrap_or(0)
    }

    /// The end of the last array; `None` on overflow.
    pub fn end(&self) -> Option<usize> {
        self.end
    }
}
