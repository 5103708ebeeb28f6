//! Tunings of small data: what is tried in which order, what is found, and what an interruption
//! leaves behind.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::json;

use super::*;
use crate::data::fixture::{Fixture, contradiction, many};
use crate::eval::HeldOut::Validation;
use crate::eval::{Candidates, CompareParams, Measure, Variant};
use crate::experiment::fit_and_compare;
use crate::features::Preparation;
use crate::matchers::{Mixture, Params};
use crate::oracle::same_at_any_thread_count;
use crate::{Error, Progress};

/// Ten subjects, each with three queries and three documents that share few words.
fn data(path: &Path) -> Dataset {
    let subjects = ["sun", "car", "heart", "tax", "tree", "fish", "wine", "song", "ship", "bread"];
    let mut documents = Vec::new();
    let (mut queries, mut clicks) = (Vec::new(), Vec::new());
    for (s, subject) in (0u32..).zip(subjects) {
        for k in 0..3 {
            let title =
                format!("{subject}like thing{k} page{} {}", (s + k) % 4, subjects[k as usize]);
            documents.push((format!("{subject}-{k}"), serde_json::json!({ "title": title })));
            queries.push(format!("{subject} word{} about{}", (s * k) % 5, k));
            for d in 0..3 {
                if d != k || s % 3 == 0 {
                    clicks.push((s * 3 + k, s * 3 + d, (1 + (s + d * k) % 7) as f32));
                }
            }
        }
    }
    let documents: Vec<_> = documents.iter().map(|(id, f)| (id.as_str(), f.clone())).collect();
    let queries: Vec<&str> = queries.iter().map(String::as_str).collect();
    Fixture { documents: &documents, queries: &queries, clicks: &clicks, held_out: &[] }.open(path)
}

pub(super) fn method_base(method: &str, dim: Option<usize>) -> (Mixture, Setting) {
    let mixture = Mixture::parse(method).unwrap();
    let mut models = Vec::new();
    for (_, name) in &mixture.parts {
        let mut params = Params::named(name).unwrap();
        if let Some(dim) = dim.filter(|_| params.learns()) {
            params.set("dim", &dim.to_string()).unwrap();
        }
        models.push((name.clone(), params));
    }
    (mixture, Setting { preparation: Preparation::default(), models })
}

/// A folder with the data, a method and a space.
struct Bench {
    folder: tempfile::TempDir,
    dataset: Dataset,
    mixture: Mixture,
    base: Setting,
    space: Space,
}

impl Bench {
    fn new(method: &str, space: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let dataset = data(&folder.path().join("data"));
        Bench::of(folder, dataset, method, space)
    }

    fn of(folder: tempfile::TempDir, dataset: Dataset, method: &str, space: &str) -> Self {
        let (mixture, base) = method_base(method, Some(4));
        let space = Space::parse(space, &base).unwrap();
        Bench { folder, dataset, mixture, base, space }
    }

    fn tuning(&self, search: Search) -> Tuning<'_> {
        Tuning {
            mixture: &self.mixture,
            base: &self.base,
            space: &self.space,
            search,
            measure: Measure::Ndcg { k: Some(10) },
            candidates: Candidates::Auto,
            variant: Variant::default(),
            seed: 1,
        }
    }

    fn run(&self, journal: &str, search: Search) -> Result<Tuned> {
        self.run_with(journal, &self.tuning(search), &Run::silent())
    }

    fn run_with(&self, journal: &str, tuning: &Tuning<'_>, run: &Run<'_>) -> Result<Tuned> {
        let path = self.folder.path().join(journal);
        let mut journal = Journal::open(&path, &tuning.journal_header(&self.dataset)?)?;
        tune(&self.dataset, tuning, &mut journal, run)
    }

    /// The score of a setting, fitted from nothing.
    fn alone(&self, setting: &Setting) -> f64 {
        let params = CompareParams {
            rows: std::slice::from_ref(&self.mixture),
            measures: &[Measure::Ndcg { k: Some(10) }],
            tune_on: Measure::Ndcg { k: Some(10) },
            baseline: 0,
            on: Validation,
            candidates: Candidates::Auto,
            variant: Variant::default(),
            seed: 1,
        };
        let run = Run::silent();
        let (preparation, models) = (&setting.preparation, &setting.models);
        let found = fit_and_compare(&self.dataset, preparation, models, &params, &run).unwrap();
        found.0.rows[0].cells[0].mean.unwrap()
    }
}

