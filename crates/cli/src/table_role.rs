//! The tables of an import by the names of their flags.

use clap::ValueEnum;

/// A table, by what its rows are.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Role {
    Clicks,
    Events,
    Links,
    Documents,
    Queries,
    Judgments,
}

impl Role {
    /// The name on the command line.
    pub fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |value| value.get_name().to_owned())
    }
}
