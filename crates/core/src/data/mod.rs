//! Data on its way in: the dataset folder, and what writes it.

mod append;
mod beir;
mod checks;
mod dataset;
mod events;
mod finish;
#[cfg(test)]
pub(crate) mod fixture;
mod identity;
mod import;
mod impressions;
mod log;
mod made;
mod names;
mod pairs;
mod preferences;
mod propensity;
mod report;
mod said;
mod seen;
mod split;
mod task;

pub use beir::is_beir;
pub use dataset::{
    Counts, Dataset, DatasetAbout, DatasetWriter, Document, Evidence, Query, SplitAbout, SplitBy,
};
pub use events::{EventRules, EventsAbout, Offers};
pub use import::Import;
pub use impressions::{ImpressionList, Impressions, ImpressionsAt};
pub use preferences::{Agreement, Preference};
pub use propensity::Propensities;
pub use report::{FilterReport, ImportReport, TableReport};
pub(crate) use said::{READ_BY_DEFAULT, Said, visit};
pub(crate) use seen::Seen;
pub use task::{TaskKind, TaskParams, TaskSplit};

pub use crate::rows::{Dropped, Encoding, Source, Table, TableFormat, text_lines};
