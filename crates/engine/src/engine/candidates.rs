//! Retrieval: the candidates of a search and their scores under every model.

use std::collections::HashMap;

use liken::features::QueryTerms;
use liken::index::DocSet;
use liken::top_k::select;

use super::Engine;
use super::resolve::ResolvedSearch;
use super::served::Retrieval;
use super::snapshot::IndexState;
use super::view::ModelView;
use crate::Error;
use crate::text::TextQuery;

/// The scores of the candidates under every model of the search.
pub(super) struct Scores {
    /// The candidates, ascending.
    pub numbers: Vec<u32>,
    /// One list per model, in the order of the candidates.
    pub of_models: Vec<Vec<f32>>,
}

impl Scores {
    /// The position of document `no` among the candidates.
    pub fn find(&self, no: u32) -> Option<usize> {
        self.numbers.binary_search(&no).ok()
    }

    /// The scores of the candidate at `place`, one per model.
    pub fn at(&self, place: usize) -> impl Iterator<Item = f32> {
        self.of_models.iter().map(move |scores| scores[place])
    }
}

impl Engine {
    /// The documents that may be found; all if `None`.
    pub(super) fn allowed(
        &self,
        state: &IndexState,
        asked: &ResolvedSearch<'_>,
    ) -> Result<Option<DocSet>, Error> {
        let filter = asked.filter.as_ref();
        let mut allowed = filter.map(|filter| state.text.matching(filter)).transpose()?;
        if !asked.typed.words.phrases.is_empty() {
            let phrases =
                TextQuery { terms: Vec::new(), phrases: asked.typed.words.phrases.clone() };
            let found = state.text.candidates(&phrases, usize::MAX, None, None)?;
            let found: DocSet = found.into_iter().map(|(no, _)| no).collect();
            match &mut allowed {
                Some(allowed) => allowed.intersect(&found),
                None => allowed = Some(found),
            }
        }
        if state.dead.is_empty() && asked.excluded.is_empty() {
            return Ok(allowed);
        }
        let mut allowed = allowed.unwrap_or_else(|| DocSet::all(state.end));
        allowed.subtract(&state.dead);
        for &no in &asked.excluded {
            allowed.remove(no);
        }
        Ok(Some(allowed))
    }

    /// Documents with words of the query that training did not see: new documents bring new words.
    /// They are ranked by the score of the text index where the models' scores are equal.
    pub(super) fn retrieve_unscored(
        &self,
        state: &IndexState,
        asked: &ResolvedSearch<'_>,
        allowed: Option<&DocSet>,
    ) -> Result<HashMap<u32, f32>, Error> {
        if asked.unscored.is_empty() {
            return Ok(HashMap::new());
        }
        let words = TextQuery { terms: asked.unscored.clone(), phrases: Vec::new() };
        Ok(self.retrieve_words(state, asked, &words, allowed)?.into_iter().collect())
    }

    /// The best allowed documents by the text index.
    fn retrieve_words(
        &self,
        state: &IndexState,
        asked: &ResolvedSearch<'_>,
        words: &TextQuery,
        allowed: Option<&DocSet>,
    ) -> Result<Vec<(u32, f32)>, Error> {
        let forbidden = allowed.map(|allowed| |no: u32| !allowed.contains(no));
        let forbidden = forbidden.as_ref().map(|forbidden| forbidden as &dyn Fn(u32) -> bool);
        Ok(state.text.candidates(words, asked.depth, asked.filter.as_ref(), forbidden)?)
    }

    /// The retrieval of candidates for a model: up to `exact_below` documents, by scoring all.
    pub(super) fn retrieval<'a>(&self, state: &IndexState, view: &'a ModelView) -> Retrieval<'a> {
        match state.alive <= self.about.exact_below {
            true => Retrieval::Exhaustive,
            false => view.served.retrieval(),
        }
    }

    /// The candidates of one model: its best documents.
    pub(super) fn retrieve(
        &self,
        state: &IndexState,
        asked: &ResolvedSearch<'_>,
        view: &ModelView,
        query: &QueryTerms,
        allowed: Option<&DocSet>,
    ) -> Result<Vec<u32>, Error> {
        match self.retrieval(state, view) {
            Retrieval::TextIndex => {
                let found = self.retrieve_words(state, asked, &asked.typed.words, allowed)?;
                Ok(found.into_iter().map(|(no, _)| no).collect())
            }
            Retrieval::Neighbours(index, latent) => {
                Ok(view.neighbours(index, latent, query, asked.depth, allowed))
            }
            Retrieval::Postings(postings, vectors) => {
                Ok(view.by_postings(postings, vectors, query, asked.depth, allowed))
            }
            Retrieval::Exhaustive => {
                let zero_is_none = view.served.zero_is_none();
                let mut all = view.all_scores(query);
                all.retain(|&(no, score)| {
                    score.is_finite()
                        && !(zero_is_none && score == 0.0)
                        && allowed.is_none_or(|allowed| allowed.contains(no))
                });
                // A learnt score of 0 may be one among others; if all are 0, nothing was found.
                if all.iter().all(|&(_, score)| score == 0.0) {
                    return Ok(Vec::new());
                }
                select(&mut all, asked.depth, |a, b| {
                    b.1.total_cmp(&a.1).then_with(|| state.id(b.0).cmp(state.id(a.0)))
                });
                Ok(all.into_iter().map(|(no, _)| no).collect())
            }
        }
    }
}
