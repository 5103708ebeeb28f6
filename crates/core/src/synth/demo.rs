//! The demo log: a small, readable click log on which word matching alone fails, because people and
//! pages mostly use different words.
//!
//! It is made of hand-written [`Concepts`]: documents mostly in the words of pages, queries mostly in
//! those of people, some of each in both. Searches are drawn by Zipf's law; each shows the engine's
//! ranking with one result in five replaced by a page about the query's concept (without these nobody
//! could click what word matching does not find), on request with some pages in random order; users
//! click by the true grade and a position bias. The truth is known, so judgments have no error.
//!
//! Everything is determined by the seed and the engine's rankings, in one thread, in about a second.

mod clicks;
mod documents;
mod draw;
mod facets;
mod judgments;
mod log;
mod queries;
mod raw;

use super::concepts::Concepts;
use crate::{Error, Result, Run};

pub use log::{Demo, DemoLog, DocumentTruth, Engine, PAGE, QueryTruth, Wording};

impl Demo {
    /// Builds the log on the rankings of `engine`.
    ///
    /// # Panics
    /// If the engine returns another number of rankings than it got queries, or a document
    /// that does not exist.
    pub fn build(&self, engine: &Engine<'_>, run: &Run<'_>) -> Result<DemoLog> {
        self.build_watched(engine, &mut |_, _, _, _| Ok(()), run)
    }

    fn build_watched(
        &self,
        engine: &Engine<'_>,
        watch: &mut clicks::Watch<'_>,
        run: &Run<'_>,
    ) -> Result<DemoLog> {
        let concepts = Concepts::builtin()?.first(self.concepts);
        self.check(&concepts)?;
        let (documents, document_truths) = documents::write(self, &concepts);
        let (queries, query_truths) = queries::write(self, &concepts)?;
        run.step("ranking for the demo log", 0, None)?;
        let rankings = engine(&documents, &queries)?;
        assert_eq!(rankings.len(), queries.len(), "the engine ranks for every query");
        let known = |&document: &u32| (document as usize) < documents.len();
        assert!(rankings.iter().flatten().all(known), "the engine ranks documents that exist");
        let mut log = DemoLog {
            searches: vec![0; queries.len()],
            documents,
            queries,
            clicks: Vec::new(),
            clicks_by_position: [0; PAGE],
            judgments: Vec::new(),
            document_truths,
            query_truths,
            concepts,
        };
        let about = log.documents_by_concept();
        clicks::draw(self, &mut log, &rankings, &about, watch, run)?;
        judgments::draw(self, &mut log, &rankings, &about);
        Ok(log)
    }

    fn check(&self, concepts: &Concepts) -> Result<()> {
        let n_concepts = concepts.concepts.len();
        for (name, n) in [("documents", self.documents), ("queries", self.queries)] {
            if n < 2 * n_concepts || n >= 1 << 32 {
                let expected = format!("at least {}, two per concept", 2 * n_concepts);
                return Err(Error::parameter(name, n, &expected));
            }
        }
        if self.judged / 4 > self.unseen || self.judged / 4 > self.queries / 10 {
            let expected = "at most four times the unseen, and four tenths of the queries";
            return Err(Error::parameter("judged", self.judged, expected));
        }
        if !(0.0..=0.5).contains(&self.misspelt) {
            return Err(Error::parameter("misspelt", self.misspelt, "a share from 0 to 0.5"));
        }
        if !(0.0..=5.0).contains(&self.bias) {
            let expected = "a number from 0 (no position bias) to 5";
            return Err(Error::parameter("bias", self.bias, expected));
        }
        for (name, share) in [("explored", self.explored), ("shuffled", self.shuffled)] {
            if !(0.0..=1.0).contains(&share) {
                return Err(Error::parameter(name, share, "a share from 0 to 1"));
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
