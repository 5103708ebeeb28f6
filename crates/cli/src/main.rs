//! The binary `liken`: one file per command.

mod bound;
mod compare;
mod console;
mod demo;
mod diversify;
mod diversify_train;
mod eval;
mod experiment;
mod explain;
mod export;
mod export_index;
mod features;
mod fuse;
mod import;
mod import_formats;
mod index;
mod info;
mod info_index;
mod key;
mod output;
mod plan;
mod presets;
mod rank;
mod rankers;
mod render;
mod reports;
mod rerank;
mod run;
mod runs;
mod search;
mod serve;
mod settings;
mod similar;
mod size;
mod stats;
mod synth;
mod tables;
mod task;
mod topics;
mod topics_page;
mod train;
mod translate;
mod tune;
mod tune_report;
mod unseen;
mod variant;

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, CommandFactory, FromArgMatches, Parser, Subcommand};

use console::Console;

/// Learns which document answers which query from click logs and text.
#[derive(Parser)]
#[command(
    name = "liken",
    version,
    propagate_version = true,
    arg_required_else_help = true,
    after_help = "\
Examples:
  liken demo                                                             everything at once
  liken import --clicks clicks.tsv --documents documents.jsonl -o data   your own log
  liken compare data                                                     which model is best
  liken train rmls+bm25 data -o model
  liken search model \"how far is the sun\""
)]
struct Cli {
    #[command(subcommand)]
    verb: Verb,

    /// Threads to use; 0 means one for every core. The result is the same for any number.
    #[arg(long, global = true, default_value_t = 0, value_name = "N",
        value_parser = clap::value_parser!(u16).range(0..=512))]
    threads: u16,

    /// Show no progress.
    #[arg(long, short)]
    quiet: bool,
}

/// The command line. `--quiet` goes with every verb, its short form with every verb but `eval`,
/// where `-q` means what it means in trec_eval.
fn command() -> clap::Command {
    let mut command = Cli::command();
    let verbs: Vec<String> =
        command.get_subcommands().map(|verb| verb.get_name().to_owned()).collect();
    for verb in verbs {
        let quiet = Arg::new("quiet").long("quiet").action(ArgAction::SetTrue);
        let quiet = quiet.help("Show no progress").global(true);
        let quiet = if verb == "eval" { quiet } else { quiet.short('q') };
        // A negative number is a value that may be wrong, no flag that nobody knows.
        let with_quiet = |verb: clap::Command| verb.arg(quiet).allow_negative_numbers(true);
        command = command.mut_subcommand(verb, with_quiet);
    }
    command
}

#[derive(Subcommand)]
enum Verb {
    Demo(demo::DemoArgs),
    Import(Box<import::ImportArgs>),
    Task(Box<task::TaskArgs>),
    Stats(stats::StatsArgs),
    Plan(Box<plan::PlanArgs>),
    Train(train::TrainArgs),
    Tune(Box<tune::TuneArgs>),
    Compare(Box<compare::CompareArgs>),
    Eval(Box<eval::EvalArgs>),
    Bound(bound::BoundArgs),
    Features(Box<features::FeaturesArgs>),
    Experiment(experiment::ExperimentArgs),
    Search(search::SearchArgs),
    Similar(similar::SimilarArgs),
    Explain(explain::ExplainArgs),
    Translate(translate::TranslateArgs),
    Topics(Box<topics::TopicsArgs>),
    Run(run::RunArgs),
    Fuse(Box<fuse::FuseArgs>),
    Rerank(rerank::RerankArgs),
    Rank(rank::RankArgs),
    Diversify(Box<diversify::DiversifyArgs>),
    Index(index::IndexArgs),
    Serve(Box<serve::ServeArgs>),
    Key(key::KeyArgs),
    Export(export::ExportArgs),
    Info(info::InfoArgs),
    Synth(synth::SynthArgs),
}

fn main() -> ExitCode {
    #[cfg(unix)]
    ignore_file_size_signal();
    let command = command();
    let matches = command.clone().get_matches();
    render::set_command(&command, &subcommands(&matches));
    let quiet_verb = matches.subcommand().is_some_and(|(_, verb)| verb.get_flag("quiet"));
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let console = Console::new(cli.quiet || quiet_verb);
    if let Err(error) =
        rayon::ThreadPoolBuilder::new().num_threads(cli.threads.into()).build_global()
    {
        return console.fail(&error.into());
    }
    let result: anyhow::Result<()> = match &cli.verb {
        Verb::Demo(args) => demo::run(args, &console),
        Verb::Import(args) => import::run(args, &console),
        Verb::Task(args) => task::run(args, &console),
        Verb::Plan(args) => plan::run(args, &console),
        Verb::Bound(args) => bound::run(args, &console),
        Verb::Stats(args) => stats::run(args, &console),
        Verb::Train(args) => train::run(args, &console),
        Verb::Tune(args) => tune::run(args, &console),
        Verb::Compare(args) => compare::run(args, &console),
        Verb::Eval(args) => eval::run(args, &console),
        Verb::Features(args) => features::run(args, &console),
        Verb::Experiment(args) => experiment::run(args, &console),
        Verb::Search(args) => search::run(args, &console),
        Verb::Similar(args) => similar::run(args, &console),
        Verb::Explain(args) => explain::run(args, &console),
        Verb::Translate(args) => translate::run(args, &console),
        Verb::Topics(args) => topics::run(args, &console),
        Verb::Run(args) => run::run(args, &console),
        Verb::Fuse(args) => fuse::run(args, &console),
        Verb::Rerank(args) => rerank::run(args, &console),
        Verb::Rank(args) => rank::run(args, &console),
        Verb::Diversify(args) => diversify::run(args, &console),
        Verb::Index(args) => index::run(args, &console),
        Verb::Serve(args) => serve::run(args, &console),
        Verb::Key(args) => key::run(args, &console),
        Verb::Export(args) => export::run(args, &console),
        Verb::Info(args) => info::run(args, &console),
        Verb::Synth(args) => synth::run(args, &console),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => console.fail(&error),
    }
}

/// The names of the subcommands that were typed, from the outermost on.
fn subcommands(matches: &ArgMatches) -> Vec<&str> {
    let mut names = Vec::new();
    let mut level = matches;
    while let Some((name, below)) = level.subcommand() {
        names.push(name);
        level = below;
    }
    names
}

/// A write beyond the limit on the size of files is to fail like any other failing write, so
/// that it is reported and cleaned up after; by default the system kills the program instead.
#[cfg(unix)]
fn ignore_file_size_signal() {
    // SAFETY: no other thread runs yet, and ignoring a signal installs no handler.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
