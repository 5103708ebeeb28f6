//! The last step of an import: numbers the remaining queries, writes texts and matrices, and makes the
//! report.

use std::collections::BTreeMap;

use serde_json::Map;

use super::dataset::{
    DatasetAbout, DatasetSize, DatasetWriter, Document, Query, SplitAbout, SplitBy,
};
use super::events::{AggregatedLog, EventRules, EventsAbout, Shown, Timeline};
use super::impressions::{self, ImpressionsWriter};
use super::log::Log;
use super::queries::Queries;
use super::report::{FilterReport, ImportReport};
use super::split::{Split, SplitPairs};
use super::split_name::SplitName;
use super::task_params::TaskParams;
use crate::sparse::Csr;
use crate::{Result, Run};

/// An import after reading, splitting and filtering.
pub(super) struct Prepared {
    pub log: Log,
    pub divided: SplitPairs,
    pub split: Split,
    pub filter: Option<FilterReport>,
    pub events: Option<Events>,
    pub task: Option<TaskParams>,
    pub warnings: Vec<String>,
}

/// The aggregated raw log of an import.
pub(super) struct Events {
    pub aggregated: AggregatedLog,
    pub timeline: Timeline,
    pub rules: EventRules,
    /// The moments given for the start of validation and of test.
    pub from: (Option<String>, Option<String>),
}

impl Prepared {
    /// Writes everything but the documents of a table, which `writer` has already.
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
                let made = self.log.text_documents.as_ref().map(|texts| texts.document(number, id));
                writer.document(&made.unwrap_or_else(|| from_id(id)))?;
            }
        }
        let (numbers, n_queries) =
            number_queries(&self.divided, &self.log.queries, self.hides_rare_queries());
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

        let events = self.events.as_ref();
        let events = events.map(|events| self.write_events(events, &numbers, &writer, run));
        let events = events.transpose()?;
        let hides_rare_queries = self.hides_rare_queries();
        let sort_files = self.events.as_ref().map_or(0, |events| events.aggregated.files);

        let SplitPairs { train, validation, test, set_aside, held_out_documents, .. } =
            self.divided;
        let matrix = |pairs: &mut dyn Iterator<Item = (u32, u32, f32)>| {
            let known = pairs.filter_map(|(q, d, value)| Some((numbers[q as usize]?, d, value)));
            Csr::from_triplets(n_queries, n_documents, known.collect())
        };
        let train = matrix(&mut train.into_iter().map(|e| (e.query, e.doc, e.weight)))?;
        let validation = matrix(&mut validation.into_iter())?;
        let test = matrix(&mut test.into_iter())?;
        writer.set_aside(matrix(&mut set_aside.into_iter().map(|(q, d)| (q, d, 1.0)))?);
        run.check()?;

        let mut notes = self.log.notes;
        let has_clicks = self.log.tables.iter().any(|table| table.role == "clicks");
        let counted = self.log.has_counts || self.log.has_weights;
        if has_clicks && !counted && self.filter.is_none() {
            notes.push(
                "no column clicks: each line counts as one click, and no pair is filtered".into(),
            );
        }
        if let Some(events) = &events {
            notes.extend(events.period().map(|period| format!("the events are {period}")));
            notes.push(events.describe_columns());
            if let Some((validation, test)) = events.cuts {
                let (validation, test) = (events.moment(validation), events.moment(test));
                notes.push(format!("validation begins with {validation}, test with {test}"));
            }
            if events.rules.half_life.is_some() {
                notes.push(
                    "clicks are weighted by age, and the click filter applies to the weights"
                        .into(),
                );
            }
        }
        notes.append(&mut self.divided.notes);
        let given = self.split.by == SplitBy::Given;
        let shares = if given { (0.0, 0.0) } else { self.split.shares };
        let mut report = ImportReport {
            about: DatasetAbout {
                counts: DatasetSize::default(),
                sources: self.log.sources,
                split: SplitAbout { by: self.split.by, seed: self.split.seed, shares },
                min_clicks: self.filter.as_ref().map(|filter| f64::from(filter.min_clicks)),
                evidence: self.divided.evidence,
                events,
                task: self.task,
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
        report.about.report = report.sentences(!hides_rare_queries);
        report.about =
            writer.finish(&train, &validation, &test, &held_out_documents, report.about)?;
        Ok(report)
    }

    /// Writes the impressions that training may use; returns the manifest's entry on the log.
    fn write_events(
        &self,
        events: &Events,
        numbers: &[Option<u32>],
        writer: &DatasetWriter,
        run: &Run<'_>,
    ) -> Result<EventsAbout> {
        let Events { aggregated, timeline, rules, from } = events;
        let mut lists = ImpressionsWriter::create(&writer.path(""))?;
        if aggregated.columns.impressions {
            let training = Training { divided: &self.divided, queries: &self.log.queries };
            let mut logs = aggregated.queries()?;
            while let Some(log) = logs.next()? {
                run.check()?;
                let Some(query) = self.log.queries.names.get(&log.query) else { continue };
                let Some(number) = numbers[query as usize] else { continue };
                if !training.may_see_query(query) {
                    continue;
                }
                let known = |doc: &String| self.log.documents.get(doc);
                let docs: Vec<Option<u32>> = log.docs.iter().map(known).collect();
                let doc = |place: u32| docs[place as usize].filter(|&d| training.may_see(query, d));
                // Equal impressions of different hours are merged.
                let mut pages: BTreeMap<Vec<Shown>, u64> = BTreeMap::new();
                for (_, count, list) in
                    log.lists.iter().filter(|list| timeline.part(list.0) == SplitName::Train)
                {
                    let seen = list
                        .iter()
                        .filter_map(|&(at, rank, clicked)| Some((doc(at)?, rank, clicked)));
                    *pages.entry(seen.collect()).or_default() += count;
                }
                for (page, count) in pages.into_iter().filter(|(page, _)| !page.is_empty()) {
                    let count = u32::try_from(count).unwrap_or(u32::MAX);
                    lists.push(number, count, page.into_iter())?;
                }
            }
        }
        let n_lists = lists.finish(&writer.path(impressions::FILE))?;
        let clicks = &aggregated.clicks;
        let spans = clicks.keys().next().copied().zip(clicks.keys().next_back().copied());
        Ok(EventsAbout {
            columns: aggregated.columns,
            spans,
            cuts: timeline.cuts,
            from: from.clone(),
            impression_lists: n_lists as u64,
            rules: rules.clone(),
        })
    }

    /// Whether the dataset must not contain queries of too few users.
    fn hides_rare_queries(&self) -> bool {
        self.events.as_ref().is_some_and(|events| events.rules.min_users() > 1)
    }

    fn step(&self, run: &Run<'_>, done: u32, total: usize) -> Result<()> {
        if done.is_multiple_of(1 << 16) {
            run.step("writing", u64::from(done), Some(total as u64))?;
        }
        Ok(())
    }
}

