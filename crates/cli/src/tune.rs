//! `liken tune`: searches the hyperparameters of a method by validation score.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use clap::{ArgGroup, Args};
use liken::data::Dataset;
use liken::eval::{Candidates, Measure};
use liken::features::{ClickEvidence, EvidenceAbout};
use liken::matchers::{Mixture, Params, USUAL_SPACE, Varied, methods};
use liken::tuning::{Journal, Search, Setting, Space, Tuned, Tuning, tune};

use crate::console::{Console, stopped_with, with_flags};
use crate::output::{Format, counted, plural, typed};
use crate::settings::FitArgs;
use crate::tune_report::Report;
use crate::variant::VariantArgs;

/// One line per trial; a tuning resumes from it.
const JOURNAL: &str = "journal.jsonl";

const EXAMPLES: &str = "\
Examples:
  liken tune rmls DATASET --budget 20 -o tuning            takes the time of 20 fits
  liken tune pls+bm25 DATASET --grid grid.toml -o tuning   every combination of a file
  liken tune rmls DATASET --budget 20 --space space.toml -o tuning --measure AP
  liken train rmls DATASET --params tuning/best.toml -o model

A grid is a TOML file of keys (as after --set) with lists of values:
  dim = [100, 300]
  features.doc_clicks = [0.0, 0.3, 1.0]
  preparation.analyzer.word_ngrams = [1, 2]
A space may have ranges, too: dim = { min = 50, max = 800, log = true, int = true }.
In a mix a key begins with the model's name: rmls.dim.

--budget N takes the time of N full fits: one for the defaults, the rest for successive halving.
Random settings are fitted to a ninth of the training queries (of the pairs, if the dataset is split
by pairs) with a third of their dimensions, which takes about a ninth of the time; the best third of
them is fitted to a third of the queries, and the best third of these to all.
Without --space these parameters vary (mpls: no weights of features):";

const FOLDER: &str = "\
The folder holds journal.jsonl (every trial), table.md, table.tsv, table.json, plot.svg, index.html and
best.toml. The same command resumes an interrupted tuning; a larger --budget reuses its trials.
Test queries are never used.";

/// Examples, and the parameters that vary by default.
fn after_help() -> String {
    let mut text = format!("{EXAMPLES}\n");
    let mut line = |method: &str, (key, values): Varied| {
        text.push_str(&format!("  {method:<13} {key} = {values}\n"));
    };
    USUAL_SPACE.into_iter().for_each(|varied| line("every method", varied));
    for (name, _) in methods() {
        // Of two names of a method, the first.
        let Some(params) = Params::named(name).ok().filter(|params| params.name() == name) else {
            continue;
        };
        let own = params.search_space().into_iter().filter(|varied| !USUAL_SPACE.contains(varied));
        own.for_each(|varied| line(name, varied));
    }
    format!("{text}\n{FOLDER}")
}

/// Search for the parameters of a method that are best on a dataset's validation queries.
#[derive(Args)]
#[command(
    group(ArgGroup::new("plan").required(true).args(["grid", "budget"])),
    after_help = after_help()
)]
pub struct TuneArgs {
    /// Method or mix: rmls, pls+bm25 …
    method: String,

    /// Dataset folder with validation queries.
    dataset: PathBuf,

    /// Folder for the results; a tuning that is already there is resumed.
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Grid search: try every combination of the values in this file.
    #[arg(long, value_name = "FILE")]
    grid: Option<PathBuf>,

    /// Random search with successive halving, in the time of N full fits.
    #[arg(long, value_name = "N")]
    budget: Option<usize>,

    /// Search space for --budget: a file of lists and ranges [default: see below].
    #[arg(long, value_name = "FILE", conflicts_with = "grid")]
    space: Option<PathBuf>,

    /// The measure on validation queries by which settings are compared.
    #[arg(long, value_name = "MEASURE", default_value = "nDCG@10")]
    measure: Measure,

    /// Documents to rank: all, judged, auto (judged if some judgments are not relevant, else all),
    /// sampled:N (the judged ones and N others), or sampled:N:Q (the same for Q of the queries).
    #[arg(long, value_name = "WHICH", default_value = "auto")]
    candidates: Candidates,

    /// Start anew: delete an earlier tuning in the folder.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    variant: VariantArgs,