/// The table as text, without times.
fn text(tuned: &Tuned) -> String {
    let mut tuned = tuned.clone();
    tuned.trials.iter_mut().for_each(|row| row.seconds = 0.0);
    serde_json::to_string_pretty(&tuned).unwrap()
}

#[test]
fn a_setting_is_written_as_a_file_that_gives_it_back() {
    let (_, plain) = method_base("rmls", None);
    assert_eq!(plain.to_toml().unwrap(), "");
    for method in ["rmls", "rmls+bm25"] {
        let (_, base) = method_base(method, None);
        let prefix = if method == "rmls" { "" } else { "rmls." };
        let set = [
            (format!("{prefix}dim"), serde_json::json!(7)),
            (format!("{prefix}features.doc_clicks"), serde_json::json!(0.25)),
            (format!("{prefix}response"), serde_json::json!("raw")),
            ("preparation.analyzer.char_ngrams.min".into(), serde_json::json!(2)),
            ("preparation.analyzer.char_ngrams.max".into(), serde_json::json!(3)),
        ];
        let setting = base.with(&set).unwrap();
        for (key, value) in &set {
            assert_eq!(&setting.value(key).unwrap(), value);
        }
        assert_eq!(base.value("preparation.analyzer.char_ngrams.min").unwrap(), Value::Null);
        let file: Map<String, Value> = toml::from_str(&setting.to_toml().unwrap()).unwrap();
        let mut keys = Vec::new();
        for (name, table) in &file {
            let inner = table.as_object().filter(|_| name == "rmls");
            match inner {
                Some(inner) => {
                    keys.extend(inner.iter().map(|(k, v)| (format!("rmls.{k}"), v.clone())))
                }
                None => keys.push((name.clone(), table.clone())),
            }
        }
        let text = keys.iter().position(|(key, _)| key == "preparation").map(|at| keys.remove(at));
        keys.push(("preparation.analyzer".into(), text.unwrap().1["analyzer"].clone()));
        assert_eq!(base.with(&keys).unwrap(), setting);
    }
}

#[test]
fn a_grid_measures_every_setting_as_if_it_were_alone() {
    let bench = Bench::new(
        "rmls+bm25",
        "rmls.dim = [2, 4]\npreparation.min_df = [1, 2]\nrmls.response = [\"log\", \"raw\"]\n\
         rmls.features.doc_clicks = [0.0, 1.0]\nbm25.k1 = [0.5, 1.2]\n",
    );
    let tuned = bench.run("journal", Search::Grid).unwrap();
    // The defaults (dim 4, as was set) are one of the 32.
    assert_eq!(tuned.trials.len(), 32);
    assert_eq!(tuned.trials.iter().filter(|row| row.defaults).count(), 1);
    assert_eq!(tuned.varied.len(), 5);
    let baseline = tuned.defaults_row().unwrap().score.unwrap();
    for row in &tuned.trials {
        let setting = table::restored(&bench.base, &row.setting).unwrap();
        let score = row.score.unwrap();
        assert_eq!(score, bench.alone(&setting), "{:?}", row.setting);
        assert_eq!(row.defaults, row.difference.is_none());
        if let (Some(difference), Some(interval)) = (row.difference, row.interval) {
            assert!((difference - (score - baseline)).abs() < 2e-6);
            assert!(interval.low <= difference + 1e-9 && difference <= interval.high + 1e-9);
        }
        assert_eq!(row.weights.len(), 2);
        assert!(row.kept.is_some());
    }
    assert!(tuned.trials.is_sorted_by(|a, b| a.score >= b.score));
    assert_eq!(bench.alone(&tuned.best), tuned.best_row().unwrap().score.unwrap());
}

