//! What lies near what in a model: words, queries and documents by their images, and words by
//! their translations.

use liken::data::Dataset;
use liken::matchers::{Dictionary, Model, Neighbours};
use maud::{Markup, html};

use super::space;
use crate::pages::asked::Asked;
use crate::pages::layout::{self, Cell, Column, Tone, bar, fixed, notice};
use crate::problem::Problem;

/// Neighbours shown.
const NEAR: usize = 15;

/// What lies near: name, title where there is one, cosine.
pub type Near = (String, Option<String>, f64);

/// Lists of what lies near something, each with a heading.
pub type NearLists = Vec<(&'static str, Vec<Near>)>;

/// What lies near a word, a query or a document, whichever `asked` names.
pub fn near(
    model: &Model,
    dataset: Option<&Dataset>,
    asked: &Asked,
) -> Option<Result<NearLists, Problem>> {
    let found = || -> Result<Option<NearLists>, Problem> {
        let plain = |list: Vec<(String, f64)>| -> Vec<Near> {
            list.into_iter().map(|(name, cosine)| (name, None, cosine)).collect()
        };
        if let Some(word) = asked.one("word") {
            let (queries, documents) = Neighbours::of(model)?.words(word, NEAR)?;
            return Ok(Some(vec![
                ("words of queries", plain(queries)),
                ("words of documents", plain(documents)),
            ]));
        }
        if let Some(text) = asked.one("query") {
            let query = model.read_query(text)?;
            let queries = Neighbours::of(model)?.queries(&query, NEAR)?;
            return Ok(Some(vec![("queries", plain(queries))]));
        }
        let Some(id) = asked.one("id") else { return Ok(None) };
        let documents = Neighbours::of(model)?.docs(model.find_doc(id)?, NEAR);
        let same = dataset.filter(|d| d.folder.identity() == model.about.dataset.identity);
        let shown = documents.into_iter().map(|(doc, cosine)| {
            let title = same.and_then(|dataset| title(dataset, doc));
            (model.counts.doc_ids[doc as usize].clone(), title, cosine)
        });
        Ok(Some(vec![("documents", shown.collect())]))
    };
    found().transpose()
}

/// A line to show for a document: its title, or the beginning of its text.
pub fn title(dataset: &Dataset, doc: u32) -> Option<String> {
    let document = dataset.documents.get(doc as usize).ok()?;
    let text =
        |name: &str| document.fields.get(name)?.as_str().filter(|text| !text.trim().is_empty());
    let line = text("title").or_else(|| text("body")).or_else(|| text("url"))?;
    Some(shortened(line, 90))
}

/// The first signs of a text, on one line.
pub fn shortened(text: &str, most: usize) -> String {
    // Of a long text only the beginning is looked at.
    let mut line = String::new();
    let mut signs = 0;
    for word in text.split_whitespace() {
        if signs > most {
            break;
        }
        if !line.is_empty() {
            line.push(' ');
        }
        line.push_str(word);
        signs = line.chars().count();
    }
    if signs <= most {
        return line;
    }
    line.chars().take(most.saturating_sub(1)).chain(['…']).collect()
}

/// Forms to look around, and what they found.
pub fn near_part(dataset: Option<&Dataset>, model: &Model, asked: &Asked) -> Markup {
    if space(model).is_none() {
        return html! {};
    }
    let form = |name: &str, label: &str, example: &str| {
        let id = format!("near-{name}");
        html! {
            form method="get" action="/model#near" {
                @for (name, value) in asked.except(&["word", "query", "id", "translate", "page"]) {
                    input type="hidden" name=(name) value=(value);
                }
                div.field {
                    label for=(id) { (label) }
                    span.pair {
                        input type="text" id=(id) name=(name) placeholder=(example) required maxlength="400"
                            value=[asked.one(name)];
                        button type="submit" { "Show" }
                    }
                }
            }
        }
    };
    html! {
        h2 #near { "What lies near" }
        p.small.quiet { "Nearness is the cosine of the images in the latent space." }
        div.fields {
            (form("word", "Near a word", "automobile"))
            (form("query", "Near a query", "how far is the sun"))
            (form("id", "Near a document, by its id", "doc7"))
        }
        @match near(model, dataset, asked) {
            None => {}
            Some(Err(problem)) => (notice(Tone::Warn, html! { (problem.detail) })),
            Some(Ok(lists)) => {
                div.beside { @for (heading, list) in &lists { (near_table(asked, heading, list)) } }
            }
        }
    }
}

/// A cell with a number and a bar of its size beside it.
pub fn drawn(value: f64, shown: &str, largest: f64) -> Cell {
    let shown = html! { span.drawn { span { (shown) } (bar(value, largest, false)) } };
    Cell { shown, key: Some(value) }
}

fn near_table(asked: &Asked, heading: &str, list: &[Near]) -> Markup {
    let link = |name: &str| {
        let kind = match heading {
            "queries" => "query",
            "documents" => "id",
            _ => "word",
        };
        let changes = [("word", ""), ("query", ""), ("id", ""), (kind, name)];
        let changes: Vec<_> =
            changes.into_iter().filter(|(n, v)| *n != kind || !v.is_empty()).collect();
        asked.address("/model", &changes) + "#near"
    };
    if list.is_empty() {
        return html! { p { "No " (heading) ": the model has learnt nothing about it." } };
    }
    let rows = list.iter().map(|(name, title, cosine)| {
        let shown = html! {
            a href=(link(name)) { (title.as_deref().unwrap_or(name)) }
            @if title.is_some() { " " span.id.quiet { (name) } }
        };
        vec![Cell::markup(shown), drawn(*cosine, &fixed(*cosine, 3), 1.0)]
    });
    let columns = [Column::text(heading), Column::text("cosine")];
    layout::table(&format!("Nearest {heading}"), &columns, rows.collect())
}

/// The table of translations, where the model has one.
pub fn dictionary_part(model: &Model, asked: &Asked) -> Markup {
    let Ok(dictionary) = Dictionary::of(model) else { return html! {} };
    let word = asked.one("translate");
    let found = word.map(|word| {
        [
            ("words of queries that it becomes, t(q|w)", dictionary.from_document(word, NEAR)),
            ("words of documents that it comes from, P(w|q)", dictionary.from_query(word, NEAR)),
        ]
    });
    html! {
        h2 #dictionary { "Dictionary" }
        form method="get" action="/model#dictionary" {
            @for (name, value) in asked.except(&["word", "query", "id", "translate", "page"]) {
                input type="hidden" name=(name) value=(value);
            }
            div.field {
                label for="translate" { "Translations of a word" }
                span.pair {
                    input #translate type="text" name="translate" required maxlength="100" value=[word];
                    button type="submit" { "Show" }
                }
            }
        }
        @for (heading, entry) in found.into_iter().flatten() {
            @match entry {
                Err(error) => (notice(Tone::Warn, html! { (Problem::from(error).detail) })),
                Ok(entry) => {
                    @let rows = entry.translations.iter().map(|(word, p)| {
                        vec![Cell::text(word), drawn(*p, &fixed(*p, 3), 1.0)]
                    });
                    (layout::table(
                        &format!("{}: {heading}", entry.term),
                        &[Column::text("word"), Column::text("probability")],
                        rows.collect(),
                    ))
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_lines_are_cut_between_signs() {
        assert_eq!(shortened("a  b\nc", 90), "a b c");
        assert_eq!(shortened("", 9), "");
        for most in 2..20 {
            let cut = shortened("äöü some words and more of them", most);
            assert!(cut.chars().count() <= most, "{most}: {cut:?}");
            assert!(cut.ends_with('…'), "{cut:?}");
        }
    }
}
