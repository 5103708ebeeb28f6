use proptest::prelude::*;

use super::*;
use crate::random::Random;

/// Ten differences, two against, one tie.
const TEN: [f64; 10] = [0.30, -0.10, 0.25, 0.05, 0.00, 0.40, -0.20, 0.15, 0.10, 0.35];

fn two_hundred() -> Vec<f64> {
    (0..200).map(|i| f64::from(37 * i % 101 - 45) / 100.0).collect()
}

#[track_caller]
fn assert_relative(got: f64, expected: f64, tolerance: f64) {
    assert!((got / expected - 1.0).abs() < tolerance, "{got}, expected {expected}");
}

/// Golden values: scipy 1.17.1, `scipy.stats.ttest_1samp(differences, 0)`.
#[test]
fn paired_t_agrees_with_scipy() {
    let sixty: Vec<f64> = (0..60).map(|i| 1.0 + f64::from(i % 7) / 10.0).collect();
    for (differences, t, p) in [
        (TEN.to_vec(), 2.0816659994661326, 0.06708376777918),
        (vec![0.01, -0.02, 0.03], 0.45883146774112343, 0.6913933000758162),
        (two_hundred(), 2.434091584084691, 0.015811646952560196),
        (sixty, 49.813950401382606, 6.531006492779675e-50),
    ] {
        let test = paired_t(&differences);
        assert_relative(test.statistic, t, 1e-12);
        assert_relative(test.p, p, 1e-11);
        assert_eq!(test.n, differences.len());
    }
}

/// Golden values: scipy 1.17.1, `2 * scipy.stats.t.sf(t, freedom)`.
#[test]
fn student_tails_agree_with_scipy() {
    for (t, freedom, p) in [
        (0.5, 1.0, 0.7048327646991335),
        (2.0, 5.0, 0.10193947882985835),
        (12.706204736432095, 1.0, 0.0499999999989913),
        (3.3, 29.0, 0.0025669142292085896),
        (40.0, 9.0, 1.8982998449339822e-11),
        (1e-3, 17.0, 0.9992137566787344),
    ] {
        assert_relative(student_two_sided(t, freedom), p, 1e-10);
        assert_eq!(student_two_sided(-t, freedom), student_two_sided(t, freedom));
    }
    assert_relative(student_two_sided(1.96, 1e6), 0.04999606758526985, 1e-8);
}

/// Golden values: scipy 1.17.1, `scipy.stats.binomtest(wins, n)`.
#[test]
fn the_sign_test_agrees_with_scipy() {
    for (wins, n, p) in [
        (7, 9, 0.1796875),
        (2, 20, 0.0004024505615234375),
        (500, 1050, 0.1304506352566971),
        (0, 5, 0.0625),
        (40, 100, 0.05688793364098089),
        (4, 8, 1.0),
        (49_000, 100_000, 2.5887160383468943e-10),
    ] {
        let mut differences = vec![0.5; wins];
        differences.resize(n, -0.1);
        differences.resize(n + 3, 0.0);
        let test = sign(&differences);
        assert_relative(test.p, p, 1e-9);
        assert_eq!((test.statistic, test.n), (wins as f64, n));
    }
}

/// Golden value: scipy 1.17.1, `scipy.stats.permutation_test((TEN,), mean,
/// permutation_type='samples', n_resamples=inf)`.
#[test]
fn exact_randomisation_agrees_with_scipy() {
    let test = randomisation(&TEN, RANDOMISATION_ROUNDS, 1);
    assert_eq!(test.p, 0.08203125);
    assert_relative(test.statistic, 0.13, 1e-12);
    assert_eq!(test.n, 10);
}

#[test]
fn exact_randomisation_of_equal_sizes_is_the_sign_test() {
    // All sums are multiples of 0.1, which rounding would part.
    for wins in 0..=20 {
        let differences: Vec<f64> = (0..20).map(|i| if i < wins { 0.1 } else { -0.1 }).collect();
        assert_relative(randomisation(&differences, 0, 0).p, sign(&differences).p, 1e-12);
    }
}

