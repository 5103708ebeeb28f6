//! A single file that appears whole or not at all.

use std::fs::File;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::staged::{create_parent, make_readable};
use crate::{Error, Result};

/// A file being written under a temporary name beside its place. Dropped without
/// [`NewFile::commit`], it leaves nothing behind.
pub struct NewFile {
    target: PathBuf,
    temporary: NamedTempFile,
}

impl NewFile {
    /// Starts a file that will appear at `target`, replacing what is there.
    pub fn create(target: &Path) -> Result<Self> {
        let parent = create_parent(target)?;
        let temporary = tempfile::Builder::new()
            .prefix(".liken-")
            .tempfile_in(&parent)
            .map_err(Error::io("write", &parent))?;
        Ok(NewFile { target: target.to_owned(), temporary })
    }

    /// A handle to write to.
    pub fn writer(&self) -> Result<File> {
        self.temporary.reopen().map_err(Error::io("write", &self.target))
    }

    /// Gives the file its name.
    pub fn commit(self) -> Result<()> {
        self.temporary.as_file().sync_all().map_err(Error::io("write", &self.target))?;
        make_readable(self.temporary.path())?;
        let target = self.target;
        self.temporary.persist(&target).map_err(|error| Error::Io {
            path: target,
            doing: "create",
            source: error.error,
        })?;
        Ok(())
    }
}
