//! `liken train`: a dataset becomes a model folder.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use liken::data::Dataset;
use liken::features::Counts;
use liken::file::{FolderKind, NewFolder};
use liken::matchers::{Mixture, Model, Params, Trained, preparation_docs};
use liken::params::ParamDoc;
use liken::training::{self, TrainOptions};

use crate::console::{Console, Usage};
use crate::output::{Format, grouped, json, typed};
use crate::plan::announce;
use crate::reports;
use crate::settings::{MemoryArgs, ParamArgs, TextArgs, resolve};

/// Learn a model from a dataset.
#[derive(Args)]
#[command(
    disable_help_flag = true,
    override_usage = "liken train [OPTIONS] --output <DIR> <METHOD> <DATASET>",
    after_help = "\
Examples:
  liken train bm25 DATASET -o bm25                       the baseline; nothing is learnt
  liken train rmls DATASET -o model --dim 200            learn from clicks
  liken train rmls+bm25 DATASET -o model                 a mix, weights tuned on validation
  liken train rmls DATASET -o model --set penalty=relative --set rho_x=0.3
  liken train rmls NEWER -o newer --dim 200 --init model go on from a model; the log has grown
  liken train rmls --help                                every parameter of RMLS"
)]
pub struct TrainArgs {
    /// Method or mix: bm25, vsm, lm, lm-jm, pls, rmls, rmls+bm25, 0.7*pls+0.3*bm25 …
    #[arg(required_unless_present = "help")]
    method: Option<String>,

    /// Dataset folder, made by `liken import` or `liken synth`.
    #[arg(required_unless_present = "help")]
    dataset: Option<PathBuf>,

    /// Model folder to write.
    #[arg(short, long, value_name = "DIR", required_unless_present = "help")]
    output: Option<PathBuf>,

    /// Replace the model folder if it is there.
    #[arg(long)]
    force: bool,

    /// Go on from this model instead of from nothing: the log has grown since. Method,
    /// parameters and text settings must be its own.
    #[arg(long, value_name = "MODEL")]
    init: Option<PathBuf>,

    #[command(flatten)]
    memory: MemoryArgs,

    #[command(flatten)]
    params: ParamArgs,

    #[command(flatten)]
    text: TextArgs,

    /// How to print the report of the fit.
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Print help; after a method, with all its parameters.
    #[arg(short, long)]
    help: bool,
}

pub fn run(args: &TrainArgs, console: &Console) -> anyhow::Result<()> {
    let (Some(method), Some(path), Some(output), false) =
        (&args.method, &args.dataset, &args.output, args.help)
    else {
        return help(args.method.as_deref(), console);
    };
    let mixture = Mixture::parse(method)?;
    let settings = resolve(&args.text, &args.params, std::slice::from_ref(&mixture))?;
    let params: Vec<Params> = mixture
        .parts
        .iter()
        .filter_map(|(_, name)| settings.models.iter().find(|(known, _)| known == name))
        .map(|(_, params)| params.clone())
        .collect();
    if args.params.dim().is_some() && !params.iter().any(Params::has_dim) {
        let message = format!(
            "--dim is for models with latent dimensions, such as pls, rmls or square; {method} has none"
        );
        return Err(Usage(message).into());
    }
    let started = Instant::now();
    let trained = console.run(|run| {
        let dataset = Dataset::open(path)?;
        // A place that cannot be written to is found before the work, not after it.
        let folder = NewFolder::create(FolderKind::Model, output, args.force)?;
        let init = args.init.as_deref().map(Model::open).transpose()?;
        let scratch = folder.path("");
        let run = &args.memory.within(run).with_scratch(&scratch);
        let before = |counts: &Counts, judged: u64| announce(counts, &params, judged, run, console);
        let trained = training::train_from(
            &dataset,
            &settings.preparation,
            &mixture,
            &params,
            &TrainOptions { init: init.as_ref(), before: Some(&before) },
            run,
        )?;
        trained.save_in(folder, started.elapsed())?;
        Ok(trained)
    })?;
    warn_about(&trained, console);
    let mut out = console.out();
    match args.format {
        Format::Json => json(
            &mut out,
            &serde_json::json!({
                "model": output,
                "about": trained.model.about,
                "validation": trained.validation,
                "reports": trained.reports,
                "init": args.init.as_ref().map(|_| &trained.known),
            }),
        )?,
        Format::Table => {
            if let Some(init) = &args.init {
                print_known(&mut out, &trained, init)?;
            }
            let weighs = params.iter().any(|params| params.weighs_clicks());
            if let Some(evidence) = trained.model.about.evidence.as_ref().filter(|_| weighs) {
                writeln!(out, "evidence: {evidence}")?;
            }
            reports::print(&mut out, &trained)?;
            writeln!(out, "{} written", output.display())?;
            writeln!(out, "next: liken search {} \"your query\"", typed(output))?;
        }
    }
    Ok(out.flush()?)
}

