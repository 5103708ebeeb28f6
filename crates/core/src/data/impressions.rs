//! Impressions: which documents were shown for a query, at which ranks, and which of them were
//! clicked. Equal impressions are one list with a count; for a query with hundreds of thousands of
//! them they are merged in chunks only, so that one may occur in several.
//!
//! Only what training may know is stored: no list of a held-out query, no held-out document or
//! pair in any list, and, where the split is by time, no list that extends beyond training.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use bytemuck::Pod;
use rayon::prelude::*;
use safetensors::Dtype;

use crate::file::{ArrayFile, Tensors, join_arrays};
use crate::{Error, Result};

/// Its name in the dataset folder.
pub(super) const FILE: &str = "impressions.safetensors";

/// The impressions of a dataset.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Impressions {
    queries: Vec<u32>,
    counts: Vec<u32>,
    starts: Vec<u64>,
    docs: Vec<u32>,
    ranks: Vec<u32>,
    clicked: Vec<u8>,
}

/// Location of a dataset's impressions; only methods that learn from them read them.
#[derive(Debug, Clone, Default)]
pub struct ImpressionsAt(Option<(PathBuf, usize, usize)>);

impl ImpressionsAt {
    /// The lists at `path`, of a dataset of this size.
    pub(super) fn new(path: PathBuf, n_queries: usize, n_documents: usize) -> Self {
        ImpressionsAt(Some((path, n_queries, n_documents)))
    }

    /// Reads them; none where the dataset has none.
    pub fn open(&self) -> Result<Impressions> {
        match &self.0 {
            Some((path, n_queries, n_docs)) => Impressions::open(path, *n_queries, *n_docs),
            None => Ok(Impressions::default()),
        }
    }
}

/// One impression: the documents of a result page.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ImpressionList<'a> {
    /// The query's number.
    pub query: u32,
    /// The number of times it was shown.
    pub count: u32,
    /// The documents' numbers by rank; where ranks are unknown the order means nothing.
    pub docs: &'a [u32],
    /// Their ranks from 1; 0 if unknown.
    pub ranks: &'a [u32],
    /// 1 where the document was clicked.
    pub clicked: &'a [u8],
}

impl Impressions {
    /// Reads the lists at `path`, of a dataset of this size.
    pub(super) fn open(path: &Path, n_queries: usize, n_documents: usize) -> Result<Self> {
        let file = Tensors::open(path)?;
        let lists = Impressions {
            queries: file.array("queries")?.1,
            counts: file.array("counts")?.1,
            starts: file.array("starts")?.1,
            docs: file.array("docs")?.1,
            ranks: file.array("ranks")?.1,
            clicked: file.array("clicked")?.1,
        };
        let n = lists.docs.len();
        let sound = lists.starts.len() == lists.queries.len() + 1
            && lists.counts.len() == lists.queries.len()
            && lists.starts.first() == Some(&0)
            && lists.starts.last() == Some(&(n as u64))
            && lists.starts.is_sorted()
            && (lists.ranks.len(), lists.clicked.len()) == (n, n)
            && lists.queries.iter().all(|&query| (query as usize) < n_queries)
            && lists.docs.iter().all(|&doc| (doc as usize) < n_documents);
        if sound {
            Ok(lists)
        } else {
            Err(Error::damaged(path, "lists of impressions have inconsistent sizes"))
        }
    }

    /// The number of different lists.
    pub fn len(&self) -> usize {
        self.queries.len()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.queries.is_empty()
    }

    /// The lists, by query.
    pub fn iter(&self) -> impl Iterator<Item = ImpressionList<'_>> {
        (0..self.len()).map(|at| self.list(at))
    }

    /// The positions of all lists, sorted by query.
    pub(super) fn by_query(&self) -> Vec<u32> {
        let mut order: Vec<u32> = (0..self.len() as u32).collect();
        order.par_sort_by_key(|&at| self.queries[at as usize]);
        order
    }

    /// Groups the positions of [`Impressions::by_query`] by query.
    pub(super) fn of_each<'a>(&self, order: &'a [u32]) -> Vec<&'a [u32]> {
        let query = |at: u32| self.queries[at as usize];
        order.chunk_by(|&a, &b| query(a) == query(b)).collect()
    }

    /// The list at position `at`.
    pub fn list(&self, at: usize) -> ImpressionList<'_> {
        let range = self.starts[at] as usize..self.starts[at + 1] as usize;
        ImpressionList {
            query: self.queries[at],
            count: self.counts[at],
            docs: &self.docs[range.clone()],
            ranks: &self.ranks[range.clone()],
            clicked: &self.clicked[range],
        }
    }

    /// How often documents were shown and clicked at each of the ranks from 1 to `ranks`;
    /// nothing where the log has no ranks.
    pub fn by_rank(&self, ranks: usize) -> Vec<(u64, u64)> {
        let mut by_rank = vec![(0, 0); ranks];
        for list in self.iter() {
            for (&rank, &clicked) in list.ranks.iter().zip(list.clicked) {
                let place = (rank as usize).checked_sub(1);
                if let Some((shown, clicks)) = place.and_then(|place| by_rank.get_mut(place)) {
                    *shown += u64::from(list.count);
                    *clicks += u64::from(list.count) * u64::from(clicked);
                }
            }
        }
        by_rank
    }
}

