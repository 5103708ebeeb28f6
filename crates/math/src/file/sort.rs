//! External merge sort: sorted runs go to compressed files, which are merged as they are read back.
//!
//! Records are byte strings, compared as bytes. Records that compare equal are identical, so the
//! result depends neither on the memory limit nor on the number of threads.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};
use std::path::{Path, PathBuf};

use rayon::prelude::*;
use tempfile::TempDir;
use zstd::stream::raw::CParameter;

use crate::{Error, Result, Run};

/// Records are stored in blocks of this size, so that growing copies nothing.
const BLOCK: usize = 1 << 20;

/// Files merged at once; more are merged in several rounds. A reader takes about a quarter of a MiB.
const FAN_IN: usize = 64;

/// The compression window (2¹⁷ bytes), which bounds the memory of decompression.
const WINDOW_LOG: u32 = 17;

/// Sorts records that come in any order.
pub struct Sorter {
    scratch: TempDir,
    /// Bytes for blocks. Another quarter of the limit is for the entries, allocated at once, because
    /// a list that grows briefly takes twice its memory.
    memory: usize,
    /// Filled up to the block `filling`; those after it are empty, to be reused.
    blocks: Vec<Vec<u8>>,
    filling: usize,
    entries: Vec<Entry>,
    files: Vec<PathBuf>,
    written: usize,
}

/// A record in memory, with its first bytes, which decide most comparisons.
#[derive(Clone, Copy)]
struct Entry {
    head: u64,
    block: u32,
    start: u32,
    len: u32,
}

impl Sorter {
    /// A sorter that holds at most `memory` bytes of records and writes the rest to files below
    /// `folder`, which are deleted with it.
    pub fn new(folder: &Path, memory: u64) -> Result<Self> {
        let scratch = tempfile::Builder::new()
            .prefix("sort")
            .tempdir_in(folder)
            .map_err(Error::io("write", folder))?;
        let memory = usize::try_from(memory).unwrap_or(usize::MAX);
        let entries = (memory / 4 / size_of::<Entry>()).clamp(1, 1 << 30);
        Ok(Sorter {
            scratch,
            memory: memory - memory / 4,
            blocks: Vec::new(),
            filling: 0,
            entries: Vec::with_capacity(entries),
            files: Vec::new(),
            written: 0,
        })
    }

    /// Adds a record.
    ///
    /// # Panics
    /// If it has 4 GiB or more.
    pub fn push(&mut self, record: &[u8]) -> Result<()> {
        if self.entries.len() == self.entries.capacity() || !self.find_block(record.len()) {
            self.spill()?;
            self.find_block(record.len());
        }
        let block = self.filling;
        let start = self.blocks[block].len();
        self.blocks[block].extend_from_slice(record);
        let mut head = [0; 8];
        let n = record.len().min(8);
        head[..n].copy_from_slice(&record[..n]);
        let small = |n: usize| u32::try_from(n).expect("records and blocks are below 4 GiB");
        self.entries.push(Entry {
            head: u64::from_be_bytes(head),
            block: small(block),
            start: small(start),
            len: small(record.len()),
        });
        Ok(())
    }

    /// Sets `filling` to a block with `len` free bytes, a new one if necessary; false if that would
    /// exceed the memory limit.
    fn find_block(&mut self, len: usize) -> bool {
        let fits = |block: &Vec<u8>| block.capacity() - block.len() >= len;
        while let Some(block) = self.blocks.get(self.filling) {
            if fits(block) {
                return true;
            }
            self.filling += 1;
        }
        let size = len.max(BLOCK.min(self.memory / 4));
        let taken: usize = self.blocks.iter().map(Vec::capacity).sum();
        if !self.entries.is_empty() && taken + size > self.memory {
            return false;
        }
        self.blocks.push(Vec::with_capacity(size));
        true
    }

