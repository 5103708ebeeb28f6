//! Which split a click belongs to by its time, and how much it counts by its age.

use std::collections::BTreeMap;

use super::log_columns::LogColumns;
use super::query_log::Span;
use crate::data::split_name::SplitName;
use crate::rows::time;
use crate::{Error, Result};

/// Parts by time, and weights by age.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(in crate::data) struct Timeline {
    /// The first span of validation and the first of test.
    pub cuts: Option<(Span, Span)>,
    /// The last span of training.
    now: Span,
    /// In spans.
    half_life: Option<f64>,
}

/// Where to cut: shares of the clicks, or the moments at which validation and test begin.
pub(in crate::data) struct Cuts<'a> {
    pub shares: (f64, f64),
    pub from: (Option<&'a str>, Option<&'a str>),
}

impl Timeline {
    /// Without `cuts` every click is training; without `half_life` each counts 1.
    pub(in crate::data) fn new(
        clicks: &BTreeMap<Span, u64>,
        columns: LogColumns,
        half_life: Option<f64>,
        cuts: Option<Cuts<'_>>,
    ) -> Result<Self> {
        let cuts = match cuts {
            None => None,
            Some(_) if !columns.times => {
                return Err(Error::Empty {
                    what: "a split by time needs a column time, and the events have none".into(),
                    advice:
                        "say which column it is (`columns = events:time=NAME`), or split by queries"
                            .into(),
                });
            }
            Some(cuts) => Some(cuts.find(clicks, columns)?),
        };
        let in_training = |span: &Span| cuts.is_none_or(|(validation, _)| *span < validation);
        let now = clicks.keys().copied().rfind(in_training).unwrap_or(0);
        let spans_per_day = if columns.times_have_dates { 24.0 } else { 86_400.0 };
        Ok(Timeline { cuts, now, half_life: half_life.map(|days| days * spans_per_day) })
    }

    /// The split of clicks in `span`.
    pub(in crate::data) fn part(&self, span: Span) -> SplitName {
        match self.cuts {
            Some((_, test)) if span >= test => SplitName::Test,
            Some((validation, _)) if span >= validation => SplitName::Validation,
            _ => SplitName::Train,
        }
    }

    /// Weight of a click in `span`.
    pub(in crate::data) fn weight(&self, span: Span) -> f64 {
        match self.half_life {
            None => 1.0,
            Some(half_life) => {
                let age = (self.now - span).max(0) as f64;
                (-age / half_life).exp2()
            }
        }
    }
}

impl Cuts<'_> {
    fn find(&self, clicks: &BTreeMap<Span, u64>, columns: LogColumns) -> Result<(Span, Span)> {
        let total: u64 = clicks.values().sum();
        let end = clicks.keys().next_back().map_or(0, |last| last + 1);
        // The span at which the last `share` of all clicks before `end` begins.
        let before = |end: Span, share: f64| {
            let wanted = share * total as f64;
            let (mut sum, mut start) = (0, end);
            for (&span, &n) in clicks.range(..end).rev() {
                if sum as f64 >= wanted {
                    break;
                }
                sum += n;
                start = span;
            }
            start
        };
        let given = |name: &str, text: Option<&str>| {
            let Some(text) = text else { return Ok(None) };
            match time::parse(text) {
                Some(moment) if moment.dated == columns.times_have_dates => {
                    Ok(Some(columns.span(moment.seconds)))
                }
                Some(_) => Err(Error::parameter(
                    name,
                    text,
                    if columns.times_have_dates {
                        "a moment with its date"
                    } else {
                        "a time of day, as in the log"
                    },
                )),
                None => Err(Error::parameter(name, text, time::EXPECTED)),
            }
        };
        let test = given("test_from", self.from.1)?.unwrap_or_else(|| before(end, self.shares.1));
        let validation = match given("validation_from", self.from.0)? {
            Some(validation) if validation > test => {
                let text = self.from.0.unwrap_or_default();
                return Err(Error::parameter(
                    "validation_from",
                    text,
                    "a moment before test begins",
                ));
            }
            Some(validation) => validation,
            None => before(test, self.shares.0),
        };
        Ok((validation, test))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DATED: LogColumns = LogColumns {
        times: true,
        times_have_dates: true,
        users: false,
        ranks: false,
        impressions: false,
    };

    fn cut(shares: (f64, f64), from: (Option<&str>, Option<&str>)) -> Result<(Span, Span)> {
        let clicks = (0..10).map(|hour| (hour, 10)).collect();
        Ok(Timeline::new(&clicks, DATED, None, Some(Cuts { shares, from }))?.cuts.unwrap())
    }

    #[test]
    fn the_newest_clicks_are_test_those_before_them_validation() {
        assert_eq!(cut((0.2, 0.1), (None, None)).unwrap(), (7, 9));
        assert_eq!(cut((0.0, 0.15), (None, None)).unwrap(), (8, 8));
        assert_eq!(cut((0.0, 0.0), (None, None)).unwrap(), (10, 10));
        let from = (Some("1970-01-01 05:00"), Some("1970-01-01T08:00:00Z"));
        assert_eq!(cut((0.1, 0.1), from).unwrap(), (5, 8));
        assert_eq!(cut((0.1, 0.1), (None, Some("1970-01-01 06:00"))).unwrap(), (5, 6));
        assert!(cut((0.1, 0.1), (from.1, from.0)).is_err());
        assert!(cut((0.1, 0.1), (Some("08:00:00"), None)).is_err());
        let timeline =
            Timeline::new(&[(0, 1)].into(), DATED, None, Some(Cuts { shares: (0.1, 0.1), from }))
                .unwrap();
        assert_eq!(timeline.part(4), SplitName::Train);
        assert_eq!(timeline.part(5), SplitName::Validation);
        assert_eq!(timeline.part(8), SplitName::Test);
    }

    #[test]
    fn a_click_counts_half_after_its_half_life() {
        let clicks = (0..=48).map(|hour| (hour, 1)).collect();
        let timeline = Timeline::new(&clicks, DATED, Some(1.0), None).unwrap();
        assert_eq!([48, 24, 0].map(|span| timeline.weight(span)), [1.0, 0.5, 0.25]);
        let plain = Timeline::new(&clicks, DATED, None, None).unwrap();
        assert_eq!(plain.weight(0), 1.0);
        // By time: age is counted from the end of training.
        let cuts = Cuts { shares: (0.0, 0.5), from: (None, None) };
        let cut = Timeline::new(&clicks, DATED, Some(1.0), Some(cuts)).unwrap();
        assert_eq!(cut.weight(cut.now), 1.0);
        assert!(cut.now < 48);
    }
}
