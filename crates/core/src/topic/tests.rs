use faer::Mat;
use proptest::prelude::*;

use super::descent::Descent;
use super::factorise::FactoriseState;
use super::*;
use crate::linalg::{Dense, dot_f64, symmetric_eigen};
use crate::oracle::{random_csr, same_at_any_thread_count, sparse};
use crate::random::Random;
use crate::sparse::{Csr, Row};
use crate::{Result, Run};

const SPARSE: FactorKind =
    FactorKind::Rlsi { lambda1: 0.3, lambda2: 0.2, start: TopicStart::Documents };

fn corpus(docs: &Csr, ends: &[usize]) -> Corpus {
    corpus_within(docs, ends, &Run::silent())
}

fn corpus_within(docs: &Csr, ends: &[usize], run: &Run<'_>) -> Corpus {
    let order: Vec<u32> = (0..docs.n_rows() as u32).collect();
    let weigh = |doc: u32| {
        let row = docs.row(doc as usize);
        (row.indices.to_vec(), row.values.to_vec())
    };
    Corpus::new(&order, ends, docs.n_cols(), weigh, run).unwrap()
}

fn factorise(shared: usize, own: usize, kind: FactorKind, sweeps: usize) -> Factorise {
    Factorise { shared, own, kind, sweeps, tolerance: 0.0, passes: 200, seed: 3 }
}

fn fitted(how: &Factorise, corpus: &Corpus) -> Factors {
    how.fit(corpus, |_, _, _| Ok(()), &Run::silent()).unwrap()
}

/// The matrix without a sign, as counts are.
fn positive(matrix: &Csr) -> Csr {
    matrix.map(|_, _, value| value.abs()).unwrap()
}

/// The objective by its definition, number by number.
fn objective(kind: FactorKind, corpus: &Corpus, topics: &Topics, weights: &Dense) -> f64 {
    let mut sum = 0.0;
    for class in 0..corpus.n_classes() {
        for doc in corpus.class(class) {
            let v = weights.row(doc);
            for term in 0..corpus.n_terms() {
                let (shared, own) = v.split_at(topics.n_shared());
                let said = |row: Row<'_>, v: &[f32]| -> f64 {
                    row.iter().map(|(k, u)| f64::from(u) * f64::from(v[k as usize])).sum()
                };
                let guess =
                    said(topics.shared.row(term), shared) + said(topics.own[class].row(term), own);
                sum += (f64::from(corpus.doc(doc).get(term as u32)) - guess).powi(2);
            }
        }
    }
    let FactorKind::Rlsi { lambda1, lambda2, .. } = kind else { return sum };
    let squares: f64 = weights.values().iter().map(|&v| f64::from(v).powi(2)).sum();
    sum + lambda1 * topics.absolute() + lambda2 * squares
}

