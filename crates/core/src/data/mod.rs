//! Data on its way in: the dataset folder, and what writes it.

mod dataset;

pub use dataset::{
    Counts, Dataset, DatasetAbout, DatasetWriter, Document, Evidence, Query, Source, SplitAbout,
    SplitBy,
};
