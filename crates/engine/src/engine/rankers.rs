//! The trained rankers of an index and the sources of their features.
//!
//! A feature is the score of a served model, or it is extracted from words, clicks and numbers of the
//! documents by the code that makes training tables ([`Extractor`]). The counts behind extracted
//! features never change after the build: they are those of the first model that was trained on the
//! index's own dataset or, if rankers need positions of words and that model has none, counts of
//! their own. So a feature keeps its meaning when models are exchanged; only `model(NAME)` is the
//! score of the new model.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use liken::Run;
use liken::data::Dataset;
use liken::matchers::Model;
use liken::rank::Ranker;
use liken::rank::features::{Extractor, Group, StaticFeatures};

use super::layout::{IndexAbout, Layout, model_folder, preparation_of};
use super::served::ServedModel;
use crate::Error;
use crate::store::ModelEntry;

/// The name by which a search asks for no ranker.
pub(crate) const NONE: &str = "none";

/// The rankers of an index.
#[derive(Default)]
pub(crate) struct Rankers {
    all: Vec<Arc<ServedRanker>>,
}

/// A loaded ranker.
pub(crate) struct ServedRanker {
    pub name: String,
    pub ranker: Ranker,
    /// One per feature of the ranker.
    pub sources: Vec<FeatureSource>,
    /// The features that are not scores of models, if there are any.
    pub extracted: Option<ExtractedFeatures>,
}

/// The source of a feature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum FeatureSource {
    /// The score of the model of this name.
    Model(String),
    /// The feature at this position of [`ExtractedFeatures::extractor`].
    Extracted(usize),
}

/// Extracted features, and the counts behind them.
#[derive(Clone)]
pub(crate) struct ExtractedFeatures {
    /// A model with counts of the index's dataset.
    pub model: Arc<Model>,
    pub extractor: Extractor,
}

impl Rankers {
    /// Opens the rankers of an index with the models `entries`, of which `opened` are in memory. An
    /// error if a ranker needs features that the index cannot extract.
    pub fn open(
        layout: &Layout,
        about: &IndexAbout,
        dataset: Option<&Dataset>,
        entries: &[ModelEntry],
        opened: &[Arc<ServedModel>],
        run: &Run<'_>,
    ) -> Result<Self, Error> {
        let found = read(layout)?;
        let models = names_of(entries);
        let groups = groups_of(&found, &models);
        let extracted = match groups.is_empty() {
            true => None,
            false => {
                let model = counted(layout, about, entries, opened)?;
                let dataset = dataset.ok_or_else(|| {
                    Error::internal(format!("{}: cannot be read", layout.dataset().display()))
                })?;
                let fixed = StaticFeatures::of(dataset, &model.counts, &groups, run)?;
                let extractor = Extractor::new(&fixed, &model.counts, Vec::new());
                Some(ExtractedFeatures { model, extractor })
            }
        };
        let mut all = Vec::with_capacity(found.len());
        for (name, ranker) in found {
            all.push(Arc::new(ServedRanker::new(name, ranker, &models, extracted.as_ref())?));
        }
        Ok(Rankers { all })
    }

    /// Their names, sorted.
    pub fn names(&self) -> Vec<String> {
        self.all.iter().map(|named| named.name.clone()).collect()
    }

    /// The ranker of a search; `None` if it asks for none.
    pub fn find(&self, name: Option<&str>) -> Result<Option<Arc<ServedRanker>>, Error> {
        let Some(name) = name.filter(|&name| name != NONE) else { return Ok(None) };
        let found = self.all.iter().find(|named| named.name == name);
        found.map(|named| Some(Arc::clone(named))).ok_or_else(|| {
            let there = match self.all.is_empty() {
                true => "the index has none; rankers are added when it is built".into(),
                false => format!("there are {}, and \"{NONE}\"", self.names().join(", ")),
            };
            Error::invalid(format!("ranker: no ranker is called {name:?}; {there}"))
        })
    }
}

impl ServedRanker {
    /// Finds the source of every feature; an error names those without.
    fn new(
        name: String,
        ranker: Ranker,
        models: &BTreeSet<&str>,
        extracted: Option<&ExtractedFeatures>,
    ) -> Result<Self, Error> {
        let features = &ranker.about.features;
        if features.is_empty() {
            return Err(Error::invalid(format!("ranker {name} has no features")));
        }
        if features.iter().enumerate().all(|(at, feature)| *feature == format!("Column_{at}")) {
            return Err(Error::invalid(format!(
                "ranker {name}: its features have no names but Column_0, Column_1 …, so their \
                 sources are unknown; train it with the feature names of the table"
            )));
        }
        let names = extracted.map(|extracted| extracted.extractor.names()).unwrap_or_default();
        let (mut sources, mut chosen, mut missing) = (Vec::new(), Vec::new(), Vec::new());
        for feature in features {
            if let Some(model) = model_of(feature).filter(|model| models.contains(model)) {
                sources.push(FeatureSource::Model(model.to_owned()));
            } else if let Some(at) = names.iter().position(|name| name == feature) {
                sources.push(FeatureSource::Extracted(chosen.len()));
                chosen.push(at);
            } else {
                missing.push(feature.as_str());
            }
        }
        if !missing.is_empty() {
            return Err(lacking(&name, &missing, models, &names));
        }
        let extracted =
            extracted.filter(|_| !chosen.is_empty()).map(|extracted| ExtractedFeatures {
                model: Arc::clone(&extracted.model),
                extractor: extracted.extractor.only(&chosen),
            });
        Ok(ServedRanker { name, ranker, sources, extracted })
    }
}

