//! The constants by hand, the objective by explicit matrices, and the bound against a
//! population whose expectation is known.

use proptest::prelude::*;

use super::*;
use crate::Run;
use crate::data::fixture::Fixture;
use crate::features::{Preparation, Weighted};
use crate::linalg::Dense;
use crate::linalg::dot_f64;
use crate::matchers::{Maps, Mixture, Pls, Rmls, Start};
use crate::random::Random;

fn sample() -> Sample {
    Sample { n_x: 100, n_y: 4.0, r: 3.0, m_x: 4, m_y: 9, d_x: 25, d_y: 16, d: 9 }
}

fn close(found: f64, expected: f64) {
    assert!((found - expected).abs() < 1e-9 * expected.abs().max(1.0), "{found} {expected}");
}

#[test]
fn the_constants_of_pls_by_hand() {
    // δ = e^−2 makes √(2 ln(1/δ)) = 2; 1/√400 + 1/√100 = 0.15.
    let pls = sample().constants(None, false, (-2.0f64).exp());
    close(pls.b, 1.0);
    close(pls.c, 3.0);
    close(pls.bound, (2.0 * 3.0 * 3.0 + 3.0 * 2.0) * 0.15);
    close(pls.bound_at_one, pls.bound / 3.0);
    // 3.6 is more than R·B = 3.
    assert!(pls.vacuous);
    let many = Sample { n_x: 10_000, ..sample() }.constants(None, false, (-2.0f64).exp());
    close(many.bound, 24.0 * 0.015);
    assert!(!many.vacuous);
}

#[test]
fn the_constants_of_rmls_by_hand() {
    let delta = (-2.0f64).exp();
    let rows = |lambda_x, lambda_y, theta_x, theta_y| RowNorms {
        lambda_x,
        lambda_y,
        theta_x,
        theta_y,
        after_the_fact: false,
    };
    // √(m_x m_y) = 6, √(d_x d_y) = 20.
    let wide = rows(3.0, 2.0, 1.0, 1.5);
    let found = sample().constants(Some(&wide), false, delta);
    close(found.b, 6.0 * 1.5);
    close(found.c, 20.0 * 1.5);
    close(found.bound, (2.0 * 30.0 * 3.0 + 3.0 * 9.0 * 2.0) * 0.15);
    assert_eq!(sample().constants(Some(&wide), true, delta), found, "no tighter where θ rules");
    // λ_x·λ_y = 0.2·0.5 = 0.1; d times it is 0.9, below θ_x·θ_y = 1.
    let narrow = rows(0.2, 0.5, 1.0, 1.0);
    let found = sample().constants(Some(&narrow), false, delta);
    close(found.b, 6.0 * 0.9);
    close(found.c, 20.0 * 0.1);
    let tighter = sample().constants(Some(&narrow), true, delta);
    close(tighter.b, 6.0 * 0.1);
    close(tighter.c, 20.0 * 0.1);
    // λ_x below θ_x, λ_y above θ_y: only the tighter form sees it.
    let mixed = rows(0.5, 4.0, 1.0, 1.0);
    close(sample().constants(Some(&mixed), false, delta).c, 20.0);
    close(sample().constants(Some(&mixed), true, delta).c, 20.0 * 0.5);
}

#[test]
fn the_harmonic_mean_is_that_of_the_pairs_of_a_query() {
    assert_eq!(harmonic_mean([1, 2, 4].into_iter()), (3, 12.0 / 7.0));
    assert_eq!(harmonic_mean([].into_iter()), (0, 0.0));
}

