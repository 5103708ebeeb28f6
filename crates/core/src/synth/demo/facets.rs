//! Broad queries of the demo, which name a concept and no facet of it, with the facets that every page
//! answers: judgments by subtopic, for diversification.

use super::log::{DemoLog, Wording};
use crate::Result;
use crate::synth::raw::{FACETS, FACETS_TEST, FACETS_TRAIN, RawFolder};

/// The most broad queries per concept.
const PER_CONCEPT: usize = 2;

impl DemoLog {
    /// Queries for a concept as a whole, at most two per concept, in the order of the concepts.
    pub fn broad_queries(&self) -> Vec<usize> {
        let mut of_concept: Vec<Vec<usize>> = vec![Vec::new(); self.concepts.concepts.len()];
        for (query, truth) in self.query_truths.iter().enumerate() {
            let list = &mut of_concept[truth.concept];
            let broad = truth.facet == 0 && !truth.misspelt && truth.wording != Wording::Both;
            if broad && list.len() < PER_CONCEPT {
                list.push(query);
            }
        }
        of_concept.into_iter().flatten().collect()
    }

    /// A document's answer to a broad query: its facet, from 1, and its grade: 2 if it is about the
    /// concept alone, 1 if about another one as well, 0 if about a related one; `None` for all others.
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

    /// Writes the queries (id, text) and their judgments (id, facet, document, grade): those of one half
    /// of the concepts for training, of the other half for test.
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