/// The error of a ranker with `missing` features.
fn lacking(name: &str, missing: &[&str], models: &BTreeSet<&str>, words: &[String]) -> Error {
    let there: Vec<&str> = models.iter().copied().collect();
    let mut text = format!(
        "ranker {name} needs features that this index cannot extract: {}",
        missing.join(", ")
    );
    let lost: Vec<&str> = missing.iter().filter_map(|feature| scored_by(feature)).collect();
    if let [first, ..] = lost[..] {
        text += &format!(
            "\n  models must have the same names here as in the ranker's table: add the model \
             {first}; the index has {}",
            there.join(", ")
        );
    }
    if lost.len() < missing.len() {
        let made = match words.is_empty() {
            true => "none".to_owned(),
            false => words.join(", "),
        };
        text += &format!(
            "\n  features of words, clicks and numbers in this dataset: {made}; train the ranker on \
             a table of features of this dataset, with the text preparation of the first model"
        );
    }
    Error::invalid(text)
}

/// `NAME` of `model(NAME)`.
fn scored_by(feature: &str) -> Option<&str> {
    feature.strip_prefix("model(")?.strip_suffix(')')
}

/// The name of the model whose score a feature is. As in training, the feature `bm25(all)` is the
/// score of a model called `bm25`, and likewise for the other lexical matchers.
fn model_of(feature: &str) -> Option<&str> {
    let lexical = |name: &&str| {
        [Group::Bm25, Group::Vsm, Group::Lm, Group::LmJm].iter().any(|g| g.name() == *name)
    };
    scored_by(feature).or_else(|| feature.strip_suffix("(all)").filter(lexical))
}

/// The groups of features that rankers need besides the scores of models.
fn groups_of(rankers: &[(String, Ranker)], models: &BTreeSet<&str>) -> Vec<Group> {
    let needed = |group: &Group| {
        let features = rankers.iter().flat_map(|(_, ranker)| &ranker.about.features);
        let mut own = features
            .filter(|feature| !model_of(feature).is_some_and(|model| models.contains(model)));
        own.any(|feature| group_of(feature) == Some(*group))
    };
    Group::all().into_iter().filter(needed).collect()
}

/// The group of a feature, by its name.
fn group_of(feature: &str) -> Option<Group> {
    let kind = feature.split_once('(').map_or(feature, |(kind, _)| kind);
    Some(match kind {
        "ordered" | "unordered" | "span" => Group::Proximity,
        "length" | "query_length" => Group::Length,
        "url_depth" => Group::Url,
        "field" => Group::Fields,
        "clicks" | "pagerank" => Group::Clicks,
        kind => Group::all()
            .into_iter()
            .take_while(|&group| group != Group::Proximity)
            .find(|group| group.name() == kind)?,
    })
}

/// The rankers in the folder of an index, by name.
fn read(layout: &Layout) -> Result<Vec<(String, Ranker)>, Error> {
    let folder = layout.rankers();
    let entries = match fs::read_dir(&folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(liken::Error::io("read", &folder)(error).into()),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry.map_err(liken::Error::io("read", &folder))?.path();
        let name = path.file_name().map(|name| name.to_string_lossy().into_owned());
        found.push((name.unwrap_or_default(), Ranker::open(&path)?));
    }
    found.sort_by(|a, b| a.0.cmp(&b.0));
    Ok(found)
}

/// Whether the rankers of a new index need counts of their own: no model was trained on its dataset,
/// or the first that was has no positions of words.
pub(crate) fn need_counts(
    layout: &Layout,
    about: &IndexAbout,
    entries: &[ModelEntry],
) -> Result<bool, Error> {
    let groups = groups_of(&read(layout)?, &names_of(entries));
    if groups.is_empty() {
        return Ok(false);
    }
    let Some(entry) = first(layout, about, entries, &[])? else { return Ok(true) };
    let preparation = preparation_of(&layout.model(&entry.about.model))?;
    Ok(groups.contains(&Group::Proximity) && !preparation.positions)
}

/// The model with the counts behind extracted features.
fn counted(
    layout: &Layout,
    about: &IndexAbout,
    entries: &[ModelEntry],
    opened: &[Arc<ServedModel>],
) -> Result<Arc<Model>, Error> {
    let own = layout.counts();
    if own.exists() {
        return Ok(Arc::new(Model::open(&own)?));
    }
    let entry = first(layout, about, entries, opened)?.ok_or_else(|| {
        Error::invalid(
            "rankers need features of words, but no model of the index was trained on its dataset: \
             build the index again",
        )
    })?;
    Ok(match in_memory(entry, opened) {
        Some(served) => Arc::clone(&served.model),
        None => Arc::new(Model::open(&layout.model(&entry.about.model))?),
    })
}

/// The first model that was trained on the index's dataset.
fn first<'a>(
    layout: &Layout,
    about: &IndexAbout,
    entries: &'a [ModelEntry],
    opened: &[Arc<ServedModel>],
) -> Result<Option<&'a ModelEntry>, Error> {
    for entry in entries {
        let dataset = match in_memory(entry, opened) {
            Some(served) => served.model.about.dataset.identity.clone(),
            None => {
                model_folder(&layout.model(&entry.about.model))?.manifest.about.dataset.identity
            }
        };
        if dataset == about.dataset {
            return Ok(Some(entry));
        }
    }
    Ok(None)
}

fn in_memory<'a>(
    entry: &ModelEntry,
    opened: &'a [Arc<ServedModel>],
) -> Option<&'a Arc<ServedModel>> {
    opened.iter().find(|served| served.about.model == entry.about.model)
}

/// The names of the models.
fn names_of(entries: &[ModelEntry]) -> BTreeSet<&str> {
    entries.iter().map(|entry| entry.about.model.name.as_str()).collect()
}
