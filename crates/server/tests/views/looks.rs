//! Model, Data and Topics.

use std::sync::Arc;

use liken::Run;
use liken_engine::ServedModel;
use liken_server::api::types::{Neighbour, SimilarRequest, SimilarResponse};
use liken_server::pages::dataset_stats::DatasetStats;
use liken_server::pages::page_jobs::PageJobs;
use liken_server::pages::{data, model, topics};
use liken_server::problem::Problem;
use maud::Markup;

use crate::world::{asked, done, is_clean, served, world};

#[test]
fn a_model_shows_what_it_is_and_what_it_learnt() {
    let world = world();
    let around = |request: &SimilarRequest| {
        if request.word.is_some() {
            return Err(Problem::bad("nothing is known of <img src=x>"));
        }
        let near = Neighbour { name: "one".into(), title: Some("The <first>".into()), cosine: 0.9 };
        let model = served("rmls").about.model.clone();
        let (queries, documents) = match request.query {
            Some(_) => (vec![near], Vec::new()),
            None => (Vec::new(), vec![near]),
        };
        Ok(SimilarResponse { model, queries, documents })
    };
    let look = |pairs: &[(&str, &str)]| {
        model::body(&world.models, &around, &asked(pairs)).map(Markup::into_string)
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
        "Nearest neighbours",
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
    assert!(near.contains("Nearest queries") && near.contains("The &lt;first&gt;"), "{near}");
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
    let none = model::body(&[], &around, &asked(&[])).unwrap().into_string();
    assert!(none.contains("no active model"), "{none}");
}

#[test]
fn the_data_are_counted() {
    let world = world();
    let folder = tempfile::tempdir().unwrap();
    let jobs = PageJobs::new(folder.path());
    let counts = &world.dataset.about().counts;
    let live =
        data::LiveCounts { documents: counts.documents + 2, events: 7, grades: 3, behind: 1 };
    let html = done(|| data::body(&world.models, Some(&world.dataset), &live, &jobs, &asked(&[])));
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
    let fresh = DatasetStats::count(&world.dataset, &run).unwrap();
    let known = DatasetStats::of(&world.dataset, &served("bm25").model.counts, &run).unwrap();
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
        &jobs,
        &asked(&[("from", "18446744073709551615")]),
    );
    assert!(other.is_ok());
    assert!(
        data::body(&[], None, &live, &jobs, &asked(&[]))
            .unwrap()
            .into_string()
            .contains("no dataset inside")
    );
}

#[test]
fn topics_are_shown_where_a_model_has_them() {
    let world = world();
    let folder = tempfile::tempdir().unwrap();
    let jobs = PageJobs::new(folder.path());
    let text = world.dataset.queries.get(0).unwrap().text;
    let look = |models: &[Arc<ServedModel>], pairs: &[(&str, &str)]| {
        topics::body(models, Some(&world.dataset), &jobs, &asked(pairs))
    };
    let html = done(|| look(&world.models, &[("name", "lsi"), ("text", &text), ("sort", "share")]));
    is_clean(&html);
    for wanted in
        ["Topics of the text", "id=\"topic-1\"", "href=\"#topic-1\"", "id=\"map\"", "NPMI"]
    {
        assert!(html.contains(wanted), "no {wanted} in\n{html}");
    }
    let none = look(&[served("bm25")], &[]).unwrap().into_string();
    assert!(none.contains("No active model has topics") && none.contains("/models"), "{none}");
    let other = look(&world.models, &[("name", "bm25")]).unwrap().into_string();
    assert!(other.contains("bm25 has no topics") && other.contains("name=lsi"), "{other}");
    assert!(look(&world.models, &[("name", "nobody")]).is_err());
}
