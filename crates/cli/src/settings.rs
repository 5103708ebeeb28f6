//! Flags that several subcommands share: parameters of methods, text analysis, memory.

use std::path::{Path, PathBuf};

use std::io::Write;

use anyhow::{Context, bail};
use clap::Args;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use liken::Run;
use liken::features::Preparation;
use liken::matchers::{Mixture, Params, methods, published_methods};
use liken::params::{ParamDoc, merge, set_key};
use liken::text::Language;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::console::usage;
use crate::size::parse_size;

/// Flags of commands that fit models.
#[derive(Args)]
pub struct FitArgs {
    #[command(flatten)]
    pub params: ParamArgs,

    #[command(flatten)]
    text: TextArgs,

    #[command(flatten)]
    memory: MemoryArgs,
}

/// Flags for text analysis.
#[derive(Args)]
pub struct TextArgs {
    /// Language of stop words and stemming: en, de, fr, … or none.
    #[arg(long, value_name = "CODE")]
    language: Option<Language>,

    /// Fields of the documents to read [default: title,body,url].
    #[arg(long, value_name = "F,F", value_delimiter = ',')]
    fields: Option<Vec<String>>,

    /// Keep terms that occur in at least this many training texts [default: 1].
    #[arg(long, value_name = "N")]
    min_df: Option<u32>,

    /// Keep only the N terms that occur in the most training documents [default: all].
    #[arg(long, value_name = "N")]
    max_terms: Option<usize>,

    /// Add word n-grams of up to N words as terms [default: 1].
    #[arg(long, value_name = "N")]
    word_ngrams: Option<usize>,

    /// Add character n-grams as terms, e.g. 3-5; they help with misspelt and unseen words.
    #[arg(long, value_name = "A-B")]
    char_ngrams: Option<String>,
}

/// The memory limit of fits.
#[derive(Args, Default, Clone, Copy)]
pub struct MemoryArgs {
    /// Memory limit, such as 500MiB or 20GiB; a fit that needs more is refused before it starts
    /// [default: four fifths of the free memory].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_memory: Option<u64>,
}

/// Flags for parameters of methods.
#[derive(Args, Default)]
pub struct ParamArgs {
    /// Latent dimensions of every learnt model [default: the method's].
    #[arg(long, value_name = "N")]
    pub dim: Option<usize>,

    /// Random seed.
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Take the settings of the papers where a model has one: rmls, pls, ssi, svdfeature, rlsi, grlsi.
    /// --params, the other flags and --set change them.
    #[arg(long)]
    published: bool,

    /// Weights of clicks: their number (clicks), divided by the impressions of the document (rates)
    /// or by the examination propensity of its rank (propensity), or the best of these that the log
    /// allows (auto).
    #[arg(long, value_name = "WHICH", value_parser = ["auto", "clicks", "rates", "propensity"])]
    evidence: Option<String>,

    /// Set any parameter, e.g. --set response=log; in a mix or a comparison with the model's name
    /// before it: --set rmls.response=log.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Read parameters from a TOML file; in a mix or a comparison, it has one table per model.
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
}

/// The parameters of a run: defaults, files and flags merged.
pub struct Settings {
    /// Analysis of text, and weights of clicks.
    pub preparation: Preparation,
    /// The models, by name, in order of first appearance.
    pub models: Vec<(String, Params)>,
}

impl MemoryArgs {
    /// `run` with the memory limit of the flags.
    pub fn within<'a>(&self, run: &Run<'a>) -> Run<'a> {
        self.max_memory.map_or(*run, |memory| run.with_memory(memory))
    }
}

impl FitArgs {
    /// [`resolve`] with these flags.
    pub fn resolve(&self, mixtures: &[Mixture]) -> anyhow::Result<Settings> {
        resolve(&self.text, &self.params, mixtures)
    }

    /// `run` with the memory limit of the flags.
    pub fn within<'a>(&self, run: &Run<'a>) -> Run<'a> {
        self.memory.within(run)
    }
}

/// Parses one of `names`, the names in files of values of one of the libraries' enums.
pub fn choice<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    names: impl IntoIterator<Item = impl Into<PossibleValue>>,
) -> impl TypedValueParser<Value = T> {
    PossibleValuesParser::new(names)
        .try_map(|name| serde_json::from_value::<T>(Value::String(name)))
}

