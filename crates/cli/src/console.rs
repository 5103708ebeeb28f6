//! The terminal: results go to stdout, progress and warnings to stderr, and Ctrl-C asks running work
//! to stop. No other module of the command line prints.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

use anstyle::{AnsiColor, Style};
use liken::{Progress, Run};
use liken_engine::Error;
use serde::Serialize;

use crate::output::{Format, counted, is_stdout, json, write_file};
use crate::progress::ProgressLine;
use crate::render::{as_typed, in_flags, parameters_help};

/// Set by Ctrl-C; long work polls it.
static STOP: AtomicBool = AtomicBool::new(false);

/// Whether the user asked to stop.
pub fn stopped() -> bool {
    STOP.load(Ordering::SeqCst)
}

/// A failure with its own exit code.
#[derive(Debug)]
enum Failure {
    Usage(String),
    Stopped(String),
}

impl Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (Failure::Usage(message) | Failure::Stopped(message)) = self;
        f.write_str(message)
    }
}

impl std::error::Error for Failure {}

/// An error in the command line as it was typed: exit code 2.
pub fn usage(message: impl Into<String>) -> anyhow::Error {
    Failure::Usage(message.into()).into()
}

/// The user asked to stop, and the work done so far is kept: exit code 130.
pub fn stopped_with(message: impl Into<String>) -> anyhow::Error {
    Failure::Stopped(message.into()).into()
}

/// Standard output, buffered by blocks; a closed pipe shows as an error that [`Console::fail`] takes
/// for the end.
pub type Out = io::BufWriter<Box<dyn Write>>;

/// The colours of labels; they are left out where stderr is no terminal, and with `NO_COLOR`.
const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HELP: Style = AnsiColor::Cyan.on_default().bold();

/// The terminal.
pub struct Console {
    progress: ProgressLine,
    quiet: bool,
    /// The warnings so far, and how often each was repeated.
    warnings: Mutex<Vec<(String, usize)>>,
}

impl Console {
    /// Progress is shown only on a terminal, and not when `quiet`.
    pub fn new(quiet: bool) -> Self {
        // A second Ctrl-C ends the program at once; temporary folders may then stay behind.
        let handler = ctrlc::set_handler(|| {
            if STOP.swap(true, Ordering::SeqCst) {
                std::process::exit(130);
            }
        });
        let hidden = quiet || handler.is_err() || !io::stderr().is_terminal();
        Console { progress: ProgressLine::new(hidden), quiet, warnings: Mutex::default() }
    }

