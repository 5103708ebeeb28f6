//! A process that writes is killed at random moments: what it acknowledged is there, whole.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::*;
use crate::types::Event;

/// Where the child finds the database; without it the child's test does nothing.
const CHILD: &str = "LIKEN_STORE_CRASH_CHILD";
/// How often the child is killed.
const ROUNDS: &str = "LIKEN_STORE_CRASH_ROUNDS";
const THREADS: u64 = 3;

/// What a thread of the child does.
enum Step {
    Upsert(Vec<(String, Body)>),
    Delete(Vec<String>),
    Record(Vec<Event>),
}

fn mixed(seed: u64) -> u64 {
    // SplitMix64.
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// Step `i` of a thread: the same for parent and child. Threads have ids of their own.
fn step(round: u64, thread: u64, i: u64) -> Step {
    let seed = mixed(round << 40 | thread << 32 | i);
    let id = |n: u64| format!("{round}-{thread}-{}", mixed(seed ^ n) % 17);
    let n = 1 + seed % 5;
    match seed >> 8 & 7 {
        0 => Step::Delete((0..n).map(id).collect()),
        1 | 2 => {
            let event = |n: u64| Event {
                kind: "click".into(),
                query: format!("{n}"),
                id: Some(id(n)),
                session: Some(format!("{round}-{thread}-{i}")),
                time: Some(1e9),
                ..Event::default()
            };
            Step::Record((0..n).map(event).collect())
        }
        _ => {
            // From a few bytes to several pages.
            let body = |n: u64| {
                let long = mixed(seed ^ n ^ 99) % if n == 0 { 20_000 } else { 300 };
                let mut body = saying(format!("{i} {n} ").repeat(long as usize / 5));
                body.insert("end".into(), json!([round, thread, i, n]));
                body
            };
            Step::Upsert((0..n).map(|n| (id(n), body(n))).collect())
        }
    }
}

/// Run by the test below as a process of its own, which ends by being killed.
#[test]
fn child() {
    let Ok(told) = std::env::var(CHILD) else { return };
    let (round, path) = told.split_once(' ').unwrap();
    let round: u64 = round.parse().unwrap();
    let store = reopened(Path::new(path)).unwrap();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let store = &store;
            scope.spawn(move || {
                for i in 0.. {
                    match step(round, thread, i) {
                        Step::Upsert(documents) => store.upsert(documents).unwrap(),
                        Step::Delete(ids) => store.delete(&ids).unwrap(),
                        Step::Record(events) => store.record(events).unwrap(),
                    };
                    if i % 16 == 15 {
                        store.clear_gone(store.last_change().unwrap()).unwrap();
                    }
                    writeln!(std::io::stdout(), "ack {thread} {i}").unwrap();
                }
            });
        }
    });
}

/// Starts the child, kills it, and returns how many steps each thread was told of.
fn round(round: u64, path: &Path) -> Vec<u64> {
    let name = module_path!().split_once("::").unwrap().1;
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([&format!("{name}::child"), "--exact", "--nocapture", "--test-threads=1"])
        .env(CHILD, format!("{round} {}", path.display()))
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut output = BufReader::new(child.stdout.take().unwrap());
    let mut random = [0; 8];
    getrandom::fill(&mut random).unwrap();
    // At times before it has written anything.
    let patience = Duration::from_millis(5 + u64::from_le_bytes(random) % 300);
    let killer = std::thread::spawn(move || {
        std::thread::sleep(patience);
        child.kill().unwrap();
        child.wait().unwrap();
    });
    let mut told = vec![0; THREADS as usize];
    let mut line = String::new();
    while output.read_line(&mut line).unwrap() > 0 {
        // The last line may be cut, and the first begins with what the test runner says.
        let whole = line.strip_suffix('\n');
        if let Some((_, rest)) = whole.and_then(|line| line.split_once("ack ")) {
            let (thread, i) = rest.split_once(' ').unwrap();
            let place = &mut told[thread.parse::<usize>().unwrap()];
            assert_eq!(*place, i.parse::<u64>().unwrap());
            *place += 1;
        }
        line.clear();
    }
    killer.join().unwrap();
    told
}

type Documents = BTreeMap<String, Body>;
type Sessions = BTreeMap<String, Vec<String>>;

/// What the first `n` steps of a thread lead to.
fn expected(round: u64, thread: u64, n: u64) -> (Documents, Sessions) {
    let (mut documents, mut sessions) = (Documents::new(), Sessions::new());
    for i in 0..n {
        match step(round, thread, i) {
            Step::Upsert(some) => documents.extend(some),
            Step::Delete(ids) => ids.iter().for_each(|id| {
                documents.remove(id);
            }),
            Step::Record(events) => {
                let queries = events.iter().map(|event| event.query.clone()).collect();
                sessions.insert(events[0].session.clone().unwrap(), queries);
            }
        }
    }
    (documents, sessions)
}

#[test]
fn what_was_acknowledged_survives_being_killed() {
    let rounds = std::env::var(ROUNDS).ok().and_then(|n| n.parse().ok()).unwrap_or(12);
    let (folder, store) = fresh();
    drop(store);
    let path = folder.path().join("store.sqlite");
    let mut settled: BTreeMap<(u64, u64), (Documents, Sessions)> = BTreeMap::new();
    let mut acknowledged = 0;
    for at in 0..rounds {
        let told = round(at, &path);
        acknowledged += told.iter().sum::<u64>();
        let store = reopened(&path).unwrap();
        assert_eq!(store.check().unwrap(), Vec::<String>::new());
        // What is there, by round and thread.
        let mut found: BTreeMap<(u64, u64), (Documents, Sessions)> = BTreeMap::new();
        let key = |name: &str| {
            let mut parts = name.split('-').map(|part| part.parse::<u64>().unwrap());
            (parts.next().unwrap(), parts.next().unwrap())
        };
        for (id, (_, body)) in standing(&store) {
            found.entry(key(&id)).or_default().0.insert(id, body);
        }
        for (_, event) in store.events(0, usize::MAX).unwrap() {
            let session = event.session.unwrap();
            let sessions = &mut found.entry(key(&session)).or_default().1;
            sessions.entry(session).or_default().push(event.query);
        }
        for thread in 0..THREADS {
            let n = told[thread as usize];
            let here = found.remove(&(at, thread)).unwrap_or_default();
            // The step that was under way is there as a whole, or not at all.
            let fits = (n..=n + 1).any(|n| expected(at, thread, n) == here);
            assert!(fits, "round {at}, thread {thread}: not what {n} steps lead to");
            settled.insert((at, thread), here);
        }
        settled.retain(|_, (documents, sessions)| !(documents.is_empty() && sessions.is_empty()));
        for (key, earlier) in settled.iter().filter(|((round, _), _)| *round < at) {
            assert_eq!(found.remove(key).as_ref(), Some(earlier), "of an earlier round");
        }
        assert!(found.is_empty(), "nothing that nobody wrote");
    }
    assert!(rounds < 4 || acknowledged > 0, "the child must get to write");
}
