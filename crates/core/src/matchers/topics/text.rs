//! The topics of a text.

use serde::{Deserialize, Serialize};

use super::TopicsSummary;
use crate::matchers::TopicsView;

/// A text folded into the topics of a model.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextTopics {
    /// The class that it fits best, if there are classes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// Words that the model does not know.
    pub unknown: Vec<String>,
    /// Its topics, the strongest first; none if they know no word of it.
    pub topics: Vec<TextTopic>,
}

/// The weight of a topic in a text.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct TextTopic {
    /// The number of the topic, from 1.
    pub topic: usize,
    /// The class that it belongs to; none if all share it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub class: Option<String>,
    /// The weight of the topic, with its sign flipped if the topic is flipped.
    pub weight: f32,
    /// The absolute weight over that of all topics.
    pub share: f64,
    /// The topic's heaviest words.
    pub words: Vec<String>,
}

impl TextTopic {
    /// The topics of a text of `class` with these weights.
    pub(in crate::matchers) fn all(
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
