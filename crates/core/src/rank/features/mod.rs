//! Features of a query and a document: what a ranker looks at. The same code makes the rows that
//! rankers learn from and those that they put in order later, so that both mean the same.
//!
//! ```text
//! bm25(title) vsm(body) lm(url) lm-jm(all)     words of the query in a text            texts.rs
//! ordered(body) unordered(body) span(body)     how they stand to each other
//! length(title) query_length                   words counted
//! url_depth field(price)                       the document itself                     documents.rs
//! clicks pagerank                              what users and other documents say of it
//! model(rmls)                                  the score of any matcher
//! ```
//! `all` is all fields as one text; where documents have one field, it stands for it. A value is
//! missing where the document has no such field, where a word of the query is not in the text
//! (`span`), or where a model does not know the document. Unknown queries are the normal case:
//! all that is needed of one is its words.

mod documents;
mod group;
mod rows;
mod source;
mod texts;

#[cfg(test)]
mod tests;

use std::sync::Arc;

pub use group::{Group, choose};
pub use rows::{Ask, ColumnLook, FeatureRows, Rows, Table, extract, held_out_table};
pub use source::Source;

use self::texts::{Near, Proximities, Text};
use crate::data::Dataset;
use crate::features::{Counts, QueryTerms};
use crate::matchers::Matcher;
use crate::{Result, Run};

/// What a feature is.
#[derive(Debug, Clone, PartialEq)]
pub struct About {
    /// Its name, which says what it is: `bm25(title)`, `model(rmls)`.
    pub name: String,
    /// Its kind.
    pub group: Group,
    /// The matcher whose score it is, by the name it has where it takes part.
    pub model: Option<String>,
}

/// Where a feature comes from.
#[derive(Clone)]
enum FeatureSource {
    /// A matcher of the words of one text.
    Words { matcher: Arc<dyn Matcher>, text: Text },
    /// How words stand to each other in a text.
    Near { text: Text, near: Near },
    /// A number for every document.
    Document(Arc<documents::Numbers>),
    /// The known words of the query.
    QueryLength,
    /// A matcher or model.
    Source(Source),
}

/// Features that do not depend on clicks, so that they can be shared by extractors whose matchers
/// learnt from different ones.
pub struct Fixed {
    columns: Vec<(About, FeatureSource)>,
    groups: Vec<Group>,
}

impl Fixed {
    /// The features of `groups`. How words stand to each other is left out where `counts` have no
    /// positions.
    pub fn of(dataset: &Dataset, counts: &Counts, groups: &[Group], run: &Run<'_>) -> Result<Self> {
        run.step("preparing features", 0, None)?;
        let mut columns = texts::columns(counts, groups)?;
        if groups.contains(&Group::Url) || groups.contains(&Group::Fields) {
            let (depths, fields) = documents::read(dataset, counts, run)?;
            let mut add = |name: String, group: Group, numbers| {
                let column = FeatureSource::Document(Arc::new(numbers));
                columns.push((About { name, group, model: None }, column));
            };
            if let Some(depths) = depths.filter(|_| groups.contains(&Group::Url)) {
                add("url_depth".into(), Group::Url, depths);
            }
            for (name, numbers) in fields.into_iter().filter(|_| groups.contains(&Group::Fields)) {
                add(format!("field({name})"), Group::Fields, numbers);
            }
        }
        Ok(Fixed { columns, groups: groups.to_vec() })
    }
}

/// Makes features of queries and documents.
#[derive(Clone)]
pub struct Extractor {
    about: Vec<About>,
    columns: Vec<FeatureSource>,
}

/// A query to be looked at.
#[derive(Debug, Clone, Copy)]
pub struct Question<'a> {
    /// Its words, as the extractor's counts know them.
    pub terms: &'a QueryTerms,
    /// Its id, or the empty text.
    pub id: &'a str,
    /// Its text, for models with words of their own.
    pub text: &'a str,
}

impl<'a> Question<'a> {
    /// The query that `terms` are of, if it is one of the dataset's.
    pub fn known(counts: &'a Counts, terms: &'a QueryTerms) -> Self {
        let known = terms.known.map(|known| known as usize);
        let of = |texts: &'a [String]| known.map_or("", |known| texts[known].as_str());
        Question { terms, id: of(&counts.query_ids), text: of(&counts.query_texts) }
    }
}

