//! Times liken's kernels for `bench/kernels.py`, which runs other libraries beside them.
//!
//! ```text
//! bench one-week OUTPUT [SCALE WORDS]       writes X, R and Y of the synthetic one-week log
//! bench KERNEL INPUT OUTPUT THREADS         runs a kernel once for every line on stdin
//! ```
//! Input and output are safetensors files. Each pass prints its seconds, so that passes of
//! several programs can take turns on a noisy machine; when stdin ends, the result of the last
//! pass is written for comparison.

// The seconds are this program's result.
#![allow(clippy::print_stdout)]

use std::hint::black_box;
use std::path::Path;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use liken::data::{
    Dataset, DatasetAbout, DatasetWriter, Document, RelevanceSource, SplitAbout, SplitBy,
};
use liken::eval::{Measure, Variant};
use liken::features::{Counts, Features, Featurizer, Preparation, Response, Weighted, Weighting};
use liken::file::{Tensors, TensorsWriter};
use liken::linalg::{Centring, Dense, Operator, SvdParams, randomised_svd};
use liken::matchers::{Bm25, Matcher, Penalty, Rmls, Start};
use liken::ranking::top_k;
use liken::sparse::{Csr, csr_times_dense};
use liken::synth::weblog::Weblog;
use liken::text::{AnalyzerParams, Language};
use liken::{Error, Progress, Result, Run};
use rayon::prelude::*;

const USAGE: &str = "usage: bench one-week OUTPUT [SCALE WORDS]
       bench copy|triad|product|into|transpose|operator|svd|sweeps|measures|bm25 INPUT OUTPUT THREADS";

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let args: Vec<&str> = args.iter().map(String::as_str).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[&str]) -> std::result::Result<(), Box<dyn std::error::Error>> {
    match *args {
        ["one-week", output] => Ok(one_week(output.as_ref(), 1.0, 1.0)?),
        ["one-week", output, scale, words] => {
            Ok(one_week(output.as_ref(), scale.parse()?, words.parse()?)?)
        }
        [kernel, input, output, threads] => {
            let kernel = match kernel {
                "copy" => copy,
                "triad" => triad,
                "product" => product,
                "into" => product_into,
                "transpose" => transpose,
                "operator" => operator,
                "svd" => svd,
                "sweeps" => sweeps,
                "measures" => measures,
                "bm25" => bm25,
                _ => return Err(USAGE.into()),
            };
            let input = Tensors::open(input.as_ref())?;
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build()?;
            Ok(pool.install(|| kernel(&input, output.as_ref()))?)
        }
        _ => Err(USAGE.into()),
    }
}

/// Runs `pass` for every line on stdin and prints its seconds; returns the last result. Results
/// are dropped outside the clock.
fn passes<T>(mut pass: impl FnMut() -> T) -> T {
    let mut last = None;
    for _ in std::io::stdin().lines() {
        drop(last.take());
        let start = Instant::now();
        last = Some(black_box(pass()));
        println!("{}", start.elapsed().as_secs_f64());
    }
    last.unwrap_or_else(pass)
}

fn dense(input: &Tensors, name: &str) -> Result<Dense> {
    let (shape, values) = input.array(name)?;
    match shape[..] {
        [n_rows, n_cols] => Ok(Dense::from_values(n_rows, n_cols, values)),
        _ => Err(Error::Structure { problem: format!("{name} is not a matrix") }),
    }
}

fn write_dense(output: &Path, result: &Dense) -> Result<()> {
    let shape = [result.n_rows(), result.n_cols()];
    TensorsWriter::new().array("out", &shape, result.values()).write(output)
}

/// The yardstick: what memory gives when nothing is computed.
fn copy(input: &Tensors, output: &Path) -> Result<()> {
    let (shape, from) = input.array::<f32>("v")?;
    let mut to = vec![0.0f32; from.len()];
    passes(|| in_pieces(&mut to, &from).for_each(|(to, from)| to.copy_from_slice(from)));
    TensorsWriter::new().array("out", &shape, &to).write(output)
}

/// a = b + 3·c, STREAM's triad.
fn triad(input: &Tensors, output: &Path) -> Result<()> {
    let (shape, b) = input.array::<f32>("v")?;
    let c = b.clone();
    let mut a = vec![0.0f32; b.len()];
    passes(|| {
        in_pieces(&mut a, &b).zip(c.par_chunks(PIECE)).for_each(|((a, b), c)| {
            for ((a, b), c) in a.iter_mut().zip(b).zip(c) {
                *a = b + 3.0 * c;
            }
        });
    });
    TensorsWriter::new().array("out", &shape, &a).write(output)
}

const PIECE: usize = 1 << 16;

