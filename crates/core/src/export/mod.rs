//! Exports for other programs: the vectors and synonyms that a model learnt, and datasets in other
//! formats.
//!
//! Every export is a folder that appears whole or not at all, with an `about.json` that lists its
//! files; a list of synonyms is a single file.

mod dataset;
mod folder;
mod surface_forms;
mod synonyms;
mod vectors;

pub use dataset::{
    DatasetExport, DatasetExportAbout, DatasetFormat, ExportedCounts, ImportOptions,
};
pub use folder::ExportedFile;
pub use surface_forms::surface_forms;
pub use synonyms::{SynonymFormat, SynonymPair, SynonymParams, Synonyms};
pub use vectors::{NamedQuery, VectorFormat, VectorSet, Vectors, VectorsAbout};