/// S = VᵀV and r = Vᵀd of a small regression problem.
fn regression(n: usize, k: usize, seed: u64) -> (Vec<f32>, Vec<f32>) {
    let v = Dense::gaussian(n, k, seed);
    let mut random = Random::new(seed, 9);
    let d: Vec<f64> = (0..n).map(|_| random.normal()).collect();
    let column = |i: usize| (0..n).map(|row| f64::from(v.row(row)[i])).collect::<Vec<_>>();
    let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>() as f32;
    let gram = (0..k * k).map(|cell| inner(&column(cell / k), &column(cell % k))).collect();
    (gram, (0..k).map(|i| inner(&column(i), &d)).collect())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What no other point can beat, by the conditions of Karush, Kuhn and Tucker.
    #[test]
    fn descent_ends_at_the_optimum(
        k in 1usize..12, seed in 0u64..1000, lambda in 0.0f64..8.0, non_negative: bool,
    ) {
        let (gram, r) = regression(20, k, seed);
        let s = Mat::from_fn(k, k, |i, j| f64::from(gram[i * k + j]));
        let descent = Descent::new(&s, 10_000, 1e-7);
        let descent =
            if non_negative { descent.non_negative() } else { descent.with_penalty(lambda) };
        let (mut u, mut gradient) = (vec![0.3f32; k], r.clone());
        descent.descend(&mut u, &mut gradient);
        for i in 0..k {
            let su: f64 = (0..k).map(|j| f64::from(gram[i * k + j]) * f64::from(u[j])).sum();
            let g = f64::from(r[i]) - su;
            prop_assert!((g - f64::from(gradient[i])).abs() < 1e-2);
            if non_negative {
                prop_assert!(u[i] >= 0.0 && g <= 1e-2 && (u[i] == 0.0 || g.abs() < 1e-2));
            } else if u[i] == 0.0 {
                prop_assert!(g.abs() <= lambda / 2.0 + 1e-2);
            } else {
                prop_assert!((g - lambda / 2.0 * f64::from(u[i].signum())).abs() < 1e-2);
            }
        }
    }

    #[test]
    fn every_update_lowers_the_objective(
        docs in sparse(4..14, 3..10), shared in 0usize..4, own in 0usize..3, cut in 0.0f64..1.0,
        non_negative: bool, seed in 0u64..100,
    ) {
        prop_assume!(shared + own > 0);
        let docs = positive(&docs);
        let middle = (cut * docs.n_rows() as f64) as usize;
        let corpus = corpus(&docs, &[middle, docs.n_rows()]);
        let kind = if non_negative { FactorKind::Nmf } else { SPARSE };
        let how = Factorise { passes: 3, seed, ..factorise(shared, own, kind, 5) };
        let run = Run::silent();
        let mut state = FactoriseState::new(&how, &corpus, &run).unwrap();
        // The first topics are not there yet; the first sweep makes them.
        let (mut before, _) = state.sweep(&run).unwrap();
        let now = |state: &FactoriseState<'_>| objective(kind, &corpus, &state.topics, &state.weights);
        let near = |x: f64| 1e-4 * x.abs() + 1e-4;
        prop_assert!((before - now(&state)).abs() < near(before), "{before} {}", now(&state));
        for _ in 0..4 {
            if shared > 0 {
                state.topics.shared = state.shared_topics(&run).unwrap();
                let after = now(&state);
                prop_assert!(after <= before + near(before), "shared {before} {after}");
                before = after;
            }
            for class in 0..2 {
                if own > 0 {
                    state.topics.own[class] = state.own_topics(class, &run).unwrap();
                    let after = now(&state);
                    prop_assert!(after <= before + near(before), "own {before} {after}");
                    before = after;
                }
                let shared_gram = state.topics.shared_gram(&run).unwrap();
                state.fit_weights(class, &shared_gram, &run).unwrap();
                state.grams[class] = state.gram(class, &run).unwrap();
                let after = now(&state);
                prop_assert!(after <= before + near(before), "weights {before} {after}");
                before = after;
            }
        }
    }
}

/// The lasso of scikit-learn 1.9 on the same row: `Lasso(alpha=lambda/(2*n), fit_intercept=False,
/// tol=1e-12)`, whose loss is halved and divided by n.
#[test]
fn a_row_is_the_lasso_of_scikit_learn() {
    let v = [
        [1.0f32, 0.5, -0.2],
        [0.3, -1.0, 0.8],
        [-0.7, 0.1, 0.4],
        [0.2, 0.9, -1.1],
        [1.5, -0.3, 0.6],
    ];
    let d = [1.2f32, -0.4, -0.9, 0.5, 2.0];
    let inner = |i: usize, j: usize| v.iter().map(|row| row[i] * row[j]).sum::<f32>();
    let gram = Mat::from_fn(3, 3, |i, j| f64::from(inner(i, j)));
    let r: Vec<f32> = (0..3).map(|k| v.iter().zip(&d).map(|(row, d)| row[k] * d).sum()).collect();
    let descent = Descent::new(&gram, 10_000, 1e-8).with_penalty(1.0);
    let (mut u, mut gradient) = (vec![0.0; 3], r);
    descent.descend(&mut u, &mut gradient);
    for (found, expected) in u.iter().zip(LASSO) {
        assert!((f64::from(*found) - expected).abs() < 1e-5, "{u:?}");
    }
}
const LASSO: [f64; 3] = [1.120_677_250_7, 0.193_006_858_8, 0.0];

