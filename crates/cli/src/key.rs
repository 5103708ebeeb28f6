//! `liken key`: API keys of an index.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand};
use liken_engine::store::Store;
use liken_engine::types::Scope;

use crate::console::Console;
use crate::index::index_at;
use crate::output::{Format, Grid, TableFormat};
use crate::settings::described_choice;

/// Make, list and revoke the API keys of an index.
#[derive(Args)]
#[command(after_help = "\
An index without keys is open to everyone who can reach the service, which by default listens on this
machine only (`liken serve --host` changes that). A key is shown once: only its checksum is stored.

Examples:
  liken key add index --name shop --scope read
  liken key list index
  liken key revoke index --name shop")]
pub struct KeyArgs {
    #[command(subcommand)]
    subcommand: KeyCommand,
}

#[derive(Subcommand)]
enum KeyCommand {
    /// Make a key and print it.
    Add {
        /// Folder of the index.
        index: PathBuf,
        /// Name of the key, such as that of the client.
        #[arg(long)]
        name: String,
        /// Permissions; each includes those before it.
        #[arg(long, default_value = "read", value_parser = described_choice::<Scope>(&SCOPES))]
        scope: Scope,
    },
    /// List the keys.
    List {
        /// Folder of the index.
        index: PathBuf,
        /// Output format.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Revoke a key.
    Revoke {
        /// Folder of the index.
        index: PathBuf,
        /// Name of the key.
        #[arg(long)]
        name: String,
    },
}

const SCOPES: [(&str, &str); 3] = [
    ("read", "Search, read documents, explain"),
    ("write", "Write documents, events and judgments"),
    ("admin", "Load and activate models"),
];

pub fn run(args: &KeyArgs, console: &Console) -> anyhow::Result<()> {
    let mut out = console.out();
    match &args.subcommand {
        KeyCommand::Add { index, name, scope } => {
            let key = store(index)?.add_key(name, *scope)?;
            writeln!(out, "{key}")?;
            console.note("keep the key: only its checksum is stored");
        }
        KeyCommand::Revoke { index, name } => {
            store(index)?.revoke_key(name)?;
            writeln!(out, "{name} is revoked")?;
        }
        KeyCommand::List { index, format } => {
            let keys = Store::read_only(&index_at(index)?.0.store())?.keys()?;
            console.print(*format, &keys, |out| {
                let mut grid = Grid::new(["name", "scope", "state"]).left(&[0, 1, 2]);
                for key in &keys {
                    let state = if key.revoked.is_some() { "revoked" } else { "valid" };
                    grid.row([key.name.as_str(), key.scope.name(), state]);
                }
                Ok(grid.write(out, TableFormat::Table)?)
            })?;
        }
    }
    Ok(out.flush()?)
}

fn store(index: &std::path::Path) -> anyhow::Result<Store> {
    Ok(Store::open_for_keys(&index_at(index)?.0.store())?)
}
