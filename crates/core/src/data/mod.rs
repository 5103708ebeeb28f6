//! Data on its way in: the dataset folder, and what writes it.

mod append;
mod beir;
mod checks;
mod columns;
mod dataset;
mod encoding;
mod events;
mod finish;
#[cfg(test)]
pub(crate) mod fixture;
mod foreign;
mod grid;
mod identity;
mod import;
mod impressions;
mod input;
mod json;
mod ldac;
mod log;
mod made;
mod names;
mod pairs;
#[cfg_attr(not(feature = "parquet"), path = "no_parquet.rs")]
mod parquet;
mod paths;
mod preferences;
mod propensity;
mod qrels;
mod quotes;
mod records;
mod report;
mod said;
mod seen;
mod smart;
mod split;
mod table;
mod task;
mod time;
mod trec;

pub use beir::is_beir;
pub use dataset::{
    Counts, Dataset, DatasetAbout, DatasetWriter, Document, Evidence, Query, Source, SplitAbout,
    SplitBy,
};
pub use encoding::Encoding;
pub use events::{EventRules, EventsAbout, Offers};
pub(crate) use grid::Grid;
pub use import::Import;
pub use impressions::{ImpressionList, Impressions, ImpressionsAt};
pub use input::text_lines;
pub(crate) use input::{WholeText, whole_text};
pub use preferences::{Agreement, Preference};
pub use propensity::Propensities;
pub use report::{Dropped, FilterReport, ImportReport, TableReport};
pub(crate) use said::{READ_BY_DEFAULT, Said, visit};
pub(crate) use seen::Seen;
pub use table::{Table, TableFormat};
pub use task::{TaskKind, TaskParams, TaskSplit};
