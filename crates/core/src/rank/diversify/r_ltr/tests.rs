//! Derivatives against differences, the loss against its definition, and planted weights.

use super::fit::TrainingQuery;
use super::*;
use crate::Run;
use crate::eval::diversity::{DiversityMeasure, JudgedSubtopics, diverse_order};
use crate::oracle::same_at_any_thread_count;
use crate::random::Random;
use crate::rank::diversify::{JudgedCandidates, Mmr, Similarities, mean};

/// Candidates half of which answer one subtopic each. The first number of relevance tells, and so
/// does the second way in which they are alike: who answers the same is, who answers nothing is a
/// little like everybody. The others are noise.
fn query(n: usize, n_subtopics: u64, random: &mut Random) -> JudgedCandidates {
    let subtopics: Vec<Vec<u32>> = (0..n)
        .map(|_| match random.uniform() < 0.5 {
            true => vec![random.below(n_subtopics) as u32],
            false => vec![],
        })
        .collect();
    let mut relevance: Vec<f64> = Vec::new();
    for answers in &subtopics {
        let score = f64::from(u8::from(!answers.is_empty())) + 0.7 * random.normal();
        relevance.extend([score, random.uniform()]);
    }
    let noise: Vec<f64> = (0..n * n).map(|_| random.uniform()).collect();
    let telling = (0..n * n)
        .map(|pair| {
            let (a, b) = (&subtopics[pair / n], &subtopics[pair % n]);
            let alike = match (a.is_empty() || b.is_empty(), a == b) {
                (true, _) => 0.4,
                (false, true) => 0.6,
                (false, false) => 0.0,
            };
            alike + 0.3 * random.uniform()
        })
        .collect();
    let similarities = Similarities::new(n).with_given(noise).with_given(telling);
    let judged = JudgedSubtopics::new(subtopics.clone());
    JudgedCandidates { candidates: Candidates::new(relevance, similarities), subtopics, judged }
}

fn queries(n_queries: usize, seed: u64) -> Vec<JudgedCandidates> {
    let mut random = Random::new(seed, 0);
    (0..n_queries).map(|_| query(20, 10, &mut random)).collect()
}

const EACH: [Relational; 4] =
    [Relational::Minimal, Relational::Average, Relational::Maximal, Relational::All];

/// What `relational` makes of the distances of `d` to `s`: kind after kind, 0 if `s` is empty.
fn numbers(relational: Relational, candidates: &Candidates, d: usize, s: &[usize]) -> Vec<f64> {
    let mut all = Vec::new();
    for kind in 0..2 {
        let far = || s.iter().map(|&s| 1.0 - candidates.similarities().of(kind, d, s));
        for name in relational.names() {
            all.push(match *name {
                _ if s.is_empty() => 0.0,
                "minimal" => far().fold(f64::INFINITY, f64::min),
                "average" => far().sum::<f64>() / s.len() as f64,
                _ => far().fold(f64::NEG_INFINITY, f64::max),
            });
        }
    }
    all
}

/// The negative log-likelihood by its definition.
fn slow_loss(query: &JudgedCandidates, params: &RLtrParams, weights: &[f64]) -> f64 {
    let truth = diverse_order(&query.subtopics, params.alpha, params.top);
    let of = |candidates: &Candidates, d: usize, s: &[usize]| -> f64 {
        let mut features = candidates.relevance(d).to_vec();
        features.extend(numbers(params.relational, candidates, d, s));
        features.iter().zip(weights).map(|(x, w)| x * w).sum()
    };
    let mut loss = 0.0;
    for (i, &chosen) in truth.iter().enumerate() {
        let left = (0..query.candidates.len()).filter(|d| !truth[..i].contains(d));
        let sum: f64 = left.map(|d| of(&query.candidates, d, &truth[..i]).exp()).sum();
        loss += sum.ln() - of(&query.candidates, chosen, &truth[..i]);
    }
    loss
}

#[test]
fn the_loss_is_its_definition_and_derivatives_are_differences() {
    let all = [0.7, -0.4, 0.3, 1.1, -0.2, 0.6, -0.9, 0.5];
    for relational in EACH {
        let p = 2 + 2 * relational.names().len();
        let weights = &all[..p];
        let params = RLtrParams { relational, top: 6, ..RLtrParams::default() };
        for query in queries(5, 3) {
            let learnt = TrainingQuery::new(&query, &params);
            let loss = learnt.loss(weights);
            // Distances are kept in single precision.
            let expected = slow_loss(&query, &params, weights);
            assert!((loss.value - expected).abs() < 1e-5, "{} {expected}", loss.value);
            for i in 0..p {
                let at = |step: f64| {
                    let mut moved = weights.to_vec();
                    moved[i] += step;
                    learnt.loss(&moved)
                };
                let (more, less) = (at(1e-5), at(-1e-5));
                let slope = (more.value - less.value) / 2e-5;
                assert!((slope - loss.gradient[i]).abs() < 1e-6, "{slope} {:?}", loss.gradient);
                for j in 0..=i {
                    let slope = (more.gradient[j] - less.gradient[j]) / 2e-5;
                    assert!((slope - loss.hessian[i * p + j]).abs() < 1e-6, "{i} {j}");
                }
            }
        }
    }
}

