//! Numbers and lines that the terminal and the page of `liken topics` both show.

use liken::matchers::{TopicFigures, TopicsSummary};
pub use liken_server::pages::topics::plots::percent;

use crate::output::{NOTHING, counted, plural};

/// A summary of all topics, one line per fact.
pub fn remarks(summary: &TopicsSummary) -> Vec<String> {
    let mut lines = vec![format!(
        "{}: {} in {}, {}",
        summary.method,
        counted(summary.all.topics, "topic"),
        counted(summary.documents, "document"),
        counted(summary.terms, "term"),
    )];
    lines.push(figures(&summary.all));
    let split = [("shared topics", &summary.shared), ("topics of classes", &summary.of_classes)];
    for (name, found) in split {
        if let Some(found) = found.as_ref().filter(|found| found.topics > 0) {
            lines.push(format!(
                "{name} ({}): {}; {} of the documents",
                found.topics,
                figures(found),
                percent(found.share)
            ));
        }
    }
    if summary.documents_without > 0 {
        let documents = plural(summary.documents_without, "document has", "documents have");
        lines.push(format!("{documents} no topic: no topic has any of their words"));
    }
    if summary.signed {
        lines.push(
            "weights have signs; a topic whose largest weight is negative is multiplied by -1, and its words are those with the largest weights then".into(),
        );
    }
    lines
}

fn figures(found: &TopicFigures) -> String {
    let mut text = format!("AvgComp {:.4}, mean NPMI {}", found.avg_comp, npmi(found.npmi));
    if found.dead > 0 {
        text += &format!(", {} without a word", counted(found.dead, "topic"));
    }
    text
}

/// A coherence with three digits.
pub fn npmi(value: Option<f64>) -> String {
    value.map_or_else(|| NOTHING.to_owned(), |value| format!("{value:.3}"))
}

/// A weight with three digits, or as a power of ten if it is small.
pub fn weight(weight: f32) -> String {
    match weight.abs() {
        size if size == 0.0 || size >= 0.001 => format!("{weight:.3}"),
        _ => format!("{weight:.0e}"),
    }
}
