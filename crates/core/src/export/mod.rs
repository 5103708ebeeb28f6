//! Getting things out again: the vectors and the words that a model learnt, in files that other
//! programs read, and datasets in the formats of others.
//!
//! Every export is a folder that appears whole or not at all, with an `about.json` that says
//! what is in it; a list of synonyms is a single file.

mod dataset;
mod folder;
mod synonyms;
mod vectors;
mod written;

pub use dataset::{
    DatasetExport, DatasetExportAbout, DatasetFormat, ExportedCounts, ImportOptions,
};
pub use folder::ExportedFile;
pub use synonyms::{Pair, SynonymFormat, SynonymParams, Synonyms};
pub use vectors::{NamedQuery, VectorFormat, VectorSet, Vectors, VectorsAbout};
pub use written::written;