proptest! {
    #[test]
    fn no_maps_with_such_rows_exceed_b_and_c(
        seed in 0u64..1000,
        lambda in 0.3f32..3.0,
        theta in 0.3f32..3.0,
    ) {
        // Random rows scaled into both balls, random sparse unit vectors.
        let (d_x, d_y, d, m) = (7, 6, 4, 3);
        let scaled = |n: usize, seed: u64| {
            let mut map = Dense::gaussian(n, d, seed);
            for i in 0..n {
                let row = map.row_mut(i);
                let l1: f32 = row.iter().map(|v| v.abs()).sum();
                let l2 = row.iter().map(|v| v * v).sum::<f32>().sqrt();
                let scale = (lambda / l1).min(theta / l2);
                row.iter_mut().for_each(|v| *v *= scale);
            }
            map
        };
        let (l_x, l_y) = (scaled(d_x, seed), scaled(d_y, seed + 1));
        let rows = RowNorms {
            lambda_x: lambda.into(), lambda_y: lambda.into(),
            theta_x: theta.into(), theta_y: theta.into(), after_the_fact: false,
        };
        let sample = Sample { n_x: 1, n_y: 1.0, r: 1.0, m_x: m, m_y: m, d_x, d_y, d };
        let tight = sample.constants(Some(&rows), true, 0.05);
        let published = sample.constants(Some(&rows), false, 0.05);
        prop_assert!(tight.b <= published.b * (1.0 + 1e-6) && tight.c <= published.c * (1.0 + 1e-6));
        let mut norm = 0.0;
        for u in 0..d_x {
            for v in 0..d_y {
                norm += dot_f64(l_x.row(u), l_y.row(v)).powi(2);
            }
        }
        prop_assert!(norm.sqrt() <= tight.c * (1.0 + 1e-5));
        let mut random = Random::new(seed, 9);
        let mut embedding = |map: &Dense| {
            let picks: Vec<(usize, f64)> = (0..m)
                .map(|_| (random.below(map.n_rows() as u64) as usize, random.normal()))
                .collect();
            let mut dense = vec![0.0f64; map.n_rows()];
            picks.iter().for_each(|&(at, value)| dense[at] = value);
            let length = dense.iter().map(|v| v * v).sum::<f64>().sqrt();
            let mut sum = vec![0.0f64; d];
            for (at, value) in dense.iter().enumerate() {
                for (s, &l) in sum.iter_mut().zip(map.row(at)) {
                    *s += value / length * f64::from(l);
                }
            }
            sum.iter().map(|v| v * v).sum::<f64>().sqrt()
        };
        let product = embedding(&l_x) * embedding(&l_y);
        prop_assert!(product <= tight.b * (1.0 + 1e-5), "{} {}", product, tight.b);
    }
}

/// Six kinds of queries, each with its own distribution over eight documents.
struct World {
    x: Vec<Vec<f32>>,
    y: Vec<Vec<f32>>,
    chance: Vec<Vec<f64>>,
}

impl World {
    fn new(seed: u64) -> Self {
        let mut random = Random::new(seed, 1);
        let mut unit = |n: usize| {
            let row: Vec<f32> = (0..n).map(|_| random.uniform() as f32).collect();
            let length = row.iter().map(|v| v * v).sum::<f32>().sqrt();
            row.into_iter().map(|v| v / length).collect::<Vec<f32>>()
        };
        let x = (0..6).map(|_| unit(5)).collect();
        let y = (0..8).map(|_| unit(4)).collect();
        let chance = (0..6)
            .map(|_| {
                let row: Vec<f64> = (0..8).map(|_| random.uniform().powi(4)).collect();
                let sum: f64 = row.iter().sum();
                row.into_iter().map(|v| v / sum).collect()
            })
            .collect();
        World { x, y, chance }
    }

    fn expected(&self, maps: &Maps) -> f64 {
        let mut sum = 0.0;
        for (x, chance) in self.x.iter().zip(&self.chance) {
            for (y, chance) in self.y.iter().zip(chance) {
                sum += chance / 6.0 * dot_f64(&embedding(x, &maps.l_x), &embedding(y, &maps.l_y));
            }
        }
        sum
    }
}

fn embedding(row: &[f32], map: &Map) -> Vec<f32> {
    let mut sum = vec![0.0; map.n_cols()];
    for (i, &value) in row.iter().enumerate() {
        map.add_to(i, value, &mut sum);
    }
    sum
}

