//! Documents that training did not know, read as it read its own.

use crate::Result;
use crate::data::Document;
use crate::sparse::Csr;

use super::blocks::count_known;
use super::counts::{Counts, Field, Parts, sum_fields};
use super::positions::{Positions, sequence};

/// Documents that training did not know, counted as it counted its own.
pub struct NewDocuments {
    /// Their ids.
    pub ids: Vec<String>,
    /// Each field of them, in the order of [`Counts::fields`].
    pub fields: Vec<Field>,
    /// All fields together: documents × terms.
    pub docs: Csr,
}

impl Counts {
    /// Counts the words of `documents`. Like held-out documents they change no statistic; words
    /// that training did not know are not read.
    pub fn read_documents(&self, documents: &[Document]) -> Result<NewDocuments> {
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
        Ok(NewDocuments { ids, fields, docs })
    }

    /// The same counts with more documents at the end, which change no statistic.
    pub fn with_documents(self, documents: &[Document]) -> Result<Counts> {
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
        let places = |name: &str, document: &Document| match document.fields.get(name) {
            Some(value) => sequence(&self.analyzer, name, value, |term| self.vocabulary.id(term)),
            None => Vec::new(),
        };
        let positions = self.positions.map(|positions| Positions {
            fields: positions
                .fields
                .into_iter()
                .zip(&fields)
                .map(|(all, field)| {
                    all.with_rows(documents.iter().map(|document| places(&field.name, document)))
                })
                .collect(),
        });
        // No query clicked them: more columns, no more entries.
        let clicks = Csr::new(
            n_docs,
            self.clicks.starts().to_vec(),
            self.clicks.indices().to_vec(),
            self.clicks.values().to_vec(),
        )?;
        let classes = match (self.classes, &self.preparation.class) {
            (Some(classes), Some(field)) => Some(classes.with_documents(field, documents)),
            (classes, _) => classes,
        };
        let mut held_out_documents = self.held_out_documents;
        held_out_documents.extend(first..n_docs as u32);
        let mut doc_ids = self.doc_ids;
        doc_ids.extend(documents.iter().map(|document| document.id.clone()));
        Counts::from_parts(Parts {
            preparation: self.preparation,
            vocabulary: self.vocabulary,
            fields,
            positions,
            classes,
            queries: self.queries,
            clicks,
            evidence: self.evidence,
            held_out_documents,
            own_documents: self.own_documents,
            doc_ids,
            query_ids: self.query_ids,
            query_texts: self.query_texts,
            unread: self.unread,
        })
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