    /// Sorts and returns the records in ascending order.
    pub fn finish(mut self, run: &Run<'_>) -> Result<Sorted> {
        if self.files.is_empty() {
            self.sort();
            let Sorter { blocks, entries, scratch, .. } = self;
            return Ok(Sorted {
                source: Source::Memory { blocks, entries, at: 0 },
                files: 0,
                scratch,
            });
        }
        if !self.entries.is_empty() {
            self.spill()?;
        }
        (self.blocks, self.entries) = (Vec::new(), Vec::new());
        let files = self.files.len();
        while self.files.len() > FAN_IN {
            run.check()?;
            let first: Vec<PathBuf> = self.files.drain(..FAN_IN).collect();
            let mut merge = Merge::open(&first)?;
            let mut file = self.new_file()?;
            let mut merged = 0u64;
            while let Some(record) = merge.next()? {
                file.write(record)?;
                merged += 1;
                if merged.is_multiple_of(1 << 16) {
                    run.step("merging sorted files", merged, None)?;
                }
            }
            self.files.push(file.finish()?);
            for path in first {
                std::fs::remove_file(&path).map_err(Error::io("remove", &path))?;
            }
        }
        let source = Source::Files(Merge::open(&self.files)?);
        Ok(Sorted { source, files, scratch: self.scratch })
    }

    fn sort(&mut self) {
        let blocks = &self.blocks;
        self.entries.par_sort_unstable_by(|a, b| {
            a.head.cmp(&b.head).then_with(|| a.bytes(blocks).cmp(b.bytes(blocks)))
        });
    }

    fn spill(&mut self) -> Result<()> {
        self.sort();
        let mut file = self.new_file()?;
        for entry in &self.entries {
            file.write(entry.bytes(&self.blocks))?;
        }
        self.files.push(file.finish()?);
        // Reused, not freed: memory freed in small parts does not always return to the system.
        self.blocks.iter_mut().for_each(Vec::clear);
        self.filling = 0;
        self.entries.clear();
        Ok(())
    }

    fn new_file(&mut self) -> Result<RecordWriter> {
        self.written += 1;
        RecordWriter::create(self.scratch.path().join(self.written.to_string()))
    }
}

impl Entry {
    fn bytes<'b>(&self, blocks: &'b [Vec<u8>]) -> &'b [u8] {
        &blocks[self.block as usize][self.start as usize..][..self.len as usize]
    }
}

/// Records in ascending order.
pub struct Sorted {
    source: Source,
    files: usize,
    /// The folder of the files.
    #[expect(dead_code, reason = "dropping it deletes the folder")]
    scratch: TempDir,
}

enum Source {
    Memory { blocks: Vec<Vec<u8>>, entries: Vec<Entry>, at: usize },
    Files(Merge),
}

impl Sorted {
    /// The next record.
    pub fn next_record(&mut self) -> Result<Option<&[u8]>> {
        match &mut self.source {
            Source::Files(merge) => merge.next(),
            Source::Memory { blocks, entries, at } => {
                let entry = entries.get(*at);
                *at += 1;
                Ok(entry.map(|entry| entry.bytes(blocks)))
            }
        }
    }

    /// The number of files that were written; 0 if everything fitted into memory.
    pub fn files(&self) -> usize {
        self.files
    }
}

/// A k-way merge of sorted files.
struct Merge {
    readers: Vec<RecordReader>,
    heads: BinaryHeap<Reverse<(Vec<u8>, usize)>>,
    current: Vec<u8>,
}

impl Merge {
    fn open(paths: &[PathBuf]) -> Result<Self> {
        let mut readers =
            paths.iter().map(|path| RecordReader::open(path)).collect::<Result<Vec<_>>>()?;
        let mut heads = BinaryHeap::new();
        for (at, reader) in readers.iter_mut().enumerate() {
            let mut record = Vec::new();
            if reader.read(&mut record)? {
                heads.push(Reverse((record, at)));
            }
        }
        Ok(Merge { readers, heads, current: Vec::new() })
    }

