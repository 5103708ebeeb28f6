//! Retrieval: the candidates of a search and their scores under every model.

use std::collections::HashMap;

use liken::features::QueryTerms;
use liken::index::DocSet;
use liken::top_k::select;

use super::Engine;
use super::docs::alive;
use super::resolve::ResolvedSearch;
use super::served::Retrieval;
use super::snapshot::IndexState;
use super::view::View;
use crate::Error;
use crate::text::TextQuery;

/// The scores of the candidates under every model that was asked.
pub(super) struct Scores {
    /// The candidates, ascending.
    pub numbers: Vec<u32>,
    /// One list per model, in the order of the candidates.
    pub of_models: Vec<Vec<f32>>,
}

impl Scores {
    /// The place of document `no` among the candidates.
    pub fn find(&self, no: u32) -> Option<usize> {
        self.numbers.binary_search(&no).ok()
    }

    /// The scores of the candidate at `place`, one per model.
    pub fn at(&self, place: usize) -> impl Iterator<Item = f32> {
        self.of_models.iter().map(move |scores| scores[place])
    }
}

impl Engine {
    /// The documents that may be found: all that stand, if `None`.
    pub(super) fn allowed(
        &self,
        state: &IndexState,
        asked: &ResolvedSearch<'_>,
    ) -> Result<Option<DocSet>, Error> {
        let mut allowed: Option<DocSet> = None;
        if let Some(filter) = &asked.filter {
            allowed = Some(state.text.matching_set(filter)?);
        }
        if !asked.typed.words.phrases.is_empty() {
            let phrases =
                TextQuery { terms: Vec::new(), phrases: asked.typed.words.phrases.clone() };
            let found = state.text.candidates(&phrases, usize::MAX, None, None)?;
            let found: DocSet = found.into_iter().map(|(no, _)| no).collect();
            allowed = Some(match allowed {
                Some(mut both) => {
                    both.intersect(&found);
                    both
                }
                None => found,
            });
        }
        if state.dead.is_empty() && asked.excluded.is_empty() {
            return Ok(allowed);
        }
        let mut allowed = match allowed {
            Some(mut allowed) => {
                allowed.subtract(&state.dead);
                allowed
            }
            None => alive(state.end, &state.dead),
        };
        for &no in &asked.excluded {
            allowed.remove(no);
        }
        Ok(Some(allowed))
    }

    /// Documents that hold words which training did not know: new documents bring new words. No
    /// model has a score for them, so they follow in the order of the text index.
    pub(super) fn hold_unscored(
        &self,
        state: &IndexState,
        asked: &ResolvedSearch<'_>,
        allowed: Option<&DocSet>,
    ) -> Result<HashMap<u32, f32>, Error> {
        if asked.unscored.is_empty() {
            return Ok(HashMap::new());
        }
        let words = TextQuery { terms: asked.unscored.clone(), phrases: Vec::new() };
        let found = self.holding(state, asked, &words, allowed)?;
        Ok(found.into_iter().collect())
    }

    /// The best allowed documents that hold `words`, by the text index.
    fn holding(
        &self,
        state: &IndexState,
        asked: &ResolvedSearch<'_>,
        words: &TextQuery,
        allowed: Option<&DocSet>,
    ) -> Result<Vec<(u32, f32)>, Error> {
        let filter = asked.filter.as_ref();
        Ok(match allowed {
            Some(allowed) => {
                let forbidden = |no: u32| !allowed.contains(no);
                state.text.candidates(words, asked.depth, filter, Some(&forbidden))?
            }
            None => state.text.candidates(words, asked.depth, filter, None)?,
        })
    }

    /// The best documents of one model: its candidates.
    pub(super) fn retrieve(
        &self,
        state: &IndexState,
        asked: &ResolvedSearch<'_>,
        view: &View,
        query: &QueryTerms,
        allowed: Option<&DocSet>,
    ) -> Result<Vec<u32>, Error> {
        let few = state.alive <= self.about.exact_below;
        let way = if few { Retrieval::Exhaustive } else { view.served.retrieval() };
        match way {
            Retrieval::TextIndex => {
                let found = self.holding(state, asked, &asked.typed.words, allowed)?;
                Ok(found.into_iter().map(|(no, _)| no).collect())
            }
            Retrieval::Neighbours(index, latent) => {
                Ok(view.neighbours(index, latent, query, asked.depth, allowed))
            }
            Retrieval::Exhaustive => {
                let zero_is_none = view.served.zero_is_none();
                let mut all = view.all_scores(query);
                all.retain(|&(no, score)| {
                    score.is_finite()
                        && !(zero_is_none && score == 0.0)
                        && allowed.is_none_or(|allowed| allowed.contains(no))
                });
                // A learnt score of 0 may be one among others; without any other it says nothing.
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
