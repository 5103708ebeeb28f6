//! A folder that appears whole or not at all: written under a temporary name beside its
//! place, renamed when it is done.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Error, Result};

/// A folder being written. Dropped without [`StagedFolder::publish`], it leaves nothing behind.
pub struct StagedFolder {
    target: PathBuf,
    /// Private to its owner, so the folder to be lies inside it.
    work: TempDir,
}

impl StagedFolder {
    /// Starts a folder that will appear at `target`. What is there already is refused at once,
    /// so that no work is done in vain; with `force` it will be replaced, if `is_ours` says
    /// that nothing of anybody else's would be lost.
    pub fn create(target: &Path, force: bool, is_ours: impl Fn(&Path) -> bool) -> Result<Self> {
        if target.symlink_metadata().is_ok() {
            if !force {
                return Err(Error::Exists { path: target.to_owned() });
            }
            let real = target.is_dir() && !target.is_symlink();
            if !real || !(is_ours(target) || is_empty(target)) {
                return Err(Error::Unusable {
                    path: target.to_owned(),
                    problem: "is not a folder written by liken, or holds more than that".into(),
                    advice: "`force` replaces only liken's own folders: choose another name, or remove it by hand".into(),
                });
            }
        }
        let parent = create_parent(target)?;
        let work = tempfile::Builder::new()
            .prefix(".liken-")
            .tempdir_in(&parent)
            .map_err(Error::io("write", &parent))?;
        let staged = StagedFolder { target: target.to_owned(), work };
        let folder = staged.folder();
        fs::create_dir(&folder).map_err(Error::io("create", &folder))?;
        Ok(staged)
    }

    /// The folder to be.
    pub fn folder(&self) -> PathBuf {
        self.work.path().join("new")
    }

    /// Where to write the file `name`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Gives the folder its name. What was there before goes aside first, and comes back if
    /// the new one cannot take its place.
    pub fn publish(self) -> Result<()> {
        let folder = self.folder();
        settle(&folder)?;
        let aside = self.work.path().join("old");
        let replaces = self.target.symlink_metadata().is_ok();
        if replaces {
            fs::rename(&self.target, &aside).map_err(Error::io("replace", &self.target))?;
        }
        if let Err(source) = fs::rename(&folder, &self.target) {
            if replaces {
                fs::rename(&aside, &self.target).map_err(Error::io("restore", &self.target))?;
            }
            return Err(Error::Io { path: self.target, doing: "create", source });
        }
        Ok(())
    }
}

/// Makes the files in `folder` and below it readable, and sees them onto the disk.
fn settle(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let path = entry.map_err(Error::io("read", folder))?.path();
        if path.is_dir() {
            settle(&path)?;
            continue;
        }
        make_readable(&path)?;
        File::open(&path).and_then(|file| file.sync_all()).map_err(Error::io("write", &path))?;
    }
    Ok(())
}

/// Makes the folder that `target` will lie in, and names it.
pub(super) fn create_parent(target: &Path) -> Result<PathBuf> {
    let parent = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    fs::create_dir_all(&parent).map_err(Error::io("create", &parent))?;
    Ok(parent)
}

/// Some libraries write files that only their owner may read; ours are like any other file.
pub(super) fn make_readable(path: &Path) -> Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        fs::set_permissions(path, fs::Permissions::from_mode(0o644))
            .map_err(Error::io("write", path))?;
    }
    Ok(())
}

fn is_empty(folder: &Path) -> bool {
    fs::read_dir(folder).is_ok_and(|mut entries| entries.next().is_none())
}
