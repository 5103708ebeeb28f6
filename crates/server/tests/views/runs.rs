//! Runs of other engines beside models.

use std::time::{Duration, Instant};

use liken::eval::{Candidates, HeldOut};
use liken_server::pages::compare::{self, CompareSources, JudgedQueries, rank};
use liken_server::pages::page_jobs::PageJobs;

use crate::world::{asked, done, is_clean, material, no_judgments, served, world};

#[test]
fn models_and_runs_are_compared_query_by_query() {
    let folder = tempfile::tempdir().unwrap();
    let jobs = PageJobs::new(folder.path());
    // A run of "another engine" that is bm25's own ranking, with a hostile name.
    let world = world();
    let bm25 = served("bm25");
    let questions =
        JudgedQueries::held_out(&world.dataset, HeldOut::Test, Candidates::All, &bm25.model)
            .unwrap();
    let ranking = rank(&bm25.model, &questions, &|_| {});
    let mut csv = String::from("query,doc,score\n");
    for query in ranking.queries() {
        for hit in query.hits() {
            csv.push_str(&format!("\"{}\",\"{}\",{}\n", query.id, hit.doc, hit.score));
        }
    }
    let name = "<script>alert(1)</script>";
    let material = material(&no_judgments);
    let (run, link) = compare::store(&material, &jobs, name, &csv).unwrap();
    assert_eq!(run.name, name);
    assert!(link.starts_with("/compare?add=run%3A%3Cscript"), "{link}");

    let key = format!("run:{name}");
    let pairs = [("runs", "bm25"), ("runs", key.as_str()), ("runs", "rmls"), ("of", key.as_str())];
    let html = done(|| compare::body(&material, &jobs, &asked(&pairs)));
    is_clean(&html);
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    assert!(html.contains("Queries 1 to "), "{html}");
    let said = "Candidates: </strong>all documents, because a run has what its engine retrieved";
    assert!(html.contains(said), "{html}");
    // The same ranking: every query is a tie.
    let n = questions.queries.len();
    assert!(html.contains(&format!("better for 0, no different for {n}, worse for 0")), "{html}");
    let wins = [pairs.as_slice(), &[("show", "wins")]].concat();
    assert!(done(|| compare::body(&material, &jobs, &asked(&wins))).contains("No query fits."));

    // Against rmls there are wins, by difference, and they lead to both models side by side.
    let pairs = [("runs", "bm25"), ("runs", "rmls"), ("show", "wins")];
    let html = done(|| compare::body(&material, &jobs, &asked(&pairs)));
    is_clean(&html);
    assert!(html.contains("&amp;m=rmls&amp;m=bm25"), "{html}");
    let gains: Vec<f64> = html
        .split("<td class=\"n win\">+")
        .skip(1)
        .map(|rest| rest.split('<').next().unwrap().parse().unwrap())
        .collect();
    assert!(!gains.is_empty() && gains.is_sorted_by(|a, b| a >= b), "{gains:?}");
    assert!(gains.iter().all(|&gain| gain > 0.0));
    // A page far beyond the end is the last one; a filter that fits nothing says so.
    let far = [pairs.as_slice(), &[("page", "99999999999999999")]].concat();
    let html = done(|| compare::body(&material, &jobs, &asked(&far)));
    assert!(html.contains("class=\"n win\""), "{html}");
    let none = [pairs.as_slice(), &[("q", "\"><img src=x onerror=alert(1)>")]].concat();
    let html = done(|| compare::body(&material, &jobs, &asked(&none)));
    assert!(html.contains("No query fits.") && !html.contains("<img"), "{html}");

    jobs.runs.delete(name).unwrap();
    let gone = compare::body(&material, &jobs, &asked(&[("runs", key.as_str())]));
    assert_eq!(gone.map(|_| ()).unwrap_err().status, 404);
}

