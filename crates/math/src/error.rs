//! What can go wrong, said so that a person can act on it: what was expected, what came,
//! where, and what to do.

use std::io;
use std::path::{Path, PathBuf};

/// The result of everything in this crate that can fail.
pub type Result<T> = std::result::Result<T, Error>;

/// Every way in which this crate fails.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A line of a user's file is not what was expected.
    #[error("{}:{line}: expected {expected}, found {found}\n  {advice}", path.display())]
    Line {
        /// The file, as the user named it.
        path: PathBuf,
        /// Counted from one.
        line: u64,
        /// What the line should have held.
        expected: String,
        /// What it holds.
        found: String,
        /// What the user can do.
        advice: String,
    },
    /// A file or folder as a whole cannot be used.
    #[error("{}: {problem}\n  {advice}", path.display())]
    Unusable {
        /// The file or folder.
        path: PathBuf,
        /// What is wrong with it.
        problem: String,
        /// What the user can do.
        advice: String,
    },
    /// The operating system refused.
    #[error("{}: cannot {doing}: {source}{}", path.display(), io_advice(source))]
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The verb that failed: read, write, create, rename …
        doing: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// A file of ours whose content is not what was written.
    #[error("{}: damaged: {problem}\n  copy it again from where it came, or make it anew", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// What does not fit.
        problem: String,
    },
    /// A folder of ours written by a later version.
    #[error("{}: written in format {found}, but this liken reads formats up to {supported}\n  use a newer liken, or make the folder anew with this one", path.display())]
    Newer {
        /// The manifest.
        path: PathBuf,
        /// The format it names.
        found: u32,
        /// The newest format this version reads.
        supported: u32,
    },
    /// The output is already there.
    #[error("{}: already exists\n  choose another name, or add --force to replace it", path.display())]
    Exists {
        /// The file or folder.
        path: PathBuf,
    },
    /// A parameter has a value that makes no sense.
    #[error("{name} = {value}: expected {expected}")]
    Parameter {
        /// The parameter, as it is written in a file or after `--set`.
        name: String,
        /// The value given.
        value: String,
        /// The values allowed.
        expected: String,
    },
    /// A parameter that does not exist, or a value of the wrong kind for it.
    #[error(
        "{problem}\n  `liken train METHOD --help` lists the parameters of a method, `liken rank train METHOD --help` those of a ranker"
    )]
    Setting {
        /// Which, and what there is.
        problem: String,
    },
    /// A name that nobody knows: a query, a document, a word, a method.
    #[error("no {kind} is called {name:?}\n  {advice}")]
    Unknown {
        /// What was looked for.
        kind: &'static str,
        /// The name given.
        name: String,
        /// What the user can do.
        advice: String,
    },
    /// Something needed has nothing in it.
    #[error("{what}\n  {advice}")]
    Empty {
        /// What is empty.
        what: String,
        /// What the user can do.
        advice: String,
    },
    /// A sparse matrix that breaks its own rules.
    #[error("not a valid sparse matrix: {problem}")]
    Structure {
        /// The rule broken, with the place.
        problem: String,
    },
    /// A number became infinite or undefined while fitting.
    #[error("{what} is not finite in step {step}\n  {advice}")]
    NotFinite {
        /// The quantity.
        what: &'static str,
        /// The sweep, iteration or epoch, counted from one.
        step: usize,
        /// What the user can do.
        advice: String,
    },
    /// The work needs more memory than it may take.
    #[error("not enough memory: {what}\n  {advice}")]
    Memory {
        /// What is needed and what there is.
        what: String,
        /// What the user can do.
        advice: String,
    },
    /// The user asked to stop.
    #[error("stopped; nothing was written")]
    Cancelled,
}

/// The first characters of `text`, for a message that quotes a bad value.
pub fn excerpt(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// The same in quotes.
pub fn quoted(text: &str) -> String {
    format!("{:?}", excerpt(text))
}

impl Error {
    /// An [`Error::Io`] for `path`, to be used as `map_err(Error::io("read", path))`.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { path, doing, source }
    }

    /// An [`Error::Damaged`] for `path`.
    pub fn damaged(path: &Path, problem: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_owned(), problem: problem.into() }
    }

    /// An [`Error::Parameter`].
    pub fn parameter(name: &str, value: impl ToString, expected: &str) -> Error {
        Error::Parameter {
            name: name.to_owned(),
            value: value.to_string(),
            expected: expected.to_owned(),
        }
    }
}

fn io_advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "\n  check the path",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "\n  choose a place you may read and write"
        }
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::FileTooLarge
        | io::ErrorKind::WriteZero => "\n  the disk or the quota is full; nothing was kept",
        _ => "",
    }
}
