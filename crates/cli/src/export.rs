//! `liken export`: the vectors or the synonyms that a model learnt, or a dataset, in the
//! formats of others; or what came into an index.

use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{ArgGroup, Args, ValueEnum};
use liken::data::Dataset;
use liken::export::{
    DatasetExport, DatasetFormat, ExportedFile, NamedQuery, SynonymFormat, SynonymParams, Synonyms,
    VectorFormat, VectorSet, Vectors,
};
use liken::file::{Folder, FolderKind, NewFile};
use liken::matchers::Model;
use liken_engine::Layout;
use serde_json::Value;

use crate::console::{Console, Usage};
use crate::export_index;
use crate::output::{Grid, TableFormat, counted, grouped, typed};
use crate::runs::{check_output, read_named_queries};
use crate::search::Shelf;

const EXAMPLES: &str = "\
Vectors: the dot product of a query's and a document's vector is the score of a learnt model
(of the learnt part of a mix), so any vector engine ranks as the model does. about.json in the
folder says which formula gives the score.

Synonyms: words of documents near each word of queries, as rules (car => car, automobile) for
the engine's search analyser, after lower-casing and before stemming.

Datasets: tsv and parquet give the same dataset back (the line to type is printed); beir and
trec have whole numbers alone: training clicks become the grades of train.

Indexes: what came in while it was served, to learn from; it may be served meanwhile.

Examples:
  liken export data --format beir -o beir
  liken export data --format trec --number-queries -o trec
  liken export model --vectors npy -o vectors
  liken export model --vectors jsonl --of queries --queries new.tsv -o vectors
  liken export model --synonyms solr -o synonyms.txt
  liken export model --synonyms elasticsearch --min-score 0.9 -o -
  liken export index --events events.jsonl
  liken export index --documents documents.jsonl
  liken export index --judgments judged";

/// What is no export of vectors, of a dataset, of synonyms.
const NOT_VECTORS: [&str; 5] = ["synonyms", "format", "events", "judgments", "documents"];
const NOT_DATASETS: [&str; 5] = ["vectors", "synonyms", "events", "judgments", "documents"];
const NOT_SYNONYMS: [&str; 5] = ["vectors", "format", "events", "judgments", "documents"];

/// Write what a model learnt, a dataset, or what came into an index, for other programs.
#[derive(Args)]
#[command(group = ArgGroup::new("what").required(true), after_help = EXAMPLES)]
pub struct ExportArgs {
    /// Model folder, dataset folder or folder of an index.
    source: PathBuf,

    /// The vectors of a learnt model.
    #[arg(long, value_name = "FORMAT", value_enum, group = "what")]
    vectors: Option<Vector>,

    /// The words that a model learnt to belong together.
    #[arg(long, value_name = "FORMAT", value_enum, group = "what")]
    synonyms: Option<Synonym>,

    /// A dataset, in the format of others.
    #[arg(long, value_name = "FORMAT", value_enum, group = "what")]
    format: Option<Format>,

    /// The clicks and impressions of an index, as a log that `liken import --events` reads (- for
    /// standard output).
    #[arg(long, value_name = "FILE.jsonl", group = "what", conflicts_with = "output")]
    events: Option<PathBuf>,

    /// The grades of an index, as qrels with the texts of the queries.
    #[arg(long, value_name = "DIR", group = "what", conflicts_with = "output")]
    judgments: Option<PathBuf>,

    /// The documents of an index as they are now (- for standard output).
    #[arg(long, value_name = "FILE.jsonl", group = "what", conflicts_with = "output")]
    documents: Option<PathBuf>,

