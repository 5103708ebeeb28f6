//! A fitted W, ready to score: the cosine of words, if the identity is part of W, and what was
//! learnt beside it.

use super::hashed::hash;
use crate::features::{Counts, Features, Featurizer, QueryTerms};
use crate::file::TensorsWriter;
use crate::matchers::dots::DocRows;
use crate::matchers::{Bilinear, Line, Map, Maps, Matcher};
use crate::sparse::{Csr, Row};
use crate::{Error, Result};

/// What was learnt, by words.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Learnt {
    /// The maps of `low_rank` and `symmetric`.
    Maps(Maps),
    /// A weight for every word.
    Diagonal(Vec<f32>),
    /// Query words × document words.
    Full(Csr),
    /// A weight for every hash.
    Hashed(Vec<f32>),
}

impl Learnt {
    pub fn is_finite(&self) -> bool {
        let finite = |values: &[f32]| values.iter().all(|value| value.is_finite());
        let map = |map: &Map| match map {
            Map::Dense(map) => finite(map.values()),
            Map::Sparse(map) => finite(map.values()),
        };
        match self {
            Learnt::Maps(maps) => map(&maps.l_x) && map(&maps.l_y),
            Learnt::Diagonal(weights) | Learnt::Hashed(weights) => finite(weights),
            Learnt::Full(cells) => finite(cells.values()),
        }
    }
}

/// The same, ready to score.
enum Part {
    Latent(Box<Bilinear>),
    Diagonal(Vec<f32>),
    Full(Csr),
    Hashed(Vec<f32>),
}

/// A fitted matcher.
pub(super) struct Indexed {
    featurizer: Featurizer,
    /// Documents × words.
    rows: DocRows,
    identity: bool,
    part: Part,
}

impl Indexed {
    /// Puts what was learnt together with the counts it was learnt from.
    pub fn new(counts: &Counts, identity: bool, learnt: Learnt) -> Result<Self> {
        let n = counts.n_terms();
        let fits = match &learnt {
            // Checked where the images are made.
            Learnt::Maps(_) => true,
            Learnt::Diagonal(weights) => weights.len() == n,
            Learnt::Full(cells) => (cells.n_rows(), cells.n_cols()) == (n, n),
            Learnt::Hashed(weights) => !weights.is_empty(),
        };
        if !fits {
            return Err(Error::Structure {
                problem: format!("what was learnt is not of {n} words, but there are as many"),
            });
        }
        let part = match learnt {
            Learnt::Maps(maps) => {
                Part::Latent(Box::new(Bilinear::new(counts, &Features::words(), maps)?))
            }
            Learnt::Diagonal(weights) => Part::Diagonal(weights),
            Learnt::Full(cells) => Part::Full(cells),
            Learnt::Hashed(weights) => Part::Hashed(weights),
        };
        let featurizer = Featurizer::new(counts, &Features::words())?;
        let rows = DocRows::new(featurizer.docs(counts)?);
        Ok(Indexed { featurizer, rows, identity, part })
    }

    fn learnt(&self) -> Learnt {
        match &self.part {
            Part::Latent(latent) => Learnt::Maps(latent.maps().clone()),
            Part::Diagonal(weights) => Learnt::Diagonal(weights.clone()),
            Part::Full(cells) => Learnt::Full(cells.clone()),
            Part::Hashed(weights) => Learnt::Hashed(weights.clone()),
        }
    }

    /// qᵀ(W − I) by word, where W is no map.
    fn spread(&self, query: Row<'_>) -> Vec<f32> {
        let mut weights = vec![0.0; self.rows.docs.n_cols()];
        match &self.part {
            Part::Full(cells) => {
                for (s, value) in query.iter() {
                    for (t, cell) in cells.row(s as usize).iter() {
                        weights[t as usize] += value * cell;
                    }
                }
            }
            Part::Hashed(hashed) => {
                for (s, value) in query.iter() {
                    for (t, weight) in (0u32..).zip(weights.iter_mut()) {
                        *weight += value * hashed[hash(s, t, hashed.len())];
                    }
                }
            }
            Part::Latent(_) | Part::Diagonal(_) => {}
        }
        weights
    }

