//! Reading a view of topics: the words of every topic, and its weights in the documents.

use rayon::prelude::*;

use crate::matchers::{Map, TopicsView};
use crate::sparse::Csr;
use crate::top_k::select_sorted;
use crate::{Result, Run};

/// The words of a topic.
pub(super) struct Words {
    /// The words with the largest weights, after the flip, in falling order.
    pub heaviest: Vec<(u32, f32)>,
    /// The words with the largest absolute weights, sorted by term, for the map.
    pub outline: (Vec<u32>, Vec<f32>),
    /// The number of words with a weight.
    pub filled: usize,
    /// Whether the signs of the topic are flipped, so that its largest absolute weight is positive.
    pub flipped: bool,
}

/// The words of every topic: the `most` heaviest, and the `outline` largest by absolute weight.
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
        // If too few of the words with the largest absolute weights are positive, the topic is read
        // again.
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

/// Keeps the `most` largest by `size`, largest first; of equal ones the first term.
fn keep_first(all: &mut Vec<(u32, f32)>, most: usize, size: impl Fn(f32) -> f32) {
    select_sorted(all, most, |a, b| size(b.1).total_cmp(&size(a.1)).then(a.0.cmp(&b.0)));
}

/// The weights of topics in documents.
pub(super) struct Documents {
    /// Classes (one if there are none) × columns of the view: sums over documents of the share of a
    /// topic in a document.
    pub shares: Vec<Vec<f64>>,
    /// By class, the number of documents with any topic.
    pub with_topics: Vec<usize>,
    /// By topic, the number of documents in which it is the strongest.
    pub strongest: Vec<usize>,
    /// By topic, the documents with the largest weights, after the flip, in falling order.
    pub heaviest: Vec<Vec<(u32, f32)>>,
    /// By topic, the weight that a document must exceed to be among the heaviest.
    floors: Vec<f32>,
}

/// Documents per task; fixed, so that sums do not depend on the number of threads.
const BLOCK: usize = 8192;

/// The weights of topics in all documents of `view`, with the `most` heaviest documents per topic.
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
            let mut found = Documents::empty(view);
            for doc in block * BLOCK..((block + 1) * BLOCK).min(n_docs) {
                if doc % 256 == 0 {
                    run.check()?;
                }
                found.read(view, words, doc, most);
            }
            Ok(found)
        })
        .collect::<Result<_>>()?;
    Ok(blocks.into_iter().fold(Documents::empty(view), |all, block| all.merged(block, most)))
}

impl Documents {
    fn empty(view: &TopicsView<'_>) -> Self {
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
        // A document without a known word has no topics.
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

    /// Adds a document to the list of a topic if it may be one of its `most` heaviest. Lists grow to
    /// twice that length before they are truncated.
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

    /// Merges those of a later block.
    fn merged(mut self, later: Documents, most: usize) -> Self {
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
