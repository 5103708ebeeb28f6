//! Unseen documents, read with the analyser and the vocabulary of training.

use crate::Result;
use crate::data::Document;
use crate::sparse::Csr;

use super::blocks::count_known;
use super::counts::{Counts, Field, sum_fields};
use super::positions::{Positions, sequence};

/// Counts of unseen documents, by the analyser and the vocabulary of training.
pub struct UnseenCounts {
    /// Document ids, in the order of the rows.
    pub ids: Vec<String>,
    /// Their fields, in the order of [`StoredCounts::fields`](super::StoredCounts::fields).
    pub fields: Vec<Field>,
    /// All fields together: documents × terms.
    pub docs: Csr,
}

impl Counts {
    /// Counts the terms of `documents`. Like held-out documents they change no statistic; words that
    /// are not in the vocabulary are ignored.
    pub fn read_documents(&self, documents: &[Document]) -> Result<UnseenCounts> {
        let fields = self
            .fields
            .iter()
            .map(|field| {
                let docs = Csr::by_rows(self.n_terms(), documents.len(), |j| {
                    Ok(match documents[j].fields.get(&field.name) {
                        Some(value) => {
                            count_known(&self.analyzer, &self.vocabulary, &field.name, value)
                                .into_iter()
                                .unzip()
                        }
                        None => Default::default(),
                    })
                })?;
                Ok(Field { name: field.name.clone(), docs })
            })
            .collect::<Result<Vec<_>>>()?;
        let docs = sum_fields(&fields, documents.len(), self.n_terms())?;
        let ids = documents.iter().map(|document| document.id.clone()).collect();
        Ok(UnseenCounts { ids, fields, docs })
    }

    /// The same counts with more documents at the end, which change no statistic.
    pub fn with_documents(mut self, documents: &[Document]) -> Result<Counts> {
        let first = self.n_docs() as u32;
        let n_docs = self.n_docs() + documents.len();
        let fields = self
            .fields
            .iter()
            .zip(self.read_documents(documents)?.fields)
            .map(|(field, new)| {
                Ok(Field { name: new.name, docs: stacked(&field.docs, &new.docs)? })
            })
            .collect::<Result<Vec<_>>>()?;
        let taken = self.stored.positions.take();
        let places = |name: &str, document: &Document| match document.fields.get(name) {
            Some(value) => sequence(&self.analyzer, name, value, |term| self.vocabulary.id(term)),
            None => Vec::new(),
        };
        let positions = taken.map(|positions| Positions {
            fields: positions
                .fields
                .into_iter()
                .zip(&fields)
                .map(|(all, field)| {
                    all.with_rows(documents.iter().map(|document| places(&field.name, document)))
                })
                .collect(),
        });
        let mut stored = self.stored;
        stored.fields = fields;
        stored.positions = positions;
        // No query clicked them: more columns, no more entries.
        let clicks = &stored.clicks;
        let (starts, indices) = (clicks.starts().to_vec(), clicks.indices().to_vec());
        stored.clicks = Csr::new(n_docs, starts, indices, clicks.values().to_vec())?;
        if let (Some(classes), Some(field)) = (&mut stored.classes, &stored.preparation.class) {
            classes.extend(field, documents);
        }
        stored.held_out_documents.extend(first..n_docs as u32);
        stored.doc_ids.extend(documents.iter().map(|document| document.id.clone()));
        Counts::from_stored(stored)
    }
}

/// The rows of one matrix, then those of another.
fn stacked(above: &Csr, below: &Csr) -> Result<Csr> {
    let last = above.nnz() as u64;
    let starts = above.starts().iter().copied().chain(below.starts()[1..].iter().map(|s| s + last));
    let indices = [above.indices(), below.indices()].concat();
    let values = [above.values(), below.values()].concat();
    Csr::new(above.n_cols(), starts.collect(), indices, values)
}
