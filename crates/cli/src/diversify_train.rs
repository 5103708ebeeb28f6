//! `liken diversify train`: learns to diversify from judgments by subtopic.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use liken::eval::diversity::DiversityMeasure;
use liken::eval::trec::Qrels;
use liken::rank::diversify::{
    Candidates, Diversifier, DiversifyMethod, JudgedCandidates, Mmr, RLtrParams, Relations, mean,
    tune_mmr,
};
use serde_json::json;

use crate::console::{Console, usage};
use crate::diversify_inputs::{InputArgs, Inputs, method_name};
use crate::output::{Format, Grid, TableFormat, counted, four_digits, is_stdout};
use crate::runs::{check_output, check_stdin, read_diversity_judgments};
use crate::settings::assignment;

/// Learn a diversifier from judgments by subtopic (qid subtopic docno grade).
#[derive(Args)]
#[command(after_help = "\
r-ltr (relational learning to rank, Zhu et al. 2014) learns a weight for the score of every run and
weights for every similarity of documents; it maximises the likelihood of the ideal ranking by
alpha-nDCG. mmr tries lambda = 0, 0.05, … 1 with every similarity.
The penalty of r-ltr is chosen on validation queries: those of --validation, or every fifth query.

Parameters of r-ltr (--set KEY=VALUE):
  relational=all       distances to the documents above: minimal, average, maximal or all three
  top=10               ranks of the ideal ranking to learn from
  alpha=0.5            alpha of alpha-nDCG: the loss in gain of a subtopic per document on it
  penalties=[1.0, …]   l2 penalties to try
  patience=4           stop after this many penalties without improvement on validation; 0 tries all

Examples:
  liken diversify train bm25.trec train.qrels --model model -o diversifier.json
  liken diversify train bm25.trec train.qrels --with rmls.trec --model rmls -o both.json
  liken diversify train bm25.trec train.qrels --model model --method mmr -o mmr.json")]
pub struct LearnArgs {
    /// Run file with results of the judged queries.
    run: PathBuf,

    /// Judgments by subtopic to learn from: qid subtopic docno grade.
    qrels: PathBuf,

    #[command(flatten)]
    inputs: InputArgs,

    /// File to write, for `liken diversify --method FILE`.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Method to learn.
    #[arg(long, value_enum, default_value_t)]
    method: MethodName,

    /// Judgments of validation queries, which choose the penalty [default: every fifth query of the
    /// judgments].
    #[arg(long, value_name = "FILE")]
    validation: Option<PathBuf>,

    /// Measure on validation: alpha_nDCG@k, ERR_IA@k, StRecall@k …
    #[arg(long, value_name = "MEASURE", default_value = "alpha_nDCG@10")]
    measure: DiversityMeasure,

    /// The lowest grade that counts as relevant to a subtopic.
    #[arg(short, long, value_name = "GRADE", default_value_t = 1,
        value_parser = clap::value_parser!(i32).range(0..))]
    level: i32,

    /// Set a parameter of r-ltr, e.g. --set relational=minimal.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Output format of the report.
    #[arg(long, value_enum, default_value_t)]
    format: Format,

    /// Replace the file if it exists.
    #[arg(long)]
    force: bool,
}

#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum MethodName {
    /// Weights of runs and similarities.
    #[default]
    RLtr,
    /// Lambda and the similarity of maximal marginal relevance.
    Mmr,
}

/// With fewer queries, none is held out for validation.
const MIN_QUERIES_TO_SPLIT: usize = 10;

pub fn run(args: &LearnArgs, console: &Console) -> anyhow::Result<()> {
    let mut params = RLtrParams::default();
    for setting in &args.set {
        let (key, value) = assignment("--set", setting, "relational=minimal")?;
        if args.method == MethodName::Mmr {
            return Err(usage("--set: mmr has no parameters; it tries all values"));
        }
        params.set(key, value)?;
    }
    params.check()?;
    if is_stdout(&args.output) {
        return Err(usage("-o -: expected a file to write"));
    }
    let files = [&args.run, &args.qrels].into_iter().chain(&args.validation);
    check_stdin(files.chain(args.inputs.files()))?;
    check_output(&args.output, args.force)?;
    let read = |path: &PathBuf| read_diversity_judgments(path, args.inputs.lenient, console);
    let qrels = read(&args.qrels)?;
    let validation = args.validation.as_ref().map(read).transpose()?;
    let inputs = args.inputs.read(&args.run, console)?;
    let relations = Relations::of(&inputs.models);
    inputs.warn_about_unknown(&relations, console);
    let judged = |qrels: &Qrels| args.judged(qrels, &inputs, &relations);
    let all = judged(&qrels)?;
    let (training, validation) = match &validation {
        Some(qrels) => (all, judged(qrels)?),
        None if all.len() >= MIN_QUERIES_TO_SPLIT => split(all),
        None => (all, Vec::new()),
    };
    let learnt = console.run(|run| {
        let names = relations.names();
        let kinds: Vec<usize> = (0..names.len()).collect();
        let n_runs = 1 + inputs.further.len();
        match args.method {
            MethodName::Mmr => {
                let tuned = tune_mmr(&Mmr::default(), &kinds, &training, &args.measure)?;
                let similarity = names[tuned.kind].clone();
                let method = DiversifyMethod::Mmr { params: tuned.mmr, similarity };
                Diversifier::new(n_runs, names, method)
            }
            MethodName::RLtr => {
                let (weights, report) = params.fit(&training, &validation, &args.measure, run)?;
                let mut made = Diversifier::new(n_runs, names, DiversifyMethod::RLtr { weights })?;
                made.report = Some(report);
                Ok(made)
            }
        }
    })?;
    learnt.save(&args.output)?;
    for warning in learnt.report.iter().flat_map(|report| &report.warnings) {
        console.warn(warning);
    }
    args.show(&learnt, &training, &validation, console)
}

