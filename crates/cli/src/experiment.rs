//! `liken experiment`: replays experiment files and compares the scores with the expected ones.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use liken::experiment::{Check, Experiment, Outcome, Setting};
use serde::Serialize;

use crate::compare;
use crate::console::{Console, usage};
use crate::output::{Grid, TableFormat, json, remark};
use crate::rankers;
use crate::settings::MemoryArgs;

/// The folder of `--all`.
const ALL: &str = "experiments";
/// The tolerance that `--expected` writes.
const TOLERANCE: f64 = 0.005;

/// Replay experiment files; exit code 1 if a score changed.
#[derive(Args)]
#[command(after_help = "\
Paths in the files are relative to the data folder: --data, or the variable LIKEN_DATA, or the folder
of the file. With a folder or --all, settings whose data are missing are skipped with a warning.

Examples:
  liken experiment experiments/nfcorpus.toml --data path/to/data
  liken experiment experiments/nfcorpus.toml --format markdown
  liken experiment --all --data path/to/data           every file in the folder experiments
  liken experiment --all --quick --data path/to/data   only quick settings, a few minutes
  liken experiment mine.toml --expected >> mine.toml   adds the scores of today as expected")]
pub struct ExperimentArgs {
    /// Experiment files (TOML), or folders of them.
    #[arg(value_name = "FILE", required_unless_present = "all")]
    files: Vec<PathBuf>,

    /// Every file in the folder `experiments`.
    #[arg(long, conflicts_with = "files")]
    all: bool,

    /// Run only settings that are marked as quick.
    #[arg(long)]
    quick: bool,

    /// Run only the setting of this name.
    #[arg(long, value_name = "NAME")]
    setting: Option<String>,

    /// Print the scores as `[[expected]]` of an experiment file instead of tables.
    #[arg(long, conflicts_with = "format")]
    expected: bool,

    /// Folder to which the paths in the files are relative.
    #[arg(long, value_name = "DIR", env = "LIKEN_DATA")]
    data: Option<PathBuf>,

    #[command(flatten)]
    memory: MemoryArgs,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: TableFormat,
}

/// The result of one setting of one file.
#[derive(Serialize)]
struct Replayed {
    #[serde(skip)]
    file: PathBuf,
    experiment: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    setting: Option<String>,
    /// The missing file, if the setting was skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    missing: Option<PathBuf>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outcome: Option<Outcome>,
    /// The error, if the setting failed.
    #[serde(skip_serializing_if = "Option::is_none")]
    failed: Option<String>,
}

impl Replayed {
    fn checks(&self) -> &[Check] {
        self.outcome.as_ref().map_or(&[], |outcome| &outcome.checks)
    }

    fn moved(&self) -> impl Iterator<Item = &Check> {
        self.checks().iter().filter(|check| !check.passed)
    }

    fn name(&self) -> String {
        match &self.setting {
            Some(setting) => format!("{}, {setting}", self.experiment),
            None => self.experiment.clone(),
        }
    }
}

