//! Compare with models alone: pages of queries, and grades given on the Judge page.

use liken_engine::Changed;
use liken_server::api::types::Judgment;
use liken_server::pages::compare::{self, CompareSources};
use liken_server::pages::page_jobs::PageJobs;
use liken_server::problem::Problem;

use crate::world::{asked, done, is_clean, material, no_judgments, served, world};

#[test]
fn a_page_of_many_queries_holds_fifty() {
    let folder = tempfile::tempdir().unwrap();
    let jobs = PageJobs::new(folder.path());
    let material = material(&no_judgments);
    let pairs = [("runs", "bm25,mix"), ("on", "validation"), ("sort", "query")];
    let first = done(|| compare::body(&material, &jobs, &asked(&pairs)));
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
            rows(&done(|| compare::body(&material, &jobs, &asked(&pairs))))
        })
        .sum();
    assert_eq!(all, n);
}

#[test]
fn grades_of_the_judge_page_count_at_once() {
    let folder = tempfile::tempdir().unwrap();
    let jobs = PageJobs::new(folder.path());
    let none = done(|| compare::body(&material(&no_judgments), &jobs, &asked(&[("on", "judged")])));
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
    let html = done(|| compare::body(&material(judged), &jobs, &asked(&pairs)));
    is_clean(&html);
    // Its own first result is always the relevant one.
    assert!(html.contains("<strong>1.0000</strong>"), "{html}");
}

#[test]
fn documents_that_are_not_ranked_are_told() {
    let folder = tempfile::tempdir().unwrap();
    let jobs = PageJobs::new(folder.path());
    let mut material = material(&no_judgments);
    let look = |material: &CompareSources<'_>, on: &str| {
        let pairs = [("runs", "bm25"), ("on", on)];
        done(|| compare::body(material, &jobs, &asked(&pairs)))
    };
    assert!(!look(&material, "test").contains("trained with"));
    material.changed = Changed { added: 1234, removed: 1 };
    let html = look(&material, "test");
    assert!(html.contains("1,234 documents written after training are not ranked"), "{html}");
    assert!(html.contains("1 document deleted or replaced since is still ranked"), "{html}");
    assert!(!html.contains("count against") && look(&material, "judged").contains("count against"));
}