#[test]
fn without_penalties_rlsi_spans_the_space_of_lsi() {
    let docs = random_csr(60, 25, 6, 4);
    let corpus = corpus(&docs, &[60]);
    let k = 3;
    let kind = FactorKind::Rlsi { lambda1: 0.0, lambda2: 1e-7, start: TopicStart::Documents };
    let factors = fitted(&factorise(k, 0, kind, 2000), &corpus);
    // DDᵀ, terms × terms; its largest eigenvectors are LSI's topics.
    let square = Mat::from_fn(25, 25, |i, j| {
        docs.rows().map(|row| f64::from(row.get(i as u32)) * f64::from(row.get(j as u32))).sum()
    });
    let eigen = symmetric_eigen(&square).unwrap();
    let left: f64 = eigen.values[k..].iter().sum();
    let loss = factors.sweeps.last().unwrap().loss;
    assert!((loss - left).abs() < 1e-3 * left, "{loss} {left}");
    for topic in 0..k {
        let u: Vec<f64> =
            (0..25).map(|t| f64::from(factors.topics.shared.row(t).get(topic as u32))).collect();
        let norm: f64 = u.iter().map(|u| u * u).sum();
        let within: f64 = (0..k)
            .map(|e| (0..25).map(|t| u[t] * eigen.vectors[(t, e)]).sum::<f64>().powi(2))
            .sum();
        assert!(within / norm > 0.999, "topic {topic}: {}", within / norm);
    }
}

#[test]
fn a_random_start_follows_the_seed_and_ends_about_where_documents_do() {
    let docs = positive(&random_csr(300, 40, 6, 4));
    let corpus = corpus(&docs, &[120, 300]);
    let fit = |start: TopicStart, seed: u64| {
        let kind = FactorKind::Rlsi { lambda1: 0.3, lambda2: 0.2, start };
        let factors = fitted(&Factorise { seed, ..factorise(5, 3, kind, 40) }, &corpus);
        (factors.sweeps.last().unwrap().objective, factors.weights)
    };
    let (documents, _) = fit(TopicStart::Documents, 1);
    let (objective, weights) = fit(TopicStart::Random, 1);
    assert_eq!(weights, fit(TopicStart::Random, 1).1);
    assert_ne!(weights, fit(TopicStart::Random, 2).1);
    assert!((objective / documents - 1.0).abs() < 0.1, "{objective} {documents}");
}

#[test]
fn one_class_without_topics_of_its_own_is_rlsi_and_classes_alone_are_models_apart() {
    let docs = positive(&random_csr(40, 20, 5, 1));
    for kind in [SPARSE, FactorKind::Nmf] {
        let whole = corpus(&docs, &[40]);
        let plain = fitted(&factorise(4, 0, kind, 6), &whole);
        // Shared topics alone do not care for classes but in the order of sums.
        let two = fitted(&factorise(4, 0, kind, 6), &corpus(&docs, &[17, 40]));
        for (a, b) in plain.sweeps.iter().zip(&two.sweeps) {
            assert!((a.objective - b.objective).abs() < 1e-3 * a.objective);
        }
        // No shared topics: the same as a model of each class.
        let apart = fitted(&factorise(0, 3, kind, 6), &corpus(&docs, &[17, 40]));
        let sum: f64 = [0..17, 17..40]
            .into_iter()
            .enumerate()
            .map(|(class, span)| {
                let part = Csr::by_rows(20, span.len(), |i| {
                    let row = docs.row(span.start + i);
                    Ok((row.indices.to_vec(), row.values.to_vec()))
                })
                .unwrap();
                let topics = Topics {
                    shared: Csr::empty(20, 0),
                    own: vec![apart.topics.own[class].clone()],
                };
                let values = apart.weights.values()[span.start * 3..span.end * 3].to_vec();
                let weights = Dense::from_values(span.len(), 3, values);
                objective(kind, &corpus(&part, &[span.len()]), &topics, &weights)
            })
            .sum();
        assert!((sum - apart.sweeps[5].objective).abs() < 1e-4 * sum);
    }
}

fn bits(factors: &Factors) -> (Vec<u32>, Vec<u64>, Topics) {
    let weights = factors.weights.values().iter().map(|v| v.to_bits()).collect();
    let objectives = factors.sweeps.iter().map(|sweep| sweep.objective.to_bits()).collect();
    (weights, objectives, factors.topics.clone())
}

