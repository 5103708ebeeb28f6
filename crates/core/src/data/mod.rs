//! Data on its way in: the dataset folder, and what writes it.

mod append;
mod beir;
mod checks;
mod columns;
mod dataset;
mod events;
mod finish;
#[cfg(test)]
pub(crate) mod fixture;
mod identity;
mod import;
mod impressions;
mod input;
mod log;
mod names;
mod pairs;
mod quotes;
mod records;
mod report;
mod said;
mod split;
mod table;

pub use beir::is_beir;
pub use dataset::{
    Counts, Dataset, DatasetAbout, DatasetWriter, Document, Evidence, Query, Source, SplitAbout,
    SplitBy,
};
pub use events::{EventRules, EventsAbout};
pub use import::Import;
pub use impressions::{ImpressionList, Impressions};
pub use input::text_lines;
pub use report::{Dropped, FilterReport, ImportReport, TableReport};
pub(crate) use said::{READ_BY_DEFAULT, Said, visit};
pub use table::{Table, TableFormat};