/// [`choice`] with a line of help for each name.
pub fn described_choice<T: DeserializeOwned + Clone + Send + Sync + 'static>(
    names: &'static [(&'static str, &'static str)],
) -> impl TypedValueParser<Value = T> {
    choice(names.iter().map(|&(name, help)| PossibleValue::new(name).help(help)))
}

/// The key and the value in `text`, which was given to `flag`.
pub fn assignment<'t>(
    flag: &str,
    text: &'t str,
    example: &str,
) -> anyhow::Result<(&'t str, &'t str)> {
    let (key, value) = text.split_once('=').ok_or_else(|| {
        usage(format!("{flag} {text}: expected KEY=VALUE, such as {flag} {example}"))
    })?;
    Ok((key.trim(), value.trim()))
}

/// Every method once: some have two names.
pub fn every_method() -> Vec<String> {
    let mut seen: Vec<Params> = Vec::new();
    let new = |(name, _): &(&str, &str)| {
        let params = Params::named(name).ok().filter(|params| !seen.contains(params));
        params.map(|params| seen.push(params)).is_some()
    };
    methods().filter(new).map(|(name, _)| name.to_owned()).collect()
}

/// `names` with every method in the place of `all`.
pub fn expand_all(names: &[String]) -> Vec<String> {
    let expanded = |name: &String| if name == "all" { every_method() } else { vec![name.clone()] };
    names.iter().flat_map(expanded).collect()
}

/// The mixes that `names` spell.
pub fn parse_mixtures(names: &[String]) -> liken::Result<Vec<Mixture>> {
    names.iter().map(|name| Mixture::parse(name)).collect()
}

/// Writes parameters with their defaults and their documentation.
pub fn write_docs(out: &mut impl Write, docs: &[ParamDoc]) -> anyhow::Result<()> {
    if docs.is_empty() {
        writeln!(out, "  none")?;
    }
    for doc in docs {
        writeln!(out, "  {} [default: {}]", doc.key, doc.default)?;
        for line in doc.about.lines() {
            writeln!(out, "      {line}")?;
        }
    }
    Ok(())
}

/// Resolves flags, `--params` and `--set` for the models that `mixtures` name: defaults, then
/// published settings, then the file, then the flags, then `--set`.
pub fn resolve(
    text: &TextArgs,
    args: &ParamArgs,
    mixtures: &[Mixture],
) -> anyhow::Result<Settings> {
    let mut models: Vec<(String, Params)> = Vec::new();
    for (_, name) in mixtures.iter().flat_map(|mixture| &mixture.parts) {
        if !models.iter().any(|(known, _)| known == name) {
            models.push((name.clone(), Params::named(name)?));
        }
    }
    if args.published {
        set_published(&mut models)?;
    }
    let mut preparation = serde_json::to_value(Preparation::default())?;
    if let Some(path) = &args.params {
        merge_file(path, &mut preparation, &mut models)?;
    }
    text.apply(&mut preparation)?;
    if let Some(evidence) = &args.evidence {
        preparation["evidence"] = evidence.as_str().into();
    }
    for (_, params) in &mut models {
        if let Some(dim) = args.dim.filter(|_| params.has_dim()) {
            params.set("dim", &dim.to_string())?;
        }
        if let Some(seed) = args.seed {
            params.set_seed(seed)?;
        }
    }
    for assignment in &args.set {
        let (key, value) = self::assignment("--set", assignment, "response=log")?;
        set_one(key, value, &mut preparation, &mut models).map_err(|error| {
            match error.downcast_ref() {
                Some(liken::Error::Setting { .. }) => error.context(format!("--set {assignment}")),
                _ => error,
            }
        })?;
    }
    // All keys are set before they are checked: `char_ngrams` needs both of its lengths.
    let preparation = prepared(&preparation).with_context(|| {
        let given = args.set.iter().filter(|assignment| assignment.starts_with("preparation."));
        given.map(|assignment| format!("--set {assignment}")).collect::<Vec<_>>().join(" ")
    })?;
    models.iter().try_for_each(|(_, params)| params.check())?;
    Ok(Settings { preparation, models })
}

/// Sets the published settings of the models that have one.
fn set_published(models: &mut [(String, Params)]) -> anyhow::Result<()> {
    let mut with: Vec<_> =
        models.iter_mut().filter(|(_, params)| !params.published().is_empty()).collect();
    if with.is_empty() {
        let known: Vec<&str> = published_methods().collect();
        let known = known.join(", ");
        return Err(usage(format!(
            "--published: expected a model with a published setting: {known}"
        )));
    }
    Ok(with.iter_mut().try_for_each(|(_, params)| params.set_published())?)
}

