//! Factorised topics as a matcher. A document is folded into the topics of its class, a query into
//! those of every class.
//!
//! ```text
//! score = cos(v_q, v_d)·√(s_p/max s),  v over the topics that all share and those of the document's class p
//! ```
//! s_p is how much of the query the topics of class p explain: otherwise a weak match in a class that
//! explains little of the query would score as high as a full one. With one class it is the cosine, as
//! it is with `cosine = plain`.

use std::borrow::Cow;

use rayon::prelude::*;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::classes::{UNKNOWN, cluster_names};
use crate::features::{Counts, Features, Featurizer, QueryTerms};
use crate::file::{Tensors, TensorsWriter};
use crate::linalg::{Dense, dot, dot_f64, scale_to};
use crate::matchers::{Contribution, Map, Matcher, SavedState, TopicsView};
use crate::sparse::{Csr, Row};
use crate::topic::{FactorKind, Folding, Topics, nearest_centre};
use crate::{Error, Result, Run, counted};

/// The number of words that name a topic.
const NAMED_BY: usize = 3;

/// The score of a document of a class.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ClassCosine {
    /// The cosine, weighted by how much of the query the topics of the class explain.
    #[default]
    Weighted,
    /// The cosine alone, as published.
    Plain,
}

/// Fitted topics with the weights of all documents.
pub(super) struct Factorised {
    topics: Topics,
    folding: Folding,
    kind: FactorKind,
    cosine: ClassCosine,
    featurizer: Featurizer,
    /// The names of the classes; one empty name if there are no classes.
    classes: Vec<String>,
    class_of: Vec<u32>,
    /// Terms × classes: the centres, if classes are clusters.
    centres: Option<Dense>,
    /// Documents × topics.
    weights: Dense,
    /// 1/‖v‖ of every document; 0 if it has no topics.
    inverse_norms: Vec<f32>,
}

/// The learnt state, from which a matcher is built.
pub(super) struct Learnt {
    pub topics: Topics,
    pub classes: Vec<String>,
    /// The class of every document; [`UNKNOWN`] for those that are still to be folded in.
    pub class_of: Vec<u32>,
    /// Terms × classes: the centres, if classes are clusters.
    pub centres: Option<Dense>,
    /// Documents × topics; the rows of documents of unknown class are computed by folding in.
    pub weights: Dense,
}

impl Factorised {
    /// Folds every document of unknown class into the topics of the nearest cluster, or of the class
    /// that explains most of it, and the documents that `fold` selects into those of their class.
    pub fn new(
        counts: &Counts,
        learnt: Learnt,
        (kind, cosine): (FactorKind, ClassCosine),
        fold: impl Fn(u32) -> bool + Sync,
        run: &Run<'_>,
    ) -> Result<Self> {
        let featurizer = Featurizer::new(counts, &Features::words())?;
        let Learnt { topics, classes, mut class_of, centres, mut weights } = learnt;
        let folding = Folding::new(&topics, kind, run)?;
        weights.rows_mut().zip(&mut class_of).enumerate().try_for_each(
            |(doc, (weights, class))| {
                if *class != UNKNOWN && !fold(doc as u32) {
                    return Ok(());
                }
                run.check()?;
                let (indices, values) = featurizer.doc(counts.docs.row(doc), None);
                let row = Row { indices: &indices, values: &values };
                if let (UNKNOWN, Some(centres)) = (*class, &centres) {
                    *class = nearest_centre(centres, row);
                }
                let folded = if *class == UNKNOWN {
                    let (best, folded) = folding.fold_best(&topics, row);
                    *class = best as u32;
                    folded
                } else {
                    folding.fold(&topics, *class as usize, row).0
                };
                weights.copy_from_slice(&folded);
                Ok(())
            },
        )?;
        let inverse = |doc: usize| {
            let norm = dot_f64(weights.row(doc), weights.row(doc)).sqrt();
            if norm > 0.0 { (1.0 / norm) as f32 } else { 0.0 }
        };
        let inverse_norms = (0..weights.n_rows()).into_par_iter().map(inverse).collect();
        Ok(Factorised {
            topics,
            folding,
            kind,
            cosine,
            featurizer,
            classes,
            class_of,
            centres,
            weights,
            inverse_norms,
        })
    }

    /// What a model folder keeps, checked.
    pub fn restored(
        counts: &Counts,
        state: SavedState<'_>,
        how: (FactorKind, ClassCosine),
        grouped: bool,
    ) -> Result<Self> {
        let tensors = state.tensors()?;
        let learnt = Learnt::read(tensors, counts, grouped)?;
        Factorised::new(counts, learnt, how, |_| false, &Run::silent())
    }

