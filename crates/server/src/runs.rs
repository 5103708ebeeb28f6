//! Uploaded runs of any engine, to compare models with: stored as they came in a folder of the
//! index, and read for each comparison.

mod table;

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use liken::eval::trec::{TrecRun, read_run};
use tempfile::NamedTempFile;

use crate::problem::Problem;

/// The largest run, in bytes.
pub const LARGEST: usize = 64 << 20;
/// The largest form with a run, in bytes: a form encodes most characters as three.
pub const LARGEST_FORM: usize = 3 * LARGEST + 4096;
/// The most runs of an index.
pub const MOST: usize = 100;
/// The longest name, in bytes.
pub const LONGEST_NAME: usize = 80;
const EXTENSION: &str = "run";

/// An uploaded run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UploadedRun {
    /// The name given with the upload.
    pub name: String,
    /// Its length in bytes.
    pub bytes: u64,
    /// Changes when the run is replaced.
    pub version: String,
}

/// The uploaded runs of an index.
pub struct Runs {
    folder: PathBuf,
}

impl Runs {
    /// The runs in `folder`, which need not exist yet.
    pub fn new(folder: PathBuf) -> Self {
        Runs { folder }
    }

    /// All runs, by name.
    pub fn list(&self) -> Vec<UploadedRun> {
        let Ok(files) = fs::read_dir(&self.folder) else { return Vec::new() };
        let paths = files.filter_map(|file| Some(file.ok()?.path()));
        let mut runs: Vec<UploadedRun> = paths.filter_map(|path| about(&path)).collect();
        runs.sort_by(|a, b| a.name.cmp(&b.name));
        runs
    }

    /// Stores `text` under `name`, replacing a run of that name. Nothing is stored if `text` cannot
    /// be read, or if `fits` refuses it.
    pub fn save(
        &self,
        name: &str,
        text: &str,
        fits: impl FnOnce(&TrecRun) -> Result<(), Problem>,
    ) -> Result<UploadedRun, Problem> {
        let name = checked(name)?;
        if text.len() > LARGEST {
            return Err(Problem::bad(format!(
                "the run has {} bytes, expected at most {LARGEST}: keep the first hundred results of each query",
                text.len()
            )));
        }
        let target = self.path(name);
        if !target.exists() && self.list().len() >= MOST {
            return Err(Problem::bad(format!(
                "there are {MOST} runs already, the most of an index: delete one first"
            )));
        }
        let failed = |error: std::io::Error| match error.kind() {
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded => {
                Problem::full("the run was not stored: free space on the disk of the server")
            }
            _ => Problem::internal(format!("the run cannot be written: {error}")),
        };
        fs::create_dir_all(&self.folder).map_err(failed)?;
        let mut file = NamedTempFile::new_in(&self.folder).map_err(failed)?;
        file.write_all(text.as_bytes()).map_err(failed)?;
        file.as_file().sync_all().map_err(failed)?;
        fits(&read(file.path(), name)?)?;
        file.persist(&target).map_err(|error| failed(error.error))?;
        about(&target).ok_or_else(|| Problem::internal("the run was deleted at the same time"))
    }

    /// The run called `name`.
    pub fn open(&self, name: &str) -> Result<TrecRun, Problem> {
        let path = self.path(name);
        if about(&path).is_none_or(|about| about.name != name) {
            return Err(Problem::missing(format!("no run is called {name:?}: upload it again")));
        }
        read(&path, name)
    }

    /// Deletes the run called `name`.
    pub fn delete(&self, name: &str) -> Result<(), Problem> {
        fs::remove_file(self.path(name)).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => Problem::missing(format!("no run is called {name:?}")),
            _ => Problem::internal(format!("the run cannot be deleted: {error}")),
        })
    }

    /// Names are any text, so files are called by their bytes in hexadecimal: no name can lead out
    /// of the folder.
    fn path(&self, name: &str) -> PathBuf {
        // One byte more than a name can have, so that no run has a longer name.
        let bytes = name.bytes().take(LONGEST_NAME + 1);
        let file: String = bytes.map(|byte| format!("{byte:02x}")).collect();
        self.folder.join(file).with_extension(EXTENSION)
    }
}

/// The run in the file at `path`, if it is one.
fn about(path: &Path) -> Option<UploadedRun> {
    if path.extension()? != EXTENSION {
        return None;
    }
    let hex = path.file_stem()?.to_str()?;
    let byte = |at: usize| u8::from_str_radix(hex.get(at..at + 2)?, 16).ok();
    let bytes: Option<Vec<u8>> = (0..hex.len()).step_by(2).map(byte).collect();
    let name = String::from_utf8(bytes?).ok()?;
    let found = fs::metadata(path).ok()?;
    let changed = found.modified().ok()?.duration_since(UNIX_EPOCH).ok()?;
    let version = format!("{}.{}", changed.as_nanos(), found.len());
    Some(UploadedRun { name, bytes: found.len(), version })
}

/// The name without surrounding blanks, if it is valid.
fn checked(name: &str) -> Result<&str, Problem> {
    let name = name.trim();
    let fits =
        !name.is_empty() && name.len() <= LONGEST_NAME && !name.chars().any(char::is_control);
    if fits {
        return Ok(name);
    }
    Err(Problem::bad(format!(
        "a run needs a name of 1 to {LONGEST_NAME} bytes without control characters, found {} bytes",
        name.len()
    )))
}