fn in_pieces<'a>(
    to: &'a mut [f32],
    from: &'a [f32],
) -> impl IndexedParallelIterator<Item = (&'a mut [f32], &'a [f32])> {
    to.par_chunks_mut(PIECE).zip(from.par_chunks(PIECE))
}

/// A·B into a new block.
fn product(input: &Tensors, output: &Path) -> Result<()> {
    let (a, b) = (input.csr("a")?, dense(input, "b")?);
    let columns = 0..b.n_cols();
    let result = passes(|| {
        let mut out = Dense::zeros(a.n_rows(), b.n_cols());
        csr_times_dense(&a, b.block(columns.clone()), out.block_mut(columns.clone()));
        out
    });
    write_dense(output, &result)
}

/// A·B into the same block again and again, as a trainer does.
fn product_into(input: &Tensors, output: &Path) -> Result<()> {
    let (a, b) = (input.csr("a")?, dense(input, "b")?);
    let columns = 0..b.n_cols();
    let mut out = Dense::zeros(a.n_rows(), b.n_cols());
    passes(|| csr_times_dense(&a, b.block(columns.clone()), out.block_mut(columns.clone())));
    write_dense(output, &out)
}

/// Aᵀ.
fn transpose(input: &Tensors, output: &Path) -> Result<()> {
    let a = input.csr("a")?;
    let result = passes(|| a.transpose());
    TensorsWriter::new().csr("out", &result).write(output)
}

/// C·B through the three factors of C = XᵀRY.
fn operator(input: &Tensors, output: &Path) -> Result<()> {
    let (c, b) = (read_operator(input)?, dense(input, "b")?);
    let result = passes(|| {
        let mut out = Dense::zeros(c.d_x(), b.n_cols());
        c.apply(&b, &mut out);
        out
    });
    write_dense(output, &result)
}

/// The leading singular triplets of C.
fn svd(input: &Tensors, output: &Path) -> Result<()> {
    let c = read_operator(input)?;
    let (_, dim) = input.array::<u64>("dim")?;
    let (_, tolerance) = input.array::<f64>("tolerance")?;
    let params = SvdParams { tolerance: tolerance[0], ..SvdParams::of(dim[0] as usize) };
    let svd = passes(|| randomised_svd(&c, &params, &Run::silent()))?;
    let side = |side: &Dense| [side.n_rows(), side.n_cols()];
    TensorsWriter::new()
        .array("u", &side(&svd.u), svd.u.values())
        .array("sigma", &[svd.sigma.len()], &svd.sigma)
        .array("v", &side(&svd.v), svd.v.values())
        .array("iterations", &[1], &[svd.iterations as u64])
        .write(output)
}

/// Three sweeps of RMLS from the random start; a pass prints the seconds of the fastest. Maps of
/// few dimensions are written, too, to be checked.
fn sweeps(input: &Tensors, output: &Path) -> Result<()> {
    let (_, dim) = input.array::<u64>("dim")?;
    let (_, share) = input.array::<f64>("share")?;
    let mut rmls =
        Rmls { dim: dim[0] as usize, start: Start::Random, sweeps: Some(3), ..Rmls::default() };
    if share[0] > 0.0 {
        rmls = Rmls { penalty: Penalty::Relative, rho_x: share[0], rho_y: share[0], ..rmls };
    }
    let mut last = None;
    for _ in std::io::stdin().lines() {
        let data = Weighted { x: input.csr("x")?, r: input.csr("r")?, y: input.csr("y")? };
        let times = Mutex::new(Vec::new());
        let note = || times.lock().expect("no thread panics here").push(Instant::now());
        let at_sweeps = |progress: Progress<'_>| {
            if progress.stage.starts_with("sweep") && progress.done.is_multiple_of(2) {
                note();
            }
        };
        let (maps, report) = rmls.fit(data, &Run::new(&at_sweeps, &|| false), None)?;
        let times = times.into_inner().expect("no thread panics here");
        let seconds = times.windows(2).map(|pair| (pair[1] - pair[0]).as_secs_f64());
        println!("{}", seconds.fold(f64::INFINITY, f64::min));
        last = Some((maps, report));
    }
    let Some((maps, report)) = last else { return Ok(()) };
    let objectives: Vec<f64> = report.steps.iter().map(|step| step.objective).collect();
    let mut tensors = TensorsWriter::new();
    tensors.array("out", &[objectives.len()], &objectives);
    if rmls.dim <= 200 {
        maps.l_x.save_state("l_x", &mut tensors);
        maps.l_y.save_state("l_y", &mut tensors);
    }
    tensors.write(output)
}