/// Golden values: scipy 1.17.1, `permutation_test` as above with 400 000 rounds.
#[test]
fn drawn_randomisation_agrees_with_scipy() {
    let forty: Vec<f64> =
        (0..40).map(|i| f64::from(37 * i % 101 - 44) / 1000.0 + 0.002 * f64::from(i % 3)).collect();
    let test = randomisation(&forty, 100_000, 1);
    assert!((test.p - 0.1116).abs() < 0.004, "{}", test.p);
    let many = randomisation(&two_hundred(), RANDOMISATION_ROUNDS, 1);
    assert!((many.p - paired_t(&two_hundred()).p).abs() < 0.005, "{}", many.p);
    // The smallest p that B rounds can give.
    assert_eq!(randomisation(&[1.0; 64], 999, 1).p, 1.0 / 1000.0);
}

#[test]
fn draws_are_the_same_at_any_thread_count() {
    let values = two_hundred();
    let at = |threads: usize| {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.install(|| {
            let tests = [randomisation(&values, 3000, 5), bootstrap_test(&values, 3000, 5)];
            (tests, bootstrap_mean(&values, 3000, 0.95, 5))
        })
    };
    assert_eq!(at(1), at(2));
    assert_eq!(at(1), at(7));
    assert_ne!(at(1).1, bootstrap_mean(&values, 3000, 0.95, 6));
    assert_ne!(at(1).0[1], bootstrap_test(&values, 3000, 6));
}

/// Golden values: statsmodels 0.15.0, `multipletests(p, method='holm')`.
#[test]
fn holm_agrees_with_statsmodels() {
    let adjusted = holm(&[0.01, 0.04, 0.03, 0.005, 0.5]);
    for (got, expected) in adjusted.iter().zip([0.04, 0.09, 0.09, 0.025, 0.5]) {
        assert_relative(*got, expected, 1e-12);
    }
    assert!(holm(&[]).is_empty());
    assert_eq!(holm(&[0.2]), [0.2]);
}

/// Golden values: scipy 1.17.1, `scipy.stats.false_discovery_control(p)`; statsmodels agrees.
#[test]
fn benjamini_hochberg_agrees_with_scipy() {
    for (p, expected) in [
        (&[0.03, 0.001, 0.04, 0.5, 0.012, 0.04][..], &[0.048, 0.006, 0.048, 0.5, 0.036, 0.048][..]),
        (&[0.9, 0.2, 0.05], &[0.9, 0.3, 0.15]),
        (&[0.01, 0.02, 0.03, 0.04, 0.05], &[0.05; 5]),
        (
            &[1e-8, 1.0, 0.3, 0.3, 2e-5, 0.7, 0.04, 0.049],
            &[8e-8, 1.0, 0.4, 0.4, 8e-5, 0.8, 0.098, 0.098],
        ),
    ] {
        for (got, expected) in benjamini_hochberg(p).iter().zip(expected) {
            assert_relative(*got, *expected, 1e-12);
        }
    }
    assert!(benjamini_hochberg(&[]).is_empty());
    assert_eq!(benjamini_hochberg(&[0.2]), [0.2]);
}

#[test]
fn the_bootstrap_test_agrees_with_students_t_on_normal_data() {
    let mut random = Random::new(4, 0);
    for (n, shift) in [(60, 0.0), (60, 0.2), (100, 0.15), (300, 0.1), (300, -0.13)] {
        let normal: Vec<f64> = (0..n).map(|_| shift + random.normal()).collect();
        let (test, t) = (bootstrap_test(&normal, 50_000, 1), paired_t(&normal));
        assert!((test.p - t.p).abs() < 0.015, "{} {}", test.p, t.p);
        assert_eq!((test.statistic, test.n), (mean(&normal), n));
        // The unit does not matter.
        let tiny: Vec<f64> = normal.iter().map(|d| d * 2f64.powi(-700)).collect();
        assert_eq!(bootstrap_test(&tiny, 500, 1).p, bootstrap_test(&normal, 500, 1).p);
    }
}

