//! Explanations of scores that add up.

use liken::matchers::Explanation;

use super::Engine;
use super::resolve::ResolvedSearch;
use super::search::Ranked;
use super::snapshot::IndexState;
use crate::types::{
    Contribution, ExplainRequest, ExplainResponse, ModelExplanation, PartExplanation,
};
use crate::{Error, checks};

/// Contributions listed per matcher if the request does not say.
const CONTRIBUTIONS: usize = 30;

impl Engine {
    /// Explains the score of a document in a search.
    pub fn explain(&self, request: &ExplainRequest) -> Result<ExplainResponse, Error> {
        checks::explain(request, &self.settings.limits)?;
        let state = self.state();
        let asked = self.resolve(&state, &request.search)?;
        let ranked = self.rank(&state, &asked, 0)?;
        let no = self.number_of(&state, &request.id)?;
        let mut explained = self.explain_hit(&state, &asked, &ranked, no, request.most)?;
        if self.allowed(&state, &asked)?.is_some_and(|allowed| !allowed.contains(no)) {
            explained.notes.push(
                "the filter, the phrases or exclude_ids keep this document out of the results"
                    .into(),
            );
        } else if ranked.scores.find(no).is_none() {
            explained.notes.push(format!(
                "it is not among the {} candidates of this search; a larger candidate_depth \
                 retrieves more",
                ranked.order.len()
            ));
        }
        Ok(explained)
    }

    /// Explains the score of document `no` in a search, whether it is among the candidates or not.
    pub(super) fn explain_hit(
        &self,
        state: &IndexState,
        asked: &ResolvedSearch<'_>,
        ranked: &Ranked,
        no: u32,
        most: Option<usize>,
    ) -> Result<ExplainResponse, Error> {
        let mut models = Vec::new();
        let mut shared_words: Vec<String> = Vec::new();
        for ((view, query), scale) in asked.views.iter().zip(&asked.queries).zip(&ranked.scales) {
            let score = match (query, ranked.scores.find(no)) {
                (None, _) => f32::NAN,
                (Some(_), Some(place)) => ranked.scores.of_models[models.len()][place],
                (Some(query), None) => view.scores(query, &[no])[0],
            };
            let explained = match score.is_finite() {
                true => view.explain(&asked.typed.plain, no, most.unwrap_or(CONTRIBUTIONS))?,
                false => None,
            };
            let parts = explained.map_or_else(Vec::new, |explained| {
                for word in &explained.shared_words {
                    if !shared_words.contains(word) {
                        shared_words.push(word.clone());
                    }
                }
                parts_of(view.model(), explained)
            });
            models.push(ModelExplanation {
                model: view.served.about.model.clone(),
                score: if score.is_finite() { f64::from(score) } else { 0.0 },
                contribution: scale.contribution(score),
                how: match query {
                    Some(_) => scale.formula(score),
                    None => "the model knows no word of the query".into(),
                },
                parts,
            });
        }
        if !asked.unscored.is_empty() {
            let fields = self.store.bodies(&[no])?.pop().flatten().unwrap_or_default();
            let tokens = self.about.reading.tokens(&self.analyzer, &fields);
            shared_words.extend(asked.unscored.iter().filter(|word| tokens.holds(word)).cloned());
        }
        let fused = models.iter().map(|model| model.contribution).sum::<f64>() + 0.0;
        let mut notes = Vec::new();
        let ranker = ranked.reranked.as_ref().and_then(|reranked| reranked.explain(no));
        let score = match &ranked.reranked {
            // The ranker scores candidates only.
            Some(_) => ranked.order.iter().find(|(other, _)| *other == no).map(|hit| hit.1),
            None => None,
        };
        if let (Some(reranked), None, Some(moved)) = (&ranked.reranked, &ranker, score) {
            notes.push(format!(
                "{} re-ranked only the first {} candidates, and this one ranks below them: the \
                 fused score of {fused:.4} was moved to {moved:.4}",
                reranked.ranker(),
                reranked.len()
            ));
        }
        Ok(ExplainResponse {
            id: state.id(no).to_owned(),
            score: score.unwrap_or(fused),
            models,
            ranker,
            shared_words,
            notes,
        })
    }
}

fn parts_of(model: &liken::matchers::Model, explained: Explanation) -> Vec<PartExplanation> {
    let lexical = model.parts.iter().map(|part| part.matcher.is_lexical());
    let line = |line: liken::matchers::Contribution| Contribution {
        query: line.query,
        doc: line.doc,
        value: line.value,
    };
    explained
        .parts
        .into_iter()
        .zip(lexical)
        .map(|(part, lexical)| PartExplanation {
            method: part.method,
            lexical,
            weight: part.weight,
            score: part.score,
            contribution: part.contribution,
            contributions: part.contributions.into_iter().map(line).collect(),
            n_rest: part.n_rest,
            rest: part.rest,
        })
        .collect()
}
