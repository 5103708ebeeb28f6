//! `liken serve`: serves an index over HTTP, with web pages.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use liken_engine::store::Store;
use liken_engine::{Engine, Layout, Settings};
use liken_server::http::{HttpLimits, Incidents, Log, LogFormat, ServeOptions};

use crate::console::{Console, stopped, usage};
use crate::index::index_at;
use crate::output::counted;
use crate::size::parse_size;

/// Serve an index: an HTTP API, and web pages to search, compare, explain and judge.
#[derive(Args)]
#[command(after_help = "\
By default the service accepts connections from this machine only. With another --host it requires API
keys, which `liken key add INDEX` makes. /openapi.json describes the API.

Examples:
  liken serve index
  liken serve index --port 8080 --models bm25,rmls       searches fuse both models by default
  liken serve index --models bm25,rmls --ranker best     the ranker best re-ranks the candidates of both
  liken serve index --host 0.0.0.0 --log-format json
  curl -d '{\"query\": \"how far is the sun\", \"k\": 3}' -H 'content-type: application/json' http://127.0.0.1:7700/search")]
pub struct ServeArgs {
    /// Folder of the index, built by `liken index`.
    index: PathBuf,

    /// Open the pages in the browser.
    #[arg(long)]
    open: bool,

    #[command(flatten)]
    service: ServiceArgs,
}

/// Options of the service.
#[derive(Args)]
pub struct ServiceArgs {
    /// Port to listen on; 0 for any free port.
    #[arg(long, default_value_t = 7700)]
    port: u16,

    /// Address to listen on.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "IP")]
    host: IpAddr,

    /// Models for searches that name none; several are fused [default: the first of the index].
    #[arg(long, alias = "model", value_name = "NAME,…", value_delimiter = ',')]
    models: Vec<String>,

    /// Ranker that re-ranks the candidates of searches that name no ranker. It must be in the index
    /// (`liken index --ranker`). A request with "ranker": "none" skips it [default: no ranker].
    #[arg(long, value_name = "NAME")]
    ranker: Option<String>,

    /// Candidates that each model retrieves, for searches that give no number.
    #[arg(long, default_value_t = Settings::default().candidate_depth, value_name = "N")]
    candidate_depth: usize,

    /// Time limit of a request, in seconds.
    #[arg(long, default_value_t = HttpLimits::default().request_seconds, value_name = "S",
        value_parser = parse_seconds)]
    timeout: f64,

    /// Disk space to keep free: with less, writes are refused.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "64MiB")]
    reserve: u64,

    /// Origins whose scripts may call the API (CORS), such as https://shop.example.
    #[arg(long, value_name = "ORIGIN,…", value_delimiter = ',')]
    cors: Vec<String>,

    /// Host names besides localhost by which clients reach the service, as behind a proxy. On a
    /// loopback address and with --allow-open, requests for other host names are refused (with
    /// --allow-open, an IP address is also accepted).
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    host_names: Vec<String>,

    /// Serve without keys: everyone who can reach the address may search and change the index.
    #[arg(long)]
    allow_open: bool,

    /// Format of the request log on standard error.
    #[arg(long, value_enum, default_value_t = LogName::Text, value_name = "FORMAT")]
    log_format: LogName,

    /// Include the text of queries in the log.
    #[arg(long)]
    log_queries: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogName {
    /// One line of text per request.
    Text,
    /// One JSON object per line.
    Json,
    /// No log.
    None,
}

pub fn run(args: &ServeArgs, _: &Console) -> anyhow::Result<()> {
    args.service.serve(&args.index, args.open)
}

impl ServiceArgs {
    /// Serves the index at `path` until Ctrl-C; `open` opens the start page in the browser.
    pub fn serve(&self, path: &Path, open: bool) -> anyhow::Result<()> {
        let incidents = Incidents::default();
        let reported = incidents.clone();
        let settings = Settings {
            models: self.models.clone(),
            ranker: self.ranker.clone(),
            candidate_depth: self.candidate_depth,
            reserve: self.reserve,
            on_incident: Arc::new(move |message| {
                reported.report(message);
                let _ = writeln!(io::stderr(), "{message}");
            }),
            ..Settings::default()
        };
        let (layout, _) = index_at(path)?;
        self.check_models(&layout)?;
        #[cfg(unix)]
        raise_open_files();
        let engine = Engine::open(path, settings)?;
        let log = match self.log_format {
            LogName::None => Log::none(),
            LogName::Text => Log::new(LogFormat::Text, self.log_queries, io::stderr())?,
            LogName::Json => Log::new(LogFormat::Json, self.log_queries, io::stderr())?,
        };
        let status = engine.status();
        let models: Vec<String> =
            status.models.iter().map(|model| format!("{} {}", model.name, model.version)).collect();
        let documents = counted(status.documents, "document");
        let banner = format!("{documents}; {}", models.join(", "));
        let options = ServeOptions {
            addr: SocketAddr::new(self.host, self.port),
            limits: HttpLimits { request_seconds: self.timeout, ..HttpLimits::default() },
            cors_origins: self.cors.clone(),
            host_names: self.host_names.clone(),
            allow_open: self.allow_open,
            log,
            incidents,
            listening: Some(Box::new(move |addr| {
                let url = format!("http://{addr}/");
                let mut out = io::stdout();
                let _ = writeln!(out, "{banner}\nserving at {url} (Ctrl-C ends it)");
                let _ = out.flush();
                if open {
                    open_browser(&url);
                }
            })),
            ..ServeOptions::default()
        };
        liken_server::run(engine, options, stopped).map_err(|error| match error.kind() {
            // Options that do not go together.
            io::ErrorKind::InvalidInput => usage(error.to_string()),
            // Ports from 1024 on need no privilege, so that the cause is an index without keys.
            io::ErrorKind::PermissionDenied if self.port == 0 || self.port >= 1024 => {
                let key = "`liken key add INDEX --name NAME` makes a key";
                io::Error::new(error.kind(), format!("{error}; {key}")).into()
            }
            _ => anyhow::Error::from(error),
        })
    }

    /// Refuses `--models` that are not in the index.
    fn check_models(&self, layout: &Layout) -> anyhow::Result<()> {
        if self.models.is_empty() {
            return Ok(());
        }
        let active = Store::read_only(&layout.store())?.active_models()?;
        let there: Vec<&str> = active.iter().map(|entry| entry.about.model.name.as_str()).collect();
        match self.models.iter().find(|name| !there.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(usage(format!(
                "--models: the index has no model {name:?}; it has {}",
                there.join(", ")
            ))),
        }
    }
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.trim().parse::<f64>().ok();
    seconds
        .filter(|&seconds| seconds > 0.0 && seconds <= 3600.0)
        .ok_or_else(|| "expected seconds, more than 0 and at most 3600".into())
}

/// Opens the browser if there is one; the address is printed anyway.
fn open_browser(url: &str) {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let quiet = std::process::Stdio::null;
    let _ = std::process::Command::new(program)
        .arg(url)
        .stdin(quiet())
        .stdout(quiet())
        .stderr(quiet())
        .spawn();
}

/// Raises the limit of open files to what the system allows: every connection is a file, and the
/// usual limit is low for a service.
#[cfg(unix)]
fn raise_open_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls only read or write the struct that they are given.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max.min(1 << 16).max(limit.rlim_cur);
            // If it is refused, the limit stays.
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
