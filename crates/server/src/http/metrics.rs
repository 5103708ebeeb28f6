//! Metrics of requests, in the text format of Prometheus.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use liken_engine::types::Status;

/// Upper bounds of the latency histogram, in seconds.
const BOUNDS: [f64; 14] =
    [0.001, 0.0025, 0.005, 0.01, 0.015, 0.025, 0.04, 0.06, 0.12, 0.25, 0.5, 1.0, 2.5, 10.0];

/// Methods with a label of their own; all others share one, so that clients cannot create series.
const METHODS: [&str; 6] = ["GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS"];

/// Counters, gauges and a histogram of requests.
#[derive(Default)]
pub struct Metrics {
    answered: Mutex<BTreeMap<Answered, u64>>,
    times: Mutex<BTreeMap<String, Histogram>>,
    in_flight: AtomicUsize,
    connections: AtomicUsize,
    refused_connections: AtomicU64,
}

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Answered {
    route: String,
    method: &'static str,
    status: u16,
}

#[derive(Debug, Clone, Default)]
struct Histogram {
    /// One count per bound, then that of larger values.
    counts: [u64; BOUNDS.len() + 1],
    sum: f64,
}

/// Counts one in a gauge until it is dropped.
pub(super) struct GaugeGuard<'a>(&'a AtomicUsize);

impl<'a> GaugeGuard<'a> {
    fn new(gauge: &'a AtomicUsize) -> Self {
        gauge.fetch_add(1, Ordering::Relaxed);
        GaugeGuard(gauge)
    }
}

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Metrics {
    pub(super) fn request(&self) -> GaugeGuard<'_> {
        GaugeGuard::new(&self.in_flight)
    }

    pub(super) fn connection(&self) -> GaugeGuard<'_> {
        GaugeGuard::new(&self.connections)
    }

    pub(super) fn connection_refused(&self) {
        self.refused_connections.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a response. `route` is the declared path, never what a client wrote.
    pub(super) fn answered(&self, route: &str, method: &str, status: u16, took: Duration) {
        let method = METHODS.into_iter().find(|known| *known == method).unwrap_or("other");
        let key = Answered { route: route.to_owned(), method, status };
        *lock(&self.answered).entry(key).or_default() += 1;
        let seconds = took.as_secs_f64();
        let mut times = lock(&self.times);
        let histogram = times.entry(route.to_owned()).or_default();
        histogram.counts[BOUNDS.partition_point(|bound| *bound < seconds)] += 1;
        histogram.sum += seconds;
    }

    /// All metrics as text, with those of the index.
    pub(crate) fn text(&self, status: &Status, waiting: usize, lost_log_lines: u64) -> String {
        let mut text = String::new();
        let out = &mut text;
        family(out, "liken_requests_total", "counter", "Requests answered.");
        for (Answered { route, method, status }, count) in lock(&self.answered).iter() {
            let route = escaped(route);
            line(
                out,
                &format!(
                    "liken_requests_total{{route=\"{route}\",method=\"{method}\",\
                     status=\"{status}\"}}"
                ),
                count,
            );
        }
        let name = "liken_request_seconds";
        family(out, name, "histogram", "Seconds from a request's head to its answer.");
        for (route, histogram) in lock(&self.times).iter() {
            let route = escaped(route);
            let mut below = 0;
            for (bound, count) in BOUNDS.iter().zip(histogram.counts) {
                below += count;
                line(out, &format!("{name}_bucket{{route=\"{route}\",le=\"{bound}\"}}"), below);
            }
            below += histogram.counts[BOUNDS.len()];
            line(out, &format!("{name}_bucket{{route=\"{route}\",le=\"+Inf\"}}"), below);
            line(out, &format!("{name}_sum{{route=\"{route}\"}}"), histogram.sum);
            line(out, &format!("{name}_count{{route=\"{route}\"}}"), below);
        }
        let in_flight = self.in_flight.load(Ordering::Relaxed);
        let connections = self.connections.load(Ordering::Relaxed);
        let refused = self.refused_connections.load(Ordering::Relaxed);
        let behind = status.written.saturating_sub(status.applied);
        for (name, kind, help, value) in [
            ("liken_requests_in_flight", "gauge", "Requests being answered.", in_flight as u64),
            ("liken_requests_waiting", "gauge", "Requests that wait for a thread.", waiting as u64),
            ("liken_connections", "gauge", "Open connections.", connections as u64),
            ("liken_connections_refused_total", "counter", "Connections rejected.", refused),
            ("liken_documents", "gauge", "Documents that can be found.", status.documents as u64),
            ("liken_changes_written", "gauge", "The last change on disk.", status.written),
            ("liken_changes_behind", "gauge", "Changes that search does not see yet.", behind),
            ("liken_log_lines_lost_total", "counter", "Log lines not written.", lost_log_lines),
        ] {
            family(out, name, kind, help);
            line(out, name, value);
        }
        family(out, "liken_model_active", "gauge", "Active models with their versions.");
        for model in &status.models {
            let (name, version) = (escaped(&model.name), escaped(&model.version));
            line(out, &format!("liken_model_active{{model=\"{name}\",version=\"{version}\"}}"), 1);
        }
        if let Some(bytes) = resident_bytes() {
            let name = "process_resident_memory_bytes";
            family(out, name, "gauge", "Resident memory.");
            line(out, name, bytes);
        }
        text
    }
}

