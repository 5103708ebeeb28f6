//! The topics of a text.

use serde::{Deserialize, Serialize};

use super::reading::part_with_topics;
use super::{TopicsSummary, TopicsView};
use crate::features::QueryTerms;
use crate::matchers::Model;
use crate::{Error, Result};

/// A text folded into the topics of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextTopics {
    /// The class that it fits best, where there are classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Words that the model does not know.
    pub unknown: Vec<String>,
    /// Its topics, the strongest first; none where they know no word of it.
    pub topics: Vec<TextTopic>,
}

/// What a topic is to a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextTopic {
    /// Its number, from 1.
    pub topic: usize,
    /// The class that it belongs to; none if all share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Its weight, with the sign turned as the topic's is.
    pub weight: f32,
    /// Its absolute weight, by that of all topics.
    pub share: f64,
    /// The topic's heaviest words.
    pub words: Vec<String>,
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

impl TextTopic {
    /// The topics of a text of `class` with these weights.
    pub(super) fn all(
        view: &TopicsView<'_>,
        class: Option<u32>,
        weights: &[f32],
        summary: &TopicsSummary,
    ) -> Vec<Self> {
        let total: f64 = weights.iter().map(|&weight| f64::from(weight.abs())).sum();
        let mut topics: Vec<TextTopic> = weights
            .iter()
            .enumerate()
            .filter(|(_, weight)| **weight != 0.0)
            .filter_map(|(column, &weight)| {
                let topic = summary.topics.get(view.topic_at(column, class))?;
                Some(TextTopic {
                    topic: topic.topic,
                    class: topic.class.clone(),
                    weight: if topic.flipped { -weight } else { weight },
                    share: f64::from(weight.abs()) / total,
                    words: topic.words.iter().map(|word| word.word.clone()).collect(),
                })
            })
            .collect();
        topics.sort_by(|a, b| b.share.total_cmp(&a.share).then(a.topic.cmp(&b.topic)));
        topics
    }
}
