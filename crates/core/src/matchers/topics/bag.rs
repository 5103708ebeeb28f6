//! Matching by topics of bags of words (PLSI, LDA): every document and every query is folded into the
//! learnt topics, and the score is the cosine of their distributions θ over the topics.
//!
//! All documents are folded in the same way, also those of training, so that a new document has the
//! score of a training document with the same words.

use std::borrow::Cow;
use std::sync::Arc;

use super::classes::training;
use crate::features::{Counts, QueryTerms};
use crate::file::{Tensors, TensorsWriter};
use crate::linalg::{Dense, dot, dot_f64, scale_to};
use crate::matchers::pairs::text_of;
use crate::matchers::{Contribution, FitReport, Fitting, Map, Matcher, StepsReport, TopicsView};
use crate::sparse::Csr;
use crate::topic::{BagTopics, Workspace, completion};
use crate::{Error, Result, Run, counted};

/// Fitted topics of bags of words.
pub(super) struct BagMatcher {
    topics: Arc<dyn BagTopics>,
    field: Option<String>,
    /// Documents × topics: the distribution of every document over the topics.
    theta: Dense,
    /// 1/‖θ‖ of every document; 0 where the topics know none of its words.
    scales: Vec<f32>,
}

impl BagMatcher {
    /// Learns topics from the training documents and folds all documents in. `train` returns the
    /// topics, whether it converged, and the `figures` of every `step`.
    pub fn fit<T: BagTopics + 'static>(
        fitting: &Fitting<'_>,
        field: Option<&str>,
        (step, figures): (&str, &[&str]),
        train: impl FnOnce(&Csr, &Run<'_>) -> Result<(T, bool, Vec<Vec<f64>>)>,
    ) -> Result<(Box<dyn Matcher>, FitReport)> {
        let (counts, run) = (fitting.counts, fitting.run);
        let text = text_of(counts, field)?;
        let docs = rows(text, &training(counts))?;
        let (topics, converged, steps) = train(&docs, run)?;
        let topics: Arc<dyn BagTopics> = Arc::new(topics);
        let report = StepsReport {
            step: step.into(),
            figures: figures.iter().map(|&figure| figure.into()).collect(),
            steps,
            notes: notes(&*topics, counts, (text, &docs), converged, run)?,
            ..StepsReport::default()
        };
        drop(docs);
        run.step("topics of the documents", 0, None)?;
        let theta = topics.fold_in_all(text, 0, run)?;
        let matcher = BagMatcher::over(topics, field, text, theta);
        Ok((Box::new(matcher), FitReport::Steps(report)))
    }

    /// Restores what a model folder holds; `topics` makes topics of the weights.
    pub fn restored<T: BagTopics + 'static>(
        tensors: &Tensors,
        counts: &Counts,
        field: Option<&str>,
        dim: usize,
        topics: impl FnOnce(Dense) -> T,
    ) -> Result<Box<dyn Matcher>> {
        let read = |name: &str, n_rows: usize| {
            let (shape, values) = tensors.array::<f32>(name)?;
            if shape != [n_rows, dim] {
                return Err(Error::Structure {
                    problem: format!("{name} is {shape:?} instead of {n_rows} × {dim}"),
                });
            }
            if values.iter().any(|value| !value.is_finite() || *value < 0.0) {
                return Err(Error::Structure {
                    problem: format!("{name} has weights that are not finite or below 0"),
                });
            }
            Ok(Dense::from_values(n_rows, dim, values))
        };
        let theta = read("theta", counts.n_docs())?;
        let topics = Arc::new(topics(read("phi", counts.n_terms())?));
        Ok(Box::new(BagMatcher::over(topics, field, text_of(counts, field)?, theta)))
    }

    fn over(topics: Arc<dyn BagTopics>, field: Option<&str>, text: &Csr, theta: Dense) -> Self {
        let scale = |doc: usize| {
            // A document without a known word matches no query, although its θ is uniform.
            if !text.row(doc).indices.iter().any(|&term| topics.knows(term)) {
                return 0.0;
            }
            let norm = dot_f64(theta.row(doc), theta.row(doc)).sqrt();
            if norm > 0.0 { (1.0 / norm) as f32 } else { 0.0 }
        };
        let scales = (0..theta.n_rows()).map(scale).collect();
        BagMatcher { topics, field: field.map(str::to_owned), theta, scales }
    }

    /// θ of a query; `None` if the topics know none of its words.
    fn theta_of(&self, query: &QueryTerms) -> Option<Vec<f32>> {
        query.indices.iter().any(|&term| self.topics.knows(term)).then(|| {
            let mut theta = vec![0.0; self.topics.dim()];
            self.topics.fold_in(query.row(), &mut Workspace::new(theta.len()), &mut theta);
            theta
        })
    }

    /// θ of a query with norm 1; zeros if the topics know none of its words.
    fn embedding(&self, query: &QueryTerms) -> Vec<f32> {
        let mut embedding = self.theta_of(query).unwrap_or_else(|| vec![0.0; self.topics.dim()]);
        scale_to(&mut embedding, 1.0);
        embedding
    }

    fn score(&self, embedding: &[f32], doc: usize) -> f32 {
        dot(embedding, self.theta.row(doc)) * self.scales[doc]
    }

    /// The three strongest words of every topic.
    fn words(&self, counts: &Counts) -> Vec<String> {
        let weights = self.topics.weights();
        let mut best: Vec<Vec<(f32, u32)>> = vec![Vec::with_capacity(4); self.topics.dim()];
        for term in 0..weights.n_rows() {
            for (best, &weight) in best.iter_mut().zip(weights.row(term)) {
                let at = best.partition_point(|&(other, _)| other >= weight);
                if at < 3 && weight > 0.0 {
                    best.insert(at, (weight, term as u32));
                    best.truncate(3);
                }
            }
        }
        let name = |&(_, term): &(f32, u32)| counts.vocabulary.term(term);
        best.iter().map(|best| best.iter().map(name).collect::<Vec<_>>().join(", ")).collect()
    }
}