    /// What the words of the query count for by themselves: the diagonal of W where W has
    /// nothing else, the identity, or nothing.
    fn own(&self, indices: &[u32], values: &mut [f32]) {
        let identity = if self.identity { 1.0 } else { 0.0 };
        for (&word, value) in indices.iter().zip(values) {
            *value *= match &self.part {
                Part::Diagonal(weights) => identity + weights[word as usize],
                _ => identity,
            };
        }
    }

    fn score(&self, counts: &Counts, query: &QueryTerms, docs: Option<&[u32]>, out: &mut [f32]) {
        let (indices, mut values) = self.featurizer.query_terms(counts, query);
        let words = Row { indices: &indices, values: &values };
        match (&self.part, docs) {
            (Part::Latent(latent), None) => latent.score_all(counts, query, out),
            (Part::Latent(latent), Some(docs)) => latent.score_some(counts, query, docs, out),
            (Part::Diagonal(_), _) => out.fill(0.0),
            (Part::Full(_) | Part::Hashed(_), docs) => {
                let weights = self.spread(words);
                let of = |doc: usize| -> f32 {
                    self.rows
                        .docs
                        .row(doc)
                        .iter()
                        .map(|(t, value)| value * weights[t as usize])
                        .sum()
                };
                for (k, score) in out.iter_mut().enumerate() {
                    *score = of(docs.map_or(k, |docs| docs[k] as usize));
                }
            }
        }
        if !self.identity && !matches!(self.part, Part::Diagonal(_)) {
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

    /// What every pair of words adds; a word adds by itself, too, if the identity is part of W.
    fn lines(&self, counts: &Counts, query: &QueryTerms, doc: u32) -> Vec<Line> {
        let (indices, mut values) = self.featurizer.query_terms(counts, query);
        let row = self.rows.docs.row(doc as usize);
        let word = |word: u32| counts.vocabulary.term(word).to_owned();
        let mut lines = Vec::new();
        let mut pairs = |cell: &dyn Fn(u32, u32) -> f32| {
            for (&s, &q) in indices.iter().zip(&values) {
                for (t, d) in row.iter() {
                    let value = f64::from(q) * f64::from(d) * f64::from(cell(s, t));
                    if value != 0.0 {
                        lines.push(Line { query: word(s), doc: word(t), value });
                    }
                }
            }
        };
        match &self.part {
            Part::Latent(latent) => lines = latent.lines(counts, query, doc),
            Part::Diagonal(_) => {}
            Part::Full(cells) => pairs(&|s, t| cells.row(s as usize).get(t)),
            Part::Hashed(weights) => pairs(&|s, t| weights[hash(s, t, weights.len())]),
        }
        self.own(&indices, &mut values);
        for (&s, &q) in indices.iter().zip(&values) {
            let value = f64::from(q) * f64::from(row.get(s));
            if value != 0.0 {
                lines.push(Line {
                    query: word(s),
                    doc: format!("{} (the same word)", word(s)),
                    value,
                });
            }
        }
        lines
    }

    fn keep<'a>(&'a self, tensors: &mut TensorsWriter<'a>) {
        match &self.part {
            Part::Latent(latent) => latent.keep(tensors),
            Part::Diagonal(weights) => {
                tensors.array("diagonal", &[weights.len()], weights);
            }
            Part::Full(cells) => {
                tensors.csr("cells", cells);
            }
            Part::Hashed(weights) => {
                tensors.array("hashed", &[weights.len()], weights);
            }
        }
    }

    /// New documents are known by their words.
    fn with_documents(&self, counts: &Counts, _: usize) -> Result<Option<Box<dyn Matcher>>> {
        Ok(Some(Box::new(Indexed::new(counts, self.identity, self.learnt())?)))
    }

    fn nothing(&self) -> &'static str {
        "no word of this query counts for a document: every document scores 0"
    }

    fn zero_is_none(&self) -> bool {
        matches!(self.part, Part::Diagonal(_))
    }

    /// The latent space, where it is all there is.
    fn bilinear(&self) -> Option<&Bilinear> {
        match &self.part {
            Part::Latent(latent) if !self.identity => Some(latent),
            _ => None,
        }
    }
}
