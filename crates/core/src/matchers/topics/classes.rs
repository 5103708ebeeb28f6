//! Groups of documents with topics of their own: classes, or clusters if documents have no classes.

use rayon::prelude::*;

use crate::features::{CLASS_FIELD, Counts, Featurizer};
use crate::linalg::Dense;
use crate::sparse::Csr;
use crate::topic::clusters;
use crate::{Error, Result, Run};

/// Grouping of documents.
#[derive(Clone, Copy)]
pub(super) struct Grouping<'a> {
    /// The field with the class of a document, where one is named.
    pub class: Option<&'a str>,
    /// The number of clusters, where documents have no classes.
    pub clusters: usize,
    /// Seed of the clusters.
    pub seed: u64,
}

/// The groups of documents.
pub(super) struct Groups {
    /// The names of the groups.
    pub names: Vec<String>,
    /// The group of every document; [`UNKNOWN`] if it is still to be inferred.
    pub of: Vec<u32>,
    /// Terms × groups: the centres, if groups are clusters.
    pub centres: Option<Dense>,
    /// A note for the report.
    pub note: String,
}

/// The group of a document whose group is not known.
pub(super) const UNKNOWN: u32 = u32::MAX;

impl<'a> Grouping<'a> {
    /// The field with the class of a document.
    pub fn field(self) -> &'a str {
        self.class.unwrap_or(CLASS_FIELD)
    }

    /// The groups of the documents of `counts`: their classes, or clusters of the training documents.
    pub fn groups(
        &self,
        counts: &Counts,
        featurizer: &Featurizer,
        run: &Run<'_>,
    ) -> Result<Groups> {
        let wanted = self.field();
        let read = counts.preparation.class.as_deref();
        match &counts.classes {
            Some(classes) if read == Some(wanted) => {
                let known = |&class: &u32| {
                    if (class as usize) < classes.names.len() { class } else { UNKNOWN }
                };
                let note = format!("{} classes by the field {wanted}", classes.names.len());
                let of = classes.of.iter().map(known).collect();
                Ok(Groups { names: classes.names.clone(), of, centres: None, note })
            }
            Some(_) => Err(Error::parameter(
                "class",
                wanted,
                &format!("{}: models that are fitted together must have the same classes", read.unwrap_or_default()),
            )),
            None if self.class.is_some() => Err(Error::Unknown {
                kind: "field of the documents",
                name: wanted.to_owned(),
                advice: "no document has it: name the field with the class (`class = FIELD`), or omit it to use clusters".into(),
            }),
            None => self.clusters(counts, featurizer, run),
        }
    }

    fn clusters(&self, counts: &Counts, featurizer: &Featurizer, run: &Run<'_>) -> Result<Groups> {
        let order = training(counts);
        let docs = Csr::by_rows(counts.n_terms(), order.len(), |at| {
            Ok(featurizer.doc(counts.docs.row(order[at] as usize), None))
        })?;
        let found = clusters(&docs, self.clusters, self.seed, run)?;
        let n = found.centres.n_cols();
        let mut of = vec![UNKNOWN; counts.n_docs()];
        order.iter().zip(found.of).for_each(|(&doc, cluster)| of[doc as usize] = cluster);
        Ok(Groups {
            names: cluster_names(n),
            of,
            centres: Some(found.centres),
            note: format!("{n} clusters of documents, which have no field {CLASS_FIELD}"),
        })
    }
}

/// The names of `n` clusters.
pub(super) fn cluster_names(n: usize) -> Vec<String> {
    (1..=n).map(|cluster| format!("cluster {cluster}")).collect()
}

/// The documents that are not held out, by id, so that the topics do not depend on the order of the
/// documents.
pub(super) fn training(counts: &Counts) -> Vec<u32> {
    let mut docs: Vec<u32> = (0..counts.n_docs() as u32)
        .filter(|doc| counts.held_out_documents.binary_search(doc).is_err())
        .collect();
    docs.par_sort_by(|&a, &b| counts.doc_ids[a as usize].cmp(&counts.doc_ids[b as usize]));
    docs
}
