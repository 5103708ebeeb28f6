use std::collections::HashSet;

use super::table_one::{TableOne, Texts};
use super::*;
use crate::Error;
use crate::data::Dataset;

fn written(shape: &Weblog) -> (tempfile::TempDir, Dataset) {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("log");
    shape.write(&path, false, &Run::silent()).unwrap();
    let dataset = Dataset::open(&path).unwrap();
    (dir, dataset)
}

fn assert_near(what: &str, value: f64, expected: f64) {
    assert!((value / expected - 1.0).abs() < 0.1, "{what} is {value}, Table 1 says {expected}");
}

#[test]
fn one_week_has_the_statistics_of_table_one() {
    let (_dir, dataset) = written(&Weblog::one_week());
    let table = TableOne::of(&dataset, &Texts::read(&dataset));
    assert_eq!((table.queries, table.documents, table.words), (94_022, 111_631, 101_904));
    assert_near("d_x", table.d_x, 2.1e5);
    assert_near("d_y", table.d_y, 2.0e5);
    assert_near("c_x", table.c_x, 4.0);
    assert_near("c_y", table.c_y, 5.9);
    assert_near("ñ^y", table.docs_per_query, 1.74);
    assert_near("ñ^x", table.queries_per_doc, 1.46);
    assert_near("N_x", table.n_x, 1.7);
    assert_near("N_y", table.n_y, 3.4);
    assert_near("W_x", table.w_x, 24.8);
    assert_near("W_y", table.w_y, 27.1);
    let counts = &dataset.about().counts;
    assert_eq!(counts.validation.0 + counts.test.0, 4_445);
    assert_near("judged", (counts.validation.1 + counts.test.1) as f64 / 4_445.0, 11.34);
}

#[test]
fn half_year_has_the_averages_of_table_one_at_a_small_scale() {
    let (_dir, dataset) = written(&Weblog { scale: 0.02, ..Weblog::half_year() });
    let table = TableOne::of(&dataset, &Texts::read(&dataset));
    assert_eq!((table.queries, table.documents, table.words), (127_445, 91_997, 5_431));
    assert_near("c_x", table.c_x, 5.5);
    assert_near("c_y", table.c_y, 8.6);
    assert_near("ñ^y", table.docs_per_query, 2.92);
    assert_near("ñ^x", table.queries_per_doc, 4.04);
    assert_near("N_x", table.n_x, 7.2);
    assert_near("N_y", table.n_y, 5.9);
    let counts = &dataset.about().counts;
    assert_eq!(counts.validation.0 + counts.test.0, 1_150);
    assert_near("judged", (counts.validation.1 + counts.test.1) as f64 / 1_150.0, 13.84);
}

#[test]
fn grades_agree_with_clicks_and_words_tell_only_part() {
    let (_dir, dataset) = written(&Weblog { scale: 0.2, ..Weblog::one_week() });
    let texts = Texts::read(&dataset);
    let mut levels = [0usize; 5];
    // Grade sums and counts: clicked or not, sharing a word or not.
    let (mut by_click, mut by_word) = ([(0.0, 0usize); 2], [(0.0, 0usize); 2]);
    let (mut good, mut good_with_word) = (0, 0);
    for grades in [&dataset.validation, &dataset.test] {
        for (query, row) in grades.rows().enumerate() {
            let words: HashSet<u32> = texts.queries.get(query).iter().copied().collect();
            for (doc, grade) in row.iter() {
                levels[grade as usize] += 1;
                let clicked = dataset.clicks.row(query).contains(doc);
                let shared = texts.documents.get(doc as usize).iter().any(|w| words.contains(w));
                for (tally, is) in [(&mut by_click, clicked), (&mut by_word, shared)] {
                    tally[usize::from(is)].0 += f64::from(grade);
                    tally[usize::from(is)].1 += 1;
                }
                good += usize::from(grade >= 3.0);
                good_with_word += usize::from(grade >= 3.0 && shared);
            }
        }
    }
    let mean = |(sum, n): (f64, usize)| sum / n as f64;
    let overlap = good_with_word as f64 / good as f64;
    let judged: usize = levels.iter().sum();
    assert!(levels.iter().all(|&n| n > judged / 20), "a level is rare: {levels:?}");
    assert!((0.3..0.8).contains(&overlap), "{overlap} of the good answers share a word");
    assert!(mean(by_click[1]) > mean(by_click[0]) + 0.5, "{by_click:?}");
    assert!(mean(by_word[1]) > mean(by_word[0]) + 0.2, "{by_word:?}");
}

fn files(folder: &Path) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| {
            let path = entry.unwrap().path();
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            (name, crate::file::checksum(&path).unwrap())
        })
        .collect();
    found.sort();
    found
}

#[test]
fn a_log_depends_on_its_seed_alone() {
    let shape = Weblog { scale: 0.01, ..Weblog::one_week() };
    let (one, dataset) = written(&shape);
    let (again, _) = written(&shape);
    let (other, _) = written(&Weblog { seed: 2, ..shape.clone() });
    assert_eq!(files(&one.path().join("log")), files(&again.path().join("log")));
    assert_ne!(files(&one.path().join("log")), files(&other.path().join("log")));
    assert_eq!(dataset.queries.len(), dataset.clicks.n_rows());
    assert_eq!(dataset.documents.len(), dataset.clicks.n_cols());
}

