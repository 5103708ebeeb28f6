//! A folder with a manifest: a dataset, model or ranker on disk.
//!
//! It appears complete or not at all ([`StagedFolder`]). The manifest lists every file with its
//! length and checksum; opening verifies them.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use super::staged::StagedFolder;
use crate::{Error, Result};

/// The newest format this version writes and reads.
const FORMAT: u32 = 1;

const MANIFEST: &str = "manifest.json";

/// Files outside a folder's identity: times, dates, the number of threads.
const OUTSIDE_IDENTITY: [&str; 1] = ["times.json"];

/// The kinds of folders with a manifest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum FolderKind {
    /// Queries, documents, clicks and judgments.
    Dataset,
    /// A fitted model with everything it needs to score.
    Model,
    /// A ranker of rows of features.
    Ranker,
}

impl FolderKind {
    fn name(self) -> &'static str {
        match self {
            FolderKind::Dataset => "dataset",
            FolderKind::Model => "model",
            FolderKind::Ranker => "ranker",
        }
    }
}

/// The content of manifest.json; `T` is specific to the kind of folder.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Manifest<T> {
    /// The kind of folder.
    pub kind: FolderKind,
    /// The version of the layout.
    pub format: u32,
    /// The version of liken that wrote it.
    pub liken: String,
    /// The description specific to the kind.
    pub about: T,
    /// Every file that belongs to the folder's identity.
    pub files: BTreeMap<String, FileEntry>,
}

/// Length and checksum of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Length in bytes.
    pub bytes: u64,
    /// SHA-256, in hexadecimal.
    pub sha256: String,
}

/// A folder being written. Dropped without [`NewFolder::commit`], it leaves nothing behind.
pub struct NewFolder {
    staged: StagedFolder,
    kind: FolderKind,
}

impl NewFolder {
    /// Starts a folder that will appear at `target`. Fails before any work is done if `target`
    /// exists and `force` is not set. Even with `force`, a folder of one kind never replaces one of
    /// another: a model must not replace the dataset that it is trained on.
    pub fn create(kind: FolderKind, target: &Path, force: bool) -> Result<Self> {
        let there = read_json::<Manifest<Value>>(&target.join(MANIFEST));
        if let Some(other) = there.ok().map(|there| there.kind).filter(|&other| other != kind) {
            return Err(Error::Unusable {
                path: target.to_owned(),
                problem: format!("is a {}, expected a {} to replace", other.name(), kind.name()),
                advice: "choose another name, or remove it first".into(),
            });
        }
        Ok(NewFolder { staged: StagedFolder::create(target, force, is_ours)?, kind })
    }

    /// The path at which to write the file `name`.
    pub fn path(&self, name: &str) -> PathBuf {
        self.staged.path(name)
    }

    /// Writes `value` as indented JSON.
    pub fn write_json(&self, name: &str, value: &impl Serialize) -> Result<()> {
        write_json(&self.path(name), value)
    }

    /// Writes the manifest and renames the folder to its target.
    pub fn commit<T: Serialize>(self, about: T) -> Result<()> {
        let kind = self.kind;
        let mut files = BTreeMap::new();
        let folder = self.staged.folder();
        for entry in fs::read_dir(&folder).map_err(Error::io("read", &folder))? {
            let path = entry.map_err(Error::io("read", &folder))?.path();
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            if !OUTSIDE_IDENTITY.contains(&name.as_str()) {
                let bytes = path.metadata().map_err(Error::io("read", &path))?.len();
                files.insert(name, FileEntry { bytes, sha256: checksum(&path)? });
            }
        }
        let liken = env!("CARGO_PKG_VERSION").to_owned();
        self.write_json(MANIFEST, &Manifest { kind, format: FORMAT, liken, about, files })?;
        self.staged.publish()
    }
}

/// A folder with a manifest, opened and verified.
#[derive(Debug, Clone)]
pub struct Folder<T> {
    /// Final path of the folder.
    pub path: PathBuf,
    /// Its manifest.
    pub manifest: Manifest<T>,
}

impl<T: DeserializeOwned> Folder<T> {
    /// Opens the folder at `path`, which must be of the kind `kind`, and verifies every file
    /// that its manifest lists.
    pub fn open(path: &Path, kind: FolderKind) -> Result<Self> {
        let manifest_path = path.join(MANIFEST);
        let (found, format) = Self::peek(path)?;
        if format > FORMAT {
            return Err(Error::Newer { path: manifest_path, found: format, supported: FORMAT });
        }
        if found != kind {
            return Err(Error::OtherKind {
                path: path.to_owned(),
                found: found.name(),
                expected: kind.name(),
            });
        }
        let manifest: Manifest<T> = read_json(&manifest_path)?;
        for (name, entry) in &manifest.files {
            verify(&path.join(name), entry)?;
        }
        Ok(Folder { path: path.to_owned(), manifest })
    }

    /// The kind and format of the folder at `path`, without verifying its files.
    pub fn peek(path: &Path) -> Result<(FolderKind, u32)> {
        #[derive(Deserialize)]
        struct Head {
            kind: FolderKind,
            format: u32,
        }
        let manifest = path.join(MANIFEST);
        let found = path.metadata().map_err(Error::io("read", path))?;
        if found.is_file() || !manifest.exists() {
            return Err(Error::NoManifest { path: path.to_owned() });
        }
        let head: Head = read_json(&manifest)?;
        Ok((head.kind, head.format))
    }

    /// The path of the file `name`.
    pub fn file(&self, name: &str) -> PathBuf {
        self.path.join(name)
    }

