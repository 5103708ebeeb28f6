//! Which documents a group model takes together: those of a class, or where documents have no
//! classes, those of a cluster.

use rayon::prelude::*;

use crate::features::{CLASS_FIELD, Counts, Featurizer};
use crate::linalg::Dense;
use crate::matchers::check::{MOST, check_range};
use crate::sparse::Csr;
use crate::topic::clusters;
use crate::{Error, Result, Run};

/// How documents are grouped.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Grouping {
    /// The field that the class stands in.
    pub class: Option<String>,
    /// Clusters, where documents have no classes.
    pub clusters: usize,
    /// Seed of the clusters.
    pub seed: u64,
}

/// Documents in groups.
pub(super) struct Groups {
    /// The groups by name.
    pub names: Vec<String>,
    /// The group of every document; [`UNKNOWN`] where it is to be found out.
    pub of: Vec<u32>,
    /// Terms × groups, where documents were dealt out by the centres of clusters.
    pub centres: Option<Dense>,
    /// What to say of them.
    pub note: String,
}

/// The group of a document that nobody knows.
pub(super) const UNKNOWN: u32 = u32::MAX;

impl Grouping {
    pub fn check(&self) -> Result<()> {
        check_range("clusters", self.clusters, 1, MOST)
    }

    /// The groups of the documents of `counts`: their classes, or clusters of those that training
    /// may know, which `weigh` gives the words of.
    pub fn groups(
        &self,
        counts: &Counts,
        featurizer: &Featurizer,
        run: &Run<'_>,
    ) -> Result<Groups> {
        let wanted = self.class.as_deref().unwrap_or(CLASS_FIELD);
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
                &format!("{}: models that are fitted together have the same classes", read.unwrap_or_default()),
            )),
            None if self.class.is_some() => Err(Error::Unknown {
                kind: "field of the documents",
                name: wanted.to_owned(),
                advice: "no document has it: name the field that holds the class (`class = FIELD`), or leave it out, and clusters are made".into(),
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

/// What clusters are called.
pub(super) fn cluster_names(n: usize) -> Vec<String> {
    (1..=n).map(|cluster| format!("cluster {cluster}")).collect()
}

/// The documents that training may know, by id, so that what is learnt does not depend on the order
/// in which they came.
pub(super) fn training(counts: &Counts) -> Vec<u32> {
    let mut docs: Vec<u32> = (0..counts.n_docs() as u32)
        .filter(|doc| counts.held_out_documents.binary_search(doc).is_err())
        .collect();
    docs.par_sort_by(|&a, &b| counts.doc_ids[a as usize].cmp(&counts.doc_ids[b as usize]));
    docs
}