/// Warns of what training found wrong with the text or the fit.
pub fn warn_about(trained: &Trained, console: &Console) {
    let unread = trained.model.counts.unread;
    if unread.documents > 0 {
        console.warn(format!(
            "{} of {} documents analyse to nothing",
            grouped(unread.documents),
            grouped(trained.model.counts.n_docs())
        ));
    }
    if unread.queries > 0 {
        console.warn(format!(
            "{} of {} queries analyse to nothing",
            grouped(unread.queries),
            grouped(trained.model.counts.n_queries())
        ));
    }
    for (part, report) in trained.model.parts.iter().zip(&trained.reports) {
        for warning in report.warnings() {
            console.warn(format!("{}: {warning}", part.params.name()));
        }
    }
}

fn print_known(out: &mut impl Write, trained: &Trained, init: &Path) -> anyhow::Result<()> {
    for (part, known) in trained.model.parts.iter().zip(&trained.known) {
        let Some(known) = known else { continue };
        let of = |(known, all): (usize, usize)| format!("{} of {}", grouped(known), grouped(all));
        writeln!(
            out,
            "{} goes on from {}, which knew {} query features and {} document features",
            part.params.name(),
            init.display(),
            of(known.query_features),
            of(known.doc_features)
        )?;
    }
    Ok(())
}

fn help(method: Option<&str>, console: &Console) -> anyhow::Result<()> {
    // An unknown method is refused before anything is printed.
    let mut methods = Vec::new();
    for (_, name) in method.map(Mixture::parse).transpose()?.iter().flat_map(|mix| &mix.parts) {
        methods.push((name.clone(), Params::named(name)?.docs()));
    }
    let mut out = console.out();
    let mut cli = crate::command();
    cli.build();
    if let Some(command) = cli.find_subcommand_mut("train") {
        write!(out, "{}", command.render_long_help())?;
    }
    match &methods[..] {
        [] => {
            writeln!(out, "\nMethods (`liken train METHOD --help` lists a method's parameters):")?;
            for (name, about) in liken::matchers::methods() {
                writeln!(out, "  {name:<13} {about}")?;
            }
        }
        methods => {
            for (name, docs) in methods {
                writeln!(out, "\nParameters of {name} (--set KEY=VALUE):")?;
                write_docs(&mut out, docs)?;
            }
            writeln!(out, "\nHow text is read, whatever the method:")?;
            write_docs(&mut out, &preparation_docs())?;
        }
    }
    Ok(out.flush()?)
}

/// Writes parameters with their defaults and what they do.
pub fn write_docs(out: &mut impl Write, docs: &[ParamDoc]) -> anyhow::Result<()> {
    if docs.is_empty() {
        writeln!(out, "  none")?;
    }
    for doc in docs {
        writeln!(out, "  {} [default: {}]", doc.key, doc.default)?;
        for line in doc.about.lines() {
            writeln!(out, "      {line}")?;
        }
    }
    Ok(())
}
