//! Whole pages: nothing becomes markup, everything has a label, everything adds up.

use super::explain::{explanation, whole_page};
use super::fixture::{self, HOSTILE};
use super::judge;
use super::pool::pooled;
use super::search::{default_columns, render};
use crate::api::types::Hit;

/// All elements as (name, attributes).
fn elements(html: &str) -> Vec<(&str, &str)> {
    html.split('<')
        .skip(1)
        .filter(|tag| tag.starts_with(|c: char| c.is_ascii_alphabetic()))
        .map(|tag| {
            let tag = tag.split_once('>').map_or(tag, |(tag, _)| tag);
            tag.split_once(' ').unwrap_or((tag, ""))
        })
        .collect()
}

fn attribute<'a>(attributes: &'a str, name: &str) -> Option<&'a str> {
    let at = attributes.find(&format!("{name}=\""))? + name.len() + 2;
    attributes[at..].split('"').next()
}

/// What holds of every page.
fn sound(html: &str) {
    let scripts = html.matches("<script").count();
    assert!(scripts <= 1 && html.matches("<script src=\"/assets/").count() == scripts, "{html}");
    for (name, attributes) in elements(html) {
        assert!(!matches!(name, "style" | "img" | "iframe" | "object"), "{name} in {html}");
        // What stands between quotes is text; what is left are the attributes' names.
        let names: String = attributes.split('"').step_by(2).collect();
        for name in names.split([' ', '=']) {
            assert!(name != "style" && !name.starts_with("on"), "<{name} {attributes}>");
        }
        let link = attribute(attributes, "href").unwrap_or("");
        assert!(!link.trim_start().to_lowercase().starts_with("javascript"), "{link}");
        let hidden = attribute(attributes, "type") == Some("hidden");
        if matches!(name, "input" | "select" | "textarea") && !hidden {
            let id = attribute(attributes, "id").unwrap_or("none");
            let labelled =
                html.contains(&format!("for=\"{id}\"")) || attributes.contains("aria-label");
            assert!(labelled, "no label for <{name} {attributes}>");
        }
    }
    let mut seen = std::collections::HashSet::new();
    for (_, attributes) in elements(html) {
        let padded = format!(" {attributes}");
        if let Some(id) = attribute(&padded, " id") {
            assert!(seen.insert(id.to_owned()), "id {id} twice");
        }
    }
}

#[test]
fn no_text_of_users_or_documents_becomes_markup() {
    let mut explained =
        fixture::ranked(fixture::fused(&fixture::latent_of(1), &fixture::latent_of(0)));
    fixture::poison(&mut explained);
    let fragment = explanation(&explained);
    let pages = [
        render(&fixture::hostile()),
        whole_page(&fixture::hostile().ask, HOSTILE, HOSTILE, fragment),
    ];
    for page in pages {
        let html = page.into_string();
        sound(&html);
        assert!(!html.contains("<script>") && !html.contains("<img"), "{html}");
        assert!(html.contains("&lt;script&gt;alert('x')&lt;/script&gt;"), "{html}");
    }
}

#[test]
fn pages_are_sound_and_say_where_columns_differ() {
    let html = render(&fixture::view()).into_string();
    sound(&html);
    for text in [
        "<strong>rmls</strong> finds 5 that share no word with your query.",
        "<strong>bm25</strong> and <strong>rmls</strong> agree on 2 of the 7 documents below.",
        "No model knows <em>zzyzx</em>.",
        "No word of the query is in it; <em>heart</em> ~ <em>cardiac</em>",
        "only here",
        "<mark>",
        "href=\"https://example.org/\"",
        "data-explain=\"/explain?q=aspirin%20heart%20attack%20zzyzx&amp;m=bm25%2Brmls&amp;id=MED-2301&amp;fragment=1\"",
        "rel=\"next\"",
    ] {
        assert!(html.contains(text), "no {text} in {html}");
    }
    assert_eq!(html.matches("<section class=\"column\"").count(), 3);
    assert_eq!(html.matches("<li class=\"hit\"").count(), 15);
}

#[test]
fn the_first_page_offers_queries_and_explains_the_columns() {
    let html = render(&fixture::welcome()).into_string();
    sound(&html);
    for text in [
        "3,633 documents",
        "vitamin d deficiency",
        "has learnt from clicks",
        "href=\"/?q=omega%203&amp;m=bm25&amp;m=rmls&amp;m=bm25%2Brmls\"",
    ] {
        assert!(html.contains(text), "no {text} in {html}");
    }
}

#[test]
fn empty_and_failed_columns_explain_themselves() {
    let mut view = fixture::view();
    if let Ok(answer) = &mut view.columns[0].answer {
        answer.hits.clear();
    }
    view.columns[1].answer = Err(crate::problem::Problem::missing("no model “rmls”"));
    view.ask.filter = "{}".into();
    let html = render(&view).into_string();
    sound(&html);
    for text in ["Nothing found", "pass the filter", "no model “rmls”", "Another spelling"] {
        assert!(html.contains(text), "no {text} in {html}");
    }
}