fn read_operator(input: &Tensors) -> Result<Operator> {
    Operator::new(input.csr("x")?, input.csr("r")?, input.csr("y")?, Centring::None)
}

/// nDCG@10 and AP of one ranking of all documents per query.
fn measures(input: &Tensors, output: &Path) -> Result<()> {
    let (scores, judged) = (dense(input, "scores")?, input.csr("judged")?);
    let tie_rank: Vec<u32> = (0..scores.n_cols() as u32).collect();
    let (ndcg, ap) = (Measure::Ndcg { k: Some(10) }, Measure::Ap { k: None });
    let variant = Variant::default();
    let values: Vec<[f64; 2]> = passes(|| {
        let of_query = |i| {
            let hits = top_k(scores.row(i), usize::MAX, &tie_rank, &[]);
            [ndcg, ap].map(|measure| measure.of(&hits, judged.row(i), &variant).unwrap_or(0.0))
        };
        (0..scores.n_rows()).into_par_iter().map(of_query).collect()
    });
    TensorsWriter::new().array("out", &[values.len(), 2], values.as_flattened()).write(output)
}

/// BM25 scores of all documents for every query.
fn bm25(input: &Tensors, output: &Path) -> Result<()> {
    let counts = read_corpus(&input.csr("docs")?, output)?;
    let bm25 = Bm25::default().fit(&counts)?;
    let queries: Vec<_> = input
        .csr("queries")?
        .rows()
        .map(|row| row.indices.iter().map(|&term| word(term)).collect::<Vec<_>>().join(" "))
        .map(|text| counts.read_query(&text))
        .collect();
    let for_each_query = |look: &(dyn Fn(&[f32]) -> [f64; 2] + Sync)| -> Vec<[f64; 2]> {
        queries
            .par_iter()
            .map_init(
                || vec![0.0; counts.n_docs()],
                |scores, query| {
                    bm25.score_all(&counts, query, scores);
                    look(black_box(scores))
                },
            )
            .collect()
    };
    passes(|| for_each_query(&|_| [0.0; 2]));
    let checks = for_each_query(&|scores| {
        let sum = scores.iter().map(|&score| f64::from(score)).sum();
        [sum, scores.iter().copied().fold(0.0, f32::max).into()]
    });
    TensorsWriter::new().array("out", &[checks.len(), 2], checks.as_flattened()).write(output)
}

/// Documents given as counts become a dataset, as an import would write it, and are read back
/// by the analyser.
fn read_corpus(docs: &Csr, near: &Path) -> Result<Counts> {
    let folder = near.with_extension("dataset");
    let mut writer = DatasetWriter::create(&folder, true)?;
    for (j, row) in docs.rows().enumerate() {
        let bag = row.iter().map(|(term, count)| (word(term), count.into())).collect();
        let fields = [("body".to_owned(), serde_json::Value::Object(bag))];
        writer.document(&Document { id: j.to_string(), fields: fields.into_iter().collect() })?;
    }
    let none = Csr::empty(0, docs.n_rows());
    let about = DatasetAbout {
        counts: liken::data::DatasetSize::default(),
        sources: Vec::new(),
        split: SplitAbout { by: SplitBy::Given, seed: 0, shares: (0.0, 0.0) },
        min_clicks: None,
        evidence: RelevanceSource::Judgments,
        events: None,
        task: None,
        report: Vec::new(),
    };
    writer.finish(&none, &none, &none, &[], about)?;
    let analyzer = AnalyzerParams { language: Language::None, ..AnalyzerParams::default() };
    let preparation =
        Preparation { analyzer, fields: vec!["body".to_owned()], ..Preparation::default() };
    Counts::of(&Dataset::open(&folder)?, &preparation, &Run::silent())
}

fn word(term: u32) -> String {
    format!("w{term}")
}

/// The matrices that PLS and RMLS would see of the papers' one week, `scale` times as large and
/// with `words` times as many words in queries and documents.
fn one_week(output: &Path, scale: f64, words: f64) -> Result<()> {
    let folder = output.with_extension("dataset");
    let mut log = Weblog::one_week();
    log.scale = scale;
    log.words_per_query *= words;
    log.words_per_document *= words;
    log.write(&folder, true, &Run::silent())?;
    let counts = Counts::of(&Dataset::open(&folder)?, &Preparation::default(), &Run::silent())?;
    // The papers' features: words and clicks on both sides.
    let features = Features { query_clicks: 1.0, doc_clicks: 1.0, ..Features::default() };
    let featurizer = Featurizer::new(&counts, &features)?;
    let data = Weighted::of(&counts, &featurizer, Weighting::default(), Response::default())?;
    TensorsWriter::new().csr("x", &data.x).csr("r", &data.r).csr("y", &data.y).write(output)
}
