//! `liken features`: tables of features, from which rankers learn and on which they are measured.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use liken::data::Dataset;
use liken::eval::{Candidates, HeldOut};
use liken::file::NewFile;
use liken::matchers::Model;
use liken::rank::features::{ColumnSummary, Group, RowSelection};
use liken::rank::{RankFormat, write_table};
use liken::sparse::Row;
use liken::stack::{CrossFit, FeatureInputs, FeatureParams, PageParams, cross_table, page_table};

use crate::console::{Console, usage};
use crate::output::{Format, Grid, NOTHING, TableFormat, counted, grouped, plural, typed};
use crate::settings::{FitArgs, expand_all, parse_mixtures};

/// Documents that every matcher retrieves per query unless `--candidates` gives a number.
const DEPTH: usize = 100;

/// Write a table of features for learning to rank: lexical scores of every field, proximity, lengths,
/// clicks, numeric fields of the documents, and the score of every matcher.
#[derive(Args)]
#[command(after_help = "\
Groups of features: bm25, vsm, lm, lm-jm, proximity, length, url, clicks, fields (numeric fields of
the documents), models. A missing value is an empty cell.

By default rows are those of validation queries, whose grades no model has seen; a ranker that learns
from them is tested on a table made with --on test. Rows of training queries (--on train) are made by
cross-fitting: grades are clicks, and the models that score a query were fitted without its clicks.
With --on pages, rows are result pages shown for training queries, also cross-fitted: each page counts
as a query and each click as a grade, and the weight of a click is the inverse of the examination
propensity of its rank, which is estimated from the log (with --evidence clicks, all weights are 1).

Examples:
  liken features DATASET --models bm25,pls,rmls -o learn.csv              to learn from
  liken features DATASET --models bm25,pls,rmls --on test -o test.csv     the same for test queries
  liken rank train lambdamart learn.csv --validation-share 0.2 -o ranker  learn
  liken rank eval test.csv ranker                                         measure
  liken features DATASET --models all --candidates top:200 -o rows.parquet
  liken features DATASET --models feedback --on train --folds 5 -o train.csv
  liken features DATASET --models bm25,pls --on pages -o clicks.csv    impressions and clicks
  liken features DATASET --model rmls-model --groups models,bm25 -o rows.csv")]
pub struct FeaturesArgs {
    /// Dataset folder.
    dataset: PathBuf,

    /// Matchers to fit, whose scores are features, separated by commas; `all` is every method.
    #[arg(long, value_name = "M,M", value_delimiter = ',')]
    models: Vec<String>,

    /// Model folder whose score is a feature, named after the folder. Repeatable.
    #[arg(long, value_name = "DIR")]
    model: Vec<PathBuf>,

    /// Queries of the rows.
    #[arg(long, value_name = "PART", default_value = "validation", value_parser = ["validation", "test", "train", "pages"])]
    on: String,

    /// Documents of the rows: judged, or top:N, the best N of bm25 and of every matcher, with grade 0
    /// if not judged [default: judged if some judgments are not relevant, else top:100].
    #[arg(long, value_name = "WHICH")]
    candidates: Option<RowSelection>,

    /// Groups of features; -GROUP is all but that group [default: all].
    #[arg(long, value_name = "G,G", value_delimiter = ',', allow_hyphen_values = true)]
    groups: Vec<String>,

    /// Folds of cross-fitting, for --on train and pages.
    #[arg(long, value_name = "N", default_value_t = 5)]
    folds: usize,

    /// Limit of training queries, for --on train and pages; of more, a random sample is taken.
    #[arg(long, value_name = "N", default_value_t = 5000)]
    queries: usize,

    /// Limit of different result pages per query, for --on pages; those shown most often.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pages: usize,

    /// Table to write: CSV, TSV or Parquet by its ending, with the names of the features; else LETOR.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Replace the table if it exists.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    fit: FitArgs,

