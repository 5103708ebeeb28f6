//! The last step of an import: queries that still have something to say are numbered, texts
//! and matrices are written, and the report is put together.

use std::collections::BTreeMap;

use serde_json::Map;

use super::dataset::{Counts, DatasetAbout, DatasetWriter, Document, Query, SplitAbout, SplitBy};
use super::events::{Aggregated, EventRules, EventsAbout, Shown, Timeline};
use super::impressions::{self, ImpressionsWriter};
use super::log::Log;
use super::names::Queries;
use super::report::{FilterReport, ImportReport};
use super::split::{Divided, Part, Split};
use crate::sparse::Csr;
use crate::{Result, Run};

/// A source that was read, split and filtered.
pub(super) struct Prepared {
    pub log: Log,
    pub divided: Divided,
    pub split: Split,
    pub filter: Option<FilterReport>,
    pub events: Option<Events>,
    pub warnings: Vec<String>,
}

/// A raw log that was read, aggregated and written.
pub(super) struct Events {
    pub aggregated: Aggregated,
    pub timeline: Timeline,
    pub rules: EventRules,
}

impl Prepared {
    /// Writes what `writer` does not have yet.
    pub(super) fn write(
        mut self,
        mut writer: DatasetWriter,
        run: &Run<'_>,
    ) -> Result<ImportReport> {
        let n_documents = self.log.documents.len();
        if !self.log.documents_listed {
            for number in 0..n_documents as u32 {
                self.step(run, number, n_documents)?;
                let id = self.log.documents.name(number);
                let made = self.log.made.as_ref().map(|made| made.document(number, id));
                writer.document(&made.unwrap_or_else(|| from_id(id)))?;
            }
        }
        let (numbers, n_queries) = number_queries(&self.divided, &self.log.queries);
        let queries = &self.log.queries;
        for (number, _) in (0..).zip(&numbers).filter(|(_, kept)| kept.is_some()) {
            self.step(run, number, numbers.len())?;
            writer.query(&Query {
                id: queries.names.name(number).to_owned(),
                text: queries.text(number).to_owned(),
                clicks: queries.clicks[number as usize],
            })?;
        }
        let n_dropped = numbers.len() - n_queries;
        self.divided.drop("queries left without training pair or judgment", n_dropped);

        let events = match &self.events {
            None => None,
            Some(events) => Some(self.write_events(events, &numbers, &writer, run)?),
        };
        let sort_files = self.events.as_ref().map_or(0, |events| events.aggregated.files);

        let Divided { train, validation, test, held_out_documents, .. } = self.divided;
        let matrix = |pairs: &mut dyn Iterator<Item = (u32, u32, f32)>| {
            let known = pairs.filter_map(|(q, d, value)| Some((numbers[q as usize]?, d, value)));
            Csr::from_triplets(n_queries, n_documents, known.collect())
        };
        let train = matrix(&mut train.into_iter().map(|e| (e.query, e.doc, e.weight)))?;
        let validation = matrix(&mut validation.into_iter())?;
        let test = matrix(&mut test.into_iter())?;
        run.check()?;

        let mut notes = self.log.notes;
        let has_clicks = self.log.tables.iter().any(|table| table.role == "clicks");
        let counted = self.log.has_counts || self.log.has_weights;
        if has_clicks && !counted && self.filter.is_none() {
            notes.push("no column clicks: each line is one click, and no pair is filtered".into());
        }
        if let Some(events) = &events {
            notes.extend(events.period().map(|period| format!("the events are {period}")));
            notes.push(events.evidence());
            if let Some((validation, test)) = events.cuts {
                let (validation, test) = (events.moment(validation), events.moment(test));
                notes.push(format!("validation begins with {validation}, test with {test}"));
            }
            if events.rules.half_life.is_some() {
                notes.push("clicks are counted by their age: the click filter looks at what is left of them".into());
            }
        }
        notes.append(&mut self.divided.notes);
        let given = self.split.by == SplitBy::Given;
        let shares = if given { (0.0, 0.0) } else { self.split.shares };
        let mut report = ImportReport {
            about: DatasetAbout {
                counts: Counts::default(),
                sources: self.log.sources,
                split: SplitAbout { by: self.split.by, seed: self.split.seed, shares },
                min_clicks: self.filter.as_ref().map(|filter| f64::from(filter.min_clicks)),
                evidence: self.divided.evidence,
                events,
                report: Vec::new(),
            },
            tables: self.log.tables,
            training: (train.rows().filter(|row| !row.is_empty()).count(), train.nnz()),
            filter: self.filter,
            dropped: self.divided.dropped,
            notes,
            warnings: self.warnings,
            sort_files,
        };
        report.about.report = report.sentences();
        report.about =
            writer.finish(&train, &validation, &test, &held_out_documents, report.about)?;
        Ok(report)
    }