#[test]
fn query_texts_are_all_different_and_clicks_survive_the_filter() {
    for shape in [Weblog::one_week(), Weblog { scale: 0.003, ..Weblog::half_year() }] {
        let shape = Weblog { scale: shape.scale.min(0.05), ..shape };
        let (_dir, dataset) = written(&shape);
        let mut seen = HashSet::new();
        for (row, query) in dataset.queries.iter().enumerate() {
            let query = query.unwrap();
            let total: f64 = dataset.clicks.row(row).values.iter().map(|&n| f64::from(n)).sum();
            assert_eq!(query.clicks, total);
            assert_eq!(query.id, query.text);
            let mut words: Vec<String> = query.text.split(' ').map(str::to_owned).collect();
            words.sort();
            assert!(seen.insert(words), "{} is asked twice", query.text);
        }
        assert!(dataset.clicks.values().iter().all(|&n| n >= 4.0 && n.fract() == 0.0));
    }
}

#[test]
fn nine_judged_queries_in_ten_are_in_the_log_and_none_is_in_both_halves() {
    let (_dir, dataset) = written(&Weblog { scale: 0.05, ..Weblog::one_week() });
    let mut unseen = 0;
    for (row, query) in dataset.clicks.rows().enumerate() {
        let halves = [&dataset.validation, &dataset.test].map(|half| !half.row(row).is_empty());
        assert!(halves != [true, true], "row {row} is in both");
        assert!(!query.is_empty() || halves.contains(&true), "row {row} is in neither");
        unseen += usize::from(query.is_empty());
    }
    assert_eq!(unseen, 22);
    let counts = &dataset.about().counts;
    assert_eq!((counts.validation.0, counts.test.0), (111, 111));
}

#[test]
fn the_raw_files_hold_what_the_dataset_holds() {
    let shape = Weblog { scale: 0.005, ..Weblog::one_week() };
    let (dir, dataset) = written(&shape);
    let raw = dir.path().join("raw");
    shape.write_raw(&raw, false, &Run::silent()).unwrap();
    let read = |name: &str| std::fs::read_to_string(raw.join(name)).unwrap();
    let lines = |name: &str| -> Vec<Vec<String>> {
        read(name).lines().map(|line| line.split('\t').map(str::to_owned).collect()).collect()
    };

    let mut clicks = vec![vec!["query".to_owned(), "doc".into(), "clicks".into()]];
    let mut judgments =
        vec![["query", "doc", "grade", "split"].map(str::to_owned).into_iter().collect::<Vec<_>>()];
    for (row, query) in dataset.queries.iter().enumerate() {
        let text = query.unwrap().text;
        for (doc, n) in dataset.clicks.row(row).iter() {
            clicks.push(vec![text.clone(), format!("d{doc}"), n.to_string()]);
        }
        for (split, grades) in [("validation", &dataset.validation), ("test", &dataset.test)] {
            for (doc, grade) in grades.row(row).iter() {
                let (doc, grade) = (format!("d{doc}"), grade.to_string());
                judgments.push(vec![text.clone(), doc, grade, split.to_owned()]);
            }
        }
    }
    assert_eq!(lines("clicks.tsv"), clicks);
    assert_eq!(lines("judgments.tsv"), judgments);
    let in_dataset = std::fs::read_to_string(dataset.folder.file("documents.jsonl")).unwrap();
    assert_eq!(read("documents.jsonl"), in_dataset);
}

#[test]
fn a_raw_folder_is_replaced_only_by_force_and_only_if_it_is_ours() {
    let dir = tempfile::tempdir().unwrap();
    let raw = dir.path().join("raw");
    let shape = Weblog { scale: 0.003, ..Weblog::one_week() };
    let write = |force| shape.write_raw(&raw, force, &Run::silent());
    write(false).unwrap();
    assert!(matches!(write(false), Err(Error::Exists { .. })));
    write(true).unwrap();
    std::fs::File::create(raw.join("thesis.txt")).unwrap();
    assert!(matches!(write(true), Err(Error::Unusable { .. })));
    assert!(raw.join("thesis.txt").exists());
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
}

#[test]
fn a_stopped_log_leaves_nothing_behind() {
    let dir = tempfile::tempdir().unwrap();
    let shape = Weblog { scale: 0.003, ..Weblog::one_week() };
    let late = std::sync::atomic::AtomicBool::new(false);
    let progress = |step: crate::Progress<'_>| {
        let at_documents = step.stage == "writing documents";
        late.fetch_or(at_documents, std::sync::atomic::Ordering::Relaxed);
    };
    let cancelled = || late.load(std::sync::atomic::Ordering::Relaxed);
    let run = Run::new(&progress, &cancelled);
    let path = dir.path().join("log");
    assert!(matches!(shape.write(&path, false, &run), Err(Error::Cancelled)));
    assert!(matches!(shape.write_raw(&path, false, &run), Err(Error::Cancelled)));
    assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
}

#[test]
fn impossible_shapes_are_refused_with_the_parameter_named() {
    let dir = tempfile::tempdir().unwrap();
    let week = Weblog::one_week();
    for (name, shape) in [
        ("scale", Weblog { scale: 0.0, ..week.clone() }),
        ("scale", Weblog { scale: f64::NAN, ..week.clone() }),
        ("scale", Weblog { scale: 1e-4, ..week.clone() }),
        ("scale", Weblog { scale: 1e6, ..week.clone() }),
        ("words", Weblog { words: 200_000, ..week.clone() }),
        ("docs_per_query", Weblog { docs_per_query: 0.5, ..week.clone() }),
    ] {
        match shape.write(&dir.path().join("log"), false, &Run::silent()) {
            Err(Error::Parameter { name: named, .. }) => assert_eq!(named, name),
            other => panic!("{name} should be refused, got {other:?}"),
        }
    }
    let least = Weblog { scale: 0.00213, ..week };
    least.write(&dir.path().join("log"), false, &Run::silent()).unwrap();
}
