//! The machine's rates, measured with the code that training uses.

use std::collections::HashMap;
use std::hint::black_box;
use std::io::Write;
use std::path::Path;
use std::time::Instant;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::linalg::{Buffer, Dense, PANEL, orthonormalise};
use crate::sparse::{Csr, TaskedCsr, times_panel};
use crate::text::{Analyzer, AnalyzerParams};
use crate::{Error, Result, Run};

/// The sizes of two sources of gathered rows: one in the cache, one far larger.
const NEAR: u64 = 256 << 10;
const FAR: u64 = 192 << 20;

/// The speeds of the basic operations of training.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rates {
    /// Bytes per second that the sparse product gathers from a source in the cache.
    pub gather_near: f64,
    /// The same from a source far larger than the cache.
    pub gather_far: f64,
    /// Bytes per second written and read in order.
    pub stream: f64,
    /// 10⁹ multiplications and additions per second of products of tall blocks, in f64.
    pub gemm: f64,
    /// The same with one thread.
    pub gemm_one: f64,
    /// Bytes per second written to disk with a checksum.
    pub disk: f64,
    /// Terms per second of the analysis of text.
    pub terms: f64,
}

/// A machine with its rates.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Machine {
    /// The processor.
    pub processor: String,
    /// Threads in use.
    pub threads: usize,
    /// The rates of all threads together.
    pub rates: Rates,
    /// The rates of one thread.
    pub one_thread: Rates,
}

impl Rates {
    /// Bytes per second gathered from a source of `bytes`, interpolated by the logarithm of the size.
    pub(crate) fn gather(&self, bytes: u64) -> f64 {
        let size = (bytes.clamp(NEAR, FAR) as f64 / NEAR as f64).ln();
        let share = size / (FAR as f64 / NEAR as f64).ln();
        (self.gather_near.ln() * (1.0 - share) + self.gather_far.ln() * share).exp()
    }

    /// The better one of each rate.
    fn or_better(&self, other: &Rates) -> Rates {
        Rates {
            gather_near: self.gather_near.max(other.gather_near),
            gather_far: self.gather_far.max(other.gather_far),
            stream: self.stream.max(other.stream),
            gemm: self.gemm.max(other.gemm),
            gemm_one: self.gemm_one.max(other.gemm_one),
            disk: self.disk.max(other.disk),
            terms: self.terms.max(other.terms),
        }
    }

    /// Measures the threads of the current pool for about `seconds`, with scratch files in `folder`.
    pub fn measure(seconds: f64, folder: &Path, run: &Run<'_>) -> Result<Rates> {
        let share = seconds / 7.0;
        let step = |at: u64| run.step("measuring this machine", at, Some(7));
        step(0)?;
        let gather_near = gather(NEAR, share);
        step(1)?;
        let gather_far = gather(FAR, share);
        step(2)?;
        let stream = stream(share);
        step(3)?;
        let gemm = gemm(share);
        step(4)?;
        let one = one_thread()?;
        let gemm_one = one.install(|| self::gemm(share));
        step(5)?;
        let disk = disk(share, folder)?;
        step(6)?;
        let terms = terms(share)?;
        Ok(Rates { gather_near, gather_far, stream, gemm, gemm_one, disk, terms })
    }
}

impl Machine {
    /// Measures this machine, with the threads in use and with one.
    pub fn measure(seconds: f64, folder: &Path, run: &Run<'_>) -> Result<Machine> {
        let rates = Rates::measure(seconds / 2.0, folder, run)?;
        let one = one_thread()?;
        let one_thread = one.install(|| Rates::measure(seconds / 2.0, folder, run))?;
        let threads = rayon::current_num_threads();
        // More threads are not slower; if they seem to be, other programs were running.
        let rates = rates.or_better(&one_thread);
        Ok(Machine { processor: processor(), threads, rates, one_thread })
    }

    /// Whether this is the current machine, with the same number of threads.
    pub fn is_this(&self) -> bool {
        self.processor == processor() && self.threads == rayon::current_num_threads()
    }
}

fn one_thread() -> Result<rayon::ThreadPool> {
    rayon::ThreadPoolBuilder::new().num_threads(1).build().map_err(|error| Error::Memory {
        what: format!("no thread can be started: {error}"),
        advice: "end other programs and try again".into(),
    })
}

