//! `liken train`: fits a model to a dataset.

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use clap::Args;
use liken::data::Dataset;
use liken::features::Counts;
use liken::file::{FolderKind, NewFolder};
use liken::matchers::{Mixture, Model, Params, Trained, preparation_docs};
use liken::training::{self, TrainOptions};

use crate::console::{Console, usage};
use crate::output::{Format, counted, grouped, typed};
use crate::plan::announce;
use crate::render::long_help;
use crate::reports;
use crate::settings::{FitArgs, write_docs};

/// Train a model on a dataset.
#[derive(Args)]
#[command(
    disable_help_flag = true,
    override_usage = "liken train [OPTIONS] --output <DIR> <METHOD> <DATASET>",
    after_help = "\
Examples:
  liken train bm25 DATASET -o bm25                       the baseline, which learns nothing
  liken train rmls DATASET -o model --dim 200            learns from clicks
  liken train rmls+bm25 DATASET -o model                 a mix, weights tuned on validation
  liken train rmls DATASET -o model --set penalty=relative --set rho_x=0.3
  liken train rmls DATASET -o model --published          the setting of its paper
  liken train rmls NEWER -o newer --dim 200 --init model warm start from a model of an earlier log
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

    /// Replace the model folder if it exists.
    #[arg(long)]
    force: bool,

    /// Warm start: begin at the weights of this model, as when the log has grown since. Method,
    /// parameters and text settings must be the same.
    #[arg(long, value_name = "MODEL")]
    init: Option<PathBuf>,

    #[command(flatten)]
    fit: FitArgs,

    /// Output format of the report of the fit.
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
    let settings = args.fit.resolve(std::slice::from_ref(&mixture))?;
    let params: Vec<Params> = mixture
        .parts
        .iter()
        .filter_map(|(_, name)| settings.models.iter().find(|(known, _)| known == name))
        .map(|(_, params)| params.clone())
        .collect();
    if args.fit.params.dim.is_some() && !params.iter().any(Params::has_dim) {
        let message = format!(
            "--dim is for models with latent dimensions, such as pls, rmls or square; {method} has none"
        );
        return Err(usage(message));
    }
    let started = Instant::now();
    let trained = console.run(|run| {
        let dataset = Dataset::open(path)?;
        // Created before the work, so that an output that cannot be written fails early.
        let folder = NewFolder::create(FolderKind::Model, output, args.force)?;
        let init = args.init.as_deref().map(Model::open).transpose()?;
        let scratch = folder.path("");
        let run = &args.fit.within(run).with_scratch(&scratch);
        let before = |counts: &Counts, judged: u64| {
            announce(counts, &params, judged, init.is_some(), run, console)
        };
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
    let described = serde_json::json!({
        "model": output.to_string_lossy(),
        "about": trained.model.about,
        "validation": trained.validation,
        "reports": trained.reports,
        "init": args.init.as_ref().map(|_| &trained.known),
    });
    console.report(args.format, &described, |out| {
        if let Some(init) = &args.init {
            print_known(out, &trained, init)?;
        }
        let weighs = params.iter().any(|params| params.weighs_clicks());
        if let Some(evidence) = trained.model.about.evidence.as_ref().filter(|_| weighs) {
            writeln!(out, "evidence: {evidence}")?;
        }
        reports::print(out, &trained)?;
        writeln!(out, "{} written", output.display())?;
        Ok(writeln!(out, "next: liken search {} \"your query\"", typed(output))?)
    })
}

/// Warns of text without terms and of problems of the fit.
fn warn_about(trained: &Trained, console: &Console) {
    let counts = &trained.model.counts;
    let unread = counts.unread;
    for (n, all, what) in [
        (unread.documents, counts.n_docs(), "document"),
        (unread.queries, counts.n_queries(), "query"),
    ] {
        if n > 0 {
            console.warn(format!("analysed to nothing: {} of {}", grouped(n), counted(all, what)));
        }
    }
    let parts = trained.model.parts.iter().map(|part| part.params.name().to_owned());
    console.warn_each(parts.zip(&trained.reports).flat_map(|(name, report)| {
        report.warnings().into_iter().map(move |warning| (name.clone(), warning.to_string()))
    }));
}

fn print_known(out: &mut impl Write, trained: &Trained, init: &Path) -> anyhow::Result<()> {
    for (part, known) in trained.model.parts.iter().zip(&trained.known) {
        let Some(known) = known else { continue };
        let of = |(known, all): (usize, usize)| format!("{} of {}", grouped(known), grouped(all));
        writeln!(
            out,
            "{} starts from {}, which has weights for {} query features and {} document features",
            part.params.name(),
            init.display(),
            of(known.query_features),
            of(known.doc_features)
        )?;
    }
    Ok(())
}

fn help(method: Option<&str>, console: &Console) -> anyhow::Result<()> {
    // First of all, so that an unknown method prints nothing else.
    let mut methods = Vec::new();
    for (_, name) in method.map(Mixture::parse).transpose()?.iter().flat_map(|mix| &mix.parts) {
        methods.push((name.clone(), Params::named(name)?));
    }
    let mut out = console.out();
    write!(out, "{}", long_help())?;
    for (name, params) in &methods {
        writeln!(out, "\nParameters of {name} (--set KEY=VALUE):")?;
        write_docs(&mut out, &params.docs())?;
        if !params.published().is_empty() {
            writeln!(out, "\nThe setting of the paper on {name} (--published):")?;
        }
        for (key, value) in params.published() {
            writeln!(out, "  {key} = {value}")?;
        }
    }
    if methods.is_empty() {
        writeln!(out, "\nMethods (`liken train METHOD --help` lists a method's parameters):")?;
        for (name, about) in liken::matchers::methods() {
            writeln!(out, "  {name:<13} {about}")?;
        }
    } else {
        writeln!(out, "\nText analysis, the same for all methods:")?;
        write_docs(&mut out, &preparation_docs())?;
    }
    Ok(out.flush()?)
}
