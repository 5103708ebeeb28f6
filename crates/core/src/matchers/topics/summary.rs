//! A summary of the topics of a model: their words, how much of the documents they are, how well
//! their words belong together, and where they lie on a map.

use serde::{Deserialize, Serialize};

use super::TopicsView;
use super::reading::{Documents, Words, documents, part_with_topics, words};
use crate::features::Counts;
use crate::matchers::Model;
use crate::sparse::Csr;
use crate::topic::{Distance, distances, npmi, place};
use crate::{Result, Run};

/// Topics on the map at most; more of them cannot be told apart, and their eigenvectors take long.
const MOST_ON_MAP: usize = 1000;

/// So many words of a topic, the largest by absolute weight, say where it lies on the map.
const OUTLINE: usize = 500;

/// How closely topics are looked at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicsLook {
    /// Words shown of each topic.
    pub words: usize,
    /// Words of each topic that its coherence is the mean over.
    pub coherence: usize,
    /// Documents shown of each topic.
    pub documents: usize,
    /// Whether topics get places on a map.
    pub map: bool,
}

impl Default for TopicsLook {
    fn default() -> Self {
        TopicsLook { words: 10, coherence: 10, documents: 0, map: false }
    }
}

/// The topics of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicsSummary {
    /// The method that learnt them.
    pub method: String,
    /// The documents of the model.
    pub documents: usize,
    /// Documents of which the topics know no word.
    pub documents_without: usize,
    /// The terms of the vocabulary.
    pub terms: usize,
    /// Whether weights may be below zero. The signs of such a topic are turned where its largest
    /// absolute weight would be negative, and its words are the largest after that.
    pub signed: bool,
    /// Words of each topic that coherence is the mean over.
    pub coherence_words: usize,
    /// All topics together.
    pub all: TopicFigures,
    /// The topics that all classes share, where there are classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<TopicFigures>,
    /// The topics of classes, where there are classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_classes: Option<TopicFigures>,
    /// The classes, and how much of their documents is shared topics.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub classes: Vec<TopicClass>,
    /// Every topic.
    pub topics: Vec<TopicSummary>,
}

/// Figures of several topics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicFigures {
    /// How many they are.
    pub topics: usize,
    /// Topics without a word.
    pub dead: usize,
    /// Mean share of the vocabulary that weighs anything in a topic (AvgComp).
    pub avg_comp: f64,
    /// Mean coherence of the topics that have one.
    pub npmi: Option<f64>,
    /// The part of the documents that they are together.
    pub share: f64,
}

/// A class of documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicClass {
    /// Its name.
    pub name: String,
    /// Its documents that have topics.
    pub documents: usize,
    /// How much of them is shared topics, on average; topics of the class are the rest.
    pub shared: f64,
    /// How much of them is each of the shared topics.
    pub shared_topics: Vec<f64>,
}

/// One topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicSummary {
    /// Its number, from 1.
    pub topic: usize,
    /// The class that it belongs to; none if all share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Its heaviest words.
    pub words: Vec<TopicWord>,
    /// How many words weigh anything in it.
    pub n_words: usize,
    /// Whether its signs were turned.
    pub flipped: bool,
    /// The mean NPMI of pairs of its heaviest words.
    pub npmi: Option<f64>,
    /// Its part of the documents: the mean of its absolute weight in a document, by that of all
    /// topics.
    pub share: f64,
    /// In how many documents no topic weighs more.
    pub strongest_in: usize,
    /// The documents in which it weighs most.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub documents: Vec<TopicDocument>,
    /// Its place on the map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<[f64; 2]>,
}

/// A word of a topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicWord {
    /// The word, as the model reads it.
    pub word: String,
    /// Its weight.
    pub weight: f32,
}

/// A document of a topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicDocument {
    /// Its number.
    #[serde(skip)]
    pub doc: u32,
    /// Its id.
    pub id: String,
    /// What the topic weighs in it.
    pub weight: f32,
}

impl TopicsSummary {
    /// Looks at the topics of a part of `model`: the one called `part`, or the first with topics.
    pub fn of(model: &Model, part: Option<&str>, look: &TopicsLook, run: &Run<'_>) -> Result<Self> {
        let (part, view) = part_with_topics(model, part)?;
        TopicsSummary::of_view(part.params.name(), &view, &model.counts, look, run)
    }

