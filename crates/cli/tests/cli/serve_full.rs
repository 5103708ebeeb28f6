//! A disk without room: writes are refused with a reason, reads go on, and nothing has to be
//! started again.

use serde_json::{Value, json};

use crate::place::Place;
use crate::service::Service;
use crate::shared::at;

fn indexed() -> Place {
    let place = Place::new();
    place.run(&format!("index {} --model {} -o index", at("data"), at("bm25"))).silent();
    place
}

fn large(number: usize) -> Value {
    let body = format!("heart {} ", number).repeat(2_000);
    json!({ "title": "heart", "body": body, "number": number })
}

#[test]
fn a_reserve_is_kept_free() {
    let place = indexed();
    let service = Service::start(&place, "serve index --reserve 4000000TiB --log-format none");
    assert_eq!(service.get("/ready").json()["status"], "read only", "before anybody wrote");
    let before = service.search("heart attack", &[]);
    let words = ["MiB left", "are kept free", "Free some space, and write again"];
    service.put("/documents/x", &large(1)).refused(507, &words);
    let event = json!({ "kind": "click", "query": "heart", "id": "d0001" });
    service.post("/events", &event).refused(507, &words);
    let grade = json!({ "query": "heart", "id": "d0001", "grade": 2 });
    service.post("/judgments", &grade).refused(507, &words);
    let status = service.get("/ready").json();
    assert_eq!((&status["status"], &status["written"]), (&"read only".into(), &0.into()));
    assert_eq!(service.search("heart attack", &[])["hits"], before["hits"]);
    // What makes room, or takes hardly any, may use the reserve.
    let deleted = service.ask("DELETE", "/documents/d0001?wait=true", None);
    assert_eq!(deleted.json()["written"], 1);
    let unknown = service.ask("DELETE", "/documents/nobody", None);
    assert_eq!(unknown.json()["written"], 0);
    place.run("key add index --name shop").fine();
    service.stop();
    let service = Service::start(&place, "serve index --reserve 1 --log-format none");
    service.get("/documents/x").refused(401, &["API key"]);
}

/// The largest file that the service may write from now on.
#[cfg(target_os = "linux")]
fn limit_files(service: &Service, most: u64) {
    let limit = libc::rlimit { rlim_cur: most, rlim_max: libc::RLIM_INFINITY };
    // SAFETY: `limit` is read during the call alone, and nothing is written back.
    let done = unsafe {
        libc::prlimit(service.id() as i32, libc::RLIMIT_FSIZE, &limit, std::ptr::null_mut())
    };
    assert_eq!(done, 0, "{}", std::io::Error::last_os_error());
}

#[cfg(target_os = "linux")]
#[test]
fn files_that_take_no_more_stop_writes_until_they_do() {
    let place = indexed();
    let service = Service::start(&place, "serve index --log-format none");
    let mut kept = Vec::new();
    let mut write = |service: &Service, number: usize| {
        let answer = service.put(&format!("/documents/x{number}"), &large(number));
        if answer.status == 200 {
            kept.push(number);
        } else {
            answer.refused(507, &["searching goes on", "write again"]);
        }
        answer.status
    };
    assert_eq!(write(&service, 0), 200);
    service.settle();
    let mut number = 1;
    for _ in 0..3 {
        let written = |name: &str| {
            std::fs::metadata(place.path(&format!("index/store.sqlite{name}")))
                .map_or(0, |file| file.len())
        };
        limit_files(&service, written("").max(written("-wal")) + 100_000);
        // Some may still fit; soon none does.
        let mut refused = 0;
        while refused < 3 {
            refused += usize::from(write(&service, number) == 507);
            number += 1;
            assert!(number < 5_000, "the limit does not hold");
            let status = service.get("/health");
            assert_eq!(status.status, 200, "{}", status.text);
            service.search("heart attack", &[]);
            assert_eq!(service.get("/documents/x0").json()["number"], 0);
        }
        assert_eq!(service.get("/ready").json()["status"], "read only");
        limit_files(&service, libc::RLIM_INFINITY);
        assert_eq!(write(&service, number), 200);
        number += 1;
        assert_eq!(service.settle()["status"], "ok");
    }
    // Everything acknowledged is there, everything refused is not, now and after a crash.
    let there = |service: &Service| -> Vec<usize> {
        let is_there = |n: &usize| service.get(&format!("/documents/x{n}")).status == 200;
        (0..number).filter(is_there).collect()
    };
    assert_eq!(there(&service), kept);
    service.kill();
    let service = Service::start(&place, "serve index --log-format none");
    assert_eq!(there(&service), kept);
    let ask = json!({ "query": "heart", "k": 10_000, "candidate_depth": 10_000 });
    let found = service.post("/search", &ask).json();
    let found = found["hits"].as_array().unwrap().iter();
    let ids = found.filter(|hit| hit["id"].as_str().unwrap().starts_with('x')).count();
    assert_eq!(ids, kept.len());
}
