//! The bytes of a file or of standard input: hashed and counted while they are read, decompressed,
//! decoded to UTF-8 without byte-order mark, and interruptible at every read.
//!
//! Sources that can block for ever (standard input, named pipes) are read by a thread of their own, so
//! that Ctrl-C works while they block.

use std::cell::RefCell;
use std::fmt;
use std::fs::File;
use std::io::{self, Cursor, Read};
use std::path::{Path, PathBuf};
use std::rc::Rc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::Duration;

use flate2::read::MultiGzDecoder;
use sha2::{Digest, Sha256};

use super::encoding::Encoding;
use crate::{Error, Result, Run};

/// Bytes from which the encoding is detected.
const HEAD: u64 = 2 << 20;

/// Bytes from which the format is detected.
const OPENING: usize = 1 << 14;

/// Compression of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Compression {
    Gzip,
    Zstandard,
}

impl Compression {
    fn of_name(path: &Path) -> Option<Compression> {
        match path.extension()?.to_str()?.to_ascii_lowercase().as_str() {
            "gz" => Some(Compression::Gzip),
            "zst" => Some(Compression::Zstandard),
            _ => None,
        }
    }

    fn of_bytes(head: &[u8]) -> Option<Compression> {
        if head.starts_with(&[0x1f, 0x8b]) {
            Some(Compression::Gzip)
        } else if head.starts_with(&[0x28, 0xb5, 0x2f, 0xfd]) {
            Some(Compression::Zstandard)
        } else {
            None
        }
    }

    fn name(self) -> &'static str {
        match self {
            Compression::Gzip => "gzip",
            Compression::Zstandard => "zstd",
        }
    }
}

/// The name of a file without the extension of its compression.
pub(super) fn uncompressed_name(path: &Path) -> PathBuf {
    if Compression::of_name(path).is_some() { path.with_extension("") } else { path.to_owned() }
}

/// Whether `path` means standard input.
pub(crate) fn is_stdin(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// The name of `path` in messages.
pub(super) fn label(path: &Path) -> PathBuf {
    if is_stdin(path) { PathBuf::from("stdin") } else { path.to_owned() }
}

/// The decompressed text of one source, as UTF-8.
pub(super) struct Input<'r> {
    label: PathBuf,
    compression: Option<Compression>,
    encoding: Encoding,
    /// How the encoding was found, where that is worth a note.
    note: Option<String>,
    opening: String,
    reader: Box<dyn Read + 'r>,
    meter: Rc<RefCell<Meter>>,
    /// Line ends read so far, where the file is compressed.
    lines: u64,
}

/// The bytes of a source read so far, before decompression.
struct Meter {
    bytes: u64,
    /// Only where it was asked for.
    hash: Option<Sha256>,
}

impl<'r> Input<'r> {
    /// Opens the file at `path`, or standard input for `-`. Without an encoding, the beginning of
    /// the text decides; a byte-order mark always does.
    pub(super) fn open(path: &Path, encoding: Option<Encoding>, run: Run<'r>) -> Result<Self> {
        Self::begin(path, encoding, run, Some(Sha256::new()))
    }

