//! Data for tests: small datasets made on the spot, and the way to real ones.

use std::io::Write;
use std::path::{Path, PathBuf};

use serde_json::Value;

use super::impressions::ImpressionsWriter;
use super::{Dataset, DatasetAbout, DatasetWriter, Document, Evidence, ImpressionsAt, Query};
use crate::sparse::Csr;

/// Documents (id, fields), queries (each its own id) and training pairs (query, document,
/// clicks).
pub(crate) struct Fixture<'a> {
    pub documents: &'a [(&'a str, Value)],
    pub queries: &'a [&'a str],
    pub clicks: &'a [(u32, u32, f32)],
    /// Documents that training must not count.
    pub held_out: &'a [u32],
}

impl Fixture<'_> {
    /// Writes the dataset at `path` and opens it; every pair is also a judgment of grade 1 in
    /// validation and in test.
    pub(crate) fn open(&self, path: &Path) -> Dataset {
        let mut writer = DatasetWriter::create(path, false).unwrap();
        for query in self.queries {
            writer
                .query(&Query { id: (*query).into(), text: (*query).into(), clicks: 1.0 })
                .unwrap();
        }
        for (id, fields) in self.documents {
            let fields = fields.as_object().unwrap().clone();
            writer.document(&Document { id: (*id).into(), fields }).unwrap();
        }
        let shape = (self.queries.len(), self.documents.len());
        let clicks = Csr::from_triplets(shape.0, shape.1, self.clicks.to_vec()).unwrap();
        let grades = clicks.map(|_, _, _| 1.0).unwrap();
        let about = DatasetAbout::as_given(Evidence::Judgments);
        writer.finish(&clicks, &grades, &grades, self.held_out, about).unwrap();
        Dataset::open(path).unwrap()
    }
}

/// A page of results: query, count, and for every result document, rank and whether clicked.
pub(crate) type Page<'a> = (u32, u32, &'a [(u32, u32, bool)]);

/// Pages of results of so many queries and documents, in a file in `dir`.
pub(crate) fn impressions(
    dir: &Path,
    (n_queries, n_documents): (usize, usize),
    lists: &[Page<'_>],
) -> ImpressionsAt {
    let path = dir.join("lists");
    let mut writer = ImpressionsWriter::create(dir).unwrap();
    for (query, count, list) in lists {
        writer.push(*query, *count, list.iter().copied()).unwrap();
    }
    writer.finish(&path).unwrap();
    ImpressionsAt::new(path, n_queries, n_documents)
}

/// The folder `name` of real data, below `LIKEN_DATA` or beside the project. Where it is
/// absent, or `LIKEN_NO_DATA=1` asks to do without, the test is skipped; `LIKEN_SKIP_LOG` names a
/// file that counts the skipped.
#[expect(clippy::print_stderr, reason = "a skipped test says so")]
pub(crate) fn real_data(name: &str) -> Option<PathBuf> {
    let data = std::env::var_os("LIKEN_DATA").map_or_else(
        || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/data"),
        PathBuf::from,
    );
    let folder = data.join(name);
    let unwanted = std::env::var_os("LIKEN_NO_DATA").is_some_and(|value| value == "1");
    if folder.is_dir() && !unwanted {
        return Some(folder);
    }
    let why = if unwanted { "LIKEN_NO_DATA" } else { "is not there" };
    eprintln!("skipped: {} ({why}); LIKEN_DATA names the folder with the data", folder.display());
    if let Some(log) = std::env::var_os("LIKEN_SKIP_LOG") {
        let log = std::fs::OpenOptions::new().create(true).append(true).open(log);
        writeln!(log.unwrap(), "data {name} ({why})").unwrap();
    }
    None
}