    /// Reads the JSON file `name`.
    pub fn read_json<V: DeserializeOwned>(&self, name: &str) -> Result<V> {
        read_json(&self.file(name))
    }

    /// One checksum over every file that belongs to the folder's identity.
    pub fn identity(&self) -> String {
        let mut hash = Sha256::new();
        for (name, entry) in &self.manifest.files {
            hash.update(format!("{name} {} {}\n", entry.bytes, entry.sha256));
        }
        hex(&hash.finalize())
    }
}

/// The SHA-256 of a file, in hexadecimal.
pub fn checksum(path: &Path) -> Result<String> {
    let mut reader =
        BufReader::with_capacity(1 << 20, File::open(path).map_err(Error::io("read", path))?);
    let mut hash = Sha256::new();
    let mut buffer = vec![0u8; 1 << 20];
    loop {
        let n = reader.read(&mut buffer).map_err(Error::io("read", path))?;
        if n == 0 {
            return Ok(hex(&hash.finalize()));
        }
        hash.update(&buffer[..n]);
    }
}

/// Whether `folder` has a manifest that lists everything in it.
fn is_ours(folder: &Path) -> bool {
    let Ok(manifest) = read_json::<Manifest<Value>>(&folder.join(MANIFEST)) else { return false };
    let known = |name: &str| {
        name == MANIFEST || OUTSIDE_IDENTITY.contains(&name) || manifest.files.contains_key(name)
    };
    fs::read_dir(folder).is_ok_and(|entries| {
        entries.flatten().all(|entry| entry.file_name().to_str().is_some_and(known))
    })
}

fn verify(path: &Path, entry: &FileEntry) -> Result<()> {
    let found = path.metadata();
    if found.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::NotFound) {
        return Err(Error::damaged(path, "it is missing"));
    }
    let bytes = found.map_err(Error::io("read", path))?.len();
    if bytes != entry.bytes {
        return Err(Error::damaged(path, format!("{bytes} bytes long instead of {}", entry.bytes)));
    }
    if checksum(path)? != entry.sha256 {
        return Err(Error::damaged(path, "its checksum differs from the manifest's"));
    }
    Ok(())
}

fn write_json(path: &Path, value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(io::Error::from);
    let write = |text: String| File::create(path)?.write_all((text + "\n").as_bytes());
    text.and_then(write).map_err(Error::io("write", path))
}

fn read_json<V: DeserializeOwned>(path: &Path) -> Result<V> {
    let text = fs::read_to_string(path).map_err(Error::io("read", path))?;
    serde_json::from_str(&text).map_err(|error| Error::damaged(path, error.to_string()))
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write_one(target: &Path, force: bool, text: &str) -> Result<()> {
        let folder = NewFolder::create(FolderKind::Dataset, target, force)?;
        folder.write_json("text.json", &text)?;
        folder.commit("about")
    }

    #[test]
    fn a_folder_appears_whole_or_not_at_all() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("set");
        let unfinished = NewFolder::create(FolderKind::Dataset, &target, false).unwrap();
        unfinished.write_json("text.json", &1).unwrap();
        drop(unfinished);
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
        write_one(&target, false, "one").unwrap();
        assert!(matches!(write_one(&target, false, "two"), Err(Error::Exists { .. })));
        write_one(&target, true, "two").unwrap();
        let folder: Folder<String> = Folder::open(&target, FolderKind::Dataset).unwrap();
        assert_eq!(folder.read_json::<String>("text.json").unwrap(), "two");
        assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn force_never_removes_what_is_not_ours() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("photos");
        fs::create_dir(&target).unwrap();
        File::create(target.join("cat.jpg")).unwrap();
        assert!(matches!(write_one(&target, true, "x"), Err(Error::Unusable { .. })));
        assert!(target.join("cat.jpg").exists());
        // Others, too, call a file manifest.json, and people put their own files beside ours.
        File::create(target.join("manifest.json")).unwrap();
        assert!(matches!(write_one(&target, true, "x"), Err(Error::Unusable { .. })));
        let ours = dir.path().join("ours");
        write_one(&ours, false, "x").unwrap();
        File::create(ours.join("notes.txt")).unwrap();
        assert!(matches!(write_one(&ours, true, "x"), Err(Error::Unusable { .. })));
    }

    #[test]
    fn force_never_puts_one_kind_in_the_place_of_another() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("set");
        write_one(&target, false, "one").unwrap();
        let error = NewFolder::create(FolderKind::Model, &target, true).err().unwrap().to_string();
        assert!(error.contains("is a dataset, expected a model to replace"), "{error}");
        assert!(Folder::<String>::open(&target, FolderKind::Dataset).is_ok());
    }

    #[test]
    fn damage_newer_formats_and_wrong_kinds_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("set");
        let open = || Folder::<String>::open(&target, FolderKind::Dataset);
        write_one(&target, false, "one").unwrap();
        assert!(matches!(
            Folder::<String>::open(&target, FolderKind::Model),
            Err(Error::OtherKind { .. })
        ));
        write_json(&target.join("text.json"), &"two").unwrap();
        assert!(matches!(open(), Err(Error::Damaged { .. })), "{:?}", open());
        let manifest = fs::read_to_string(target.join(MANIFEST)).unwrap();
        write_json(
            &target.join(MANIFEST),
            &serde_json::from_str::<Value>(&manifest.replace("\"format\": 1", "\"format\": 9"))
                .unwrap(),
        )
        .unwrap();
        assert!(matches!(open(), Err(Error::Newer { found: 9, .. })));
    }
}