#[test]
fn an_explanation_shows_sums_that_are_the_score() {
    let answer = fixture::fused(
        &fixture::lexical("d", &[("aspirin", 5.125), ("heart", 2.0)], &["aspirin"]),
        &fixture::latent_of(0),
    );
    let html = explanation(&answer).into_string();
    sound(&html);
    let shown = format!("score <strong>{:.2}</strong>", answer.score);
    assert!(html.contains(&shown), "no {shown} in {html}");
    let rmls = answer.models[1].score;
    assert!(html.contains(&format!("<strong>{rmls:.2}</strong>")), "{html}");
    assert!(html.contains("1 × (score − mean 4.25) / deviation 2.5"), "{html}");
    let ranked = fixture::ranked(answer);
    let html = explanation(&ranked).into_string();
    sound(&html);
    assert!(html.contains("5 other features") && html.contains("missing"), "{html}");
    let sum = ranked.ranker.as_ref().map(|r| r.score).unwrap();
    assert!(html.contains(&format!("<td class=\"n\">{sum:.2}</td>")), "{html}");
}

#[test]
fn the_default_columns_are_a_counting_and_a_learnt_model_and_both() {
    let models = fixture::models();
    assert_eq!(default_columns(&models), ["bm25", "rmls", "bm25+rmls"]);
    assert_eq!(default_columns(&models[..1]), ["bm25"]);
    assert!(default_columns(&[]).is_empty());
}

#[test]
fn the_pool_has_every_document_once_in_an_order_that_tells_nothing() {
    let hits = |order: &[usize]| -> Vec<Hit> {
        let view = fixture::view();
        let all = view.columns.into_iter().flat_map(|column| column.answer.unwrap().hits);
        let all: Vec<Hit> = all.collect();
        order.iter().map(|&i| all[i].clone()).collect()
    };
    let ids = |order: &[usize], query: &str| -> Vec<String> {
        pooled(query, hits(order), &[], "").into_iter().map(|p| p.hit.id).collect()
    };
    let forwards: Vec<usize> = (0..15).collect();
    let backwards: Vec<usize> = (0..15).rev().collect();
    let order = ids(&forwards, "a");
    assert_eq!(order, ids(&backwards, "a"));
    assert_ne!(order, ids(&forwards, "b"));
    let distinct: std::collections::HashSet<&String> = order.iter().collect();
    assert_eq!((order.len(), distinct.len()), (8, 8));
    let html = judge::render(&fixture::judging()).into_string();
    sound(&html);
    let cards = html.split_once("<form id=\"judging\"").unwrap().1;
    assert!(!cards.contains("bm25") && !cards.contains("rmls"), "{cards}");
}

#[test]
fn the_judge_sees_own_grades_as_pressed_and_those_of_others_beside() {
    let view = fixture::judging();
    let html = judge::render(&view).into_string();
    for text in [
        "<span data-done>2</span> of 8 documents graded",
        "<button type=\"submit\" name=\"g\" value=\"3 MED-118\" data-g=\"3\" aria-pressed=\"true\">",
        "<button type=\"submit\" name=\"g\" value=\"2 MED-118\" data-g=\"2\" aria-pressed=\"false\">",
        "Graded by others: Bob 2",
        "href=\"/judge?q=omega%203&amp;judge=Ann\"",
        "href=\"/judgments.qrels\"",
    ] {
        assert!(html.contains(text), "no {text} in {html}");
    }
    assert_eq!(judge::next_query(&view), Some("omega 3"));
}

#[test]
fn nothing_that_is_judged_becomes_markup() {
    let mut view = fixture::judging();
    let found: Vec<Hit> =
        fixture::hostile().columns.into_iter().flat_map(|c| c.answer.unwrap().hits).collect();
    view.pool = pooled(HOSTILE, found, &[], "");
    view.pool[0].others = vec![(HOSTILE.into(), 1)];
    view.ask.query = HOSTILE.into();
    view.ask.judge = HOSTILE.into();
    view.failed = vec![(HOSTILE.into(), HOSTILE.into())];
    view.offered[1].query = HOSTILE.into();
    let html = judge::render(&view).into_string();
    sound(&html);
    assert!(!html.contains("<img"), "{html}");
}

/// The headings with their levels, in order.
fn outline(html: &str) -> Vec<(u8, String)> {
    let mut out = Vec::new();
    for fragment in html.split("<h").skip(1) {
        let level = fragment.bytes().next().filter(u8::is_ascii_digit);
        let Some(level) = level.map(|digit| digit - b'0') else { continue };
        let inner = fragment.split_once('>').unwrap().1;
        let inner = inner.split_once(&format!("</h{level}>")).unwrap().0;
        let text = inner.split('<').map(|p| p.split_once('>').map_or(p, |(_, text)| text));
        out.push((level, text.collect()));
    }
    out
}

#[test]
fn headings_go_down_one_level_at_a_time() {
    let explained = fixture::ranked(fixture::fused(&fixture::latent_of(1), &fixture::latent_of(0)));
    let pages = [
        render(&fixture::view()),
        render(&fixture::welcome()),
        whole_page(&fixture::view().ask, "rmls", "Title", explanation(&explained)),
        judge::render(&fixture::judging()),
    ];
    for page in pages {
        let levels: Vec<u8> =
            outline(&page.into_string()).iter().map(|(level, _)| *level).collect();
        assert_eq!(levels[0], 1);
        assert!(levels.windows(2).all(|pair| pair[1] > 1 && pair[1] <= pair[0] + 1), "{levels:?}");
    }
    let search = outline(&render(&fixture::view()).into_string());
    let first: Vec<(u8, &str)> = search.iter().take(6).map(|(l, t)| (*l, t.as_str())).collect();
    let expected = [
        (1, "Search"),
        (2, "bm25"),
        (3, "Aspirin and the prevention of heart attack"),
        (3, "What to do in a heart attack"),
        (3, "Panic attack or heart trouble?"),
        (2, "rmls"),
    ];
    assert_eq!(first, expected);
}