    /// Looks at the topics that `view` shows.
    pub(super) fn of_view(
        method: &str,
        view: &TopicsView<'_>,
        counts: &Counts,
        look: &TopicsLook,
        run: &Run<'_>,
    ) -> Result<Self> {
        run.step("words of topics", 0, None)?;
        let outline = if look.map { OUTLINE } else { 0 };
        let words = words(view, look.words.max(look.coherence), outline, run)?;
        run.step("documents of topics", 0, None)?;
        let documents = documents(view, &words, look.documents, run)?;
        run.step("coherence of topics", 0, None)?;
        let heaviest: Vec<Vec<u32>> = words
            .iter()
            .map(|words| {
                words.heaviest.iter().take(look.coherence).map(|&(term, _)| term).collect()
            })
            .collect();
        let coherence = npmi(&counts.docs, &counts.held_out_documents, &heaviest, run)?;
        let shares = shares(view, &documents);
        let places = match look.map {
            true => places(view, &words, &shares, counts.n_terms(), run)?,
            false => vec![None; words.len()],
        };
        let topic = |k: usize| TopicSummary {
            topic: k + 1,
            class: view.class_of_topic(k).map(|class| view.classes[class as usize].clone()),
            words: shown(&words[k], look.words, counts),
            n_words: words[k].filled,
            flipped: words[k].flipped,
            npmi: coherence[k],
            share: shares[k],
            strongest_in: documents.strongest[k],
            documents: documents.heaviest[k]
                .iter()
                .map(|&(doc, weight)| {
                    let id = counts.doc_ids[doc as usize].clone();
                    TopicDocument { doc, id, weight }
                })
                .collect(),
            place: places[k],
        };
        let topics: Vec<TopicSummary> = (0..words.len()).map(topic).collect();
        let figures = |topics: &[TopicSummary]| TopicFigures::of(topics, counts.n_terms());
        let grouped = !view.classes.is_empty();
        let (shared, own) = topics.split_at(view.n_shared);
        Ok(TopicsSummary {
            method: method.to_owned(),
            documents: counts.n_docs(),
            documents_without: counts.n_docs() - documents.with_topics.iter().sum::<usize>(),
            terms: counts.n_terms(),
            signed: !view.non_negative,
            coherence_words: look.coherence,
            all: figures(&topics),
            shared: grouped.then(|| figures(shared)),
            of_classes: grouped.then(|| figures(own)),
            classes: classes(view, &documents),
            topics,
        })
    }

    /// The class called `name`, or an error that says which there are.
    pub fn find_class(&self, name: &str) -> Result<&TopicClass> {
        self.classes.iter().find(|class| class.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.classes.iter().map(|class| class.name.as_str()).collect();
            let advice = match names.is_empty() {
                true => format!("{} knows no classes: all topics are shared", self.method),
                false => format!("there are {}, and `shared` for what all share", names.join(", ")),
            };
            crate::Error::Unknown { kind: "class", name: name.to_owned(), advice }
        })
    }
}

impl TopicFigures {
    fn of(topics: &[TopicSummary], n_terms: usize) -> Self {
        let mean = |sum: f64, n: usize| if n > 0 { sum / n as f64 } else { 0.0 };
        let known: Vec<f64> = topics.iter().filter_map(|topic| topic.npmi).collect();
        let filled: f64 = topics.iter().map(|topic| topic.n_words as f64).sum();
        TopicFigures {
            topics: topics.len(),
            dead: topics.iter().filter(|topic| topic.n_words == 0).count(),
            avg_comp: mean(mean(filled, n_terms), topics.len()),
            npmi: (!known.is_empty()).then(|| mean(known.iter().sum(), known.len())),
            // An empty sum is −0.
            share: topics.iter().map(|topic| topic.share).sum::<f64>() + 0.0,
        }
    }
}

/// The first words, by name.
fn shown(words: &Words, most: usize, counts: &Counts) -> Vec<TopicWord> {
    let word = |&(term, weight): &(u32, f32)| TopicWord {
        word: counts.vocabulary.term(term).to_owned(),
        weight,
    };
    words.heaviest.iter().take(most).map(word).collect()
}

/// The part of all documents that each topic is.
fn shares(view: &TopicsView<'_>, documents: &Documents) -> Vec<f64> {
    let n_docs = documents.with_topics.iter().sum::<usize>().max(1) as f64;
    let mut shares = vec![0.0; view.n_topics()];
    for (class, sums) in documents.shares.iter().enumerate() {
        let class = (!view.classes.is_empty()).then_some(class as u32);
        for (column, sum) in sums.iter().enumerate() {
            shares[view.topic_at(column, class)] += sum / n_docs;
        }
    }
    shares
}

fn classes(view: &TopicsView<'_>, documents: &Documents) -> Vec<TopicClass> {
    let class = |(at, name): (usize, &String)| {
        let n_docs = documents.with_topics[at];
        let sums = &documents.shares[at][..view.n_shared];
        let shared_topics: Vec<f64> = sums.iter().map(|sum| sum / n_docs.max(1) as f64).collect();
        TopicClass {
            name: name.clone(),
            documents: n_docs,
            shared: shared_topics.iter().sum(),
            shared_topics,
        }
    };
    view.classes.iter().enumerate().map(class).collect()
}

/// Places for the topics that have words; for the largest of them where they are too many.
fn places(
    view: &TopicsView<'_>,
    words: &[Words],
    shares: &[f64],
    n_terms: usize,
    run: &Run<'_>,
) -> Result<Vec<Option<[f64; 2]>>> {
    let mut alive: Vec<usize> = (0..words.len()).filter(|&k| words[k].filled > 0).collect();
    if alive.len() > MOST_ON_MAP {
        alive.sort_by(|&a, &b| shares[b].total_cmp(&shares[a]).then(a.cmp(&b)));
        alive.truncate(MOST_ON_MAP);
        alive.sort_unstable();
    }
    run.step("map of topics", 0, None)?;
    let outlines = Csr::by_rows(n_terms, alive.len(), |row| Ok(words[alive[row]].outline.clone()))?;
    let distance = match view.non_negative {
        true => Distance::JensenShannon,
        false => Distance::Cosine,
    };
    let apart = distances(&outlines, distance, run)?;
    let mut places = vec![None; words.len()];
    // Without a picture there are still the tables.
    for (place, &k) in place(&apart, alive.len()).unwrap_or_default().into_iter().zip(&alive) {
        places[k] = Some(place);
    }
    Ok(places)
}

#[cfg(test)]
mod tests;
