//! The extractor: features of a query and documents, for rows to learn from and rows to serve.

use std::sync::Arc;

use super::columns::{FeatureSource, columns};
use super::documents;
use super::group::{FeatureInfo, Group};
use super::source::{FeatureQuery, Source};
use super::texts::{Proximities, ProximityKind, Text};
use crate::data::Dataset;
use crate::features::Counts;
use crate::{Result, Run};

/// Features that do not depend on clicks, so that extractors whose matchers learnt from different
/// clicks can share them.
pub struct StaticFeatures {
    columns: Vec<(FeatureInfo, FeatureSource)>,
    groups: Vec<Group>,
}

impl StaticFeatures {
    /// The features of `groups`; without proximity if `counts` have no positions.
    pub fn of(dataset: &Dataset, counts: &Counts, groups: &[Group], run: &Run<'_>) -> Result<Self> {
        run.step("preparing features", 0, None)?;
        let mut columns = columns(counts, groups)?;
        if groups.contains(&Group::Url) || groups.contains(&Group::Fields) {
            let (depths, fields) = documents::read(dataset, counts, run)?;
            let mut add = |name: String, group: Group, numbers| {
                let column = FeatureSource::Document(Arc::new(numbers));
                columns.push((FeatureInfo { name, group, model: None }, column));
            };
            if let Some(depths) = depths.filter(|_| groups.contains(&Group::Url)) {
                add("url_depth".into(), Group::Url, depths);
            }
            for (name, numbers) in fields.into_iter().filter(|_| groups.contains(&Group::Fields)) {
                add(format!("field({name})"), Group::Fields, numbers);
            }
        }
        Ok(StaticFeatures { columns, groups: groups.to_vec() })
    }
}

/// Computes the features of queries and documents.
#[derive(Clone)]
pub struct Extractor {
    pub(super) about: Vec<FeatureInfo>,
    pub(super) columns: Vec<FeatureSource>,
}

impl Extractor {
    /// The features of `fixed`, those of `counts`' clicks, and one for each of `sources`. A source
    /// with the name of a lexical matcher replaces that matcher over all texts.
    pub fn new(fixed: &StaticFeatures, counts: &Counts, sources: Vec<(String, Source)>) -> Self {
        let (mut about, mut columns): (Vec<FeatureInfo>, Vec<FeatureSource>) =
            fixed.columns.iter().cloned().unzip();
        if fixed.groups.contains(&Group::Clicks) && counts.clicks.nnz() > 0 {
            let ranks = documents::pagerank(counts).map(|ranks| ("pagerank", ranks));
            for (name, numbers) in [("clicks", documents::clicks(counts))].into_iter().chain(ranks)
            {
                about.push(FeatureInfo { name: name.into(), group: Group::Clicks, model: None });
                columns.push(FeatureSource::Document(Arc::new(numbers)));
            }
        }
        for (name, source) in sources {
            let place = about.iter().position(|known| known.name == format!("{name}(all)"));
            match place {
                Some(place) => {
                    about[place].model = Some(name);
                    columns[place] = FeatureSource::Source(source);
                }
                None => {
                    about.push(FeatureInfo {
                        name: format!("model({name})"),
                        group: Group::Models,
                        model: Some(name),
                    });
                    columns.push(FeatureSource::Source(source));
                }
            }
        }
        Extractor { about, columns }
    }

    /// The features, in order.
    pub fn features(&self) -> &[FeatureInfo] {
        &self.about
    }

    /// The names of the features, in order.
    pub fn names(&self) -> Vec<String> {
        self.about.iter().map(|about| about.name.clone()).collect()
    }

    /// The models that do not know all documents, by name, and how many each does not know.
    pub fn unknown_documents(&self) -> Vec<(String, usize)> {
        let unknown = |(about, column): (&FeatureInfo, &FeatureSource)| match column {
            FeatureSource::Source(source) => Some((about.model.clone()?, source.unknown())),
            _ => None,
        };
        let found = self.about.iter().zip(&self.columns).filter_map(unknown);
        found.filter(|&(_, documents)| documents > 0).collect()
    }

    /// The features at `chosen` alone, in that order.
    pub fn only(&self, chosen: &[usize]) -> Self {
        Extractor {
            about: chosen.iter().map(|&f| self.about[f].clone()).collect(),
            columns: chosen.iter().map(|&f| self.columns[f].clone()).collect(),
        }
    }

    /// The features of the documents `docs` for a query, row by row. `counts` are those of the
    /// extractor.
    pub fn rows(&self, counts: &Counts, query: &FeatureQuery<'_>, docs: &[u32]) -> Vec<f32> {
        let mut values = vec![f32::NAN; docs.len() * self.columns.len()];
        let scored = vec![None; self.columns.len()];
        self.fill(counts, query, docs, &scored, &mut values);
        values
    }

    /// Writes the features to `values`, row by row. `scored` has the columns that have scored all
    /// documents already.
    pub(super) fn fill(
        &self,
        counts: &Counts,
        query: &FeatureQuery<'_>,
        docs: &[u32],
        scored: &[Option<Vec<f32>>],
        values: &mut [f32],
    ) {
        let n = self.columns.len();
        let terms = query.terms;
        let mut scores = vec![0.0f32; docs.len()];
        let mut proximity: Vec<(usize, Text, ProximityKind)> = Vec::new();
        for (c, column) in self.columns.iter().enumerate() {
            match (column, &scored[c]) {
                (FeatureSource::Proximity { text, kind }, _) => {
                    proximity.push((c, *text, *kind));
                    continue;
                }
                (_, Some(all)) => pick(all, docs, &mut scores),
                (FeatureSource::Words { matcher, .. }, None) => {
                    matcher.score_some(counts, terms, docs, &mut scores);
                }
                (FeatureSource::Document(numbers), None) => pick(numbers, docs, &mut scores),
                (FeatureSource::QueryLength, None) => scores.fill(terms.counts.iter().sum()),
                (FeatureSource::Source(source), None) => {
                    source.score_some(counts, query, docs, &mut scores);
                }
            }
            // The score of an empty text is missing, not low.
            if let FeatureSource::Words { text, .. } = column {
                for (score, &doc) in scores.iter_mut().zip(docs) {
                    if text.is_empty(counts, doc) {
                        *score = f32::NAN;
                    }
                }
            }
            values.iter_mut().skip(c).step_by(n).zip(&scores).for_each(|(to, &from)| *to = from);
        }
        if proximity.is_empty() {
            return;
        }
        let mut proximities = Proximities::new(terms);
        for (&doc, row) in docs.iter().zip(values.chunks_mut(n)) {
            proximities.read(counts, doc);
            proximity.iter().for_each(|&(c, text, kind)| row[c] = proximities.of(text, kind));
        }
    }
}

fn pick(all: &[f32], docs: &[u32], into: &mut [f32]) {
    for (to, &doc) in into.iter_mut().zip(docs) {
        *to = all.get(doc as usize).copied().unwrap_or(f32::NAN);
    }
}
