//! The dataset folder, and the imports that write it.

mod append;
mod beir;
mod checks;
mod dataset;
mod events;
mod field_values;
#[cfg(test)]
pub(crate) mod fixture;
mod identity;
mod import;
mod import_spec;
mod impression_counts;
mod impressions;
mod interner;
mod log;
mod pairs;
mod preferences;
mod propensity;
mod queries;
mod report;
mod source_table;
mod split;
mod split_name;
mod task;
mod task_params;
mod text_documents;
mod write;

pub use beir::is_beir;
pub use dataset::{
    Dataset, DatasetAbout, DatasetSize, DatasetWriter, Document, Query, RelevanceSource,
    SplitAbout, SplitBy,
};
pub use events::{EventRules, EventsAbout, LogColumns};
pub(crate) use field_values::{FieldValue, READ_BY_DEFAULT, visit};
pub use import_spec::Import;
pub(crate) use impression_counts::ImpressionCounts;
pub use impressions::{ImpressionList, Impressions, ImpressionsAt};
pub use preferences::{Agreement, Preference};
pub use propensity::Propensities;
pub use report::{FilterReport, ImportReport, TableReport};
pub use task_params::{TaskKind, TaskParams, TaskSplit};

pub use crate::rows::{Dropped, Encoding, Source, Table, TableFormat, text_lines};
