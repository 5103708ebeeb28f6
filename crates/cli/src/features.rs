//! `liken features`: what rankers look at, as a table of judged or of found documents.

use std::io::Write;
use std::path::{Path, PathBuf};

use clap::Args;
use liken::data::Dataset;
use liken::eval::{Candidates, HeldOut};
use liken::file::NewFile;
use liken::matchers::{Mixture, Model};
use liken::rank::features::{ColumnLook, Group, Rows};
use liken::rank::{RankFormat, write_table};
use liken::sparse::Row;
use liken::stack::{
    CrossParams, FeatureInputs, FeatureParams, PageParams, cross_table, page_table,
};

use crate::compare::every_method;
use crate::console::{Console, Usage};
use crate::output::{Format, Grid, TableFormat, counted, grouped, json, typed};
use crate::settings::{MemoryArgs, ParamArgs, TextArgs, resolve};
use crate::tables::NOTHING;

/// Rows a query where documents are found, not judged.
const DEPTH: usize = 100;

/// Write a table of features for learning to rank: words in every field, proximity, lengths, clicks,
/// numbers of the documents, and the score of every matcher.
#[derive(Args)]
#[command(after_help = "\
Groups of features: bm25, vsm, lm, lm-jm, proximity, length, url, clicks, fields (numbers that documents
have), models. A value that is missing stays empty.

Rows are those of held-out queries, whose grades no model has seen; what is learnt from them is
tested with --on test. Rows of training queries (--on train) are made by cross-fitting: their grades
are their clicks, and the models that score them were fitted without these. Rows of pages (--on pages) are
what people saw for training queries, made the same way: a page is a query, a grade is a click, and
a click weighs one over the chance that people look at its rank, estimated from the log (--evidence
clicks: all weigh alike).

Examples:
  liken features DATASET --models bm25,pls,rmls -o learn.csv              to learn from
  liken features DATASET --models bm25,pls,rmls --on test -o test.csv     the same for test queries
  liken rank train lambdamart learn.csv --validation-share 0.2 -o ranker  and then
  liken rank eval test.csv ranker
  liken features DATASET --models all --candidates top:200 -o rows.parquet
  liken features DATASET --models feedback --on train --folds 5 -o train.csv
  liken features DATASET --models bm25,pls --on pages -o clicks.csv    what people saw and clicked
  liken features DATASET --model rmls-model --groups models,bm25 -o rows.csv")]
pub struct FeaturesArgs {
    /// Dataset folder.
    dataset: PathBuf,

    /// Matchers to fit, whose scores are features, separated by commas; `all` stands for every method.
    #[arg(long, value_name = "M,M", value_delimiter = ',')]
    models: Vec<String>,

    /// Model folder whose score is a feature, called by the folder's name; may be given several
    /// times.
    #[arg(long, value_name = "DIR")]
    model: Vec<PathBuf>,

    /// Queries that become rows.
    #[arg(long, value_name = "PART", default_value = "validation", value_parser = ["validation", "test", "train", "pages"])]
    on: String,

    /// Documents that become rows: judged, or top:N, the best N of bm25 and of every matcher, those
    /// not judged with grade 0 [default: judged if the judgments hold bad documents too, else
    /// top:100].
    #[arg(long, value_name = "WHICH")]
    candidates: Option<Rows>,

    /// Groups of features; with a minus before it, all but that [default: all].
    #[arg(long, value_name = "G,G", value_delimiter = ',', allow_hyphen_values = true)]
    groups: Vec<String>,

    /// Folds of cross-fitting, for --on train and pages.
    #[arg(long, value_name = "N", default_value_t = 5)]
    folds: usize,

    /// Most training queries, for --on train and pages; more are drawn from.
    #[arg(long, value_name = "N", default_value_t = 5000)]
    queries: usize,

    /// Most different pages of a query, for --on pages; those shown most often.
    #[arg(long, value_name = "N", default_value_t = 20)]
    pages: usize,

    /// Table to write: by its ending CSV, TSV or Parquet, with the names of the features; else LETOR.
    #[arg(short, long, value_name = "FILE")]
    output: PathBuf,

    /// Replace the table if it is there.
    #[arg(long)]
    force: bool,

    #[command(flatten)]
    params: ParamArgs,

    #[command(flatten)]
    text: TextArgs,

    #[command(flatten)]
    memory: MemoryArgs,

