//! Every flag of `liken index` and `liken serve` does something that can be seen. The lists of
//! flags are held against `--help`: a new flag needs a line here.

use std::collections::BTreeSet;
use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};

use crate::place::Place;
use crate::service::{Service, until};
use crate::shared::at;

/// A flag, and what it does.
type Flag = (&'static str, fn(&Place));

/// What every verb has; they are tested with all verbs.
const EVERYWHERE: [&str; 4] = ["--help", "--quiet", "--threads", "--version"];

/// The long flags that `liken VERB --help` describes.
fn described(place: &Place, verb: &str) -> BTreeSet<String> {
    let help = place.run(&format!("{verb} --help")).silent().out;
    let flags = help.lines().map(str::trim_start).filter(|line| line.starts_with('-'));
    flags
        .flat_map(|line| line.split([' ', ',']).take(3))
        .filter(|word| word.starts_with("--"))
        .map(str::to_owned)
        .collect()
}

/// Tries all flags of a verb, which must be those that there are.
#[track_caller]
fn tried(place: &Place, verb: &str, flags: &[Flag]) {
    let here: BTreeSet<String> =
        flags.iter().map(|(flag, _)| *flag).chain(EVERYWHERE).map(str::to_owned).collect();
    assert_eq!(described(place, verb), here, "liken {verb}: a flag without a test, or none such");
    for (_, does) in flags {
        does(place);
    }
}

/// `liken index` of the shared log with bm25, and `more`.
fn index(more: &str) -> String {
    format!("index {} --model {} {more}", at("data"), at("bm25"))
}

/// Serves the index with `more`.
fn serve(place: &Place, more: &str) -> Service {
    Service::start(place, &format!("serve index {more}"))
}

/// A connection to a service.
fn connected(service: &Service) -> TcpStream {
    let port = service.url.rsplit(':').next().unwrap();
    let stream = TcpStream::connect(format!("127.0.0.1:{port}")).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    stream
}

/// The whole answer to a request with these headers, byte by byte.
fn raw(service: &Service, headers: &str) -> String {
    let mut stream = connected(service);
    write!(stream, "GET /health HTTP/1.1\r\n{headers}connection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// A ranker over the shared log's features, in `ranker`.
fn ranker(place: &Place) {
    let (data, bm25) = (at("data"), at("bm25"));
    place.run(&format!("features {data} --model {bm25} --groups bm25,models -o rows.csv")).fine();
    place.run("rank train regression rows.csv -o ranker").fine();
}

#[test]
fn every_flag_of_index_has_an_effect() {
    let place = Place::new();
    ranker(&place);
    tried(
        &place,
        "index",
        &[
            ("--model", |place| {
                let line = format!("{} -o named", index(&format!("-m learnt={}", at("rmls"))));
                place.run(&line).silent();
                let models = place.run("info named --format json").silent().json();
                let names = [&models["models"][0]["name"], &models["models"][1]["name"]];
                assert_eq!(names, ["bm25", "learnt"]);
            }),
            ("--output", |place| {
                place.run(&index("--output there")).silent().shows(&["liken serve there"]);
                assert!(place.path("there/index.json").exists());
            }),
            ("--force", |place| {
                place.run(&index("-o there")).refused(1, &["already exists", "--force"]);
                place.run("key add there --name old").fine();
                place.run(&index("-o there --force")).silent();
                assert_eq!(place.run("info there --format json").silent().json()["keys"], 0);
            }),
            ("--format", |place| {
                let built = place.run(&index("-o json --format json")).silent().json();
                assert_eq!((&built["documents"], &built["rankers"]), (&660.into(), &json!([])));
            }),
            ("--exact-below", |place| {
                let neighbours = |more: &str| {
                    let models = format!("--model {} -o index --force --format json", at("rmls"));
                    let built = place.run(&index(&format!("{models} {more}"))).silent().json();
                    built["models"][1]["neighbours"].as_str().unwrap().to_owned()
                };
                assert_eq!(neighbours(""), "exact");
                assert_eq!(neighbours("--exact-below 660"), "exact");
                assert_ne!(neighbours("--exact-below 659"), "exact");
            }),
            ("--ranker", |place| {
                let line = index("--ranker ranker --ranker best=ranker -o ranked --format json");
                let built = place.run(&line).silent().json();
                assert_eq!(built["rankers"], json!(["regression", "best"]));
            }),
        ],
    );
}

#[test]
fn every_flag_of_serve_has_an_effect() {
    let place = Place::new();
    ranker(&place);
    let more = format!("--model {} --ranker best=ranker -o index", at("rmls"));
    place.run(&index(&more)).silent();
    tried(
        &place,
        "serve",
        &[
            ("--open", open),
            ("--port", |place| {
                // One that is taken: a free one might be taken by the time it is tried.
                let taken = TcpListener::bind("127.0.0.1:0").unwrap();
                let port = taken.local_addr().unwrap().port();
                let words = format!("cannot listen on 127.0.0.1:{port}");
                place.run(&format!("serve index --port {port}")).refused(1, &[&words]);
            }),
            ("--host", |place| {
                let words = ["0.0.0.0 can be reached by others"];
                place.run("serve index --host 0.0.0.0 --port 0").refused(1, &words);
                // Other systems have one such address only.
                if cfg!(target_os = "linux") {
                    let service = serve(place, "--host 127.0.0.2");
                    assert!(service.url.starts_with("http://127.0.0.2:"), "{}", service.url);
                    let port = service.url.rsplit(':').next().unwrap();
                    assert!(TcpStream::connect(format!("127.0.0.1:{port}")).is_err());
                }
            }),
            ("--models", |place| {
                let models = |service: &Service| -> Vec<String> {
                    let found = service.search("heart", &[]);
                    let models = found["models"].as_array().unwrap().iter();
                    models.map(|model| model["name"].as_str().unwrap().to_owned()).collect()
                };
                assert_eq!(models(&serve(place, "")), ["bm25"]);
                assert_eq!(models(&serve(place, "--models rmls,bm25")), ["rmls", "bm25"]);
                // As `liken index` says it.
                assert_eq!(models(&serve(place, "--model rmls")), ["rmls"]);
            }),
            ("--ranker", |place| {
                let ranker = |more: &str| serve(place, more).search("heart", &[])["ranker"].clone();
                assert_eq!(ranker(""), Value::Null);
                assert_eq!(ranker("--ranker best"), "best");
                place.run("serve index --ranker none-such").refused(1, &["none-such", "best"]);
            }),
            ("--candidate-depth", |place| {
                let service = serve(place, "--candidate-depth 2");
                let found = service.search("heart", &[]);
                assert_eq!(
                    (&found["candidate_depth"], &found["candidates"]),
                    (&2.into(), &2.into())
                );
            }),
            ("--timeout", |place| {
                // Half a question, and no more of it.
                let service = serve(place, "--timeout 0.3");
                let mut stream = connected(&service);
                write!(
                    stream,
                    "POST /search HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\
                     content-type: application/json\r\ncontent-length: 20\r\n\r\n{{\"query\""
                )
                .unwrap();
                let mut answer = [0; 12];
                stream.read_exact(&mut answer).unwrap();
                assert_eq!(&answer, b"HTTP/1.1 408");
            }),
            ("--reserve", |place| {
                let service = serve(place, "--reserve 4000000TiB");
                assert_eq!(service.get("/ready").json()["status"], "read only");
            }),
            ("--cors", |place| {
                let service = serve(place, "--cors https://a.example,https://shop.example");
                let headers = "host: localhost\r\norigin: https://shop.example\r\n";
                let allowed = "access-control-allow-origin: https://shop.example\r\n";
                assert!(raw(&service, headers).contains(allowed));
                let headers = "host: localhost\r\norigin: https://evil.example\r\n";
                assert!(!raw(&service, headers).contains("access-control-allow-origin"));
            }),
            ("--host-names", |place| {
                let service = serve(place, "--host-names a.example,search.example");
                let status = |host: &str| raw(&service, &format!("host: {host}\r\n"));
                assert!(status("search.example").starts_with("HTTP/1.1 200 "));
                assert!(status("evil.example").starts_with("HTTP/1.1 421 "));
            }),
            ("--allow-open", |place| {
                place.run("serve index --host 0.0.0.0 --port 0").refused(1, &["--allow-open"]);
                let service = serve(place, "--host 0.0.0.0 --allow-open");
                assert!(raw(&service, "host: 127.0.0.1\r\n").starts_with("HTTP/1.1 200 "));
            }),
            ("--log-format", |place| {
                let logged = |more: &str| {
                    let service = serve(place, more);
                    service.search("heart", &[]);
                    service.stop().err
                };
                for text in [logged(""), logged("--log-format text")] {
                    assert!(text.lines().count() == 1 && text.contains("POST /search"), "{text}");
                }
                let line: Value = serde_json::from_str(&logged("--log-format json")).unwrap();
                assert_eq!((&line["path"], &line["status"]), (&"/search".into(), &200.into()));
                assert_eq!(logged("--log-format none"), "");
            }),
            ("--log-queries", |place| {
                for (more, expected) in [("", false), ("--log-queries", true)] {
                    let service = serve(place, more);
                    service.search("heart attack", &[]);
                    let said = service.stop().err;
                    assert_eq!(said.contains("heart attack"), expected, "{said}");
                }
            }),
        ],
    );
}

/// A program of our own stands for the one that opens addresses, and notes what it is told.
#[cfg(target_os = "linux")]
fn open(place: &Place) {
    use std::os::unix::fs::PermissionsExt;

    place.file(
        "bin/xdg-open",
        "#!/bin/sh\necho \"$1\" > opened.part && /bin/mv opened.part opened\n",
    );
    let program = place.path("bin/xdg-open");
    std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
    let begin = |line: &str| {
        Service::begin_with(place, line, |command| {
            command.env("PATH", place.path("bin"));
        })
        .unwrap_or_else(|said| panic!("{}{}", said.out, said.err))
    };
    begin("serve index").stop();
    assert!(!place.path("opened").exists(), "nobody asked for it");
    let service = begin("serve index --open");
    until("the page is opened", || place.path("opened").exists());
    let opened = std::fs::read_to_string(place.path("opened")).unwrap();
    assert_eq!(opened.trim(), format!("{}/", service.url));
}

#[cfg(not(target_os = "linux"))]
fn open(_: &Place) {}
