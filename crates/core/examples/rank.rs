//! Fits rankers for `bench/rank.py`, which runs other libraries beside them.
//!
//! ```text
//! rank
//! ```
//! does what every line on stdin says:
//!
//! ```text
//! read NAME PATH                        reads a table and keeps it under a name
//! fit TRAIN VALIDATION METHOD [KEY=VALUE …]   learns a ranker; VALIDATION may be -
//! score TABLE OUTPUT                    scores a table with the last ranker
//! model PATH TABLE OUTPUT               scores a table with a text model of LightGBM
//! ```
//! A table is three files of little-endian numbers: PATH.values (f32, row by row), PATH.grades (f32) and
//! PATH.groups (u32, how many rows each query has); OUTPUT is f64, one a row. Each line is answered by a
//! line of JSON, so passes of several programs can take turns on a noisy machine.

// The answers are this program's result.
#![allow(clippy::print_stdout)]

use std::collections::HashMap;
use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use liken::Run;
use liken::rank::trees::LightGbm;
use liken::rank::{FeatureTable, Goal, RankParams, Scorer, TableBuilder, Training};
use serde_json::{Value, json};

type Answer = Result<Value, Box<dyn std::error::Error>>;

#[derive(Default)]
struct State {
    tables: HashMap<String, FeatureTable>,
    scorer: Option<Scorer>,
}

fn main() -> ExitCode {
    let mut state = State::default();
    for line in std::io::stdin().lines() {
        let Ok(line) = line else { return ExitCode::FAILURE };
        let words: Vec<&str> = line.split_whitespace().collect();
        let answer = match words[..] {
            ["read", name, path] => state.read(name, path),
            ["fit", train, validation, method, ref settings @ ..] => {
                state.fit(train, validation, method, settings)
            }
            ["score", table, output] => state.score(table, output),
            ["model", path, table, output] => state.model(path, table, output),
            _ => Err(format!("expected read, fit, score or model, got {line:?}").into()),
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

impl State {
    fn table(&self, name: &str) -> Result<&FeatureTable, String> {
        self.tables.get(name).ok_or_else(|| format!("no table {name}"))
    }

    fn read(&mut self, name: &str, path: &str) -> Answer {
        let numbers = |kind: &str| -> std::io::Result<Vec<[u8; 4]>> {
            let bytes = std::fs::read(format!("{path}.{kind}"))?;
            Ok(bytes.chunks_exact(4).map(|four| [four[0], four[1], four[2], four[3]]).collect())
        };
        let floats = |bytes: Vec<[u8; 4]>| bytes.into_iter().map(f32::from_le_bytes).collect();
        let values: Vec<f32> = floats(numbers("values")?);
        let grades: Vec<f32> = floats(numbers("grades")?);
        let groups = numbers("groups")?.into_iter().map(u32::from_le_bytes);
        let n_features = values.len() / grades.len().max(1);
        let names = (0..n_features).map(|feature| format!("f{feature}")).collect();
        let mut builder = TableBuilder::new(names);
        let mut rows = grades.iter().zip(values.chunks_exact(n_features.max(1)));
        for (query, n) in groups.enumerate() {
            for _ in 0..n {
                let (&grade, values) = rows.next().ok_or("more rows in groups than grades")?;
                let doc = builder.n_rows().to_string();
                builder.push(&query.to_string(), &doc, grade, values)?;
            }
        }
        let table = builder.finish();
        let rows = table.n_rows();
        self.tables.insert(name.to_owned(), table);
        Ok(json!({ "rows": rows, "features": n_features }))
    }

    fn fit(&mut self, train: &str, validation: &str, method: &str, settings: &[&str]) -> Answer {
        let mut params = RankParams::named(method)?;
        for setting in settings {
            let (key, value) = setting.split_once('=').ok_or("a setting is KEY=VALUE")?;
            params.set(key, value)?;
        }
        let validation = match validation {
            "-" => None,
            name => Some(self.table(name)?),
        };
        let run = Run::silent();
        let goal = Goal::default();
        let training = Training { table: self.table(train)?, validation, goal, run: &run };
        let began = Instant::now();
        let (scorer, report) = params.fit(&training)?;
        let seconds = began.elapsed().as_secs_f64();
        self.scorer = Some(scorer);
        Ok(json!({ "seconds": seconds, "steps": report.steps.len(), "kept": report.kept }))
    }

    fn score(&self, table: &str, output: &str) -> Answer {
        let scorer = self.scorer.as_ref().ok_or("nothing was fitted")?;
        write(&scorer.scores(self.table(table)?), output)
    }

    fn model(&self, path: &str, table: &str, output: &str) -> Answer {
        let model = LightGbm::read(Path::new(path))?;
        write(&Scorer::Trees(model.trees).scores(self.table(table)?), output)
    }
}

fn write(scores: &[f64], output: &str) -> Answer {
    let bytes: Vec<u8> = scores.iter().flat_map(|score| score.to_le_bytes()).collect();
    // A scratch file of the benchmark.
    #[allow(clippy::disallowed_methods)]
    std::fs::write(output, bytes)?;
    Ok(json!({ "rows": scores.len() }))
}
