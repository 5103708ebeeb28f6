//! `liken rank`: learning to rank, one file per subcommand.

mod describe;
mod eval;
mod explain;
mod folds;
mod plot;
mod predict;
mod system;
mod table;
mod train;

use clap::{Args, Subcommand};
pub use describe::describe;

use crate::console::Console;

/// Learn to rank from tables of features, and apply, evaluate and explain rankers.
#[derive(Args)]
#[command(after_help = "\
A table has one row per query and document. It is a LETOR or SVMlight file (`grade qid:ID 1:value
2:value … # docid = ID`; LightGBM's .query, .weight and .position files beside it are also read), or CSV,
TSV or Parquet with the columns query, grade, doc (optionally weight and position) and one column per
feature. `liken features` makes such tables from a dataset and its models.

Examples:
  liken rank train lambdamart train.txt --validation vali.txt -o ranker
  liken rank eval test.txt ranker
  liken rank predict ranker test.txt -o scores.txt
  liken rank explain ranker test.txt --query 18219
  liken rank train --help                                every method")]
pub struct RankArgs {
    #[command(subcommand)]
    subcommand: RankCommand,
}

#[derive(Subcommand)]
enum RankCommand {
    Train(Box<train::TrainArgs>),
    Predict(predict::PredictArgs),
    Eval(Box<eval::EvalArgs>),
    Explain(explain::ExplainArgs),
}

pub fn run(args: &RankArgs, console: &Console) -> anyhow::Result<()> {
    match &args.subcommand {
        RankCommand::Train(args) => train::run(args, console),
        RankCommand::Predict(args) => predict::run(args, console),
        RankCommand::Eval(args) => eval::run(args, console),
        RankCommand::Explain(args) => explain::run(args, console),
    }
}
