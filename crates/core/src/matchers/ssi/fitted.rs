//! The fitted matcher: the cosine of words times the weight of the identity, plus what the form has
//! learnt.

use std::sync::Arc;

use super::hashes::Hashes;
use super::params::Ssi;
use crate::Result;
use crate::features::{Counts, Features, Featurizer, QueryTerms};
use crate::file::TensorsWriter;
use crate::matchers::dots::DocRows;
use crate::matchers::{Bilinear, Contribution, Map, Maps, Matcher};
use crate::params::check::bad_state;
use crate::sparse::{Csr, Row};

/// The learnt part of W, by words. `M` is the latent form: maps, or a model of them.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Learnt<M> {
    /// UᵀV of `low_rank` and `symmetric`.
    Latent(M),
    /// A weight for every word.
    Diagonal(Vec<f32>),
    /// Query words × document words.
    Full(Csr),
    /// A weight for every hash.
    Hashed(Vec<f32>),
}

impl Learnt<Maps> {
    pub fn is_finite(&self) -> bool {
        let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        let map = |map: &Map| match map {
            Map::Dense(map) => finite(map.values()),
            Map::Sparse(map) => finite(map.values()),
        };
        match self {
            Learnt::Latent(maps) => map(&maps.l_x) && map(&maps.l_y),
            Learnt::Diagonal(weights) | Learnt::Hashed(weights) => finite(weights),
            Learnt::Full(cells) => finite(cells.values()),
        }
    }

    /// Whether it fits a vocabulary of `n` words.
    fn fits(&self, n: usize) -> bool {
        match self {
            // Checked where the embeddings are made.
            Learnt::Latent(_) => true,
            Learnt::Diagonal(weights) => weights.len() == n,
            Learnt::Full(cells) => (cells.n_rows(), cells.n_cols()) == (n, n),
            Learnt::Hashed(weights) => !weights.is_empty(),
        }
    }
}

impl<M> Learnt<M> {
    /// The same with another latent form.
    fn map<T>(self, of: impl FnOnce(M) -> Result<T>) -> Result<Learnt<T>> {
        Ok(match self {
            Learnt::Latent(latent) => Learnt::Latent(of(latent)?),
            Learnt::Diagonal(weights) => Learnt::Diagonal(weights),
            Learnt::Full(cells) => Learnt::Full(cells),
            Learnt::Hashed(weights) => Learnt::Hashed(weights),
        })
    }
}

/// α of αI.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Identity {
    /// Its value; 0 if W has no identity.
    pub weight: f32,
    /// Whether it is learnt.
    pub learnt: bool,
}

impl Ssi {
    /// αI at the start.
    pub(super) fn identity_at_start(&self) -> Identity {
        let weight = if self.identity { self.identity_weight as f32 } else { 0.0 };
        Identity { weight, learnt: self.learn_identity }
    }
}

impl Identity {
    /// Moves it for a triple within the margin, whose cosines differ by `cosines`.
    pub fn step(&mut self, rate: f32, cosines: f32) {
        if self.learnt {
            self.weight += rate * cosines;
        }
    }
}

/// A fitted matcher.
pub(super) struct Indexed {
    featurizer: Featurizer,
    /// Documents × words.
    rows: Arc<DocRows>,
    identity: Identity,
    part: Learnt<Arc<Bilinear>>,
}

impl Indexed {
    /// Puts what was learnt together with the counts it was learnt from.
    pub fn new(counts: &Counts, identity: Identity, learnt: Learnt<Maps>) -> Result<Self> {
        let featurizer = Featurizer::new(counts, &Features::words())?;
        let rows = DocRows::new(featurizer.docs(counts)?);
        Indexed::over(counts, Arc::new(rows), identity, learnt)
    }

    /// The same for documents whose rows are already computed.
    pub fn over(
        counts: &Counts,
        rows: Arc<DocRows>,
        identity: Identity,
        learnt: Learnt<Maps>,
    ) -> Result<Self> {
        let n = counts.n_terms();
        if !learnt.fits(n) {
            return Err(bad_state(format!("the learnt state is not one of {n} words")));
        }
        let part = learnt.map(|maps| {
            let docs = Arc::clone(&rows.docs);
            Ok(Arc::new(Bilinear::over(counts, &Features::words(), maps, docs, None)?))
        })?;
        let featurizer = Featurizer::new(counts, &Features::words())?;
        Ok(Indexed { featurizer, rows, identity, part })
    }

    /// qᵀ(W − αI) by word, for forms without maps.
    fn spread(&self, query: Row<'_>) -> Vec<f32> {
        let mut weights = vec![0.0; self.rows.docs.n_cols()];
        match &self.part {
            Learnt::Full(cells) => {
                for (s, value) in query.iter() {
                    for (t, cell) in cells.row(s as usize).iter() {
                        weights[t as usize] += value * cell;
                    }
                }
            }
            Learnt::Hashed(hashed) => {
                for (s, value) in query.iter() {
                    let hashes = Hashes::of(s, hashed.len());
                    for (t, weight) in (0u32..).zip(weights.iter_mut()) {
                        *weight += value * hashed[hashes.at(t)];
                    }
                }
            }
            Learnt::Latent(_) | Learnt::Diagonal(_) => {}
        }
        weights
    }