    /// Writes the lists of impressions that training may use; what the manifest says of the log.
    fn write_events(
        &self,
        events: &Events,
        numbers: &[Option<u32>],
        writer: &DatasetWriter,
        run: &Run<'_>,
    ) -> Result<EventsAbout> {
        let Events { aggregated, timeline, rules } = events;
        let mut lists = ImpressionsWriter::create(&writer.path(""))?;
        if aggregated.offers.impressions {
            let training = Training::new(&self.divided, self.split.by, &self.log.queries);
            let mut logs = aggregated.queries()?;
            while let Some(log) = logs.next()? {
                run.check()?;
                let Some(query) = self.log.queries.names.get(&log.query) else { continue };
                let Some(number) = numbers[query as usize] else { continue };
                let doc = |place: u32| {
                    self.log.documents.get(&log.docs[place as usize]).unwrap_or_default()
                };
                // A page is the same page at any hour.
                let mut pages: BTreeMap<&[Shown], u64> = BTreeMap::new();
                for (span, count, list) in &log.lists {
                    if timeline.part(*span) == Part::Train {
                        *pages.entry(list).or_default() += count;
                    }
                }
                for (list, count) in pages {
                    let shown = list.iter().map(|&(at, rank, clicked)| (doc(at), rank, clicked));
                    if training.may_see(query, shown.clone()) {
                        lists.push(number, u32::try_from(count).unwrap_or(u32::MAX), shown)?;
                    }
                }
            }
        }
        let n_lists = lists.finish(&writer.path(impressions::FILE))?;
        let clicks = &aggregated.clicks;
        let spans = clicks.keys().next().copied().zip(clicks.keys().next_back().copied());
        Ok(EventsAbout {
            impressions: aggregated.offers.impressions,
            positions: aggregated.offers.ranks,
            users: aggregated.offers.users,
            times: aggregated.offers.times,
            dated: aggregated.offers.dated,
            spans,
            cuts: timeline.cuts,
            lists: n_lists as u64,
            rules: rules.clone(),
        })
    }

    fn step(&self, run: &Run<'_>, done: u32, total: usize) -> Result<()> {
        if done.is_multiple_of(1 << 16) {
            run.step("writing", u64::from(done), Some(total as u64))?;
        }
        Ok(())
    }
}

/// What training may see of the pages that were shown.
struct Training<'a> {
    divided: &'a Divided,
    by: SplitBy,
    queries: &'a Queries,
    /// By query: whether it is held out.
    held_out: Vec<bool>,
}

impl<'a> Training<'a> {
    fn new(divided: &'a Divided, by: SplitBy, queries: &'a Queries) -> Self {
        let mut held_out = vec![false; queries.names.len()];
        if by == SplitBy::Queries {
            for (query, _, _) in divided.validation.iter().chain(&divided.test) {
                held_out[*query as usize] = true;
            }
        }
        Training { divided, by, queries, held_out }
    }

    fn may_see(&self, query: u32, mut shown: impl Iterator<Item = (u32, u32, bool)>) -> bool {
        if self.held_out[query as usize]
            || self.queries.part(query).is_some_and(|p| p != Part::Train)
        {
            return false;
        }
        shown.all(|(doc, _, clicked)| match self.by {
            SplitBy::Documents => self.divided.held_out_documents.binary_search(&doc).is_err(),
            SplitBy::Edges if clicked => {
                let train = &self.divided.train;
                train.binary_search_by_key(&(query, doc), |e| (e.query, e.doc)).is_ok()
            }
            _ => true,
        })
    }
}

/// Queries of a table of queries stay; others stay if they have a training pair or a
/// judgment. By old number the new one, and how many there are.
fn number_queries(divided: &Divided, queries: &Queries) -> (Vec<Option<u32>>, usize) {
    let mut kept = vec![queries.listed; queries.names.len()];
    let held_out = divided.validation.iter().chain(&divided.test).map(|pair| pair.0);
    for query in divided.train.iter().map(|edge| edge.query).chain(held_out) {
        kept[query as usize] = true;
    }
    let mut next = 0;
    let numbers = kept.into_iter().map(|kept| {
        kept.then(|| {
            next += 1;
            next - 1
        })
    });
    let numbers: Vec<Option<u32>> = numbers.collect();
    (numbers, next as usize)
}

/// A document of which only the id is known.
fn from_id(id: &str) -> Document {
    let mut fields = Map::new();
    if is_url(id) {
        fields.insert("url".into(), id.into());
    }
    Document { id: id.to_owned(), fields }
}

/// Whether `id` is an address: it has a scheme, or a host with a dot before its path.
fn is_url(id: &str) -> bool {
    if id.contains("://") || id.starts_with("www.") {
        return true;
    }
    let of_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':');
    id.split_once('/').is_some_and(|(host, _)| {
        host.contains('.') && !host.starts_with('.') && host.chars().all(of_host)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_known_with_and_without_scheme() {
        for url in ["http://a.org", "www.a.org", "news.a.cn/2008/x.html", "a.org:8080/"] {
            assert!(is_url(url), "{url}");
        }
        for id in ["doc1", "d/1", "a.b", "section 1.2/x", ".hidden/x", "MED-10"] {
            assert!(!is_url(id), "{id}");
        }
    }
}
