//! Compare, Model, Data and Topics over a made-up log with models trained on it.

#![allow(missing_docs, clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use liken::Run;
use liken::data::Dataset;
use liken::eval::{Candidates, CompareParams, Contender, HeldOut, Measure, Variant, compare};
use liken::features::Preparation;
use liken::matchers::{Mixture, Params};
use liken::synth::{Synthetic, SyntheticLog};
use liken::training::train;
use liken_server::api::types::{Judgment, ModelAbout, ModelRef};
use liken_server::engine::Served;
use liken_server::pages::asked::Asked;
use liken_server::pages::compare::{self, Material, Questions, rank};
use liken_server::pages::layout::{SCRIPT, STYLE, Tab, page};
use liken_server::pages::studies::Studies;
use liken_server::pages::{data, model, topics};
use liken_server::problem::Problem;
use maud::Markup;

struct World {
    folder: tempfile::TempDir,
    dataset: Dataset,
    models: Vec<Arc<Served>>,
}

/// A demo log and models, made once for all tests.
fn world() -> &'static World {
    static WORLD: OnceLock<World> = OnceLock::new();
    WORLD.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let log = Synthetic { scale: 0.2, ..Synthetic::new(SyntheticLog::Demo) };
        log.write(&data, false, &Run::silent()).unwrap();
        let dataset = Dataset::open(&data).unwrap();
        let specs = [
            ("bm25", "bm25"),
            ("rmls", "rmls"),
            ("mix", "0.5*pls+0.5*bm25"),
            ("lsi", "lsi"),
            ("translation", "translation"),
        ];
        let models = specs.map(|(name, spec)| serve(&dataset, folder.path(), name, spec)).into();
        World { folder, dataset, models }
    })
}

fn serve(dataset: &Dataset, folder: &Path, name: &str, spec: &str) -> Arc<Served> {
    let mixture = Mixture::parse(spec).unwrap();
    let params: Vec<Params> = mixture
        .parts
        .iter()
        .map(|(_, name)| {
            let mut params = Params::named(name).unwrap();
            if params.has_dim() {
                params.set("dim", "25").unwrap();
            }
            params
        })
        .collect();
    let trained =
        train(dataset, &Preparation::default(), &mixture, &params, &Run::silent()).unwrap();
    let path = folder.join(name);
    trained.save(&path, false, Duration::ZERO).unwrap();
    let about = ModelAbout {
        model: ModelRef { name: name.into(), version: "1".into() },
        active: true,
        method: spec.into(),
        dim: None,
        loaded: 0.0,
        neighbours: Some("exact".into()),
    };
    Arc::new(Served::alone(about, path, trained.model))
}

fn served(name: &str) -> Arc<Served> {
    world().models.iter().find(|served| served.about.model.name == name).unwrap().clone()
}

fn asked(pairs: &[(&str, &str)]) -> Asked {
    Asked(pairs.iter().map(|&(name, value)| (name.to_owned(), value.to_owned())).collect())
}

fn no_judgments() -> Result<Vec<Judgment>, Problem> {
    Ok(Vec::new())
}

