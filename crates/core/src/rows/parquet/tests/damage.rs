//! Whatever becomes of a file, reading it ends with rows or with an error, never in a panic.

use proptest::prelude::*;

use super::encodings::{encodings, table, versions};
use super::*;

/// Tables with every kind of page, encoding and column.
fn tables() -> Vec<Vec<u8>> {
    let plain = every(Compression::UNCOMPRESSED);
    let others = versions().into_iter().chain(encodings());
    others.map(|properties| table(properties, 14, 1)).chain([plain]).collect()
}

#[test]
fn files_with_a_damaged_byte_are_refused_or_read() {
    for (n, whole) in tables().into_iter().enumerate() {
        for cut in [0, 3, 4, 8, 100, whole.len() / 2, whole.len() - 1] {
            let error = rows(&whole[..cut]).unwrap_err().to_string();
            assert!(error.contains("t.parquet: not readable as Parquet"), "{n} {cut}: {error}");
        }
        let mut refused = 0;
        for at in 0..whole.len() {
            let mut damaged = whole.clone();
            damaged[at] ^= 0xff;
            refused += usize::from(rows(&damaged).is_err());
        }
        assert!(refused > whole.len() / 8, "{n}: {refused} of {}", whole.len());
    }
}

proptest! {
    #[test]
    fn no_damage_ends_in_a_panic(
        which in 0..5usize,
        damage in proptest::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..4),
        cut in proptest::option::weighted(0.1, any::<prop::sample::Index>()),
    ) {
        let mut bytes = tables().swap_remove(which);
        for (at, byte) in damage {
            let at = at.index(bytes.len());
            bytes[at] = byte;
        }
        if let Some(cut) = cut {
            bytes.truncate(cut.index(bytes.len()));
        }
        let _ = rows(&bytes);
    }
}
