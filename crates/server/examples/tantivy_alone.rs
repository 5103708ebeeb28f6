//! How long tantivy takes by itself for the queries that `bench/serve.py` asks the service, and how long
//! liken takes for them inside the same process.
//!
//! ```text
//! tantivy_alone INDEX QUERIES [k=10,200] [threads=1,2] [seconds=5] [liken=no]
//! ```
//! QUERIES is a file with one query a line. Every query becomes its words, as liken's analyser gives them,
//! any of which a document must hold, and tantivy finds the best `k` by BM25: no ids, no texts of documents.
//! Each thread asks one query after another. A line of JSON says what every combination of `k` and threads
//! took. With `liken=MODEL,…`, while nobody serves the index, they take turns on one thread: tantivy as
//! above, and liken's whole search for the best 10 by each of the models, once with the texts of the
//! documents that are found and once without. Each is some queries ahead of the next, so that nobody finds
//! in memory what another has just read.

// The figures are this program's result.
#![allow(clippy::print_stdout, clippy::print_stderr)]

#[path = "load/percentiles.rs"]
mod percentiles;

use std::error::Error;
use std::path::Path;
use std::process::ExitCode;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use liken::text::{Analyzer, AnalyzerParams};
use liken_engine::types::SearchRequest;
use liken_engine::{Engine, Settings};
use percentiles::percentiles;
use serde_json::json;
use tantivy::collector::TopDocs;
use tantivy::query::{BooleanQuery, Query, TermQuery};
use tantivy::schema::{Field, IndexRecordOption};
use tantivy::{Index, Searcher, Term};

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// The field of the text index that holds the words.
const TEXT: &str = "text";

/// How many queries one is ahead of the next.
const AHEAD: usize = 997;

struct Peer {
    searcher: Searcher,
    field: Field,
    analyzer: Analyzer,
    queries: Vec<String>,
}

impl Peer {
    fn open(folder: &Path, queries: &str) -> Outcome<Self> {
        let index = Index::open_in_dir(folder.join("text"))?;
        let field = index.schema().get_field(TEXT)?;
        let text = std::fs::read_to_string(queries)?;
        let queries: Vec<_> = text.lines().map(str::to_owned).collect();
        if queries.is_empty() {
            return Err("expected a query a line, found none".into());
        }
        let analyzer = Analyzer::new(&AnalyzerParams::default())?;
        Ok(Peer { searcher: index.reader()?.searcher(), field, analyzer, queries })
    }

    /// The number of documents found, at most `k`.
    fn ask(&self, query: &str, k: usize) -> Outcome<usize> {
        let mut words: Vec<Box<dyn Query>> = Vec::new();
        self.analyzer.text(query, &mut |term| {
            let term = Term::from_field_text(self.field, term);
            words.push(Box::new(TermQuery::new(term, IndexRecordOption::WithFreqs)));
        });
        let query = BooleanQuery::union(words);
        Ok(self.searcher.search(&query, &TopDocs::with_limit(k).order_by_score())?.len())
    }

    /// Times in microseconds of the queries asked within `time` on `threads` threads.
    fn measure(&self, k: usize, threads: usize, time: Duration) -> Outcome<(Vec<u32>, f64)> {
        let next = AtomicUsize::new(0);
        let begin = Instant::now();
        let work = || -> Outcome<Vec<u32>> {
            let mut micros = Vec::new();
            while begin.elapsed() < time {
                let at = next.fetch_add(1, Ordering::Relaxed) % self.queries.len();
                let started = Instant::now();
                std::hint::black_box(self.ask(&self.queries[at], k)?);
                micros.push(u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX));
            }
            Ok(micros)
        };
        let all = std::thread::scope(|scope| {
            let running: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
            let ended = running.into_iter().map(|thread| thread.join());
            ended.map(|times| times.map_err(|_| "a thread panicked")?).collect::<Outcome<Vec<_>>>()
        })?;
        Ok((all.concat(), begin.elapsed().as_secs_f64()))
    }
}

