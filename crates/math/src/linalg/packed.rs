//! A panel without its zeros: per row a mask of the non-zero columns, and the values of all rows in
//! order.
//!
//! A panel is packed and unpacked as a whole by several threads, which need only the start of each
//! block of rows among the values.

use std::path::Path;

use rayon::prelude::*;

use super::Buffer;
use crate::Result;
use crate::dense::{PANEL, PanelRow};

/// Rows per block.
pub const BLOCK: usize = 1024;

/// A packed panel.
#[derive(Debug)]
pub struct Packed {
    /// One u32 per row, stored as the bits of an f32.
    masks: Buffer,
    /// Where the values of each block of rows start; one more entry than blocks.
    starts: Vec<u64>,
    values: Buffer,
}

/// Bytes of a packed panel of `n_rows` rows with `filled` non-zero values.
pub fn packed_bytes(n_rows: usize, filled: u64) -> u64 {
    4 * n_rows as u64 + 8 * n_rows.div_ceil(BLOCK) as u64 + 4 * filled
}

impl Packed {
    /// Packs `panel`.
    #[cfg(test)]
    pub fn of(panel: &[f32]) -> Result<Self> {
        let (masks, starts) = masks_of(panel)?;
        Packed::with_masks(panel, masks, starts)
    }

    /// Packs `panel` if that saves at least a quarter of the memory.
    pub fn if_smaller(panel: &[f32]) -> Result<Option<Self>> {
        let (masks, starts) = masks_of(panel)?;
        if packed_bytes(masks.len(), starts[starts.len() - 1]) > 3 * panel.len() as u64 {
            return Ok(None);
        }
        Packed::with_masks(panel, masks, starts).map(Some)
    }

    fn with_masks(panel: &[f32], masks: Buffer, starts: Vec<u64>) -> Result<Self> {
        let (rows, _) = panel.as_chunks::<PANEL>();
        let mut values = Buffer::zeros(starts[starts.len() - 1] as usize)?;
        blocks_mut(&starts, &mut values)
            .zip(rows.par_chunks(BLOCK))
            .zip(bits(&masks).par_chunks(BLOCK))
            .for_each(|((values, rows), masks)| {
                let mut values = values.iter_mut();
                for (row, &mask) in rows.iter().zip(masks) {
                    columns(mask).zip(&mut values).for_each(|(column, value)| *value = row[column]);
                }
            });
        Ok(Packed { masks, starts, values })
    }

    /// Writes all values, zeros included, to `panel`.
    ///
    /// # Panics
    /// If `panel` has another size.
    pub fn unpack(&self, panel: &mut [f32]) {
        assert_eq!(panel.len(), self.masks.len() * PANEL, "a panel of as many rows");
        let (rows, _) = panel.as_chunks_mut::<PANEL>();
        rows.par_chunks_mut(BLOCK).enumerate().for_each(|(b, rows)| self.unpack_block(b, rows));
    }

    /// Writes the rows of block `block`, of 1,024 rows, to `rows`.
    pub fn unpack_block(&self, block: usize, rows: &mut [PanelRow]) {
        let mut values = self.block(block).iter();
        for (row, &mask) in rows.iter_mut().zip(&bits(&self.masks)[block * BLOCK..]) {
            row.fill(0.0);
            columns(mask).zip(&mut values).for_each(|(column, &value)| row[column] = value);
        }
    }

    /// Calls `f(values, about)` with the stored values of every row, which it may change; those that
    /// become zero are dropped.
    ///
    /// # Panics
    /// If `about` has not one entry per row.
    pub fn update<T: Send>(
        &mut self,
        about: &mut [T],
        f: impl Fn(&mut [f32], &mut T) + Sync,
    ) -> Result<()> {
        let Packed { masks, starts, values } = self;
        assert_eq!(about.len(), masks.len(), "one entry of `about` per row");
        blocks_mut(starts, values)
            .zip(bits(masks).par_chunks(BLOCK))
            .zip(about.par_chunks_mut(BLOCK))
            .for_each(|((mut values, masks), about)| {
                for (mask, about) in masks.iter().zip(about) {
                    let (row, rest) = values.split_at_mut(mask.count_ones() as usize);
                    f(row, about);
                    values = rest;
                }
            });
        self.drop_zeros()
    }

    fn drop_zeros(&mut self) -> Result<()> {
        let counts: Vec<u64> = (0..self.starts.len() - 1)
            .into_par_iter()
            .map(|block| self.block(block).iter().filter(|&&value| value != 0.0).count() as u64)
            .collect();
        let mut starts = vec![0u64];
        counts.iter().for_each(|count| starts.push(starts[starts.len() - 1] + count));
        if starts == self.starts {
            return Ok(());
        }
        let mut kept = Buffer::zeros(starts[starts.len() - 1] as usize)?;
        let (old, old_starts) = (&self.values, &self.starts);
        let masks = bytemuck::cast_slice_mut::<f32, u32>(&mut self.masks);
        blocks_mut(&starts, &mut kept).zip(masks.par_chunks_mut(BLOCK)).enumerate().for_each(
            |(block, (kept, masks))| {
                let mut old = old[old_starts[block] as usize..].iter();
                let mut kept = kept.iter_mut();
                for mask in masks {
                    for column in columns(*mask) {
                        match old.next() {
                            Some(&value) if value != 0.0 => {
                                kept.by_ref().take(1).for_each(|place| *place = value);
                            }
                            _ => *mask &= !(1 << column),
                        }
                    }
                }
            },
        );
        (self.starts, self.values) = (starts, kept);
        Ok(())
    }