#[test]
fn pages_are_made_of_the_best_one_after_the_other() {
    for relational in EACH {
        let relations = [0.5, 1.5, -0.25, 0.75, 1.0, -0.5][..2 * relational.names().len()].to_vec();
        let model = RLtr { relational, relevance: vec![0.75, -0.25], relations };
        for query in queries(4, 9) {
            let candidates = &query.candidates;
            let found = model.order(candidates, 7);
            let mut chosen: Vec<usize> = Vec::new();
            for &next in &found[..7] {
                let worth = |d: usize| -> f64 {
                    let x = candidates.relevance(d);
                    let far = numbers(relational, candidates, d, &chosen);
                    let far = far.iter().zip(&model.relations).map(|(h, &w)| h * f64::from(w));
                    0.75 * x[0] - 0.25 * x[1] + far.sum::<f64>()
                };
                let left = (0..candidates.len()).filter(|d| !chosen.contains(d));
                let best = left.map(worth).fold(f64::NEG_INFINITY, f64::max);
                assert!((worth(next) - best).abs() < 1e-12, "{relational:?} {found:?}");
                chosen.push(next);
            }
            assert!(found[7..].is_sorted());
            let mut all = found;
            all.sort_unstable();
            assert_eq!(all, (0..20).collect::<Vec<_>>());
        }
    }
}

#[test]
fn what_tells_is_learnt_and_noise_is_not() {
    let (training, validation, test) = (queries(150, 1), queries(60, 2), queries(100, 4));
    let measure = DiversityMeasure::default();
    let run = &Run::silent();
    let nearest = RLtrParams { relational: Relational::Minimal, ..RLtrParams::default() };
    let fit = || nearest.fit(&training, &validation, &measure, run).unwrap();
    let (model, report) = same_at_any_thread_count(fit);
    assert!(model.relevance[0] > 5.0 * model.relevance[1].abs(), "{model:?}");
    assert!(model.relations[1] > 5.0 * model.relations[0].abs(), "{model:?}");
    assert!(report.kept.is_some() && report.warnings.is_empty());
    let objectives: Vec<f64> = report.steps.iter().filter_map(|step| step.objective).collect();
    assert!(objectives.is_sorted_by(|a, b| a >= b), "{objectives:?}");
    let plain = mean(&measure, &test, |candidates| {
        Mmr { lambda: 1.0, ..Mmr::default() }.order_of(candidates, 0, 10)
    });
    let mmr = mean(&measure, &test, |candidates| Mmr::default().order_of(candidates, 1, 10));
    let learnt = mean(&measure, &test, |candidates| model.order(candidates, 10));
    assert!(plain < mmr && mmr < learnt, "{plain:?} {mmr:?} {learnt:?}");
    // Nothing is left to gain at the end of Newton's method.
    let last = RLtrParams { penalties: vec![1e-3], ..nearest };
    let (model, _) = last.fit(&training, &[], &measure, run).unwrap();
    let weights: Vec<f64> =
        model.relevance.iter().chain(&model.relations).map(|&w| f64::from(w)).collect();
    let mut slope = [0.0; 4];
    for query in &training {
        let loss = TrainingQuery::new(query, &last).loss(&weights);
        (0..4).for_each(|i| slope[i] += loss.gradient[i] / training.len() as f64);
    }
    (0..4).for_each(|i| slope[i] += 1e-3 * weights[i]);
    assert!(slope.iter().all(|slope| slope.abs() < 1e-6), "{slope:?}");
}

#[test]
fn what_cannot_be_learnt_from_is_refused() {
    let measure = DiversityMeasure::default();
    let run = Run::silent();
    let fit = |params: &RLtrParams, training: &[JudgedCandidates]| {
        params.fit(training, &[], &measure, &run).map_err(|error| error.to_string())
    };
    let params = RLtrParams::default();
    assert!(fit(&params, &[]).unwrap_err().contains("no query has candidates"));
    let mut idle = queries(2, 5);
    idle[0].subtopics = vec![vec![]; 20];
    let (_, report) = fit(&params, &idle).unwrap();
    assert!(report.warnings[0].contains("answers a subtopic: 1 of 2 queries"), "{report:?}");
    idle[1].subtopics = vec![vec![]; 20];
    assert!(fit(&params, &idle).unwrap_err().contains("no candidate answers a subtopic"));
    let mut random = Random::new(1, 0);
    let mut other = query(20, 4, &mut random);
    other.candidates = Candidates::new(vec![0.0; 20], Similarities::new(20));
    assert!(fit(&params, &[idle[0].clone(), other]).unwrap_err().contains("as for other queries"));
    for (key, value) in [("top", "0"), ("alpha", "2"), ("penalties", "[]"), ("penalties", "[0]")] {
        let mut wrong = params.clone();
        wrong.set(key, value).unwrap();
        assert!(wrong.check().unwrap_err().to_string().contains(key));
    }
    let mut other = params.clone();
    assert!(other.set("rate", "1").is_err() && other.set("relational", "average").is_ok());
    assert_eq!(other.relational, Relational::Average);
    // One candidate alone: nothing to learn, nothing that breaks.
    let alone = query(1, 1, &mut Random::new(7, 0));
    let alone = JudgedCandidates { subtopics: vec![vec![0]], ..alone };
    let (model, _) = fit(&params, std::slice::from_ref(&alone)).unwrap();
    assert_eq!(model.order(&alone.candidates, 10), [0]);
}
