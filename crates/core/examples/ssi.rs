//! Times an epoch of supervised semantic indexing against a plain loop over the same vectors:
//! one triple after the other, one number after the other, on one thread.
//!
//! ```text
//! ssi DATASET [DIM] [TRIPLES]
//! ```
//! Both print triplets a second and the share that violated the margin, three times by turns.

// The seconds are this program's result.
#![allow(clippy::print_stdout)]
// The plain loop is written the plain way.
#![allow(clippy::needless_range_loop)]

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
    let (dim, triples) = (number(1, 100)?, number(2, 20_000)?);
    let dataset = Dataset::open(Path::new(path))?;
    let counts = Counts::of(&dataset, &Preparation::default(), &Run::silent())?;
    let features = Features { query_clicks: 0.0, doc_clicks: 0.0, ..Features::default() };
    let featurizer = Featurizer::new(&counts, &features)?;
    let (x, y) = (featurizer.queries(&counts)?, featurizer.docs(&counts)?);
    println!("{} words, {dim} dimensions, {triples} triples", counts.n_terms());
    for _ in 0..3 {
        let params = Ssi { dim, epochs: 1, steps: triples, ..Ssi::default() };
        let run = Run::silent();
        let fitting = Fitting { counts: &counts, init: None, judge: None, run: &run };
        if let (_, FitReport::Steps(report)) = params.fit_to(fitting)? {
            println!("liken: {}, {:.1} % violating", report.times[0], report.steps[0][0]);
        }
        let (seconds, violating) = plain(&counts, &x, &y, &params, triples)?;
        println!(
            "plain: {:.0} triplets a second, {:.1} % violating",
            triples as f64 / seconds,
            100.0 * violating as f64 / triples as f64
        );
    }
    Ok(())
}

/// UᵀV + I, one triple at a time; seconds and violating triples.
fn plain(counts: &Counts, x: &Csr, y: &Csr, params: &Ssi, triples: usize) -> Result<(f64, usize)> {
    let (n, dim) = (counts.n_terms(), params.dim);
    let mut random = Random::new(params.seed, 0);
    let scale = params.init_scale / (dim as f64).sqrt();
    let mut map = || -> Vec<Vec<f32>> {
        (0..n).map(|_| (0..dim).map(|_| (random.normal() * scale) as f32).collect()).collect()
    };
    let (mut u, mut v) = (map(), map());
    let pairs: Vec<(usize, usize)> = (0..counts.n_queries())
        .flat_map(|q| counts.clicks.row(q).iter().map(move |(d, _)| (q, d as usize)))
        .collect();
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
        let image = |map: &[Vec<f32>], row: Row<'_>| {
            let mut image = vec![0.0f32; dim];
            for (word, value) in row.iter() {
                for k in 0..dim {
                    image[k] += value * map[word as usize][k];
                }
            }
            image
        };
        let (uq, vg, vb) = (image(&u, q), image(&v, good), image(&v, bad));
        let score = |vd: &[f32], d: Row<'_>| {
            let mut score = 0.0f32;
            for k in 0..dim {
                score += uq[k] * vd[k];
            }
            q.iter().fold(score, |score, (word, value)| score + value * d.get(word))
        };
        if 1.0 - score(&vg, good) + score(&vb, bad) > 0.0 {
            violating += 1;
            for (word, value) in q.iter() {
                for k in 0..dim {
                    u[word as usize][k] += rate * value * (vg[k] - vb[k]);
                }
            }
            for (row, sign) in [(good, rate), (bad, -rate)] {
                for (word, value) in row.iter() {
                    for k in 0..dim {
                        v[word as usize][k] += sign * value * uq[k];
                    }
                }
            }
        }
    }
    Ok((start.elapsed().as_secs_f64(), violating))
}