#[test]
fn halving_sends_the_best_third_on_and_keeps_the_defaults() {
    let space =
        "dim = { min = 1, max = 9, int = true }\nfeatures.doc_clicks = { min = 0.1, max = 1 }\n";
    let bench = Bench::new("pls", space);
    let tuned = bench.run("journal", Search::Budget(4)).unwrap();
    let on = |one_in: u32| -> Vec<&TrialRow> {
        tuned.trials.iter().filter(|row| row.one_in == one_in && !row.defaults).collect()
    };
    assert_eq!([9, 3, 1].map(|one_in| on(one_in).len()), [9, 3, 1]);
    for (low, high) in [(9, 3), (3, 1)] {
        let gone_on: Vec<bool> = on(low)
            .iter()
            .map(|row| on(high).iter().any(|other| other.setting == row.setting))
            .collect();
        let scores: Vec<f64> = on(low).iter().map(|row| row.score.unwrap()).collect();
        let worst = scores.iter().zip(&gone_on).filter(|&(_, &on)| on).map(|(&s, _)| s);
        let best_left = scores.iter().zip(&gone_on).filter(|&(_, &on)| !on).map(|(&s, _)| s);
        assert!(worst.fold(f64::INFINITY, f64::min) >= best_left.fold(0.0, f64::max));
    }
    let defaults = tuned.defaults_row().unwrap();
    assert_eq!(defaults.score.unwrap(), bench.alone(&bench.base));
    assert_eq!(tuned.trials.iter().filter(|row| row.defaults).count(), 1);
    // Full fits before parts, each by its score.
    assert!(tuned.trials.is_sorted_by_key(|row| row.one_in));
    // A larger budget goes on from there.
    let before = fs::read_to_string(bench.folder.path().join("journal")).unwrap();
    let more = bench.run("journal", Search::Budget(6)).unwrap();
    let after = fs::read_to_string(bench.folder.path().join("journal")).unwrap();
    assert!(after.starts_with(&before) && after.len() > before.len());
    let fresh = bench.run("fresh", Search::Budget(6)).unwrap();
    // The same, and what the smaller budget found beside it.
    let rows = |tuned: &Tuned| -> Vec<TrialRow> {
        tuned.trials.iter().map(|row| TrialRow { seconds: 0.0, ..row.clone() }).collect()
    };
    for row in rows(&fresh).iter().chain(&rows(&tuned)) {
        assert!(rows(&more).contains(row), "{row:?}");
    }
}

#[test]
fn few_settings_are_all_fitted_in_full() {
    let bench = Bench::new("pls", "dim = [2, 3]\nsigma = [0.0, 1.0]\n");
    let tuned = bench.run("journal", Search::Budget(9)).unwrap();
    assert_eq!(tuned.trials.len(), 5);
    assert!(tuned.trials.iter().all(|row| row.one_in == 1));
    let lexical = Bench::new("bm25", "k1 = { min = 0.1, max = 3 }\n");
    let tuned = lexical.run("journal", Search::Budget(7)).unwrap();
    assert_eq!((tuned.trials.len(), tuned.trials[6].one_in), (7, 1));
}

#[test]
fn an_interrupted_tuning_goes_on_to_the_same_table() {
    let space =
        "dim = { min = 1, max = 9, int = true }\nfeatures.doc_clicks = { min = 0.1, max = 1 }\n";
    let bench = Bench::new("rmls", space);
    let search = Search::Budget(5);
    let whole = text(&bench.run("whole", search).unwrap());
    for stop_at in [1, 2, 7, 14] {
        let name = format!("stopped-{stop_at}");
        let stop = AtomicBool::new(false);
        let progress = |progress: Progress<'_>| {
            if progress.step.is_some_and(|(trial, _)| trial == stop_at) {
                stop.store(true, Ordering::SeqCst);
            }
        };
        let cancelled = || stop.load(Ordering::SeqCst);
        let stopped =
            bench.run_with(&name, &bench.tuning(search), &Run::new(&progress, &cancelled));
        assert!(matches!(stopped, Err(Error::Cancelled)), "{stop_at}");
        let path = bench.folder.path().join(&name);
        let lines = fs::read_to_string(&path).unwrap().lines().count();
        assert_eq!(lines, stop_at, "the head and {} trials", stop_at - 1);
        // As after a kill: the last line is cut off.
        let mut file = OpenOptions::new().append(true).open(&path).unwrap();
        file.write_all(b"{\"setting\":{\"dim\":4},\"one_").unwrap();
        assert_eq!(text(&bench.run(&name, search).unwrap()), whole, "{stop_at}");
    }
    // Nothing is made again.
    let path = bench.folder.path().join("whole");
    let before = fs::read(&path).unwrap();
    assert_eq!(text(&bench.run("whole", search).unwrap()), whole);
    assert_eq!(fs::read(&path).unwrap(), before);
    // Even the first line may be cut off.
    fs::File::create(&path).unwrap().write_all(&before[..20]).unwrap();
    assert_eq!(text(&bench.run("whole", search).unwrap()), whole);
}

