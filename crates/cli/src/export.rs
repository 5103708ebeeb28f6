//! `liken export`: writes vectors or synonyms of a model, a dataset, or the contents of an index in the
//! formats of other programs.

use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::{ArgGroup, Args};
use liken::data::Dataset;
use liken::export::{
    DatasetExport, DatasetFormat, ExportedFile, NamedQuery, SynonymFormat, SynonymParams, Synonyms,
    VectorFormat, VectorSet, Vectors,
};
use liken::file::{Folder, FolderKind};
use liken::matchers::Model;
use liken_engine::Layout;
use serde_json::Value;

use crate::console::{Console, usage};
use crate::export_index;
use crate::output::{Grid, TableFormat, counted, grouped, is_stdout, typed};
use crate::runs::{check_output, read_named_queries};
use crate::search::DocTexts;
use crate::settings::described_choice;

const EXAMPLES: &str = "\
Vectors: the dot product of the vectors of a query and a document is the score of a learnt model
(of the learnt part of a mix), so that any vector engine ranks as the model does. about.json in the
folder has the formula of the score.

Synonyms: words of documents near each word of queries, as rules (car => car, automobile) for
the engine's search analyser, after lower-casing and before stemming.

Datasets: an import of tsv or parquet yields the same dataset (the command is printed); beir and
trec have integers only: training clicks become the grades of train.

Indexes: documents, events and judgments that the service has received; the index may be served
meanwhile.

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

/// Flags that conflict with those of vectors, of datasets and of synonyms.
const NOT_VECTORS: [&str; 5] = ["synonyms", "format", "events", "judgments", "documents"];
const NOT_DATASETS: [&str; 5] = ["vectors", "synonyms", "events", "judgments", "documents"];
const NOT_SYNONYMS: [&str; 5] = ["vectors", "format", "events", "judgments", "documents"];

/// Export vectors or synonyms of a model, a dataset, or the contents of an index.
#[derive(Args)]
#[command(group = ArgGroup::new("what").required(true), after_help = EXAMPLES)]
pub struct ExportArgs {
    /// Model folder, dataset folder or folder of an index.
    source: PathBuf,

    /// Export the embeddings of a learnt model.
    #[arg(long, value_name = "FORMAT", group = "what",
        value_parser = described_choice::<VectorFormat>(&VECTOR_FORMATS))]
    vectors: Option<VectorFormat>,

    /// Export the synonyms that a model has learnt.
    #[arg(long, value_name = "FORMAT", group = "what",
        value_parser = described_choice::<SynonymFormat>(&SYNONYM_FORMATS))]
    synonyms: Option<SynonymFormat>,

    /// Export a dataset.
    #[arg(long, value_name = "FORMAT", group = "what",
        value_parser = described_choice::<DatasetFormat>(&DATASET_FORMATS))]
    format: Option<DatasetFormat>,

    /// Export the clicks and impressions of an index, as a log that `liken import --events` reads
    /// (- for standard output).
    #[arg(long, value_name = "FILE.jsonl", group = "what", conflicts_with = "output")]
    events: Option<PathBuf>,

    /// Export the judgments of an index, as qrels with the texts of the queries.
    #[arg(long, value_name = "DIR", group = "what", conflicts_with = "output")]
    judgments: Option<PathBuf>,

    /// Export the current documents of an index (- for standard output).
    #[arg(long, value_name = "FILE.jsonl", group = "what", conflicts_with = "output")]
    documents: Option<PathBuf>,

    /// Folder to write, or, for synonyms, the file (- for standard output).
    #[arg(short, long, value_name = "PATH",
        required_unless_present_any = ["events", "judgments", "documents"])]
    output: Option<PathBuf>,

    /// Replace the output if it exists.
    #[arg(long)]
    force: bool,

    /// Sets of vectors.
    #[arg(long, value_name = "SET,…", value_delimiter = ',', conflicts_with_all = NOT_VECTORS,
        default_values = ["documents", "queries"],
        value_parser = described_choice::<VectorSet>(&VECTOR_SETS))]
    of: Vec<VectorSet>,

    /// Embed these queries (id<TAB>text, or only the text) instead of the dataset's.
    #[arg(long, value_name = "FILE", conflicts_with_all = NOT_VECTORS)]
    queries: Option<PathBuf>,

    /// Number the queries of a dataset q1, q2, … instead of keeping their ids.
    #[arg(long, conflicts_with_all = NOT_DATASETS)]
    number_queries: bool,

    /// Synonyms with at least this cosine.
    #[arg(long, value_name = "X", conflicts_with_all = NOT_SYNONYMS,
        default_value_t = SynonymParams::default().min_score)]
    min_score: f64,

    /// Limit of synonyms per word.
    #[arg(long, value_name = "N", conflicts_with_all = NOT_SYNONYMS,
        default_value_t = SynonymParams::default().per_word)]
    per_word: usize,

    /// Only words in at least N training queries and synonyms in at least N training documents.
    #[arg(long, value_name = "N", conflicts_with_all = NOT_SYNONYMS,
        default_value_t = SynonymParams::default().min_count)]
    min_count: u32,

    /// Write stems instead of words, for a filter after the same stemmer.
    #[arg(long, conflicts_with_all = NOT_SYNONYMS)]
    stems: bool,

    /// Dataset folder of the model, if it was moved since training (for the words of synonyms).
    #[arg(long, value_name = "DIR", conflicts_with_all = NOT_SYNONYMS)]
    dataset: Option<PathBuf>,
}

