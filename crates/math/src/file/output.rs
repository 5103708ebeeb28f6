//! A buffered file whose errors name its path.

use std::fmt;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use crate::{Error, Result};

/// A file that is written sequentially: lines or bytes.
pub struct Output {
    path: PathBuf,
    writer: BufWriter<File>,
}

impl Output {
    /// Starts the file at `path`.
    pub fn create(path: &Path) -> Result<Self> {
        let file = File::create(path).map_err(Error::io("create", path))?;
        let writer = BufWriter::with_capacity(1 << 20, file);
        Ok(Output { path: path.to_owned(), writer })
    }

    /// Final path of the file.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes bytes.
    pub fn bytes(&mut self, bytes: &[u8]) -> Result<()> {
        self.writer.write_all(bytes).map_err(Error::io("write", &self.path))
    }

    /// Writes the numbers in little-endian order; `buffer` is scratch.
    pub fn numbers(&mut self, row: &[f32], buffer: &mut Vec<u8>) -> Result<()> {
        buffer.clear();
        buffer.extend(row.iter().flat_map(|value| value.to_le_bytes()));
        self.bytes(buffer)
    }

    /// Writes one line.
    pub fn line(&mut self, text: fmt::Arguments<'_>) -> Result<()> {
        writeln!(self.writer, "{text}").map_err(Error::io("write", &self.path))
    }

    /// Writes one line of JSON.
    pub fn json(&mut self, value: &impl Serialize) -> Result<()> {
        serde_json::to_writer(&mut self.writer, value)
            .map_err(io::Error::from)
            .and_then(|()| self.writer.write_all(b"\n"))
            .map_err(Error::io("write", &self.path))
    }

    /// Writes what is buffered.
    pub fn flush(&mut self) -> Result<()> {
        self.writer.flush().map_err(Error::io("write", &self.path))
    }

    /// Writes what is buffered and closes the file.
    pub fn finish(mut self) -> Result<()> {
        self.flush()
    }
}