    /// Warnings of topics without a word and of documents without a topic.
    pub fn warnings(&self, counts: &Counts) -> Vec<String> {
        let mut warnings = Vec::new();
        let dead = |matrix: &Csr| {
            matrix.columns_of(0..matrix.n_rows()).iter().filter(|has| !**has).count()
        };
        let dead = dead(&self.topics.shared) + self.topics.own.iter().map(dead).sum::<usize>();
        if dead > 0 {
            let advice = match self.kind {
                FactorKind::Rlsi { .. } => "lower lambda1, or use fewer topics",
                FactorKind::Nmf => "use fewer topics",
            };
            warnings.push(format!("topics without a word: {dead}; {advice}"));
        }
        let silent =
            |&doc: &usize| self.inverse_norms[doc] == 0.0 && !counts.docs.row(doc).is_empty();
        let silent = (0..counts.n_docs()).filter(silent).count();
        if silent > 0 {
            warnings.push(format!(
                "in no topic, so with score 0: {silent} of {}; use more topics, or another seed",
                counted(counts.n_docs(), "document")
            ));
        }
        warnings
    }

    fn has_classes(&self) -> bool {
        self.topics.per_class() > 0 || self.classes.len() > 1
    }

    /// The weights of a query in the topics of every class, scaled to norm √(s_p/max s), or 1.
    fn query_weights(&self, counts: &Counts, query: &QueryTerms) -> Vec<Vec<f32>> {
        let (indices, values) = self.featurizer.query_terms(counts, query);
        let row = Row { indices: &indices, values: &values };
        let classes = 0..self.topics.own.len();
        let mut folded: Vec<(Vec<f32>, f64)> =
            classes.map(|class| self.folding.fold(&self.topics, class, row)).collect();
        let most = folded.iter().map(|(_, said)| *said).fold(0.0, f64::max);
        for (weights, said) in &mut folded {
            let share = match self.cosine {
                ClassCosine::Plain => 1.0,
                ClassCosine::Weighted if most > 0.0 => (said.max(0.0) / most).sqrt(),
                ClassCosine::Weighted => 0.0,
            };
            scale_to(weights, share as f32);
        }
        folded.into_iter().map(|(weights, _)| weights).collect()
    }

    fn score(&self, query: &[f32], doc: usize) -> f32 {
        dot(query, self.weights.row(doc)) * self.inverse_norms[doc]
    }

    /// The name of a topic: the words with the largest weights.
    fn name_of(&self, counts: &Counts, postings: &Csr, number: usize) -> String {
        let mut words: Vec<(u32, f32)> = postings.row(number).iter().collect();
        // The sign of a topic is arbitrary: the weight of its heaviest word is made positive.
        let heaviest = words.iter().map(|&(_, u)| u).max_by(|a, b| a.abs().total_cmp(&b.abs()));
        let sign = heaviest.map_or(1.0, f32::signum);
        words.sort_by(|a, b| (sign * b.1).total_cmp(&(sign * a.1)));
        let words = words.iter().take(NAMED_BY).map(|&(term, _)| counts.vocabulary.term(term));
        words.collect::<Vec<_>>().join(", ")
    }

    /// All topics as one matrix, terms × topics.
    fn side_by_side(&self) -> Result<Csr> {
        let (n_shared, per_class) = (self.topics.n_shared() as u32, self.topics.per_class() as u32);
        let n_cols = n_shared as usize + self.topics.own.len() * per_class as usize;
        Csr::by_rows(n_cols, self.topics.n_terms(), |term| {
            let (mut indices, mut values) = (Vec::new(), Vec::new());
            let shared = self.topics.shared.row(term);
            indices.extend_from_slice(shared.indices);
            values.extend_from_slice(shared.values);
            for (class, own) in (0u32..).zip(&self.topics.own) {
                let first = n_shared + class * per_class;
                indices.extend(own.row(term).indices.iter().map(|k| first + k));
                values.extend_from_slice(own.row(term).values);
            }
            Ok((indices, values))
        })
    }
}

impl Learnt {
    fn read(tensors: &Tensors, counts: &Counts, grouped: bool) -> Result<Self> {
        let broken = |problem: String| Error::Structure { problem };
        let shared = tensors.csr("shared")?;
        let mut own = Vec::new();
        while tensors.has(&format!("own.{}.starts", own.len()))? {
            own.push(tensors.csr(&format!("own.{}", own.len()))?);
        }
        let (_, class_of) = tensors.array::<u32>("classes")?;
        let (shape, weights) = tensors.array::<f32>("weights")?;
        let per_class = own.first().map_or(0, Csr::n_cols);
        let width = shared.n_cols() + per_class;
        let fits = |matrix: &Csr| matrix.n_rows() == counts.n_terms();
        let whole = fits(&shared)
            && !own.is_empty()
            && own.iter().all(|own| fits(own) && own.n_cols() == per_class)
            && class_of.len() == counts.n_docs()
            && class_of.iter().all(|&class| (class as usize) < own.len());
        if !whole || shape != [counts.n_docs(), width] || weights.iter().any(|v| !v.is_finite()) {
            return Err(broken(format!(
                "topics of {} classes and weights {shape:?} do not fit {} documents and {} terms",
                own.len(),
                counts.n_docs(),
                counts.n_terms()
            )));
        }
        let mut centres = None;
        if tensors.has("centres")? {
            let (shape, values) = tensors.array::<f32>("centres")?;
            if shape != [counts.n_terms(), own.len()] {
                return Err(broken(format!("centres of clusters have the shape {shape:?}")));
            }
            centres = Some(Dense::from_values(shape[0], shape[1], values));
        }
        let classes = match &counts.classes {
            Some(classes) if grouped && centres.is_none() && classes.names.len() == own.len() => {
                classes.names.clone()
            }
            _ if grouped => cluster_names(own.len()),
            _ => vec![String::new()],
        };
        let weights = Dense::from_values(counts.n_docs(), width, weights);
        Ok(Learnt { topics: Topics { shared, own }, classes, class_of, centres, weights })
    }
}

