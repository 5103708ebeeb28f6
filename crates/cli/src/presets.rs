//! The columns of well-known collections, whose files mostly have no header.

use liken::data::TableFormat;

use crate::table_role::Role;

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
    /// Whether queries stand in brackets.
    pub brackets: bool,
    /// Our name → the name in the file, or the position from 0.
    pub columns: &'static [(&'static str, &'static str)],
}

/// Every collection that is known by name.
pub const PRESETS: [Preset; 3] = [
    // The AOL log of 2006: one line per click, or per query without a click.
    Preset {
        name: "aol",
        tables: &[PresetTable {
            role: Role::Events,
            format: TableFormat::Tsv,
            no_header: false,
            brackets: false,
            columns: &[
                ("user", "AnonID"),
                ("query", "Query"),
                ("time", "QueryTime"),
                ("rank", "ItemRank"),
                ("doc", "ClickURL"),
            ],
        }],
    },
    // ORCAS: query id, query, document id, URL; every line is a clicked pair without a count, so
    // that no pair is filtered.
    Preset {
        name: "orcas",
        tables: &[PresetTable {
            role: Role::Clicks,
            format: TableFormat::Tsv,
            no_header: true,
            brackets: false,
            columns: &[("query", "1"), ("doc", "2")],
        }],
    },
    // SogouQ: time, user, [query], rank and order of the click, URL.
    Preset {
        name: "sogouq",
        tables: &[PresetTable {
            role: Role::Events,
            format: TableFormat::Tsv,
            no_header: true,
            brackets: true,
            columns: &[("time", "0"), ("user", "1"), ("query", "2"), ("rank", "3"), ("doc", "4")],
        }],
    },
];

impl Preset {
    /// The table of `role`, if the collection has one.
    pub fn table(&self, role: Role) -> Option<&'static PresetTable> {
        self.tables.iter().find(|table| table.role == role)
    }

    /// The tables that the collection consists of.
    pub fn roles(&self) -> impl Iterator<Item = Role> {
        self.tables.iter().map(|table| table.role)
    }
}
