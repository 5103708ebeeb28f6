//! Flags that several verbs share: how text is read, and the parameters of methods.

use std::path::{Path, PathBuf};

use anyhow::{Context, bail};
use clap::Args;
use liken::Run;
use liken::features::Preparation;
use liken::matchers::{Mixture, Params, methods};
use liken::params::{merge, set_key};
use liken::text::Language;
use serde_json::{Map, Value};

use crate::console::Usage;
use crate::size::parse_size;

/// How text is read.
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

    /// Add runs of up to N words as terms [default: 1].
    #[arg(long, value_name = "N")]
    word_ngrams: Option<usize>,

    /// Add character n-grams as terms, e.g. 3-5; they save misspelt and unseen words.
    #[arg(long, value_name = "A-B")]
    char_ngrams: Option<String>,
}

/// How much memory fits may take.
#[derive(Args, Default, Clone, Copy)]
pub struct MemoryArgs {
    /// Memory that the program may take, as in 500MiB or 20GiB; a fit that would not fit is
    /// refused before it starts [default: four fifths of what is free].
    #[arg(long, value_name = "SIZE", value_parser = parse_size)]
    max_memory: Option<u64>,
}

/// Parameters of methods.
#[derive(Args, Default)]
pub struct ParamArgs {
    /// Latent dimensions of every learnt model [default: the method's].
    #[arg(long, value_name = "N")]
    dim: Option<usize>,

    /// Seed of everything random.
    #[arg(long, value_name = "N")]
    seed: Option<u64>,

    /// What is made of the clicks: as they are (clicks), by how rarely their documents were
    /// shown (rates), by how unlikely they were seen at their ranks (propensity), or the best
    /// of these that the log allows (auto).
    #[arg(long, value_name = "WHICH", value_parser = ["auto", "clicks", "rates", "propensity"])]
    evidence: Option<String>,

    /// Set any parameter, e.g. --set response=log; in a mix or a comparison with the model's name before it: --set rmls.response=log.
    #[arg(long = "set", value_name = "KEY=VALUE")]
    set: Vec<String>,

    /// Read parameters from a TOML file; in a mix or a comparison, a table for each model.
    #[arg(long, value_name = "FILE")]
    params: Option<PathBuf>,
}

/// All settings of a run, resolved.
pub struct Settings {
    /// How text is read.
    pub preparation: Preparation,
    /// The models, by name, in order of first appearance.
    pub models: Vec<(String, Params)>,
}

impl MemoryArgs {
    /// The same run within the memory given.
    pub fn within<'a>(&self, run: &Run<'a>) -> Run<'a> {
        self.max_memory.map_or(*run, |memory| run.within(memory))
    }
}

impl ParamArgs {
    /// The seed, if one was given.
    pub fn seed(&self) -> Option<u64> {
        self.seed
    }

    /// The dimension, if one was given.
    pub fn dim(&self) -> Option<usize> {
        self.dim
    }
}

/// A value of one of core's enums by the name it has in files.
pub fn named<T: serde::de::DeserializeOwned>(name: &str) -> anyhow::Result<T> {
    Ok(serde_json::from_value(Value::String(name.to_owned()))?)
}

/// Resolves flags, `--params` and `--set` for the models that `mixtures` name: defaults, then
/// the file, then the flags, then `--set`.
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
            params.set_seed(seed);
        }
    }
    for assignment in &args.set {
        let Some((key, value)) = assignment.split_once('=') else {
            return Err(Usage(format!(
                "--set {assignment}: expected KEY=VALUE, such as --set response=log"
            ))
            .into());
        };
        set_one(key.trim(), value.trim(), &mut preparation, &mut models).map_err(|error| {
            match error.downcast_ref() {
                Some(liken::Error::Setting { .. }) => error.context(format!("--set {assignment}")),
                _ => error,
            }
        })?;
    }
    // Only together do they make sense: `char_ngrams` needs both of its lengths.
    let preparation = prepared(&preparation).with_context(|| {
        let given = args.set.iter().filter(|assignment| assignment.starts_with("preparation."));
        given.map(|assignment| format!("--set {assignment}")).collect::<Vec<_>>().join(" ")
    })?;
    models.iter().try_for_each(|(_, params)| params.check())?;
    Ok(Settings { preparation, models })
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
            format!("--set {key}={value}: {name} does not take part; the models are {all}")
        }
        _ => format!(
            "--set {key}={value}: say which model is meant, one of {all}: --set {}.{key}={value}",
            names[0]
        ),
    };
    Err(Usage(message).into())
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
    // What is wrong in a file is the file's fault, not that of the line typed.
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
                bail!("{shown}: {name} is not a model that takes part");
            }
        }
    }
    Ok(())
}

/// How text is read, from its JSON.
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
        _ => Err(Usage(format!("--char-ngrams {range}: expected two lengths, such as 3-5")).into()),
    }
}
