//! W = M: a weight for every pair of a query word and a document word. Only cells touched by a step
//! are stored. Without the diagonal only pairs of different words are learnt: synonyms.
//!
//! ```text
//! M_st ← M_st + λ·q_s·(d⁺ − d⁻)_t
//! ```

use rayon::prelude::*;
use rustc_hash::FxHashMap;

use super::data::{Data, Triple};
use super::fitted::Learnt;
use super::sgd::{Batch, WeightForm, score_all};
use crate::Result;
use crate::matchers::Maps;
use crate::params::check::check_memory;
use crate::sparse::{Csr, Row};

/// Bytes of a cell in training: a table is between seven sixteenths and seven eighths full, and twice
/// as large while it grows.
pub(super) const CELL_BYTES: u64 = 32;

/// Parts of the rows that are written in parallel.
const PARTS: usize = 16;

/// The cells of one row by column.
type Cells = FxHashMap<u32, f32>;

/// The cells in training.
pub(super) struct Full {
    rows: Vec<Cells>,
    n_cells: u64,
    /// The bytes that the cells may take.
    most: u64,
    /// Whether a word has a weight with itself.
    diagonal: bool,
}

impl Full {
    pub fn new(n_features: usize, most: u64, diagonal: bool) -> Self {
        let rows = (0..n_features).map(|_| Cells::default()).collect();
        Full { rows, n_cells: 0, most, diagonal }
    }

    fn score(&self, data: &Data, triple: Triple) -> f32 {
        let [query, good, bad] = data.features(triple);
        let mut score = 0.0;
        for (s, q) in query.iter() {
            let cells = &self.rows[s as usize];
            if cells.is_empty() {
                continue;
            }
            let sum = |row: Row<'_>| -> f32 {
                row.iter().map(|(t, d)| d * cells.get(&t).copied().unwrap_or(0.0)).sum()
            };
            score += q * (sum(good) - sum(bad));
        }
        score
    }

    fn update(&mut self, &Batch { data, moved, rate, .. }: &Batch<'_>) -> Result<()> {
        let diagonal = self.diagonal;
        let part = self.rows.len().div_ceil(PARTS).max(1);
        let new: Vec<u64> = self
            .rows
            .par_chunks_mut(part)
            .enumerate()
            .map(|(p, rows)| {
                let first = p * part;
                let span = first as u32..(first + rows.len()) as u32;
                let mut new = 0;
                for moved in moved {
                    let [query, good, bad] = data.features(moved.triple);
                    for (s, q) in query.within(span.clone()).iter() {
                        let cells = &mut rows[s as usize - first];
                        let before = cells.len();
                        for (row, factor) in [(good, rate * q), (bad, -rate * q)] {
                            for (t, d) in row.iter().filter(|&(t, _)| diagonal || t != s) {
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
        check_memory(
            self.n_cells * CELL_BYTES,
            self.most,
            || format!("{} cells of W", self.n_cells),
            "set `frequent`, or take `form = low_rank` or `form = hash`, whose size is fixed",
        )
    }
}

impl WeightForm for Full {
    fn step(&mut self, batch: &Batch<'_>, scores: &mut [f32]) -> Result<()> {
        self.update(batch)?;
        score_all(batch.now, scores, |triple| self.score(batch.data, triple));
        Ok(())
    }

    fn learnt(&self, data: &Data) -> Result<Learnt<Maps>> {
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

    fn touched(&self, data: &Data, triple: Triple) -> u64 {
        let [query, good, bad] = data.features(triple);
        (query.len() * (good.len() + bad.len())) as u64
    }
}
