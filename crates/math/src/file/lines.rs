//! A table of JSON lines with an offset index: any tool can read it, and line `i` is one seek
//! away.

use std::fs::File;
use std::io;
use std::marker::PhantomData;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::output::Output;
use super::tensors::{Tensors, TensorsWriter};
use crate::{Error, Result};

/// Writes `NAME.jsonl` line by line and, at the end, `NAME.offsets.safetensors`.
pub struct LineTableWriter {
    output: Output,
    offsets: Vec<u64>,
    line: Vec<u8>,
}

impl LineTableWriter {
    /// Starts the table at `path`, which ends in `.jsonl`.
    pub fn create(path: &Path) -> Result<Self> {
        let output = Output::create(path)?;
        Ok(LineTableWriter { output, offsets: vec![0], line: Vec::new() })
    }

    /// The number of lines so far.
    #[expect(clippy::len_without_is_empty, reason = "nobody asks")]
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Appends one line.
    pub fn push(&mut self, value: &impl Serialize) -> Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, value)
            .map_err(io::Error::from)
            .map_err(Error::io("write", self.output.path()))?;
        self.line.push(b'\n');
        self.output.bytes(&self.line)?;
        let end = self.offsets[self.offsets.len() - 1] + self.line.len() as u64;
        self.offsets.push(end);
        Ok(())
    }

    /// The lines so far, readable while more are written.
    pub fn so_far<T: DeserializeOwned>(&mut self) -> Result<LineTable<T>> {
        self.output.flush()?;
        LineTable::of(self.output.path(), self.offsets.clone())
    }

    /// Writes the buffered lines and the offsets.
    pub fn finish(mut self) -> Result<()> {
        self.output.flush()?;
        let mut tensors = TensorsWriter::new();
        tensors.array("offsets", &[self.offsets.len()], &self.offsets);
        tensors.write(&offsets_path(self.output.path()))
    }
}

/// A table of JSON lines, mapped into memory and parsed line by line on demand.
pub struct LineTable<T> {
    path: PathBuf,
    map: Option<Mmap>,
    offsets: Vec<u64>,
    line: PhantomData<fn() -> T>,
}

impl<T: DeserializeOwned> LineTable<T> {
    /// Opens the table at `path` with its file of offsets.
    pub fn open(path: &Path) -> Result<Self> {
        let (_, offsets) = Tensors::open(&offsets_path(path))?.array::<u64>("offsets")?;
        LineTable::of(path, offsets)
    }

    /// The table at `path` whose lines start at `offsets`.
    fn of(path: &Path, offsets: Vec<u64>) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("read", path))?;
        let length = file.metadata().map_err(Error::io("read", path))?.len();
        // SAFETY: as for `Tensors::open`. An empty file cannot be mapped on every system.
        let map = if length == 0 {
            None
        } else {
            Some(unsafe { Mmap::map(&file) }.map_err(Error::io("map", path))?)
        };
        let sorted = offsets.windows(2).all(|pair| pair[0] < pair[1]);
        if offsets.first() != Some(&0) || offsets.last() != Some(&length) || !sorted {
            return Err(Error::damaged(&offsets_path(path), "the offsets do not match the lines"));
        }
        Ok(LineTable { path: path.to_owned(), map, offsets, line: PhantomData })
    }

    /// The number of lines.
    pub fn len(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Whether there are no lines.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Line `i`, parsed.
    pub fn get(&self, i: usize) -> Result<T> {
        let span = self.offsets[i] as usize..self.offsets[i + 1] as usize;
        let bytes = self.map.as_ref().map_or(&[][..], |map| &map[span]);
        serde_json::from_slice(bytes)
            .map_err(|error| Error::damaged(&self.path, format!("line {}: {error}", i + 1)))
    }

    /// All lines in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Result<T>> + '_ {
        (0..self.len()).map(|i| self.get(i))
    }
}

fn offsets_path(path: &Path) -> PathBuf {
    path.with_extension("offsets.safetensors")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_come_back_by_number() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("words.jsonl");
        let mut writer = LineTableWriter::create(&path).unwrap();
        for word in ["one", "zwei\n", "三"] {
            writer.push(&word).unwrap();
        }
        let so_far: LineTable<String> = writer.so_far().unwrap();
        writer.push(&"more").unwrap();
        writer.finish().unwrap();
        assert_eq!((so_far.len(), so_far.get(2).unwrap().as_str()), (3, "三"));
        let table: LineTable<String> = LineTable::open(&path).unwrap();
        assert_eq!((table.len(), table.get(3).unwrap().as_str()), (4, "more"));
        assert_eq!(table.get(2).unwrap(), "三");
        assert_eq!(table.get(1).unwrap(), "zwei\n");
        File::create(&path).unwrap();
        assert!(matches!(LineTable::<String>::open(&path), Err(Error::Damaged { .. })));
    }

    #[test]
    fn an_empty_table_is_a_table() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("none.jsonl");
        LineTableWriter::create(&path).unwrap().finish().unwrap();
        assert!(LineTable::<String>::open(&path).unwrap().is_empty());
    }
}
