//! W = M: a weight for every pair of a query word and a document word. Only cells that a step
//! has touched are stored.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hasher};

use rayon::prelude::*;

use super::fitted::Learnt;
use super::sgd::{Data, Shape, Slot, Triple, violating};
use crate::sparse::Csr;
use crate::{Error, Result};

/// Bytes of a cell while it is learnt: a table is between seven sixteenths and seven eighths
/// full, and twice as large while it grows.
const CELL_BYTES: u64 = 32;

/// Rows that are written side by side.
const PARTS: usize = 16;

/// The cells of one row by column.
type Cells = HashMap<u32, f32, BuildHasherDefault<Mixed>>;

/// Spreads numbers of words over a table by one product.
#[derive(Default)]
struct Mixed(u64);

impl Hasher for Mixed {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|&byte| self.write_u32(byte.into()));
    }

    fn write_u32(&mut self, number: u32) {
        let mixed = (self.0 ^ u64::from(number)).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        self.0 = mixed ^ (mixed >> 32);
    }
}

/// What is learnt beside the identity.
pub(super) struct Full {
    rows: Vec<Cells>,
    n_cells: u64,
    /// The bytes that the cells may take.
    most: u64,
}

impl Full {
    pub fn new(n_features: usize, most: u64) -> Self {
        Full { rows: (0..n_features).map(|_| Cells::default()).collect(), n_cells: 0, most }
    }
}

impl Shape for Full {
    type Look = ();

    fn look(&self, data: &Data, triple: Triple, (): &mut ()) -> f32 {
        let (query, good, bad) = data.features(triple);
        let mut score = 0.0;
        for (s, q) in query.iter() {
            let cells = &self.rows[s as usize];
            if cells.is_empty() {
                continue;
            }
            let sum = |row: crate::sparse::Row<'_>| -> f32 {
                row.iter().map(|(t, d)| d * cells.get(&t).copied().unwrap_or(0.0)).sum()
            };
            score += q * (sum(good) - sum(bad));
        }
        score
    }

    fn step(&mut self, data: &Data, slots: &[Slot<()>], rate: f32) -> Result<()> {
        let part = self.rows.len().div_ceil(PARTS).max(1);
        let new: Vec<u64> = self
            .rows
            .par_chunks_mut(part)
            .enumerate()
            .map(|(p, rows)| {
                let first = p * part;
                let span = first as u32..(first + rows.len()) as u32;
                let mut new = 0;
                for (triple, ()) in violating(slots) {
                    let (query, good, bad) = data.features(triple);
                    for (s, q) in super::rows::within(query, span.clone()).iter() {
                        let cells = &mut rows[s as usize - first];
                        let before = cells.len();
                        for (row, factor) in [(good, rate * q), (bad, -rate * q)] {
                            for (t, d) in row.iter() {
                                *cells.entry(t).or_insert(0.0) += factor * d;
                            }
                        }
                        new += (cells.len() - before) as u64;
                    }
                }
                new
            })
            .collect();
        self.n_cells += new.iter().sum::<u64>();
        let bytes = self.n_cells * CELL_BYTES;
        if bytes <= self.most {
            return Ok(());
        }
        Err(Error::Memory {
            what: format!(
                "{} cells of W take {} MiB, but only {} MiB are free for them",
                self.n_cells,
                bytes >> 20,
                self.most >> 20
            ),
            advice: "set `frequent`, take form = \"low_rank\" or \"hash\", whose size is fixed, or allow more (--max-memory SIZE)".into(),
        })
    }

    fn learnt(&self, data: &Data) -> Result<Learnt> {
        let mut of_word = vec![None; data.n_words()];
        for feature in 0..self.rows.len() {
            of_word[data.word(feature) as usize] = Some(feature);
        }
        let cells = Csr::by_rows(data.n_words(), data.n_words(), |word| {
            let Some(feature) = of_word[word] else { return Ok((Vec::new(), Vec::new())) };
            let mut cells: Vec<(u32, f32)> =
                self.rows[feature].iter().map(|(&t, &w)| (data.word(t as usize), w)).collect();
            cells.sort_unstable_by_key(|&(t, _)| t);
            Ok(cells.into_iter().unzip())
        })?;
        Ok(Learnt::Full(cells))
    }

    fn touched(&self, query: usize, docs: usize) -> u64 {
        (query * docs) as u64
    }
}
