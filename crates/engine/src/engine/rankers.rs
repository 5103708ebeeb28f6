//! The trained rankers of an index and the sources of their features.
//!
//! A feature is the score of a served model, or it is extracted from words, clicks and numbers of the
//! documents by the code that makes training tables ([`Extractor`]). The counts behind extracted
//! features never change while the index lives: they are those of the first model that was trained on
//! the index's own dataset, or, where rankers need the positions of words and that model has none,
//! counts of their own. So whatever models are exchanged later, a
//! feature means what it meant when the index was made; only `model(NAME)` is the new model's.

use std::collections::BTreeSet;
use std::fs;
use std::sync::Arc;

use liken::Run;
use liken::data::Dataset;
use liken::file::{Folder, FolderKind};
use liken::matchers::{Model, ModelAbout};
use liken::rank::Ranker;
use liken::rank::features::{Extractor, Fixed, Group};

use super::layout::{IndexAbout, Layout};
use super::served::Served;
use crate::Error;
use crate::store::ModelEntry;

/// The name by which a search asks for no ranker.
pub(crate) const NONE: &str = "none";

/// The rankers of an index.
#[derive(Default)]
pub(crate) struct Rankers {
    all: Vec<Arc<ServedRanker>>,
}

/// A ranker as it is served.
pub(crate) struct ServedRanker {
    pub name: String,
    pub ranker: Ranker,
    /// One per feature of the ranker.
    pub sources: Vec<FeatureSource>,
    /// What extracts the features that are no scores of models, if there are any.
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

/// Features that are no scores of models, and the counts behind them.
#[derive(Clone)]
pub(crate) struct ExtractedFeatures {
    /// Its counts are those of the index's dataset.
    pub model: Arc<Model>,
    pub extractor: Extractor,
}

impl Rankers {
    /// Opens the rankers of an index that has had the models `entries`, of which `opened` are at
    /// hand. A ranker that needs what the index cannot make is refused.
    pub fn open(
        layout: &Layout,
        about: &IndexAbout,
        dataset: Option<&Dataset>,
        entries: &[ModelEntry],
        opened: &[Arc<Served>],
        run: &Run<'_>,
    ) -> Result<Self, Error> {
        let found = read(layout)?;
        let models: BTreeSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
        let groups = groups_of(&found, &models);
        let extracted = match groups.is_empty() {
            true => None,
            false => {
                let model = counted(layout, about, entries, opened)?;
                let dataset = dataset.ok_or_else(|| {
                    Error::internal(format!("{}: cannot be read", layout.dataset().display()))
                })?;
                let fixed = Fixed::of(dataset, &model.counts, &groups, run)?;
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

    /// Their names, in the order of the alphabet.
    pub fn names(&self) -> Vec<String> {
        self.all.iter().map(|named| named.name.clone()).collect()
    }

    /// The ranker that a search asks for; nothing where it wants none.
    pub fn find(&self, name: Option<&str>) -> Result<Option<Arc<ServedRanker>>, Error> {
        let Some(name) = name.filter(|&name| name != NONE) else { return Ok(None) };
        let found = self.all.iter().find(|named| named.name == name);
        found.map(|named| Some(Arc::clone(named))).ok_or_else(|| {
            let there = match self.all.is_empty() {
                true => "the index has none; they are taken in when it is made".into(),
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
                "ranker {name}: its features have no names but Column_0, Column_1 …, so nobody \
                 knows what they are; train it with the names of the table's sources"
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

/// Says which features a ranker lacks, and what to do.
fn lacking(name: &str, missing: &[&str], models: &BTreeSet<&str>, words: &[String]) -> Error {
    let there: Vec<&str> = models.iter().copied().collect();
    let mut text =
        format!("ranker {name} needs features that this index cannot make: {}", missing.join(", "));
    let lost: Vec<&str> = missing.iter().filter_map(|feature| scored_by(feature)).collect();
    if let [first, ..] = lost[..] {
        text += &format!(
            "\n  models have the names here that they had in the ranker's table: take in \
             the model {first}; the index has {}",
            there.join(", ")
        );
    }
    if lost.len() < missing.len() {
        let made = match words.is_empty() {
            true => "none of these kinds".to_owned(),
            false => words.join(", "),
        };
        text += &format!(
            "\n  of words, clicks and numbers this dataset gives: {made}; train the ranker on a \
             table of features of this dataset, read as the first model reads text"
        );
    }
    Error::invalid(text)
}

/// `NAME` of `model(NAME)`.
fn scored_by(feature: &str) -> Option<&str> {
    feature.strip_prefix("model(")?.strip_suffix(')')
}

/// The model whose score a feature is, if there is one of that name: a model that is called as a
/// lexical matcher stands for that one over all texts, as in training.
fn model_of(feature: &str) -> Option<&str> {
    let lexical = |name: &&str| {
        [Group::Bm25, Group::Vsm, Group::Lm, Group::LmJm].iter().any(|g| g.name() == *name)
    };
    scored_by(feature).or_else(|| feature.strip_suffix("(all)").filter(lexical))
}

/// The kinds of features that rankers need besides the scores of models.
fn groups_of(rankers: &[(String, Ranker)], models: &BTreeSet<&str>) -> Vec<Group> {
    let needed = |group: &Group| {
        let features = rankers.iter().flat_map(|(_, ranker)| &ranker.about.features);
        let mut own = features
            .filter(|feature| !model_of(feature).is_some_and(|model| models.contains(model)));
        own.any(|feature| group_of(feature) == Some(*group))
    };
    Group::all().into_iter().filter(needed).collect()
}

/// The kind of a feature, by its name.
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

/// Whether the rankers of a new index need counts of their own: no model was trained on its
/// dataset, or the first that was does not know where words stand.
pub(crate) fn need_counts(
    layout: &Layout,
    about: &IndexAbout,
    entries: &[ModelEntry],
) -> Result<bool, Error> {
    let models: BTreeSet<&str> = entries.iter().map(|entry| entry.name.as_str()).collect();
    let groups = groups_of(&read(layout)?, &models);
    if groups.is_empty() {
        return Ok(false);
    }
    let Some((entry, _)) = first(layout, about, entries, &[])? else { return Ok(true) };
    let folder: Folder<ModelAbout> =
        Folder::open(&layout.model(&entry.name, &entry.version), FolderKind::Model)?;
    let preparation: liken::features::Preparation = folder.read_json("preparation.json")?;
    Ok(groups.contains(&Group::Proximity) && !preparation.positions)
}

/// The model whose counts features are made of.
fn counted(
    layout: &Layout,
    about: &IndexAbout,
    entries: &[ModelEntry],
    opened: &[Arc<Served>],
) -> Result<Arc<Model>, Error> {
    let own = layout.counts();
    if own.exists() {
        return Ok(Arc::new(Model::open(&own)?));
    }
    match first(layout, about, entries, opened)? {
        Some((_, Some(served))) => Ok(Arc::clone(&served.model)),
        Some((entry, None)) => {
            Ok(Arc::new(Model::open(&layout.model(&entry.name, &entry.version))?))
        }
        None => Err(Error::invalid(
            "rankers need features of words, but no model of the index was trained on its dataset: \
             build the index again",
        )),
    }
}

/// A version of a model, opened if it is at hand.
type AtHand<'a> = (&'a ModelEntry, Option<&'a Arc<Served>>);

/// The first model that was taken in and was trained on the index's dataset, as it is among
/// `opened` if it is at hand.
fn first<'a>(
    layout: &Layout,
    about: &IndexAbout,
    entries: &'a [ModelEntry],
    opened: &'a [Arc<Served>],
) -> Result<Option<AtHand<'a>>, Error> {
    for entry in entries {
        let same = |served: &&Arc<Served>| {
            let model = &served.about.model;
            model.name == entry.name && model.version == entry.version
        };
        let at_hand = opened.iter().find(same);
        let dataset = match at_hand {
            Some(served) => served.model.about.dataset.identity.clone(),
            None => {
                let path = layout.model(&entry.name, &entry.version);
                let folder: Folder<ModelAbout> = Folder::open(&path, FolderKind::Model)?;
                folder.manifest.about.dataset.identity
            }
        };
        if dataset == about.dataset {
            return Ok(Some((entry, at_hand)));
        }
    }
    Ok(None)
}
