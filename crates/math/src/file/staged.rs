//! A folder that appears complete or not at all: written under a temporary name next to its target,
//! renamed at the end.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use crate::{Error, Result};

/// A folder under a temporary name. If it is dropped before [`StagedFolder::publish`], nothing is
/// left behind.
pub struct StagedFolder {
    target: PathBuf,
    /// Readable by its owner only, so the new folder lies inside it.
    work: TempDir,
}

impl StagedFolder {
    /// Starts a folder that will appear at `target`. Fails before any work is done if `target`
    /// exists; with `force` it is replaced, if `is_ours` says that it holds only liken's files.
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

    /// The temporary path of the folder.
    pub fn folder(&self) -> PathBuf {
        self.work.path().join("new")
    }

    /// The path at which to write the file `name`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder().join(name)
    }

    /// Renames the folder to its target. An old folder is moved aside first, and back if the rename
    /// fails.
    pub fn publish(self) -> Result<()> {
        let folder = self.folder();
        sync_files(&folder)?;
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

/// Makes the files in and below `folder` readable and syncs them to disk.
fn sync_files(folder: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).map_err(Error::io("read", folder))? {
        let path = entry.map_err(Error::io("read", folder))?.path();
        if path.is_dir() {
            sync_files(&path)?;
            continue;
        }
        make_readable(&path)?;
        File::open(&path).and_then(|file| file.sync_all()).map_err(Error::io("write", &path))?;
    }
    Ok(())
}

/// Creates the parent folder of `target` and returns its path.
pub(super) fn create_parent(target: &Path) -> Result<PathBuf> {
    let parent = match target.parent() {
        Some(parent) if !parent.as_os_str().is_empty() => parent.to_owned(),
        _ => PathBuf::from("."),
    };
    fs::create_dir_all(&parent).map_err(Error::io("create", &parent))?;
    Ok(parent)
}

/// Sets the permissions 0644: some libraries write files that only their owner may read.
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