/// Reads a run: TREC's six columns, or a table with query, document and score.
fn read(path: &Path, name: &str) -> Result<TrecRun, Problem> {
    let text = fs::read_to_string(path)
        .map_err(|error| Problem::internal(format!("the run cannot be read: {error}")))?;
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let Some(first) = lines.find(|line| !line.starts_with('#')) else {
        return Err(Problem::bad(
            "the run is empty: expected lines such as `q1 Q0 doc7 1 12.5 bm25` or `q1,doc7,12.5`",
        ));
    };
    // With tabs, the six columns of TREC may hold texts of queries as they are.
    let tabs = first.matches('\t').count();
    if tabs == 5 && first.split_whitespace().count() > 6 {
        return table::read(name, &text, Some(b'#'));
    }
    if first.split_whitespace().count() < 6 && first.contains([',', '\t']) {
        return table::read(name, &text, None);
    }
    read_run(path, false, liken::Run::silent()).map(|(run, _)| run).map_err(|error| match error {
        // Clients must not see where the file lies, and options of the command line are of no use.
        liken::Error::Line { line, expected, found, .. } => Problem::bad(format!(
            "line {line}: expected {expected}, found {found}; the run was not stored"
        )),
        liken::Error::Unusable { problem, advice, .. } => {
            Problem::bad(format!("{problem}: {advice}"))
        }
        other => Problem::bad(other.to_string()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const TREC: &str =
        "q1 Q0 http://a.example/x?y=1#z 1 2.5 tag\nq1 Q0 b 2 1e-3 tag\nq2 Q0 b 1 7 tag\n";

    fn any(_: &TrecRun) -> Result<(), Problem> {
        Ok(())
    }

    fn hits(run: &TrecRun, query: &str) -> Vec<(String, f64)> {
        let place = run.find(query).unwrap();
        run.query(place).hits().map(|hit| (hit.doc.to_owned(), hit.score)).collect()
    }

    #[test]
    fn with_tabs_queries_are_texts() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::new(folder.path().join("runs"));
        let text = "# a comment\nhow far is it\tQ0\tsun\t1\t2.5\ttag\nhow far is it\tQ0\tmoon\t2\t1\ttag\n";
        runs.save("texts", text, any).unwrap();
        let run = runs.open("texts").unwrap();
        let expected = [("sun".to_owned(), 2.5), ("moon".to_owned(), 1.0)];
        assert_eq!(hits(&run, "how far is it"), expected);
    }

    #[test]
    fn both_forms_say_the_same_and_ids_are_any_text() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::new(folder.path().join("runs"));
        assert!(runs.list().is_empty());
        runs.save("trec", TREC, any).unwrap();
        let csv = "query,doc,score\nq1,b,0.001\nq1,http://a.example/x?y=1#z,2.5\nq2,b,7\n";
        runs.save("../../etc/<csv>", csv, any).unwrap();
        let names: Vec<String> = runs.list().into_iter().map(|run| run.name).collect();
        assert_eq!(names, ["../../etc/<csv>", "trec"]);
        let (a, b) = (runs.open("trec").unwrap(), runs.open("../../etc/<csv>").unwrap());
        assert_eq!(a.tag, "tag");
        for query in ["q1", "q2"] {
            assert_eq!(hits(&a, query), hits(&b, query));
        }
        assert_eq!(hits(&a, "q1")[0].0, "http://a.example/x?y=1#z");
        // Nothing lies outside of the folder.
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1);
        runs.delete("../../etc/<csv>").unwrap();
        assert_eq!(runs.delete("../../etc/<csv>").unwrap_err().status, 404);
        assert_eq!(runs.open("../../etc/<csv>").unwrap_err().status, 404);
        assert_eq!(runs.list().len(), 1);
    }

    #[test]
    fn a_run_under_a_known_name_takes_its_place() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::new(folder.path().to_owned());
        let first = runs.save("a", TREC, any).unwrap();
        assert_eq!(runs.open("a").unwrap().len(), 2);
        let second = runs.save(" a ", "q1,d,1\nq2,d,1\nq3,d,1\n", any).unwrap();
        assert_ne!(first, second);
        assert_eq!(runs.open("a").unwrap().len(), 3);
        assert_eq!(runs.list(), [second]);
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_its_line_and_not_kept() {
        let folder = tempfile::tempdir().unwrap();
        let runs = Runs::new(folder.path().to_owned());
        for (text, said) in [
            ("", "empty"),
            ("\n# nothing\n", "empty"),
            ("q1 Q0 a 1 2.5 t\nq1 Q0 b 2 high t\n", "line 2"),
            ("q1 Q0 a 1 2.5 t\nq1 Q0\n", "line 2"),
            ("q1 Q0 a 1 2.5 t\n\nq1 Q0 a 2 2.5 t\n", "line 3"),
            ("q1,a,1\nq1,b,NaN\n", "line 2"),
            ("q1,a,1\nq1,b\n", "line 2"),
            ("q1,a,1\nq1,a,2\n", "line 2"),
            ("q1,\"a,1\n", "line 1"),
            ("only one word", "line 1"),
            ("query,text,rank\nq1,a,1\n", "line 1"),
        ] {
            let problem = runs.save("bad", text, any).unwrap_err();
            assert_eq!(problem.status, 400, "{text:?}: {problem}");
            assert!(problem.detail.contains(said), "{text:?}: {problem}");
            let path = folder.path().display().to_string();
            assert!(!problem.detail.contains(&path), "{problem}");
            assert!(!problem.detail.contains("lenient"), "{problem}");
        }
        for name in ["", "  ", "a\nb", &"x".repeat(LONGEST_NAME + 1)] {
            assert_eq!(runs.save(name, TREC, any).unwrap_err().status, 400, "{name:?}");
        }
        let refused = |_: &TrecRun| Err(Problem::bad("another collection"));
        assert_eq!(runs.save("other", TREC, refused).unwrap_err().detail, "another collection");
        assert!(runs.list().is_empty());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
        assert_eq!(runs.open(&"x".repeat(9999)).unwrap_err().status, 404);
    }
}
