//! Re-ranks the results of another engine.

use super::normalise::Normalise;
use crate::eval::trec::RunHit;

/// Orders `hits`, an engine's results for one query, best first, by a model's `scores`: one for each of
/// the first documents, `None` for a document that the model does not know. There may be fewer scores
/// than hits, to re-rank the first hits alone.
///
/// With a `mix` above 0 a document's score is (1 − mix)·model + mix·engine, both normalised over the
/// documents that the model knows; otherwise it is the model's alone. Documents without a score follow
/// in the engine's order, those beyond the scores last, with scores that keep that order. If the model
/// knows none, the engine's scores stay, unless they are equal in single precision: then the scores
/// only keep the order.
pub fn rerank<'a>(
    hits: &[RunHit<'a>],
    scores: &[Option<f32>],
    mix: f64,
    normalise: Normalise,
) -> Vec<(&'a str, f32)> {
    let score = |at: usize| scores.get(at).copied().flatten().map(f64::from);
    let known: Vec<(usize, f64)> =
        (0..hits.len()).filter_map(|at| score(at).map(|score| (at, score))).collect();
    let mut ranked: Vec<(&str, f32)> = if mix > 0.0 {
        let engine: Vec<f64> = known.iter().map(|&(at, _)| hits[at].score).collect();
        let model =
            normalised(&known.iter().map(|&(_, score)| score).collect::<Vec<_>>(), normalise);
        let mixed = model.iter().zip(normalise.of(&engine));
        let mixed = mixed.map(|(model, engine)| ((1.0 - mix) * model + mix * engine) as f32);
        known.iter().zip(mixed).map(|(&(at, _), score)| (hits[at].doc, score)).collect()
    } else {
        known.iter().map(|&(at, score)| (hits[at].doc, score as f32)).collect()
    };
    ranked.sort_unstable_by(|a, b| b.1.total_cmp(&a.1).then_with(|| b.0.cmp(a.0)));
    let Some(&(_, lowest)) = ranked.last() else { return as_they_are(hits) };
    // Steps that are distinct in single precision.
    let step = 1e-3 * lowest.abs().max(1.0);
    let (scored, rest) = hits.split_at(scores.len().min(hits.len()));
    let unknown = scored.iter().zip(scores).filter(|(_, score)| score.is_none());
    let others = unknown.map(|(hit, _)| hit).chain(rest);
    let below = (1..).zip(others).map(|(i, hit)| (hit.doc, lowest - step * i as f32));
    ranked.extend(below);
    ranked
}

/// The engine's results in its order.
fn as_they_are<'a>(hits: &[RunHit<'a>]) -> Vec<(&'a str, f32)> {
    let ranked: Vec<(&str, f32)> = hits.iter().map(|hit| (hit.doc, hit.score as f32)).collect();
    let ordered = |a: &(&str, f32), b: &(&str, f32)| a.1 > b.1 || (a.1 == b.1 && a.0 > b.0);
    if ranked.iter().all(|hit| hit.1.is_finite()) && ranked.is_sorted_by(ordered) {
        return ranked;
    }
    (0..).zip(hits).map(|(i, hit)| (hit.doc, (hits.len() - i) as f32)).collect()
}

/// [`Normalise::of`] for scores in any order.
fn normalised(scores: &[f64], normalise: Normalise) -> Vec<f64> {
    let mut order: Vec<usize> = (0..scores.len()).collect();
    order.sort_by(|&a, &b| scores[b].total_cmp(&scores[a]));
    let sorted: Vec<f64> = order.iter().map(|&at| scores[at]).collect();
    let mut values = vec![0.0; scores.len()];
    for (&at, value) in order.iter().zip(normalise.of(&sorted)) {
        values[at] = value;
    }
    values
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hits() -> Vec<RunHit<'static>> {
        [("a", 9.0), ("b", 7.0), ("c", 5.0), ("d", 4.0), ("e", 1.0)]
            .map(|(doc, score)| RunHit { doc, score })
            .to_vec()
    }

    fn docs(ranked: &[(&str, f32)]) -> String {
        assert!(ranked.is_sorted_by(|a, b| a.1 >= b.1), "{ranked:?}");
        ranked.iter().map(|hit| hit.0).collect()
    }

    #[test]
    fn the_model_orders_what_it_knows_and_the_engine_the_rest() {
        let scores = [Some(1.0), None, Some(3.0), Some(2.0), None];
        let ranked = rerank(&hits(), &scores, 0.0, Normalise::MinMax);
        assert_eq!(docs(&ranked), "cdabe");
        assert_eq!(ranked[0].1, 3.0);
        // Only the first three are looked at; d comes last although the model would love it.
        let ranked = rerank(&hits(), &scores[..3], 0.0, Normalise::MinMax);
        assert_eq!(docs(&ranked), "cabde");
        let large = [Some(-3e7), None, Some(-3e7 - 8.0)];
        assert_eq!(docs(&rerank(&hits(), &large, 0.0, Normalise::MinMax)), "acbde");
    }

    #[test]
    fn the_engines_scores_stay_where_the_model_knows_nothing() {
        for scores in [&[None; 5][..], &[]] {
            let ranked = rerank(&hits(), scores, 0.3, Normalise::ZScore);
            assert_eq!(docs(&ranked), "abcde");
            assert_eq!(ranked[0].1, 9.0);
        }
        assert!(rerank(&[], &[], 0.0, Normalise::ZScore).is_empty());
        for scores in [[0.123456789012, 0.123456789011], [1e300, 1e299]] {
            let near = [("a", scores[0]), ("b", scores[1])];
            let near = near.map(|(doc, score)| RunHit { doc, score });
            assert_eq!(rerank(&near, &[], 0.0, Normalise::ZScore), [("a", 2.0), ("b", 1.0)]);
        }
    }

    #[test]
    fn a_mix_by_hand() {
        // Min-max: the engine's 1, 0.5, 0 for a, c, e (scores 9, 5, 1); the model's 0, 1, 0.75.
        let scores = [Some(1.0), None, Some(5.0), None, Some(4.0)];
        let ranked = rerank(&hits(), &scores, 0.4, Normalise::MinMax);
        assert_eq!(docs(&ranked), "ceabd");
        for (found, expected) in ranked.iter().zip([0.8, 0.45, 0.4]) {
            assert!((found.1 - expected).abs() < 1e-6, "{ranked:?}");
        }
        // All weight on the engine: its order.
        let all = [Some(1.0), Some(2.0), Some(3.0), Some(4.0), Some(5.0)];
        for normalise in [Normalise::MinMax, Normalise::ZScore, Normalise::Rank] {
            assert_eq!(docs(&rerank(&hits(), &all, 1.0, normalise)), "abcde");
        }
        // By ranks: the model's 0.2, 0.4 … 1 and the engine's 1 … 0.2.
        assert_eq!(docs(&rerank(&hits(), &all, 0.2, Normalise::Rank)), "edcba");
    }
}