fn family(out: &mut String, name: &str, kind: &str, help: &str) {
    let _ = write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n");
}

fn line(out: &mut String, name: &str, value: impl std::fmt::Display) {
    let _ = writeln!(out, "{name} {value}");
}

/// The escaped value of a label.
fn escaped(value: &str) -> String {
    value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n")
}

fn lock<T>(mutex: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    // A panic elsewhere leaves the counts valid.
    mutex.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
}

/// The resident memory of this process, where the system tells it.
fn resident_bytes() -> Option<u64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    let kib: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kib << 10)
}

#[cfg(test)]
mod tests {
    use super::*;
    use liken_engine::types::ModelRef;

    fn status() -> Status {
        let model = ModelRef { name: "a\"b\\c\nd".into(), version: "12ab".into() };
        let (status, liken) = ("ok".to_owned(), "0".to_owned());
        Status {
            status,
            documents: 7,
            written: 9,
            applied: 4,
            models: vec![model],
            rankers: Vec::new(),
            liken,
        }
    }

    fn value(text: &str, name: &str) -> f64 {
        let found = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
        found.unwrap_or_else(|| panic!("no {name} in {text}")).parse().unwrap()
    }

    #[test]
    fn counts_and_times_come_out_as_they_went_in() {
        let metrics = Metrics::default();
        let took = [0.0004, 0.001, 0.0011, 0.03, 100.0];
        for seconds in took {
            metrics.answered("/search", "POST", 200, Duration::from_secs_f64(seconds));
        }
        metrics.answered("/search", "BREW", 405, Duration::from_secs(0));
        let going = metrics.request();
        let text = metrics.text(&status(), 3, 2);
        let name = "liken_requests_total{route=\"/search\",method=\"POST\",status=\"200\"}";
        assert_eq!(value(&text, name), 5.0);
        let name = "liken_requests_total{route=\"/search\",method=\"other\",status=\"405\"}";
        assert_eq!(value(&text, name), 1.0);
        // Oracle: as many as are not above the bound, the 405 among them.
        for bound in BOUNDS {
            let expected = took.iter().filter(|seconds| **seconds <= bound).count() + 1;
            let name = format!("liken_request_seconds_bucket{{route=\"/search\",le=\"{bound}\"}}");
            assert_eq!(value(&text, &name), expected as f64, "{bound}");
        }
        let name = "liken_request_seconds_bucket{route=\"/search\",le=\"+Inf\"}";
        assert_eq!(value(&text, name), 6.0);
        assert_eq!(value(&text, "liken_request_seconds_count{route=\"/search\"}"), 6.0);
        let sum = value(&text, "liken_request_seconds_sum{route=\"/search\"}");
        assert!((sum - took.iter().sum::<f64>()).abs() < 1e-6);
        assert_eq!(value(&text, "liken_requests_in_flight"), 1.0);
        assert_eq!(value(&text, "liken_changes_behind"), 5.0);
        assert_eq!(value(&text, "liken_documents"), 7.0);
        assert!(text.contains(r#"{model="a\"b\\c\nd",version="12ab"} 1"#), "{text}");
        drop(going);
        assert_eq!(value(&metrics.text(&status(), 0, 0), "liken_requests_in_flight"), 0.0);
    }

    #[test]
    fn every_line_is_a_comment_or_a_sample() {
        let metrics = Metrics::default();
        metrics.answered("/a", "GET", 200, Duration::from_millis(1));
        for line in metrics.text(&status(), 0, 0).lines() {
            let sample =
                line.rsplit_once(' ').is_some_and(|(_, value)| value.parse::<f64>().is_ok());
            assert!(line.starts_with("# ") || sample, "{line}");
        }
    }
}
