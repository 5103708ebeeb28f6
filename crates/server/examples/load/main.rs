//! Asks a search service the same kind of question over a number of connections, each of which sends
//! its next request when it has the answer to the last, and says how long answers took.
//!
//! ```text
//! load URL BODIES [connections=1] [seconds=10] [warmup=2] [parse=50] [time_out=30]
//! ```
//! URL is that of the endpoint (`http://127.0.0.1:8080/search`), BODIES a file with one JSON body a line.
//! Every answer must have status 200 and the length it announces; one in `parse` is also read: hits must
//! be in the order of their scores, the models must be named with their versions, and the same body must
//! get the same hits from the same versions, or the answer was mixed from two of them. Failures are
//! counted from the beginning, times after the warm-up and of answers alone. The program shares the
//! processors with the service, so it says what it took of them itself.

// The figures are this program's result.
#![allow(clippy::print_stdout, clippy::print_stderr)]

mod answer;
mod connection;
mod percentiles;

use std::cell::{Cell, RefCell};
use std::process::ExitCode;
use std::rc::Rc;
use std::time::{Duration, Instant};

use serde_json::json;
use tokio::task::LocalSet;
use tokio::time::timeout;

use answer::Answers;
use connection::{Connection, Target};
use percentiles::percentiles;

/// So many reasons of failures are kept as examples.
const MOST_REASONS: usize = 5;

struct Options {
    target: Target,
    requests: Vec<Vec<u8>>,
    connections: usize,
    seconds: Duration,
    warmup: Duration,
    parse: usize,
    time_out: Duration,
}

impl Options {
    fn of(args: &[String]) -> Result<Self, String> {
        let [url, bodies, rest @ ..] = args else {
            return Err("usage: load URL BODIES [connections=1] [seconds=10] [warmup=2] \
                        [parse=50] [time_out=30]"
                .into());
        };
        let target = Target::of(url)?;
        let text = std::fs::read_to_string(bodies).map_err(|error| format!("{bodies}: {error}"))?;
        let requests: Vec<_> = text.lines().map(|body| target.request(body)).collect();
        if requests.is_empty() {
            return Err(format!("{bodies}: expected a JSON body a line, found none"));
        }
        let mut numbers = [1.0, 10.0, 2.0, 50.0, 30.0];
        for arg in rest {
            let place = arg.split_once('=').and_then(|(name, value)| {
                let names = ["connections", "seconds", "warmup", "parse", "time_out"];
                let at = names.iter().position(|known| *known == name)?;
                let value = value.parse().ok().filter(|value| (0.0..=1e6).contains(value))?;
                Some((at, value))
            });
            let (at, value) =
                place.ok_or(format!("expected NAME=NUMBER with a known name, got {arg:?}"))?;
            numbers[at] = value;
        }
        let [connections, seconds, warmup, parse, time_out] = numbers;
        Ok(Options {
            target,
            requests,
            connections: (connections as usize).max(1),
            seconds: Duration::from_secs_f64(seconds),
            warmup: Duration::from_secs_f64(warmup),
            parse: parse as usize,
            time_out: Duration::from_secs_f64(time_out),
        })
    }
}

/// What all connections have seen.
#[derive(Default)]
struct Tally {
    micros: Vec<u32>,
    requests: u64,
    bytes: u64,
    failures: u64,
    reasons: Vec<String>,
    answers: Answers,
}

impl Tally {
    /// Counts an answer to the body of number `body` and its time, if it counts; whether it is good.
    fn count(
        &mut self,
        body: usize,
        answer: Result<&[u8], String>,
        is_read: bool,
        took: Option<Duration>,
    ) -> bool {
        let checked = answer.and_then(|bytes| {
            if took.is_some() {
                self.bytes += bytes.len() as u64;
            }
            if is_read { self.answers.read(body, bytes) } else { Ok(()) }
        });
        match (&checked, took) {
            (Ok(()), Some(took)) => {
                self.requests += 1;
                self.micros.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
            }
            (Err(_), _) => self.failures += 1,
            _ => {}
        }
        let good = checked.is_ok();
        if self.reasons.len() < MOST_REASONS {
            self.reasons.extend(checked.err());
        }
        good
    }
}

/// One connection's loop, until the time is over.
async fn ask(
    options: Rc<Options>,
    next: Rc<Cell<usize>>,
    tally: Rc<RefCell<Tally>>,
    begin: Instant,
) {
    let counted_from = begin + options.warmup;
    let end = counted_from + options.seconds;
    let mut connection = Connection::new(&options.target);
    loop {
        let started = Instant::now();
        if started >= end {
            return;
        }
        let at = next.get();
        next.set(at + 1);
        let body = at % options.requests.len();
        let answer = timeout(options.time_out, connection.ask(&options.requests[body])).await;
        let took = (started >= counted_from).then(|| started.elapsed());
        let answer = answer.unwrap_or_else(|_| Err("time-out".into()));
        let every = options.parse;
        let is_read = every > 0 && at.is_multiple_of(every);
        let failed = !tally.borrow_mut().count(body, answer, is_read, took);
        if failed {
            connection = Connection::new(&options.target);
            // A service that refuses everything would otherwise be asked as fast as can be.
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
}

/// Seconds of processor time that this process has had.
#[cfg(unix)]
fn processor() -> f64 {
    // SAFETY: rusage is numbers alone, for which zero is a value, and the call fills it.
    let usage = unsafe {
        let mut usage: libc::rusage = std::mem::zeroed();
        libc::getrusage(libc::RUSAGE_SELF, &mut usage);
        usage
    };
    let seconds = |time: libc::timeval| time.tv_sec as f64 + time.tv_usec as f64 / 1e6;
    seconds(usage.ru_utime) + seconds(usage.ru_stime)
}

#[cfg(not(unix))]
fn processor() -> f64 {
    f64::NAN
}

async fn run(options: Options) -> serde_json::Value {
    let options = Rc::new(options);
    let next = Rc::new(Cell::new(0));
    let tally = Rc::new(RefCell::new(Tally::default()));
    let begin = Instant::now();
    let local = LocalSet::new();
    for _ in 0..options.connections {
        local.spawn_local(ask(options.clone(), next.clone(), tally.clone(), begin));
    }
    let at_warm = local
        .run_until(async {
            tokio::time::sleep(options.warmup).await;
            (processor(), Instant::now())
        })
        .await;
    local.await;
    let (seconds, work) = (at_warm.1.elapsed().as_secs_f64(), processor() - at_warm.0);
    let tally = &mut *tally.borrow_mut();
    let answers = &mut tally.answers;
    json!({
        "connections": options.connections,
        "seconds": seconds,
        "requests": tally.requests,
        "requests_per_second": tally.requests as f64 / seconds,
        "ms": percentiles(&mut tally.micros),
        "took_ms": percentiles(&mut answers.took_micros),
        "failures": tally.failures,
        "reasons": tally.reasons,
        "bytes": tally.bytes,
        "answers_read": answers.read,
        "without_version": answers.without_version,
        "mixed": answers.mixed,
        "versions": answers.versions,
        "processor_seconds": work,
        "processor_ms_per_request": work * 1e3 / tally.requests.max(1) as f64,
    })
}

fn main() -> ExitCode {
    let args: Vec<String> = std::env::args().skip(1).collect();
    let options = match Options::of(&args) {
        Ok(options) => options,
        Err(reason) => {
            eprintln!("{reason}");
            return ExitCode::from(2);
        }
    };
    // One thread is enough for everything asked here, and takes the least.
    match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => {
            println!("{}", runtime.block_on(run(options)));
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}