    /// What to write: a folder, or, for synonyms, a file (- for standard output).
    #[arg(short, long, value_name = "PATH",
        required_unless_present_any = ["events", "judgments", "documents"])]
    output: Option<PathBuf>,

    /// Replace it if it is there.
    #[arg(long)]
    force: bool,

    /// Whose vectors.
    #[arg(long, value_name = "SET,…", value_enum, value_delimiter = ',', conflicts_with_all = NOT_VECTORS,
        default_values_t = [Set::Documents, Set::Queries])]
    of: Vec<Set>,

    /// Embed these queries (id<TAB>text, or just the text), instead of the dataset's.
    #[arg(long, value_name = "FILE", conflicts_with_all = NOT_VECTORS)]
    queries: Option<PathBuf>,

    /// Call the queries of a dataset q1, q2, … instead of by their ids.
    #[arg(long, conflicts_with_all = NOT_DATASETS)]
    number_queries: bool,

    /// Synonyms with at least this cosine.
    #[arg(long, value_name = "X", conflicts_with_all = NOT_SYNONYMS,
        default_value_t = SynonymParams::default().min_score)]
    min_score: f64,

    /// So many synonyms a word at most.
    #[arg(long, value_name = "N", conflicts_with_all = NOT_SYNONYMS,
        default_value_t = SynonymParams::default().per_word)]
    per_word: usize,

    /// Only words in so many training queries, and synonyms in so many training documents.
    #[arg(long, value_name = "N", conflicts_with_all = NOT_SYNONYMS,
        default_value_t = SynonymParams::default().min_count)]
    min_count: u32,

    /// Write the model's stems as they are, for a filter behind the same stemmer.
    #[arg(long, conflicts_with_all = NOT_SYNONYMS)]
    stems: bool,

    /// Where the dataset of the model lies, if not where it was in training (for the words of
    /// synonyms).
    #[arg(long, value_name = "DIR", conflicts_with_all = NOT_SYNONYMS)]
    dataset: Option<PathBuf>,
}

/// How vectors are written.
#[derive(Clone, Copy, ValueEnum)]
enum Vector {
    /// NumPy arrays, with the ids beside them.
    Npy,
    /// One JSON object a line: id and vector.
    Jsonl,
    /// One safetensors file, with the ids beside it.
    Safetensors,
}

/// What has vectors.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum Set {
    /// One a document.
    Documents,
    /// One a query.
    Queries,
    /// Two a word: as queries use it and as documents do.
    Words,
}

/// How synonyms are written.
#[derive(Clone, Copy, ValueEnum)]
enum Synonym {
    /// A file for Solr, and for synonyms_path of Elasticsearch and OpenSearch.
    Solr,
    /// The body of Elasticsearch's synonyms API.
    Elasticsearch,
    /// word, synonym, score.
    Tsv,
}

/// How a dataset is written.
#[derive(Clone, Copy, ValueEnum)]
enum Format {
    /// corpus.jsonl, queries.jsonl, qrels/{train,dev,test}.tsv.
    Beir,
    /// documents.trec, topics.trec, qrels.{train,validation,test}.
    Trec,
    /// clicks.tsv, documents.jsonl, queries.tsv, judgments.tsv.
    Tsv,
    /// The same tables as Parquet.
    Parquet,
}

/// Rules beyond which Elasticsearch's API refuses a set.
const ELASTICSEARCH_MOST: usize = 10_000;

/// Pairs shown of a list of synonyms.
const SHOWN: usize = 20;

impl ExportArgs {
    /// What to write, where it is not named by `--events` and the like.
    fn output(&self) -> &Path {
        self.output.as_deref().unwrap_or(Path::new("-"))
    }
}

pub fn run(args: &ExportArgs, console: &Console) -> anyhow::Result<()> {
    let (source, force) = (&args.source, args.force);
    if let Some(target) = &args.events {
        return export_index::events(source, target, force, console);
    }
    if let Some(target) = &args.judgments {
        return export_index::judgments(source, target, force, console);
    }
    if let Some(target) = &args.documents {
        return export_index::documents(source, target, force, console);
    }
    if args.synonyms.is_none() && args.output().as_os_str() == "-" {
        return usage("-o -: vectors and datasets are folders; name one to write".into());
    }
    if Layout::is_index(source) {
        return usage(format!(
            "{}: is an index: say --events, --judgments or --documents, or name a model or a dataset",
            source.display()
        ));
    }
    let (kind, _) = Folder::<Value>::peek(source)?;
    match (kind, args.vectors, args.synonyms, args.format) {
        (FolderKind::Model, Some(format), ..) => vectors(args, format, console),
        (FolderKind::Model, _, Some(format), _) => synonyms(args, format, console),
        (FolderKind::Dataset, _, _, Some(format)) => dataset(args, format, console),
        (FolderKind::Dataset, ..) => usage(format!(
            "{}: is a dataset, and vectors and synonyms are what a model learns: name a model, or say --format",
            args.source.display()
        )),
        (FolderKind::Ranker, ..) => usage(format!(
            "{}: is a ranker, which has nothing to export: name a model or a dataset",
            args.source.display()
        )),
        (FolderKind::Model, ..) => usage(format!(
            "{}: is a model, and --format writes a dataset: name a dataset, or say --vectors or --synonyms",
            args.source.display()
        )),
    }
}

