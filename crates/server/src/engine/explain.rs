//! Why a document has its score, so that everything adds up.

use liken::matchers::Explanation;

use super::Engine;
use super::ask::Asked;
use super::search::Ranked;
use super::state::State;
use crate::api::types::{
    Contribution, ExplainRequest, ExplainResponse, ModelExplanation, PartExplanation,
};
use crate::problem::Problem;

/// Contributions shown of each part, if nobody says otherwise.
const LINES: usize = 30;

impl Engine {
    /// Why a document has its score.
    pub fn explain(&self, request: &ExplainRequest) -> Result<ExplainResponse, Problem> {
        let state = self.state();
        let asked = self.ask(&state, &request.search)?;
        let ranked = self.rank(&state, &asked)?;
        let no = self.standing(&state, &request.id)?;
        self.explain_hit(&state, &asked, &ranked, no, request.most)
    }

    /// Why document `no` has its score in a search, whether it is among the candidates or not.
    pub(super) fn explain_hit(
        &self,
        state: &State,
        asked: &Asked<'_>,
        ranked: &Ranked,
        no: u32,
        most: Option<usize>,
    ) -> Result<ExplainResponse, Problem> {
        let mut models = Vec::new();
        let mut shared_words: Vec<String> = Vec::new();
        for ((view, query), column) in asked.views.iter().zip(&asked.queries).zip(&ranked.columns) {
            let score = match query {
                Some(query) => view.scores(query, &[no])[0],
                None => f32::NAN,
            };
            let explained = match score.is_finite() {
                true => view.explain(&asked.typed.plain, no, most.unwrap_or(LINES))?,
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
                adds: column.adds(score),
                how: match query {
                    Some(_) => column.how(score),
                    None => "the model can make nothing of the query".into(),
                },
                parts,
            });
        }
        let fused = models.iter().map(|model| model.adds).sum::<f64>() + 0.0;
        let score = match &ranked.seen {
            // One that is no candidate stands nowhere in the ranker's order.
            Some(_) => ranked.order.iter().find(|(other, _)| *other == no).map(|hit| hit.1),
            None => None,
        };
        Ok(ExplainResponse {
            id: state.id(no).to_owned(),
            score: score.unwrap_or(fused),
            models,
            ranker: ranked.seen.as_ref().and_then(|seen| seen.explain(no)),
            shared_words,
        })
    }
}

fn parts_of(model: &liken::matchers::Model, explained: Explanation) -> Vec<PartExplanation> {
    let lexical = model.parts.iter().map(|part| part.matcher.is_lexical());
    let line = |line: liken::matchers::Line| Contribution {
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
            adds: part.adds,
            lines: part.lines.into_iter().map(line).collect(),
            n_rest: part.n_rest,
            rest: part.rest,
        })
        .collect()
}