    fn next(&mut self) -> Result<Option<&[u8]>> {
        let Some(mut head) = self.heads.peek_mut() else { return Ok(None) };
        let Reverse((record, at)) = &mut *head;
        std::mem::swap(&mut self.current, record);
        if !self.readers[*at].read(record)? {
            PeekMut::pop(head);
        }
        Ok(Some(&self.current))
    }
}

struct RecordWriter {
    path: PathBuf,
    encoder: zstd::Encoder<'static, BufWriter<File>>,
}

impl RecordWriter {
    fn create(path: PathBuf) -> Result<Self> {
        let open = || {
            let file = BufWriter::with_capacity(1 << 16, File::create(&path)?);
            let mut encoder = zstd::Encoder::new(file, 1)?;
            encoder.set_parameter(CParameter::WindowLog(WINDOW_LOG))?;
            io::Result::Ok(encoder)
        };
        let encoder = open().map_err(Error::io("write", &path))?;
        Ok(RecordWriter { path, encoder })
    }

    fn write(&mut self, record: &[u8]) -> Result<()> {
        let len = (record.len() as u32).to_le_bytes();
        let written = self.encoder.write_all(&len).and_then(|()| self.encoder.write_all(record));
        written.map_err(Error::io("write", &self.path))
    }

    fn finish(self) -> Result<PathBuf> {
        let finished = self.encoder.finish().and_then(|mut file| file.flush());
        finished.map_err(Error::io("write", &self.path))?;
        Ok(self.path)
    }
}

struct RecordReader {
    path: PathBuf,
    decoder: BufReader<zstd::Decoder<'static, BufReader<File>>>,
}

impl RecordReader {
    fn open(path: &Path) -> Result<Self> {
        let open = || {
            let file = BufReader::with_capacity(1 << 15, File::open(path)?);
            Ok(BufReader::with_capacity(1 << 15, zstd::Decoder::with_buffer(file)?))
        };
        let decoder = open().map_err(Error::io("read", path))?;
        Ok(RecordReader { path: path.to_owned(), decoder })
    }

    /// Reads the next record into `record`; false at the end.
    fn read(&mut self, record: &mut Vec<u8>) -> Result<bool> {
        let mut len = [0; 4];
        match self.decoder.read_exact(&mut len) {
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Ok(false),
            other => other.map_err(Error::io("read", &self.path))?,
        }
        record.resize(u32::from_le_bytes(len) as usize, 0);
        self.decoder.read_exact(record).map_err(Error::io("read", &self.path))?;
        Ok(true)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sorted(records: &[Vec<u8>], memory: u64) -> (Vec<Vec<u8>>, usize) {
        let dir = tempfile::tempdir().unwrap();
        let mut sorter = Sorter::new(dir.path(), memory).unwrap();
        for record in records {
            sorter.push(record).unwrap();
        }
        let mut sorted = sorter.finish(&Run::silent()).unwrap();
        let mut all = Vec::new();
        while let Some(record) = sorted.next_record().unwrap() {
            all.push(record.to_vec());
        }
        let files = sorted.files();
        drop(sorted);
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0, "files stay behind");
        (all, files)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(64))]

        #[test]
        fn any_limit_gives_what_a_sort_in_memory_gives(
            records in prop::collection::vec(prop::collection::vec(0u8..4, 0..12), 0..400),
            memory in 1u64..4000,
        ) {
            let mut expected = records.clone();
            expected.sort();
            let (from_files, _) = sorted(&records, memory);
            prop_assert_eq!(&from_files, &expected);
            let (in_memory, files) = sorted(&records, 1 << 30);
            prop_assert_eq!(files, 0);
            prop_assert_eq!(&in_memory, &expected);
        }
    }

    #[test]
    fn more_files_than_can_be_merged_at_once() {
        let records: Vec<Vec<u8>> = (0..3 * FAN_IN as u32)
            .map(|i| (i.wrapping_mul(0x9e37_79b9)).to_be_bytes().to_vec())
            .collect();
        let (all, files) = sorted(&records, 1);
        assert!(files > FAN_IN);
        let mut expected = records;
        expected.sort();
        assert_eq!(all, expected);
    }
}