impl Extractor {
    /// The features of `fixed`, those of `counts`' clicks, and one for each of `sources`. A
    /// source that is called as a lexical matcher takes the place of that one over all texts.
    pub fn new(fixed: &Fixed, counts: &Counts, sources: Vec<(String, Source)>) -> Self {
        let (mut about, mut columns): (Vec<About>, Vec<FeatureSource>) =
            fixed.columns.iter().cloned().unzip();
        if fixed.groups.contains(&Group::Clicks) && counts.clicks.nnz() > 0 {
            let ranks = documents::pagerank(counts).map(|ranks| ("pagerank", ranks));
            for (name, numbers) in [("clicks", documents::clicks(counts))].into_iter().chain(ranks)
            {
                about.push(About { name: name.into(), group: Group::Clicks, model: None });
                columns.push(FeatureSource::Document(Arc::new(numbers)));
            }
        }
        for (name, source) in sources {
            let place = about.iter().position(|about| about.name == format!("{name}(all)"));
            match place {
                Some(place) => {
                    about[place].model = Some(name);
                    columns[place] = FeatureSource::Source(source);
                }
                None => {
                    about.push(About {
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

    /// What the features are, in order.
    pub fn features(&self) -> &[About] {
        &self.about
    }

    /// Their names.
    pub fn names(&self) -> Vec<String> {
        self.about.iter().map(|about| about.name.clone()).collect()
    }

    /// The models that do not know some documents, by name, and how many.
    pub fn unknown_documents(&self) -> Vec<(String, usize)> {
        let unknown = |(about, column): (&About, &FeatureSource)| match column {
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

    /// The features of the documents `docs` for a query, row by row. `counts` are those that the
    /// extractor was made for.
    pub fn rows(&self, counts: &Counts, question: &Question<'_>, docs: &[u32]) -> Vec<f32> {
        let mut values = vec![f32::NAN; docs.len() * self.columns.len()];
        let scored = vec![None; self.columns.len()];
        self.fill(counts, question, docs, &scored, &mut values);
        values
    }

    /// Puts the features where they belong. A column that has `scored` all documents already is
    /// not asked again.
    fn fill(
        &self,
        counts: &Counts,
        question: &Question<'_>,
        docs: &[u32],
        scored: &[Option<Vec<f32>>],
        values: &mut [f32],
    ) {
        let n = self.columns.len();
        let terms = question.terms;
        let mut scores = vec![0.0f32; docs.len()];
        let mut near: Vec<(usize, Text, Near)> = Vec::new();
        for (c, column) in self.columns.iter().enumerate() {
            match (column, &scored[c]) {
                (FeatureSource::Near { text, near: what }, _) => {
                    near.push((c, *text, *what));
                    continue;
                }
                (_, Some(all)) => pick(all, docs, &mut scores),
                (FeatureSource::Words { matcher, .. }, None) => {
                    matcher.score_some(counts, terms, docs, &mut scores);
                }
                (FeatureSource::Document(numbers), None) => pick(numbers, docs, &mut scores),
                (FeatureSource::QueryLength, None) => scores.fill(terms.counts.iter().sum()),
                (FeatureSource::Source(source), None) => {
                    source.score_some(counts, question, docs, &mut scores);
                }
            }
            // The score of a text that is not there says nothing of it.
            if let FeatureSource::Words { text, .. } = column {
                for (score, &doc) in scores.iter_mut().zip(docs) {
                    if text.is_empty(counts, doc) {
                        *score = f32::NAN;
                    }
                }
            }
            values.iter_mut().skip(c).step_by(n).zip(&scores).for_each(|(to, &from)| *to = from);
        }
        if near.is_empty() {
            return;
        }
        let mut proximities = Proximities::new(terms);
        for (&doc, row) in docs.iter().zip(values.chunks_mut(n)) {
            proximities.look(counts, doc);
            near.iter().for_each(|&(c, text, what)| row[c] = proximities.of(text, what));
        }
    }
}

fn pick(all: &[f32], docs: &[u32], into: &mut [f32]) {
    for (to, &doc) in into.iter_mut().zip(docs) {
        *to = all.get(doc as usize).copied().unwrap_or(f32::NAN);
    }
}
