use std::collections::HashMap;
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::*;
use crate::data::{EventRules, Import, SplitBy, Table};
use crate::features::{Counts, Preparation};
use crate::oracle::same_at_any_thread_count;
use crate::random::Random;

/// Days 1 to `days` of a log with columns as in `header`, whose pages change a little.
fn log(path: &Path, header: &str, days: std::ops::Range<u64>) {
    let mut text = format!("{header}\n");
    for day in days {
        let mut random = Random::new(day, 11);
        for page in 0..150 {
            let query = random.below(12);
            let mut docs: Vec<u64> = (0..6).map(|d| (query * 4 + d) % 30).collect();
            let (a, b) = (random.below(6) as usize, random.below(6) as usize);
            docs.swap(a, b);
            for (rank, doc) in (1..).zip(docs).take(5) {
                let clicked = random.uniform() * rank as f64 * (1.0 + (doc % 3) as f64) < 0.6;
                for column in header.split('\t') {
                    text += &match column {
                        "time" => format!("2026-01-{day:02}T{:02}:00:00Z\t", page % 24),
                        "page" => format!("p{day}.{page}\t"),
                        "query" => format!("query {query}\t"),
                        "doc" => format!("d{doc}\t"),
                        "rank" => format!("{rank}\t"),
                        "clicked" => format!("{}\t", u8::from(clicked)),
                        other => panic!("{other}"),
                    };
                }
                text.pop();
                text.push('\n');
            }
        }
    }
    fs::File::create(path).unwrap().write_all(text.as_bytes()).unwrap();
}

const ALL: &str = "time\tpage\tquery\tdoc\trank\tclicked";

fn events(path: &Path) -> Import {
    Import { events: Some(Table::new(path)), min_clicks: Some(2), ..Import::default() }
}

fn prepared(evidence: ClickEvidence) -> Preparation {
    Preparation { evidence, ..Preparation::default() }
}

fn counts(dataset: &Dataset, evidence: ClickEvidence) -> Counts {
    let mut prepared = prepared(evidence);
    // There are no documents but their ids.
    prepared.fields = vec!["title".into()];
    Counts::of(dataset, &prepared, &Run::silent()).unwrap()
}

fn refusal(dataset: &Dataset, evidence: ClickEvidence) -> String {
    Counts::of(dataset, &prepared(evidence), &Run::silent()).err().unwrap().to_string()
}

/// The clicks weighted as the head of the module says, pair by pair.
fn plainly(dataset: &Dataset, propensities: Option<&Propensities>) -> Vec<f64> {
    let look = |rank: u32| propensities.map_or(1.0, |propensities| propensities.at(rank));
    let (mut pages, mut pairs) = (HashMap::new(), HashMap::new());
    let (mut all_clicks, mut all_looks) = (0.0, 0.0);
    for list in dataset.impressions().unwrap().iter() {
        let count = f64::from(list.count);
        *pages.entry(list.query).or_insert(0.0) += count;
        for ((&doc, &rank), &clicked) in list.docs.iter().zip(list.ranks).zip(list.clicked) {
            let pair = pairs.entry((list.query, doc)).or_insert((0.0, 0.0));
            pair.0 += count * f64::from(clicked);
            pair.1 += count * look(rank);
            all_clicks += count * f64::from(clicked);
            all_looks += count * look(rank);
        }
    }
    let mut weights = Vec::new();
    for (i, row) in dataset.clicks.rows().enumerate() {
        let of_row: Vec<f64> = row
            .iter()
            .map(|(doc, value)| {
                let (clicked, looked) = pairs[&(i as u32, doc)];
                let rate = (clicked + 2.0 * all_clicks / all_looks) / (looked + 2.0);
                f64::from(value) * (pages[&(i as u32)] * rate / clicked).min(20.0)
            })
            .collect();
        let before: f64 = row.values.iter().map(|&value| f64::from(value)).sum();
        let after: f64 = of_row.iter().sum();
        weights.extend(of_row.iter().map(|weight| weight * before / after));
    }
    weights
}

fn assert_weighted(dataset: &Dataset, evidence: ClickEvidence, used: ClickEvidence) {
    let counts = counts(dataset, evidence);
    let about = counts.evidence.as_ref().unwrap();
    assert_eq!(about.used, used);
    assert_eq!(about.weighted, (dataset.clicks.nnz(), dataset.clicks.nnz()));
    assert_eq!(counts.clicks.indices(), dataset.clicks.indices());
    let expected = plainly(dataset, about.propensities.as_ref());
    for (&found, &expected) in counts.clicks.values().iter().zip(&expected) {
        assert!((f64::from(found) / expected - 1.0).abs() < 1e-5, "{found} is not {expected}");
    }
    let sum = |clicks: &Csr| clicks.values().iter().map(|&v| f64::from(v)).sum::<f64>();
    assert!((sum(&counts.clicks) / sum(&dataset.clicks) - 1.0).abs() < 1e-5);
    assert_ne!(counts.clicks, dataset.clicks);
}