/// Every fifth query is for validation, the others are for training.
fn split(all: Vec<JudgedCandidates>) -> (Vec<JudgedCandidates>, Vec<JudgedCandidates>) {
    let (mut training, mut validation) = (Vec::new(), Vec::new());
    for (place, query) in all.into_iter().enumerate() {
        let part = if place % 5 == 4 { &mut validation } else { &mut training };
        part.push(query);
    }
    (training, validation)
}

impl LearnArgs {
    /// The judged queries of the run, in the order of their ids.
    fn judged(
        &self,
        qrels: &Qrels,
        inputs: &Inputs,
        relations: &Relations<'_>,
    ) -> liken::Result<Vec<JudgedCandidates>> {
        let mut judged = Vec::new();
        for place in 0..inputs.run.len() {
            let found = qrels.find(inputs.run.query(place).id);
            let Some(subtopics) = found.and_then(|at| qrels.subtopics(at)) else { continue };
            judged.push(inputs.gather(place, relations).judged(subtopics, self.level));
        }
        if judged.is_empty() {
            return Err(liken::Error::Empty {
                what: "no query of the run is judged".into(),
                advice: "the judgments must have the query ids of the run in their first column"
                    .into(),
            });
        }
        Ok(judged)
    }

    fn show(
        &self,
        learnt: &Diversifier,
        training: &[JudgedCandidates],
        validation: &[JudgedCandidates],
        console: &Console,
    ) -> anyhow::Result<()> {
        let measure = &self.measure;
        let unchanged = |candidates: &Candidates| (0..candidates.len()).collect::<Vec<usize>>();
        let diversified = |candidates: &Candidates| learnt.order(candidates, measure.k);
        let before = [training, validation].map(|queries| mean(measure, queries, unchanged));
        let after = [training, validation].map(|queries| mean(measure, queries, diversified));
        let figures =
            |values: [Option<f64>; 2]| json!({ "training": values[0], "validation": values[1] });
        let mut described = serde_json::to_value(learnt)?;
        described["measure"] = json!(measure.to_string());
        described["queries"] =
            json!({ "training": training.len(), "validation": validation.len() });
        described["before"] = figures(before);
        described["after"] = figures(after);
        console.report(self.format, &described, |out| {
            writeln!(
                out,
                "{measure}: {} to learn from, {} for validation\n",
                counted(training.len(), "query"),
                counted(validation.len(), "query")
            )?;
            let mut grid = Grid::new(["order", "training", "validation"]);
            for (name, values) in [("the run", before), (method_name(&learnt.method), after)] {
                grid.row([name.to_owned(), four_digits(values[0]), four_digits(values[1])]);
            }
            grid.write(out, TableFormat::Table)?;
            writeln!(out)?;
            let weights = match &learnt.method {
                DiversifyMethod::Mmr { params, similarity } => {
                    let lambda = params.lambda;
                    return Ok(writeln!(out, "lambda {lambda}, similarity {similarity}")?);
                }
                DiversifyMethod::RLtr { weights } => weights,
            };
            let mut grid = Grid::new(["weight of", "value"]);
            for (run, weight) in (1..).zip(&weights.relevance) {
                grid.row([format!("the score of run {run}"), format!("{weight:.4}")]);
            }
            let numbers = weights.relational.names();
            let by_relation = weights.relations.chunks_exact(numbers.len());
            for (name, weights) in learnt.relations.iter().zip(by_relation) {
                for (number, weight) in numbers.iter().zip(weights) {
                    grid.row([format!("the {number} distance by {name}"), format!("{weight:.4}")]);
                }
            }
            Ok(grid.write(out, TableFormat::Table)?)
        })
    }
}
