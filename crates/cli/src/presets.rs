//! Well-known collections whose files have no header: which column is which.

use liken::data::TableFormat;

use crate::import::Role;

/// A collection.
pub struct Preset {
    pub name: &'static str,
    pub tables: &'static [PresetTable],
}

/// One of its tables.
pub struct PresetTable {
    pub role: Role,
    pub format: TableFormat,
    pub no_header: bool,
    /// Our name → their name, or the position from 0.
    pub columns: &'static [(&'static str, &'static str)],
}

/// Every collection that is known by name.
pub const PRESETS: [Preset; 1] = [
    // ORCAS: query id, query, document id, URL; every line is a pair that was clicked, without
    // a count, so that nothing is filtered.
    Preset {
        name: "orcas",
        tables: &[PresetTable {
            role: Role::Clicks,
            format: TableFormat::Tsv,
            no_header: true,
            columns: &[("query", "1"), ("doc", "2")],
        }],
    },
];

impl Preset {
    /// The table of `role`, if the collection has one.
    pub fn table(&self, role: Role) -> Option<&'static PresetTable> {
        self.tables.iter().find(|table| table.role == role)
    }

    /// The tables that it describes.
    pub fn needs(&self) -> impl Iterator<Item = Role> {
        self.tables.iter().map(|table| table.role)
    }
}
