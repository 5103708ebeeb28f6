//! What a fit would take, before it is begun.

use std::fs;

use serde_json::Value;

use crate::place::{Place, Said};
use crate::shared::at;

/// Runs with a cache of its own.
fn run(place: &Place, line: &str) -> Said {
    let mut command = place.command(line);
    Said::of(command.env("XDG_CACHE_HOME", place.path("cache")).output().unwrap())
}

const NUMBERS: &str = "--queries 1000 --documents 2000 --query-features 3000 --doc-features 4000 --nnz-x 5000 --nnz-y 9000 --nnz-r 3000";

#[test]
fn numbers_alone_are_enough() {
    let place = Place::new();
    let said = run(&place, &format!("plan {NUMBERS} --dim 100")).silent();
    said.shows(&["most memory for", "singular vectors during training", "just now"]);
    let said = run(&place, &format!("plan {NUMBERS} --dim 100 --format json")).silent().json();
    let planned: Vec<&str> =
        said["plans"].as_array().unwrap().iter().map(|p| p["method"].as_str().unwrap()).collect();
    // Every method, and no second name of one.
    for (name, _) in
        liken::matchers::methods().filter(|(name, _)| !["lm-dirichlet", "lsi"].contains(name))
    {
        assert_eq!(planned.iter().filter(|method| **method == name).count(), 1, "{planned:?}");
    }
    assert!(!planned.contains(&"lm-dirichlet") && !planned.contains(&"lsi"), "{planned:?}");
    let said = run(&place, &format!("plan {NUMBERS} --methods rmls,pls+bm25")).silent();
    said.shows(&[
        "\nrmls: ",
        "\npls in pls+bm25: ",
        "\nbm25 in pls+bm25: ",
        "models fitted before",
    ]);
    let total = |more: &str| {
        let line = format!("plan {NUMBERS} --dim 100 --methods rmls --format json --set {more}");
        run(&place, &line).silent().json()["plans"][0]["total"].as_u64().unwrap()
    };
    let random = total("start=random");
    assert!(total("start=random --validation-scores 9000") > random);
    assert!(total("start=random --set negatives.per_click=5") > random);
    let json = run(
        &place,
        &format!(
            "plan {NUMBERS} --dim 100 --methods rmls --set start=random --sweeps 7 --format json"
        ),
    );
    let json = json.silent().json();
    let plan = &json["plans"][0];
    let lines = plan["lines"].as_array().unwrap();
    let maps = lines.iter().find(|line| line[0] == "maps L_x and L_y").unwrap();
    // Four panels of 32 columns, and a factor for each row.
    assert_eq!(maps[1], 7000 * (4 * 32 * 4 + 4));
    let sum: u64 = lines.iter().map(|line| line[1].as_u64().unwrap()).sum();
    assert_eq!(plan["total"], sum);
    assert!(plan["seconds"].as_array().unwrap().iter().any(|line| line[0] == "7 sweeps"));
    run(&place, "plan --queries 3").refused(2, &["--documents", "--nnz-r"]);
    run(&place, "plan").refused(2, &["DATASET"]);
    run(&place, &format!("plan data {NUMBERS}")).refused(2, &["cannot be used with"]);
    let large = u64::MAX;
    for (more, word) in [
        (format!("--methods mpls --dim {large}"), "--dim 18446744073709551615"),
        (format!("--methods ridge --set keep={large}"), "keep"),
    ] {
        run(&place, &format!("plan {NUMBERS} {more}")).refused(2, &[word]);
    }
    let wide = "--queries 4000000000 --documents 4000000000 --query-features 4000000000 \
                --doc-features 4000000000 --nnz-x 200000000000000 --nnz-y 200000000000000 \
                --nnz-r 200000000000000 --dim 1000000";
    run(&place, &format!("plan {wide}")).silent().shows(&["ridge", "TiB"]);
    run(&place, &format!("plan {NUMBERS} --methods rml")).refused(2, &["no method is called"]);
    let many = NUMBERS.replace("--nnz-r 3000", "--nnz-r 2000001");
    run(&place, &format!("plan {many}")).refused(2, &["--nnz-r 2000001", "at most 2000000"]);
    assert!(place.names().is_empty());
}

#[test]
fn a_dataset_is_counted() {
    let place = Place::new();
    let line = format!("plan {} --methods pls,rmls --dim 50 --format json", at("data"));
    let json = run(&place, &line).silent().json();
    let total = |at: usize| json["plans"][at]["total"].as_u64().unwrap();
    assert!(total(0) > 1 << 20 && total(1) > 1 << 20, "{json}");
    // Validation costs time, and is in the plan.
    let seconds: &Value = &json["plans"][1]["seconds"];
    assert!(seconds.to_string().contains("validation, "), "{seconds}");
}