/// A list for tests: query, count, and documents with rank and whether clicked.
#[cfg(test)]
pub(crate) type MadeList = (u32, u32, Vec<(u32, u32, bool)>);

#[cfg(test)]
impl Impressions {
    /// Lists for tests.
    pub(crate) fn made(lists: &[MadeList]) -> Self {
        let mut made = Impressions { starts: vec![0], ..Impressions::default() };
        for (query, count, list) in lists {
            made.queries.push(*query);
            made.counts.push(*count);
            for &(doc, rank, clicked) in list {
                made.docs.push(doc);
                made.ranks.push(rank);
                made.clicked.push(u8::from(clicked));
            }
            made.starts.push(made.docs.len() as u64);
        }
        made
    }
}

/// Writes lists one after the other, through temporary files, so that they need not fit into memory.
pub(super) struct ImpressionsWriter {
    folder: tempfile::TempDir,
    files: [(PathBuf, BufWriter<File>); 6],
    lists: usize,
    entries: usize,
}

const QUERIES: usize = 0;
const COUNTS: usize = 1;
const STARTS: usize = 2;
const DOCS: usize = 3;
const RANKS: usize = 4;
const CLICKED: usize = 5;

impl ImpressionsWriter {
    /// A writer with its temporary files below `scratch`.
    pub(super) fn create(scratch: &Path) -> Result<Self> {
        let folder = tempfile::Builder::new()
            .prefix("lists")
            .tempdir_in(scratch)
            .map_err(Error::io("write", scratch))?;
        let open = |name: usize| {
            let path = folder.path().join(name.to_string());
            let file = File::create(&path).map_err(Error::io("create", &path))?;
            Ok((path, BufWriter::with_capacity(1 << 16, file)))
        };
        let files = [open(0)?, open(1)?, open(2)?, open(3)?, open(4)?, open(5)?];
        let mut writer = ImpressionsWriter { folder, files, lists: 0, entries: 0 };
        writer.put(STARTS, &[0u64])?;
        Ok(writer)
    }

    /// Appends a list of documents with rank and whether clicked.
    pub(super) fn push(
        &mut self,
        query: u32,
        count: u32,
        list: impl Iterator<Item = (u32, u32, bool)>,
    ) -> Result<()> {
        for (doc, rank, clicked) in list {
            self.put(DOCS, &[doc])?;
            self.put(RANKS, &[rank])?;
            self.put(CLICKED, &[u8::from(clicked)])?;
            self.entries += 1;
        }
        self.lists += 1;
        self.put(QUERIES, &[query])?;
        self.put(COUNTS, &[count])?;
        self.put(STARTS, &[self.entries as u64])
    }

    fn put<T: Pod>(&mut self, file: usize, values: &[T]) -> Result<()> {
        let (path, writer) = &mut self.files[file];
        writer.write_all(bytemuck::cast_slice(values)).map_err(Error::io("write", path))
    }

    /// Writes the file at `path`, unless there is no list; returns the number of lists.
    pub(super) fn finish(mut self, path: &Path) -> Result<usize> {
        if self.lists == 0 {
            return Ok(0);
        }
        for (path, writer) in &mut self.files {
            writer.flush().map_err(Error::io("write", path))?;
        }
        let array =
            |name, at: usize, dtype, len| ArrayFile { name, dtype, len, path: &self.files[at].0 };
        let arrays = [
            array("starts", STARTS, Dtype::U64, self.lists + 1),
            array("queries", QUERIES, Dtype::U32, self.lists),
            array("counts", COUNTS, Dtype::U32, self.lists),
            array("docs", DOCS, Dtype::U32, self.entries),
            array("ranks", RANKS, Dtype::U32, self.entries),
            array("clicked", CLICKED, Dtype::U8, self.entries),
        ];
        join_arrays(path, &arrays)?;
        self.folder.close().map_err(Error::io("remove", path))?;
        Ok(self.lists)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_come_back_as_they_were_written() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join(FILE);
        let mut writer = ImpressionsWriter::create(dir.path()).unwrap();
        writer.push(0, 3, [(5, 1, true), (2, 2, false)].into_iter()).unwrap();
        writer.push(4, 1, [(0, 0, false), (1, 0, true)].into_iter()).unwrap();
        assert_eq!(writer.finish(&path).unwrap(), 2);
        let lists = Impressions::open(&path, 5, 6).unwrap();
        let all: Vec<ImpressionList<'_>> = lists.iter().collect();
        let first =
            ImpressionList { query: 0, count: 3, docs: &[5, 2], ranks: &[1, 2], clicked: &[1, 0] };
        assert_eq!((all.len(), all[0]), (2, first));
        assert_eq!((all[1].query, all[1].clicked), (4, &[0, 1][..]));
        assert_eq!(lists.by_rank(3), [(3, 3), (3, 0), (0, 0)]);
        assert!(Impressions::open(&path, 4, 6).is_err());
        assert!(Impressions::open(&path, 5, 5).is_err());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 1);
    }

    #[test]
    fn without_lists_there_is_no_file() {
        let dir = tempfile::tempdir().unwrap();
        let writer = ImpressionsWriter::create(dir.path()).unwrap();
        assert_eq!(writer.finish(&dir.path().join(FILE)).unwrap(), 0);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
    }
}