/// Under the null a test at level 0.05 is to claim a difference about 5 times in 100.
#[test]
fn the_bootstrap_test_keeps_its_level() {
    let mut random = Random::new(12, 0);
    let claims = (0..1000)
        .filter(|&round| {
            let values: Vec<f64> = (0..40).map(|_| random.uniform() - 0.5).collect();
            bootstrap_test(&values, 300, round).p <= 0.05
        })
        .count();
    assert!((30..72).contains(&claims), "{claims}");
}

/// Golden values: scipy 1.17.1, `scipy.stats.bootstrap((f,), mean, method='percentile')` with
/// 200 000 rounds; BCa gave the same three digits.
#[test]
fn the_bootstrap_interval_agrees_with_scipy() {
    let values: Vec<f64> = (0..50).map(|i| f64::from(37 * i % 101) / 100.0).collect();
    let interval = bootstrap_mean(&values, 100_000, 0.95, 3);
    assert!((interval.low - 0.418).abs() < 0.002, "{interval:?}");
    assert!((interval.high - 0.582).abs() < 0.002, "{interval:?}");
    let narrow = bootstrap_mean(&values, 100_000, 0.5, 3);
    assert!(interval.low < narrow.low && narrow.high < interval.high, "{narrow:?}");
}

#[test]
fn a_95_percent_interval_holds_the_truth_about_95_times_in_100() {
    let mut random = Random::new(11, 0);
    let held = (0..1000)
        .filter(|&round| {
            let values: Vec<f64> = (0..40).map(|_| 0.3 + 0.2 * random.normal()).collect();
            let interval = bootstrap_mean(&values, 500, 0.95, round);
            (interval.low..=interval.high).contains(&0.3)
        })
        .count();
    // Percentile intervals are known to be a little short at n = 40: about 94 %.
    assert!((915..970).contains(&held), "{held}");
}

#[test]
fn little_data_has_defined_results() {
    let nothing = |n| Test { p: 1.0, statistic: 0.0, n };
    for none in [&[][..], &[0.0], &[0.0, -0.0, 0.0]] {
        assert_eq!(paired_t(none), nothing(none.len()));
        assert_eq!(sign(none), nothing(0));
        assert_eq!(randomisation(none, 10, 0), nothing(none.len()));
        assert_eq!(bootstrap_test(none, 10, 0), nothing(none.len()));
        let interval = bootstrap_mean(none, 10, 0.95, 0);
        assert_eq!(interval, Interval { low: 0.0, high: 0.0 });
    }
    assert_eq!(paired_t(&[0.3]), nothing(1));
    assert_eq!(sign(&[0.3]), Test { p: 1.0, statistic: 1.0, n: 1 });
    assert_eq!(randomisation(&[0.3], 10, 0), Test { p: 1.0, statistic: 0.3, n: 1 });
    assert_eq!(bootstrap_test(&[0.3], 10, 0), Test { p: 1.0, statistic: 0.3, n: 1 });
    assert_eq!(bootstrap_mean(&[0.3], 10, 0.95, 0), Interval { low: 0.3, high: 0.3 });
    assert_eq!(bootstrap_mean(&[0.0, 1.0], 0, 0.95, 0), Interval { low: 0.5, high: 0.5 });
    assert_eq!(paired_t(&[1e-200, -1e-200]), nothing(2));
    // The mean of many 0.1 is not 0.1, but there is still no spread.
    assert_eq!(paired_t(&[0.1; 7]), Test { p: 0.0, statistic: f64::INFINITY, n: 7 });
    assert_eq!(bootstrap_test(&[0.1; 7], 99, 0).p, 0.01);
    assert_eq!(bootstrap_test(&[0.1, 0.2], 0, 0).p, 1.0);
    assert_eq!(paired_t(&[-0.1; 7]).statistic, f64::NEG_INFINITY);
    assert_eq!(bootstrap_mean(&[0.1; 7], 10, 0.95, 0), Interval { low: 0.1, high: 0.1 });
    assert_eq!(mean(&[]), 0.0);
}

#[test]
fn effect_size_is_the_mean_in_standard_deviations() {
    // numpy: mean / std(ddof=1).
    assert_relative(effect_size(&TEN).unwrap(), 0.6582805886043832, 1e-12);
    assert_eq!(effect_size(&[0.0, 0.0]), Some(0.0));
    assert_eq!(effect_size(&[0.1; 7]), None);
    assert_eq!(effect_size(&[0.1]), None);
    assert_eq!(effect_size(&[]), None);
}