const VECTOR_FORMATS: [(&str, &str); 3] = [
    ("npy", "NumPy arrays, and files with the ids"),
    ("jsonl", "One JSON object per line: id and vector"),
    ("safetensors", "One safetensors file, and files with the ids"),
];

const VECTOR_SETS: [(&str, &str); 3] = [
    ("documents", "One vector per document"),
    ("queries", "One vector per query"),
    ("words", "Two vectors per word: as a word of queries and as a word of documents"),
];

const SYNONYM_FORMATS: [(&str, &str); 3] = [
    ("solr", "A file for Solr, and for synonyms_path of Elasticsearch and OpenSearch"),
    ("elasticsearch", "The body of a request to Elasticsearch's synonyms API"),
    ("tsv", "word, synonym, score"),
];

const DATASET_FORMATS: [(&str, &str); 4] = [
    ("beir", "corpus.jsonl, queries.jsonl, qrels/{train,dev,test}.tsv"),
    ("trec", "documents.trec, topics.trec, qrels.{train,validation,test}"),
    ("tsv", "clicks.tsv, documents.jsonl, queries.tsv, judgments.tsv"),
    ("parquet", "The tables of tsv as Parquet"),
];

/// Elasticsearch's limit of rules in a synonyms set.
const ELASTICSEARCH_RULES: usize = 10_000;

/// Pairs of synonyms to show.
const SHOWN: usize = 20;

impl ExportArgs {
    /// The value of `--output`, which `--events`, `--judgments` and `--documents` make optional.
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
    if args.synonyms.is_none() && is_stdout(args.output()) {
        return Err(usage("-o -: expected a folder, for vectors and datasets are folders"));
    }
    let refused = |problem| Err(usage(format!("{}: {problem}", source.display())));
    if Layout::is_index(source) {
        return refused(
            "is an index; add --events, --judgments or --documents, or name a model or a dataset",
        );
    }
    let (kind, _) = Folder::<Value>::peek(source)?;
    match (kind, args.vectors, args.synonyms, args.format) {
        (FolderKind::Model, Some(format), ..) => vectors(args, format, console),
        (FolderKind::Model, _, Some(format), _) => synonyms(args, format, console),
        (FolderKind::Dataset, _, _, Some(format)) => dataset(args, format, console),
        (FolderKind::Dataset, ..) => refused(
            "is a dataset, which has no vectors and synonyms; name a model, or add --format",
        ),
        (FolderKind::Ranker, ..) => {
            refused("is a ranker, which cannot be exported; name a model or a dataset")
        }
        (FolderKind::Model, ..) => refused(
            "is a model, and --format is for datasets; name a dataset, or add --vectors or --synonyms",
        ),
    }
}