fn usage(message: String) -> anyhow::Result<()> {
    Err(Usage(message).into())
}

fn dataset(args: &ExportArgs, format: Format, console: &Console) -> anyhow::Result<()> {
    let dataset = console.run(|_| Dataset::open(&args.source))?;
    let export = DatasetExport {
        dataset: &dataset,
        format: format.into(),
        number_queries: args.number_queries,
    };
    let (about, files) = console.run(|run| export.write(args.output(), args.force, run))?;
    for warning in &about.warnings {
        console.warn(warning);
    }
    let mut out = console.out();
    let counts = about.counts;
    writeln!(
        out,
        "{}, {}, {}, {} + {} held-out pairs",
        counted(counts.queries, "query", "queries"),
        counted(counts.documents, "document", "documents"),
        counted(counts.pairs, "training pair", "training pairs"),
        grouped(counts.held_out.0),
        grouped(counts.held_out.1)
    )?;
    written(args, &files, &mut out)?;
    if !about.import.is_empty() {
        let option = |(name, value): (&&str, &String)| {
            let is_file = files.iter().any(|file| file.name == *value);
            match *name {
                "beir" => format!("beir {}", typed(args.output())),
                _ if is_file => format!("--{name} {}", typed(&args.output().join(value))),
                _ => format!("--{} {value}", name.replace('_', "-")),
            }
        };
        let words: Vec<String> = about.import.iter().map(option).collect();
        writeln!(out, "to read it again: liken import {} -o data", words.join(" "))?;
    }
    Ok(out.flush()?)
}

fn vectors(args: &ExportArgs, format: Vector, console: &Console) -> anyhow::Result<()> {
    if args.queries.is_some() && !args.of.contains(&Set::Queries) {
        return usage("--queries is for the vectors of queries: add them to --of".into());
    }
    let model = console.run(|_| Model::open(&args.source))?;
    let queries = match &args.queries {
        None => None,
        Some(path) => {
            let read = console.run(|run| read_named_queries(path, run))?;
            let named = read.into_iter().map(|(id, text)| {
                let terms = model.counts.read_query_of(&id, &text);
                NamedQuery { id, terms }
            });
            Some(named.collect::<Vec<_>>())
        }
    };
    let sets: Vec<VectorSet> = args.of.iter().copied().map(Into::into).collect();
    let vectors =
        Vectors { model: &model, format: format.into(), sets: &sets, queries: queries.as_deref() };
    let (about, files) = console.run(|run| vectors.write(args.output(), args.force, run))?;
    for note in &about.notes {
        console.warn(note);
    }
    let mut out = console.out();
    let mut grid = Grid::new(["vectors", "count", "dim"]);
    for set in &about.sets {
        grid.row([set.name.clone(), grouped(set.count), set.dim.to_string()]);
    }
    grid.write(&mut out, TableFormat::Table)?;
    writeln!(out)?;
    writeln!(out, "{}", about.score)?;
    written(args, &files, &mut out)
}

/// Says what was written.
fn written(args: &ExportArgs, files: &[ExportedFile], out: &mut impl Write) -> anyhow::Result<()> {
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    writeln!(out, "wrote {}: {}, about.json", args.output().display(), names.join(", "))?;
    Ok(out.flush()?)
}