pub fn run(args: &ExperimentArgs, console: &Console) -> anyhow::Result<()> {
    let (files, several) = args.files()?;
    let mut out = console.out();
    let mut replayed: Vec<Replayed> = Vec::new();
    // All files are read before the first one runs, so that an error in any fails early.
    let experiments: Vec<(PathBuf, Experiment)> = files
        .into_iter()
        .map(|file| Experiment::open(&file).map(|experiment| (file, experiment)))
        .collect::<Result<_, _>>()?;
    let alone = experiments.len() == 1 && !several;
    if args.expected && experiments.len() > 1 {
        return Err(usage("--expected is for one file at a time"));
    }
    let data_of =
        |file: &Path| args.data.clone().unwrap_or(file.parent().unwrap_or(Path::new(".")).into());
    for (file, experiment) in experiments.iter().filter(|_| !several) {
        for setting in args.settings_of(experiment) {
            if let Some(missing) = setting.missing(&data_of(file)) {
                let what = [file.display().to_string(), setting.name].join(" ");
                bail!(
                    "{}: there is no {}\nhelp: --data DIR names the folder of the data, --setting NAME selects a setting",
                    what.trim_end(),
                    missing.display()
                );
            }
        }
    }
    let all = experiments.iter().map(|(_, experiment)| args.settings_of(experiment).len()).sum();
    let mut steps = 1..=all;
    for (file, experiment) in &experiments {
        let data = &data_of(file);
        for setting in args.settings_of(experiment) {
            let mut done = Replayed {
                file: file.clone(),
                experiment: experiment.name.clone(),
                setting: (!setting.name.is_empty()).then(|| setting.name.clone()),
                missing: setting.missing(data).filter(|_| several),
                outcome: None,
                failed: None,
            };
            if let Some(missing) = &done.missing {
                let missing = missing.display();
                console.warn(format!("{} is skipped: there is no {missing}", done.name()));
            } else {
                let step = (steps.next().unwrap_or(all), all);
                match args.replay(experiment, &setting, data, step, console) {
                    Ok(outcome) => {
                        compare::warn_about(&outcome.comparison, &outcome.fits, console);
                        args.show(&mut out, &done, &outcome, alone)?;
                        done.outcome = Some(outcome);
                    }
                    // One failure does not end the others, which may take hours; Ctrl-C ends all.
                    Err(error) if alone || is_stop(&error) => return Err(error),
                    Err(error) => {
                        console.warn(format!("{} failed: {error}", done.name()));
                        done.failed = Some(error.to_string());
                    }
                }
            }
            replayed.push(done);
        }
    }
    if replayed.is_empty() {
        let what = match &args.setting {
            Some(name) => format!("no setting is called {name:?}"),
            None => "no setting is marked as quick".to_owned(),
        };
        return Err(usage(format!("{what} in the files given")));
    }
    match args.format {
        TableFormat::Json => match &replayed[..] {
            [Replayed { outcome: Some(outcome), .. }] if alone => json(&mut out, outcome)?,
            all => json(&mut out, &all)?,
        },
        format if !alone && !args.expected => summary(&mut out, &replayed, format)?,
        _ => {}
    }
    out.flush()?;
    if args.expected {
        return Ok(());
    }
    verdict(&replayed)
}

impl ExperimentArgs {
    /// The files, and whether a folder named them.
    fn files(&self) -> anyhow::Result<(Vec<PathBuf>, bool)> {
        let all = [PathBuf::from(ALL)];
        let named = if self.all { &all[..] } else { &self.files[..] };
        if self.all && !all[0].is_dir() {
            return Err(usage(format!(
                "--all replays the folder {ALL}, which is not in the current folder; change the folder, or name files"
            )));
        }
        let mut files = Vec::new();
        let mut several = false;
        for path in named {
            if !path.is_dir() {
                files.push(path.clone());
                continue;
            }
            several = true;
            let entries = std::fs::read_dir(path).map_err(liken::Error::io("read", path))?;
            let mut found: Vec<PathBuf> = entries
                .flatten()
                .map(|entry| entry.path())
                .filter(|path| path.extension().is_some_and(|ending| ending == "toml"))
                .collect();
            if found.is_empty() {
                return Err(usage(format!("{}: holds no .toml file", path.display())));
            }
            found.sort();
            files.extend(found);
        }
        Ok((files, several))
    }

    fn settings_of(&self, experiment: &Experiment) -> Vec<Setting> {
        let mut settings = experiment.settings();
        settings.retain(|setting| !self.quick || setting.is_quick());
        settings.retain(|setting| self.setting.as_ref().is_none_or(|name| *name == setting.name));
        settings
    }

    fn replay(
        &self,
        experiment: &Experiment,
        setting: &Setting,
        data: &Path,
        (number, of): (usize, usize),
        console: &Console,
    ) -> anyhow::Result<Outcome> {
        let work = tempfile::tempdir()?;
        Ok(console.run(|run| {
            let run = self.memory.within(run).with_scratch(work.path());
            // A single setting shows the steps within it.
            let run = if of > 1 { run.in_step(number, of) } else { run };
            experiment.run(setting, data, work.path(), &run)
        })?)
    }