#[test]
fn what_cannot_be_compared_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let jobs = PageJobs::new(folder.path());
    let material = material(&no_judgments);
    let problem = |pairs: &[(&str, &str)]| {
        let deadline = Instant::now() + Duration::from_secs(60);
        while Instant::now() < deadline {
            match compare::body(&material, &jobs, &asked(pairs)) {
                Err(problem) => return problem,
                Ok(html) => assert!(html.into_string().contains("data-reload"), "{pairs:?}"),
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("it is never refused: {pairs:?}");
    };
    assert_eq!(problem(&[("measures", "speed@9")]).status, 400);
    assert_eq!(problem(&[("runs", "nobody")]).status, 404);
    assert_eq!(problem(&[("on", "train")]).status, 400);
    // With one query that is judged, those that are missing may count as 0.
    let n_queries = world().dataset.about().counts.queries;
    let judged = (0..n_queries).find(|&i| !world().dataset.test.row(i).is_empty()).unwrap();
    let id = world().dataset.queries.get(judged).unwrap().id;
    let doc = &served("bm25").model.counts.doc_ids[0];
    let run = |id: &str, doc: &str| format!("query,doc,score\n\"{id}\",\"{doc}\",1\n");
    compare::store(&material, &jobs, "strange", &run(&id, doc)).unwrap();
    let pairs = [("runs", "bm25,run:strange"), ("missing", "zero")];
    let html = done(|| compare::body(&material, &jobs, &asked(&pairs)));
    assert!(html.contains("strange: no results for"), "{html}");
    // Runs without a query in common cannot stand in one table.
    let mut others = (judged + 1..n_queries).filter(|&i| !world().dataset.test.row(i).is_empty());
    let other = world().dataset.queries.get(others.next_back().unwrap()).unwrap().id;
    compare::store(&material, &jobs, "stranger", &run(&other, doc)).unwrap();
    let apart = problem(&[("runs", "run:strange,run:stranger")]);
    assert!(apart.status == 400 && apart.detail.contains("ids"), "{apart}");
    let bare = CompareSources {
        models: Vec::new(),
        dataset: None,
        ..crate::world::material(&no_judgments)
    };
    let html = compare::body(&bare, &jobs, &asked(&[])).unwrap().into_string();
    assert!(html.contains("no dataset inside") && html.contains("Upload a run"), "{html}");
}

#[test]
fn a_run_that_cannot_be_measured_is_refused_with_a_reason() {
    let folder = tempfile::tempdir().unwrap();
    let jobs = PageJobs::new(folder.path());
    let material = material(&no_judgments);
    let counts = world().dataset.about().counts.queries;
    let judged = (0..counts).find(|&i| !world().dataset.test.row(i).is_empty()).unwrap();
    let query = world().dataset.queries.get(judged).unwrap();
    let doc = &served("bm25").model.counts.doc_ids[0];
    for (query, doc, said) in
        [("of-others", doc.as_str(), "judged queries"), (&query.id, "of-others", "documents")]
    {
        let text = format!("query,doc,score\n\"{query}\",\"{doc}\",1\n");
        let problem = compare::store(&material, &jobs, "strange", &text).unwrap_err();
        assert!(problem.status == 400 && problem.detail.contains(said), "{problem}");
        assert!(problem.detail.contains("of-others"), "{problem}");
        assert!(jobs.runs.list().is_empty());
    }
    for name in [&query.id, &query.text] {
        let text = format!("query,doc,score\n\"{name}\",\"{doc}\",1\n");
        compare::store(&material, &jobs, "fits", &text).unwrap();
    }
    // Where nothing is judged yet, nothing can be said against queries.
    let bare = CompareSources {
        models: Vec::new(),
        dataset: None,
        ..crate::world::material(&no_judgments)
    };
    let text = format!("query,doc,score\nof-others,\"{doc}\",1\n");
    compare::store(&bare, &jobs, "early", &text).unwrap();
}

#[test]
fn judged_documents_alone_beside_a_run_are_doubted() {
    let folder = tempfile::tempdir().unwrap();
    let jobs = PageJobs::new(folder.path());
    let material = material(&no_judgments);
    let questions = JudgedQueries::held_out(
        &world().dataset,
        HeldOut::Test,
        Candidates::All,
        &served("bm25").model,
    );
    let mut csv = String::from("query,doc,score\n");
    for query in &questions.unwrap().queries {
        csv.push_str(&format!("\"{}\",\"{}\",1\n", query.id, query.judged[0]));
    }
    compare::store(&material, &jobs, "other", &csv).unwrap();
    let doubt = "it may look worse by that alone";
    let judged = [("runs", "bm25,run:other"), ("candidates", "judged")];
    let html = done(|| compare::body(&material, &jobs, &asked(&judged)));
    assert!(html.contains(doubt) && html.contains("the judged documents of each query"), "{html}");
    for pairs in [&judged[..1], &[("runs", "bm25"), ("candidates", "judged")]] {
        let html = done(|| compare::body(&material, &jobs, &asked(pairs)));
        assert!(!html.contains(doubt), "{html}");
    }
}