    /// Output format of the summary.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &FeaturesArgs, console: &Console) -> anyhow::Result<()> {
    NewFile::check(&args.output, args.force)?;
    let format = RankFormat::of(&args.output);
    let groups = Group::parse(&args.groups)?;
    let of_training = args.on == "train" || args.on == "pages";
    if of_training && !args.model.is_empty() {
        return Err(usage(
            "--model with --on train or pages: a trained model knows the clicks of training queries; name its method with --models, which is fitted without them",
        ));
    }
    let mixtures = parse_mixtures(&expand_all(&args.models))?;
    if let Some(mix) = mixtures.iter().find(|mix| mix.parts.len() > 1) {
        return Err(usage(format!(
            "--models {mix}: expected single methods, for a feature is the score of one matcher; the ranker learns the weights"
        )));
    }
    let settings = args.fit.resolve(&mixtures)?;
    let mut unknown: Vec<(String, usize)> = Vec::new();
    let mut propensities = None;
    let mut asked = 0;
    let (table, reports) = console.run(|run| {
        let dataset = Dataset::open(&args.dataset)?;
        check_ids(&dataset, format)?;
        let run = &args.fit.within(run);
        let opened: Vec<(String, Model)> = args
            .model
            .iter()
            .map(|path| Ok((folder_name(path), Model::open(path)?)))
            .collect::<liken::Result<_>>()?;
        let params = FeatureParams {
            preparation: &settings.preparation,
            models: &settings.models,
            groups: &groups,
        };
        let (on, judged) = match args.on.as_str() {
            "test" => (HeldOut::Test, &dataset.test),
            _ => (HeldOut::Validation, &dataset.validation),
        };
        asked = match args.on.as_str() {
            "pages" => 0,
            "train" => {
                let liked = |row: &Row<'_>| row.values.iter().any(|&weight| weight > 0.0);
                dataset.clicks.rows().filter(liked).count().min(args.queries)
            }
            _ => {
                liken::eval::check_comparable(&dataset, &[], Some(on))?;
                judged.rows().filter(|row| !row.is_empty()).count()
            }
        };
        let made = FeatureInputs::of(&dataset, &params, opened, run)?;
        unknown = made.extractor.unknown_documents();
        let fit = CrossFit {
            folds: args.folds,
            queries: args.queries,
            seed: args.fit.params.seed.unwrap_or(1),
        };
        let table = if args.on == "train" {
            let rows = args.candidates.unwrap_or(RowSelection::Top(DEPTH));
            cross_table(&dataset, &made, &settings.models, &groups, (rows, &fit), run)?
        } else if args.on == "pages" {
            let evidence = settings.preparation.evidence;
            let pages = PageParams { fit, pages: args.pages, evidence };
            let made = page_table(&dataset, &made, &settings.models, &groups, &pages, run)?;
            propensities = made.propensities;
            made.table
        } else {
            let rows = args.candidates.unwrap_or(match Candidates::Auto.resolve(judged) {
                Candidates::Judged => RowSelection::Judged,
                _ => RowSelection::Top(DEPTH),
            });
            made.held_out(&dataset, on, rows, run)?
        };
        write_table(&table, &args.output, format)?;
        Ok((table, made.reports))
    })?;
    let models = settings.models.iter().zip(&reports);
    console.warn_each(models.flat_map(|((name, _), report)| {
        report.warnings().into_iter().map(move |warning| (name.clone(), warning.to_string()))
    }));
    for (name, documents) in unknown {
        console.warn(format!(
            "{name} does not know {}: its scores are missing there",
            counted(documents, "document")
        ));
    }
    let without = asked.saturating_sub(table.n_queries());
    if without > 0 {
        let (one, many) = ("query has no row", "queries have no row");
        console.warn(format!("{}: no matcher retrieves a document", plural(without, one, many)));
    }
    let columns = ColumnSummary::all(&table);
    let idle: Vec<&str> = columns
        .iter()
        .filter(|column| column.is_constant())
        .map(|column| column.name.as_str())
        .collect();
    if !idle.is_empty() && table.n_rows() > 0 {
        console.warn(format!(
            "constant features, from which nothing can be learnt: {}",
            idle.join(", ")
        ));
    }
    let of_one_grade = (0..table.n_queries())
        .filter(|&query| {
            let grades = &table.grades()[table.rows_of(query)];
            grades.iter().all(|&grade| grade == grades[0])
        })
        .count();
    if of_one_grade == table.n_queries() {
        console.warn("the rows of every query have the same grade, so there is no order to learn; try --candidates top:100");
    }
    let described = serde_json::json!({
        "table": args.output.to_string_lossy(),
        "rows": table.n_rows(),
        "queries": table.n_queries(),
        "queries_of_one_grade": of_one_grade,
        "queries_without_rows": without,
        "propensities": propensities,
        "features": columns,
    });
    console.report(args.format, &described, |out| {
        let mut grid = Grid::new(["feature", "least", "most", "missing"]);
        let number =
            |value: Option<f32>| value.map_or(NOTHING.to_owned(), |value| format!("{value:.4}"));
        for column in &columns {
            let missing = format!("{:.1} %", 100.0 * column.missing);
            grid.row([column.name.clone(), number(column.least), number(column.most), missing]);
        }
        grid.write(out, TableFormat::Table)?;
        writeln!(
            out,
            "\n{} of {} with {}; {} with rows of one grade only",
            counted(table.n_rows(), "row"),
            counted(table.n_queries(), "query"),
            counted(table.n_features(), "feature"),
            grouped(of_one_grade)
        )?;
        if let Some(propensities) = &propensities {
            let by_rank: Vec<String> =
                propensities.by_rank.iter().take(10).map(|p| format!("{p:.2}")).collect();
            writeln!(out, "examination propensity at ranks 1, 2, …: {}", by_rank.join(", "))?;
        } else if args.on == "pages" {
            writeln!(out, "all clicks have the weight 1")?;
        }
        Ok(writeln!(out, "{} written", typed(&args.output))?)
    })
}

/// Refuses ids with spaces, which LETOR cannot hold, before the work.
fn check_ids(dataset: &Dataset, format: RankFormat) -> liken::Result<()> {
    if format != RankFormat::Letor {
        return Ok(());
    }
    for i in 0..dataset.queries.len() {
        let id = dataset.queries.get(i)?.id;
        if id.contains(|c: char| c.is_whitespace() || c == '#') {
            return Err(liken::Error::parameter(
                "output",
                format!("LETOR, with a query whose id is {id:?}"),
                "a name that ends in .csv, .tsv or .parquet: ids with spaces cannot stand in LETOR",
            ));
        }
    }
    Ok(())
}

/// The name of a model among several.
fn folder_name(path: &Path) -> String {
    let name = path.file_name().or_else(|| path.components().next_back().map(|c| c.as_os_str()));
    name.map_or("model".to_owned(), |name| name.to_string_lossy().into_owned())
}
