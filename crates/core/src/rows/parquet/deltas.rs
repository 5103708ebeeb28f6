//! The lengths of values that are encoded as differences. The decoder makes room for as many as the page
//! says, and cuts the values where they say: here they are checked beforehand.

/// Lengths that were encoded as differences.
pub(super) struct Deltas<'p> {
    /// Their sum, if none is below 0.
    sum: Option<u64>,
    /// What follows them.
    pub rest: &'p [u8],
}

/// Whether the lengths at the start of `page`, at most `most`, are of the bytes after them.
pub(super) fn check_lengths(page: &[u8], most: u32) -> Option<()> {
    let lengths = Deltas::read(page, most)?;
    let fits = usize::try_from(lengths.sum?).is_ok_and(|sum| sum <= lengths.rest.len());
    fits.then_some(())
}

impl<'p> Deltas<'p> {
    /// Reads at most `most` lengths from the start of `page`.
    pub(super) fn read(mut page: &'p [u8], most: u32) -> Option<Self> {
        let (block, parts, n) = (take(&mut page)?, take(&mut page)?, take(&mut page)?);
        let mut length = signed(take(&mut page)?)?;
        let parts = usize::try_from(parts).ok()?;
        let per_part = usize::try_from(block).ok()?.checked_div(parts)?;
        let mut left = u32::try_from(n).ok().filter(|&n| n <= most)?;
        let mut sum = Some(0);
        let mut add = |length: i32| sum = sum.zip(u64::try_from(length).ok()).map(|(a, b)| a + b);
        if left > 0 {
            add(length);
            left -= 1;
        }
        while left > 0 {
            let least = signed(take(&mut page)?)?;
            let (widths, rest) = page.split_at_checked(parts)?;
            page = rest;
            for &bits in widths {
                // The rest of a block has no parts, whatever their widths say.
                if left == 0 {
                    break;
                }
                let bits = usize::from(bits);
                let (part, rest) = page.split_at_checked(per_part.checked_mul(bits)? / 8)?;
                page = rest;
                for at in 0..per_part.min(usize::try_from(left).ok()?) {
                    let more = packed(part, at * bits, bits)?;
                    length = length.wrapping_add(least).wrapping_add(more.cast_signed());
                    add(length);
                    left -= 1;
                }
            }
        }
        Some(Deltas { sum, rest: page })
    }
}

/// The number of `bits` bits from the bit `start`, the lowest first.
fn packed(part: &[u8], start: usize, bits: usize) -> Option<u32> {
    let bytes = part.get(start / 8..)?;
    let mut word = [0; 8];
    for (to, &from) in word.iter_mut().zip(bytes) {
        *to = from;
    }
    let word = u64::from_le_bytes(word) >> (start % 8);
    let mask = (1u64 << bits.min(32)) - 1;
    (bits <= 32).then_some((word & mask) as u32)
}

/// Takes a number of seven bits per byte from the start of `page`.
fn take(page: &mut &[u8]) -> Option<u64> {
    let length = 1 + page.iter().take(10).position(|byte| byte & 0x80 == 0)?;
    let (bytes, rest) = page.split_at(length);
    *page = rest;
    Some(bytes.iter().rev().fold(0, |number, byte| (number << 7) | u64::from(byte & 0x7f)))
}

/// The number whose sign is its lowest bit.
fn signed(number: u64) -> Option<i32> {
    i32::try_from((number >> 1).cast_signed() ^ -((number & 1).cast_signed())).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The lengths 7, 5, 3, 1, 2, 3, 4, 5 by the example of the format's description: blocks of 128 in
    /// four parts, the least difference -2, and differences of two bits above it.
    const LENGTHS: [u8; 18] =
        [0x80, 1, 4, 8, 14, 3, 2, 0, 0, 0, 0b1100_0000, 0b0011_1111, 0, 0, 0, 0, 0, 0];

    #[test]
    fn lengths_must_be_those_of_the_bytes_after_them() {
        let page = [&LENGTHS[..], &[0; 30]].concat();
        let read = Deltas::read(&page, 8).unwrap();
        assert_eq!((read.sum, read.rest.len()), (Some(30), 30));
        assert_eq!(check_lengths(&page, 8), Some(()));
        assert_eq!(check_lengths(&page[..page.len() - 1], 8), None);
        // More lengths than values, a negative one, no parts, numbers without end, cut off.
        assert_eq!(check_lengths(&page, 7), None);
        for (at, byte) in [(4, 3), (2, 0), (3, 0x80), (6, 33)] {
            let mut page = page.clone();
            page[at] = byte;
            assert_eq!(check_lengths(&page, 8), None, "{at}");
        }
        assert_eq!(check_lengths(&[0xff; 20], u32::MAX), None);
        for cut in 0..LENGTHS.len() {
            assert_eq!(check_lengths(&page[..cut], 8), None, "{cut}");
        }
        // No lengths, and one, which has no block.
        assert_eq!(check_lengths(&[0x80, 1, 4, 0, 0], 0), Some(()));
        assert_eq!(check_lengths(&[0x80, 1, 4, 1, 4, 0, 0], 1), Some(()));
        assert_eq!(check_lengths(&[0x80, 1, 4, 1, 4, 0], 1), None);
    }
}