/// tantivy and liken in turns.
fn in_turns(peer: &Peer, folder: &Path, models: &[&str], k: usize, time: Duration) -> Outcome<()> {
    let engine = Engine::open(folder, Settings::default())?;
    let n = peer.queries.len();
    let search = |model: &str, query: &String, fields: Option<Vec<String>>| SearchRequest {
        query: query.clone(),
        models: vec![model.to_owned()],
        fields,
        ..SearchRequest::default()
    };
    // Of each model, searches with and without the texts of documents.
    let mut requests: Vec<Vec<SearchRequest>> = Vec::new();
    for model in models {
        for fields in [None, Some(Vec::new())] {
            let all = peer.queries.iter().map(|query| search(model, query, fields.clone()));
            requests.push(all.collect());
        }
    }
    let mut micros: Vec<Vec<u32>> = vec![Vec::new(); requests.len() + 1];
    let begin = Instant::now();
    for at in 0.. {
        if begin.elapsed() >= time {
            break;
        }
        for (turn, micros) in micros.iter_mut().enumerate() {
            let at = (at + turn * AHEAD) % n;
            let started = Instant::now();
            // A query of unknown words alone is refused by liken, which takes its time, too.
            match requests.get(turn) {
                Some(requests) => drop(std::hint::black_box(engine.search(&requests[at]))),
                None => drop(std::hint::black_box(peer.ask(&peer.queries[at], k)?)),
            }
            micros.push(u32::try_from(started.elapsed().as_micros()).unwrap_or(u32::MAX));
        }
    }
    // Before, postings and documents came from the disk.
    let warm = micros[0].len() / 3;
    let mut found: Vec<_> =
        micros.iter_mut().map(|micros| percentiles(&mut micros[warm..])).collect();
    let tantivy = found.pop();
    let mut liken = serde_json::Map::new();
    for (model, times) in models.iter().zip(found.chunks_exact(2)) {
        let times = json!({"whole_ms": times[0], "bare_ms": times[1]});
        liken.insert((*model).to_owned(), times);
    }
    println!("{}", json!({"k": k, "tantivy_ms": tantivy, "liken": liken}));
    Ok(())
}

fn numbers(list: &str) -> Outcome<Vec<usize>> {
    let read = |number: &str| match number.parse() {
        Ok(0) | Err(_) => Err(format!("expected numbers above 0, got {list:?}").into()),
        Ok(number) => Ok(number),
    };
    list.split(',').map(read).collect()
}

fn run(args: &[String]) -> Outcome<()> {
    let [folder, queries, rest @ ..] = args else {
        return Err(
            "usage: tantivy_alone INDEX QUERIES [k=10,200] [threads=1,2] [seconds=5] [liken=no]"
                .into(),
        );
    };
    let (mut depths, mut threads, mut seconds) = (vec![10, 200], vec![1, 2], vec![5]);
    let mut models = Vec::new();
    for arg in rest {
        match arg.split_once('=') {
            Some(("k", list)) => depths = numbers(list)?,
            Some(("threads", list)) => threads = numbers(list)?,
            Some(("seconds", list)) => seconds = numbers(list)?,
            Some(("liken", "no")) => models.clear(),
            Some(("liken", names)) => models = names.split(',').collect(),
            _ => {
                let problem = format!("expected k=, threads=, seconds= or liken=, got {arg:?}");
                return Err(problem.into());
            }
        }
    }
    let time = Duration::from_secs(seconds[0] as u64);
    let folder = Path::new(folder);
    let peer = Peer::open(folder, queries)?;
    if !models.is_empty() {
        return depths.iter().try_for_each(|&k| in_turns(&peer, folder, &models, k, time));
    }
    for &k in &depths {
        // Postings come from the disk only once.
        peer.measure(k, 1, time / 5)?;
        for &threads in &threads {
            let (mut micros, seconds) = peer.measure(k, threads, time)?;
            let n = micros.len();
            let line = json!({
                "k": k,
                "threads": threads,
                "documents": peer.searcher.num_docs(),
                "segments": peer.searcher.segment_readers().len(),
                "queries": n,
                "queries_per_second": n as f64 / seconds,
                "ms": percentiles(&mut micros),
            });
            println!("{line}");
        }
    }
    Ok(())
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match run(&args) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
