//! EM of IBM model 1 over weighted cells (query word, document). The table has one entry per pair of
//! a query word and a word of a document that was clicked for it.

use rayon::prelude::*;

use super::lengths;
use crate::matchers::sparse_vector::{SparseVector, single, weighted_sum};
use crate::params::check::check_memory;
use crate::sparse::{Csr, Row};
use crate::{Error, Result, Run};

/// An entry of the table in training: a word's number and its probability.
pub(super) const BYTES_PER_ENTRY: u64 = 12;
/// Rows that one task takes at least, so that its scratch is worth its making.
const ROWS: usize = 32;

/// XᵀR: how often each query word led to each document, weighted as the pairs are.
pub(super) fn cells(queries: &Csr, pairs: &Csr) -> Result<Csr> {
    let by_word = queries.transpose();
    Csr::by_rows(pairs.n_cols(), by_word.n_rows(), |word| {
        let asked = by_word.row(word).iter();
        let rows = asked.map(|(query, count)| (f64::from(count), pairs.row(query as usize)));
        Ok(single(weighted_sum(rows)))
    })
}

/// One row of the table: a query word and the document words it may come from.
struct TableRow {
    word: u32,
    sources: Vec<u32>,
    t: Vec<f64>,
    null: f64,
}

/// The result of training.
pub(super) struct Learnt {
    /// Query words × document words.
    pub table: Csr,
    /// t(q|null) of every term.
    pub null: Vec<f64>,
    /// The share of the probability that the entries kept had.
    pub mass: f64,
    /// Document words that lost all their entries.
    pub emptied: usize,
}

pub(super) struct Trainer<'a> {
    cells: &'a Csr,
    text: &'a Csr,
    lengths: Vec<f64>,
    rows: Vec<TableRow>,
    /// The weight of all cells.
    total: f64,
}

/// Two numbers per document word, used again for all rows of a task.
struct Scratch {
    t: Vec<f64>,
    shares: Vec<f64>,
}

impl<'a> Trainer<'a> {
    /// Starts with equal probabilities. Refuses a table that would take more than `most` bytes.
    pub fn new(cells: &'a Csr, text: &'a Csr, most: u64) -> Result<Self> {
        let words: Vec<u32> =
            (0..cells.n_rows() as u32).filter(|&u| !cells.row(u as usize).is_empty()).collect();
        if words.is_empty() {
            return Err(Error::Empty {
                what: "no query with a click has a word, so there is nothing to translate".into(),
                advice: "check that queries have text and that clicks were imported".into(),
            });
        }
        let sources = |seen: &mut Vec<u32>, word: u32| -> Vec<u32> {
            // Marks with the row's own number need no clearing.
            let mark = word + 1;
            let mut found = Vec::new();
            for &doc in cells.row(word as usize).indices {
                for &from in text.row(doc as usize).indices {
                    if seen[from as usize] != mark {
                        seen[from as usize] = mark;
                        found.push(from);
                    }
                }
            }
            found
        };
        let marks = || vec![0u32; text.n_cols()];
        let entries: u64 = words
            .par_iter()
            .with_min_len(ROWS)
            .map_init(marks, |seen, &word| sources(seen, word).len() as u64)
            .sum();
        check_memory(
            entries * BYTES_PER_ENTRY,
            most,
            || format!("{entries} entries of the translation table"),
            "read one short field (`field = title`), leave out rare words (`min_df`)",
        )?;
        let even = 1.0 / words.len() as f64;
        let rows = words
            .par_iter()
            .with_min_len(ROWS)
            .map_init(marks, |seen, &word| {
                let mut sources = sources(seen, word);
                sources.sort_unstable();
                sources.shrink_to_fit();
                let t = vec![even; sources.len()];
                TableRow { word, sources, t, null: even }
            })
            .collect();
        let total = cells.values().iter().map(|&weight| f64::from(weight)).sum();
        Ok(Trainer { cells, text, lengths: lengths(text), rows, total })
    }

