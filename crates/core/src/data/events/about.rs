//! What a dataset says of the raw log it was made from, and the rules by which it was read.

use serde::{Deserialize, Serialize};

use super::offers::Offers;
use crate::rows::time;
use crate::{Error, Result};

/// How a raw log is read.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct EventRules {
    /// Queries of fewer different users are left out: what only one person asked may name them.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_users: Option<u32>,
    /// Of one user's clicks on one document for one query at most so many count.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_per_user: Option<u32>,
    /// Users with more events than this are taken for robots and left out.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_user_events: Option<u64>,
    /// After so many days a click counts half.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub half_life: Option<f64>,
}

impl EventRules {
    /// How many users a query needs.
    pub(in crate::data) fn least_users(&self) -> u32 {
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
    pub(in crate::data) fn check_against(&self, offers: Offers) -> Result<()> {
        let needs_users = [
            ("min_users", self.least_users() > 1),
            ("max_per_user", self.max_per_user.is_some()),
            ("max_user_events", self.max_user_events.is_some()),
        ];
        if let Some((rule, _)) = needs_users.iter().find(|(_, set)| *set && !offers.users) {
            return Err(lacking(rule, "user"));
        }
        if self.half_life.is_some() && !offers.times {
            return Err(lacking("half_life", "time"));
        }
        Ok(())
    }
}

fn lacking(rule: &str, column: &str) -> Error {
    Error::Empty {
        what: format!("{rule} needs a column called {column} in the events, and there is none"),
        advice: format!("say which column it is (`columns = events:{column}=NAME`), or do without"),
    }
}

/// What a dataset says of the raw log it was made from.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct EventsAbout {
    /// What it tells beside query and document.
    #[serde(flatten)]
    pub offers: Offers,
    /// The first and the last span with clicks: hours since 1970, or seconds since midnight
    /// where the log has no dates.
    pub spans: Option<(i64, i64)>,
    /// From which span on clicks belong to validation, and from which on to test, where the
    /// split is by time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cuts: Option<(i64, i64)>,
    /// The moments at which validation and test were said to begin.
    #[serde(default, skip_serializing_if = "is_nothing")]
    pub from: (Option<String>, Option<String>),
    /// Lists of impressions that training may use.
    pub lists: u64,
    /// How the log was read.
    pub rules: EventRules,
}

fn is_nothing(from: &(Option<String>, Option<String>)) -> bool {
    from.0.is_none() && from.1.is_none()
}

impl EventsAbout {
    /// Which evidence the log offers, and what that allows.
    pub fn evidence(&self) -> String {
        let matching = "matching models with sampled negatives (pls, rmls and mixes)";
        let shown = "documents shown and not clicked can serve as negatives, and clicks can be set against what was shown (`evidence = rates`)";
        match (self.offers.impressions, self.offers.ranks) {
            (false, false) => format!(
                "evidence: clicks. That is enough for {matching}; to use more, log what was shown, too"
            ),
            (false, true) => format!(
                "evidence: clicks with their positions. That is enough for {matching}; the bias of positions cannot be told from clicks alone: log what was shown, too"
            ),
            (true, false) => format!(
                "evidence: clicks and impressions. Beside {matching}, {shown}; to correct for the bias of positions, log the ranks, too"
            ),
            (true, true) => format!(
                "evidence: clicks, impressions and positions. Beside {matching}, {shown}, and the bias of positions can be estimated and corrected (`evidence = propensity`)"
            ),
        }
    }

    /// The time that the log covers, for people.
    pub fn period(&self) -> Option<String> {
        let (first, last) = self.spans.filter(|_| self.offers.times)?;
        Some(format!("from {} to {}", self.moment(first), self.moment(last)))
    }

    /// A span, for people.
    pub fn moment(&self, span: i64) -> String {
        if self.offers.dated {
            // Without its seconds, which are always 0.
            let text = time::show(span.saturating_mul(3600), true);
            text.strip_suffix(":00").unwrap_or(&text).to_owned()
        } else {
            time::show(span, false)
        }
    }
}