    /// Row `i`, zeros included.
    pub fn row(&self, i: usize) -> PanelRow {
        let block = i / BLOCK;
        let masks = bits(&self.masks);
        let before: u32 = masks[block * BLOCK..i].iter().map(|mask| mask.count_ones()).sum();
        let values = self.values[self.starts[block] as usize + before as usize..].iter();
        let mut row = [0.0; PANEL];
        columns(masks[i]).zip(values).for_each(|(column, &value)| row[column] = value);
        row
    }

    /// A copy in memory, or in scratch files in `folder` if one is given.
    pub fn copy(&self, folder: Option<&Path>) -> Result<Self> {
        Ok(Packed {
            masks: self.masks.copy(folder)?,
            starts: self.starts.clone(),
            values: self.values.copy(folder)?,
        })
    }

    /// The number of stored values.
    pub fn filled(&self) -> u64 {
        self.values.len() as u64
    }

    /// Bytes of memory.
    pub fn bytes(&self) -> u64 {
        packed_bytes(self.masks.len(), self.filled())
    }

    /// The number of stored values of each row of a block.
    pub fn filled_in_block(&self, block: usize) -> impl Iterator<Item = u32> + '_ {
        bits(&self.masks)[block * BLOCK..].iter().take(BLOCK).map(|mask| mask.count_ones())
    }

    fn block(&self, block: usize) -> &[f32] {
        &self.values[self.starts[block] as usize..self.starts[block + 1] as usize]
    }
}

/// The masks of the rows of a panel, and where the values of each block of rows begin.
fn masks_of(panel: &[f32]) -> Result<(Buffer, Vec<u64>)> {
    let (rows, _) = panel.as_chunks::<PANEL>();
    let mut masks = Buffer::zeros(rows.len())?;
    let filled: Vec<u64> = bytemuck::cast_slice_mut::<f32, u32>(&mut masks)
        .par_chunks_mut(BLOCK)
        .zip(rows.par_chunks(BLOCK))
        .map(|(masks, rows)| {
            masks.iter_mut().zip(rows).for_each(|(place, row)| *place = mask(row));
            masks.iter().map(|mask| u64::from(mask.count_ones())).sum()
        })
        .collect();
    let mut starts = vec![0u64];
    filled.iter().for_each(|filled| starts.push(starts[starts.len() - 1] + filled));
    Ok((masks, starts))
}

fn bits(masks: &[f32]) -> &[u32] {
    bytemuck::cast_slice(masks)
}

fn mask(row: &PanelRow) -> u32 {
    row.iter().enumerate().fold(0, |mask, (k, &value)| mask | (u32::from(value != 0.0) << k))
}

/// The columns whose bits are set.
fn columns(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let column = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (column < PANEL).then_some(column)
    })
}

/// The values of each block.
fn blocks_mut<'a>(
    starts: &[u64],
    values: &'a mut [f32],
) -> impl IndexedParallelIterator<Item = &'a mut [f32]> {
    let mut rest = values;
    let mut blocks = Vec::with_capacity(starts.len() - 1);
    for pair in starts.windows(2) {
        let (block, tail) = rest.split_at_mut((pair[1] - pair[0]) as usize);
        blocks.push(block);
        rest = tail;
    }
    blocks.into_par_iter()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::random::Random;

    fn panel(n_rows: usize, density: f64, seed: u64) -> Vec<f32> {
        let mut random = Random::new(seed, 0);
        let mut draw = || if random.uniform() < density { random.normal() as f32 } else { 0.0 };
        (0..n_rows * PANEL).map(|_| draw()).collect()
    }

    proptest! {
        #[test]
        fn what_is_packed_comes_back(n_rows in 0usize..3000, density in 0.0f64..1.0, seed in 0u64..99) {
            let panel = panel(n_rows, density, seed);
            let packed = Packed::of(&panel).unwrap();
            let mut back = vec![f32::NAN; panel.len()];
            packed.unpack(&mut back);
            prop_assert_eq!(&back, &panel);
            prop_assert_eq!(packed.filled(), panel.iter().filter(|&&v| v != 0.0).count() as u64);
            for i in [0, n_rows / 2, n_rows.saturating_sub(1)] {
                if i < n_rows {
                    prop_assert_eq!(&packed.row(i)[..], &panel[i * PANEL..][..PANEL]);
                }
            }
            let smaller = packed.bytes() <= 3 * panel.len() as u64;
            prop_assert_eq!(Packed::if_smaller(&panel).unwrap().is_some(), smaller);
            let folder = tempfile::tempdir().unwrap();
            for place in [None, Some(folder.path())] {
                back.fill(f32::NAN);
                packed.copy(place).unwrap().unpack(&mut back);
                prop_assert_eq!(&back, &panel);
            }
        }

        #[test]
        fn updates_drop_what_becomes_zero(n_rows in 0usize..3000, seed in 0u64..99) {
            let mut panel = panel(n_rows, 0.3, seed);
            let mut packed = Packed::of(&panel).unwrap();
            let change = |i: usize, value: f32| if value < 0.0 { 0.0 } else { value + i as f32 };
            let mut rows: Vec<usize> = (0..n_rows).collect();
            packed.update(&mut rows, |row, &mut i| row.iter_mut().for_each(|v| *v = change(i, *v))).unwrap();
            for (at, value) in panel.iter_mut().enumerate().filter(|(_, value)| **value != 0.0) {
                *value = change(at / PANEL, *value);
            }
            let mut back = vec![f32::NAN; panel.len()];
            packed.unpack(&mut back);
            prop_assert_eq!(&back, &panel);
            prop_assert_eq!(packed.filled(), panel.iter().filter(|&&v| v != 0.0).count() as u64);
        }
    }
}