#[test]
fn topics_are_the_same_bits_at_any_thread_count_and_from_scratch_files() {
    let docs = positive(&random_csr(700, 300, 12, 5));
    for kind in [SPARSE, FactorKind::Nmf] {
        let how = Factorise { passes: 4, ..factorise(5, 3, kind, 4) };
        let memory =
            same_at_any_thread_count(|| bits(&fitted(&how, &corpus(&docs, &[100, 101, 700]))));
        let folder = tempfile::tempdir().unwrap();
        let tight = Run::silent().with_memory(1).with_scratch(folder.path());
        let streamed = corpus_within(&docs, &[100, 101, 700], &tight);
        assert!(streamed.is_on_disk());
        let streamed = how.fit(&streamed, |_, _, _| Ok(()), &tight).unwrap();
        assert!(streamed.weights.is_on_disk());
        assert!(bits(&streamed) == memory);
    }
}

#[test]
fn planted_topics_are_found() {
    // Three topics of four words; a document has words of one.
    let word = |doc: u32, at: u32| (doc, doc % 3 * 4 + at, 1.0 + ((doc + at) % 3) as f32);
    let triplets = (0..60).flat_map(|doc| (0..4).map(move |at| word(doc, at))).collect();
    let docs = Csr::from_triplets(60, 12, triplets).unwrap();
    for kind in [
        FactorKind::Rlsi { lambda1: 0.5, lambda2: 0.1, start: TopicStart::Documents },
        FactorKind::Nmf,
    ] {
        let found = fitted(&factorise(3, 0, kind, 60), &corpus(&docs, &[60]));
        let mut together: Vec<Vec<usize>> = (0..3)
            .map(|k| {
                let weight = |t: usize| found.topics.shared.row(t).get(k).abs();
                let most = (0..12).map(weight).fold(0.0, f32::max);
                (0..12).filter(|&t| weight(t) > 0.1 * most).collect()
            })
            .collect();
        together.sort();
        let expected: Vec<Vec<usize>> = (0..3).map(|k| (k * 4..k * 4 + 4).collect()).collect();
        assert_eq!(together, expected, "{kind:?}");
    }
}

#[test]
fn odd_corpora_have_topics_too() {
    let nothing = Csr::empty(5, 4);
    let one = Csr::from_triplets(3, 4, vec![(1, 2, 1.0), (1, 3, 2.0)]).unwrap();
    for kind in [SPARSE, FactorKind::Nmf] {
        // More topics than documents, empty documents, a class with one document, one with none.
        for (docs, ends) in [(&nothing, vec![5]), (&one, vec![1, 2, 2, 3])] {
            let factors = fitted(&factorise(6, 4, kind, 5), &corpus(docs, &ends));
            assert!(factors.weights.values().iter().all(|v| v.is_finite()));
            assert!(factors.sweeps.iter().all(|sweep| sweep.objective.is_finite()));
            assert!(factors.weights.row(0).iter().all(|&v| v == 0.0));
        }
    }
    let weigh = |_: u32| (vec![0], vec![f32::NAN]);
    let error = Corpus::new(&[0], &[1], 1, weigh, &Run::silent()).err().unwrap().to_string();
    assert!(error.contains("document 0 has the weight NaN"), "{error}");
}

#[test]
fn a_document_is_folded_in_as_it_was_fitted() {
    let docs = positive(&random_csr(50, 30, 6, 2));
    for kind in [SPARSE, FactorKind::Nmf] {
        let corpus = corpus(&docs, &[20, 50]);
        let factors = fitted(&factorise(3, 2, kind, 400), &corpus);
        let folding = Folding::new(&factors.topics, kind, &Run::silent()).unwrap();
        for doc in [0usize, 19, 20, 49] {
            let class = usize::from(doc >= 20);
            let (folded, said) = folding.fold(&factors.topics, class, docs.row(doc));
            assert!(said >= 0.0 && said <= docs.row(doc).norm().powi(2) * 1.001);
            let (a, b) = (&folded[..], factors.weights.row(doc));
            let cosine = dot_f64(a, b) / (dot_f64(a, a) * dot_f64(b, b)).sqrt();
            assert!(cosine > 0.999, "{kind:?} {doc}: {cosine}");
        }
        // The best class says at least as much as any.
        let (_, best) = folding.fold_best(&factors.topics, docs.row(0));
        assert_eq!(best.len(), 5);
    }
}

