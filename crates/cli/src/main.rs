//! The binary `liken`: one file per command.

mod bound;
mod compare;
mod console;
mod demo;
mod diversify;
mod diversify_inputs;
mod diversify_train;
mod eval;
mod experiment;
mod explain;
mod export;
mod export_index;
mod features;
mod fuse;
mod help;
mod import;
mod index;
mod info;
mod info_index;
mod input_tables;
mod key;
mod output;
mod plan;
mod presets;
mod progress;
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
mod shell;
mod similar;
mod size;
mod stats;
mod synth;
mod table_role;
mod tables;
mod task;
mod topics;
mod topics_figures;
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
    subcommand: Subcommands,

    /// Threads to use; 0 means one per core. The result does not depend on it.
    #[arg(long, global = true, default_value_t = 0, value_name = "N",
        value_parser = clap::value_parser!(u16).range(0..=512))]
    threads: u16,

    /// Print results and errors only: no progress, warnings, remarks or reports of what was written.
    #[arg(long, short)]
    quiet: bool,
}

/// The command line. Every subcommand takes `--quiet`, and every one but `eval` takes `-q`, which
/// there has trec_eval's meaning.
fn command() -> clap::Command {
    help::grouped(Cli::command().mut_subcommands(|command| {
        let quiet = Arg::new("quiet").long("quiet").action(ArgAction::SetTrue);
        let quiet = quiet.help("Print results and errors only").global(true);
        let quiet = if command.get_name() == "eval" { quiet } else { quiet.short('q') };
        // A negative number is a value, perhaps a wrong one, and no unknown flag.
        command.arg(quiet).allow_negative_numbers(true)
    }))
}

#[derive(Subcommand)]
enum Subcommands {
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
    Run(run::BatchArgs),
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
    Completions(shell::CompletionsArgs),
    Man(shell::ManArgs),
}

fn main() -> ExitCode {
    #[cfg(unix)]
    ignore_file_size_signal();
    let command = command();
    let matches = command.clone().get_matches();
    render::set_command(&command, &subcommands(&matches));
    let quiet = matches.subcommand().is_some_and(|(_, matches)| matches.get_flag("quiet"));
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(error) => error.exit(),
    };
    let console = Console::new(cli.quiet || quiet);
    if let Err(error) =
        rayon::ThreadPoolBuilder::new().num_threads(cli.threads.into()).build_global()
    {
        return console.fail(&error.into());
    }
    let result: anyhow::Result<()> = match &cli.subcommand {
        Subcommands::Demo(args) => demo::run(args, &console),
        Subcommands::Import(args) => import::run(args, &console),
        Subcommands::Task(args) => task::run(args, &console),
        Subcommands::Plan(args) => plan::run(args, &console),
        Subcommands::Bound(args) => bound::run(args, &console),
        Subcommands::Stats(args) => stats::run(args, &console),
        Subcommands::Train(args) => train::run(args, &console),
        Subcommands::Tune(args) => tune::run(args, &console),
        Subcommands::Compare(args) => compare::run(args, &console),
        Subcommands::Eval(args) => eval::run(args, &console),
        Subcommands::Features(args) => features::run(args, &console),
        Subcommands::Experiment(args) => experiment::run(args, &console),
        Subcommands::Search(args) => search::run(args, &console),
        Subcommands::Similar(args) => similar::run(args, &console),
        Subcommands::Explain(args) => explain::run(args, &console),
        Subcommands::Translate(args) => translate::run(args, &console),
        Subcommands::Topics(args) => topics::run(args, &console),
        Subcommands::Run(args) => run::run(args, &console),
        Subcommands::Fuse(args) => fuse::run(args, &console),
        Subcommands::Rerank(args) => rerank::run(args, &console),
        Subcommands::Rank(args) => rank::run(args, &console),
        Subcommands::Diversify(args) => diversify::run(args, &console),
        Subcommands::Index(args) => index::run(args, &console),
        Subcommands::Serve(args) => serve::run(args, &console),
        Subcommands::Key(args) => key::run(args, &console),
        Subcommands::Export(args) => export::run(args, &console),
        Subcommands::Info(args) => info::run(args, &console),
        Subcommands::Synth(args) => synth::run(args, &console),
        Subcommands::Completions(args) => shell::completions(args, command, &console),
        Subcommands::Man(args) => shell::man(args, command, &console),
    };
    console.finish();
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => console.fail(&error),
    }
}

/// The names of the subcommands in `matches`, the outermost first.
fn subcommands(matches: &ArgMatches) -> Vec<&str> {
    let mut names = Vec::new();
    let mut level = matches;
    while let Some((name, below)) = level.subcommand() {
        names.push(name);
        level = below;
    }
    names
}

/// Makes a write beyond the limit on file sizes fail like any other write, so that it is reported
/// and cleaned up; by default the system kills the program.
#[cfg(unix)]
fn ignore_file_size_signal() {
    // SAFETY: no other thread runs yet, and ignoring a signal installs no handler.
    unsafe { libc::signal(libc::SIGXFSZ, libc::SIG_IGN) };
}