    /// Calls `work` with a [`Run`] that shows its progress here and stops on Ctrl-C.
    pub fn run<T>(&self, work: impl FnOnce(&Run<'_>) -> liken::Result<T>) -> liken::Result<T> {
        let progress = |progress: Progress<'_>| self.progress.show(progress);
        let cancelled = || STOP.load(Ordering::SeqCst);
        let result = work(&Run::new(&progress, &cancelled));
        self.progress.clear();
        result
    }

    /// [`Console::run`] for work of the engine, whose errors do not tell that the user stopped it.
    pub fn run_engine<T>(
        &self,
        work: impl FnOnce(&Run<'_>) -> Result<T, Error>,
    ) -> anyhow::Result<T> {
        let result = self.run(|run| Ok(work(run)))?;
        match result {
            Err(_) if stopped() => Err(liken::Error::Cancelled.into()),
            result => Ok(result?),
        }
    }

    /// Writes a warning to stderr, unless quiet. The same warning again is only counted; see
    /// [`Console::finish`].
    pub fn warn(&self, text: impl Display) {
        let text = with_help(&in_flags(&text.to_string()));
        let Ok(mut warnings) = self.warnings.lock() else { return };
        if let Some((_, repeated)) = warnings.iter_mut().find(|(known, _)| *known == text) {
            *repeated += 1;
            return;
        }
        if !self.quiet {
            self.write(WARNING, "warning", &text);
        }
        warnings.push((text, 0));
    }

    /// Warns of what concerns several things by their names; those with the same text are one warning.
    pub fn warn_each(&self, named: impl IntoIterator<Item = (String, String)>) {
        let mut texts: Vec<(String, Vec<String>)> = Vec::new();
        for (name, text) in named {
            match texts.iter_mut().find(|(known, _)| *known == text) {
                Some((_, names)) => names.push(name),
                None => texts.push((text, vec![name])),
            }
        }
        for (text, names) in texts {
            self.warn(format!("{}: {text}", names.join(", ")));
        }
    }

    /// Writes how often warnings were repeated. To be called at the end.
    pub fn finish(&self) {
        let Ok(warnings) = self.warnings.lock() else { return };
        for (text, repeated) in warnings.iter().filter(|(_, repeated)| *repeated > 0 && !self.quiet)
        {
            let first = text.lines().next().unwrap_or_default();
            let times = counted(*repeated, "more time");
            self.write(WARNING, "warning", &format!("{times}: {first}"));
        }
    }

    /// Writes a remark to stderr, unless quiet.
    pub fn note(&self, text: impl Display) {
        if !self.quiet {
            self.progress.write_above(in_flags(&text.to_string()));
        }
    }

    /// Writes `text` after a coloured label.
    fn write(&self, style: Style, label: &str, text: &str) {
        let text = text.replace("\nhelp:", &format!("\n{HELP}help:{HELP:#}"));
        self.progress.write_above(format_args!("{style}{label}:{style:#} {text}"));
    }

    /// Standard output; it must be flushed.
    pub fn out(&self) -> Out {
        io::BufWriter::new(Box::new(io::stdout().lock()))
    }

    /// Standard output for a report of what was written, which nobody reads if quiet.
    pub fn report_out(&self) -> Out {
        if self.quiet { io::BufWriter::new(Box::new(io::sink())) } else { self.out() }
    }

    /// Prints `value` as JSON, or what `table` writes.
    pub fn print(
        &self,
        format: Format,
        value: &impl Serialize,
        table: impl FnOnce(&mut Out) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        let mut out = self.out();
        match format {
            Format::Json => json(&mut out, value)?,
            Format::Table => table(&mut out)?,
        }
        Ok(out.flush()?)
    }

    /// [`Console::print`] for a report of what was written: no table if quiet.
    pub fn report(
        &self,
        format: Format,
        value: &impl Serialize,
        table: impl FnOnce(&mut Out) -> anyhow::Result<()>,
    ) -> anyhow::Result<()> {
        match (format, self.quiet) {
            (Format::Table, true) => Ok(()),
            _ => self.print(format, value, table),
        }
    }

    /// Lets `write` write to standard output if `path` is `-`, else to a file that appears whole or
    /// not at all.
    pub fn write_to<T>(
        &self,
        path: &Path,
        write: impl FnOnce(&mut dyn Write) -> anyhow::Result<T>,
    ) -> anyhow::Result<T> {
        if !is_stdout(path) {
            return write_file(path, write);
        }
        let mut out = self.out();
        let written = write(&mut out)?;
        out.flush()?;
        Ok(written)
    }

    /// Prints `error` and returns its exit code; silent if the reader of our output went away.
    pub fn fail(&self, error: &anyhow::Error) -> ExitCode {
        let closed_pipe = error.chain().any(|cause| {
            cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
        });
        if closed_pipe {
            return ExitCode::SUCCESS;
        }
        self.write(ERROR, "error", &message(error));
        let cancelled = matches!(error.downcast_ref(), Some(liken::Error::Cancelled));
        match error.downcast_ref() {
            Some(Failure::Stopped(_)) => ExitCode::from(130),
            _ if cancelled => ExitCode::from(130),
            _ if error.chain().any(is_usage) => ExitCode::from(2),
            _ => ExitCode::FAILURE,
        }
    }
}

/// The subcommands that write folders.
const WRITERS: &str =
    "`liken import` makes a dataset, `liken train` a model, `liken rank train` a ranker";

/// The problem in one line, and the advice in a second line that begins with `help:`.
fn message(error: &anyhow::Error) -> String {
    let mut links = Vec::new();
    for cause in error.chain() {
        // Our own errors already say what caused them, so the chain ends there.
        if let Some(error) = cause.downcast_ref::<liken::Error>() {
            links.push(with_flags(error));
            break;
        }
        let text = match cause.downcast_ref::<Error>() {
            Some(error) => with_help(&in_flags(&error.to_string())),
            None if cause.is::<io::Error>() => with_help(&in_flags(&cause.to_string())),
            None => cause.to_string(),
        };
        links.push(text.trim_end().to_owned());
    }
    links.join(": ")
}

/// An error of the libraries in the words of the command line: the problem and a line of help.
pub fn with_flags(error: &liken::Error) -> String {
    use liken::Error::{NoManifest, OtherKind, Parameter, Setting};
    let problem = match error {
        // The names between backticks are those of a file or of `--set`.
        Setting { problem } => problem.clone(),
        Parameter { name, value, expected } if let Some(flag) = as_typed(name, value) => {
            format!("{flag}: expected {}", in_flags(expected))
        }
        _ => in_flags(&error.problem()),
    };
    let help = match error {
        Setting { .. } => parameters_help(),
        OtherKind { expected, .. } => {
            format!("name a {expected} here; `liken info` describes any folder")
        }
        NoManifest { .. } => WRITERS.to_owned(),
        _ => in_flags(error.advice()),
    };
    if help.is_empty() { problem } else { format!("{problem}\nhelp: {help}") }
}

/// `text` with the advice of the libraries, which is indented, as lines of help.
fn with_help(text: &str) -> String {
    text.replace("\n  ", "\nhelp: ")
}

/// Whether the command line caused the failure, not a file or the system.
fn is_usage(cause: &(dyn std::error::Error + 'static)) -> bool {
    use liken::Error::{Parameter, Setting, Unknown};
    matches!(cause.downcast_ref(), Some(Failure::Usage(_)))
        || matches!(
            cause.downcast_ref(),
            Some(
                Parameter { .. }
                    | Setting { .. }
                    | Unknown {
                        kind: "method"
                            | "model"
                            | "row"
                            | "measure"
                            | "feature"
                            | "ranking method"
                            | "group of features",
                        ..
                    }
            )
        )
}
