//! The training documents of the factorisations: sparse rows by document and by term, class by class.

use std::ops::Range;
use std::path::Path;

use rayon::prelude::*;

use crate::linalg::Buffer;
use crate::sparse::Row;
use crate::{Error, Result, Run};

/// Documents per task.
const BLOCK: usize = 512;
/// Bytes of an entry: index and value.
const ENTRY: u64 = 8;

/// Sparse rows in memory, or in scratch files that the system pages in.
struct MappedCsr {
    starts: Vec<u64>,
    /// Columns, stored as the bits of an f32.
    indices: Buffer,
    values: Buffer,
}

impl MappedCsr {
    fn zeros(starts: Vec<u64>, folder: Option<&Path>) -> Result<Self> {
        let nnz = starts.last().map_or(0, |&end| end as usize);
        let (indices, values) = (Buffer::placed(nnz, folder)?, Buffer::placed(nnz, folder)?);
        Ok(MappedCsr { starts, indices, values })
    }

    fn row(&self, i: usize) -> Row<'_> {
        self.entries(self.starts[i] as usize..self.starts[i + 1] as usize)
    }

    fn entries(&self, span: Range<usize>) -> Row<'_> {
        let indices = bytemuck::cast_slice(&self.indices);
        Row { indices: &indices[span.clone()], values: &self.values[span] }
    }
}

/// Weighted documents, ordered by class.
pub struct Corpus {
    docs: MappedCsr,
    terms: MappedCsr,
    /// The start of every class, and the end.
    classes: Vec<usize>,
    /// For every class its terms in order, each with the range of its documents of the class among
    /// all entries by term; empty if there is one class.
    class_terms: Vec<Vec<(u32, Range<u64>)>>,
    /// ‖D‖².
    squares: f64,
    on_disk: bool,
}

impl Corpus {
    /// The documents `order`, in which the classes end at `ends`; `weigh` returns a document's entries
    /// in order of term. Entries that do not fit into memory lie in scratch files.
    pub fn new(
        order: &[u32],
        ends: &[usize],
        n_terms: usize,
        weigh: impl Fn(u32) -> (Vec<u32>, Vec<f32>) + Sync,
        run: &Run<'_>,
    ) -> Result<Self> {
        assert_eq!(ends.last().copied().unwrap_or(0), order.len(), "every document has a class");
        let bad = |doc: u32, value: f32| Error::Structure {
            problem: format!("document {doc} has the weight {value}, expected a finite number"),
        };
        let mut starts: Vec<u64> = order
            .par_iter()
            .map(|&doc| {
                let (indices, values) = weigh(doc);
                match values.iter().find(|value| !value.is_finite()) {
                    Some(&value) => Err(bad(doc, value)),
                    None => Ok(indices.len() as u64),
                }
            })
            .collect::<Result<_>>()?;
        // From lengths to starts.
        let mut nnz = 0u64;
        starts.iter_mut().for_each(|start| nnz += std::mem::replace(start, nnz));
        starts.push(nnz);
        let scratch = run.scratch();
        let on_disk = 2 * ENTRY * nnz > run.memory_left() / 2;
        let folder = on_disk.then_some(scratch.as_path());
        let docs = fill(MappedCsr::zeros(starts, folder)?, order, weigh, run)?;
        let terms = transpose(&docs, n_terms, folder, run)?;
        let parts: Vec<f64> = docs
            .values
            .par_chunks(1 << 16)
            .map(|values| values.iter().map(|&v| f64::from(v) * f64::from(v)).sum())
            .collect();
        let classes: Vec<usize> = std::iter::once(0).chain(ends.iter().copied()).collect();
        let class_terms = if ends.len() > 1 { by_class(&terms, &classes) } else { Vec::new() };
        Ok(Corpus { docs, terms, classes, class_terms, squares: parts.iter().sum(), on_disk })
    }

    /// The number of documents.
    pub fn n_docs(&self) -> usize {
        self.docs.starts.len() - 1
    }

    /// The number of terms.
    pub fn n_terms(&self) -> usize {
        self.terms.starts.len() - 1
    }

    /// The number of classes.
    pub fn n_classes(&self) -> usize {
        self.classes.len() - 1
    }

    /// The number of entries.
    pub fn nnz(&self) -> usize {
        self.docs.values.len()
    }