    fn show(
        &self,
        out: &mut impl Write,
        done: &Replayed,
        outcome: &Outcome,
        alone: bool,
    ) -> anyhow::Result<()> {
        if self.expected {
            write_expected(out, outcome)?;
        } else if self.format != TableFormat::Json {
            if !alone || outcome.setting.is_some() {
                remark(out, self.format, &done.name())?;
            }
            compare::write(out, &outcome.comparison, self.format)?;
            rankers::write(out, &outcome.fits, self.format)?;
            writeln!(out)?;
            for check in &outcome.checks {
                let mark = if check.passed { "ok   " } else { "MOVED" };
                let text = format!("{mark} {}: {}", check.expected, check.found);
                remark(out, self.format, &text)?;
            }
            if !alone || outcome.setting.is_some() {
                writeln!(out)?;
            }
        }
        Ok(out.flush()?)
    }
}

/// Whether the user pressed Ctrl-C.
fn is_stop(error: &anyhow::Error) -> bool {
    matches!(error.downcast_ref(), Some(liken::Error::Cancelled))
}

/// Writes the means of a table as `[[expected]]` of an experiment file.
fn write_expected(out: &mut impl Write, outcome: &Outcome) -> std::io::Result<()> {
    let comparison = &outcome.comparison;
    for (m, measure) in comparison.measures.iter().enumerate() {
        let quoted = |text: &str| serde_json::Value::from(text).to_string();
        writeln!(out, "\n[[expected]]")?;
        if let Some(setting) = &outcome.setting {
            writeln!(out, "setting = {}", quoted(setting))?;
        }
        writeln!(out, "measure = \"{measure}\"\ntolerance = {TOLERANCE}\n[expected.scores]")?;
        for row in &comparison.rows {
            if let Some(mean) = row.cells[m].mean {
                writeln!(out, "{} = {mean:.4}", quoted(&row.name))?;
            }
        }
    }
    Ok(())
}

/// Writes one line per setting.
fn summary(out: &mut impl Write, replayed: &[Replayed], format: TableFormat) -> anyhow::Result<()> {
    let mut grid = Grid::new(["experiment", "as expected", "moved"]).left(&[1, 2]);
    for done in replayed {
        let checks = done.checks();
        let met = checks.len() - done.moved().count();
        let moved: Vec<&str> = done.moved().map(|check| check.expected.as_str()).collect();
        let result = match &done.missing {
            Some(_) => "skipped".to_owned(),
            None if done.failed.is_some() => "failed".to_owned(),
            None if checks.is_empty() => "nothing expected".to_owned(),
            None => format!("{met} of {}", checks.len()),
        };
        grid.row([done.name(), result, moved.join("; ")]);
    }
    Ok(grid.write(out, format)?)
}

/// An error that lists failures or changed scores, if there are any.
fn verdict(replayed: &[Replayed]) -> anyhow::Result<()> {
    let failed: Vec<String> = replayed
        .iter()
        .filter_map(|done| Some(format!("\n  {}: {}", done.name(), done.failed.as_ref()?)))
        .collect();
    if !failed.is_empty() {
        bail!("{} of {} tables failed{}", failed.len(), replayed.len(), failed.concat());
    }
    let Some(first) = replayed.iter().find(|done| done.moved().next().is_some()) else {
        return Ok(());
    };
    let alone = replayed.iter().all(|done| done.file == first.file);
    let checks: usize = replayed.iter().map(|done| done.checks().len()).sum();
    let moved: Vec<String> = replayed
        .iter()
        .flat_map(|done| done.moved().map(move |check| (done, check)))
        .map(|(done, Check { expected, found, .. })| {
            let place =
                if alone && done.setting.is_none() { "" } else { &format!("{}: ", done.name()) };
            format!("\n  {place}expected {expected}, found {found}")
        })
        .collect();
    let place = if alone { format!("{}: ", first.file.display()) } else { String::new() };
    bail!("{place}{} of {checks} expectations were not met{}", moved.len(), moved.concat())
}
