//! `liken fuse`: fuses several runs into one.

use std::io::Write;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use liken::eval::trec::TrecRun;
use liken::eval::{Measure, Ties, Variant};
use liken::fusion::{FusionMethod, Normalise, RunFusion, TunedWeights, query_ids, tune};

use crate::console::{Console, usage};
use crate::output::{Grid, TableFormat, counted, grouped, is_stdout, remark};
use crate::runs::{RunArgs, check_stdin, read_engine_run, read_judgments};
use crate::variant::VariantArgs;

/// Fuse several TREC runs into one.
#[derive(Args)]
#[command(after_help = "\
Methods: rrf adds 1 / (rank constant + rank) over the runs; sum (CombSUM), mnz (CombMNZ), max
and min use scores, normalised per query and run; weighted is sum with --weights.
In sum, a document that a run does not have scores 0 there, or the run's lowest score for the query
if that is below 0.

Examples:
  liken fuse bm25.trec dense.trec -o fused.trec
  liken fuse bm25.trec dense.trec --weights 0.7,0.3 --method weighted -o fused.trec
  liken fuse a.trec b.trec c.trec --method mnz --normalise sum -k 100 -o -
  liken fuse bm25.trec dense.trec --method sum --qrels validation.qrels --tune nDCG@10 -o fused.trec")]
pub struct FuseArgs {
    /// Run files, also compressed (.gz, .zst); - is standard input.
    #[arg(required = true, value_name = "RUN")]
    runs: Vec<PathBuf>,

    #[command(flatten)]
    output: RunArgs,

    /// Formula that combines ranks or scores.
    #[arg(long, value_enum, default_value_t)]
    method: MethodName,

    /// Normalisation of the scores of each query and run [default: min-max].
    #[arg(long, alias = "normalize", alias = "normalization", value_enum)]
    normalise: Option<NormaliseName>,

    /// Constant that rrf adds to every rank [default: 60].
    #[arg(long, alias = "rank_constant", value_name = "N")]
    rank_constant: Option<f64>,

    /// One weight for each run, in their order.
    #[arg(long, value_name = "W,W", value_delimiter = ',', conflicts_with = "tune")]
    weights: Option<Vec<f64>>,

    /// Tune the weights for this measure on --qrels.
    #[arg(long, value_name = "MEASURE", requires = "qrels")]
    tune: Option<Measure>,

    /// Judgments to tune on: of validation queries, not of those that you report.
    #[arg(long, value_name = "FILE", requires = "tune")]
    qrels: Option<PathBuf>,

    /// Documents per query.
    #[arg(short, default_value_t = 1000, value_name = "N")]
    k: usize,

    /// Skip and count bad lines instead of stopping at the first.
    #[arg(long)]
    lenient: bool,

    #[command(flatten)]
    variant: VariantArgs,
}

/// Core's methods, and `weighted`.
#[derive(Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum MethodName {
    /// Reciprocal rank fusion.
    #[default]
    Rrf,
    /// CombSUM.
    #[value(alias = "combsum", alias = "arithmetic_mean")]
    Sum,
    /// CombSUM with --weights.
    #[value(alias = "wsum")]
    Weighted,
    /// CombMNZ.
    #[value(alias = "combmnz")]
    Mnz,
    /// CombMAX.
    #[value(alias = "combmax")]
    Max,
    /// CombMIN.
    #[value(alias = "combmin")]
    Min,
}

/// Core's normalisations with the names that other tools give them.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum NormaliseName {
    /// Scores unchanged.
    None,
    /// (s - min) / (max - min).
    #[value(alias = "min_max")]
    MinMax,
    /// (s - mean) / standard deviation.
    #[value(alias = "z_score", alias = "zmuv")]
    ZScore,
    /// (s - min) / sum of all (s - min).
    Sum,
    /// s / max.
    Max,
    /// s / Euclidean norm.
    L2,
    /// 1 - (rank - 1) / documents.
    Rank,
}

impl NormaliseName {
    /// The value of core's enum.
    pub fn normalise(self) -> Normalise {
        match self {
            NormaliseName::None => Normalise::None,
            NormaliseName::MinMax => Normalise::MinMax,
            NormaliseName::ZScore => Normalise::ZScore,
            NormaliseName::Sum => Normalise::Sum,
            NormaliseName::Max => Normalise::Max,
            NormaliseName::L2 => Normalise::L2,
            NormaliseName::Rank => Normalise::Rank,
        }
    }
}

