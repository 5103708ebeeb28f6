//! Where features come from, and those of the texts of documents.

use std::sync::Arc;

use super::documents::Numbers;
use super::group::{FeatureInfo, Group};
use super::source::Source;
use super::texts::{ProximityKind, Text, texts};
use crate::Result;
use crate::features::Counts;
use crate::matchers::{Bm25, Bm25Field, Lexical, Lm, Matcher, Smoothing, Vsm};

/// Source of a feature.
#[derive(Clone)]
pub(super) enum FeatureSource {
    /// A lexical matcher over one text.
    Words { matcher: Arc<dyn Matcher>, text: Text },
    /// The proximity of query words in a text.
    Proximity { text: Text, kind: ProximityKind },
    /// A number for every document.
    Document(Arc<Numbers>),
    /// The known words of the query.
    QueryLength,
    /// A matcher or model.
    Source(Source),
}

/// The features of texts in `groups`.
pub(super) fn columns(
    counts: &Counts,
    groups: &[Group],
) -> Result<Vec<(FeatureInfo, FeatureSource)>> {
    let mut columns = Vec::new();
    let texts = texts(counts);
    let mut add = |name: &str, text: Text, group: Group, column: FeatureSource| {
        let name = format!("{name}({})", text.name(counts));
        columns.push((FeatureInfo { name, group, model: None }, column));
    };
    for group in [Group::Bm25, Group::Vsm, Group::Lm, Group::LmJm] {
        for &text in texts.iter().filter(|_| groups.contains(&group)) {
            let matcher: Arc<dyn Matcher> = Arc::new(words(counts, text, group)?);
            add(group.name(), text, group, FeatureSource::Words { matcher, text });
        }
    }
    if groups.contains(&Group::Proximity) && counts.positions.is_some() {
        let kinds = [ProximityKind::Ordered, ProximityKind::Unordered, ProximityKind::Span];
        for (name, kind) in ["ordered", "unordered", "span"].into_iter().zip(kinds) {
            for &text in &texts {
                add(name, text, Group::Proximity, FeatureSource::Proximity { text, kind });
            }
        }
    }
    if groups.contains(&Group::Length) {
        for &text in &texts {
            let lengths = text.docs(counts).rows().map(|row| row.values.iter().sum()).collect();
            add("length", text, Group::Length, FeatureSource::Document(Arc::new(lengths)));
        }
        let about = FeatureInfo { name: "query_length".into(), group: Group::Length, model: None };
        columns.push((about, FeatureSource::QueryLength));
    }
    Ok(columns)
}

/// The lexical matcher of `group` over one text.
fn words(counts: &Counts, text: Text, group: Group) -> Result<Lexical> {
    let smoothing = if group == Group::LmJm { Smoothing::Jm } else { Smoothing::Dirichlet };
    let lm = Lm { smoothing, ..Lm::default() };
    match (group, text) {
        (Group::Bm25, Text::All) => Bm25::default().fit(counts),
        (Group::Bm25, Text::Field(f)) => {
            let fields = [(counts.fields[f].name.clone(), Bm25Field::default())].into();
            Bm25 { fields, ..Bm25::default() }.fit(counts)
        }
        (Group::Vsm, Text::All) => Vsm::default().fit(counts),
        (Group::Vsm, Text::Field(f)) => Vsm::default().fit_field(counts, &counts.fields[f].docs),
        (_, Text::All) => lm.fit(counts),
        (_, Text::Field(f)) => lm.fit_text(counts, &counts.fields[f].docs),
    }
}