    /// The entries of the table.
    pub fn entries(&self) -> usize {
        self.rows.iter().map(|row| row.t.len()).sum()
    }

    /// One iteration of EM; returns the log likelihood before it per query word.
    pub fn iterate(&mut self, run: &Run<'_>) -> Result<f64> {
        let n = self.text.n_cols();
        let (cells, text, lengths) = (self.cells, self.text, &self.lengths);
        let scratch = || Scratch { t: vec![0.0; n], shares: vec![0.0; n] };
        let parts: Vec<f64> = self
            .rows
            .par_iter_mut()
            .with_min_len(ROWS)
            .map_init(scratch, |scratch, row| {
                run.check()?;
                Ok(row.expect(cells.row(row.word as usize), text, lengths, scratch))
            })
            .collect::<Result<_>>()?;
        // Over all query words, in their order.
        let (mut sums, mut null) = (vec![0.0f64; n], 0.0);
        for row in &self.rows {
            for (&from, &count) in row.sources.iter().zip(&row.t) {
                sums[from as usize] += count;
            }
            null += row.null;
        }
        self.rows.par_iter_mut().for_each(|row| {
            for (&from, t) in row.sources.iter().zip(&mut row.t) {
                let sum = sums[from as usize];
                *t = if sum > 0.0 { *t / sum } else { 0.0 };
            }
            row.null = if null > 0.0 { row.null / null } else { 0.0 };
        });
        Ok(parts.iter().sum::<f64>() / self.total)
    }

    /// Drops entries below `least` and scales the rest of every document word to sum 1.
    pub fn pruned(self, least: f64, n_terms: usize) -> Result<Learnt> {
        let (mut had, mut left) = (vec![0.0f64; n_terms], vec![0.0f64; n_terms]);
        let mut null = vec![0.0; n_terms];
        for row in &self.rows {
            null[row.word as usize] = row.null;
            for (&from, &t) in row.sources.iter().zip(&row.t) {
                had[from as usize] += t;
                if t >= least {
                    left[from as usize] += t;
                }
            }
        }
        let emptied = had.iter().zip(&left).filter(|&(&had, &left)| had > 0.0 && left == 0.0);
        let emptied = emptied.count();
        let mass = left.iter().sum::<f64>() / had.iter().sum::<f64>().max(f64::MIN_POSITIVE);
        let mut rows = vec![None; n_terms];
        self.rows.iter().for_each(|row| rows[row.word as usize] = Some(row));
        let table = Csr::by_rows(n_terms, n_terms, |word| {
            let Some(row) = rows[word] else { return Ok(SparseVector::default()) };
            let entries = row.sources.iter().zip(&row.t);
            let kept = entries.filter(|&(_, &t)| t >= least && t > 0.0);
            Ok(kept.map(|(&from, &t)| (from, (t / left[from as usize]) as f32)).unzip())
        })?;
        Ok(Learnt { table, null, mass, emptied })
    }
}

impl TableRow {
    /// Replaces the probabilities by expected counts; returns the log likelihood of the row.
    fn expect(&mut self, cells: Row<'_>, text: &Csr, lengths: &[f64], at: &mut Scratch) -> f64 {
        for (&from, &t) in self.sources.iter().zip(&self.t) {
            at.t[from as usize] = t;
        }
        let (mut log, mut null) = (0.0, 0.0);
        for (doc, weight) in cells.iter() {
            let (row, weight) = (text.row(doc as usize), f64::from(weight));
            let mut sum = self.null;
            for (from, f) in row.iter() {
                sum += f64::from(f) * at.t[from as usize];
            }
            log += weight * (sum / (lengths[doc as usize] + 1.0)).ln();
            let share = weight / sum;
            null += share;
            for (from, f) in row.iter() {
                at.shares[from as usize] += share * f64::from(f);
            }
        }
        for (&from, t) in self.sources.iter().zip(&mut self.t) {
            *t *= std::mem::take(&mut at.shares[from as usize]);
        }
        self.null *= null;
        log
    }
}