    /// Multiplies the words of the query by the diagonal of W: the identity, and the learnt weights
    /// of `diagonal`.
    fn own(&self, indices: &[u32], values: &mut [f32]) {
        let identity = self.identity.weight;
        for (&word, value) in indices.iter().zip(values) {
            *value *= match &self.part {
                Learnt::Diagonal(weights) => identity + weights[word as usize],
                _ => identity,
            };
        }
    }

    fn score(&self, counts: &Counts, query: &QueryTerms, docs: Option<&[u32]>, out: &mut [f32]) {
        let (indices, mut values) = self.featurizer.query_terms(counts, query);
        let words = Row { indices: &indices, values: &values };
        match (&self.part, docs) {
            (Learnt::Latent(latent), None) => latent.score_all(counts, query, out),
            (Learnt::Latent(latent), Some(docs)) => latent.score_some(counts, query, docs, out),
            (Learnt::Diagonal(_), _) => out.fill(0.0),
            (Learnt::Full(_) | Learnt::Hashed(_), docs) => {
                let weights = self.spread(words);
                for (k, score) in out.iter_mut().enumerate() {
                    let row = self.rows.docs.row(docs.map_or(k, |docs| docs[k] as usize));
                    *score = row.iter().map(|(t, value)| value * weights[t as usize]).sum();
                }
            }
        }
        if self.identity.weight == 0.0 && !matches!(self.part, Learnt::Diagonal(_)) {
            return;
        }
        self.own(&indices, &mut values);
        let words = Row { indices: &indices, values: &values };
        match docs {
            None => self.rows.add_all(words, out),
            Some(docs) => self.rows.add_some(words, docs, out),
        }
    }
}

impl Matcher for Indexed {
    fn score_all(&self, counts: &Counts, query: &QueryTerms, out: &mut [f32]) {
        self.score(counts, query, None, out);
    }

    fn score_some(&self, counts: &Counts, query: &QueryTerms, docs: &[u32], out: &mut [f32]) {
        self.score(counts, query, Some(docs), out);
    }

    /// The pairs of words, then the words that query and document share, with the identity.
    fn contributions(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Contribution> {
        let (indices, mut values) = self.featurizer.query_terms(counts, query);
        let row = self.rows.docs.row(doc as usize);
        let word = |word: u32| counts.vocabulary.term(word).to_owned();
        let mut lines = Vec::new();
        let mut pairs = |cell: &dyn Fn(u32, u32) -> f32| {
            for (&s, &q) in indices.iter().zip(&values) {
                for (t, d) in row.iter() {
                    let value = f64::from(q) * f64::from(d) * f64::from(cell(s, t));
                    if value != 0.0 {
                        lines.push(Contribution { query: word(s), doc: word(t), value });
                    }
                }
            }
        };
        match &self.part {
            Learnt::Latent(latent) => lines = latent.contributions(counts, query, doc),
            Learnt::Diagonal(_) => {}
            Learnt::Full(cells) => pairs(&|s, t| cells.row(s as usize).get(t)),
            Learnt::Hashed(weights) => pairs(&|s, t| weights[Hashes::of(s, weights.len()).at(t)]),
        }
        self.own(&indices, &mut values);
        for (&s, &q) in indices.iter().zip(&values) {
            let value = f64::from(q) * f64::from(row.get(s));
            if value != 0.0 {
                lines.push(Contribution {
                    query: word(s),
                    doc: format!("{} (the same word)", word(s)),
                    value,
                });
            }
        }
        lines
    }

    fn save_state<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        if self.identity.learnt {
            tensors.array("identity", &[1], std::slice::from_ref(&self.identity.weight));
        }
        match &self.part {
            Learnt::Latent(latent) => latent.save_state(tensors),
            Learnt::Diagonal(weights) => _ = tensors.array("diagonal", &[weights.len()], weights),
            Learnt::Full(cells) => _ = tensors.csr("cells", cells),
            Learnt::Hashed(weights) => _ = tensors.array("hashed", &[weights.len()], weights),
        }
    }

    fn with_documents(&self, counts: &Counts, _: usize) -> Result<Option<Box<dyn Matcher>>> {
        let learnt = self.part.clone().map(|latent| Ok(latent.maps().clone()))?;
        Ok(Some(Box::new(Indexed::new(counts, self.identity, learnt)?)))
    }

    fn no_match(&self) -> &'static str {
        "no word of this query counts for a document: every document scores 0"
    }

    fn zero_is_none(&self) -> bool {
        matches!(self.part, Learnt::Diagonal(_))
    }

    /// The latent space, if W has no identity.
    fn bilinear(&self) -> Option<&Bilinear> {
        match &self.part {
            Learnt::Latent(latent) if self.identity.weight == 0.0 => Some(latent),
            _ => None,
        }
    }
}