impl Matcher for BagMatcher {
    fn score_all(&self, _: &Counts, query: &QueryTerms, out: &mut [f32]) {
        let embedding = self.embedding(query);
        out.iter_mut().enumerate().for_each(|(doc, score)| *score = self.score(&embedding, doc));
    }

    fn score_some(&self, _: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        let embedding = self.embedding(query);
        for (score, &doc) in out.iter_mut().zip(docs) {
            *score = self.score(&embedding, doc as usize);
        }
    }

    /// The contribution of every topic.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let (embedding, doc) = (self.embedding(query), doc as usize);
        let (words, scale) = (self.words(counts), f64::from(self.scales[doc]));
        let parts = embedding.iter().zip(self.theta.row(doc)).zip(words).enumerate();
        parts
            .map(|(k, ((&x, &y), words))| Contribution {
                query: format!("topic {}", k + 1),
                doc: words,
                value: f64::from(x) * f64::from(y) * scale,
            })
            .filter(|line| line.value != 0.0)
            .collect()
    }

    fn save_state<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        let weights = self.topics.weights();
        tensors.array("phi", &[weights.n_rows(), weights.n_cols()], weights.values());
        tensors.array("theta", &[self.theta.n_rows(), weights.n_cols()], self.theta.values());
    }

    /// Folds the new documents in; the others stay as they are.
    fn with_documents(&self, counts: &Counts, n_new: usize) -> Result<Option<Box<dyn Matcher>>> {
        let text = text_of(counts, self.field.as_deref())?;
        let first = counts.n_docs() - n_new;
        let new = self.topics.fold_in_all(text, first, &Run::silent())?;
        let mut values = self.theta.values().to_vec();
        values.extend_from_slice(new.values());
        let theta = Dense::from_values(counts.n_docs(), self.topics.dim(), values);
        Ok(Some(Box::new(BagMatcher::over(
            self.topics.clone(),
            self.field.as_deref(),
            text,
            theta,
        ))))
    }

    fn no_match(&self) -> &'static str {
        "no training document has a word of the query"
    }

    fn zero_is_none(&self) -> bool {
        false
    }

    fn topics(&self) -> Option<TopicsView<'_>> {
        Some(TopicsView {
            weights: Cow::Owned(Map::Dense(self.topics.probabilities().into_owned())),
            n_shared: self.topics.dim(),
            per_class: 0,
            classes: &[],
            class_of: &[],
            documents: Cow::Borrowed(&self.theta),
            non_negative: true,
        })
    }

    fn topics_of(&self, _: &Counts, query: &QueryTerms) -> Option<(Option<u32>, Vec<f32>)> {
        Some((None, self.theta_of(query).unwrap_or_else(|| vec![0.0; self.topics.dim()])))
    }
}

fn rows(text: &Csr, docs: &[u32]) -> Result<Csr> {
    Csr::by_rows(text.n_cols(), docs.len(), |at| {
        let row = text.row(docs[at] as usize);
        Ok((row.indices.to_vec(), row.values.to_vec()))
    })
}

/// Notes of a fit: the numbers of topics, documents and words, whether it converged, and the
/// perplexity on held-out documents.
fn notes(
    topics: &dyn BagTopics,
    counts: &Counts,
    (text, docs): (&Csr, &Csr),
    converged: bool,
    run: &Run<'_>,
) -> Result<Vec<String>> {
    let n_known = (0..docs.n_cols() as u32).filter(|&term| topics.knows(term)).count();
    let n_empty = docs.rows().filter(|row| row.is_empty()).count();
    let mut notes = vec![format!(
        "{} of {} and {}",
        counted(topics.dim(), "topic"),
        counted(docs.n_rows(), "document"),
        counted(n_known, "word")
    )];
    if n_empty > 0 {
        notes.push(format!("documents without a word, whose topics are uniform: {n_empty}"));
    }
    if converged {
        notes.push("it converged before the last iteration".into());
    }
    let held_out = &counts.held_out_documents;
    if !held_out.is_empty() {
        let found = completion(topics, &rows(text, held_out)?, run)?;
        if found.words > 0.0 {
            notes.push(format!(
                "held-out documents: {}, perplexity {:.1} of half their words, given the other half",
                held_out.len(),
                found.perplexity
            ));
        }
    }
    Ok(notes)
}
