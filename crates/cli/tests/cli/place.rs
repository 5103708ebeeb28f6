//! A temporary folder to run the binary in.

use std::fs::{self, File};
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use liken::data::Dataset;
use tempfile::TempDir;

/// A folder with some files, where commands are run.
pub struct Place {
    folder: TempDir,
}

/// What a command said.
pub struct Said {
    pub code: Option<i32>,
    pub out: String,
    pub err: String,
}

impl Place {
    pub fn new() -> Self {
        Place { folder: tempfile::tempdir().unwrap() }
    }

    /// With the files given by name and content.
    pub fn with(files: &[(&str, &str)]) -> Self {
        let place = Place::new();
        for (name, text) in files {
            place.file(name, text);
        }
        place
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn file(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        File::create(path).unwrap().write_all(bytes.as_ref()).unwrap();
    }

    /// `liken` with the words of `line`, separated by spaces, to be run here.
    pub fn command(&self, line: &str) -> Command {
        let mut command = Command::new(binary());
        command.args(line.split_whitespace()).current_dir(self.folder.path());
        command.env_remove("LIKEN_DATA");
        command
    }

    /// The words of `line`, and then arguments that may hold spaces.
    pub fn ask(&self, line: &str, more: &[&str]) -> Said {
        Said::of(self.command(line).args(more).stdin(Stdio::null()).output().unwrap())
    }

    pub fn run(&self, line: &str) -> Said {
        Said::of(self.command(line).stdin(Stdio::null()).output().unwrap())
    }

    /// With `input` on standard input.
    pub fn pipe(&self, line: &str, input: &[u8]) -> Said {
        let mut command = self.command(line);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        Said::of(child.wait_with_output().unwrap())
    }

    /// A line for bash, in which `liken` is the binary.
    pub fn bash(&self, line: &str) -> Said {
        let mut command = Command::new("bash");
        command.arg("-c").arg(format!("liken() {{ '{}' \"$@\"; }}\n{line}", binary().display()));
        Said::of(command.current_dir(self.folder.path()).output().unwrap())
    }

    pub fn dataset(&self, name: &str) -> Dataset {
        Dataset::open(&self.path(name)).unwrap()
    }

    /// Every name in this folder, hidden or not, sorted.
    pub fn names(&self) -> Vec<String> {
        let entries = fs::read_dir(self.folder.path()).unwrap();
        let mut names: Vec<String> =
            entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        names.sort();
        names
    }
}

impl Said {
    pub fn of(output: Output) -> Self {
        let said = Said {
            code: output.status.code(),
            out: String::from_utf8(output.stdout).unwrap(),
            err: String::from_utf8(output.stderr).unwrap(),
        };
        assert!(!said.err.contains("panicked"), "{}", said.err);
        said
    }

    /// What it printed, as JSON.
    #[track_caller]
    pub fn json(&self) -> serde_json::Value {
        serde_json::from_str(&self.out).unwrap_or_else(|error| panic!("{error}:\n{}", self.out))
    }

    /// It must have worked, and every part must be in what it printed.
    #[track_caller]
    pub fn shows(self, parts: &[&str]) -> Self {
        let said = self.fine();
        for part in parts {
            assert!(said.out.contains(part), "no {part:?} in:\n{}", said.out);
        }
        said
    }

    /// It must have worked without a word on stderr.
    #[track_caller]
    pub fn silent(self) -> Self {
        assert_eq!(self.err, "");
        self.fine()
    }

    /// It must have worked.
    #[track_caller]
    pub fn fine(self) -> Self {
        assert_eq!(self.code, Some(0), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        self
    }

    /// It must have failed with `code`, and every word must be in its message.
    #[track_caller]
    pub fn refused(self, code: i32, words: &[&str]) {
        assert_eq!(self.code, Some(code), "stdout:\n{}\nstderr:\n{}", self.out, self.err);
        for word in words {
            assert!(self.err.contains(word), "no {word:?} in:\n{}", self.err);
        }
    }
}

/// The binary that is tested: the one built with the tests, or another that `LIKEN_BINARY` names, to
/// see whether the two do the same.
pub fn binary() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        std::env::var_os("LIKEN_BINARY").map_or(env!("CARGO_BIN_EXE_liken").into(), PathBuf::from)
    })
}

/// Waits until `holds`, at most two minutes.
pub fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(120);
    while !holds() {
        assert!(std::time::Instant::now() < deadline, "never: {what}");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
