//! Reading a view of topics: the words of every topic, and what its topics are to the documents.

use rayon::prelude::*;

use super::TopicsView;
use crate::matchers::{Map, Model, Part};
use crate::sparse::Csr;
use crate::top_k::select_sorted;
use crate::{Error, Result, Run};

/// Who has topics, for those who asked in vain.
const WHO_HAS_TOPICS: &str = "topic models do (rlsi, grlsi, crlsi, nmf, gnmf, cnmf, plsi, lda, lsi, bltm), and so do methods with maps where documents are made of words alone (`features.doc_clicks = 0`)";

/// The part of `model` that has topics: the one called `name`, or the first that has any.
pub(super) fn part_with_topics<'a>(
    model: &'a Model,
    name: Option<&str>,
) -> Result<(&'a Part, TopicsView<'a>)> {
    let mut named = None;
    for part in &model.parts {
        if name.is_some_and(|name| !is_called(part, name)) {
            continue;
        }
        named = Some(part.params.name());
        if let Some(view) = part.matcher.topics() {
            check(&view, model)?;
            return Ok((part, view));
        }
    }
    match (name, named) {
        (Some(name), None) => {
            let names: Vec<&str> = model.parts.iter().map(|part| part.params.name()).collect();
            let advice = format!("the model {} has {}", model.about.name, names.join(", "));
            Err(Error::Unknown { kind: "part", name: name.to_owned(), advice })
        }
        _ => Err(Error::Empty {
            what: format!("{} has no topics", name.unwrap_or(&model.about.name)),
            advice: WHO_HAS_TOPICS.into(),
        }),
    }
}

/// Whether `name` means this part: its method, or another name of it (lsi for lsi_dt).
fn is_called(part: &Part, name: &str) -> bool {
    let own = part.params.name();
    own == name || crate::matchers::Params::named(name).is_ok_and(|params| params.name() == own)
}

/// Refuses a view whose sizes do not fit each other.
fn check(view: &TopicsView<'_>, model: &Model) -> Result<()> {
    let (n_docs, n_terms) = (model.counts.n_docs(), model.counts.n_terms());
    let classes = view.classes.is_empty() && view.class_of.is_empty() && view.per_class == 0
        || view.class_of.len() == n_docs
            && view.class_of.iter().all(|&class| (class as usize) < view.classes.len());
    let weights = (view.weights.n_rows(), view.weights.n_cols()) == (n_terms, view.n_topics());
    let width = view.n_shared + view.per_class;
    if classes && weights && (view.documents.n_rows(), view.documents.n_cols()) == (n_docs, width) {
        return Ok(());
    }
    Err(Error::Structure {
        problem: format!(
            "weights of {} words in {} topics and of {} topics in {} documents do not fit {n_terms} words, {n_docs} documents and {} topics",
            view.weights.n_rows(),
            view.weights.n_cols(),
            view.documents.n_cols(),
            view.documents.n_rows(),
            view.n_topics(),
        ),
    })
}

/// The words of a topic.
pub(super) struct Words {
    /// The heaviest with their weights, after the flip, the heaviest first.
    pub heaviest: Vec<(u32, f32)>,
    /// The largest by absolute weight, sorted by term, for the map.
    pub outline: (Vec<u32>, Vec<f32>),
    /// How many weigh anything.
    pub filled: usize,
    /// Whether all signs of the topic are turned, so that its largest weight is positive.
    pub flipped: bool,
}

/// Reads every topic: its `most` heaviest words, and an outline of `outline` words.
pub(super) fn words(
    view: &TopicsView<'_>,
    most: usize,
    outline: usize,
    run: &Run<'_>,
) -> Result<Vec<Words>> {
    let by_topic: Option<Csr> = match &*view.weights {
        Map::Sparse(weights) => Some(weights.transpose()),
        Map::Dense(_) => None,
    };
    let column = |k: usize| -> Vec<(u32, f32)> {
        match (&by_topic, &*view.weights) {
            (None, Map::Dense(weights)) => (0..weights.n_rows())
                .map(|term| (term as u32, weights.row(term)[k]))
                .filter(|&(_, weight)| weight != 0.0)
                .collect(),
            (topics, _) => {
                let row = topics.iter().flat_map(|topics| topics.row(k).iter());
                row.filter(|&(_, weight)| weight != 0.0).collect()
            }
        }
    };
    let read = |k: usize| {
        run.check()?;
        let mut all = column(k);
        let filled = all.len();
        keep_first(&mut all, outline.max(4 * most).max(1), |weight| weight.abs());
        let flipped = !view.non_negative && all.first().is_some_and(|&(_, weight)| weight < 0.0);
        let sign = if flipped { -1.0 } else { 1.0 };
        // The words with the largest absolute weights hold the largest of one sign only if they
        // are enough; where they are not, the topic is read again.
        let positive = |all: &[(u32, f32)]| -> Vec<(u32, f32)> {
            let turned = all.iter().map(|&(term, weight)| (term, sign * weight));
            turned.filter(|&(_, weight)| weight > 0.0).collect()
        };
        let mut heaviest = positive(&all);
        if heaviest.len() < most && all.len() < filled {
            heaviest = positive(&column(k));
        }
        keep_first(&mut heaviest, most, |weight| weight);
        all.truncate(outline);
        all.sort_unstable_by_key(|&(term, _)| term);
        Ok(Words { heaviest, outline: all.into_iter().unzip(), filled, flipped })
    };
    (0..view.n_topics()).into_par_iter().map(read).collect()
}