impl Matcher for Factorised {
    fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]) {
        let queries = self.query_weights(counts, query);
        for (doc, score) in out.iter_mut().enumerate() {
            *score = self.score(&queries[self.class_of[doc] as usize], doc);
        }
    }

    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        let queries = self.query_weights(counts, query);
        for (score, &doc) in out.iter_mut().zip(docs) {
            *score = self.score(&queries[self.class_of[doc as usize] as usize], doc as usize);
        }
    }

    /// The contribution of every topic.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let class = self.class_of[doc as usize] as usize;
        let query = &self.query_weights(counts, query)[class];
        let n_shared = self.topics.n_shared();
        let (shared, own) = (self.topics.shared.transpose(), self.topics.own[class].transpose());
        let inverse = f64::from(self.inverse_norms[doc as usize]);
        let terms = query.iter().zip(self.weights.row(doc as usize)).enumerate();
        terms
            .filter(|(_, (q, v))| **q != 0.0 && **v != 0.0)
            .map(|(k, (&q, &v))| {
                let (number, name) = match k.checked_sub(n_shared) {
                    None => (k, self.name_of(counts, &shared, k)),
                    Some(at) => (
                        n_shared + class * self.topics.per_class() + at,
                        self.name_of(counts, &own, at),
                    ),
                };
                Contribution {
                    query: format!("topic {}", number + 1),
                    doc: name,
                    value: f64::from(q) * f64::from(v) * inverse,
                }
            })
            .collect()
    }

    fn save_state<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        tensors.csr("shared", &self.topics.shared);
        for (class, own) in self.topics.own.iter().enumerate() {
            tensors.csr(&format!("own.{class}"), own);
        }
        tensors.array("classes", &[self.class_of.len()], &self.class_of);
        if let Some(centres) = &self.centres {
            tensors.array("centres", &[centres.n_rows(), centres.n_cols()], centres.values());
        }
        let shape = [self.weights.n_rows(), self.weights.n_cols()];
        tensors.array("weights", &shape, self.weights.values());
    }

    /// Folds new documents in: into the topics of their class if training knows it, else into those
    /// of the class that explains most of them.
    fn with_documents(&self, counts: &Counts, n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        let first = counts.n_docs() - n_new;
        let mut class_of = self.class_of.clone();
        let by_field = counts.classes.as_ref().filter(|classes| classes.names == self.classes);
        class_of.extend((first..counts.n_docs()).map(|doc| match by_field {
            Some(classes) => {
                let class = classes.of[doc];
                if (class as usize) < classes.names.len() { class } else { UNKNOWN }
            }
            None => UNKNOWN,
        }));
        let mut weights = self.weights.values().to_vec();
        weights.resize(counts.n_docs() * self.weights.n_cols(), 0.0);
        let learnt = Learnt {
            topics: self.topics.clone(),
            classes: self.classes.clone(),
            class_of,
            centres: self.centres.clone(),
            weights: Dense::from_values(counts.n_docs(), self.weights.n_cols(), weights),
        };
        let new = |doc: u32| doc as usize >= first;
        let fitted =
            Factorised::new(counts, learnt, (self.kind, self.cosine), new, &Run::silent())?;
        Ok(Some(Box::new(fitted)))
    }

    fn no_match(&self) -> &'static str {
        "no topic has a word of the query: every document scores 0"
    }

    fn zero_is_none(&self) -> bool {
        false
    }

    fn topics(&self) -> Option<TopicsView<'_>> {
        let grouped = self.has_classes();
        Some(TopicsView {
            weights: Cow::Owned(Map::Sparse(self.side_by_side().ok()?)),
            n_shared: self.topics.n_shared(),
            per_class: self.topics.per_class(),
            classes: if grouped { &self.classes } else { &[] },
            class_of: if grouped { &self.class_of } else { &[] },
            documents: Cow::Borrowed(&self.weights),
            non_negative: self.kind == FactorKind::Nmf,
        })
    }

    fn topics_of(&self, counts: &Counts, query: &QueryTerms) -> Option<(Option<u32>, Vec<f32>)> {
        let (indices, values) = self.featurizer.query_terms(counts, query);
        let row = Row { indices: &indices, values: &values };
        let (class, weights) = self.folding.fold_best(&self.topics, row);
        Some((self.has_classes().then_some(class as u32), weights))
    }
}
