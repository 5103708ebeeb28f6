//! Fits topic models for `bench/topics.py`, which runs other libraries beside them.
//!
//! ```text
//! topics DATASET
//! ```
//! reads the documents once, words as they are, and then does what every line on stdin says:
//!
//! ```text
//! matrix OUTPUT                        counts (documents × terms), tf-idf and the words
//! fit OUTPUT METHOD [KEY=VALUE …]      fits a method; values are JSON, or else text
//! ```
//! OUTPUT is a safetensors file, or `-` for none. Each line is answered by a line of JSON: the seconds
//! that the fit took, its report, and what took how long. So passes of several programs can take turns
//! on a noisy machine.

// The answers are this program's result.
#![allow(clippy::print_stdout)]

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use liken::Run;
use liken::data::Dataset;
use liken::features::{CLASS_FIELD, Counts, Features, Featurizer, Preparation};
use liken::file::TensorsWriter;
use liken::matchers::{FitReport, Params};
use liken::text::{AnalyzerParams, Language};
use serde_json::{Map, Value, json};

type Answer = Result<Value, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let [dataset] = &args[..] else {
        println!("usage: topics DATASET");
        return ExitCode::FAILURE;
    };
    let counts = match read(dataset.as_ref()) {
        Ok(counts) => counts,
        Err(error) => {
            println!("{error}");
            return ExitCode::FAILURE;
        }
    };
    for line in std::io::stdin().lines() {
        let Ok(line) = line else { return ExitCode::FAILURE };
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words[..] {
            ["matrix", output] => matrix(&counts, output),
            ["fit", output, method, ref settings @ ..] => fit(&counts, output, method, settings),
            _ => {
                Err(format!("expected `matrix OUTPUT` or `fit OUTPUT METHOD …`, got {line:?}")
                    .into())
            }
        };
        match answer {
            Ok(answer) => println!("{answer}"),
            Err(error) => {
                println!("{error}");
                return ExitCode::FAILURE;
            }
        }
    }
    ExitCode::SUCCESS
}

fn read(path: &Path) -> liken::Result<Counts> {
    let dataset = Dataset::open(path)?;
    let analyzer = AnalyzerParams { language: Language::None, ..AnalyzerParams::default() };
    let class = Some(CLASS_FIELD.to_owned());
    let preparation = Preparation { analyzer, class, ..Preparation::default() };
    Counts::of(&dataset, &preparation, &Run::silent())
}

/// Writes what is factorised.
fn matrix(counts: &Counts, output: &str) -> Answer {
    let tfidf = Featurizer::new(counts, &Features::words())?.docs(counts)?;
    let mut tensors = TensorsWriter::new();
    tensors.csr("counts", &counts.docs).csr("tfidf", &tfidf);
    tensors.write(output.as_ref())?;
    let words: Vec<&str> = counts.vocabulary.iter().collect();
    Ok(json!({ "documents": counts.n_docs(), "terms": counts.n_terms(), "words": words }))
}

/// Fits a method, and writes its topics: `weights` (terms × topics) and `documents`. A method without
/// topics writes what it keeps.
fn fit(counts: &Counts, output: &str, method: &str, settings: &[&str]) -> Answer {
    let mut params = Params::named(method)?;
    let mut table = Map::new();
    for setting in settings {
        let (key, value) = setting.split_once('=').ok_or("a setting is KEY=VALUE")?;
        let read = serde_json::from_str(value).unwrap_or_else(|_| value.into());
        table.insert(key.to_owned(), read);
    }
    params.merge(&table)?;
    params.check()?;
    let began = Instant::now();
    let (matcher, report) = params.fit(counts, None, &Run::silent())?;
    let seconds = began.elapsed().as_secs_f64();
    let times = match &report {
        FitReport::Steps(report) => report.times.clone(),
        _ => Vec::new(),
    };
    let mut answer = json!({ "seconds": seconds, "report": report, "times": times });
    let Some(view) = matcher.topics() else {
        let mut tensors = TensorsWriter::new();
        matcher.save_state(&mut tensors);
        if output != "-" && !tensors.is_empty() {
            tensors.write(output.as_ref())?;
        }
        return Ok(answer);
    };
    answer["topics"] = view.n_topics().into();
    answer["shared"] = view.n_shared.into();
    let filled = view.weights.filled() as f64;
    answer["filled"] =
        (filled / (view.weights.n_rows() * view.weights.n_cols()).max(1) as f64).into();
    if output != "-" {
        let mut tensors = TensorsWriter::new();
        view.weights.save_state("weights", &mut tensors);
        let documents = &view.documents;
        let shape = [documents.n_rows(), documents.n_cols()];
        tensors.array("documents", &shape, documents.values());
        tensors.array("class_of", &[view.class_of.len()], view.class_of);
        tensors.write(output.as_ref())?;
    }
    Ok(answer)
}