#[test]
fn wins_ties_and_losses_are_counted() {
    assert_eq!(wins_ties_losses(&TEN), (7, 1, 2));
    assert_eq!(wins_ties_losses(&[]), (0, 0, 0));
    assert_eq!(differences(&[0.5, 0.25], &[0.25, 0.5]), [0.25, -0.25]);
}

fn some_differences() -> impl Strategy<Value = Vec<f64>> {
    let one = prop_oneof![-1f64..1.0, (-4i8..5).prop_map(|d| f64::from(d) / 4.0)];
    prop::collection::vec(one, 0..60)
}

proptest! {
    #[test]
    fn every_p_lies_between_zero_and_one(differences in some_differences(), seed: u64) {
        for test in [
            paired_t(&differences),
            sign(&differences),
            randomisation(&differences, 100, seed),
            bootstrap_test(&differences, 100, seed),
        ] {
            prop_assert!((0.0..=1.0).contains(&test.p), "{:?}", test);
        }
    }

    #[test]
    fn the_other_way_round_only_the_sign_changes(differences in some_differences(), seed: u64) {
        let turned: Vec<f64> = differences.iter().map(|d| -d).collect();
        let (there, back) = (paired_t(&differences), paired_t(&turned));
        prop_assert_eq!(there.p, back.p);
        prop_assert_eq!(there.statistic, -back.statistic);
        prop_assert_eq!(sign(&differences).p, sign(&turned).p);
        for test in [randomisation, bootstrap_test] {
            let (there, back) = (test(&differences, 100, seed), test(&turned, 100, seed));
            prop_assert_eq!(there.p, back.p);
            prop_assert_eq!(there.statistic, -back.statistic);
        }
    }

    #[test]
    fn the_order_of_the_queries_changes_nothing(differences in some_differences(), seed: u64) {
        let mut shuffled = differences.clone();
        Random::new(seed, 0).shuffle(&mut shuffled);
        // Sums in another order differ in their last bits; draws do not differ at all.
        let (here, there) = (paired_t(&differences), paired_t(&shuffled));
        prop_assert!((here.p - there.p).abs() < 1e-9, "{:?} {:?}", here, there);
        prop_assert_eq!(sign(&differences), sign(&shuffled));
        prop_assert_eq!(
            randomisation(&differences, 100, seed).p,
            randomisation(&shuffled, 100, seed).p
        );
        prop_assert_eq!(
            bootstrap_test(&differences, 100, seed).p,
            bootstrap_test(&shuffled, 100, seed).p
        );
        prop_assert_eq!(
            bootstrap_mean(&differences, 100, 0.9, seed),
            bootstrap_mean(&shuffled, 100, 0.9, seed)
        );
    }

    #[test]
    fn adjusting_keeps_the_order_and_never_goes_below_the_raw_value(
        p in prop::collection::vec(0f64..=1.0, 0..20),
    ) {
        for adjusted in [holm(&p), benjamini_hochberg(&p)] {
            for i in 0..p.len() {
                prop_assert!(adjusted[i] >= p[i] && adjusted[i] <= 1.0);
                for j in 0..p.len() {
                    prop_assert!(p[i] > p[j] || adjusted[i] <= adjusted[j]);
                }
            }
        }
        for (lenient, strict) in benjamini_hochberg(&p).iter().zip(holm(&p)) {
            prop_assert!(*lenient <= strict + 1e-12);
        }
    }

    #[test]
    fn the_interval_lies_within_the_values(
        values in prop::collection::vec(0f64..=1.0, 1..40), seed: u64,
    ) {
        let interval = bootstrap_mean(&values, 50, 0.95, seed);
        let (least, most) = values.iter().fold((1.0f64, 0.0f64), |(l, m), &v| (l.min(v), m.max(v)));
        prop_assert!(interval.low <= interval.high);
        prop_assert!(least - 1e-12 <= interval.low && interval.high <= most + 1e-12);
    }
}
