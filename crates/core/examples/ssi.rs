//! Times an epoch of supervised semantic indexing (UᵀV + I) against two plain loops over the same
//! vectors, on one thread, one triple after the other:
//!
//! * scalar: one number after the other, as a C loop of the paper's day on its single CPU. Every
//!   number of a map is read by a volatile read, which costs what a read costs and keeps the
//!   compiler from taking several at once.
//! * compiled: the same loop as the compiler likes it, which takes four numbers at once.
//!
//! ```text
//! ssi DATASET [DIM] [TRIPLES]
//! ```
//! All print triples per second, three times by turns, and how many times the plain ones liken is in
//! the same turn.

// The seconds are this program's result.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use liken::data::Dataset;
use liken::features::{Counts, Features, Featurizer, Preparation};
use liken::matchers::{FitReport, Fitting, Method, Ssi};
use liken::random::Random;
use liken::sparse::{Csr, Row};
use liken::{Result, Run};

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            println!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: &[String]) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let Some(path) = args.first() else { return Err("usage: ssi DATASET [DIM] [TRIPLES]".into()) };
    let number = |at: usize, default: usize| args.get(at).map_or(Ok(default), |n| n.parse());
    let (dim, triples) = (number(1, 100)?, number(2, 50_000)?);
    let dataset = Dataset::open(Path::new(path))?;
    let counts = Counts::of(&dataset, &Preparation::default(), &Run::silent())?;
    let featurizer = Featurizer::new(&counts, &Features::words())?;
    let (x, y) = (featurizer.queries(&counts)?, featurizer.docs(&counts)?);
    let params = Ssi { dim, epochs: 1, steps: triples, ..Ssi::default() };
    let plain = Plain { counts: &counts, x: &x, y: &y, params: &params };
    println!("{} words, {dim} dimensions, {triples} triples", counts.n_terms());
    for _ in 0..3 {
        let run = Run::silent();
        let fitting = Fitting { counts: &counts, init: None, scorer: None, run: &run };
        let (_, FitReport::Steps(report)) = params.fit_to(fitting)? else { continue };
        let liken = &report.times[0];
        let moved = report.steps[0][2] * 1e9 / triples as f64;
        println!(
            "liken: {liken}, {:.1} % violating, {moved:.0} bytes of W per triple",
            report.steps[0][0]
        );
        let fast: Option<f64> = liken.split_whitespace().next().and_then(|word| word.parse().ok());
        for (name, result) in
            [("scalar", plain.run(add_scalar)?), ("compiled", plain.run(add_compiled)?)]
        {
            let (seconds, violating) = result;
            let rate = triples as f64 / seconds;
            println!(
                "{name}: {rate:.0} triples per second, {:.1} % violating; liken is {:.2} times that",
                100.0 * violating as f64 / triples as f64,
                fast.unwrap_or(f64::NAN) / rate
            );
        }
    }
    Ok(())
}

/// sums += factor·row, one number after the other.
#[inline(always)]
fn add_scalar(sums: &mut [f32], factor: f32, row: &[f32]) {
    for (sum, entry) in sums.iter_mut().zip(row) {
        // SAFETY: a reference may be read.
        *sum += factor * unsafe { std::ptr::from_ref(entry).read_volatile() };
    }
}

/// sums += factor·row, as the compiler likes it.
#[inline(always)]
fn add_compiled(sums: &mut [f32], factor: f32, row: &[f32]) {
    sums.iter_mut().zip(row).for_each(|(sum, entry)| *sum += factor * entry);
}

/// What the plain loops are about.
struct Plain<'a> {
    counts: &'a Counts,
    x: &'a Csr,
    y: &'a Csr,
    params: &'a Ssi,
}

impl Plain<'_> {
    /// UᵀV + I, one triple at a time; seconds and violating triples.
    fn run(&self, add: impl Fn(&mut [f32], f32, &[f32])) -> Result<(f64, usize)> {
        let Plain { counts, x, y, params } = *self;
        let (n, dim, triples) = (counts.n_terms(), params.dim, params.steps);
        let mut random = Random::new(params.seed, 0);
        let scale = params.init_scale / (dim as f64).sqrt();
        let mut map =
            || -> Vec<f32> { (0..n * dim).map(|_| (random.normal() * scale) as f32).collect() };
        let (mut u, mut v) = (map(), map());
        let pairs: Vec<(usize, usize)> = (0..counts.n_queries())
            .flat_map(|q| counts.clicks.row(q).iter().map(move |(d, _)| (q, d as usize)))
            .collect();
        let [mut uq, mut difference] = [vec![0.0f32; dim], vec![0.0f32; dim]];
        let span = |word: u32| word as usize * dim..(word as usize + 1) * dim;
        let start = Instant::now();
        let (mut violating, rate) = (0, params.rate as f32);
        for _ in 0..triples {
            let (query, good) = pairs[random.below(pairs.len() as u64) as usize];
            let bad = loop {
                let bad = random.below(counts.n_docs() as u64) as usize;
                if counts.clicks.row(query).get(bad as u32) == 0.0 {
                    break bad;
                }
            };
            let (q, good, bad) = (x.row(query), y.row(good), y.row(bad));
            uq.fill(0.0);
            difference.fill(0.0);
            let embedding = |embedding: &mut [f32], map: &[f32], row: Row<'_>, sign: f32| {
                row.iter().for_each(|(word, value)| add(embedding, sign * value, &map[span(word)]));
            };
            embedding(&mut uq, &u, q, 1.0);
            embedding(&mut difference, &v, good, 1.0);
            embedding(&mut difference, &v, bad, -1.0);
            let mut score = 0.0f32;
            for (a, b) in uq.iter().zip(&difference) {
                score += a * b;
            }
            for (word, value) in q.iter() {
                score += value * (good.get(word) - bad.get(word));
            }
            if score < 1.0 {
                violating += 1;
                let step = |map: &mut [f32], row: Row<'_>, factor: f32, embedding: &[f32]| {
                    for (word, value) in row.iter() {
                        add(&mut map[span(word)], factor * value, embedding);
                    }
                };
                step(&mut u, q, rate, &difference);
                step(&mut v, good, rate, &uq);
                step(&mut v, bad, -rate, &uq);
            }
        }
        Ok((start.elapsed().as_secs_f64(), violating))
    }
}