    /// The documents of a class.
    pub fn class(&self, class: usize) -> Range<usize> {
        self.classes[class]..self.classes[class + 1]
    }

    /// The terms of a document.
    pub fn doc(&self, doc: usize) -> Row<'_> {
        self.docs.row(doc)
    }

    /// The documents of a term.
    pub fn term(&self, term: usize) -> Row<'_> {
        self.terms.row(term)
    }

    /// The terms of the documents of `class` in order, each with the range of its documents of that
    /// class, for [`Corpus::entries`]; empty if there is one class.
    pub(super) fn terms_of(&self, class: usize) -> &[(u32, Range<u64>)] {
        self.class_terms.get(class).map_or(&[], Vec::as_slice)
    }

    /// The documents in a range of all entries by term.
    pub(super) fn entries(&self, range: &Range<u64>) -> Row<'_> {
        self.terms.entries(range.start as usize..range.end as usize)
    }

    /// ‖D‖², the sum of all squared weights.
    pub fn squares(&self) -> f64 {
        self.squares
    }

    /// Whether the entries lie in scratch files.
    pub fn is_on_disk(&self) -> bool {
        self.on_disk
    }
}

/// Writes the entries of every document into `rows`.
fn fill(
    mut rows: MappedCsr,
    order: &[u32],
    weigh: impl Fn(u32) -> (Vec<u32>, Vec<f32>) + Sync,
    run: &Run<'_>,
) -> Result<MappedCsr> {
    let MappedCsr { starts, indices, values } = &mut rows;
    let mut left = (bytemuck::cast_slice_mut::<f32, u32>(indices), &mut values[..]);
    let mut blocks = Vec::with_capacity(order.len().div_ceil(BLOCK));
    for (b, docs) in order.chunks(BLOCK).enumerate() {
        let nnz = (starts[b * BLOCK + docs.len()] - starts[b * BLOCK]) as usize;
        let (indices, indices_left) = left.0.split_at_mut(nnz);
        let (values, values_left) = left.1.split_at_mut(nnz);
        blocks.push((docs, indices, values));
        left = (indices_left, values_left);
    }
    blocks.into_par_iter().try_for_each(|(docs, indices, values)| {
        run.check()?;
        let mut at = 0;
        for &doc in docs {
            let (columns, weights) = weigh(doc);
            indices[at..at + columns.len()].copy_from_slice(&columns);
            values[at..at + columns.len()].copy_from_slice(&weights);
            at += columns.len();
        }
        Ok(())
    })?;
    Ok(rows)
}

/// For every class its terms, each with the range of its entries.
fn by_class(terms: &MappedCsr, classes: &[usize]) -> Vec<Vec<(u32, Range<u64>)>> {
    let mut found = vec![Vec::new(); classes.len() - 1];
    for term in 0..terms.starts.len() - 1 {
        let (docs, mut at) = (terms.row(term).indices, 0);
        while at < docs.len() {
            // The last class that starts at or before the document; empty classes start there, too.
            let class = classes.partition_point(|&begin| begin <= docs[at] as usize) - 1;
            let end = at + docs[at..].partition_point(|&doc| (doc as usize) < classes[class + 1]);
            let start = terms.starts[term];
            found[class].push((term as u32, start + at as u64..start + end as u64));
            at = end;
        }
    }
    found
}

/// The same entries by term.
fn transpose(
    docs: &MappedCsr,
    n_terms: usize,
    folder: Option<&Path>,
    run: &Run<'_>,
) -> Result<MappedCsr> {
    let mut starts = vec![0u64; n_terms + 1];
    for &term in bytemuck::cast_slice::<f32, u32>(&docs.indices) {
        starts[term as usize + 1] += 1;
    }
    (0..n_terms).for_each(|term| starts[term + 1] += starts[term]);
    let mut next = starts.clone();
    let mut terms = MappedCsr::zeros(starts, folder)?;
    let MappedCsr { indices, values, .. } = &mut terms;
    let indices: &mut [u32] = bytemuck::cast_slice_mut(indices);
    for doc in 0..docs.starts.len() - 1 {
        if doc % (1 << 14) == 0 {
            run.check()?;
        }
        for (term, value) in docs.row(doc).iter() {
            let at = &mut next[term as usize];
            indices[*at as usize] = doc as u32;
            values[*at as usize] = value;
            *at += 1;
        }
    }
    Ok(terms)
}
