//! The manifest's entry on the raw log that a dataset was made from, and the rules by which the log
//! was read.

use serde::{Deserialize, Serialize};

use super::log_columns::LogColumns;
use crate::rows::time;
use crate::{Error, Result};

/// Rules for reading a raw log.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventRules {
    /// Queries of fewer different users are dropped: what only one person asked may identify them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_users: Option<u32>,
    /// At most this many clicks of one user on one document for one query count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_user: Option<u32>,
    /// Users with more events than this are taken for robots and dropped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_user_events: Option<u64>,
    /// Days after which the weight of a click has halved.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_life: Option<f64>,
}

impl EventRules {
    /// The number of users that a query needs; 0 for no limit.
    pub(in crate::data) fn min_users(&self) -> u32 {
        self.min_users.unwrap_or(0)
    }

    /// An error if a value makes no sense.
    pub(in crate::data) fn check(&self) -> Result<()> {
        if let Some(days) = self.half_life.filter(|days| !(*days > 0.0 && days.is_finite())) {
            return Err(Error::parameter("half_life", days, "a number of days above 0"));
        }
        if self.max_per_user == Some(0) {
            return Err(Error::parameter("max_per_user", 0, "1 or more"));
        }
        if self.max_user_events == Some(0) {
            return Err(Error::parameter("max_user_events", 0, "1 or more"));
        }
        Ok(())
    }

    /// An error if a rule needs what the log does not have.
    pub(in crate::data) fn check_against(&self, columns: LogColumns) -> Result<()> {
        let needs_users = [
            ("min_users", self.min_users() > 1),
            ("max_per_user", self.max_per_user.is_some()),
            ("max_user_events", self.max_user_events.is_some()),
        ];
        if let Some((rule, _)) = needs_users.iter().find(|(_, set)| *set && !columns.users) {
            return Err(lacking(rule, "user"));
        }
        if self.half_life.is_some() && !columns.times {
            return Err(lacking("half_life", "time"));
        }
        Ok(())
    }
}

fn lacking(rule: &str, column: &str) -> Error {
    Error::Empty {
        what: format!("{rule} needs a column {column}, and the events have none"),
        advice: format!(
            "say which column it is (`columns = events:{column}=NAME`), or leave the rule out"
        ),
    }
}

/// The manifest's entry on the raw log that a dataset was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventsAbout {
    /// The columns that it has.
    #[serde(flatten)]
    pub columns: LogColumns,
    /// The first and the last span with clicks: hours since 1970, or seconds since midnight
    /// where the log has no dates.
    pub spans: Option<(i64, i64)>,
    /// In a split by time: the first span of validation and the first of test.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuts: Option<(i64, i64)>,
    /// The moments given for the start of validation and of test.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub from: (Option<String>, Option<String>),
    /// Lists of impressions that training may use.
    #[serde(rename = "lists")]
    pub impression_lists: u64,
    /// Rules by which the log was read.
    pub rules: EventRules,
}

fn is_nothing(from: &(Option<String>, Option<String>)) -> bool {
    from.0.is_none() && from.1.is_none()
}

impl EventsAbout {
    /// A note on the columns of the log and on what they allow.
    pub fn describe_columns(&self) -> String {
        let matching = "matching models with sampled negatives (pls, rmls and mixes)";
        let shown = "documents shown and not clicked can serve as negatives, and clicks can be weighted by click-through rate (`evidence = rates`)";
        match (self.columns.impressions, self.columns.ranks) {
            (false, false) => format!(
                "evidence: clicks. That is enough for {matching}; to use more, log impressions, too"
            ),
            (false, true) => format!(
                "evidence: clicks with their positions. That is enough for {matching}; position bias cannot be estimated from clicks alone: log impressions, too"
            ),
            (true, false) => format!(
                "evidence: clicks and impressions. Besides {matching}, {shown}; to correct for position bias, log the ranks, too"
            ),
            (true, true) => format!(
                "evidence: clicks, impressions and positions. Besides {matching}, {shown}, and position bias can be estimated and corrected (`evidence = propensity`)"
            ),
        }
    }

    /// The time that the log covers, in words.
    pub fn period(&self) -> Option<String> {
        let (first, last) = self.spans.filter(|_| self.columns.times)?;
        Some(format!("from {} to {}", self.moment(first), self.moment(last)))
    }

    /// The date and time of a span.
    pub fn moment(&self, span: i64) -> String {
        if self.columns.times_have_dates {
            // Without its seconds, which are always 0.
            let text = time::show(span.saturating_mul(3600), true);
            text.strip_suffix(":00").unwrap_or(&text).to_owned()
        } else {
            time::show(span, false)
        }
    }
}