#[test]
fn whatever_weight_a_pair_has_is_multiplied() {
    use ClickEvidence::{Auto, Propensity, Rates};
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log.tsv");
    log(&path, ALL, 1..21);
    let half_life = EventRules { half_life: Some(5.0), ..EventRules::default() };
    let imports = [
        ("plain", events(&path)),
        ("aged", Import { rules: half_life, ..events(&path) }),
        ("by-time", Import { split: Some(SplitBy::Time), ..events(&path) }),
        ("by-pairs", Import { split: Some(SplitBy::Edges), ..events(&path) }),
        ("filtered", Import { min_clicks: Some(12), ..events(&path) }),
    ];
    for (name, import) in imports {
        let place = dir.path().join(name);
        import.run(&place, false, &Run::silent()).unwrap();
        let dataset = Dataset::open(&place).unwrap();
        assert!(dataset.clicks.nnz() > 20, "{name}");
        assert_weighted(&dataset, Auto, Propensity);
        assert_weighted(&dataset, Propensity, Propensity);
        assert_weighted(&dataset, Rates, Rates);
        let as_they_are = counts(&dataset, ClickEvidence::Clicks);
        assert_eq!(as_they_are.clicks, dataset.clicks);
        assert_eq!(as_they_are.stored.evidence.unwrap().to_string(), "clicks unweighted");
    }
}

#[test]
fn another_day_appended_gives_what_all_days_at_once_give() {
    let dir = tempfile::tempdir().unwrap();
    let [all, first, more] = ["all.tsv", "first.tsv", "more.tsv"].map(|name| dir.path().join(name));
    log(&all, ALL, 1..15);
    log(&first, ALL, 1..11);
    log(&more, ALL, 11..15);
    let [at_once, by_turns] = ["at-once", "by-turns"].map(|name| dir.path().join(name));
    events(&all).run(&at_once, false, &Run::silent()).unwrap();
    events(&first).run(&by_turns, false, &Run::silent()).unwrap();
    let append = Import { append: Some(by_turns.clone()), min_clicks: None, ..events(&more) };
    append.run(&by_turns, true, &Run::silent()).unwrap();
    let [one, two] =
        [at_once, by_turns].map(|path| counts(&Dataset::open(&path).unwrap(), ClickEvidence::Auto));
    assert_eq!(one.clicks, two.clicks);
    assert_eq!(one.evidence, two.evidence);
}

#[test]
fn what_the_log_does_not_have_is_said() {
    use ClickEvidence::{Auto, Clicks, Propensity, Rates};
    let dir = tempfile::tempdir().unwrap();
    let open = |header: &str, name: &str| {
        let (path, place) = (dir.path().join(format!("{name}.tsv")), dir.path().join(name));
        log(&path, header, 1..6);
        events(&path).run(&place, false, &Run::silent()).unwrap();
        Dataset::open(&place).unwrap()
    };
    let unranked = open("time\tpage\tquery\tdoc\tclicked", "unranked");
    assert_weighted(&unranked, Auto, Rates);
    assert_weighted(&unranked, Rates, Rates);
    let said = counts(&unranked, Auto).stored.evidence.unwrap().to_string();
    assert!(
        said.starts_with("clicks weighted by how often") && said.ends_with("the log has no ranks")
    );
    assert!(refusal(&unranked, Propensity).contains("column rank, from 1"));

    // Every line a click.
    let clicked = open("time\tpage\tquery\tdoc\trank", "clicked");
    let plain = counts(&clicked, Auto);
    assert_eq!(plain.clicks, clicked.clicks);
    let said = plain.stored.evidence.unwrap().to_string();
    assert!(said.contains("unweighted; the log has no impressions without a click"), "{said}");
    for evidence in [Rates, Propensity] {
        assert!(refusal(&clicked, evidence).contains("clicked = 0 or 1"));
    }

    let table: PathBuf = dir.path().join("clicks.tsv");
    fs::File::create(&table).unwrap().write_all(b"query\tdoc\tclicks\na\td\t5\nb\te\t6\n").unwrap();
    let place = dir.path().join("table");
    let import = Import {
        clicks: Some(Table::new(&table)),
        validation: Some(0.0),
        test: Some(0.0),
        ..Import::default()
    };
    import.run(&place, false, &Run::silent()).unwrap();
    let table = Dataset::open(&place).unwrap();
    for evidence in [Auto, Clicks] {
        let counts = counts(&table, evidence);
        assert_eq!((counts.stored.clicks, counts.stored.evidence), (table.clicks.clone(), None));
    }
    for evidence in [Rates, Propensity] {
        assert!(refusal(&table, evidence).contains("was not made from a raw log"));
    }
}

