//! A summary of the topics of a model: their words, their share in the documents, their coherence, and
//! their places on a map.

use serde::{Deserialize, Serialize};

use super::reading::{Documents, Words, documents, words};
use crate::features::Counts;
use crate::matchers::TopicsView;
use crate::sparse::Csr;
use crate::topic::{Distance, classical_mds, distances, npmi};
use crate::{Result, Run};

/// Maximum number of topics on the map; more are not legible, and their eigenvectors take long.
const MOST_ON_MAP: usize = 1000;

/// The number of words, the largest by absolute weight, that determine the place of a topic on the map.
const OUTLINE: usize = 500;

/// Contents of a summary of topics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TopicSummaryOptions {
    /// Number of words per topic.
    pub words: usize,
    /// Number of words per topic for its coherence.
    pub coherence: usize,
    /// Number of documents per topic.
    pub documents: usize,
    /// Whether topics get places on a map.
    pub map: bool,
}

impl Default for TopicSummaryOptions {
    fn default() -> Self {
        TopicSummaryOptions { words: 10, coherence: 10, documents: 0, map: false }
    }
}

/// The topics of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicsSummary {
    /// The method that learnt them.
    pub method: String,
    /// The number of documents of the model.
    pub documents: usize,
    /// The number of documents without a word that the topics know.
    pub documents_without: usize,
    /// The number of terms of the vocabulary.
    pub terms: usize,
    /// Whether weights may be negative. The signs of a topic are then flipped if its largest absolute
    /// weight is negative, and its words are the largest after that.
    pub signed: bool,
    /// The number of words per topic for coherence.
    pub coherence_words: usize,
    /// Figures of all topics.
    pub all: TopicFigures,
    /// Figures of the topics that all classes share, if there are classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub shared: Option<TopicFigures>,
    /// Figures of the topics of classes, if there are classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub of_classes: Option<TopicFigures>,
    /// The classes, and the share of the shared topics in their documents.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub classes: Vec<TopicClass>,
    /// Every topic.
    pub topics: Vec<TopicSummary>,
}

/// Figures of a group of topics.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicFigures {
    /// The number of topics.
    pub topics: usize,
    /// The number of topics without a word.
    pub dead: usize,
    /// The mean share of the vocabulary with a weight in a topic (AvgComp).
    pub avg_comp: f64,
    /// The mean coherence of the topics that have one.
    pub npmi: Option<f64>,
    /// Their share in the documents.
    pub share: f64,
}

/// A class of documents.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicClass {
    /// The name of the class.
    pub name: String,
    /// The number of its documents with topics.
    pub documents: usize,
    /// The mean share of the shared topics in them; the rest are topics of the class.
    pub shared: f64,
    /// The mean share of each shared topic in them.
    pub shared_topics: Vec<f64>,
}

/// One topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicSummary {
    /// The number of the topic, from 1.
    pub topic: usize,
    /// The class that it belongs to; none if all classes share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The words with the largest weights.
    pub words: Vec<TopicWord>,
    /// The number of words with a weight.
    pub n_words: usize,
    /// Whether its signs were flipped.
    pub flipped: bool,
    /// The coherence: the mean NPMI of pairs of its heaviest words.
    pub npmi: Option<f64>,
    /// Its mean share in a document: its absolute weight over that of all topics.
    pub share: f64,
    /// The number of documents in which it is the strongest topic.
    pub strongest_in: usize,
    /// The documents in which it has the largest weights.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub documents: Vec<TopicDocument>,
    /// Its place on the map.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub place: Option<[f64; 2]>,
}

/// A word of a topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicWord {
    /// The word, as a term of the vocabulary.
    pub word: String,
    /// The weight of the word in the topic.
    pub weight: f32,
}

/// A document of a topic.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TopicDocument {
    /// The number of the document.
    #[serde(skip)]
    pub doc: u32,
    /// The id of the document.
    pub id: String,
    /// The weight of the topic in it.
    pub weight: f32,
}

impl TopicsSummary {
    /// Looks at the topics that `view` shows.
    pub(in crate::matchers) fn of_view(
        method: &str,
        view: &TopicsView<'_>,
        counts: &Counts,
        options: &TopicSummaryOptions,
        run: &Run<'_>,
    ) -> Result<Self> {
        run.step("words of topics", 0, None)?;
        let outline = if options.map { OUTLINE } else { 0 };
        let words = words(view, options.words.max(options.coherence), outline, run)?;
        run.step("documents of topics", 0, None)?;
        let documents = documents(view, &words, options.documents, run)?;
        run.step("coherence of topics", 0, None)?;
        let heaviest: Vec<Vec<u32>> = words
            .iter()
            .map(|words| {
                words.heaviest.iter().take(options.coherence).map(|&(term, _)| term).collect()
            })
            .collect();
        let coherence = npmi(&counts.docs, &counts.held_out_documents, &heaviest, run)?;
        let shares = shares(view, &documents);
        let places = match options.map {
            true => places(view, &words, &shares, counts.n_terms(), run)?,
            false => vec![None; words.len()],
        };
        let topic = |k: usize| TopicSummary {
            topic: k + 1,
            class: view.class_of_topic(k).map(|class| view.classes[class as usize].clone()),
            words: shown(&words[k], options.words, counts),
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
            coherence_words: options.coherence,
            all: figures(&topics),
            shared: grouped.then(|| figures(shared)),
            of_classes: grouped.then(|| figures(own)),
            classes: classes(view, &documents),
            topics,
        })
    }

    /// The class called `name`, or an error that lists the classes.
    pub fn find_class(&self, name: &str) -> Result<&TopicClass> {
        self.classes.iter().find(|class| class.name == name).ok_or_else(|| {
            let names: Vec<&str> = self.classes.iter().map(|class| class.name.as_str()).collect();
            let advice = match names.is_empty() {
                true => format!("{} has no classes: all topics are shared", self.method),
                false => {
                    format!("there are {}, and `shared` for the shared topics", names.join(", "))
                }
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

/// The `most` heaviest words.
fn shown(words: &Words, most: usize, counts: &Counts) -> Vec<TopicWord> {
    let word = |&(term, weight): &(u32, f32)| TopicWord {
        word: counts.vocabulary.term(term).to_owned(),
        weight,
    };
    words.heaviest.iter().take(most).map(word).collect()
}

/// The mean share of each topic in the documents.
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

/// Places on the map for the topics with words, or for the largest of them if there are too many.
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
    // If no places are found, the summary is still useful without them.
    for (place, &k) in
        classical_mds(&apart, alive.len()).unwrap_or_default().into_iter().zip(&alive)
    {
        places[k] = Some(place);
    }
    Ok(places)
}

#[cfg(test)]
mod tests;