/// The name of the processor.
pub(crate) fn processor() -> String {
    let named = std::fs::read_to_string("/proc/cpuinfo").ok().and_then(|text| {
        let line = text.lines().find(|line| line.starts_with("model name"))?;
        Some(line.split_once(':')?.1.trim().to_owned())
    });
    named.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

/// The best rate of at least two runs of `work`, one of which does `amount`.
fn rate(seconds: f64, amount: f64, mut work: impl FnMut()) -> f64 {
    let started = Instant::now();
    let mut best = f64::INFINITY;
    for times in 0.. {
        let before = Instant::now();
        work();
        // The first time also touches fresh memory.
        if times > 0 {
            best = best.min(before.elapsed().as_secs_f64());
        }
        if times > 0 && started.elapsed().as_secs_f64() > seconds {
            break;
        }
    }
    amount / best.max(1e-9)
}

/// A sparse product with four entries per row, spread over a source of `bytes`.
fn gather(bytes: u64, seconds: f64) -> f64 {
    let n_source = (bytes as usize / (4 * PANEL)).max(1);
    // More rows than the cache holds, or the second pass would hit the rows of the first.
    let (n_rows, per_row) = (150_000usize, 4usize);
    let mut indices = Vec::with_capacity(n_rows * per_row);
    let mut state = 1u64;
    for _ in 0..n_rows {
        let mut row: Vec<u32> = Vec::with_capacity(per_row);
        while row.len() < per_row.min(n_source) {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            let at = ((state >> 33) % n_source as u64) as u32;
            if !row.contains(&at) {
                row.push(at);
            }
        }
        row.sort_unstable();
        indices.extend(row);
    }
    let per_row = per_row.min(n_source);
    let starts = (0..=n_rows as u64).map(|i| i * per_row as u64).collect();
    let values = vec![1.0; indices.len()];
    let Ok(matrix) = Csr::new(n_source, starts, indices, values) else { return 1e9 };
    let matrix = TaskedCsr::new(matrix);
    let (Ok(mut source), Ok(mut out)) =
        (Buffer::zeros(n_source * PANEL), Buffer::zeros(n_rows * PANEL))
    else {
        return 1e9;
    };
    source.fill(1.0);
    rate(seconds, (n_rows * per_row * PANEL * 4) as f64, || {
        times_panel(&matrix, matrix.matrix().values(), &source, &mut out);
        black_box(&out);
    })
}

/// Reads and writes every number of a large block.
fn stream(seconds: f64) -> f64 {
    let mut block = vec![1.0f32; 12 << 20];
    rate(seconds, (block.len() * 4) as f64, || {
        block
            .par_chunks_mut(1 << 16)
            .for_each(|part| part.iter_mut().for_each(|x| *x *= 1.000_001));
        black_box(&block);
    })
}

/// CholeskyQR2 of a tall block: two symmetric Gram matrices and two products with a triangular
/// matrix, n·k² each.
fn gemm(seconds: f64) -> f64 {
    let (n, k) = (4_000, 128);
    let start = Dense::gaussian(n, k, 1);
    let mut block = start.clone();
    let amount = 4.0 * (n * k * k) as f64 / 1e9;
    rate(seconds, amount, || {
        block.values_mut().copy_from_slice(start.values());
        orthonormalise(&mut block);
        black_box(&block);
    })
}

/// Writes, synchronises and hashes a file.
fn disk(seconds: f64, folder: &Path) -> Result<f64> {
    let bytes = vec![7u8; 24 << 20];
    let path = folder.join(format!(".liken-disk-{}", std::process::id()));
    let mut failed = None;
    let found = rate(seconds, bytes.len() as f64, || {
        let written = std::fs::File::create(&path)
            .and_then(|mut file| file.write_all(&bytes).and_then(|()| file.sync_all()));
        if let Err(error) = written {
            failed = Some(error);
        }
        black_box(Sha256::digest(&bytes));
    });
    let _ = std::fs::remove_file(&path);
    match failed {
        Some(error) => Err(Error::io("write", &path)(error)),
        None => Ok(found),
    }
}

/// Parses short documents as lines of JSON, analyses them with the defaults and counts terms.
fn terms(seconds: f64) -> Result<f64> {
    let analyzer = Analyzer::new(&AnalyzerParams::default())?;
    let line = r#"{"id": "d1", "title": "learning to match queries and documents from clicks"}"#;
    let count = |counts: &mut HashMap<String, f32>| {
        let Ok(document) = serde_json::from_str::<Value>(line) else { return };
        let title = document["title"].as_str().unwrap_or_default();
        analyzer.text(title, &mut |term| *counts.entry(term.to_owned()).or_default() += 1.0);
    };
    let mut counts = HashMap::new();
    count(&mut counts);
    let texts = 4096;
    let found = rate(seconds, (texts * counts.len()) as f64, || {
        let n: usize = (0..texts)
            .into_par_iter()
            .map(|_| {
                let mut counts = HashMap::new();
                count(&mut counts);
                counts.len()
            })
            .sum();
        black_box(n);
    });
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rate_is_measured_and_nothing_stays_behind() {
        let dir = tempfile::tempdir().unwrap();
        let machine = Machine::measure(0.01, dir.path(), &Run::silent()).unwrap();
        for rates in [&machine.rates, &machine.one_thread] {
            let all = [
                rates.gather_near,
                rates.gather_far,
                rates.stream,
                rates.gemm,
                rates.gemm_one,
                rates.disk,
                rates.terms,
            ];
            assert!(all.iter().all(|rate| rate.is_finite() && *rate > 0.0), "{rates:?}");
        }
        assert!(machine.is_this());
        assert!(!Machine { threads: 999, ..machine.clone() }.is_this());
        assert_eq!(std::fs::read_dir(dir.path()).unwrap().count(), 0);
        let json = serde_json::to_string(&machine).unwrap();
        let read: Machine = serde_json::from_str(&json).unwrap();
        assert!((read.rates.gemm / machine.rates.gemm - 1.0).abs() < 1e-9 && read.is_this());
        let missing = Machine::measure(0.01, &dir.path().join("none"), &Run::silent());
        assert!(missing.is_err());
    }

    #[test]
    fn between_near_and_far_the_rate_falls_smoothly() {
        let rates = Rates {
            gather_near: 32e9,
            gather_far: 8e9,
            stream: 1.0,
            gemm: 1.0,
            gemm_one: 1.0,
            disk: 1.0,
            terms: 1.0,
        };
        assert!((rates.gather(1) - 32e9).abs() < 1.0 && (rates.gather(1 << 40) - 8e9).abs() < 1.0);
        let middle = ((NEAR as f64) * (FAR as f64)).sqrt() as u64;
        assert!((rates.gather(middle) / 16e9 - 1.0).abs() < 1e-3);
    }
}