fn dataset(args: &ExportArgs, format: DatasetFormat, console: &Console) -> anyhow::Result<()> {
    let dataset = console.run(|_| Dataset::open(&args.source))?;
    let export = DatasetExport { dataset: &dataset, format, number_queries: args.number_queries };
    let (about, files) = console.run(|run| export.write(args.output(), args.force, run))?;
    about.warnings.iter().for_each(|warning| console.warn(warning));
    let mut out = console.report_out();
    let counts = about.counts;
    writeln!(
        out,
        "{}, {}, {}, {} + {} held-out pairs",
        counted(counts.queries, "query"),
        counted(counts.documents, "document"),
        counted(counts.pairs, "training pair"),
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
        writeln!(out, "to import it: liken import {} -o data", words.join(" "))?;
    }
    Ok(out.flush()?)
}

fn vectors(args: &ExportArgs, format: VectorFormat, console: &Console) -> anyhow::Result<()> {
    if args.queries.is_some() && !args.of.contains(&VectorSet::Queries) {
        return Err(usage("--queries is for the vectors of queries; add queries to --of"));
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
    let vectors = Vectors { model: &model, format, sets: &args.of, queries: queries.as_deref() };
    let (about, files) = console.run(|run| vectors.write(args.output(), args.force, run))?;
    about.notes.iter().for_each(|note| console.warn(note));
    let mut out = console.report_out();
    let mut grid = Grid::new(["vectors", "count", "dim"]);
    for set in &about.sets {
        grid.row([set.name.clone(), grouped(set.count), set.dim.to_string()]);
    }
    grid.write(&mut out, TableFormat::Table)?;
    writeln!(out, "\n{}", about.score)?;
    written(args, &files, &mut out)
}

/// Lists the files that were written.
fn written(args: &ExportArgs, files: &[ExportedFile], out: &mut impl Write) -> anyhow::Result<()> {
    let names: Vec<&str> = files.iter().map(|file| file.name.as_str()).collect();
    writeln!(out, "wrote {}: {}, about.json", args.output().display(), names.join(", "))?;
    Ok(out.flush()?)
}

fn synonyms(args: &ExportArgs, format: SynonymFormat, console: &Console) -> anyhow::Result<()> {
    check_output(args.output(), args.force)?;
    let model = console.run(|_| Model::open(&args.source))?;
    let texts = (!args.stems).then(|| DocTexts::open(&model, args.dataset.as_deref()));
    if let Some(reason) = texts.as_ref().and_then(|texts| texts.missing.as_ref()) {
        bail!(
            "the model has stems only, and the dataset with their words is missing: {reason}\nhelp: --dataset DIR names the folder of the dataset; --stems writes the stems"
        );
    }
    let dataset = texts.as_ref().and_then(|texts| texts.dataset.as_ref());
    let params = SynonymParams {
        min_score: args.min_score,
        per_word: args.per_word,
        min_count: args.min_count,
    };
    let synonyms = console.run(|run| Synonyms::of(&model, dataset, &params, run))?;
    let pairs = synonyms.pairs();
    if pairs.is_empty() {
        return Err(liken::Error::Empty {
            what: "no two words are near enough for synonyms".into(),
            advice: "lower --min-score or --min-count, or train pls or rmls with start = spectral: document words of a random start are scattered; a model of clicks alone, such as lsi_qd, has no words".into(),
        }
        .into());
    }
    synonyms.notes.iter().for_each(|note| console.warn(note));
    let n_rules = synonyms.n_rules();
    if format == SynonymFormat::Elasticsearch && n_rules > ELASTICSEARCH_RULES {
        console.warn(format!(
            "{} rules: Elasticsearch allows {} in a set; raise --min-score or --min-count, or use --synonyms solr",
            grouped(n_rules),
            grouped(ELASTICSEARCH_RULES)
        ));
    }
    console.write_to(args.output(), |mut out| Ok(synonyms.write(&mut out, format)?))?;
    if is_stdout(args.output()) {
        return Ok(());
    }
    let mut out = console.report_out();
    let mut grid = Grid::new(["score", "word of queries", "word of documents"]).left(&[1, 2]);
    for pair in pairs.iter().take(SHOWN) {
        grid.row([format!("{:.3}", pair.score), pair.word.clone(), pair.synonym.clone()]);
    }
    grid.write(&mut out, TableFormat::Table)?;
    if pairs.len() > SHOWN {
        writeln!(out, "and {}", counted(pairs.len() - SHOWN, "more pair"))?;
    }
    let rules = counted(n_rules, "rule");
    writeln!(out, "wrote {}: {rules}", args.output().display())?;
    Ok(out.flush()?)
}
