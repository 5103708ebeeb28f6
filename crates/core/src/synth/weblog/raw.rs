//! A folder of plain files, as a user would have them: no manifest, but still written under
//! a temporary name and renamed when it is whole.

use std::fmt;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;
use tempfile::TempDir;

use crate::file::create_parent;
use crate::{Error, Result};

/// Query, document, clicks.
pub const CLICKS: &str = "clicks.tsv";
/// Id, title, URL.
pub const DOCUMENTS: &str = "documents.jsonl";
/// Query, document, grade, split.
pub const JUDGMENTS: &str = "judgments.tsv";

/// A folder being written. Dropped without [`RawFolder::commit`], it leaves nothing behind.
pub struct RawFolder {
    target: PathBuf,
    temporary: TempDir,
}

impl RawFolder {
    /// Starts the folder that will appear at `target`. What is there already is replaced
    /// only with `force`, and only if it holds nothing but files of these names.
    pub fn create(target: &Path, force: bool) -> Result<Self> {
        if target.symlink_metadata().is_ok() {
            if !force {
                return Err(Error::Exists { path: target.to_owned() });
            }
            if !is_ours(target) {
                return Err(Error::Unusable {
                    path: target.to_owned(),
                    problem: "is not a folder with a synthetic log and nothing else".into(),
                    advice: "--force replaces only liken's own folders: choose another name, or remove it by hand".into(),
                });
            }
        }
        let parent = create_parent(target)?;
        let temporary = tempfile::Builder::new()
            .prefix(".liken-")
            .tempdir_in(&parent)
            .map_err(Error::io("write", &parent))?;
        Ok(RawFolder { target: target.to_owned(), temporary })
    }

    /// Starts a file of lines.
    pub fn lines(&self, name: &str) -> Result<Table> {
        let path = self.temporary.path().join(name);
        let file = File::create(&path).map_err(Error::io("create", &path))?;
        Ok(Table { path, writer: BufWriter::with_capacity(1 << 20, file) })
    }

    /// Starts a table with a first line of its own.
    pub fn table(&self, name: &str, header: &str) -> Result<Table> {
        let mut table = self.lines(name)?;
        table.line(format_args!("{header}"))?;
        Ok(table)
    }

    /// Gives the folder its name.
    pub fn commit(self) -> Result<()> {
        let folder = self.temporary.path();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            fs::set_permissions(folder, fs::Permissions::from_mode(0o755))
                .map_err(Error::io("write", folder))?;
        }
        // The old folder goes aside first, and comes back if the new one cannot take its place.
        let aside = folder.with_extension("old");
        let replaces = self.target.exists();
        if replaces {
            fs::rename(&self.target, &aside).map_err(Error::io("replace", &self.target))?;
        }
        if let Err(source) = fs::rename(folder, &self.target) {
            if replaces {
                fs::rename(&aside, &self.target).map_err(Error::io("restore", &self.target))?;
            }
            return Err(Error::Io { path: self.target, doing: "create", source });
        }
        // The temporary name is gone; there is nothing left to clean up under it.
        let _ = self.temporary.keep();
        if replaces {
            fs::remove_dir_all(&aside).map_err(Error::io("remove", &aside))?;
        }
        Ok(())
    }
}

/// A file of the folder.
pub struct Table {
    path: PathBuf,
    writer: BufWriter<File>,
}

impl Table {
    /// Writes one line.
    pub fn line(&mut self, text: fmt::Arguments<'_>) -> Result<()> {
        writeln!(self.writer, "{text}").map_err(Error::io("write", &self.path))
    }

    /// Writes one line of JSON.
    pub fn json(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.writer, value)
            .map_err(io::Error::from)
            .and_then(|()| self.writer.write_all(b"\n"))
            .map_err(Error::io("write", &self.path))
    }

    /// Writes what is left.
    pub fn finish(mut self) -> Result<()> {
        self.writer
            .flush()
            .and_then(|()| self.writer.get_ref().sync_all())
            .map_err(Error::io("write", &self.path))
    }
}

fn is_ours(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|entries| {
        entries.flatten().all(|entry| {
            [CLICKS, DOCUMENTS, JUDGMENTS].iter().any(|name| entry.file_name() == *name)
        })
    })
}
