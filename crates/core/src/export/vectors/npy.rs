//! NumPy's format: a magic number, a header that is a Python literal, then the values. A set of
//! vectors is a two-dimensional array of float32 in C order; the ids are in a file of their own.

use super::rows::{ExportedSet, Rows};
use crate::export::folder::ExportFolder;
use crate::{Result, Run};

/// The numbers begin at a multiple of this, so that the file can be mapped into memory.
const ALIGNMENT: usize = 64;

pub(super) fn write(
    folder: &mut ExportFolder,
    set: &Rows<'_>,
    run: &Run<'_>,
) -> Result<ExportedSet> {
    let holds = format!("{} vectors of {} numbers, float32", set.n, set.dim);
    let mut out = folder.file(&format!("{}.npy", set.name), holds)?;
    out.bytes(&header(set.n, set.dim))?;
    let mut buffer = Vec::new();
    let about = set.each(run, |_, row| out.numbers(row, &mut buffer))?;
    out.finish()?;
    set.write_ids(folder).map(|()| about)
}

/// Version 1.0 of the format: the magic number, the length of the header, the header.
fn header(n_rows: usize, n_cols: usize) -> Vec<u8> {
    let about =
        format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({n_rows}, {n_cols}), }}");
    let before = b"\x93NUMPY\x01\x00".len() + 2;
    let length = (before + about.len() + 1).next_multiple_of(ALIGNMENT) - before;
    let mut header = b"\x93NUMPY\x01\x00".to_vec();
    // Two numbers of at most 20 digits: the header never has more than 256 bytes.
    header.extend((length as u16).to_le_bytes());
    header.extend(format!("{about:<width$}\n", width = length - 1).as_bytes());
    header
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What numpy 2 writes for `numpy.zeros((3, 2), "float32")`.
    #[test]
    fn the_header_is_numpys() {
        let expected =
            format!("{:<117}\n", "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 2), }");
        let header = header(3, 2);
        assert_eq!(header.len(), 128);
        assert_eq!(&header[..10], b"\x93NUMPY\x01\x00\x76\x00");
        assert_eq!(&header[10..], expected.as_bytes());
    }

    #[test]
    fn numbers_begin_at_a_multiple_of_64() {
        for (n, dim) in [(0, 1), (1, 1), (12_345_678_901, 300), (usize::MAX, usize::MAX)] {
            let header = header(n, dim);
            assert!(header.len().is_multiple_of(64) && header.ends_with(b"\n"));
            let length = usize::from(u16::from_le_bytes([header[8], header[9]]));
            assert_eq!(length + 10, header.len());
        }
    }
}
