//! The one place that writes to the terminal: results to stdout, progress and warnings to
//! stderr, and the wish to stop (Ctrl-C) on its way in.

use std::fmt::{self, Display};
use std::io::{self, IsTerminal, Write};
use std::process::ExitCode;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use liken::{Progress, Run};
use liken_engine::Error;

use crate::render::{in_flags, parameters_help};

/// Set by Ctrl-C; long work looks at it.
static STOP: AtomicBool = AtomicBool::new(false);

/// Whether the user asked to stop.
pub fn stopped() -> bool {
    STOP.load(Ordering::SeqCst)
}

/// The user typed something that cannot be meant: exit code 2.
#[derive(Debug)]
pub struct Usage(pub String);

impl Display for Usage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Usage {}

/// The user asked to stop, and what was done so far is kept: exit code 130.
#[derive(Debug)]
pub struct Stopped(pub String);

impl Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Stopped {}

/// The terminal.
pub struct Console {
    bar: ProgressBar,
    stage: Mutex<String>,
    last: Mutex<Instant>,
    quiet: bool,
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
        let target = if quiet || handler.is_err() || !io::stderr().is_terminal() {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr()
        };
        let bar = ProgressBar::with_draw_target(None, target);
        let style = ProgressStyle::with_template("{spinner} {msg} {wide_bar} {percent}% {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        let (stage, last) = (Mutex::new(String::new()), Mutex::new(Instant::now()));
        Console { bar, stage, last, quiet }
    }

    /// Calls `work` with a [`Run`] that shows its progress here and stops on Ctrl-C.
    pub fn run<T>(&self, work: impl FnOnce(&Run<'_>) -> liken::Result<T>) -> liken::Result<T> {
        let progress = |progress: Progress<'_>| self.show(progress);
        let cancelled = || STOP.load(Ordering::SeqCst);
        let result = work(&Run::new(&progress, &cancelled));
        self.bar.finish_and_clear();
        result
    }

    /// The same for work of the engine, whose errors do not say that the user stopped it.
    pub fn serve<T>(&self, work: impl FnOnce(&Run<'_>) -> Result<T, Error>) -> anyhow::Result<T> {
        let result = self.run(|run| Ok(work(run)))?;
        match result {
            Err(_) if stopped() => Err(liken::Error::Cancelled.into()),
            result => Ok(result?),
        }
    }

    fn show(&self, progress: Progress<'_>) {
        let (Ok(mut stage), Ok(mut last)) = (self.stage.lock(), self.last.lock()) else { return };
        if *stage != progress.stage {
            self.bar.reset();
            progress.stage.clone_into(&mut stage);
            self.bar.set_message(stage.clone());
        } else if last.elapsed() < Duration::from_millis(50) {
            return;
        }
        *last = Instant::now();
        if let Some(total) = progress.total {
            self.bar.set_length(total);
        }
        self.bar.set_position(progress.done);
        self.bar.tick();
    }

    /// Writes a warning to stderr, quiet or not: nothing that matters passes silently.
    pub fn warn(&self, text: impl Display) {
        let text = with_help(&in_flags(&text.to_string()));
        self.bar.suspend(|| {
            let _ = writeln!(io::stderr(), "warning: {text}");
        });
    }

    /// Writes a remark to stderr, unless quiet.
    pub fn note(&self, text: impl Display) {
        if !self.quiet {
            let text = in_flags(&text.to_string());
            self.bar.suspend(|| {
                let _ = writeln!(io::stderr(), "{text}");
            });
        }
    }

    /// Standard output, buffered by line blocks; a closed pipe shows as an error that
    /// [`Console::fail`] takes for the end.
    pub fn out(&self) -> impl Write {
        io::BufWriter::new(io::stdout().lock())
    }

    /// Ends the program because of `error`: quietly if the reader of our output went away.
    pub fn fail(&self, error: &anyhow::Error) -> ExitCode {
        let closed_pipe = error.chain().any(|cause| {
            cause.downcast_ref::<io::Error>().is_some_and(|e| e.kind() == io::ErrorKind::BrokenPipe)
        });
        if closed_pipe {
            return ExitCode::SUCCESS;
        }
        let message = message(error);
        self.bar.suspend(|| {
            let _ = writeln!(io::stderr(), "error: {message}");
        });
        let cancelled = matches!(error.downcast_ref(), Some(liken::Error::Cancelled));
        if cancelled || error.is::<Stopped>() {
            return ExitCode::from(130);
        }
        if error.chain().any(is_usage) { ExitCode::from(2) } else { ExitCode::FAILURE }
    }
}

/// The subcommands that write folders.
const WRITERS: &str =
    "`liken import` makes a dataset, `liken train` a model, `liken rank train` a ranker";

/// What went wrong, in one line, and what to do about it in a line that begins with `help:`.
fn message(error: &anyhow::Error) -> String {
    let mut links = Vec::new();
    for cause in error.chain() {
        // Our own errors already say what caused them, so the chain ends there.
        if let Some(error) = cause.downcast_ref::<liken::Error>() {
            links.push(said(error));
            break;
        }
        let text = match cause.downcast_ref::<Error>() {
            Some(error) => with_help(&in_flags(error.message())),
            None if cause.is::<io::Error>() => with_help(&in_flags(&cause.to_string())),
            None => cause.to_string(),
        };
        links.push(text.trim_end().to_owned());
    }
    links.join(": ")
}

/// An error of the libraries in the words of the command line: the problem and a line of help.
pub fn said(error: &liken::Error) -> String {
    use liken::Error::{NoManifest, OtherKind, Setting};
    let problem = match error {
        // The names between backticks are those of a file or of `--set`.
        Setting { problem } => problem.clone(),
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

/// `text` with the advice of the libraries, in indented lines, as lines of help.
fn with_help(text: &str) -> String {
    text.replace("\n  ", "\nhelp: ")
}

/// Whether the cause of a failure is what the user typed, not what was found.
fn is_usage(cause: &(dyn std::error::Error + 'static)) -> bool {
    use liken::Error::{Parameter, Setting, Unknown};
    cause.is::<Usage>()
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
                            | "way to learn to rank"
                            | "group of features",
                        ..
                    }
            )
        )
}
