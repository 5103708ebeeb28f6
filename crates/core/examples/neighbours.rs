//! Measures the search for nearest embeddings, for the benchmarks.
//!
//! ```text
//! neighbours N DIM [FOLDER] [KEY=VALUE …]
//! ```
//! draws N embeddings of DIM numbers (in FOLDER, where they stay, or in a temporary one), makes lists of
//! them and prints one line of JSON: the lists, how many are probed, recall on queries that the
//! lists were not tuned on, and milliseconds of one thread's processor time a query.
//!
//! ```text
//! data=topics      embeddings around centres, dimensions that matter less and less, lengths that differ
//! data=gaussian    nothing to learn: the hardest case
//! k=10             neighbours
//! queries=200      queries
//! share=1          of the embeddings, the share that a filter leaves
//! recall=0.97 lists=… rounds=8 reach=…    as in IndexParams
//! ```

// The line is this program's result.
#![allow(clippy::print_stdout)]

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use liken::Run;
use liken::index::{DocSet, EMBEDDINGS_FILE, EmbeddingIndex, Embeddings, IndexParams};
use liken::random::Random;
use liken::ranking::Hit;

type Outcome<T> = Result<T, Box<dyn std::error::Error>>;

/// Centres that embeddings are drawn around.
const TOPICS: usize = 3000;

struct Settings {
    n: usize,
    dim: usize,
    folder: Option<PathBuf>,
    topics: bool,
    k: usize,
    queries: usize,
    share: f64,
    params: IndexParams,
}

fn main() -> ExitCode {
    match settings().and_then(|settings| measure(&settings)) {
        Ok(line) => {
            println!("{line}");
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("{error}\nusage: neighbours N DIM [FOLDER] [KEY=VALUE …]");
            ExitCode::FAILURE
        }
    }
}

fn settings() -> Outcome<Settings> {
    let mut args = std::env::args().skip(1);
    let (Some(n), Some(dim)) = (args.next(), args.next()) else { return Err("two numbers".into()) };
    let mut settings = Settings {
        n: n.parse()?,
        dim: dim.parse()?,
        folder: None,
        topics: true,
        k: 10,
        queries: 200,
        share: 1.0,
        params: IndexParams { exact_below: 0, ..IndexParams::default() },
    };
    for arg in args {
        let params = &mut settings.params;
        match arg.split_once('=') {
            None => settings.folder = Some(arg.into()),
            Some(("data", kind)) => settings.topics = kind != "gaussian",
            Some(("k", k)) => settings.k = k.parse()?,
            Some(("queries", n)) => settings.queries = n.parse()?,
            Some(("share", share)) => settings.share = share.parse()?,
            Some(("recall", recall)) => params.recall = recall.parse()?,
            Some(("lists", lists)) => params.lists = Some(lists.parse()?),
            Some(("rounds", rounds)) => params.rounds = rounds.parse()?,
            Some(("reach", reach)) => params.reach = reach.parse()?,
            Some((key, _)) => return Err(format!("{key}: no such setting").into()),
        }
    }
    Ok(settings)
}

/// Where embeddings come from.
struct Source {
    dim: usize,
    centres: Vec<f32>,
}

impl Source {
    fn new(settings: &Settings) -> Self {
        let (dim, n) = (settings.dim, if settings.topics { TOPICS } else { 0 });
        let mut random = Random::new(1, 0);
        let centres = (0..n * dim).map(|at| deviation(at % dim) * random.normal() as f32).collect();
        Source { dim, centres }
    }

    /// The embedding of number `number` in the stream of documents or of queries.
    fn draw(&self, seed: u64, number: usize, row: &mut [f32]) {
        let mut random = Random::new(seed, number as u64);
        let n = self.centres.len() / self.dim;
        if n == 0 {
            row.iter_mut().for_each(|value| *value = random.normal() as f32);
            return;
        }
        // Some topics have many more documents than others.
        let topic = ((n as f64) * random.uniform().powi(2)) as usize;
        let centre = &self.centres[topic * self.dim..][..self.dim];
        let length = (0.4 * random.normal()).exp() as f32;
        for (j, (value, c)) in row.iter_mut().zip(centre).enumerate() {
            *value = length * (c + 0.8 * deviation(j) * random.normal() as f32);
        }
    }
}

