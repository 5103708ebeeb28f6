//! `liken info`: describes a dataset, a model, a ranker, an index or a run.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write;
use std::path::{Path, PathBuf};

use anyhow::bail;
use clap::Args;
use liken::data::{DatasetAbout, text_lines};
use liken::file::{Folder, FolderKind};
use liken::matchers::ModelAbout;
use liken::rank::{Ranker, RankerAbout};
use liken_engine::Layout;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use crate::console::Console;
use crate::output::{Format, counted, grouped, json as write_json};
use crate::{info_index, rank};

/// Describe a dataset, a model, a ranker, an index or a run file.
#[derive(Args)]
#[command(after_help = "\
Examples:
  liken info DATASET
  liken info model --format json
  liken info index
  liken info run.trec")]
pub struct InfoArgs {
    /// Dataset, model, ranker or index folder, or TREC run file.
    path: PathBuf,

    /// Output format.
    #[arg(long, value_enum, default_value_t)]
    format: Format,
}

pub fn run(args: &InfoArgs, console: &Console) -> anyhow::Result<()> {
    let mut out = console.out();
    let path = &args.path;
    if path.is_file() {
        return run_file(path, args.format, &mut out);
    }
    if Layout::new(path).about().exists() {
        return info_index::describe(path, args.format, &mut out);
    }
    let (kind, _) = Folder::<Value>::peek(path)?;
    let described = match kind {
        FolderKind::Dataset => {
            let folder: Folder<DatasetAbout> = console.run(|_| Folder::open(path, kind))?;
            if args.format == Format::Table {
                dataset(&folder, &mut out)?;
            }
            json!({ "identity": folder.identity(), "manifest": folder.manifest })
        }
        FolderKind::Model => {
            let folder: Folder<ModelAbout> = console.run(|_| Folder::open(path, kind))?;
            if args.format == Format::Table {
                model(&folder, &mut out)?;
            }
            json!({ "identity": folder.identity(), "manifest": folder.manifest })
        }
        FolderKind::Ranker => {
            let folder: Folder<RankerAbout> = console.run(|_| Folder::open(path, kind))?;
            let ranker = Ranker::open(path)?;
            if args.format == Format::Table {
                rank::describe(&ranker, &folder.path, &mut out)?;
            }
            json!({ "identity": folder.identity(), "manifest": folder.manifest,
                    "features": ranker.importance() })
        }
    };
    if args.format == Format::Json {
        write_json(&mut out, &described)?;
    }
    Ok(out.flush()?)
}

/// Writes the identity of a folder and the version that wrote it.
fn origin<T: DeserializeOwned>(folder: &Folder<T>, out: &mut impl Write) -> anyhow::Result<()> {
    writeln!(out, "identity    {}", folder.identity())?;
    let manifest = &folder.manifest;
    Ok(writeln!(out, "written by  liken {}, format {}", manifest.liken, manifest.format)?)
}

fn dataset(folder: &Folder<DatasetAbout>, out: &mut impl Write) -> anyhow::Result<()> {
    let about = &folder.manifest.about;
    let counts = &about.counts;
    writeln!(out, "dataset     {}", folder.path.display())?;
    origin(folder, out)?;
    writeln!(out, "queries     {}", grouped(counts.queries))?;
    writeln!(out, "documents   {}", grouped(counts.documents))?;
    let (pairs, clicks) = (counts.pairs, counts.clicks.round());
    writeln!(out, "training    {}, {}", counted(pairs, "pair"), counted(clicks, "click"))?;
    for (name, (queries, pairs)) in [("validation", counts.validation), ("test", counts.test)] {
        let queries = counted(queries, "query");
        writeln!(out, "{name:<11} {queries}, {}", counted(pairs, "judged pair"))?;
    }
    let split = &about.split;
    writeln!(out, "split       by {}, seed {}", plain(&split.by)?, split.seed)?;
    writeln!(out, "judged by   {}", plain(&about.evidence)?.replace('-', " "))?;
    if let Some(min) = about.min_clicks {
        writeln!(out, "filter      training pairs with fewer than {min} clicks dropped")?;
    }
    for source in &about.sources {
        writeln!(
            out,
            "source      {} ({}, {} bytes, sha256 {}…)",
            source.name,
            source.role,
            source.bytes,
            head(&source.sha256)
        )?;
    }
    for line in &about.report {
        writeln!(out, "report      {line}")?;
    }
    Ok(())
}