    /// Like [`Input::open`], with a checksum only if a hash is given.
    pub(super) fn begin(
        path: &Path,
        encoding: Option<Encoding>,
        run: Run<'r>,
        hash: Option<Sha256>,
    ) -> Result<Self> {
        let label = label(path);
        let (source, total): (Box<dyn Read + 'r>, Option<u64>) = if is_stdin(path) {
            (Box::new(BackgroundReader::start(io::stdin(), run)), None)
        } else {
            let file = File::open(path).map_err(Error::io("read", path))?;
            let about = file.metadata().map_err(Error::io("read", path))?;
            if about.is_dir() {
                return Err(Error::Unusable {
                    path: label,
                    problem: "is a folder, not a file".into(),
                    advice: "name the file; a BEIR folder is given alone".into(),
                });
            }
            if about.is_file() {
                (Box::new(file), Some(about.len()))
            } else {
                (Box::new(BackgroundReader::start(file, run)), None)
            }
        };
        let meter = Rc::new(RefCell::new(Meter { bytes: 0, hash }));
        let stage = format!("reading {}", file_name(&label));
        let mut raw = Metered { source, meter: Rc::clone(&meter), stage, total, run };
        let mut input = Input {
            label,
            compression: None,
            encoding: encoding.unwrap_or(Encoding::UTF_8),
            note: None,
            opening: String::new(),
            reader: Box::new(io::empty()),
            meter,
            lines: 0,
        };

        let head = input.head(&mut raw, 4)?;
        input.compression = Compression::of_name(path).or_else(|| Compression::of_bytes(&head));
        let compressed = Cursor::new(head).chain(raw);
        let mut plain: Box<dyn Read + 'r> = match input.compression {
            None => Box::new(compressed),
            Some(Compression::Gzip) => Box::new(MultiGzDecoder::new(compressed)),
            Some(Compression::Zstandard) => {
                let decoder = zstd::Decoder::new(compressed).map_err(|e| input.failure(e))?;
                Box::new(decoder)
            }
        };
        let mut head = input.head(&mut plain, HEAD)?;
        if let Some((marked, length)) = Encoding::of_mark(&head) {
            head.drain(..length);
            input.note = encoding.filter(|&said| said != marked).map(|said| {
                format!("read as {marked}, not as {said}: its byte-order mark says so")
            });
            input.encoding = marked;
        } else if let Some(found) = encoding.map_or_else(|| Encoding::detect(&head), |_| None) {
            let doubt = found.doubt(&head).map_or_else(String::new, |doubt| format!("; {doubt}"));
            input.note = Some(format!(
                "read as {found} (detected; set `encoding = NAME` to be sure){doubt}"
            ));
            input.encoding = found;
        }
        let opening = &head[..head.len().min(OPENING)];
        input.reader = if input.encoding == Encoding::UTF_8 {
            input.opening = String::from_utf8_lossy(opening).into_owned();
            Box::new(Cursor::new(head).chain(plain))
        } else {
            let mut text = Vec::new();
            let decoded = input.encoding.transcode(opening).read_to_end(&mut text);
            decoded.map_err(|e| input.failure(e))?;
            input.opening = String::from_utf8_lossy(&text).into_owned();
            Box::new(input.encoding.transcode(Cursor::new(head).chain(plain)))
        };
        Ok(input)
    }

    fn head(&mut self, source: &mut impl Read, bytes: u64) -> Result<Vec<u8>> {
        let mut head = Vec::new();
        let read = source.take(bytes).read_to_end(&mut head);
        read.map_err(|error| {
            self.lines = line_ends(&head);
            self.failure(error)
        })?;
        Ok(head)
    }

    /// The name of the file in messages.
    pub(super) fn label(&self) -> &Path {
        &self.label
    }

    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// How the encoding was found, where that is worth a note.
    pub(super) fn note(&self) -> Option<&str> {
        self.note.as_deref()
    }

    /// The beginning of the text; the last character may be incomplete.
    pub(super) fn opening(&self) -> &str {
        &self.opening
    }

    /// Bytes read so far, before decompression, and their SHA-256.
    pub(super) fn checksum(&self) -> (u64, String) {
        let meter = self.meter.borrow();
        let digest = meter.hash.clone().unwrap_or_default().finalize();
        (meter.bytes, digest.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// The error of a failed read.
    pub(super) fn failure(&self, error: io::Error) -> Error {
        if error.get_ref().is_some_and(|inner| inner.is::<Stopped>()) {
            return Error::Cancelled;
        }
        let path = self.label.clone();
        let Some(compression) = self.compression else {
            return Error::Io { path, doing: "read", source: error };
        };
        match error.kind() {
            io::ErrorKind::UnexpectedEof => Error::Unusable {
                path,
                problem: format!(
                    "truncated: the {} data ends too early{}",
                    compression.name(),
                    match self.lines {
                        0 => String::new(),
                        lines => format!(", after line {lines}"),
                    }
                ),
                advice: "copy or download the file again; nothing was written".into(),
            },
            io::ErrorKind::InvalidInput
            | io::ErrorKind::InvalidData
            | io::ErrorKind::Other => Error::Unusable {
                path,
                problem: format!("not valid {} data: {error}", compression.name()),
                advice: "copy or download the file again; if it is not compressed, remove the extension of its name".into(),
            },
            _ => Error::Io { path, doing: "read", source: error },
        }
    }
}

impl Read for Input<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.reader.read(buffer)?;
        if self.compression.is_some() {
            self.lines += line_ends(&buffer[..n]);
        }
        Ok(n)
    }
}

pub(super) fn line_ends(bytes: &[u8]) -> u64 {
    bytes.iter().filter(|&&byte| byte == b'\n').count() as u64
}

/// The last component of a path.
pub(crate) fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// Counts and hashes bytes, reports progress, and stops when asked to.
struct Metered<'r> {
    source: Box<dyn Read + 'r>,
    meter: Rc<RefCell<Meter>>,
    stage: String,
    total: Option<u64>,
    run: Run<'r>,
}

impl Read for Metered<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let n = self.source.read(buffer)?;
        let mut meter = self.meter.borrow_mut();
        if let Some(hash) = &mut meter.hash {
            hash.update(&buffer[..n]);
        }
        meter.bytes += n as u64;
        self.run
            .step(&self.stage, meter.bytes, self.total)
            .map_err(|_| io::Error::other(Stopped))?;
        Ok(n)
    }
}

/// A request to stop, wrapped in an `io::Error`.
#[derive(Debug)]
struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stopped")
    }
}

