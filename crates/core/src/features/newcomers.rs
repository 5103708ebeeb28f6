//! Documents that training did not know, read as it read its own.

use crate::Result;
use crate::data::Document;
use crate::sparse::Csr;

use super::blocks::count_known;
use super::counts::{Counts, Field, Parts};
use super::positions::{Positions, sequence};

impl Counts {
    /// The same counts with more documents at the end. Like held-out documents they change no
    /// statistic; words that training did not know are not read.
    pub fn with_documents(self, documents: &[Document]) -> Result<Counts> {
        let first = self.n_docs() as u32;
        let n_docs = self.n_docs() + documents.len();
        let fields = self
            .fields
            .iter()
            .map(|field| {
                let rows =
                    documents.iter().map(|document| match document.fields.get(&field.name) {
                        Some(value) => {
                            count_known(&self.analyzer, &self.vocabulary, &field.name, value)
                        }
                        None => Vec::new(),
                    });
                Ok(Field { name: field.name.clone(), docs: with_rows(&field.docs, rows)? })
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

fn with_rows(matrix: &Csr, rows: impl Iterator<Item = Vec<(u32, f32)>>) -> Result<Csr> {
    let mut starts = matrix.starts().to_vec();
    let (mut indices, mut values) = (matrix.indices().to_vec(), matrix.values().to_vec());
    for row in rows {
        for (term, count) in row {
            indices.push(term);
            values.push(count);
        }
        starts.push(indices.len() as u64);
    }
    Csr::new(matrix.n_cols(), starts, indices, values)
}
