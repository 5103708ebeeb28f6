//! Adds an aggregated raw log to an import: as pairs of query and document, and to the report.

use super::super::events::{AggregatedLog, DroppedEvents, EventRules, Timeline};
use super::super::pairs::Pairs;
use super::super::split_name::SplitName;
use super::Log;
use crate::rows::{Dropped, excerpt};
use crate::{Error, Result, Run, counted};

impl Log {
    /// Adds the pairs of an aggregated raw log: clicks weighted by age, by split.
    pub(in crate::data) fn add_events(
        &mut self,
        events: &AggregatedLog,
        timeline: &Timeline,
        most: u64,
        run: &Run<'_>,
    ) -> Result<()> {
        self.has_counts = true;
        let mut logs = events.queries()?;
        let mut done = 0u64;
        while let Some(log) = logs.next()? {
            done += 1;
            if done.is_multiple_of(1 << 12) {
                run.step("adding up clicks", done, None)?;
                self.check_memory(most)?;
            }
            let full = |what: &str| Error::Empty {
                what: format!("the events name 2³² {what} or more"),
                advice: "split the log".into(),
            };
            let Some(query) = self.queries.known_as(&log.query) else {
                return Err(if self.queries.listed {
                    unlisted("queries", &log.query)
                } else {
                    full("queries")
                });
            };
            if let Some((spelling, n)) = log.spellings.first() {
                self.queries.spelt(query, spelling, *n as f64);
            }
            let said = self.queries.part(query);
            let mut numbers = Vec::with_capacity(log.docs.len());
            for doc in &log.docs {
                numbers.push(if self.documents_listed {
                    self.documents.get(doc).ok_or_else(|| unlisted("documents", doc))?
                } else {
                    self.documents.add(doc).ok_or_else(|| full("documents"))?
                });
            }
            for clicks in log.clicks.chunk_by(|a, b| a.0 == b.0) {
                let mut weights = [0.0; SplitName::ALL.len()];
                for &(_, span, n) in clicks {
                    let part = said.unwrap_or_else(|| timeline.part(span));
                    weights[part as usize] += n as f64 * timeline.weight(span);
                    self.queries.clicks[query as usize] += n as f64;
                }
                // Too small for an f32.
                self.faded += u64::from(weights.iter().all(|&weight| (weight as f32) == 0.0));
                for (part, weight) in SplitName::ALL.into_iter().zip(weights) {
                    if (weight as f32) > 0.0 {
                        self.clicks[part as usize].push(
                            query,
                            numbers[clicks[0].0 as usize],
                            weight,
                        );
                    }
                }
            }
        }
        self.check_memory(most)
    }

    /// Reports events that were dropped after reading.
    pub(in crate::data) fn report_dropped(&mut self, dropped: DroppedEvents, rules: &EventRules) {
        let Some(report) = self.tables.iter_mut().rev().find(|table| table.role == "events") else {
            return;
        };
        let DroppedEvents {
            repeated,
            of_robots,
            robots,
            of_rare_queries,
            rare_queries,
            beyond_cap,
        } = dropped;
        let most = rules.max_user_events.unwrap_or_default();
        let cap = rules.max_per_user.unwrap_or_default();
        for (count, why) in [
            (repeated, "the same event of the same user in the same second again".to_owned()),
            (
                of_robots,
                format!("of {} with more than {most} events (robots)", counted(robots, "user")),
            ),
            (
                of_rare_queries,
                format!(
                    "of {} with fewer than {}",
                    counted(rare_queries, "query"),
                    counted(rules.min_users(), "user")
                ),
            ),
            (beyond_cap, format!("clicks beyond {cap} of one user on one document for one query")),
        ] {
            if count > 0 {
                report.kept = report.kept.saturating_sub(count);
                report.dropped.push(Dropped { why, count, samples: Vec::new() });
            }
        }
    }

    fn check_memory(&self, most: u64) -> Result<()> {
        let pairs: usize = self.clicks.iter().chain(&self.links).map(Pairs::memory).sum();
        let taken = self.queries.memory() + self.documents.memory() + pairs;
        if taken as u64 <= most {
            return Ok(());
        }
        Err(Error::Empty {
            what: format!(
                "the ids and pairs of the aggregated log need more than {} MiB, the limit is {} MiB",
                taken.div_ceil(1 << 20),
                most >> 20
            ),
            advice: "raise `max_memory`, leave out rare queries (`min_users`), or import fewer days at a time".into(),
        })
    }
}

/// The error about a query or document of the previous log that is not in the given table.
fn unlisted(table: &str, id: &str) -> Error {
    Error::Empty {
        what: format!(
            "the table of {table} has no {:?}, which is in the log of the dataset",
            excerpt(id)
        ),
        advice: format!("give a table of all {table}, also those of earlier days"),
    }
}