/// Dimensions as a factorisation gives them: the first matter most.
fn deviation(j: usize) -> f32 {
    (1.0 + j as f32 / 10.0).powf(-0.7)
}

fn measure(settings: &Settings) -> Outcome<serde_json::Value> {
    let temporary = tempfile::tempdir()?;
    let folder = settings.folder.as_deref().unwrap_or(temporary.path());
    let source = Source::new(settings);
    let path = folder.join(EMBEDDINGS_FILE);
    let there = Embeddings::open(&path).is_ok_and(|embeddings| {
        (embeddings.n_rows(), embeddings.dim()) == (settings.n, settings.dim)
    });
    if !there {
        let draw = |doc: usize, row: &mut [f32]| source.draw(2, doc, row);
        Embeddings::write(&path, settings.n, settings.dim, &Run::silent(), draw)?;
    }
    let tuned = queries(&source, 3, 200);
    let start = Instant::now();
    EmbeddingIndex::build(folder, &settings.params, &tuned, &Run::silent())?;
    let built = start.elapsed().as_secs_f64();
    searched(settings, folder, built, &queries(&source, 4, settings.queries))
}

fn queries(source: &Source, seed: u64, n: usize) -> Vec<f32> {
    let mut queries = vec![0.0; n * source.dim];
    let rows = queries.chunks_exact_mut(source.dim).enumerate();
    rows.for_each(|(number, query)| source.draw(seed, number, query));
    queries
}

fn searched(
    settings: &Settings,
    folder: &Path,
    built: f64,
    queries: &[f32],
) -> Outcome<serde_json::Value> {
    let index = EmbeddingIndex::open(folder)?;
    let mut random = Random::new(5, 0);
    let allowed: Option<DocSet> = (settings.share < 1.0)
        .then(|| (0..settings.n as u32).filter(|_| random.uniform() < settings.share).collect());
    let (k, allowed) = (settings.k, allowed.as_ref());
    let time = |search: &dyn Fn(&[f32]) -> Vec<Hit>| {
        let start = processor_seconds();
        let found: Vec<Vec<Hit>> = queries.chunks_exact(settings.dim).map(search).collect();
        ((processor_seconds() - start) * 1e3 / found.len().max(1) as f64, found)
    };
    // Once before, so that the files are in memory.
    time(&|query| index.nearest(query, k, allowed));
    let (exact_ms, exact) = time(&|query| index.embeddings.nearest(query, k, allowed));
    let (lists_ms, found) = time(&|query| index.nearest(query, k, allowed));
    let there = |(exact, found): (&Vec<Hit>, &Vec<Hit>)| {
        exact.iter().filter(|hit| found.iter().any(|other| other.doc == hit.doc)).count()
    };
    let hits: usize = exact.iter().zip(&found).map(there).sum();
    let all: usize = exact.iter().map(Vec::len).sum();
    Ok(serde_json::json!({
        "n": settings.n, "dim": settings.dim, "data": if settings.topics { "topics" } else { "gaussian" },
        "k": k, "share": settings.share, "report": index.report(), "built_s": built,
        "recall": hits as f64 / all.max(1) as f64,
        "exact_ms": exact_ms, "lists_ms": lists_ms,
        "exact_per_s": 1e3 / exact_ms, "lists_per_s": 1e3 / lists_ms,
    }))
}

/// Processor time of this thread, so that other programs do not count; time on the wall where the
/// system does not say.
fn processor_seconds() -> f64 {
    let spent = std::fs::read_to_string("/proc/thread-self/schedstat").ok();
    let spent = spent.and_then(|text| text.split_whitespace().next()?.parse::<f64>().ok());
    spent.map_or_else(
        || std::time::UNIX_EPOCH.elapsed().map_or(0.0, |since| since.as_secs_f64()),
        |nanoseconds| nanoseconds / 1e9,
    )
}