    /// How to print what was written.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &FeaturesArgs, console: &Console) -> anyhow::Result<()> {
    NewFile::check(&args.output, args.force)?;
    let format = RankFormat::of(&args.output);
    let groups = Group::parse(&args.groups)?;
    let of_training = args.on == "train" || args.on == "pages";
    if of_training && !args.model.is_empty() {
        return Err(Usage(
            "--model with --on train or pages: a trained model knows the clicks of training queries; name its method with --models, so that it is fitted without them".into(),
        )
        .into());
    }
    let named = |name: &String| if name == "all" { every_method() } else { vec![name.clone()] };
    let names: Vec<String> = args.models.iter().flat_map(named).collect();
    let mixtures: Vec<Mixture> =
        names.iter().map(|name| Mixture::parse(name)).collect::<Result<_, _>>()?;
    if let Some(mix) = mixtures.iter().find(|mix| mix.parts.len() > 1) {
        return Err(Usage(format!(
            "--models {mix}: a feature is the score of one matcher; name the parts one by one, the ranker finds their weights"
        ))
        .into());
    }
    let settings = resolve(&args.text, &args.params, &mixtures)?;
    let mut unknown: Vec<(String, usize)> = Vec::new();
    let mut propensities = None;
    let mut asked = 0;
    let (table, reports) = console.run(|run| {
        let dataset = Dataset::open(&args.dataset)?;
        check_ids(&dataset, format)?;
        let run = &args.memory.within(run);
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
        let table = if args.on == "train" {
            let cross = CrossParams {
                folds: args.folds,
                queries: args.queries,
                rows: args.candidates.unwrap_or(Rows::Top(DEPTH)),
                seed: args.params.seed().unwrap_or(1),
            };
            cross_table(&dataset, &made, &settings.models, &groups, &cross, run)?
        } else if args.on == "pages" {
            let pages = PageParams {
                folds: args.folds,
                queries: args.queries,
                pages: args.pages,
                evidence: settings.preparation.evidence,
                seed: args.params.seed().unwrap_or(1),
            };
            let made = page_table(&dataset, &made, &settings.models, &groups, &pages, run)?;
            propensities = made.propensities;
            made.table
        } else {
            let rows = args.candidates.unwrap_or(match Candidates::Auto.resolve(judged) {
                Candidates::Judged => Rows::Judged,
                _ => Rows::Top(DEPTH),
            });
            made.held_out(&dataset, on, rows, run)?
        };
        write_table(&table, &args.output, RankFormat::of(&args.output))?;
        Ok((table, made.reports))
    })?;
    for ((name, _), report) in settings.models.iter().zip(&reports) {
        report.warnings().iter().for_each(|warning| console.warn(format!("{name}: {warning}")));
    }
    for (name, documents) in unknown {
        console.warn(format!(
            "{name} does not know {documents} documents: its score is missing there"
        ));
    }
    let without = asked.saturating_sub(table.n_queries());
    if without > 0 {
        let (one, many) = ("query has no row", "queries have no row");
        console.warn(format!("{}: no matcher finds a document", counted(without, one, many)));
    }
    let looks = ColumnLook::all(&table);
    let idle: Vec<&str> =
        looks.iter().filter(|look| look.is_idle()).map(|look| look.name.as_str()).collect();
    if !idle.is_empty() && table.n_rows() > 0 {
        console.warn(format!(
            "always the same, so that nothing can be learnt from it: {}",
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
        console.warn("every query has rows of one grade only: there is no order to learn; try --candidates top:100");
    }
    let mut out = console.out();
    if args.format == Format::Json {
        json(
            &mut out,
            &serde_json::json!({
                "table": args.output,
                "rows": table.n_rows(),
                "queries": table.n_queries(),
                "queries_of_one_grade": of_one_grade,
                "queries_without_rows": without,
                "propensities": propensities,
                "features": looks,
            }),
        )?;
        return Ok(out.flush()?);
    }
    let mut grid = Grid::new(["feature", "least", "most", "missing"]);
    let number =
        |value: Option<f32>| value.map_or(NOTHING.to_owned(), |value| format!("{value:.4}"));
    for look in &looks {
        let missing = format!("{:.1} %", 100.0 * look.missing);
        grid.row([look.name.clone(), number(look.least), number(look.most), missing]);
    }
    grid.write(&mut out, TableFormat::Table)?;
    writeln!(
        out,
        "\n{} of {} with {}; {} with rows of one grade only",
        counted(table.n_rows(), "row", "rows"),
        counted(table.n_queries(), "query", "queries"),
        counted(table.n_features(), "feature", "features"),
        grouped(of_one_grade)
    )?;
    if let Some(propensities) = &propensities {
        let chances: Vec<String> =
            propensities.by_rank.iter().take(10).map(|p| format!("{p:.2}")).collect();
        writeln!(out, "chances that people look at ranks 1, 2, …: {}", chances.join(", "))?;
    } else if args.on == "pages" {
        writeln!(out, "all clicks weigh alike")?;
    }
    writeln!(out, "{} written", typed(&args.output))?;
    Ok(out.flush()?)
}

/// LETOR has no place for ids with spaces: found before the work, not after it.
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
                "a name that ends in .csv, .tsv or .parquet: LETOR has no place for spaces in ids",
            ));
        }
    }
    Ok(())
}

/// What a model is called where it is one of several.
fn folder_name(path: &Path) -> String {
    let name = path.file_name().or_else(|| path.components().next_back().map(|c| c.as_os_str()));
    name.map_or("model".to_owned(), |name| name.to_string_lossy().into_owned())
}