#[test]
fn the_gap_to_a_known_expectation_is_below_the_bound() {
    for seed in 0..12 {
        let world = World::new(seed);
        let mut random = Random::new(seed, 2);
        let (n_x, n_i) = (3000, 3);
        let dense = |rows: Vec<&Vec<f32>>| {
            let mut triplets = Vec::new();
            for (i, row) in rows.iter().enumerate() {
                triplets.extend(row.iter().enumerate().map(|(j, &v)| (i as u32, j as u32, v)));
            }
            Csr::from_triplets(rows.len(), rows[0].len(), triplets).unwrap()
        };
        // Every pair is a document of its own, so that one drawn twice counts twice.
        let (mut queries, mut docs, mut pairs) = (Vec::new(), Vec::new(), Vec::new());
        for i in 0..n_x {
            let kind = random.below(6) as usize;
            queries.push(&world.x[kind]);
            for _ in 0..n_i {
                let mut left = random.uniform();
                let drawn = world.chance[kind].iter().position(|chance| {
                    left -= chance;
                    left < 0.0
                });
                docs.push(&world.y[drawn.unwrap_or(7)]);
                pairs.push((i as u32, docs.len() as u32 - 1, 1.0 / (n_x * n_i) as f32));
            }
        }
        let r = Csr::from_triplets(n_x, docs.len(), pairs.clone()).unwrap();
        let data = || Weighted { x: dense(queries.clone()), y: dense(docs.clone()), r: r.clone() };
        let sample = Sample { n_x, n_y: n_i as f64, r: 1.0, m_x: 5, m_y: 4, d_x: 5, d_y: 4, d: 2 };
        let pls = Pls { dim: 2, ..Pls::default() };
        let rmls = Rmls { dim: 2, start: Start::Random, sweeps: Some(2), ..Rmls::default() };
        let rows = RowNorms {
            lambda_x: 9.0,
            lambda_y: 9.0,
            theta_x: 1.0,
            theta_y: 1.0,
            after_the_fact: true,
        };
        for (maps, rows) in [
            (pls.fit(data(), &Run::silent()).unwrap().0, None),
            (rmls.fit(data(), &Run::silent(), None).unwrap().0, Some(&rows)),
        ] {
            let mut training = 0.0;
            for &(i, j, share) in &pairs {
                let x = embedding(queries[i as usize], &maps.l_x);
                training += f64::from(share) * dot_f64(&x, &embedding(docs[j as usize], &maps.l_y));
            }
            let gap = (training - world.expected(&maps)).abs();
            let found = sample.constants(rows, false, 0.05);
            assert!(!found.vacuous, "{found:?}");
            assert!(gap <= found.bound, "{gap} {found:?}");
        }
    }
}

fn trained(dir: &std::path::Path, method: &str, settings: &[(&str, &str)]) -> (Dataset, Model) {
    let documents = [
        ("d0", serde_json::json!({ "title": "red apple" })),
        ("d1", serde_json::json!({ "title": "green pear tree" })),
        ("d2", serde_json::json!({ "title": "blue plum" })),
    ];
    let fixture = Fixture {
        documents: &documents,
        queries: &["fruit", "colour fruit", "tree"],
        clicks: &[(0, 0, 3.0), (0, 1, 1.0), (1, 0, 7.0), (1, 2, 1.0), (2, 1, 2.0)],
        held_out: &[],
    };
    let path = dir.join("data");
    let data = if path.exists() { Dataset::open(&path).unwrap() } else { fixture.open(&path) };
    let mut params = Params::named(method).unwrap();
    for (key, value) in [("dim", "2")].iter().chain(settings) {
        params.set(key, value).unwrap();
    }
    let (mixture, prepared) = (Mixture::parse(method).unwrap(), Preparation::default());
    let run = Run::silent();
    let model = crate::training::train(&data, &prepared, &mixture, &[params], &run).unwrap().model;
    (data, model)
}

