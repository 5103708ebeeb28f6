//! The project's own experiments on real data; skipped, and counted, where it is absent.

use std::io::Write;
use std::path::{Path, PathBuf};

use crate::place::Place;

/// The data folder, if `name` is in it: `LIKEN_DATA`, or the one beside the project.
/// `LIKEN_SKIP_LOG` names a file that counts the skipped.
pub fn data_with(name: &str) -> Option<PathBuf> {
    let data = std::env::var_os("LIKEN_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    if data.join(name).is_dir() {
        return Some(data);
    }
    if let Some(log) = std::env::var_os("LIKEN_SKIP_LOG") {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log);
        writeln!(log.unwrap(), "{name}").unwrap();
    }
    None
}

#[test]
fn nfcorpus_scores_have_not_moved() {
    let Some(data) = data_with("nfcorpus") else { return };
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../experiments/nfcorpus.toml");
    let place = Place::new();
    let arguments = [file.to_str().unwrap(), "--data", data.to_str().unwrap()];
    let said = place.ask("experiment", &arguments);
    assert_eq!(said.code, Some(0), "{}\n{}", said.out, said.err);
    assert!(said.err.contains("rmls-published: RMLS collapses"), "{}", said.err);
    assert!(!said.out.contains("MOVED"), "{}", said.out);
}

#[test]
fn models_of_nfcorpus_are_the_same_at_1_2_and_7_threads() {
    let Some(data) = data_with("nfcorpus") else { return };
    let place = Place::new();
    let import = place.ask("import beir", &[data.join("nfcorpus").to_str().unwrap(), "-o", "data"]);
    assert_eq!(import.code, Some(0), "{}", import.err);
    let identity = |threads: usize| {
        let model = format!("model-{threads}");
        let line = format!("train rmls+bm25 data -o {model} --dim 100 --threads {threads}");
        let trained = place.run(&line);
        assert_eq!(trained.code, Some(0), "{}", trained.err);
        let info = place.run(&format!("info {model} --format json")).json();
        info["identity"].as_str().unwrap().to_owned()
    };
    let one = identity(1);
    assert_eq!([&one, &one], [&identity(2), &identity(7)]);
}