#[test]
fn a_calibration_is_kept_and_used() {
    let place = Place::new();
    let said = run(&place, "plan --calibrate").silent();
    said.shows(&["threads, measured now, stored in", "machine.json", "gather, beyond it"]);
    let text = fs::read_to_string(place.path("cache/liken/machine.json")).unwrap();
    let machine: Value = serde_json::from_str(&text).unwrap();
    assert!(machine["rates"]["gather_far"].as_f64().unwrap() > 0.0);
    run(&place, &format!("plan {NUMBERS}")).silent().shows(&["measured by calibration"]);
    let one = run(&place, &format!("--threads 1 plan {NUMBERS}")).silent();
    one.shows(&[", 1 thread, measured by calibration"]);
    // One of another machine, or no JSON at all, is passed over.
    place.file("cache/liken/machine.json", text.replace("\"processor\": \"", "\"processor\": \"x"));
    run(&place, &format!("plan {NUMBERS}")).silent().shows(&["just now"]);
    place.file("cache/liken/machine.json", "{");
    run(&place, &format!("plan {NUMBERS}")).silent().shows(&["just now"]);
    let mut homeless = place.command("plan --calibrate");
    homeless.env_remove("XDG_CACHE_HOME").env_remove("HOME");
    Said::of(homeless.output().unwrap())
        .refused(2, &["no folder to store the result", "XDG_CACHE_HOME"]);
}

#[test]
fn training_refuses_what_does_not_fit_and_leaves_nothing() {
    let place = Place::new();
    for method in ["pls", "rmls", "rmls+bm25"] {
        place
            .run(&format!("train {method} {} -o model --max-memory 20MiB", at("data")))
            .refused(1, &["would take", "may take 20.0 MiB", "--dim", "--max-memory SIZE"]);
    }
    // Whoever fits keeps to it.
    place
        .run(&format!("compare {} --models bm25,pls --max-memory 20MiB", at("data")))
        .refused(1, &["not enough memory", "may take 20.0 MiB", "--max-memory SIZE"]);
    place.run(&format!("train pls {} -o x --max-memory lots", at("data"))).refused(2, &["lots"]);
    assert!(place.names().is_empty(), "{:?}", place.names());
    // Lexical models have no plan, and what fits says nothing as long as it is small.
    place.run(&format!("train bm25 {} -o a --max-memory 20MiB", at("data"))).silent();
    place.run(&format!("train pls {} -o b --dim 5 --max-memory 2GiB", at("data"))).silent();
    // A large share of what is allowed is announced.
    let said =
        place.run(&format!("train pls {} -o c --dim 5 --max-memory 60MiB", at("data"))).fine();
    assert!(said.err.contains("pls: ") && said.err.contains("X, Y, R and their"), "{}", said.err);
    place.run(&format!("train pls {} -o d --dim 5 --max-memory 60MiB -q", at("data"))).silent();
}

/// The most memory of its own that the command had, looked at again and again until it ended.
#[cfg(target_os = "linux")]
fn most_memory(mut command: std::process::Command) -> u64 {
    use std::process::Stdio;
    use std::time::{Duration, Instant};
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let status = format!("/proc/{}/status", child.id());
    let deadline = Instant::now() + Duration::from_secs(600);
    let mut most = 0;
    let ended = loop {
        // A process that has just ended has no such line any more.
        let text = fs::read_to_string(&status).unwrap_or_default();
        let line = text.lines().find_map(|line| line.strip_prefix("RssAnon:"));
        let kib = line.and_then(|line| line.trim().strip_suffix(" kB")?.parse::<u64>().ok());
        most = most.max(kib.unwrap_or(0) << 10);
        if let Some(ended) = child.try_wait().unwrap() {
            break ended;
        }
        assert!(Instant::now() < deadline, "no end after ten minutes");
        std::thread::sleep(Duration::from_millis(2));
    };
    assert!(ended.success());
    most
}

#[cfg(target_os = "linux")]
#[test]
fn a_fit_takes_what_is_planned() {
    let place = Place::new();
    place.run("synth one-week --scale 0.2 -o data").fine();
    for fit in ["pls --set dim=200", "rmls --set dim=400 --set start=random --set sweeps=2"] {
        let (method, set) = fit.split_once(' ').unwrap();
        let plan = run(&place, &format!("plan data --methods {method} {set} --format json"));
        let planned = plan.silent().json()["plans"][0]["total"].as_u64().unwrap();
        assert!(planned > 150 << 20, "{fit}: {planned}");
        let taken =
            most_memory(place.command(&format!("train {method} data -o model --force {set}")));
        // What the program has before and beside the fit is no part of the plan.
        let beside = 48 << 20;
        assert!(taken < planned + beside, "{fit}: {taken} of {planned}");
        assert!(taken > planned / 3, "{fit}: {taken} of {planned}");
    }
}
