//! One sentence about a hit: the strongest contributions to its score.

use maud::{Markup, html};

use super::explain::words;
use crate::api::types::{Contribution, ExplainResponse};

/// The content of the sentence.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reason {
    /// Words that query and document share, the strongest first.
    pub shared: Vec<String>,
    /// Whether they share no word.
    pub none_shared: bool,
    /// The strongest pairs of two different words.
    pub pairs: Vec<(String, String)>,
    /// The strongest feature of the ranker.
    pub feature: Option<String>,
    /// The model with the largest contribution, where several are fused.
    pub most_from: Option<String>,
}

/// The most words in a sentence.
const WORDS: usize = 4;

/// The most pairs of words in a sentence.
const PAIRS: usize = 2;

impl Reason {
    /// The reason of an explained hit.
    pub fn of(answer: &ExplainResponse) -> Self {
        // Contributions to the fused score: matchers have weights in a model, models in the fusion.
        let mut lines: Vec<(f64, &Contribution)> = Vec::new();
        for model in &answer.models {
            let by_model = scale(model.contribution, model.score);
            for part in &model.parts {
                let by = by_model * scale(part.contribution, part.score);
                lines.extend(part.contributions.iter().map(|line| (by * line.value, line)));
            }
        }
        lines.retain(|(value, _)| *value > 0.0);
        lines.sort_by(|a, b| b.0.total_cmp(&a.0));
        let mut shared: Vec<String> = Vec::new();
        let mut pairs: Vec<(String, String)> = Vec::new();
        for (_, line) in lines {
            let same = line.query == line.doc;
            if same && shared.len() < WORDS && !shared.contains(&line.query) {
                shared.push(line.query.clone());
            }
            let pair = (line.query.clone(), line.doc.clone());
            if !same && pairs.len() < PAIRS && !pairs.contains(&pair) {
                pairs.push(pair);
            }
        }
        for word in &answer.shared_words {
            if shared.len() < WORDS && !shared.contains(word) {
                shared.push(word.clone());
            }
        }
        let none_shared = answer.shared_words.is_empty();
        if none_shared {
            // A word that is paired with itself but not shared would contradict the sentence.
            shared.clear();
        }
        let strongest =
            answer.models.iter().max_by(|a, b| a.contribution.total_cmp(&b.contribution));
        let most_from = strongest.filter(|_| answer.models.len() > 1);
        let feature = answer.ranker.as_ref().and_then(|ranker| {
            let positive = ranker.features.iter().filter(|f| f.contribution > 0.0);
            positive
                .max_by(|a, b| a.contribution.total_cmp(&b.contribution))
                .map(|f| f.name.clone())
        });
        Reason {
            shared,
            none_shared,
            pairs,
            feature,
            most_from: most_from.map(|model| model.model.name.clone()),
        }
    }

    /// The sentence.
    pub fn sentence(&self) -> Markup {
        let with_pairs = !self.pairs.is_empty();
        let verb = if self.pairs.len() == 1 { "counts" } else { "count" };
        html! {
            @if self.none_shared {
                "No word of the query is in it"
                @if with_pairs { "; " (pairs(&self.pairs)) " " (verb) " most" }
                "."
            } @else {
                "It has " (words(&self.shared))
                @if with_pairs { "; " (pairs(&self.pairs)) " " (verb) " too" }
                "."
            }
            @if let Some(name) = &self.most_from { " Most comes from " (name) "." }
            @if let Some(name) = &self.feature { " For the ranker, " em { (name) } " counts most." }
        }
    }
}

/// The weight of a unit of `score` in `contribution`. Standardising also shifts scores, so the ratio
/// may have either sign: only its size is used.
fn scale(contribution: f64, score: f64) -> f64 {
    let ratio = (contribution / score).abs();
    if ratio.is_finite() && ratio > 0.0 { ratio } else { 1.0 }
}

fn pairs(list: &[(String, String)]) -> Markup {
    html! {
        @for (i, (query, doc)) in list.iter().enumerate() {
            @if i > 0 { " and " }
            em { (query) } " ~ " em { (doc) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pages::fixture;

    #[test]
    fn a_hit_without_a_shared_word_says_so_and_names_the_strongest_pairs() {
        let answer =
            fixture::latent("d1", &[("heart", "cardiac", 2.0), ("attack", "infarct", 1.0)], &[]);
        let html = Reason::of(&answer).sentence().into_string();
        assert_eq!(
            html,
            "No word of the query is in it; <em>heart</em> ~ <em>cardiac</em> and \
             <em>attack</em> ~ <em>infarct</em> count most."
        );
    }

    #[test]
    fn shared_words_come_by_weight_and_negative_pairs_are_no_reason() {
        let lines = [("heart", "heart", 1.0), ("attack", "attack", 3.0), ("heart", "tax", -5.0)];
        let answer = fixture::latent("d1", &lines, &["heart", "attack"]);
        let reason = Reason::of(&answer);
        assert_eq!(reason.shared, ["attack", "heart"]);
        assert!(reason.pairs.is_empty() && !reason.none_shared);
        assert_eq!(reason.sentence().into_string(), "It has <em>attack</em>, <em>heart</em>.");
    }

    #[test]
    fn nothing_at_all_is_still_a_sentence() {
        let answer = fixture::latent("d1", &[], &[]);
        assert_eq!(Reason::of(&answer).sentence().into_string(), "No word of the query is in it.");
    }
}
