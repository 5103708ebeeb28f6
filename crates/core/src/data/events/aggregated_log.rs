//! What a dataset keeps of its raw log, so that another day can be appended: one
//! [`QueryLog`] a line, packed, in the order of the queries.

use std::fs::File;
use std::io::{BufRead, BufReader, BufWriter, Write};
use std::path::{Path, PathBuf};

use super::query_log::QueryLog;
use crate::{Error, Result};

/// Its name in the dataset folder.
pub(in crate::data) const FILE: &str = "log.jsonl.zst";

pub(super) struct KeptWriter {
    path: PathBuf,
    encoder: zstd::Encoder<'static, BufWriter<File>>,
    line: Vec<u8>,
}

impl KeptWriter {
    pub(super) fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(Error::io("create", path))?;
        let encoder = zstd::Encoder::new(BufWriter::with_capacity(1 << 17, file), 3)
            .map_err(Error::io("write", path))?;
        Ok(KeptWriter { path: path.to_owned(), encoder, line: Vec::new() })
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

/// Reads the log of a dataset, query by query.
pub(in crate::data) struct KeptLog {
    path: PathBuf,
    decoder: BufReader<zstd::Decoder<'static, BufReader<File>>>,
    line: Vec<u8>,
}

impl KeptLog {
    pub(in crate::data) fn open(path: &Path) -> Result<Self> {
        let file = File::open(path).map_err(Error::io("read", path))?;
        let decoder = zstd::Decoder::new(file).map_err(Error::io("read", path))?;
        let decoder = BufReader::with_capacity(1 << 17, decoder);
        Ok(KeptLog { path: path.to_owned(), decoder, line: Vec::new() })
    }

    pub(in crate::data) fn next(&mut self) -> Result<Option<QueryLog>> {
        self.line.clear();
        let n = self
            .decoder
            .read_until(b'\n', &mut self.line)
            .map_err(|error| Error::damaged(&self.path, error.to_string()))?;
        if n == 0 {
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

/// A log kept before and the logs that come now, each in the order of the queries, as one.
pub(super) struct Appending {
    kept: Option<KeptLog>,
    head: Option<QueryLog>,
    writer: KeptWriter,
}

impl Appending {
    pub(super) fn new(kept: Option<KeptLog>, writer: KeptWriter) -> Result<Self> {
        let mut appending = Appending { kept, head: None, writer };
        appending.advance()?;
        Ok(appending)
    }

    /// Takes the next log that comes now; `see` gets each log as it is written.
    pub(super) fn push(&mut self, log: QueryLog, see: &mut impl FnMut(&QueryLog)) -> Result<()> {
        while self.head.as_ref().is_some_and(|head| head.query < log.query) {
            if let Some(head) = self.head.take() {
                self.write(head, see)?;
            }
            self.advance()?;
        }
        let log = match self.head.take() {
            Some(head) if head.query == log.query => {
                self.advance()?;
                // Pieces stay pieces: together they would be too large.
                let several = self.head.as_ref().is_some_and(|next| next.query == log.query);
                if several || head.is_large() || log.is_large() {
                    self.write(head, see)?;
                    log
                } else {
                    head.merge(log)
                }
            }
            other => {
                self.head = other;
                log
            }
        };
        self.write(log, see)
    }

    pub(super) fn finish(mut self, see: &mut impl FnMut(&QueryLog)) -> Result<()> {
        while let Some(head) = self.head.take() {
            self.write(head, see)?;
            self.advance()?;
        }
        self.writer.finish()
    }

    fn advance(&mut self) -> Result<()> {
        self.head = match &mut self.kept {
            None => None,
            Some(kept) => kept.next()?,
        };
        Ok(())
    }

    fn write(&mut self, log: QueryLog, see: &mut impl FnMut(&QueryLog)) -> Result<()> {
        see(&log);
        self.writer.push(&log)
    }
}
