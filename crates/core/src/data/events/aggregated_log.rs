//! The aggregated raw log that a dataset stores, so that another day can be appended: one
//! [`QueryLog`] per line, sorted by query, compressed.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::query_log::{QueryLog, Span};
use crate::{Error, Result};

/// Its name in the dataset folder.
pub(in crate::data) const FILE: &str = "log.jsonl.zst";

pub(super) struct AggregatedLogWriter {
    path: PathBuf,
    encoder: zstd::Encoder<'static, BufWriter<File>>,
    line: Vec<u8>,
}

impl AggregatedLogWriter {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(Error::io("create", path))?;
        let encoder = zstd::Encoder::new(BufWriter::with_capacity(1 << 17, file), 3)
            .map_err(Error::io("write", path))?;
        Ok(AggregatedLogWriter { path: path.to_owned(), encoder, line: Vec::new() })
    }

    pub(super) fn push(&mut self, log: &QueryLog) -> Result<()> {
        self.line.clear();
        serde_json::to_writer(&mut self.line, log)
            .map_err(|error| Error::damaged(&self.path, error.to_string()))?;
        self.line.push(b'\n');
        self.encoder.write_all(&self.line).map_err(Error::io("write", &self.path))
    }

    pub(super) fn finish(self) -> Result<()> {
        let finished = self.encoder.finish().and_then(|mut file| file.flush());
        finished.map_err(Error::io("write", &self.path))
    }
}

/// Reads the aggregated log of a dataset, query by query.
pub(in crate::data) struct AggregatedLogReader {
    path: PathBuf,
    decoder: BufReader<zstd::Decoder<'static, BufReader<File>>>,
    line: Vec<u8>,
}

impl AggregatedLogReader {
    pub(in crate::data) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("read", path))?;
        let decoder = zstd::Decoder::new(file).map_err(Error::io("read", path))?;
        let decoder = BufReader::with_capacity(1 << 17, decoder);
        Ok(AggregatedLogReader { path: path.to_owned(), decoder, line: Vec::new() })
    }

    pub(in crate::data) fn next(&mut self) -> Result<Option<QueryLog>> {
        self.line.clear();
        let read = self.decoder.read_until(b'\n', &mut self.line);
        if read.map_err(|error| Error::damaged(&self.path, error.to_string()))? == 0 {
            return Ok(None);
        }
        let log: QueryLog = serde_json::from_slice(&self.line)
            .map_err(|error| Error::damaged(&self.path, error.to_string()))?;
        let places = log.clicks.iter().map(|click| click.0);
        let shown = log.lists.iter().flat_map(|(_, _, list)| list.iter().map(|shown| shown.0));
        if places.chain(shown).any(|place| place as usize >= log.docs.len()) {
            return Err(Error::damaged(&self.path, "a click names a document that is not there"));
        }
        Ok(Some(log))
    }
}

/// Merges the log of a dataset with new logs, both sorted by query, and counts clicks by span.
pub(super) struct LogMerger {
    previous: Option<AggregatedLogReader>,
    /// The next log of `previous`.
    head: Option<QueryLog>,
    writer: AggregatedLogWriter,
    clicks: BTreeMap<Span, u64>,
}

impl LogMerger {
    pub(super) fn new(
        previous: Option<AggregatedLogReader>,
        writer: AggregatedLogWriter,
    ) -> Result<Self> {
        let mut merger = LogMerger { previous, head: None, writer, clicks: BTreeMap::new() };
        merger.advance()?;
        Ok(merger)
    }

    /// Adds the next of the new logs.
    pub(super) fn push(&mut self, log: QueryLog) -> Result<()> {
        while let Some(head) = self.head.take_if(|head| head.query < log.query) {
            self.write(head)?;
            self.advance()?;
        }
        let Some(head) = self.head.take_if(|head| head.query == log.query) else {
            return self.write(log);
        };
        self.advance()?;
        // Chunks stay chunks: merged they would be too large.
        let several = self.head.as_ref().is_some_and(|next| next.query == log.query);
        if several || head.is_large() || log.is_large() {
            self.write(head)?;
            return self.write(log);
        }
        self.write(head.merge(log))
    }

    /// Writes the rest; returns the clicks by span.
    pub(super) fn finish(mut self) -> Result<BTreeMap<Span, u64>> {
        while let Some(head) = self.head.take() {
            self.write(head)?;
            self.advance()?;
        }
        self.writer.finish()?;
        Ok(self.clicks)
    }

    fn advance(&mut self) -> Result<()> {
        self.head = self.previous.as_mut().map(AggregatedLogReader::next).transpose()?.flatten();
        Ok(())
    }

    fn write(&mut self, log: QueryLog) -> Result<()> {
        for &(_, span, n) in &log.clicks {
            *self.clicks.entry(span).or_default() += n;
        }
        self.writer.push(&log)
    }
}
