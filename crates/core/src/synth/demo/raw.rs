//! The demo log as the files that a user would have: tables of clicks and judgments, documents
//! as JSON lines.

use std::fs::{self, File};
use std::io::{BufWriter, Write};
use std::path::Path;

use super::DemoLog;
use crate::file::create_parent;
use crate::{Error, Result};

const CLICKS: &str = "clicks.tsv";
const DOCUMENTS: &str = "documents.jsonl";
const JUDGMENTS: &str = "judgments.tsv";

impl DemoLog {
    /// Writes `clicks.tsv` (query, doc, clicks), `documents.jsonl` and `judgments.tsv` (query,
    /// doc, grade) into the new folder `dir`. A folder that is there is refused; with `force`
    /// it is replaced if it holds nothing but such files. It appears whole or not at all.
    pub fn write_raw(&self, dir: &Path, force: bool) -> Result<()> {
        let there = dir.symlink_metadata().is_ok();
        if there && !force {
            return Err(Error::Exists { path: dir.to_owned() });
        }
        if there && !is_raw_folder(dir) {
            return Err(Error::Unusable {
                path: dir.to_owned(),
                problem: "holds more than a raw log written by liken".into(),
                advice: "--force replaces only liken's own folders: choose another name, or remove it by hand".into(),
            });
        }
        let parent = create_parent(dir)?;
        let temporary = |prefix| {
            tempfile::Builder::new()
                .prefix(prefix)
                .tempdir_in(&parent)
                .map_err(Error::io("write", &parent))
        };
        let work = temporary(".liken-")?;
        // The folder to be is inside the temporary one, whose rights are the owner's alone.
        let whole = work.path().join("raw");
        fs::create_dir(&whole).map_err(Error::io("create", &whole))?;
        self.write_files(&whole)?;
        let aside = work.path().join("old");
        if there {
            fs::rename(dir, &aside).map_err(Error::io("replace", dir))?;
        }
        if let Err(source) = fs::rename(&whole, dir) {
            if there {
                fs::rename(&aside, dir).map_err(Error::io("restore", dir))?;
            }
            return Err(Error::Io { path: dir.to_owned(), doing: "create", source });
        }
        Ok(())
    }

    fn write_files(&self, folder: &Path) -> Result<()> {
        let id = |document: u32| &self.documents[document as usize].id;
        write(&folder.join(CLICKS), |file| {
            writeln!(file, "query\tdoc\tclicks")?;
            self.clicks.iter().try_for_each(|&(query, document, clicks)| {
                writeln!(file, "{}\t{}\t{clicks}", self.queries[query as usize], id(document))
            })
        })?;
        write(&folder.join(DOCUMENTS), |file| {
            self.documents.iter().try_for_each(|document| {
                serde_json::to_writer(&mut *file, document)?;
                writeln!(file)
            })
        })?;
        write(&folder.join(JUDGMENTS), |file| {
            writeln!(file, "query\tdoc\tgrade")?;
            self.judgments.iter().try_for_each(|&(query, document, grade)| {
                writeln!(file, "{}\t{}\t{grade}", self.queries[query as usize], id(document))
            })
        })
    }
}

fn write(
    path: &Path,
    content: impl FnOnce(&mut BufWriter<File>) -> std::io::Result<()>,
) -> Result<()> {
    let mut file = BufWriter::new(File::create(path).map_err(Error::io("create", path))?);
    content(&mut file)
        .and_then(|()| file.flush())
        .and_then(|()| file.get_ref().sync_all())
        .map_err(Error::io("write", path))
}

/// A real folder without anything but the files of a raw log.
fn is_raw_folder(path: &Path) -> bool {
    let ours = |entry: std::io::Result<fs::DirEntry>| {
        entry.is_ok_and(|entry| {
            let name = entry.file_name();
            [CLICKS, DOCUMENTS, JUDGMENTS].iter().any(|&own| name == own)
        })
    };
    !path.is_symlink() && fs::read_dir(path).is_ok_and(|mut entries| entries.all(ours))
}