#[test]
fn the_training_objective_is_the_one_that_was_maximised() {
    let dir = tempfile::tempdir().unwrap();
    let settings = [("weighting", "mean"), ("features.doc_clicks", "0"), ("tolerance", "1e-6")];
    let (data, model) = trained(dir.path(), "pls", &settings);
    let found = &bounds(&model, &data, 0.05).unwrap()[0];
    assert!(found.broken.is_empty(), "{:?}", found.broken);
    // tr(UᵀCV) = σ₁ + σ₂ of C = XᵀR̃Y.
    let featurizer = match &model.parts[0].params {
        Params::Pls(pls) => Featurizer::new(&model.counts, &pls.features).unwrap(),
        other => panic!("{other:?}"),
    };
    let w = Weighted::of(&model.counts, &featurizer, Weighting::Mean, Response::Log).unwrap();
    let maps = model.parts[0].matcher.bilinear().unwrap().maps();
    let c = crate::sparse::explicit_c(&w.x, &w.r, &w.y).unwrap();
    let mut trace = 0.0;
    for (u, row) in c.rows().enumerate() {
        for (v, value) in row.iter() {
            trace += f64::from(value) * dot_f64(&maps.l_x.row(u), &maps.l_y.row(v as usize));
        }
    }
    assert!((found.training - trace).abs() < 1e-6, "{} {trace}", found.training);
    assert_eq!((found.sample.n_x, found.sample.n_y, found.sample.d), (3, 3.0 / 2.0, 2));
    assert!((found.sample.r - 8f64.ln()).abs() < 1e-6);
    assert_eq!((found.sample.m_x, found.sample.m_y), (2, 3));
    // The fixture holds out the very pairs of training, with grade 1.
    assert_eq!(found.held_out.len(), 2);
    for gap in &found.held_out {
        assert_eq!((gap.queries, gap.pairs, gap.gap), (3, 5, 0.0));
    }
    assert!(found.notes.iter().any(|note| note.contains("judgments")));
}

#[test]
fn what_breaks_the_theorem_is_named() {
    let dir = tempfile::tempdir().unwrap();
    let broken = |method: &str, settings: &[(&str, &str)]| {
        let (data, model) = trained(dir.path(), method, settings);
        bounds(&model, &data, 0.1).unwrap()[0].clone()
    };
    let found =
        broken("pls", &[("centring", "clicks"), ("features.unit_rows", "false"), ("sigma", "1.0")]);
    let all = found.broken.join("\n");
    for word in ["weighting is sum", "centred", "unit norm", "carry Σ"] {
        assert!(all.contains(word), "{all}");
    }
    assert_eq!(found.probability, 0.8);
    let found = broken("rmls", &[("weighting", "mean"), ("negatives.per_click", "1")]);
    assert!(found.broken.len() == 1 && found.broken[0].contains("negative"), "{found:?}");
    let rows = found.rows.unwrap();
    assert!(rows.after_the_fact && rows.lambda_x <= 2f64.sqrt() + 1e-6 && rows.theta_x == 1.0);
    let bound =
        [("weighting", "mean"), ("penalty", "bound"), ("lambda_x", "1.1"), ("lambda_y", "0.5")];
    let rows = broken("rmls", &bound).rows.unwrap();
    assert_eq!((rows.lambda_x, rows.lambda_y, rows.after_the_fact), (1.1, 0.5, false));
    let (data, model) = trained(dir.path(), "pls", &[]);
    for delta in [0.0, 0.5, f64::NAN] {
        assert!(bounds(&model, &data, delta).is_err());
    }
    let mixture = Mixture::parse("bm25").unwrap();
    let (prepared, params) = (Preparation::default(), [Params::named("bm25").unwrap()]);
    let lexical =
        crate::training::train(&data, &prepared, &mixture, &params, &Run::silent()).unwrap().model;
    let message = bounds(&lexical, &data, 0.05).unwrap_err().to_string();
    assert!(message.contains("no bound is known for bm25"), "{message}");
}
