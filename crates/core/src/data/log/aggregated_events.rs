//! An aggregated raw log becomes pairs of query and document, and lines of the report.

use super::super::events::{Aggregated, EventRules, LeftOut, Timeline};
use super::super::pairs::Pairs;
use super::super::part::PARTS;
use super::Log;
use crate::rows::{Dropped, excerpt};
use crate::{Error, Result, Run};

impl Log {
    /// Adds the pairs of an aggregated raw log: clicks by age and by part.
    pub(in crate::data) fn add_events(
        &mut self,
        events: &Aggregated,
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
                run.step("adding up", done, None)?;
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
                let mut weights = [0.0; PARTS.len()];
                for &(_, span, n) in clicks {
                    let part = said.unwrap_or_else(|| timeline.part(span));
                    weights[part as usize] += n as f64 * timeline.weight(span);
                    self.queries.clicks[query as usize] += n as f64;
                }
                // Below what can be stored.
                self.faded += u64::from(weights.iter().all(|&weight| (weight as f32) == 0.0));
                for (part, weight) in PARTS.into_iter().zip(weights) {
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

    /// Says in the report what became of events after they were read.
    pub(in crate::data) fn leave_out(&mut self, left_out: LeftOut, rules: &EventRules) {
        let Some(report) = self.tables.iter_mut().rev().find(|table| table.role == "events") else {
            return;
        };
        let LeftOut { repeated, of_robots, robots, of_rare_queries, rare_queries, beyond_cap } =
            left_out;
        let most = rules.max_user_events.unwrap_or_default();
        let cap = rules.max_per_user.unwrap_or_default();
        for (count, why) in [
            (repeated, "the same event of the same user in the same second again".to_owned()),
            (
                of_robots,
                format!("of {robots} users with more than {most} events, taken for robots"),
            ),
            (
                of_rare_queries,
                format!("of {rare_queries} queries with fewer than {} users", rules.least_users()),
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
                "the ids and pairs of the log, aggregated, take {} MiB so far, more than the limit of {} MiB",
                taken.div_ceil(1 << 20),
                most >> 20
            ),
            advice: "raise `max_memory`, leave out rare queries (`min_users`), or import fewer days at a time".into(),
        })
    }
}

/// The kept log names something that the table given now does not hold.
fn unlisted(table: &str, id: &str) -> Error {
    Error::Empty {
        what: format!(
            "the table of {table} does not hold {:?}, which the log of the dataset names",
            excerpt(id)
        ),
        advice: format!("give a table of all {table}, those of earlier days included"),
    }
}
