//! The plots of a topic model: the map, and the sizes and coherence of topics.

use liken::matchers::{TopicSummary, TopicsSummary};
use liken_pages::{Axis, Bubble, Bubbles, Panel};

use crate::pages::charts::{self, svgs};
use crate::pages::format::fixed;

/// The id of a topic on the page.
pub fn id(topic: usize) -> String {
    format!("topic-{topic}")
}

/// The heaviest words of a topic.
pub fn first_words(topic: &TopicSummary, most: usize) -> String {
    let words: Vec<&str> = topic.words.iter().take(most).map(|word| word.word.as_str()).collect();
    words.join(" ")
}

/// The name of a topic.
pub fn title(topic: &TopicSummary) -> String {
    match &topic.class {
        Some(class) => format!("Topic {} ({class})", topic.topic),
        None => format!("Topic {}", topic.topic),
    }
}

/// A share in percent.
pub fn percent(share: f64) -> String {
    format!("{} %", fixed(100.0 * share, 1))
}

/// Topics in the plane: those with the same words lie near each other.
pub fn map(summary: &TopicsSummary) -> String {
    let mut kinds = vec!["shared".to_owned()];
    kinds.extend(summary.classes.iter().map(|class| class.name.clone()));
    let kind = |topic: &TopicSummary| match &topic.class {
        Some(name) => kinds.iter().skip(1).position(|known| known == name).map_or(0, |at| at + 1),
        // Without classes there is one kind, which need not be grey.
        None => usize::from(summary.classes.is_empty()),
    };
    let bubble = |topic: &TopicSummary| {
        let [x, y] = topic.place?;
        Some(Bubble {
            x,
            y,
            size: topic.share,
            kind: kind(topic),
            name: topic.topic.to_string(),
            label: first_words(topic, 1),
            about: format!(
                "{}: {}; {} of the documents",
                title(topic),
                first_words(topic, 10),
                percent(topic.share)
            ),
            link: Some(id(topic.topic)),
        })
    };
    let bubbles: Vec<Bubble> = summary.topics.iter().filter_map(bubble).collect();
    let about = format!("Map of {} topics; every topic is a link to its words", bubbles.len());
    let kinds = if summary.classes.is_empty() { Vec::new() } else { kinds };
    Bubbles { about, kinds, bubbles }.svg()
}

/// Shares and coherence of all topics, the largest first.
pub fn sizes(summary: &TopicsSummary) -> Vec<String> {
    let coherence = format!("NPMI of {} words, the best first", summary.coherence_words);
    let panels = vec![
        bars(summary, "Share of the documents, the largest first", "share", |t| Some(t.share)),
        bars(summary, &coherence, "NPMI", |topic| topic.npmi),
    ];
    let largest = summary.topics.iter().max_by(|a, b| a.share.total_cmp(&b.share));
    let about = format!(
        "Shares and coherence of {} topics; the largest is {}",
        summary.topics.len(),
        largest.map_or_else(String::new, |topic| format!(
            "{} with {}",
            title(topic),
            percent(topic.share)
        ))
    );
    svgs(panels, &about)
}

fn bars(
    summary: &TopicsSummary,
    heading: &str,
    label: &str,
    value: impl Fn(&TopicSummary) -> Option<f64>,
) -> Panel {
    let mut found: Vec<(f64, &TopicSummary)> =
        summary.topics.iter().filter_map(|topic| Some((value(topic)?, topic))).collect();
    found.sort_by(|a, b| b.0.total_cmp(&a.0));
    let bars = found.into_iter().map(|(value, topic)| {
        let about = format!("{} ({}): {value:.3}", title(topic), first_words(topic, 5));
        (topic.topic.to_string(), value, about)
    });
    charts::bars(heading, "topic", Axis::linear(label), bars)
}
