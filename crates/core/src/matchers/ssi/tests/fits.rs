//! Whole fits: what is kept, restored, explained, refused.

use super::*;
use crate::Error;

#[test]
fn words_that_are_not_frequent_count_through_the_identity_alone() {
    let counts = counts(&[]);
    for form in [Form::LowRank, Form::Symmetric, Form::Diagonal, Form::Full] {
        let params = Ssi { frequent: 4, epochs: 3, ..small(form) };
        let bench = Bench::of(&params, &counts);
        let n = counts.n_terms();
        let learnt =
            with_shape!(&params, bench.data.n_features(), shape => bench.run(&params, shape, 300));
        let kept: Vec<u32> = (0..4).map(|f| bench.data.word(f)).collect();
        let numbers = numbers(&learnt);
        let width = numbers.len() / if form.has_maps() { 2 * n } else { n };
        let moved = numbers.chunks(width).map(|row| row.iter().any(|&value| value != 0.0));
        for (word, moved) in moved.enumerate() {
            let word = (word % n) as u32;
            assert!(!moved || kept.contains(&word), "{form:?} {word}");
        }
        let (a, b) = (fitted(&params, &counts).unwrap().0, fitted(&params, &counts).unwrap().0);
        assert_eq!(scores(&*a, &counts), scores(&*b, &counts));
    }
}

#[test]
fn every_form_explains_itself_scores_alike_and_is_restored() {
    let counts = counts(&[]);
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("kept.safetensors");
    let binned = Ssi { frequent: 6, bins: 2, ..small(Form::LowRank) };
    let more = [
        binned.clone(),
        Ssi { exact: true, ..binned.clone() },
        Ssi { rare: true, exact: true, ..binned.clone() },
        Ssi { form: Form::Symmetric, rare: true, ..binned },
        Ssi { frequent: 6, ..small(Form::Full) },
        Ssi { diagonal: false, identity: false, ..small(Form::Full) },
        Ssi { learn_identity: true, identity_weight: 0.5, ..small(Form::Hash) },
        Ssi { identity_weight: 2.0, ..small(Form::Diagonal) },
    ];
    for params in FORMS.map(small).into_iter().chain(more) {
        let free = params.diagonal && params.identity_weight == 1.0;
        for identity in if free { vec![true, false] } else { vec![params.identity] } {
            let params = Ssi { identity, epochs: 2, steps: 100, ..params.clone() };
            let (matcher, _) = fitted(&params, &counts).unwrap();
            let mut tensors = crate::file::TensorsWriter::new();
            matcher.save_state(&mut tensors);
            tensors.write(&path).unwrap();
            let kept = crate::file::Tensors::open(&path).unwrap();
            let again = params.restore(&counts, SavedState(Some(&kept))).unwrap();
            assert_eq!(scores(&*matcher, &counts), scores(&*again, &counts), "{params:?}");
            for q in 0..counts.n_queries() {
                let query = counts.query(q);
                let all = matcher.scores(&counts, &query, None);
                let some = matcher.scores(&counts, &query, Some(&[7, 2]));
                assert_eq!(some, [all[7], all[2]], "{params:?}");
                for (doc, score) in all.iter().enumerate() {
                    let lines = matcher.contributions(&counts, &query, doc as u32);
                    let sum: f64 = lines.iter().map(|line| line.value).sum();
                    assert!((sum - f64::from(*score)).abs() < 1e-5, "{params:?} {sum} {score}");
                }
            }
        }
    }
}

#[test]
fn a_rate_that_diverges_is_said_with_epoch_and_rate() {
    let counts = counts(&[]);
    let params = Ssi { rate: 1e30, ..small(Form::LowRank) };
    let message = fitted(&params, &counts).err().unwrap().to_string();
    assert!(message.contains("epoch 1") && message.contains("rate = 1"), "{message}");
}

#[test]
fn the_rate_with_the_least_training_loss_is_chosen_and_reported() {
    let counts = counts(&[]);
    let params = Ssi { epochs: 8, steps: 200, ..small(Form::LowRank) };
    let steps = |rate: f64| {
        let (_, report) = fitted(&Ssi { epochs: 5, ..params.at(rate) }, &counts).unwrap();
        let FitReport::Steps(report) = report else { unreachable!() };
        report.steps.last().unwrap()[sgd::LOSS]
    };
    let rates = vec![1e-6, 0.05, 1e30];
    assert!(steps(0.05) < steps(1e-6));
    let (chosen, report) = fitted(&Ssi { rates, ..params.clone() }, &counts).unwrap();
    let FitReport::Steps(report) = report else { unreachable!() };
    let note = report.notes.iter().find(|note| note.starts_with("rate = 0.05, chosen by"));
    assert!(note.is_some_and(|note| note.contains("divergence at 1000")), "{:?}", report.notes);
    let (alone, _) = fitted(&params.at(0.05), &counts).unwrap();
    assert_eq!(scores(&*chosen, &counts), scores(&*alone, &counts));
}

#[test]
fn a_normal_start_has_the_variance_of_the_paper_and_follows_the_seed() {
    let entries = |seed: u64| {
        let params = Ssi { start: SsiStart::Normal, dim: 40, seed, ..Ssi::default() };
        params.map(500, 0).values().to_vec()
    };
    let values = entries(1);
    let square: f64 = values.iter().map(|&v| f64::from(v).powi(2)).sum();
    assert!((square / values.len() as f64 - 1.0).abs() < 0.05);
    assert_eq!(values, entries(1));
    assert_ne!(values, entries(2));
}