#[test]
fn a_journal_of_something_else_is_refused_and_left_alone() {
    let bench = Bench::new("pls", "dim = [2, 3]\n");
    bench.run("journal", Search::Grid).unwrap();
    let path = bench.folder.path().join("journal");
    let before = fs::read(&path).unwrap();
    let tuning = bench.tuning(Search::Grid);
    let other = Bench::new("pls", "dim = [2, 5]\n");
    let (rmls, rmls_base) = method_base("rmls", Some(4));
    for (changed, word) in [
        (Tuning { space: &other.space, ..bench.tuning(Search::Grid) }, "another grid or space"),
        (Tuning { seed: 2, ..bench.tuning(Search::Grid) }, "another seed"),
        (
            Tuning { measure: Measure::Ndcg { k: None }, ..bench.tuning(Search::Grid) },
            "another measure",
        ),
        (
            Tuning { mixture: &rmls, base: &rmls_base, ..bench.tuning(Search::Grid) },
            "another method, another fixed parameters",
        ),
    ] {
        let error = bench.run_with("journal", &changed, &Run::silent()).unwrap_err().to_string();
        assert!(error.contains(word) && error.contains("`force`"), "{error}");
    }
    let mut about = tuning.journal_header(&bench.dataset).unwrap();
    about.dataset = "0".into();
    let error = Journal::open(&path, &about).err().unwrap().to_string();
    assert!(error.contains("another dataset"), "{error}");
    assert_eq!(fs::read(&path).unwrap(), before);
    let about = tuning.journal_header(&bench.dataset).unwrap();
    for (bytes, word) in [("hello\n", "is not a journal"), ("{}\n", "is not a journal")] {
        fs::File::create(&path).unwrap().write_all(bytes.as_bytes()).unwrap();
        let error = Journal::open(&path, &about).err().unwrap().to_string();
        assert!(error.contains(word), "{error}");
    }
    let mut broken = before.clone();
    broken.extend(b"{\"setting\": 3}\n");
    broken.extend(&before[before.iter().position(|&b| b == b'\n').unwrap() + 1..]);
    fs::File::create(&path).unwrap().write_all(&broken).unwrap();
    let error = Journal::open(&path, &about).err().unwrap().to_string();
    assert!(error.contains("journal:5: expected one trial"), "{error}");
}

#[test]
fn a_try_that_fails_is_written_down_and_does_not_end_the_run() {
    // The second is refused by the check of parameters, the third empties the model.
    let bench = Bench::new("rmls", "penalty = [\"none\", \"absolute\"]\nbeta = [0.0, 1e9]\n");
    let tuned = bench.run("journal", Search::Grid).unwrap();
    assert_eq!(tuned.trials.len(), 4);
    let errors: Vec<&str> = tuned.trials.iter().filter_map(|row| row.error.as_deref()).collect();
    assert_eq!(errors.len(), 3);
    assert!(errors.iter().any(|error| error.contains("penalty = \"absolute\"")), "{errors:?}");
    assert!(errors.iter().any(|error| error.contains("beta or gamma above 0")), "{errors:?}");
    assert!(tuned.defaults_are_best && tuned.trials[0].defaults);
    assert_eq!(text(&bench.run("journal", Search::Grid).unwrap()), text(&tuned));
    // With nothing but failures there is nothing to show.
    let mut bench = bench;
    let set = [("penalty".into(), json!("absolute")), ("beta".into(), json!(1e9))];
    bench.base = bench.base.with(&set).unwrap();
    bench.space = Space::parse("gamma = [0.0, 1e9]\n", &bench.base).unwrap();
    let error = bench.run("other", Search::Grid).unwrap_err().to_string();
    assert!(error.contains("no trial succeeded"), "{error}");
}