fn model(folder: &Folder<ModelAbout>, out: &mut impl Write) -> anyhow::Result<()> {
    let about = &folder.manifest.about;
    writeln!(out, "model       {}", folder.path.display())?;
    writeln!(out, "method      {}", about.name)?;
    origin(folder, out)?;
    writeln!(
        out,
        "trained on  {}, {}, {}, {}",
        counted(about.counts.documents, "document"),
        counted(about.counts.queries, "query"),
        counted(about.counts.terms, "term"),
        counted(about.counts.pairs, "training pair")
    )?;
    writeln!(
        out,
        "dataset     {} ({}…)",
        about.dataset.path.display(),
        head(&about.dataset.identity)
    )?;
    if let Some(evidence) = &about.evidence {
        writeln!(out, "evidence    {evidence}")?;
    }
    for part in &about.parts {
        writeln!(out, "part        {} × {}", part.weight, part.params.name())?;
        let Value::Object(tagged) = serde_json::to_value(&part.params)? else { continue };
        if let Some(params) = tagged.get("params") {
            let mut flat = BTreeMap::new();
            flatten("", params, &mut flat);
            for (key, value) in flat {
                writeln!(out, "            {key} = {value}")?;
            }
        }
    }
    let times: Value = folder.read_json("times.json").unwrap_or(Value::Null);
    if let Some(seconds) = times["seconds"].as_f64() {
        writeln!(out, "trained     in {seconds:.1} s with {} threads", times["threads"])?;
    }
    Ok(())
}

/// The first digits of a checksum, enough to tell two apart.
fn head(checksum: &str) -> String {
    checksum.chars().take(12).collect()
}

fn flatten(prefix: &str, value: &Value, flat: &mut BTreeMap<String, String>) {
    match value {
        Value::Object(table) if !table.is_empty() => {
            for (key, value) in table {
                let key = if prefix.is_empty() { key.clone() } else { format!("{prefix}.{key}") };
                flatten(&key, value, flat);
            }
        }
        other => {
            flat.insert(prefix.to_owned(), other.to_string());
        }
    }
}

fn plain(value: &impl serde::Serialize) -> anyhow::Result<String> {
    Ok(serde_json::to_value(value)?.as_str().unwrap_or_default().to_owned())
}

fn run_file(path: &Path, format: Format, out: &mut impl Write) -> anyhow::Result<()> {
    let (mut lines, mut queries, mut tags) =
        (0usize, BTreeMap::<String, usize>::new(), BTreeSet::<String>::new());
    for line in text_lines(path, liken::Run::silent())? {
        let (number, line) = line?;
        let fields: Vec<&str> = line.split_whitespace().collect();
        let [query, _, _, _, score, tag] = fields[..] else {
            bail!(
                "{}:{}: expected the six columns of a TREC run (qid Q0 docno rank score tag), found {}\nhelp: name a folder of liken (dataset, model, ranker, index) or a run file",
                path.display(),
                number,
                fields.len()
            );
        };
        if score.parse::<f64>().is_err() {
            bail!("{}:{}: expected a number as score, found {score:?}", path.display(), number);
        }
        lines += 1;
        *queries.entry(query.to_owned()).or_default() += 1;
        tags.insert(tag.to_owned());
    }
    let most = queries.values().max().copied().unwrap_or(0);
    match format {
        Format::Json => write_json(
            out,
            &json!({ "kind": "run", "lines": lines, "queries": queries.len(), "most": most, "tags": tags }),
        )?,
        Format::Table => {
            writeln!(out, "run         {}", path.display())?;
            writeln!(out, "queries     {}", grouped(queries.len()))?;
            writeln!(out, "lines       {} (at most {} per query)", grouped(lines), grouped(most))?;
            writeln!(out, "tags        {}", Vec::from_iter(tags).join(", "))?;
        }
    }
    Ok(out.flush()?)
}