fn set_one(
    key: &str,
    value: &str,
    preparation: &mut Value,
    models: &mut [(String, Params)],
) -> anyhow::Result<()> {
    if let Some(key) = key.strip_prefix("preparation.") {
        return Ok(set_key(preparation, key, value)?);
    }
    if let Some((name, rest)) = key.split_once('.')
        && let Some((_, params)) = models.iter_mut().find(|(known, _)| known == name)
    {
        return Ok(params.set(rest, value)?);
    }
    if let [(_, params)] = models {
        return Ok(params.set(key, value)?);
    }
    let names: Vec<&str> = models.iter().map(|(name, _)| name.as_str()).collect();
    let all = names.join(", ");
    let message = match key.split_once('.') {
        Some((name, _)) if methods().any(|(method, _)| method == name) => {
            format!("--set {key}={value}: {name} is none of the models, which are {all}")
        }
        _ => format!(
            "--set {key}={value}: expected the name of a model ({all}) before the key, as in --set {}.{key}={value}",
            names[0]
        ),
    };
    Err(usage(message))
}

fn merge_file(
    path: &Path,
    preparation: &mut Value,
    models: &mut [(String, Params)],
) -> anyhow::Result<()> {
    let shown = path.display();
    let text = std::fs::read_to_string(path).map_err(liken::Error::io("read", path))?;
    let mut table: Map<String, Value> =
        toml::from_str(&text).with_context(|| format!("{shown}: not TOML"))?;
    let mut part = |name: &str| match table.remove(name) {
        None => Ok(None),
        Some(Value::Object(given)) => Ok(Some(given)),
        Some(other) => bail!("{shown}: {name} = {other}: expected a table, [{name}]"),
    };
    // Context in front of the error: an error in a file is none of usage.
    let wrong = |place: &str, error: anyhow::Error| {
        let place = if place.is_empty() { String::new() } else { format!("[{place}]: ") };
        anyhow::anyhow!("{shown}: {place}{error}")
    };
    if let Some(given) = part("preparation")? {
        merge(preparation, &given);
        prepared(preparation).map_err(|error| wrong("preparation", error))?;
    }
    let laid = |params: &mut Params, given: &Map<String, Value>| -> anyhow::Result<()> {
        params.merge(given)?;
        Ok(params.check()?)
    };
    for (name, params) in models.iter_mut() {
        if let Some(given) = part(name)? {
            laid(params, &given).map_err(|error| wrong(name, error))?;
        }
    }
    match models {
        [(_, params)] => laid(params, &table).map_err(|error| wrong("", error))?,
        _ => {
            if let Some(name) = table.keys().next() {
                bail!("{shown}: [{name}] is none of the models");
            }
        }
    }
    Ok(())
}

/// Preparation from its JSON.
fn prepared(preparation: &Value) -> anyhow::Result<Preparation> {
    serde_json::from_value(preparation.clone())
        .map_err(|error| liken::Error::Setting { problem: error.to_string() }.into())
}

impl TextArgs {
    fn apply(&self, preparation: &mut Value) -> anyhow::Result<()> {
        if let Some(language) = self.language {
            preparation["analyzer"]["language"] = serde_json::to_value(language)?;
        }
        if let Some(fields) = &self.fields {
            let fields: Vec<&str> = fields.iter().map(|field| field.trim()).collect();
            preparation["fields"] = serde_json::to_value(fields)?;
        }
        if let Some(min_df) = self.min_df {
            preparation["min_df"] = min_df.into();
        }
        if let Some(most) = self.max_terms {
            preparation["max_terms"] = most.into();
        }
        if let Some(n) = self.word_ngrams {
            preparation["analyzer"]["word_ngrams"] = n.into();
        }
        if let Some(range) = &self.char_ngrams {
            preparation["analyzer"]["char_ngrams"] = char_ngrams(range)?;
        }
        Ok(())
    }
}

fn char_ngrams(range: &str) -> anyhow::Result<Value> {
    let (from, to) = range.split_once('-').unwrap_or((range, range));
    match (from.trim().parse::<usize>(), to.trim().parse::<usize>()) {
        (Ok(from), Ok(to)) => Ok(serde_json::json!({ "min": from, "max": to })),
        _ => Err(usage(format!("--char-ngrams {range}: expected two lengths, such as 3-5"))),
    }
}
