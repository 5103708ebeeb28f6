//! `liken serve`: an index as a service, with its pages.

use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::{Args, ValueEnum};
use liken_engine::store::Store;
use liken_engine::{Engine, Layout, Settings};
use liken_server::http::{Incidents, Limits, Log, LogFormat, ServeOptions};

use crate::console::{Console, Usage, stopped};
use crate::index::index_at;
use crate::output::grouped;
use crate::size::parse_size;

/// Serve an index: search over HTTP, and pages to search, compare, understand and judge.
#[derive(Args)]
#[command(after_help = "\
The service listens on this machine alone unless --host says otherwise; then it asks for API keys,
which `liken key add INDEX` makes. /openapi.json describes the API.

Examples:
  liken serve index
  liken serve index --port 8080 --models bm25,rmls       searches fuse both unless they say otherwise
  liken serve index --models bm25,rmls --ranker best     the ranker best puts the candidates of both in order
  liken serve index --host 0.0.0.0 --log-format json
  curl -d '{\"query\": \"how far is the sun\", \"k\": 3}' -H 'content-type: application/json' http://127.0.0.1:7700/search")]
pub struct ServeArgs {
    /// Folder of the index, made by `liken index`.
    index: PathBuf,

    /// Open the pages in the browser.
    #[arg(long)]
    open: bool,

    #[command(flatten)]
    service: ServiceArgs,
}

/// How a service is offered.
#[derive(Args)]
pub struct ServiceArgs {
    /// Port to listen on; 0 for any that is free.
    #[arg(long, default_value_t = 7700)]
    port: u16,

    /// Address to listen on.
    #[arg(long, default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST), value_name = "IP")]
    host: IpAddr,

    /// Models of searches that name none, fused; the index's first if not given.
    #[arg(long, alias = "model", value_name = "NAME,…", value_delimiter = ',')]
    models: Vec<String>,

    /// Ranker that puts the candidates in order where a search does not say, one of those that
    /// `liken index --ranker` took in; a search that wants none says "ranker": "none".
    #[arg(long, value_name = "NAME")]
    ranker: Option<String>,

    /// Candidates that each model proposes where a search does not say.
    #[arg(long, default_value_t = Settings::default().candidate_depth, value_name = "N")]
    candidate_depth: usize,

    /// Seconds that a request may take.
    #[arg(long, default_value_t = Limits::default().request_seconds, value_name = "S",
        value_parser = parse_seconds)]
    timeout: f64,

    /// Room on the disk that is kept free: with less than this, nothing is written.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, default_value = "64MiB")]
    reserve: u64,

    /// Sites whose scripts may call the API, such as https://shop.example.
    #[arg(long, value_name = "ORIGIN,…", value_delimiter = ',')]
    cors: Vec<String>,

    /// Names besides localhost by which the service is called, as through a proxy. Others are
    /// refused on an address of this machine alone, and with --allow-open, where the address in
    /// numbers will do, too.
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    host_names: Vec<String>,

    /// Let everybody who can reach the address search and change the index, without keys.
    #[arg(long)]
    allow_open: bool,

    /// What the log of requests on standard error looks like.
    #[arg(long, value_enum, default_value_t = LogName::Text, value_name = "FORMAT")]
    log_format: LogName,

    /// Write the text of queries into the log, too.
    #[arg(long)]
    log_queries: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
enum LogName {
    /// For people.
    Text,
    /// One JSON object a line.
    Json,
    /// Nothing.
    None,
}

pub fn run(args: &ServeArgs, _: &Console) -> anyhow::Result<()> {
    args.service.serve(&args.index, args.open)
}

impl ServiceArgs {
    /// Serves the index at `path` until Ctrl-C; `open` opens the pages in the browser.
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
        let said = format!("{} documents; {}", grouped(status.documents), models.join(", "));
        let options = ServeOptions {
            addr: SocketAddr::new(self.host, self.port),
            limits: Limits { request_seconds: self.timeout, ..Limits::default() },
            cors_origins: self.cors.clone(),
            host_names: self.host_names.clone(),
            allow_open: self.allow_open,
            log,
            incidents,
            listening: Some(Box::new(move |addr| {
                let url = format!("http://{addr}/");
                let mut out = io::stdout();
                let _ = writeln!(out, "{said}\nserving at {url} (Ctrl-C ends it)");
                let _ = out.flush();
                if open {
                    open_browser(&url);
                }
            })),
            ..ServeOptions::default()
        };
        liken_server::run(engine, options, stopped).map_err(|error| match error.kind() {
            // Nothing of this is found out by looking at the index.
            io::ErrorKind::InvalidInput => Usage(error.to_string()).into(),
            // Ports from 1024 on are everybody's: what is refused is an index without keys.
            io::ErrorKind::PermissionDenied if self.port == 0 || self.port >= 1024 => {
                let key = "`liken key add INDEX --name NAME` makes a key";
                io::Error::new(error.kind(), format!("{error}; {key}")).into()
            }
            _ => anyhow::Error::from(error),
        })
    }

    /// An error if a model that is asked for is not in the index.
    fn check_models(&self, layout: &Layout) -> anyhow::Result<()> {
        if self.models.is_empty() {
            return Ok(());
        }
        let active = Store::read_only(&layout.store())?.active_models()?;
        let there: Vec<&str> = active.iter().map(|model| model.name.as_str()).collect();
        match self.models.iter().find(|name| !there.contains(&name.as_str())) {
            None => Ok(()),
            Some(name) => Err(Usage(format!(
                "--models: no model is called {name:?}; there are {}",
                there.join(", ")
            ))
            .into()),
        }
    }
}

/// Seconds that a request may take.
fn parse_seconds(text: &str) -> Result<f64, String> {
    let seconds = text.trim().parse::<f64>().ok();
    seconds
        .filter(|&seconds| seconds > 0.0 && seconds <= 3600.0)
        .ok_or_else(|| "expected seconds, more than 0 and at most 3600".into())
}

/// Opens the pages where there is a browser; where there is none, the address was printed.
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

/// Connections take a file each, and so does the index: as many as the system allows, since what
/// is usual for a program may be too few for a service.
#[cfg(unix)]
fn raise_open_files() {
    let mut limit = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: both calls only read or write the struct that they are given.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, &raw mut limit) == 0 {
            limit.rlim_cur = limit.rlim_max.min(1 << 16).max(limit.rlim_cur);
            // Where it is refused, it stays as it was.
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
        }
    }
}