#[test]
fn clusters_find_what_belongs_together() {
    let word = |doc: u32, at: u32| (doc, doc % 4 * 5 + at, 1.0 + ((doc * 7 + at) % 3) as f32);
    let triplets = (0..80).flat_map(|doc| (0..3).map(move |at| word(doc, at + doc % 2))).collect();
    let docs = Csr::from_triplets(82, 20, triplets).unwrap();
    let found = clusters(&docs, 4, 11, &Run::silent()).unwrap();
    let of = same_at_any_thread_count(|| clusters(&docs, 4, 11, &Run::silent()).unwrap().of);
    let again = |doc: usize| nearest_centre(&found.centres, docs.row(doc));
    assert!((0..82).all(|doc| again(doc) == of[doc]));
    // Documents without a word in common are never together but by an unlucky start; those of one group are.
    let alike = (0..80).flat_map(|a| (0..80).map(move |b| (a, b)));
    let right = alike.filter(|&(a, b)| (of[a] == of[b]) == (a % 4 == b % 4)).count();
    assert!(right >= 5600, "{right} of 6400 pairs");
    assert_eq!((of[80], of[81]), (0, 0));
    let few = clusters(&Csr::empty(3, 2), 5, 1, &Run::silent()).unwrap();
    assert_eq!(few.of, [0, 0, 0]);
}

fn cancelled() -> Result<()> {
    let docs = positive(&random_csr(50, 30, 6, 2));
    let stop = Run::new(&|_| {}, &|| true);
    factorise(3, 0, SPARSE, 10).fit(&corpus(&docs, &[50]), |_, _, _| Ok(()), &stop).map(|_| ())
}

#[test]
fn a_fit_stops_when_it_is_told_to() {
    assert!(matches!(cancelled(), Err(crate::Error::Cancelled)));
}

#[test]
fn sweeps_of_nmf_never_raise_the_objective() {
    for seed in 0..20 {
        let docs = positive(&random_csr(30, 20, 5, seed));
        let how = Factorise { passes: 2, seed, ..factorise(3, 2, FactorKind::Nmf, 40) };
        let corpus = corpus(&docs, &[12, 30]);
        let factors = fitted(&how, &corpus);
        let falls =
            factors.sweeps.windows(2).all(|two| two[1].objective <= 1.000_001 * two[0].objective);
        assert!(falls, "{:?}", factors.sweeps);
        let last = factors.sweeps.last().unwrap().objective;
        let now = objective(how.kind, &corpus, &factors.topics, &factors.weights);
        assert!((last - now).abs() < 1e-3 * now, "{last} {now}");
    }
}

#[test]
fn parts_of_singular_vectors_are_nndsvd() {
    // Two blocks: singular vectors are their own parts, and the first two parts are all there is.
    let block = |doc: u32, term: u32| (doc, term, if doc < 4 { 2.0 } else { 1.0 });
    let cells = (0..7u32)
        .flat_map(|doc| (0..3u32).map(move |t| block(doc, if doc < 4 { t } else { t + 3 })));
    let docs = Csr::from_triplets(7, 6, cells.collect()).unwrap();
    let corpus = corpus(&docs, &[7]);
    let found = spectral::parts(&corpus, 0..7, 4, 1, &Run::silent()).unwrap();
    assert_eq!((found.docs.n_cols(), found.terms.n_cols()), (2, 2));
    for doc in 0..7 {
        for term in 0..6 {
            let said = dot_f64(found.docs.row(doc), found.terms.row(term));
            assert!((said - f64::from(docs.row(doc).get(term as u32))).abs() < 1e-4);
        }
    }
    // Of any matrix nothing is below zero, and the first pair is the singular one.
    let docs = positive(&random_csr(40, 30, 6, 8));
    let corpus = corpus_within(&docs, &[40], &Run::silent());
    let found = spectral::parts(&corpus, 0..40, 5, 1, &Run::silent()).unwrap();
    assert!(found.docs.values().iter().chain(found.terms.values()).all(|&v| v >= 0.0));
    let square = Mat::from_fn(30, 30, |i, j| {
        docs.rows().map(|row| f64::from(row.get(i as u32)) * f64::from(row.get(j as u32))).sum()
    });
    let eigen = symmetric_eigen(&square).unwrap();
    let first: Vec<f64> = (0..30).map(|t| f64::from(found.terms.row(t)[0])).collect();
    let norm = first.iter().map(|u| u * u).sum::<f64>().sqrt();
    assert!((norm - eigen.values[0].powf(0.25)).abs() < 1e-2 * norm);
    let inner: f64 = (0..30).map(|t| first[t] * eigen.vectors[(t, 0)].abs()).sum();
    assert!(inner / norm > 0.999);
}