    #[command(flatten)]
    fit: FitArgs,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &TuneArgs, console: &Console) -> anyhow::Result<()> {
    let mixture = Mixture::parse(&args.method)?;
    let settings = args.fit.resolve(std::slice::from_ref(&mixture))?;
    let base = Setting { preparation: settings.preparation, models: settings.models };
    let space = match args.grid.as_ref().or(args.space.as_ref()) {
        Some(file) => read_space(file, &base, args.grid.is_some())?,
        None => Space::built_in(&base)?,
    };
    let tuning = Tuning {
        mixture: &mixture,
        base: &base,
        space: &space,
        search: args.budget.map_or(Search::Grid, Search::Budget),
        measure: args.measure,
        candidates: args.candidates,
        variant: args.variant.variant()?,
        seed: args.fit.params.seed.unwrap_or(1),
    };
    let dataset = Dataset::open(&args.dataset)?;
    tuning.check(&dataset)?;
    // Before any work, so that evidence that the log does not have fails early.
    let evidence =
        |asked: ClickEvidence| console.run(|run| EvidenceAbout::for_dataset(&dataset, asked, run));
    let asked = base.preparation.evidence;
    let mut used = evidence(asked)?;
    prepare(&args.output, args.force)?;
    let mut journal = Journal::open(&args.output.join(JOURNAL), &tuning.journal_header(&dataset)?)?;
    let found = console.run(|run| {
        let run = args.fit.within(run).with_scratch(&args.output);
        tune(&dataset, &tuning, &mut journal, &run)
    });
    let tuned = match found {
        Err(liken::Error::Cancelled) => {
            let trials = plural(journal.trials().len(), "trial is", "trials are");
            let folder = args.output.display();
            return Err(stopped_with(format!(
                "stopped; {trials} saved in {folder}; the same command resumes the tuning"
            )));
        }
        other => other?,
    };
    let report = Report { tuned: &tuned, dataset: &args.dataset, output: &args.output };
    report.write_files()?;
    warn_about(&tuned, console);
    if tuned.best.preparation.evidence != asked {
        used = evidence(tuned.best.preparation.evidence)?;
    }
    let mut described = serde_json::to_value(&tuned)?;
    if let Some(evidence) = &used {
        described["evidence"] = serde_json::to_value(evidence)?;
    }
    console.report(args.format, &described, |out| {
        let earlier = journal.opened_with();
        if earlier > 0 {
            let trials = counted(earlier, "earlier trial");
            writeln!(out, "{trials}, {} new", journal.trials().len() - earlier)?;
        }
        report.print(out)?;
        if let Some(evidence) = &used {
            writeln!(out, "evidence: {evidence}")?;
        }
        let (output, data) = (typed(&args.output), typed(&args.dataset));
        writeln!(out, "{} written", args.output.display())?;
        let method = typed(Path::new(&args.method));
        Ok(writeln!(out, "next: liken train {method} {data} --params {output}/best.toml -o model")?)
    })
}

fn read_space(file: &Path, base: &Setting, grid: bool) -> anyhow::Result<Space> {
    let text = fs::read_to_string(file).map_err(liken::Error::io("read", file))?;
    // As text, for an error in a file is none of usage.
    let wrong = |error: liken::Error| anyhow::anyhow!("{}: {}", file.display(), with_flags(&error));
    let space = Space::parse(&text, base).map_err(wrong)?;
    if grid {
        space.grid().map_err(wrong)?;
    }
    Ok(space)
}

/// Makes the folder, or checks that it holds a tuning.
fn prepare(folder: &Path, force: bool) -> anyhow::Result<()> {
    let unusable = |problem: &str, advice: &str| liken::Error::Unusable {
        path: folder.to_owned(),
        problem: problem.into(),
        advice: advice.into(),
    };
    if folder.symlink_metadata().is_err() {
        return Ok(fs::create_dir_all(folder).map_err(liken::Error::io("create", folder))?);
    }
    if !folder.is_dir() {
        return Err(unusable("is not a folder", "choose another name").into());
    }
    let mut names = Vec::new();
    for entry in fs::read_dir(folder).map_err(liken::Error::io("read", folder))? {
        let entry = entry.map_err(liken::Error::io("read", folder))?;
        names.push(entry.file_name().to_string_lossy().into_owned());
    }
    let ours = |name: &String| name == JOURNAL || Report::FILES.contains(&name.as_str());
    if !names.is_empty() && !names.iter().any(|name| name == JOURNAL) {
        let advice = "choose another name: only the folder of an earlier tuning can be continued";
        return Err(unusable("exists and holds no tuning", advice).into());
    }
    if force {
        if !names.iter().all(ours) {
            let advice = "--force deletes only files of a tuning: choose another name, or delete the others by hand";
            return Err(unusable("holds other files than those of a tuning", advice).into());
        }
        for name in names {
            let path = folder.join(name);
            fs::remove_file(&path).map_err(liken::Error::io("replace", &path))?;
        }
    }
    Ok(())
}

fn warn_about(tuned: &Tuned, console: &Console) {
    let failed = tuned.trials.iter().filter(|row| row.error.is_some()).count();
    if failed > 0 {
        let all = tuned.trials.len();
        console.warn(format!("{failed} of {} failed; the table says why", counted(all, "trial")));
    }
    if let Some(best) = tuned.best_row() {
        best.warnings.iter().for_each(|warning| console.warn(format!("best trial: {warning}")));
    }
}