/// Which impressions training may see.
struct Training<'a> {
    divided: &'a SplitPairs,
    queries: &'a Queries,
}

impl Training<'_> {
    fn may_see_query(&self, query: u32) -> bool {
        let held_out = self.divided.held_out_queries.get(query as usize).copied().unwrap_or(false);
        !held_out && self.queries.part(query).is_none_or(|part| part == SplitName::Train)
    }

    fn may_see(&self, query: u32, doc: u32) -> bool {
        self.divided.held_out_documents.binary_search(&doc).is_err()
            && self.divided.held_out_pairs.binary_search(&(query, doc)).is_err()
    }
}

/// The new number of each query, and how many there are. Queries of a table are kept, unless rare ones
/// are hidden; others are kept if they have a training pair or a judgment.
fn number_queries(
    divided: &SplitPairs,
    queries: &Queries,
    hides_rare: bool,
) -> (Vec<Option<u32>>, usize) {
    let mut kept = vec![queries.listed && !hides_rare; queries.names.len()];
    let held_out = divided.validation.iter().chain(&divided.test).map(|pair| pair.0);
    for query in divided.train.iter().map(|edge| edge.query).chain(held_out) {
        kept[query as usize] = true;
    }
    let mut next = 0;
    let number = |kept: bool| {
        next += u32::from(kept);
        kept.then(|| next - 1)
    };
    let numbers = kept.into_iter().map(number).collect();
    (numbers, next as usize)
}

/// A document without fields, except that an id which is a URL becomes the field `url`.
fn from_id(id: &str) -> Document {
    let mut fields = Map::new();
    if is_url(id) {
        fields.insert("url".into(), id.into());
    }
    Document { id: id.to_owned(), fields }
}

/// Whether `id` is a URL: it has a scheme, or a host with a dot before its path.
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
