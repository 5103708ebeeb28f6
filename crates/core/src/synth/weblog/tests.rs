use std::collections::HashSet;

use super::table_one::{TableOne, Texts};
use super::*;
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
    println!("{table:?}");
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
    println!("{table:?}");
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
    println!("{levels:?} clicks {by_click:?} words {by_word:?} overlap {overlap}");
    println!("{} {} {} {}", mean(by_click[0]), mean(by_click[1]), mean(by_word[0]), mean(by_word[1]));
    let judged: usize = levels.iter().sum();
    assert!(levels.iter().all(|&n| n > judged / 20), "a level is rare: {levels:?}");
    assert!((0.3..0.8).contains(&overlap), "{overlap} of the good answers share a word");
    assert!(mean(by_click[1]) > mean(by_click[0]) + 0.5, "{by_click:?}");
    assert!(mean(by_word[1]) > mean(by_word[0]) + 0.2, "{by_word:?}");
}