/// Keeps the `most` first by `size`, largest first; of equal ones the first term.
fn keep_first(all: &mut Vec<(u32, f32)>, most: usize, size: impl Fn(f32) -> f32) {
    select_sorted(all, most, |a, b| size(b.1).total_cmp(&size(a.1)).then(a.0.cmp(&b.0)));
}

/// What topics are to documents.
pub(super) struct Documents {
    /// Classes (one where there are none) × columns of the view: sums over documents of the
    /// share that a topic has in a document.
    pub shares: Vec<Vec<f64>>,
    /// By class, how many documents have any topic.
    pub with_topics: Vec<usize>,
    /// By topic, in how many documents it is the strongest.
    pub strongest: Vec<usize>,
    /// By topic, the documents in which it weighs most, after the flip, the heaviest first.
    pub heaviest: Vec<Vec<(u32, f32)>>,
    /// By topic, what a document must weigh more than to be among the heaviest.
    floors: Vec<f32>,
}

/// Documents that are read as one; what comes out does not depend on who reads them.
const BLOCK: usize = 8192;

/// Reads all documents of `view`, with the `most` heaviest of each topic.
pub(super) fn documents(
    view: &TopicsView<'_>,
    words: &[Words],
    most: usize,
    run: &Run<'_>,
) -> Result<Documents> {
    let n_docs = view.documents.n_rows();
    let blocks: Vec<Documents> = (0..n_docs.div_ceil(BLOCK))
        .into_par_iter()
        .map(|block| {
            let mut found = Documents::none(view);
            for doc in block * BLOCK..((block + 1) * BLOCK).min(n_docs) {
                if doc % 256 == 0 {
                    run.check()?;
                }
                found.read(view, words, doc, most);
            }
            Ok(found)
        })
        .collect::<Result<_>>()?;
    Ok(blocks.into_iter().fold(Documents::none(view), |all, block| all.and(block, most)))
}

impl Documents {
    fn none(view: &TopicsView<'_>) -> Self {
        let n_classes = view.classes.len().max(1);
        Documents {
            shares: vec![vec![0.0; view.n_shared + view.per_class]; n_classes],
            with_topics: vec![0; n_classes],
            strongest: vec![0; view.n_topics()],
            heaviest: vec![Vec::new(); view.n_topics()],
            floors: vec![0.0; view.n_topics()],
        }
    }

    fn read(&mut self, view: &TopicsView<'_>, words: &[Words], doc: usize, most: usize) {
        let row = view.documents.row(doc);
        let class = view.class_of.get(doc).copied();
        let total: f64 = row.iter().map(|&weight| f64::from(weight.abs())).sum();
        // A document without a word that the topics know has none of them.
        if !(total > 0.0 && total.is_finite()) {
            return;
        }
        let group = class.unwrap_or(0) as usize;
        self.with_topics[group] += 1;
        let mut best = 0;
        for (column, &weight) in row.iter().enumerate() {
            self.shares[group][column] += f64::from(weight.abs()) / total;
            if weight.abs() > row[best].abs() {
                best = column;
            }
            let topic = view.topic_at(column, class);
            let weight = if words[topic].flipped { -weight } else { weight };
            if most > 0 {
                self.offer(topic, (doc as u32, weight), most);
            }
        }
        self.strongest[view.topic_at(best, class)] += 1;
    }

    /// Takes a document into the list of a topic if it may be one of its `most` heaviest. Lists
    /// grow to twice that before they are cut.
    fn offer(&mut self, topic: usize, found: (u32, f32), most: usize) {
        let (list, floor) = (&mut self.heaviest[topic], &mut self.floors[topic]);
        if found.1 > *floor {
            list.push(found);
            if list.len() == 2 * most {
                keep_first(list, most, |weight| weight);
                *floor = list[most - 1].1;
            }
        }
    }

    /// With those of a later block.
    fn and(mut self, later: Documents, most: usize) -> Self {
        for (sums, more) in self.shares.iter_mut().zip(&later.shares) {
            sums.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        }
        let add = |all: &mut [usize], more: &[usize]| {
            all.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
        };
        add(&mut self.with_topics, &later.with_topics);
        add(&mut self.strongest, &later.strongest);
        for (list, more) in self.heaviest.iter_mut().zip(later.heaviest) {
            list.extend(more);
            keep_first(list, most, |weight| weight);
        }
        self
    }
}