pub fn run(args: &FuseArgs, console: &Console) -> anyhow::Result<()> {
    let mut fusion = args.fusion()?;
    fusion.check(args.runs.len())?;
    if args.k == 0 {
        return Err(usage("-k 0: expected 1 document or more per query"));
    }
    check_stdin(args.runs.iter().chain(&args.qrels))?;
    let variant = args.variant()?;
    args.output.check()?;
    let name = args.method.to_possible_value().map_or(String::new(), |v| v.get_name().to_owned());
    let read = |path: &PathBuf| read_engine_run(path, args.lenient, console);
    let runs: Vec<TrecRun> = args.runs.iter().map(read).collect::<liken::Result<_>>()?;
    args.warn_about(&runs, console);
    let mut tuned = None;
    if let (Some(measure), Some(path)) = (args.tune, &args.qrels) {
        let qrels = read_judgments(path, args.lenient, console)?;
        let found = console.run(|_| tune(&fusion, &runs, &qrels, measure, &variant))?;
        fusion.weights = Some(found.weights.clone());
        tuned = Some((measure, found));
    }
    let mut out = args.output.create(&name, console)?;
    for query in fusion.fuse(&runs, args.k)? {
        out.ranking(query.id, &query.hits)?;
    }
    out.finish()?;
    match tuned {
        Some((measure, tuned)) => args.show(measure, &variant, &tuned, console),
        None => Ok(()),
    }
}

impl FuseArgs {
    fn fusion(&self) -> anyhow::Result<RunFusion> {
        let method = match self.method {
            MethodName::Rrf => FusionMethod::Rrf,
            MethodName::Sum | MethodName::Weighted => FusionMethod::Sum,
            MethodName::Mnz => FusionMethod::Mnz,
            MethodName::Max => FusionMethod::Max,
            MethodName::Min => FusionMethod::Min,
        };
        let unweighted = self.weights.is_none() && self.tune.is_none();
        if self.method == MethodName::Weighted && unweighted {
            return Err(usage("--method weighted: expected --weights, such as 0.7,0.3"));
        }
        if method == FusionMethod::Rrf && self.normalise.is_some() {
            let message = "--normalise: rrf does not use scores; add --method sum, or leave it out";
            return Err(usage(message));
        }
        if method != FusionMethod::Rrf && self.rank_constant.is_some() {
            let message =
                "--rank-constant: only rrf uses ranks; leave out --rank-constant or --method";
            return Err(usage(message));
        }
        let default = RunFusion::default();
        Ok(RunFusion {
            method,
            normalise: self.normalise.map_or(default.normalise, NormaliseName::normalise),
            rank_constant: self.rank_constant.unwrap_or(default.rank_constant),
            weights: self.weights.clone(),
        })
    }

    /// The variant of the measure of `--tune`.
    fn variant(&self) -> anyhow::Result<Variant> {
        if self.tune.is_none() && self.variant.is_given() {
            let message = "--preset, --gain and the like are for the measure of --tune; add --tune and --qrels";
            return Err(usage(message));
        }
        // A fused run is ordered by score and id, whatever ties the preset has.
        Ok(Variant { ties: Ties::DocnoDesc, ..self.variant.variant()? })
    }

    fn warn_about(&self, runs: &[TrecRun], console: &Console) {
        let n_queries = query_ids(runs).len();
        for (path, run) in self.runs.iter().zip(runs) {
            if run.len() < n_queries {
                console.warn(format!(
                    "{}: has results for {} of {}; the others are ranked by the other runs alone",
                    path.display(),
                    grouped(run.len()),
                    counted(n_queries, "query")
                ));
            }
        }
        for (r, run) in runs.iter().enumerate() {
            if let Some(twin) = runs[..r].iter().position(|other| other.tag == run.tag) {
                console.warn(format!(
                    "{} and {} have the same tag, {}, and may be the same run",
                    self.runs[twin].display(),
                    self.runs[r].display(),
                    run.tag
                ));
            }
        }
    }

    /// Prints the tuned weights, as a table unless the run goes to standard output.
    fn show(
        &self,
        measure: Measure,
        variant: &Variant,
        tuned: &TunedWeights,
        console: &Console,
    ) -> anyhow::Result<()> {
        let weights: Vec<String> = tuned.weights.iter().map(ToString::to_string).collect();
        console.warn(format!(
            "the weights {} were tuned on {}, so that {measure} {:.4} there is optimistic; report it on other queries",
            weights.join(","),
            counted(tuned.queries, "query"),
            tuned.score
        ));
        if is_stdout(&self.output.output) {
            console.warn(format!("{measure} was computed with {variant}"));
            return Ok(());
        }
        let mut grid = Grid::new(["run".to_owned(), "weight".to_owned(), measure.to_string()]);
        for ((path, weight), alone) in self.runs.iter().zip(weights).zip(&tuned.alone) {
            grid.row([path.display().to_string(), weight, format!("{alone:.4}")]);
        }
        grid.row(["fused".to_owned(), String::new(), format!("{:.4}", tuned.score)]);
        let mut out = console.out();
        remark(&mut out, TableFormat::Table, &format!("{variant}\n"))?;
        grid.write(&mut out, TableFormat::Table)?;
        Ok(out.flush()?)
    }
}
