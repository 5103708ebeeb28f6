//! The page of `liken topics --html`: a map of the topics, their words as bars, and their shares of
//! documents and classes.

use liken::matchers::{TopicSummary, TopicsSummary};
use liken_pages::{Bar, Card, Page, Part};
use liken_server::pages::topics::plots::{first_words, id, map, sizes, title};

use crate::output::counted;
use crate::search::DocTexts;
use crate::topics_figures::{npmi, percent, remarks, weight};

/// Limit of shared topics in the heat map, which shows the largest.
const HEAT: usize = 15;

/// The page as HTML.
pub fn page(summary: &TopicsSummary, model: &str, texts: Option<&DocTexts>) -> String {
    let mut page = Page::titled(format!("Topics of {model}"));
    let parts = &mut page.parts;
    parts.extend(remarks(summary).into_iter().map(Part::Text));
    parts.push(Part::Anchor("map".into()));
    parts.push(Part::Heading("Map".into()));
    parts.push(Part::Text(
        "Topics with similar words are near each other. The area of a circle is the topic's share of the documents. Select a topic to see its words."
            .into(),
    ));
    parts.push(Part::Plot(map(summary)));
    let left_out =
        summary.topics.iter().filter(|topic| topic.place.is_none() && topic.n_words > 0).count();
    if left_out > 0 {
        parts.push(Part::Text(format!("Not on the map: {}.", counted(left_out, "smaller topic"))));
    }
    parts.push(Part::Heading("Share and coherence".into()));
    parts.push(Part::Plot(sizes(summary).concat()));
    if !summary.classes.is_empty() {
        classes(summary, parts);
    }
    parts.push(Part::Heading("All topics".into()));
    let card = |topic| card(topic, summary, texts);
    parts.push(Part::Cards(summary.topics.iter().map(card).collect(), "map".into()));
    page.html()
}

/// Adds the shares of shared topics in every class.
fn classes(summary: &TopicsSummary, parts: &mut Vec<Part>) {
    parts.push(Part::Heading("Shared topics and topics of classes".into()));
    parts.push(Part::Text(
        "Share of shared topics (grey, with the number) and of the class's own topics (blue) in the documents of each class."
            .into(),
    ));
    let bar = |class: &liken::matchers::TopicClass| {
        let own = if class.documents > 0 { 1.0 - class.shared } else { 0.0 };
        let value = percent(class.shared);
        Bar { segments: vec![(class.shared, 5), (own, 0)], ..Bar::new(&class.name, 0.0, value) }
    };
    parts.push(Part::Bars(summary.classes.iter().map(bar).collect()));
    let mut shared: Vec<&TopicSummary> =
        summary.topics.iter().filter(|topic| topic.class.is_none()).collect();
    shared.sort_by(|a, b| b.share.total_cmp(&a.share));
    shared.truncate(HEAT);
    if shared.is_empty() {
        return;
    }
    parts.push(Part::Text(match shared.len() == HEAT {
        true => format!("Share of the {HEAT} largest shared topics in each class."),
        false => "Share of each shared topic in each class.".into(),
    }));
    let mut heading = vec!["class".to_owned()];
    heading.extend(shared.iter().map(|topic| format!("{} {}", topic.topic, first_words(topic, 1))));
    let row = |class: &liken::matchers::TopicClass| {
        let share = |topic: &&TopicSummary| {
            class.shared_topics.get(topic.topic - 1).copied().unwrap_or_default()
        };
        (class.name.clone(), shared.iter().map(share).collect())
    };
    parts.push(Part::Heat { heading, rows: summary.classes.iter().map(row).collect() });
}

fn card(topic: &TopicSummary, summary: &TopicsSummary, texts: Option<&DocTexts>) -> Card {
    let mut lines = vec![format!(
        "{} of the documents, strongest in {}; NPMI {}; {} of {}",
        percent(topic.share),
        topic.strongest_in,
        npmi(topic.npmi),
        topic.n_words,
        counted(summary.terms, "word"),
    )];
    let documents: Vec<String> = topic
        .documents
        .iter()
        .map(|document| {
            let title = texts.map(|texts| texts.title(document.doc)).unwrap_or_default();
            if title.is_empty() { document.id.clone() } else { title }
        })
        .collect();
    if !documents.is_empty() {
        lines.push(format!("Documents: {}", documents.join(" · ")));
    }
    if topic.n_words == 0 {
        lines.push("All words have the weight 0.".into());
    }
    let bar = |word: &liken::matchers::TopicWord| {
        Bar::new(&word.word, f64::from(word.weight), weight(word.weight))
    };
    Card {
        id: id(topic.topic),
        title: title(topic),
        lines,
        bars: topic.words.iter().map(bar).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn summary() -> TopicsSummary {
        let figures = serde_json::json!({
            "topics": 4, "dead": 0, "avg_comp": 0.1, "npmi": 0.2, "share": 1.0
        });
        let topic = |number: usize, class: Option<&str>, x: f64| {
            serde_json::json!({
                "topic": number, "class": class, "n_words": 2, "flipped": false, "npmi": -0.1,
                "words": [{ "word": "<b>", "weight": 0.5 }, { "word": "car", "weight": 0.25 }],
                "share": 0.25, "strongest_in": 3, "place": [x, 0.1]
            })
        };
        let class = |name: &str, shared: f64| {
            serde_json::json!({
                "name": name, "documents": 10, "shared": shared, "shared_topics": [shared, 0.0]
            })
        };
        serde_json::from_value(serde_json::json!({
            "method": "grlsi", "documents": 20, "documents_without": 1, "terms": 30, "signed": true,
            "coherence_words": 10, "all": figures, "shared": figures, "of_classes": figures,
            "classes": [class("rec.autos", 0.4), class("sci.space", 0.9)],
            "topics": [
                topic(1, None, 0.0), topic(2, None, 1.0),
                topic(3, Some("rec.autos"), 2.0), topic(4, Some("sci.space"), 3.0)
            ]
        }))
        .unwrap()
    }

    #[test]
    fn classes_are_on_the_page() {
        let html = page(&summary(), "grlsi+bm25", None);
        for text in [
            "<h1>Topics of grlsi+bm25</h1>",
            "shared topics (4): AvgComp 0.1000, mean NPMI 0.200; 100.0 % of the documents",
            "1 document has no topic",
            ">40.0 %</td>",
            "<th scope=\"col\">1 &lt;b&gt;</th>",
            "/ 0.600)\">90.0 %</td>",
            "<h3>Topic 3 (rec.autos)</h3>",
            ">sci.space</text>",
        ] {
            assert!(html.contains(text), "no {text} in\n{html}");
        }
        assert!(!html.contains("<b>"), "words are no markup");
    }
}