fn synonyms(args: &ExportArgs, format: Synonym, console: &Console) -> anyhow::Result<()> {
    let to_stdout = args.output().as_os_str() == "-";
    check_output(args.output(), args.force)?;
    let model = console.run(|_| Model::open(&args.source))?;
    let shelf = match args.stems {
        true => None,
        false => Some(Shelf::open(&model, args.dataset.as_deref())),
    };
    if let Some(reason) = shelf.as_ref().and_then(|shelf| shelf.missing.as_ref()) {
        bail!(
            "the model knows stems alone, and the texts that say how they are written are not there: {reason}\nhelp: --dataset DIR says where the dataset lies now; --stems writes the stems"
        );
    }
    let dataset = shelf.as_ref().and_then(|shelf| shelf.dataset.as_ref());
    let params = SynonymParams {
        min_score: args.min_score,
        per_word: args.per_word,
        min_count: args.min_count,
    };
    let synonyms = console.run(|run| Synonyms::of(&model, dataset, &params, run))?;
    let pairs = synonyms.pairs();
    if pairs.is_empty() {
        return Err(liken::Error::Empty {
            what: "no two words are near enough to be listed".into(),
            advice: "lower --min-score or --min-count; a model that looks at clicks alone, such as lsi_qd, knows no words".into(),
        }
        .into());
    }
    for note in &synonyms.notes {
        console.warn(note);
    }
    let n_rules = synonyms.n_rules();
    if matches!(format, Synonym::Elasticsearch) && n_rules > ELASTICSEARCH_MOST {
        console.warn(format!(
            "{} rules: Elasticsearch takes {} in a set; raise --min-score or --min-count, or use --synonyms solr",
            grouped(n_rules),
            grouped(ELASTICSEARCH_MOST)
        ));
    }
    if to_stdout {
        let mut out = console.out();
        synonyms.write(&mut out, format.into())?;
        return Ok(out.flush()?);
    }
    let file = NewFile::create(args.output())?;
    let mut writer = BufWriter::new(file.writer()?);
    synonyms
        .write(&mut writer, format.into())
        .and_then(|()| writer.flush())
        .map_err(liken::Error::io("write", args.output()))?;
    drop(writer);
    file.commit()?;
    let mut out = console.out();
    let mut grid = Grid::new(["score", "word of queries", "word of documents"]).left(&[1, 2]);
    for pair in pairs.iter().take(SHOWN) {
        grid.row([format!("{:.3}", pair.score), pair.word.clone(), pair.synonym.clone()]);
    }
    grid.write(&mut out, TableFormat::Table)?;
    if pairs.len() > SHOWN {
        writeln!(out, "and {}", counted(pairs.len() - SHOWN, "more pair", "more pairs"))?;
    }
    let rules = counted(n_rules, "rule", "rules");
    writeln!(out, "wrote {}: {rules}", args.output().display())?;
    Ok(out.flush()?)
}

impl From<Vector> for VectorFormat {
    fn from(format: Vector) -> Self {
        match format {
            Vector::Npy => VectorFormat::Npy,
            Vector::Jsonl => VectorFormat::Jsonl,
            Vector::Safetensors => VectorFormat::Safetensors,
        }
    }
}

impl From<Format> for DatasetFormat {
    fn from(format: Format) -> Self {
        match format {
            Format::Beir => DatasetFormat::Beir,
            Format::Trec => DatasetFormat::Trec,
            Format::Tsv => DatasetFormat::Tsv,
            Format::Parquet => DatasetFormat::Parquet,
        }
    }
}

impl From<Set> for VectorSet {
    fn from(set: Set) -> Self {
        match set {
            Set::Documents => VectorSet::Documents,
            Set::Queries => VectorSet::Queries,
            Set::Words => VectorSet::Words,
        }
    }
}

impl From<Synonym> for SynonymFormat {
    fn from(format: Synonym) -> Self {
        match format {
            Synonym::Solr => SynonymFormat::Solr,
            Synonym::Elasticsearch => SynonymFormat::Elasticsearch,
            Synonym::Tsv => SynonymFormat::Tsv,
        }
    }
}