#[test]
fn what_cannot_be_tuned_is_refused_before_any_work() {
    let bench = Bench::new("pls", "dim = [2, 3]\n");
    let variant = Variant { relevant_from: 2.0, ..Variant::default() };
    let tuning = Tuning { variant, ..bench.tuning(Search::Grid) };
    // nDCG looks at grades alone.
    tuning.check(&bench.dataset).unwrap();
    let tuning = Tuning { measure: Measure::Ap { k: None }, ..tuning };
    let error = tuning.check(&bench.dataset).unwrap_err().to_string();
    assert!(error.contains("has a relevant document (a grade of 2"), "{error}");
    for budget in [1, MOST_BUDGET + 1, usize::MAX] {
        let error = bench.tuning(Search::Budget(budget)).check(&bench.dataset).unwrap_err();
        let error = error.to_string();
        assert!(error.contains("2 or more") && error.contains("at most 10000"), "{error}");
    }
    let none = Space::default();
    let tuning = Tuning { space: &none, ..bench.tuning(Search::Budget(5)) };
    let error = tuning.check(&bench.dataset).unwrap_err().to_string();
    assert!(error.contains("`grid` or `space`"), "{error}");
    let documents = [("a", json!({ "title": "red" })), ("b", json!({ "title": "green" }))];
    let nothing = Fixture { documents: &documents, queries: &["red"], clicks: &[], held_out: &[] };
    let nothing = nothing.open(&bench.folder.path().join("nothing"));
    let error = bench.tuning(Search::Grid).check(&nothing).unwrap_err().to_string();
    assert!(error.contains("no validation queries"), "{error}");
}

#[test]
fn any_number_of_threads_gives_the_same_table() {
    let folder = tempfile::tempdir().unwrap();
    // More rows than a sweep or a product takes at once.
    let dataset = many(&folder.path().join("data"), 1200);
    let space = "rmls.dim = { min = 1, max = 6, int = true }\nbm25.b = [0.1, 0.75]\n";
    let bench = Bench::of(folder, dataset, "rmls+bm25", space);
    let counter = std::sync::atomic::AtomicUsize::new(0);
    same_at_any_thread_count(|| {
        let name = format!("journal-{}", counter.fetch_add(1, Ordering::SeqCst));
        text(&bench.run(&name, Search::Budget(4)).unwrap())
    });
}

#[test]
fn too_little_memory_ends_the_run_and_is_not_written_down() {
    let bench = Bench::new("pls+bm25", "pls.dim = [2, 3]\n");
    let tuning = bench.tuning(Search::Grid);
    let tight = Run::silent().with_memory(1 << 20);
    let stopped = bench.run_with("journal", &tuning, &tight);
    assert!(matches!(stopped, Err(Error::Memory { .. })), "{:?}", stopped.err());
    let journal = fs::read_to_string(bench.folder.path().join("journal")).unwrap();
    assert_eq!(journal.lines().count(), 1, "the header alone: {journal}");
    let roomy = Run::silent().with_memory(1 << 30);
    let tuned = bench.run_with("journal", &tuning, &roomy).unwrap();
    assert!(tuned.trials.iter().all(|row| row.score.is_some()));
}

#[test]
fn settings_are_chosen_by_validation_and_never_by_test() {
    let folder = tempfile::tempdir().unwrap();
    let mut dataset = contradiction(&folder.path().join("data"));
    let (mixture, base) = method_base("translation", None);
    // How much a word counts for itself: 1 is words alone, 0 what was clicked alone.
    let space = Space::parse("translation.b = [0.0, 0.5, 1.0]", &base).unwrap();
    for (b, journal) in [(1.0, "words"), (0.0, "clicks")] {
        for search in [Search::Grid, Search::Budget(6)] {
            let tuning = Tuning {
                mixture: &mixture,
                base: &base,
                space: &space,
                search,
                measure: Measure::Ndcg { k: Some(1) },
                candidates: Candidates::Auto,
                variant: Variant::default(),
                seed: 1,
            };
            let path = folder.path().join(format!("{journal}-{search:?}"));
            let mut journal =
                Journal::open(&path, &tuning.journal_header(&dataset).unwrap()).unwrap();
            let tuned = tune(&dataset, &tuning, &mut journal, &Run::silent()).unwrap();
            let score = |b: f64| {
                let row = tuned.trials.iter().find(|row| row.setting["translation.b"] == json!(b));
                row.unwrap().score
            };
            assert_eq!((score(b), score(1.0 - b)), (Some(1.0), Some(0.0)), "{search:?}");
            assert_eq!(tuned.trials[0].score, Some(1.0));
            let chosen = tuned.best.value("translation.b").unwrap().as_f64().unwrap();
            assert!((chosen - b).abs() <= 0.5, "{search:?}: {chosen} for {b}");
        }
        std::mem::swap(&mut dataset.validation, &mut dataset.test);
    }
}