impl std::error::Error for Stopped {}

/// A source that another thread reads.
struct BackgroundReader<'r> {
    chunks: Receiver<io::Result<Vec<u8>>>,
    chunk: Cursor<Vec<u8>>,
    run: Run<'r>,
}

impl<'r> BackgroundReader<'r> {
    fn start(mut source: impl Read + Send + 'static, run: Run<'r>) -> Self {
        let (send, chunks) = sync_channel(8);
        // The thread ends with its source, or when the receiver is dropped; blocked in a read, it
        // ends with the program.
        thread::spawn(move || {
            let mut buffer = vec![0; 1 << 17];
            loop {
                let chunk = match source.read(&mut buffer) {
                    Ok(n) => Ok(buffer[..n].to_vec()),
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                    Err(error) => Err(error),
                };
                let last = chunk.as_ref().map_or(true, Vec::is_empty);
                if send.send(chunk).is_err() || last {
                    return;
                }
            }
        });
        BackgroundReader { chunks, chunk: Cursor::new(Vec::new()), run }
    }
}

impl Read for BackgroundReader<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        loop {
            let n = self.chunk.read(buffer)?;
            if n > 0 {
                return Ok(n);
            }
            match self.chunks.recv_timeout(Duration::from_millis(50)) {
                Ok(chunk) => {
                    self.chunk = Cursor::new(chunk?);
                    if self.chunk.get_ref().is_empty() {
                        return Ok(0);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.run.check().map_err(|_| io::Error::other(Stopped))?;
                }
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn read(path: &Path) -> Result<String> {
        let mut input = Input::open(path, None, Run::silent())?;
        let mut text = String::new();
        let read = input.read_to_string(&mut text);
        read.map_err(|error| input.failure(error))?;
        assert_eq!(input.checksum().1, crate::file::checksum(path)?);
        Ok(text)
    }

    fn write(path: &Path, bytes: &[u8]) {
        File::create(path).unwrap().write_all(bytes).unwrap();
    }

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn packed_and_plain_files_read_alike() {
        let dir = tempfile::tempdir().unwrap();
        let text = "\u{feff}eins\nzwei\n".repeat(3);
        let plain = dir.path().join("a.tsv");
        write(&plain, text.as_bytes());
        assert_eq!(read(&plain).unwrap(), text[3..]);
        let zipped = dir.path().join("a.tsv.gz");
        write(&zipped, &[gzip(text.as_bytes()), gzip(b"drei\n")].concat());
        assert_eq!(read(&zipped).unwrap(), format!("{}drei\n", &text[3..]));
        let unnamed = dir.path().join("b.tsv");
        write(&unnamed, &gzip(b"x"));
        assert_eq!(read(&unnamed).unwrap(), "x");
        let zst = dir.path().join("a.tsv.zst");
        write(&zst, &zstd::encode_all(text.as_bytes(), 1).unwrap());
        assert_eq!(read(&zst).unwrap(), text[3..]);
        let empty = dir.path().join("empty.tsv");
        write(&empty, b"");
        assert_eq!(read(&empty).unwrap(), "");
    }

    #[test]
    fn truncated_and_foreign_data_are_told_apart() {
        let dir = tempfile::tempdir().unwrap();
        let text: String = (0..5000).map(|i| format!("{}\n", i * i)).collect();
        let (gz, zst) = (dir.path().join("a.gz"), dir.path().join("a.zst"));
        let zipped = gzip(text.as_bytes());
        write(&gz, &zipped[..zipped.len() / 2]);
        let message = read(&gz).unwrap_err().to_string();
        assert!(
            message.contains("truncated: the gzip data ends too early, after line "),
            "{message}"
        );
        let long = gzip("0123456789abcde\n".repeat(1 << 18).as_bytes());
        write(&gz, &long[..long.len() - 100]);
        let message = read(&gz).unwrap_err().to_string();
        let line = message.split("after line ").nth(1).and_then(|rest| rest.split('\n').next());
        assert!(line.unwrap().parse::<u64>().unwrap() > 200_000, "{message}");
        write(&gz, b"plain text");
        assert!(read(&gz).unwrap_err().to_string().contains("not valid gzip data"));
        let packed = zstd::encode_all(text.as_bytes(), 1).unwrap();
        write(&zst, &packed[..packed.len() / 2]);
        assert!(read(&zst).unwrap_err().to_string().contains("truncated: the zstd data"));
    }

    #[test]
    fn a_cancelled_run_stops_the_reading() {
        let dir = tempfile::tempdir().unwrap();
        let path = dir.path().join("a.tsv");
        write(&path, b"text");
        let run = Run::new(&|_| {}, &|| true);
        assert!(matches!(Input::open(&path, None, run), Err(Error::Cancelled)));
    }
}
