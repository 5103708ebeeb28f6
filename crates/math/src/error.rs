//! Errors that a person can act on: what was expected, what was found, where, and what to do.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// The result of fallible functions of liken.
pub type Result<T> = std::result::Result<T, Error>;

/// The errors of liken.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A line of a user's file is not what was expected.
    Line {
        /// The file, as the user named it.
        path: PathBuf,
        /// Counted from one.
        line: u64,
        /// Expected content of the line.
        expected: String,
        /// Actual content.
        found: String,
        /// Advice to the user.
        advice: String,
    },
    /// A file or folder as a whole cannot be used.
    Unusable {
        /// The file or folder.
        path: PathBuf,
        /// The problem found.
        problem: String,
        /// Advice to the user.
        advice: String,
    },
    /// The operating system reported an error.
    Io {
        /// The file or folder.
        path: PathBuf,
        /// The operation that failed, a verb: read, write, create, rename …
        doing: &'static str,
        /// The system's error.
        source: io::Error,
    },
    /// A file of liken whose content is not what liken wrote.
    Damaged {
        /// The file.
        path: PathBuf,
        /// The problem found.
        problem: String,
    },
    /// A folder of a later version of liken.
    Newer {
        /// The manifest.
        path: PathBuf,
        /// Its format.
        found: u32,
        /// The newest format that this version reads.
        supported: u32,
    },
    /// A path that is no folder of liken.
    NoManifest {
        /// The file or folder.
        path: PathBuf,
    },
    /// A folder of liken, but of another kind.
    OtherKind {
        /// The folder.
        path: PathBuf,
        /// Actual kind: dataset, model or ranker.
        found: &'static str,
        /// Expected kind.
        expected: &'static str,
    },
    /// The output already exists.
    Exists {
        /// The file or folder.
        path: PathBuf,
    },
    /// A parameter has an invalid value.
    Parameter {
        /// The parameter, as written in a file.
        name: String,
        /// The value given.
        value: String,
        /// The values allowed.
        expected: String,
    },
    /// An unknown parameter, or a value of the wrong type.
    Setting {
        /// Which one, and the known ones or the expected type.
        problem: String,
    },
    /// An unknown name: of a query, a document, a word, a method.
    Unknown {
        /// Kind of thing that the name should denote.
        kind: &'static str,
        /// The name given.
        name: String,
        /// Advice to the user.
        advice: String,
    },
    /// Required data are empty.
    Empty {
        /// The problem, as a sentence.
        what: String,
        /// Advice to the user.
        advice: String,
    },
    /// A sparse matrix that breaks an invariant.
    Structure {
        /// The broken invariant, with the position.
        problem: String,
    },
    /// A value became infinite or NaN during a fit.
    NotFinite {
        /// The quantity.
        what: &'static str,
        /// The sweep, iteration or epoch, counted from one.
        step: usize,
        /// Advice to the user.
        advice: String,
    },
    /// The work needs more memory than it is allowed.
    Memory {
        /// Memory needed and memory available, in a sentence.
        what: String,
        /// Advice to the user.
        advice: String,
    },
    /// The user asked to stop.
    Cancelled,
}

/// The first characters of `text`, for a message that quotes a bad value.
pub fn excerpt(text: &str) -> String {
    match text.char_indices().nth(60) {
        None => text.to_owned(),
        Some((end, _)) => format!("{}…", &text[..end]),
    }
}

/// [`excerpt`] in quotes.
pub fn quoted(text: &str) -> String {
    format!("{:?}", excerpt(text))
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.problem())?;
        match self.advice() {
            "" => Ok(()),
            advice => write!(f, "\n  {advice}"),
        }
    }
}

impl Error {
    /// One line: expected and found values, and their place.
    pub fn problem(&self) -> String {
        match self {
            Error::Line { path, line, expected, found, .. } => {
                format!("{}:{line}: expected {expected}, found {found}", path.display())
            }
            Error::Unusable { path, problem, .. } => format!("{}: {problem}", path.display()),
            Error::Io { path, doing, source } => {
                format!("{}: cannot {doing}: {source}", path.display())
            }
            Error::Damaged { path, problem } => format!("{}: damaged: {problem}", path.display()),
            Error::Newer { path, found, supported } => format!(
                "{}: written in format {found}, but this liken reads formats up to {supported}",
                path.display()
            ),
            Error::NoManifest { path } => format!(
                "{}: has no manifest.json, so it is not a dataset, model or ranker of liken",
                path.display()
            ),
            Error::OtherKind { path, found, expected } => {
                format!("{}: is a {found}, not a {expected}", path.display())
            }
            Error::Exists { path } => format!("{}: already exists", path.display()),
            Error::Parameter { name, value, expected } => {
                format!("{name} = {value}: expected {expected}")
            }
            Error::Setting { problem } => problem.clone(),
            Error::Unknown { kind, name, .. } => format!("no {kind} is called {name:?}"),
            Error::Empty { what, .. } => what.clone(),
            Error::Structure { problem } => format!("not a valid sparse matrix: {problem}"),
            Error::NotFinite { what, step, .. } => format!("{what} is not finite in step {step}"),
            Error::Memory { what, .. } => format!("not enough memory: {what}"),
            Error::Cancelled => "stopped; nothing was written".to_owned(),
        }
    }

    /// What the user can do; empty if the problem says it. Options are written in backticks, as `name`
    /// or `name = value`, so that every interface can show them in its own syntax.
    pub fn advice(&self) -> &str {
        match self {
            Error::Line { advice, .. }
            | Error::Unusable { advice, .. }
            | Error::Unknown { advice, .. }
            | Error::Empty { advice, .. }
            | Error::NotFinite { advice, .. }
            | Error::Memory { advice, .. } => advice,
            Error::Io { source, .. } => io_advice(source),
            Error::Damaged { .. } => "copy it again from its source, or create it again",
            Error::Newer { .. } => "use a newer liken, or create the folder again with this one",
            Error::NoManifest { .. } => "give a folder that an import or a training wrote",
            Error::OtherKind { .. } => "give a folder of the expected kind",
            Error::Exists { .. } => "choose another name, or replace it with `force`",
            Error::Parameter { .. }
            | Error::Setting { .. }
            | Error::Structure { .. }
            | Error::Cancelled => "",
        }
    }

    /// An [`Error::Io`] for `path`, used as `map_err(Error::io("read", path))`.
    pub fn io(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |source| Error::Io { path, doing, source }
    }

    /// An [`Error::Damaged`] for `path`.
    pub fn damaged(path: &Path, problem: impl Into<String>) -> Error {
        Error::Damaged { path: path.to_owned(), problem: problem.into() }
    }

    /// An [`Error::NotFinite`].
    pub fn not_finite(what: &'static str, step: usize, advice: impl Into<String>) -> Error {
        Error::NotFinite { what, step, advice: advice.into() }
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

/// A number with its noun: `1 row`, `2 queries`.
pub fn counted(n: impl ToString, noun: &str) -> String {
    let n = n.to_string();
    match noun.strip_suffix('y') {
        _ if n == "1" => format!("1 {noun}"),
        Some(stem) => format!("{n} {stem}ies"),
        None => format!("{n} {noun}s"),
    }
}

fn io_advice(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::NotFound => "check the path",
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "choose a path that you may read and write"
        }
        io::ErrorKind::StorageFull
        | io::ErrorKind::QuotaExceeded
        | io::ErrorKind::FileTooLarge
        | io::ErrorKind::WriteZero => "the disk or the quota is full; nothing was written",
        _ => "",
    }
}