fn material(judged: &'static dyn Fn() -> Result<Vec<Judgment>, Problem>) -> Material<'static> {
    let world = world();
    Material { models: world.models.clone(), dataset: Some(&world.dataset), judged }
}

/// The page once the work in the background is done.
fn done(look: impl Fn() -> Result<Markup, Problem>) -> String {
    for _ in 0..600 {
        let html = look().unwrap().into_string();
        if !html.contains("data-reload") {
            return html;
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    panic!("it is never done");
}

/// No page carries script or style of its own, or an address that runs script.
fn is_clean(html: &str) {
    for bad in ["<script", "style=", "javascript:", "onclick", "NaN", "inf<"] {
        assert!(!html.contains(bad), "{bad} in\n{html}");
    }
    // Every control has a label, every id is there once.
    let ids: Vec<&str> =
        html.split(" id=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect();
    assert_eq!(ids.iter().collect::<BTreeSet<_>>().len(), ids.len(), "{ids:?}");
    for label in html.split("<label for=\"").skip(1) {
        let id = label.split('"').next().unwrap();
        assert!(ids.contains(&id), "a label of nothing: {id}");
    }
}

#[test]
fn models_are_measured_as_liken_compare_measures_them() {
    let world = world();
    let names = ["bm25", "rmls"];
    let measures: Vec<Measure> =
        ["nDCG@1", "nDCG@10", "P@5", "RR"].iter().map(|m| m.parse().unwrap()).collect();
    let contenders: Vec<Contender> = names
        .iter()
        .map(|name| Contender {
            name: (*name).to_owned(),
            matcher: Arc::clone(&served(name).model.parts[0].matcher),
            weighs_clicks: true,
        })
        .collect();
    let rows: Vec<Mixture> = names.iter().map(|name| Mixture::parse(name).unwrap()).collect();
    for on in [HeldOut::Test, HeldOut::Validation] {
        for candidates in [Candidates::Auto, Candidates::All, Candidates::Judged] {
            let params = CompareParams {
                rows: &rows,
                measures: &measures,
                tune_on: measures[0],
                baseline: 0,
                on,
                candidates,
                variant: Variant::default(),
                seed: 1,
            };
            let counts = &served("bm25").model.counts;
            let expected =
                compare(&world.dataset, counts, &contenders, &params, &Run::silent()).unwrap();
            let model = &served("bm25").model;
            let questions = Questions::held_out(&world.dataset, on, candidates, model).unwrap();
            let runs: Vec<_> = names
                .iter()
                .map(|name| {
                    let run = rank(&served(name).model, &questions, &|_| {});
                    ((*name).to_owned(), Arc::new(run))
                })
                .collect();
            let ours =
                compare::table(&questions, &runs, "nDCG@1, nDCG@10, P@5, RR", 0, true).unwrap();
            assert_eq!(ours.queries.len(), expected.queries);
            for (row, theirs) in ours.rows.iter().zip(&expected.rows) {
                for (cell, their) in row.cells.iter().zip(&theirs.cells) {
                    let (a, b) = (cell.mean.unwrap(), their.mean.unwrap());
                    assert!((a - b).abs() < 1e-12, "{on:?} {candidates:?} {}: {a} {b}", row.name);
                    assert_eq!(
                        cell.against.map(|against| against.wins_ties_losses),
                        their.against.map(|against| against.wins_ties_losses)
                    );
                }
            }
        }
    }
}

#[test]
fn models_and_runs_are_compared_query_by_query() {
    let folder = tempfile::tempdir().unwrap();
    let studies = Studies::new(folder.path());
    // A run of "another engine" that is bm25's own ranking, with a hostile name.
    let world = world();
    let bm25 = served("bm25");
    let questions =
        Questions::held_out(&world.dataset, HeldOut::Test, Candidates::Auto, &bm25.model).unwrap();
    let ranking = rank(&bm25.model, &questions, &|_| {});
    let mut csv = String::from("query,doc,score\n");
    for query in ranking.queries() {
        for hit in query.hits() {
            csv.push_str(&format!("\"{}\",\"{}\",{}\n", query.id, hit.doc, hit.score));
        }
    }
    let name = "<script>alert(1)</script>";
    let (run, link) = compare::upload(&studies, name, &csv).unwrap();
    assert_eq!(run.name, name);
    assert!(link.starts_with("/compare?add=run%3A%3Cscript"), "{link}");

    let material = material(&no_judgments);
    let key = format!("run:{name}");
    let pairs = [("runs", "bm25"), ("runs", key.as_str()), ("runs", "rmls"), ("of", key.as_str())];
    let html = done(|| compare::body(&material, &studies, &asked(&pairs)));
    is_clean(&html);
    assert!(html.contains("&lt;script&gt;alert(1)&lt;/script&gt;"), "{html}");
    assert!(html.contains("Queries 1 to "), "{html}");
    // The same ranking: every query is a tie.
    let n = questions.queries.len();
    assert!(html.contains(&format!("better for 0, no different for {n}, worse for 0")), "{html}");
    let wins = [pairs.as_slice(), &[("show", "wins")]].concat();
    assert!(done(|| compare::body(&material, &studies, &asked(&wins))).contains("No query fits."));

    // Against rmls there are wins, by difference, and they lead to both models side by side.
    let pairs = [("runs", "bm25"), ("runs", "rmls"), ("show", "wins")];
    let html = done(|| compare::body(&material, &studies, &asked(&pairs)));
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
    let html = done(|| compare::body(&material, &studies, &asked(&far)));
    assert!(html.contains("class=\"n win\""), "{html}");
    let none = [pairs.as_slice(), &[("q", "\"><img src=x onerror=alert(1)>")]].concat();
    let html = done(|| compare::body(&material, &studies, &asked(&none)));
    assert!(html.contains("No query fits.") && !html.contains("<img"), "{html}");

    compare::delete(&studies, name).unwrap();
    let gone = compare::body(&material, &studies, &asked(&[("runs", key.as_str())]));
    assert_eq!(gone.map(|_| ()).unwrap_err().status, 404);
}

#[test]
fn a_page_of_many_queries_holds_fifty() {
    let folder = tempfile::tempdir().unwrap();
    let studies = Studies::new(folder.path());
    let material = material(&no_judgments);
    let pairs = [("runs", "bm25,mix"), ("on", "validation"), ("sort", "query")];
    let first = done(|| compare::body(&material, &studies, &asked(&pairs)));
    let rows = |html: &str| {
        html.matches("class=\"n win\"").count()
            + html.matches("class=\"n loss\"").count()
            + html.matches("class=\"n tie\"").count()
    };
    let n = world().dataset.about().counts.validation.0;
    assert_eq!(rows(&first), n.min(50));
    let pages = n.div_ceil(50);
    let all: usize = (1..=pages)
        .map(|page| {
            let page = page.to_string();
            let pairs = [pairs.as_slice(), &[("page", page.as_str())]].concat();
            rows(&done(|| compare::body(&material, &studies, &asked(&pairs))))
        })
        .sum();
    assert_eq!(all, n);
}

#[test]
fn grades_of_the_judge_page_count_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let studies = Studies::new(folder.path());
    let none =
        done(|| compare::body(&material(&no_judgments), &studies, &asked(&[("on", "judged")])));
    assert!(none.contains("Nothing has been judged yet"), "{none}");
    let judged: &'static dyn Fn() -> Result<Vec<Judgment>, Problem> = &|| {
        let model = &served("bm25").model;
        let mut judgments = Vec::new();
        for text in model.counts.query_texts.iter().take(30) {
            let Ok(query) = model.read_query(text) else { continue };
            for (grade, hit) in [2, 0, 1].into_iter().zip(model.search(&query, 3)) {
                judgments.push(Judgment {
                    query: text.clone(),
                    id: model.counts.doc_ids[hit.doc as usize].clone(),
                    grade: Some(grade),
                    judge: None,
                });
            }
        }
        Ok(judgments)
    };
    let pairs = [("runs", "bm25,lsi"), ("qrels", "judged"), ("measures", "P@1")];
    let html = done(|| compare::body(&material(judged), &studies, &asked(&pairs)));
    is_clean(&html);
    // Its own first result is always the relevant one.
    assert!(html.contains("<strong>1.0000</strong>"), "{html}");
}

#[test]
fn what_cannot_be_compared_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let studies = Studies::new(folder.path());
    let material = material(&no_judgments);
    let problem = |pairs: &[(&str, &str)]| loop {
        match compare::body(&material, &studies, &asked(pairs)) {
            Err(problem) => return problem,
            Ok(html) => assert!(html.into_string().contains("data-reload"), "{pairs:?}"),
        }
        std::thread::sleep(Duration::from_millis(50));
    };
    assert_eq!(problem(&[("measures", "speed@9")]).status, 400);
    assert_eq!(problem(&[("runs", "nobody")]).status, 404);
    assert_eq!(problem(&[("on", "train")]).status, 400);
    compare::upload(&studies, "strange", "q-of-others Q0 d 1 1.0 t\n").unwrap();
    let strange = problem(&[("runs", "bm25,run:strange")]);
    assert!(strange.status == 400 && strange.detail.contains("ids"), "{strange}");
    // With one query that is judged, those that are missing may count as 0.
    let n_queries = world().dataset.about().counts.queries;
    let judged = (0..n_queries).find(|&i| !world().dataset.test.row(i).is_empty()).unwrap();
    let id = world().dataset.queries.get(judged).unwrap().id;
    compare::upload(&studies, "strange", &format!("query,doc,score\n\"{id}\",d,1\n")).unwrap();
    let pairs = [("runs", "bm25,run:strange"), ("missing", "zero")];
    let html = done(|| compare::body(&material, &studies, &asked(&pairs)));
    assert!(html.contains("strange: no results for"), "{html}");
    let bare = Material { models: Vec::new(), dataset: None, judged: &no_judgments };
    let html = compare::body(&bare, &studies, &asked(&[])).unwrap().into_string();
    assert!(html.contains("no dataset inside") && html.contains("Bring a run"), "{html}");
}

#[test]
fn a_model_shows_what_it_is_and_what_it_learnt() {
    let world = world();
    let look = |pairs: &[(&str, &str)]| {
        model::body(&world.models, Some(&world.dataset), &asked(pairs)).map(Markup::into_string)
    };
    let rmls = look(&[("name", "rmls")]).unwrap();
    is_clean(&rmls);
    for text in [
        "Objective",
        "Density",
        "Effective rank",
        "Dimension 1<",
        "Dimension 20<",
        "Page 1 of 2",
        "What lies near",
        "Parameters",
        "latent dimensions",
    ] {
        assert!(rmls.contains(text), "no {text} in\n{rmls}");
    }
    assert!(!rmls.contains("Dimension 21<"), "{rmls}");
    let second = look(&[("name", "rmls"), ("page", "2")]).unwrap();
    assert!(second.contains("Dimension 21<") && !second.contains("Dimension 20<"), "{second}");

    // The words of the first dimension are those with the largest numbers.
    let served = served("rmls");
    let space = served.model.parts[0].matcher.bilinear().unwrap();
    let counts = &served.model.counts;
    let first = &model::dimensions(space.maps(), counts, 0..1, 3)[0];
    let mut all: Vec<(f32, u32)> = (0..counts.n_terms() as u32)
        .map(|term| (space.maps().l_y.row(term as usize)[0], term))
        .collect();
    all.sort_by(|a, b| b.0.abs().total_cmp(&a.0.abs()).then(a.1.cmp(&b.1)));
    let words: Vec<&str> = first.documents.iter().map(|(word, _)| word.as_str()).collect();
    let expected: Vec<&str> =
        all[..3].iter().map(|&(_, term)| counts.vocabulary.term(term)).collect();
    assert_eq!(words, expected);

    // Near a word of a training query, a query and a document.
    let query = (0..counts.n_queries()).find(|&i| !counts.clicks.row(i).is_empty()).unwrap();
    let text = counts.query_texts[query].clone();
    let id = counts.doc_ids[counts.clicks.row(query).indices[0] as usize].clone();
    let near = look(&[("name", "rmls"), ("query", &text)]).unwrap();
    assert!(near.contains("Nearest queries"), "{near}");
    let near = look(&[("name", "rmls"), ("id", &id)]).unwrap();
    assert!(near.contains("Nearest documents"), "{near}");
    let near = look(&[("name", "rmls"), ("word", "<img src=x>")]).unwrap();
    assert!(near.contains("class=\"notice warn\"") && !near.contains("<img"), "{near}");

    let mix = look(&[("name", "mix")]).unwrap();
    is_clean(&mix);
    assert!(mix.contains("pls × 0.5") && mix.contains("bm25 × 0.5"), "{mix}");
    let lexical = look(&[("name", "bm25")]).unwrap();
    is_clean(&lexical);
    assert!(
        lexical.contains("most frequent terms") && !lexical.contains("Dimension 1"),
        "{lexical}"
    );
    let word = counts.vocabulary.term(counts.queries.row(query).indices[0]).to_owned();
    let translation = look(&[("name", "translation"), ("translate", &word)]).unwrap();
    is_clean(&translation);
    assert!(translation.contains("Dictionary"), "{translation}");
    assert_eq!(look(&[("name", "nobody")]).unwrap_err().status, 404);
    let none = model::body(&[], None, &asked(&[])).unwrap().into_string();
    assert!(none.contains("no active model"), "{none}");
}

#[test]
fn the_data_are_counted() {
    let world = world();
    let folder = tempfile::tempdir().unwrap();
    let studies = Studies::new(folder.path());
    let counts = &world.dataset.about().counts;
    let live = data::Live { documents: counts.documents + 2, events: 7, grades: 3, behind: 1 };
    let html =
        done(|| data::body(&world.models, Some(&world.dataset), &live, &studies, &asked(&[])));
    is_clean(&html);
    for text in [
        "(2 more than the dataset)",
        "<strong>7</strong> events",
        "Table 1",
        "Queries by clicks",
        "Length of documents",
        "Documents of a query",
        "Grades in test",
        "Examples",
        "What import kept and dropped",
    ] {
        assert!(html.contains(text), "no {text} in\n{html}");
    }
    // Counted from a model's counts or anew from the text, the figures are the same.
    let run = Run::silent();
    let fresh = data::Figures::read(&world.dataset, &run).unwrap();
    let known = data::Figures::of(&world.dataset, &served("bm25").model.counts, &run).unwrap();
    assert_eq!(format!("{fresh:?}"), format!("{known:?}"));
    let queries: usize = fresh.query_lengths.iter().map(|(_, n)| n).sum();
    assert_eq!(queries, counts.queries);
    let documents: usize = fresh.document_lengths.iter().map(|(_, n)| n).sum();
    assert_eq!(documents, counts.documents);
    assert_eq!(
        fresh.table.as_ref().unwrap().n_x,
        fresh.documents_per_query.iter().map(|(_, n)| n).sum::<usize>()
    );
    let judged: usize = fresh.grades[1].iter().map(|(_, n)| n).sum();
    assert_eq!(judged, counts.test.1);
    let other = data::body(
        &world.models,
        Some(&world.dataset),
        &live,
        &studies,
        &asked(&[("from", "18446744073709551615")]),
    );
    assert!(other.is_ok());
    assert!(
        data::body(&[], None, &live, &studies, &asked(&[]))
            .unwrap()
            .into_string()
            .contains("no dataset inside")
    );
}

#[test]
fn topics_are_shown_where_a_model_has_them() {
    let world = world();
    let folder = tempfile::tempdir().unwrap();
    let studies = Studies::new(folder.path());
    let text = world.dataset.queries.get(0).unwrap().text;
    let look = |models: &[Arc<Served>], pairs: &[(&str, &str)]| {
        topics::body(models, Some(&world.dataset), &studies, &asked(pairs))
    };
    let html = done(|| look(&world.models, &[("name", "lsi"), ("text", &text), ("sort", "share")]));
    is_clean(&html);
    for wanted in
        ["Topics of the text", "id=\"topic-1\"", "href=\"#topic-1\"", "id=\"map\"", "NPMI"]
    {
        assert!(html.contains(wanted), "no {wanted} in\n{html}");
    }
    let none = look(&[served("bm25")], &[]).unwrap().into_string();
    assert!(
        none.contains("No active model has topics") && none.contains("liken train lda"),
        "{none}"
    );
    let other = look(&world.models, &[("name", "bm25")]).unwrap().into_string();
    assert!(other.contains("bm25 has no topics") && other.contains("name=lsi"), "{other}");
    assert!(look(&world.models, &[("name", "nobody")]).is_err());
}

/// Writes the pages into the folder that `LIKEN_PAGES` names, to be looked at.
#[test]
#[ignore = "for people who want to look at the pages"]
fn pages_to_look_at() {
    let folder = std::env::var("LIKEN_PAGES").expect("LIKEN_PAGES names a folder");
    let folder = Path::new(&folder);
    let put = |name: &str, text: &str| {
        std::fs::File::create(folder.join(name)).unwrap().write_all(text.as_bytes()).unwrap();
    };
    put("style.css", STYLE);
    put("script.js", SCRIPT);
    let world = world();
    let studies = Studies::new(world.folder.path());
    compare::upload(&studies, "elsewhere.run", "a Q0 b 1 1 t\n").unwrap();
    let material = material(&no_judgments);
    let live = data::Live { documents: 1, events: 7, grades: 3, behind: 0 };
    let (models, dataset) = (&world.models, Some(&world.dataset));
    let page = |tab: Tab, look: &dyn Fn() -> Result<Markup, Problem>| {
        let body = done(look);
        let html = page(tab.name(), tab, maud::PreEscaped(body)).into_string();
        html.replace("/assets/", "")
    };
    put("compare.html", &page(Tab::Compare, &|| compare::body(&material, &studies, &asked(&[]))));
    let word = asked(&[("name", "rmls"), ("word", "car")]);
    put("model.html", &page(Tab::Model, &|| model::body(models, dataset, &word)));
    let word = asked(&[("name", "translation"), ("translate", "car")]);
    put("translation.html", &page(Tab::Model, &|| model::body(models, dataset, &word)));
    put("bm25.html", &page(Tab::Model, &|| model::body(models, dataset, &asked(&[]))));
    put(
        "data.html",
        &page(Tab::Data, &|| data::body(models, dataset, &live, &studies, &asked(&[]))),
    );
    let text = asked(&[("text", "heart attack")]);
    put("topics.html", &page(Tab::Topics, &|| topics::body(models, dataset, &studies, &text)));
    put(
        "topics-none.html",
        &page(Tab::Topics, &|| topics::body(&models[..1], dataset, &studies, &text)),
    );
}
