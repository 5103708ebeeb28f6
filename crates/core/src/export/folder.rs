//! The folder of an export: its files, then `about.json`, which lists them, so that `force` replaces
//! nothing but an export.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::file::{Output, StagedFolder};
use crate::{Error, Result};

const ABOUT: &str = "about.json";

/// A file of an export.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct ExportedFile {
    /// Its name, with `/` before the name of a file in a folder below.
    pub name: String,
    /// A description of its content.
    pub holds: String,
}

/// The content of `about.json`.
#[derive(Serialize)]
struct About<'a, T> {
    /// The version of liken that wrote it.
    liken: &'a str,
    files: &'a [ExportedFile],
    #[serde(flatten)]
    about: &'a T,
}

/// The fields by which an existing `about.json` is recognised.
#[derive(Deserialize)]
struct Known {
    #[serde(rename = "liken")]
    _liken: String,
    files: Vec<ExportedFile>,
}

/// An export being written. Dropped without [`ExportFolder::commit`], it leaves nothing behind.
pub(super) struct ExportFolder {
    staged: StagedFolder,
    files: Vec<ExportedFile>,
}

impl ExportFolder {
    /// Starts the folder that will appear at `target`. With `force` it replaces an older export.
    pub(super) fn create(target: &Path, force: bool) -> Result<Self> {
        let holds = |folder: &Path| fs::read_dir(folder).is_ok_and(|mut all| all.next().is_some());
        if force && target.is_dir() && !target.is_symlink() && holds(target) && !is_ours(target) {
            return Err(Error::Unusable {
                path: target.to_owned(),
                problem: "holds something else than an export of liken".into(),
                advice: "`force` replaces only an earlier export: choose another name, or delete it by hand".into(),
            });
        }
        let staged = StagedFolder::create(target, force, is_ours)?;
        Ok(ExportFolder { staged, files: Vec::new() })
    }

    /// The path of the file `name`, listed with the description `holds`.
    pub(super) fn path(&mut self, name: &str, holds: impl Into<String>) -> Result<PathBuf> {
        let path = self.staged.path(name);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        }
        self.files.push(ExportedFile { name: name.to_owned(), holds: holds.into() });
        Ok(path)
    }

    /// Starts the file `name`.
    pub(super) fn file(&mut self, name: &str, holds: impl Into<String>) -> Result<Output> {
        Output::create(&self.path(name, holds)?)
    }

    /// Writes `about.json`, publishes the folder, and returns its files.
    pub(super) fn commit<T: Serialize>(self, about: &T) -> Result<Vec<ExportedFile>> {
        let mut out = Output::create(&self.staged.path(ABOUT))?;
        let about = About { liken: env!("CARGO_PKG_VERSION"), files: &self.files, about };
        let text = serde_json::to_string_pretty(&about)
            .map_err(|error| Error::damaged(out.path(), error.to_string()))?;
        out.bytes(text.as_bytes())?;
        out.bytes(b"\n")?;
        out.finish()?;
        self.staged.publish()?;
        Ok(self.files)
    }
}

/// Whether `folder` holds an export and nothing else.
fn is_ours(folder: &Path) -> bool {
    let known =
        fs::read(folder.join(ABOUT)).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let Some(Known { files, .. }) = known else { return false };
    let mut names: BTreeSet<PathBuf> = files.iter().map(|file| folder.join(&file.name)).collect();
    names.insert(folder.join(ABOUT));
    holds_only(folder, &names)
}

fn holds_only(folder: &Path, names: &BTreeSet<PathBuf>) -> bool {
    let Ok(entries) = fs::read_dir(folder) else { return false };
    entries.into_iter().all(|entry| {
        let Ok(path) = entry.map(|entry| entry.path()) else { return false };
        let below = path.is_dir() && !path.is_symlink();
        if below { holds_only(&path, names) } else { names.contains(&path) }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn export(target: &Path, force: bool) -> Result<Vec<ExportedFile>> {
        let mut folder = ExportFolder::create(target, force)?;
        let mut file = folder.file("below/a.txt", "a line")?;
        file.line(format_args!("a"))?;
        file.finish()?;
        folder.commit(&serde_json::json!({ "export": "test" }))
    }

    #[test]
    fn an_export_replaces_an_export_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("out");
        export(&target, false).unwrap();
        assert_eq!(fs::read_to_string(target.join("below/a.txt")).unwrap(), "a\n");
        assert!(matches!(export(&target, false), Err(Error::Exists { .. })));
        export(&target, true).unwrap();
        fs::File::create(target.join("below/mine.txt")).unwrap();
        let error = export(&target, true).unwrap_err().to_string();
        assert!(error.contains("holds something else than an export"), "{error}");
        assert!(target.join("below/mine.txt").exists());
        fs::create_dir(dir.path().join("empty")).unwrap();
        export(&dir.path().join("empty"), true).unwrap();
    }

    #[test]
    fn an_unfinished_export_leaves_nothing() {
        let dir = tempfile::tempdir().unwrap();
        let mut folder = ExportFolder::create(&dir.path().join("out"), false).unwrap();
        folder.file("a.txt", "a").unwrap();
        drop(folder);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
