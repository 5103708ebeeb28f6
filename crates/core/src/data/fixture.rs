//! Small datasets for tests.

use std::path::Path;

use serde_json::Value;

use super::{Dataset, DatasetAbout, DatasetWriter, Document, Evidence, Query};
use crate::sparse::Csr;

/// Documents (id, fields), queries (each its own id) and training pairs (query, document,
/// clicks).
pub(crate) struct Fixture<'a> {
    pub documents: &'a [(&'a str, Value)],
    pub queries: &'a [&'a str],
    pub clicks: &'a [(u32, u32, f32)],
    /// Documents that training must not count.
    pub held_out: &'a [u32],
}

impl Fixture<'_> {
    /// Writes the dataset at `path` and opens it; every pair is also a judgment of grade 1 in
    /// validation and in test.
    pub(crate) fn open(&self, path: &Path) -> Dataset {
        let mut writer = DatasetWriter::create(path, false).unwrap();
        for query in self.queries {
            writer
                .query(&Query { id: (*query).into(), text: (*query).into(), clicks: 1.0 })
                .unwrap();
        }
        for (id, fields) in self.documents {
            let fields = fields.as_object().unwrap().clone();
            writer.document(&Document { id: (*id).into(), fields }).unwrap();
        }
        let shape = (self.queries.len(), self.documents.len());
        let clicks = Csr::from_triplets(shape.0, shape.1, self.clicks.to_vec()).unwrap();
        let grades = clicks.map(|_, _, _| 1.0).unwrap();
        let about = DatasetAbout::as_given(Evidence::Judgments);
        writer.finish(&clicks, &grades, &grades, self.held_out, about).unwrap();
        Dataset::open(path).unwrap()
    }
}