#[test]
fn cells_keep_to_their_memory() {
    let counts = counts(&[]);
    let params = small(Form::Full);
    let bench = Bench::of(&params, &counts);
    let mut full = full::Full::new(counts.n_terms(), 100, true);
    let (run, mut identity) = (Run::silent(), params.identity_at_start());
    let error =
        one_epoch(&params, &mut full, &mut identity, &bench.data, &bench.draws, (1, 50), &run)
            .unwrap_err();
    assert!(matches!(error, Error::Memory { .. }), "{error}");
}

#[test]
fn the_best_epoch_by_validation_is_kept_and_patience_ends_the_fit() {
    let counts = counts(&[]);
    let params = Ssi { epochs: 20, patience: 2, steps: 20, ..small(Form::LowRank) };
    // Says 0 at the start, then 1, 2, 5, 4, 3.
    let said = std::sync::atomic::AtomicUsize::new(0);
    let scorer: &crate::matchers::ValidationScorer<'_> = &|score| {
        assert_eq!(score(0, None).len(), 12);
        let n = said.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        [0.0, 1.0, 2.0, 5.0, 4.0, 3.0][n]
    };
    let run = Run::silent();
    let (best, report) = params
        .fit_to(Fitting { counts: &counts, init: None, scorer: Some(scorer), run: &run })
        .unwrap();
    let FitReport::Steps(report) = report else { unreachable!() };
    assert_eq!((report.kept, report.steps.len()), (Some(2), 5));
    let (third, _) = fitted(&Ssi { epochs: 3, ..params.clone() }, &counts).unwrap();
    assert_eq!(scores(&*best, &counts), scores(&*third, &counts));
    // Nothing better than the start.
    let scorer: &crate::matchers::ValidationScorer<'_> = &|_| 0.5;
    let (_, report) = params
        .fit_to(Fitting { counts: &counts, init: None, scorer: Some(scorer), run: &run })
        .unwrap();
    assert!(report.warnings()[0].contains("than the start"));
}

#[test]
fn parameters_that_would_be_ignored_are_refused() {
    for (settings, words) in [
        (&[("alpha", "0.7")][..], "negative = \"popularity\""),
        (&[("hard", "7")], "negative = \"bm25\""),
        (&[("form", "full"), ("dim", "7")], "form = \"low_rank\""),
        (&[("form", "diagonal"), ("init_scale", "7")], "form = \"low_rank\""),
        (&[("weights", "7")], "form = \"hash\""),
        (&[("form", "hash"), ("frequent", "7")], "frequent = 7"),
        (&[("bins", "2")], "frequent = 0"),
        (&[("bins", "9"), ("frequent", "5")], "bins = 9"),
        (&[("form", "full"), ("bins", "2"), ("frequent", "5")], "form = \"low_rank\""),
        (&[("exact", "true")], "bins = 1"),
        (&[("rare", "true"), ("frequent", "5")], "bins = 1"),
        (&[("next", "true")], "negative = \"impressions\""),
        (&[("identity", "false"), ("identity_weight", "0.5")], "identity = true"),
        (&[("identity", "false"), ("learn_identity", "true")], "identity = true"),
        (&[("diagonal", "false")], "form = \"full\""),
        (&[("form", "full"), ("diagonal", "false")], "identity = false"),
        (&[("identity_weight", "-1")], "identity_weight = -1"),
        (&[("rate", "0")], "rate = 0"),
        (&[("rates", "[0.1, -1]")], "rates = -1"),
        (&[("rates", "[0.1]"), ("rate", "0.2")], "rates = []"),
        (&[("start", "normal"), ("init_scale", "0.2")], "start = \"scaled\""),
        (&[("form", "hash"), ("start", "normal")], "form = \"low_rank\""),
        (&[("batch", "0")], "batch = 0"),
    ] {
        let mut params = Params::named("ssi").unwrap();
        settings.iter().for_each(|(key, value)| params.set(key, value).unwrap());
        let message = params.check().unwrap_err().to_string();
        assert!(message.contains(words), "{message}");
    }
}

#[test]
fn rare_words_need_to_be_there() {
    let counts = counts(&[]);
    let params = Ssi { frequent: 1000, bins: 2, rare: true, ..small(Form::LowRank) };
    let message = fitted(&params, &counts).err().unwrap().to_string();
    assert!(message.contains("rare = true") && message.contains("`frequent` below"), "{message}");
}

#[test]
fn a_learnt_weight_and_factor_are_reported() {
    let counts = counts(&[]);
    let params = Ssi {
        frequent: 5,
        bins: 2,
        rare: true,
        learn_identity: true,
        epochs: 2,
        ..small(Form::LowRank)
    };
    let (_, report) = fitted(&params, &counts).unwrap();
    let FitReport::Steps(report) = report else { unreachable!() };
    let names = ["violating %", "loss", "GB moved", "mixing factor", "identity"];
    assert_eq!(report.figures, names);
    assert!(report.steps.iter().all(|step| step.len() == 5 && step[3] != 1.0 && step[4] != 1.0));
}
