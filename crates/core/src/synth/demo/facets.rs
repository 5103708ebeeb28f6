//! Queries of the demo that name a concept and no side of it, with the sides that every page
//! answers: judgments by subtopic, for those who want pages of results that show all sides.

use super::{DemoLog, Words};
use crate::Result;
use crate::synth::raw::{FACETS, FACETS_TEST, FACETS_TRAIN, RawFolder};

/// How many queries a concept has at most.
const A_CONCEPT: usize = 2;

impl DemoLog {
    /// Queries for a concept as a whole, at most two a concept, in the order of the concepts.
    pub fn broad_queries(&self) -> Vec<usize> {
        let mut of_concept: Vec<Vec<usize>> = vec![Vec::new(); self.concepts.concepts.len()];
        for (query, truth) in self.query_truths.iter().enumerate() {
            let list = &mut of_concept[truth.concept];
            let broad = truth.facet == 0 && !truth.misspelt && truth.words != Words::Both;
            if broad && list.len() < A_CONCEPT {
                list.push(query);
            }
        }
        of_concept.into_iter().flatten().collect()
    }

    /// What a document says to a broad query: its facet, counted from 1, and how well it answers
    /// it: 2 if it is about the concept alone, 1 if about another one as well, 0 if it is about a
    /// related one; nothing for all others.
    pub fn answer(&self, query: usize, document: usize) -> Option<(usize, u8)> {
        let (meant, about) = (&self.query_truths[query], &self.document_truths[document]);
        let group = |concept: usize| self.concepts.concepts[concept].group;
        let grade = match about.second {
            None if about.concept == meant.concept => 2,
            Some(second) if about.concept == meant.concept || second == meant.concept => 1,
            _ if group(about.concept) == group(meant.concept) => 0,
            _ => return None,
        };
        Some((about.facet + 1, grade))
    }

    /// Writes the queries (id, text) and the judgments (id, facet, document, grade) for them, those
    /// of one half of the concepts to learn from, those of the other half to measure on.
    pub(super) fn write_facets(&self, folder: &RawFolder) -> Result<()> {
        let queries = self.broad_queries();
        let mut texts = folder.lines(FACETS)?;
        for (number, &query) in (1..).zip(&queries) {
            texts.line(format_args!("f{number:03}\t{}", self.queries[query]))?;
        }
        texts.finish()?;
        for (half, name) in [FACETS_TRAIN, FACETS_TEST].into_iter().enumerate() {
            let mut judgments = folder.lines(name)?;
            for (number, &query) in (1..).zip(&queries) {
                if self.query_truths[query].concept % 2 != half {
                    continue;
                }
                for (document, about) in self.documents.iter().enumerate() {
                    if let Some((facet, grade)) = self.answer(query, document) {
                        let id = &about.id;
                        judgments.line(format_args!("f{number:03} {facet} {id} {grade}"))?;
                    }
                }
            }
            judgments.finish()?;
        }
        Ok(())
    }
}
