//! Times the evaluation of a run for `bench/eval.py`, which runs pytrec_eval beside it.
//!
//! ```text
//! eval QRELS RUN THREADS MEASURE...
//! ```
//! For every line on stdin one pass: `evaluate` measures what was read before, `read` reads
//! both files and then measures. Each pass prints its seconds. When stdin ends, the values of
//! every query follow, a JSON object by query and measure.

// The seconds are this program's result.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use liken::eval::trec::{Qrels, TrecRun, read_qrels, read_run};
use liken::eval::trec_eval::{EvalParams, columns, evaluate};
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

fn read(qrels: &str, run: &str) -> Result<(Qrels, TrecRun)> {
    let (qrels, _) = read_qrels(Path::new(qrels), false, Run::silent())?;
    let (run, _) = read_run(Path::new(run), false, Run::silent())?;
    Ok((qrels, run))
}

fn run(args: &[String]) -> std::result::Result<(), Box<dyn std::error::Error>> {
    let [qrels, run, threads, measures @ ..] = args else {
        return Err("usage: eval QRELS RUN THREADS MEASURE...".into());
    };
    rayon::ThreadPoolBuilder::new().num_threads(threads.parse()?).build_global()?;
    let wanted = columns(measures)?;
    let params = EvalParams::default();
    let mut files = read(qrels, run)?;
    let mut evaluation = evaluate(&files.0, &files.1, &wanted, &params)?;
    for line in std::io::stdin().lines() {
        let start = Instant::now();
        if line? == "read" {
            files = read(qrels, run)?;
        }
        evaluation = evaluate(&files.0, &files.1, &wanted, &params)?;
        println!("{}", start.elapsed().as_secs_f64());
    }
    let values: serde_json::Map<String, serde_json::Value> = evaluation
        .queries
        .iter()
        .map(|query| {
            let named = wanted.iter().zip(&query.values);
            let named = named.map(|(column, value)| (column.name.clone(), value.number().into()));
            (query.id.clone(), serde_json::Value::Object(named.collect()))
        })
        .collect();
    println!("{}", serde_json::Value::Object(values));
    Ok(())
}
