//! `liken key`: who may use an index over HTTP.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use liken_engine::store::Store;
use liken_engine::types::Scope;

use crate::console::Console;
use crate::index::index_at;
use crate::output::{Format, Grid, TableFormat, json};

/// Make, list and revoke the API keys of an index.
#[derive(Args)]
#[command(after_help = "\
An index without keys is open to all who can reach it, which is this machine alone unless
`liken serve --host` says otherwise. Only a checksum of a key is stored: it is shown once.

Examples:
  liken key add index --name shop --scope read
  liken key list index
  liken key revoke index --name shop")]
pub struct KeyArgs {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Make a key and show it, this once.
    Add {
        /// Folder of the index.
        index: PathBuf,
        /// Whom or what it is for.
        #[arg(long)]
        name: String,
        /// What it allows; each includes those before it.
        #[arg(long, value_enum, default_value_t = ScopeName::Read)]
        scope: ScopeName,
    },
    /// List the keys.
    List {
        /// Folder of the index.
        index: PathBuf,
        /// How to print it.
        #[arg(long, value_enum, default_value_t)]
        format: Format,
    },
    /// Let a key open nothing any more.
    Revoke {
        /// Folder of the index.
        index: PathBuf,
        /// Its name.
        #[arg(long)]
        name: String,
    },
}

#[derive(Clone, Copy, ValueEnum)]
enum ScopeName {
    /// Search, look, explain.
    Read,
    /// Documents, events and judgments, too.
    Write,
    /// Models, too.
    Admin,
}

pub fn run(args: &KeyArgs, console: &Console) -> anyhow::Result<()> {
    let mut out = console.out();
    match &args.what {
        What::Add { index, name, scope } => {
            let scope = match scope {
                ScopeName::Read => Scope::Read,
                ScopeName::Write => Scope::Write,
                ScopeName::Admin => Scope::Admin,
            };
            let key = store(index)?.add_key(name, scope)?;
            writeln!(out, "{key}")?;
            console.note("keep it: only its checksum is stored");
        }
        What::Revoke { index, name } => {
            store(index)?.revoke_key(name)?;
            writeln!(out, "{name} opens nothing any more")?;
        }
        What::List { index, format } => {
            let keys = Store::read_only(&index_at(index)?.0.store())?.keys()?;
            match format {
                Format::Json => json(&mut out, &keys)?,
                Format::Table => {
                    let mut grid = Grid::new(["name", "scope", "state"]).left(&[0, 1, 2]);
                    for key in keys {
                        let scope = key.scope.name().to_owned();
                        let state = if key.revoked.is_some() { "revoked" } else { "valid" };
                        grid.row([key.name, scope, state.to_owned()]);
                    }
                    grid.write(&mut out, TableFormat::Table)?;
                }
            }
        }
    }
    Ok(out.flush()?)
}

fn store(index: &std::path::Path) -> anyhow::Result<Store> {
    Ok(Store::open_for_keys(&index_at(index)?.0.store())?)
}
