//! The topics of a model: which part has them, their summary, and a text folded into them.

use super::topics::{TextTopic, TextTopics, TopicSummaryOptions, TopicsSummary};
use super::{Model, Params, Part, TopicsView};
use crate::features::QueryTerms;
use crate::suggest::did_you_mean;
use crate::{Error, Result, Run};

/// Advice for a model without topics.
const WHO_HAS_TOPICS: &str = "topic models do (rlsi, grlsi, crlsi, nmf, gnmf, cnmf, plsi, lda, lsi, bltm), and so do methods with maps where documents are made of words alone (`features.doc_clicks = 0`)";

/// The part of `model` that has topics: the one called `name`, or the first that has any.
pub(super) fn part_with_topics<'a>(
    model: &'a Model,
    name: Option<&str>,
) -> Result<(&'a Part, TopicsView<'a>)> {
    let mut named = None;
    for part in &model.parts {
        if name.is_some_and(|name| !is_called(part, name)) {
            continue;
        }
        named = Some(part.params.name());
        if let Some(view) = part.matcher.topics() {
            check(&view, model)?;
            return Ok((part, view));
        }
    }
    match (name, named) {
        (Some(name), None) => {
            let names: Vec<&str> = model.parts.iter().map(|part| part.params.name()).collect();
            let advice = format!("the model {} has {}", model.about.name, names.join(", "));
            let advice = did_you_mean(name, names, &advice);
            Err(Error::Unknown { kind: "part", name: name.to_owned(), advice })
        }
        _ => Err(Error::Empty {
            what: format!("{} has no topics", name.unwrap_or(&model.about.name)),
            advice: WHO_HAS_TOPICS.into(),
        }),
    }
}

/// Whether `name` means this part: its method, or another name of it (lsi for lsi_dt).
fn is_called(part: &Part, name: &str) -> bool {
    let own = part.params.name();
    own == name || Params::named(name).is_ok_and(|params| params.name() == own)
}

/// Refuses a view whose sizes do not fit each other.
fn check(view: &TopicsView<'_>, model: &Model) -> Result<()> {
    let (n_docs, n_terms) = (model.counts.n_docs(), model.counts.n_terms());
    let classes = view.classes.is_empty() && view.class_of.is_empty() && view.per_class == 0
        || view.class_of.len() == n_docs
            && view.class_of.iter().all(|&class| (class as usize) < view.classes.len());
    let weights = (view.weights.n_rows(), view.weights.n_cols()) == (n_terms, view.n_topics());
    let width = view.n_shared + view.per_class;
    if classes && weights && (view.documents.n_rows(), view.documents.n_cols()) == (n_docs, width) {
        return Ok(());
    }
    Err(Error::Structure {
        problem: format!(
            "weights of {} words in {} topics and of {} topics in {} documents do not fit {n_terms} words, {n_docs} documents and {} topics",
            view.weights.n_rows(),
            view.weights.n_cols(),
            view.documents.n_cols(),
            view.documents.n_rows(),
            view.n_topics(),
        ),
    })
}

impl TopicsSummary {
    /// Summarises the topics of the part of `model` called `part`, or of the first with topics.
    pub fn of(
        model: &Model,
        part: Option<&str>,
        options: &TopicSummaryOptions,
        run: &Run<'_>,
    ) -> Result<Self> {
        let (part, view) = part_with_topics(model, part)?;
        TopicsSummary::of_view(part.params.name(), &view, &model.counts, options, run)
    }
}

impl TextTopics {
    /// Folds `query` into the topics of the part of `model` that `summary` was made of.
    pub fn of(
        model: &Model,
        part: Option<&str>,
        query: &QueryTerms,
        summary: &TopicsSummary,
    ) -> Result<Self> {
        let (part, view) = part_with_topics(model, part)?;
        let Some((class, weights)) = part.matcher.topics_of(&model.counts, query) else {
            return Err(Error::Empty {
                what: format!("{} cannot fold a text into its topics", part.params.name()),
                advice: "train lsi or another topic model".into(),
            });
        };
        let class = class.filter(|&class| (class as usize) < view.classes.len());
        Ok(TextTopics {
            class: class.map(|class| view.classes[class as usize].clone()),
            unknown: query.unknown.clone(),
            topics: TextTopic::all(&view, class, &weights, summary),
        })
    }
}