#[test]
fn a_pair_that_no_page_shows_keeps_its_weight() {
    let lists = crate::data::Impressions::made(&[
        (0, 30, vec![(0, 1, true), (1, 2, false)]),
        (0, 10, vec![(0, 1, false), (1, 2, true)]),
        (0, 60, vec![(0, 1, false)]),
    ]);
    let seen = ImpressionCounts::of(&lists, 2, &Run::silent()).unwrap();
    let pairs = vec![(0, 0, 30.0), (0, 1, 10.0), (0, 2, 7.0), (1, 0, 5.0)];
    let clicks = Csr::from_triplets(2, 3, pairs).unwrap();
    let mut about = EvidenceAbout::of(ClickEvidence::Rates);
    let weighted = scale_clicks(&clicks, &seen, &mut about).unwrap();
    assert_eq!(weighted.values()[2..], [7.0, 5.0]);
    // 30 of 100 against 10 of 40, nearly.
    let ratio = weighted.values()[0] / weighted.values()[1];
    assert!((ratio - 1.2).abs() < 0.01, "{ratio}");
    assert!((weighted.values()[0] + weighted.values()[1] - 40.0).abs() < 1e-4);
    assert_eq!(about.weighted, (2, 4));
    // Weights below zero are no clicks.
    let signed = clicks.map(|_, doc, value| if doc == 1 { -value } else { value }).unwrap();
    assert_eq!(scale_clicks(&signed, &seen, &mut about).unwrap().row(0).get(1), -10.0);
}

#[test]
fn the_same_at_any_thread_count() {
    let dir = tempfile::tempdir().unwrap();
    let (path, place) = (dir.path().join("log.tsv"), dir.path().join("data"));
    log(&path, ALL, 1..8);
    events(&path).run(&place, false, &Run::silent()).unwrap();
    let dataset = Dataset::open(&place).unwrap();
    same_at_any_thread_count(|| {
        let weighted = click_weights(&dataset, ClickEvidence::Propensity, &Run::silent()).unwrap();
        (weighted.0.values().to_vec(), weighted.1)
    });
}

#[test]
fn on_a_log_whose_truth_is_known_the_ranking_comes_nearer_to_it() {
    use crate::eval::{Candidates, CompareParams, HeldOut, Measure, Variant};
    use crate::experiment::fit_and_compare;
    use crate::matchers::{Mixture, Params};
    use crate::synth::demo::{Demo, PAGE};
    use crate::synth::engine::bm25;

    let dir = tempfile::tempdir().unwrap();
    let (raw, place) = (dir.path().join("raw"), dir.path().join("data"));
    let demo = Demo { searches: 120_000, bias: 1.0, ..Demo::default() };
    let run = Run::silent();
    demo.write_events(&|docs, queries| bm25(docs, queries, PAGE), &raw, false, &run).unwrap();
    let table = |name: &str| Some(Table::new(raw.join(name)));
    let import = Import {
        events: table("events.tsv"),
        documents: table("documents.jsonl"),
        judgments: table("judgments.tsv"),
        ..Import::default()
    };
    import.run(&place, false, &run).unwrap();
    let dataset = Dataset::open(&place).unwrap();

    let names = ["clicked", "walk", "pls", "ridge"];
    let rows = names.map(|name| Mixture::parse(name).unwrap());
    let mut models = names.map(|name| (name.to_owned(), Params::named(name).unwrap()));
    models[2].1.set("dim", "50").unwrap();
    let measure = Measure::Ndcg { k: Some(10) };
    let params = CompareParams {
        rows: &rows,
        measures: &[measure],
        tune_on: measure,
        baseline: 0,
        on: HeldOut::Test,
        candidates: Candidates::Auto,
        variant: Variant::default(),
        seed: 1,
    };
    let compared = |evidence: ClickEvidence| {
        fit_and_compare(&dataset, &prepared(evidence), &models, &params, &run).unwrap().0
    };
    let scores = |comparison: &crate::eval::Comparison| -> Vec<f64> {
        comparison.rows.iter().map(|row| row.cells[0].mean.unwrap()).collect()
    };
    let weighted = compared(ClickEvidence::Auto);
    let about = weighted.evidence.as_ref().unwrap();
    assert_eq!(about.used, ClickEvidence::Propensity);
    for (k, found) in (1..).zip(&about.propensities.as_ref().unwrap().by_rank) {
        let look = f64::from(k).powf(-demo.bias);
        assert!((found / look - 1.0).abs() < 0.12, "rank {k}: {found} for {look}");
    }
    let (after, before) = (scores(&weighted), scores(&compared(ClickEvidence::Clicks)));
    let gains: Vec<f64> = after.iter().zip(&before).map(|(after, before)| after - before).collect();
    assert!(gains[0] > 0.003 && gains[3] > 0.01, "{gains:?} on {before:?}");
    assert!(gains.iter().all(|&gain| gain > -0.003), "{gains:?} on {before:?}");
}
