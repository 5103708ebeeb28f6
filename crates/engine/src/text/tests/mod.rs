//! The index against brute force, and what it promises about commits and snapshots.

mod filters;
mod ranking;

use std::fs::File;
use std::io::Write;
use std::path::Path;

use serde_json::{Map, Value, json};

use super::*;

/// A document made of words; "-" is a word that is not counted, "|" begins another text.
fn tokens(words: &str) -> Tokens {
    let mut tokens = Tokens::new();
    for word in words.split_ascii_whitespace() {
        match word {
            "-" => tokens.word(None),
            "|" => tokens.end_of_text(),
            word => tokens.word(Some(word)),
        }
    }
    tokens
}

fn map(value: Value) -> Map<String, Value> {
    let Value::Object(map) = value else { panic!("an object") };
    map
}

fn words(terms: &[&str]) -> TextQuery {
    TextQuery { terms: terms.iter().map(|&term| term.into()).collect(), phrases: Vec::new() }
}

fn phrase(terms: &[(usize, &str)]) -> TextQuery {
    let phrase = terms.iter().map(|&(place, term)| (place, term.into())).collect();
    TextQuery { terms: Vec::new(), phrases: vec![phrase] }
}

/// Candidates, best first and equal ones by number.
fn best_first(mut found: Vec<(u32, f32)>) -> Vec<(u32, f32)> {
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    found
}

fn found(snapshot: &TextSnapshot, query: &TextQuery) -> Vec<u32> {
    let mut numbers: Vec<_> =
        snapshot.candidates(query, 100, None, None).unwrap().into_iter().map(|c| c.0).collect();
    numbers.sort();
    numbers
}

fn matching(snapshot: &TextSnapshot, value: Value) -> Vec<u32> {
    snapshot.matching(&filter(value)).unwrap().iter().collect()
}

fn filter(value: Value) -> Filter {
    Filter::parse(&value).unwrap()
}

#[test]
fn commits_survive_and_snapshots_stay_as_they_are() {
    let dir = tempfile::tempdir().unwrap();
    let index = TextIndex::create(dir.path()).unwrap();
    assert_eq!(index.applied().unwrap(), 0);
    let empty = index.snapshot();
    let mut writer = index.writer().unwrap();
    writer.add(1, &tokens("sun far"), &map(json!({"n": 1}))).unwrap();
    writer.add(2, &tokens("sun near"), &map(json!({"n": 2}))).unwrap();
    assert_eq!(found(&index.snapshot(), &words(&["sun"])), [0; 0], "not yet committed");
    writer.commit(7).unwrap();
    let first = index.snapshot();
    writer.remove(1);
    writer.remove(99);
    writer.add(3, &tokens("sun"), &Map::new()).unwrap();
    writer.commit(9).unwrap();
    let second = index.snapshot();
    assert_eq!(found(&empty, &words(&["sun"])), [0; 0]);
    assert_eq!(found(&first, &words(&["sun"])), [1, 2]);
    assert_eq!(found(&second, &words(&["sun"])), [2, 3]);
    assert_eq!(matching(&first, json!({"n": {"gt": 0}})), [1, 2]);
    assert_eq!(matching(&second, json!({"n": {"gt": 0}})), [2]);
    assert_eq!((first.documents(), second.documents()), (2, 2));
    // What is not committed is gone after a new start.
    writer.add(4, &tokens("sun"), &Map::new()).unwrap();
    drop((writer, index));
    let index = TextIndex::open(dir.path()).unwrap();
    assert_eq!(index.applied().unwrap(), 9);
    assert_eq!(found(&index.snapshot(), &words(&["sun"])), [2, 3]);
    assert_eq!(matching(&index.snapshot(), json!({})), [2, 3]);
}

#[test]
fn many_small_commits_leave_few_segments_and_no_number_is_lost() {
    let dir = tempfile::tempdir().unwrap();
    let index = TextIndex::create(dir.path()).unwrap();
    let mut writer = index.writer().unwrap();
    for no in 0..100 {
        writer.add(no, &tokens("sun"), &map(json!({"n": no}))).unwrap();
        if no % 3 == 0 && no > 10 {
            writer.remove(no - 10);
        }
        writer.commit(u64::from(no)).unwrap();
    }
    let alive: Vec<u32> =
        (0..100).filter(|no| !(no + 10 < 100 && (no + 10) % 3 == 0 && *no > 0)).collect();
    assert_eq!(matching(&index.snapshot(), json!({})), alive);
    drop(writer);
    // Merges keep the number of the last change, too.
    let index = TextIndex::open(dir.path()).unwrap();
    index.writer().unwrap().finish(index.applied().unwrap()).unwrap();
    assert_eq!(index.applied().unwrap(), 99);
    assert_eq!(index.snapshot().segments(), 1);
    assert_eq!(matching(&index.snapshot(), json!({})), alive);
    assert_eq!(found(&index.snapshot(), &words(&["sun"])), alive);
}

#[test]
fn a_batch_becomes_one_segment() {
    let dir = tempfile::tempdir().unwrap();
    let index = TextIndex::create(dir.path()).unwrap();
    let mut writer = index.batch_writer(64 << 20).unwrap();
    for no in 0..5000u32 {
        writer.add(no, &tokens("sun"), &map(json!({"n": no}))).unwrap();
    }
    writer.finish(5000).unwrap();
    let snapshot = index.snapshot();
    assert_eq!((snapshot.segments(), snapshot.documents()), (1, 5000));
    assert_eq!(matching(&snapshot, json!({"n": {"lt": 4999}})), (0..4999).collect::<Vec<_>>());
    assert_eq!(index.applied().unwrap(), 5000);
}

#[test]
fn one_writer_at_a_time_and_no_index_over_another() {
    let dir = tempfile::tempdir().unwrap();
    assert!(matches!(TextIndex::open(dir.path()), Err(TextError::Missing { .. })));
    assert!(matches!(TextIndex::open(&dir.path().join("x")), Err(TextError::Missing { .. })));
    let index = TextIndex::create(dir.path()).unwrap();
    assert!(matches!(TextIndex::create(dir.path()), Err(TextError::Exists { .. })));
    let writer = index.writer().unwrap();
    assert!(matches!(index.writer(), Err(TextError::Locked { .. })));
    drop(writer);
    index.writer().unwrap();
}

fn overwrite(path: &Path, bytes: &[u8]) {
    File::create(path).unwrap().write_all(bytes).unwrap();
}

#[test]
fn damaged_files_are_said_to_be_damaged() {
    let dir = tempfile::tempdir().unwrap();
    let index = TextIndex::create(dir.path()).unwrap();
    let mut writer = index.writer().unwrap();
    writer.add(1, &tokens("sun far"), &map(json!({"n": 1}))).unwrap();
    writer.commit(1).unwrap();
    drop((writer, index));
    let files: Vec<_> = std::fs::read_dir(dir.path())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| {
            let name = path.file_name().unwrap().to_str().unwrap();
            !name.starts_with('.') && !name.ends_with(".lock")
        })
        .collect();
    assert!(files.len() > 4, "{files:?}");
    for path in files {
        let bytes = std::fs::read(&path).unwrap();
        for damaged in [&bytes[..0], &bytes[..bytes.len() / 2]] {
            overwrite(&path, damaged);
            let error = TextIndex::open(dir.path()).expect_err(&format!("{path:?}"));
            assert!(matches!(error, TextError::Broken { .. }), "{path:?}: {error}");
            assert!(error.to_string().contains("build the index again"), "{error}");
        }
        overwrite(&path, &bytes);
        TextIndex::open(dir.path()).unwrap();
    }
}
