//! Loops compiled for AVX2 and their portable twins give the same bits.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use crate::place::{Place, Said};
use crate::shared::at;

/// The checksums of the files below `folder`, without the manifests, which hold times.
fn checksums(folder: &Path) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(next) = folders.pop() {
        for entry in fs::read_dir(next).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_none_or(|extension| extension != "json") {
                let name = path.strip_prefix(folder).unwrap().display().to_string();
                found.insert(name, liken::file::checksum(&path).unwrap());
            }
        }
    }
    assert!(!found.is_empty(), "{}", folder.display());
    found
}

/// The methods that use wide loops: products with panels and Chebyshev filters (pls, rmls), columns of
/// SSI in strips, and topics.
const METHODS: [&str; 9] = [
    "pls",
    "rmls --set start=spectral",
    "rmls --set start=random",
    "association",
    "ssi --set epochs=1",
    "rlsi",
    "nmf",
    "lda --set iterations=20",
    "plsi",
];

#[test]
fn models_are_the_same_bits_with_portable_loops() {
    let place = Place::new();
    for (number, method) in METHODS.iter().enumerate() {
        for (name, portable) in [("wide", "0"), ("portable", "1")] {
            let dim = if method.contains("association") { "" } else { "--dim 40" };
            let (method, rest) = method.split_once(' ').unwrap_or((method, ""));
            let line = format!("train {method} {} {rest} {dim} -o {name}-{number}", at("data"));
            let mut command = place.command(&line);
            Said::of(command.env("LIKEN_PORTABLE", portable).output().unwrap()).fine();
        }
        let of = |name: &str| checksums(&place.path(&format!("{name}-{number}")));
        assert_eq!(of("wide"), of("portable"), "{method}");
    }
}

#[test]
fn neighbours_and_answers_are_the_same_with_portable_loops() {
    let place = Place::new();
    let mut answers = Vec::new();
    for portable in ["0", "1"] {
        let line =
            format!("index {} --model {} --exact-below 0 -o i{portable}", at("data"), at("rmls"));
        let mut command = place.command(&line);
        Said::of(command.env("LIKEN_PORTABLE", portable).output().unwrap()).fine();
        let line = format!("run {} --queries {} -o -", at("rmls"), at("queries.tsv"));
        let mut command = place.command(&line);
        answers
            .push(Said::of(command.env("LIKEN_PORTABLE", portable).output().unwrap()).fine().out);
    }
    assert_eq!(answers[0], answers[1]);
    let embeddings = |name: &str| checksums(&place.path(name).join("embeddings"));
    assert_eq!(embeddings("i0"), embeddings("i1"));
}
