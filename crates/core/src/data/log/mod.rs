//! Collects the rows of all tables of an import: interns ids, aggregates clicks, streams documents to
//! the disk.

mod aggregated_events;
mod checked_rows;
mod documents;
mod event_rows;

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::dataset::{DatasetWriter, SplitBy};
use super::events::EventLog;
use super::interner::Interner;
use super::pairs::{Edge, Merge, Pairs, combine};
use super::queries::Queries;
use super::report::TableReport;
use super::source_table::SourceTable;
use super::split::Judgment;
use super::split_name::SplitName;
use super::text_documents::TextDocuments;
use crate::rows::{BadRow, Checked, ColumnRole, Role, Source, TableReader, excerpt, file_name};
use crate::{Error, Result, Run, counted, quoted};
use checked_rows::{CheckedRows, RowUse};

/// The rows of all tables read so far.
#[derive(Default)]
pub(super) struct Log {
    pub queries: Queries,
    pub documents: Interner,
    /// Whether there is a table of documents.
    pub documents_listed: bool,
    /// Documents without text in the fields that are read by default.
    pub without_text: u64,
    /// By given split.
    pub clicks: [Pairs; 3],
    /// By given split.
    pub links: [Pairs; 3],
    /// By query, document and given split: the grade, and where it was read.
    judgments: HashMap<(u32, u32, Option<SplitName>), (f32, Place)>,
    /// Whether the source counts clicks.
    pub has_counts: bool,
    /// Whether the clicks are signed weights.
    pub has_weights: bool,
    /// Whether the source assigns rows to splits.
    pub has_splits: bool,
    pub tables: Vec<TableReport>,
    pub sources: Vec<Source>,
    pub notes: Vec<String>,
    /// Documents that were made from their texts, where the tables hold those.
    pub text_documents: Option<TextDocuments>,
    /// Unknown judged queries whose ids could be positions of known ones.
    like_positions: u64,
    /// By document.
    pub contents: Vec<ReadDocument>,
    /// The raw log while it is read, if there is one.
    pub events: Option<EventLog>,
    /// Pairs of the raw log dropped because all their clicks are too old.
    pub faded: u64,
    lenient: bool,
}

/// A line of one of the tables.
type Place = (usize, u64);

/// The content of a document, and where it was read.
#[derive(Clone, Copy)]
pub(super) struct ReadDocument {
    /// A hash of the content.
    pub content: u64,
    /// The table; `None` for the dataset that is appended to.
    pub table: Option<u32>,
    pub line: u64,
}

/// The pairs of each given split.
type PairsBySplit = Vec<(SplitName, Vec<Edge>)>;

impl Log {
    pub(super) fn new(lenient: bool, doc_text: Option<&str>) -> Self {
        Log {
            text_documents: doc_text.map(TextDocuments::new),
            clicks: Pairs::by_split(Merge::Sum),
            links: Pairs::by_split(Merge::Max),
            lenient,
            ..Log::default()
        }
    }

    /// Reads one table; documents go to `writer`.
    pub(super) fn read(
        &mut self,
        source: &SourceTable,
        writer: &mut DatasetWriter,
        run: &Run<'_>,
    ) -> Result<()> {
        let mut rows = CheckedRows::open(&source.table, source.role, self.lenient, *run)?;
        self.has_splits |= source.part.is_some() || rows.reader.has(ColumnRole::Split);
        match source.role {
            Role::Queries => self.queries.listed = true,
            Role::Documents => self.documents_listed = true,
            Role::Clicks
                if rows.reader.has(ColumnRole::Clicks) && rows.reader.has(ColumnRole::Weight) =>
            {
                return Err(Error::Line {
                    path: rows.reader.label().to_owned(),
                    line: 1,
                    expected: "a column clicks or a column weight".into(),
                    found: "both".into(),
                    advice: "choose one: `columns = clicks=clicks`, or `columns = weight=weight`"
                        .into(),
                });
            }
            _ => {}
        }
        let mut events = self.events.take();
        while rows.advance()? {
            let used = match source.role {
                Role::Events => match &mut events {
                    Some(events) => self.event(&rows.reader, events)?,
                    // Impossible: a caller that reads events sets `events` first.
                    None => Ok(RowUse::No("there is no log of events")),
                },
                Role::Queries => self.query(&rows.reader),
                Role::Clicks => self.click(&rows.reader),
                Role::Links => self.link(&rows.reader, source.part),
                Role::Judgments => self.judgment(&rows.reader, source),
                Role::Documents => match self.document(&mut rows.reader) {
                    Ok(Some(document)) => writer.document(&document).map(|()| Ok(RowUse::Yes))?,
                    Ok(None) => Ok(RowUse::No("the same document again")),
                    Err(bad) => Err(bad),
                },
            };
            rows.record(used)?;
        }
        self.events = events;
        if !rows.reader.nameless().is_empty() {
            let columns: Vec<String> =
                rows.reader.nameless().iter().map(ToString::to_string).collect();
            self.notes.push(format!(
                "{}: columns {} have no name and were dropped",
                rows.report.name,
                columns.join(", ")
            ));
        }
        if std::mem::take(&mut self.like_positions) > 0 {
            self.notes.push(format!(
                "{}: some unknown queries fit the positions of known ones; if they are positions, set `columns = queries:id=position`",
                rows.report.name
            ));
        }
        let said = rows.reader.notes().map(|note| format!("{}: {note}", rows.report.name));
        self.notes.extend(said);
        self.sources.extend_from_slice(rows.reader.other_files());
        let (bytes, sha256) = rows.reader.checksum();
        let (name, role) = (rows.report.name.clone(), rows.report.role.clone());
        self.sources.push(Source { name, role, bytes, sha256 });
        self.tables.push(rows.report);
        Ok(())
    }

    /// The pairs of each given split, all in training unless the split is as given or by time; and
    /// how many pairs cancelled out. An error if the weights of a pair add up to more than an
    /// `f32` holds.
    pub(super) fn take_pairs(&mut self, by: SplitBy) -> Result<(PairsBySplit, usize)> {
        // The table of queries overrides the counts.
        for (clicks, given) in self.queries.clicks.iter_mut().zip(&self.queries.given_clicks) {
            *clicks = given.unwrap_or(*clicks);
        }
        let clicks = std::mem::replace(&mut self.clicks, Pairs::by_split(Merge::Sum));
        let links = std::mem::replace(&mut self.links, Pairs::by_split(Merge::Max));
        if !matches!(by, SplitBy::Given | SplitBy::Time) {
            let (edges, cancelled) = combine(clicks.into(), links.into());
            self.check_sums(&edges)?;
            return Ok((vec![(SplitName::Train, edges)], cancelled));
        }
        let mut parts = Vec::new();
        let mut cancelled = 0;
        for (part, (clicks, links)) in SplitName::ALL.into_iter().zip(clicks.into_iter().zip(links))
        {
            let (edges, nothing) = combine(vec![clicks], vec![links]);
            self.check_sums(&edges)?;
            parts.push((part, edges));
            cancelled += nothing;
        }
        Ok((parts, cancelled))
    }

    /// Drops every pair: the judgments are not links, too.
    pub(super) fn clear_pairs(&mut self) {
        self.clicks = Pairs::by_split(Merge::Sum);
        self.links = Pairs::by_split(Merge::Max);
        self.queries.clicks.fill(0.0);
    }

    fn check_sums(&self, edges: &[Edge]) -> Result<()> {
        let Some(edge) = edges.iter().find(|edge| !edge.weight.is_finite()) else {
            return Ok(());
        };
        let query = excerpt(self.queries.names.name(edge.query));
        let doc = excerpt(self.documents.name(edge.doc));
        let of_pairs = |table: &&TableReport| table.role != "queries" && table.role != "documents";
        Err(Error::Unusable {
            path: self.tables.iter().find(of_pairs).map_or("", |table| &table.name).into(),
            problem: format!(
                "the clicks or weights of the query {query:?} and the document {doc:?} add up to a number that cannot be stored, expected at most {:e} in size",
                f32::MAX
            ),
            advice: "scale the numbers down".into(),
        })
    }

    /// The judgments, sorted.
    pub(super) fn take_judgments(&mut self) -> Vec<Judgment> {
        let judgments = std::mem::take(&mut self.judgments).into_iter();
        let mut judgments: Vec<Judgment> = judgments
            .map(|((query, doc, part), (grade, _))| Judgment { query, doc, grade, part })
            .collect();
        judgments.sort_by_key(|j| (j.query, j.doc, j.part.map(|part| part as u8)));
        judgments
    }

    fn query(&mut self, row: &TableReader<'_>) -> Checked<RowUse> {
        let id = row.text(ColumnRole::Id)?;
        let text = row.text(ColumnRole::Text)?;
        let clicks = row.number(ColumnRole::Clicks)?;
        if let Some(negative) = clicks.filter(|&clicks| clicks < 0.0) {
            return Err(row.bad("negative clicks", "clicks of 0 or more", format!("{negative}")));
        }
        let part = self.part(row)?;
        if let Some(known) = self.queries.names.get(&id) {
            let first = &self.queries.texts[known as usize];
            let given = self.queries.given_clicks[known as usize];
            if **first == *text && given != clicks {
                return Err(BadRow {
                    advice: "decide which number is right",
                    ..row.bad(
                        "query id with other clicks",
                        format!("{} for the query {id:?}, as before", shown_clicks(given)),
                        shown_clicks(clicks),
                    )
                });
            }
            if **first == *text {
                return Ok(RowUse::No("the same query again"));
            }
            return Err(BadRow {
                advice: "give each query an id of its own",
                ..row.bad(
                    "query id with another text",
                    format!("{} for the query {id:?}, as before", quoted(first)),
                    quoted(&text),
                )
            });
        }
        self.queries.names.add(&id).ok_or_else(|| too_many(row, "queries"))?;
        self.queries.texts.push(text.into());
        self.queries.clicks.push(0.0);
        self.queries.parts.push(part);
        self.queries.given_clicks.push(clicks);
        Ok(RowUse::Yes)
    }

    fn click(&mut self, row: &TableReader<'_>) -> Checked<RowUse> {
        let raw = row.text(ColumnRole::Query)?;
        let clicks = row.number(ColumnRole::Clicks)?;
        let weight = row.number(ColumnRole::Weight)?;
        if clicks.is_some() && weight.is_some() {
            return Err(row.bad("bad field", "clicks or weight", "both"));
        }
        if let Some(negative) = clicks.filter(|&clicks| clicks < 0.0) {
            return Err(BadRow {
                advice: "a signed number is a weight (`columns = weight=NAME`)",
                ..row.bad("negative clicks", "clicks of 0 or more", format!("{negative}"))
            });
        }
        let part = self.part(row)?;
        self.has_counts |= clicks.is_some();
        self.has_weights |= weight.is_some();
        let value = clicks.or(weight).unwrap_or(1.0);
        if value == 0.0 {
            return Ok(RowUse::No(if weight.is_some() { "weight 0" } else { "no clicks" }));
        }
        let (query, doc) = self.pair(row, &raw)?;
        // A weight rates the pair; it does not count spellings.
        self.queries.spelt(query, &raw, clicks.unwrap_or(1.0));
        self.queries.clicks[query as usize] += value.max(0.0);
        let part = part.or(self.queries.part(query)).unwrap_or(SplitName::Train);
        self.clicks[part as usize].push(query, doc, value);
        Ok(RowUse::Yes)
    }

    fn link(&mut self, row: &TableReader<'_>, part: Option<SplitName>) -> Checked<RowUse> {
        let raw = row.text(ColumnRole::Query)?;
        let weight = row.number(ColumnRole::Weight)?.unwrap_or(1.0);
        let part = part.or(self.part(row)?);
        if weight == 0.0 {
            return Ok(RowUse::No("weight 0"));
        }
        let (query, doc) = self.pair(row, &raw)?;
        self.queries.spelt(query, &raw, 1.0);
        self.queries.clicks[query as usize] += weight.max(0.0);
        let part = part.or(self.queries.part(query)).unwrap_or(SplitName::Train);
        self.links[part as usize].push(query, doc, weight);
        Ok(RowUse::Yes)
    }

    fn judgment(&mut self, row: &TableReader<'_>, source: &SourceTable) -> Checked<RowUse> {
        let raw = row.text(ColumnRole::Query)?;
        let grade = row.grade()?;
        let part = source.part.or(self.part(row)?);
        let (query, doc) = self.pair(row, &raw)?;
        self.queries.spelt(query, &raw, 0.0);
        let place = (self.tables.len(), row.line());
        match self.judgments.entry((query, doc, part)) {
            Entry::Vacant(entry) => {
                entry.insert((grade as f32, place));
            }
            Entry::Occupied(entry) if entry.get().0 == grade as f32 => {
                return Ok(RowUse::No("the same judgment again"));
            }
            Entry::Occupied(entry) => {
                let (first, (table, line)) = *entry.get();
                let name = self.table_name(table, row);
                return Err(BadRow {
                    advice: "decide which grade is right",
                    ..row.bad(
                        "another grade for the same pair",
                        format!("the grade {first}, as in {name}:{line}"),
                        format!("{grade}"),
                    )
                });
            }
        }
        if source.also_links && grade > 0.0 {
            self.queries.clicks[query as usize] += grade;
            let part = part.or(self.queries.part(query)).unwrap_or(SplitName::Train);
            self.links[part as usize].push(query, doc, grade);
        }
        Ok(RowUse::Yes)
    }

    /// The name of the table number `table`, of which the last is being read by `row`.
    fn table_name(&self, table: usize, row: &TableReader<'_>) -> String {
        let known = self.tables.get(table);
        known.map_or_else(|| file_name(row.label()), |report| report.name.clone())
    }

    fn part(&mut self, row: &TableReader<'_>) -> Checked<Option<SplitName>> {
        let Some(text) = row.optional(ColumnRole::Split)? else { return Ok(None) };
        self.has_splits = true;
        let unknown = || {
            row.bad("unknown split", "train, validation (or dev) or test as split", quoted(&text))
        };
        SplitName::parse(&text).map(Some).ok_or_else(unknown)
    }

    /// The numbers of the query `raw` and of the row's document. The one that can be unknown is
    /// looked up first, so that a bad row adds no id.
    fn pair(&mut self, row: &TableReader<'_>, raw: &str) -> Checked<(u32, u32)> {
        if self.queries.listed {
            let query = self.query_of(row, raw)?;
            return Ok((query, self.doc(row)?));
        }
        let doc = self.doc(row)?;
        Ok((self.query_of(row, raw)?, doc))
    }

    fn doc(&mut self, row: &TableReader<'_>) -> Checked<u32> {
        let id = row.text(ColumnRole::Doc)?;
        if let Some(texts) = &mut self.text_documents {
            let found = texts.find(&id, &mut self.documents).map_err(|other| BadRow {
                advice: "change one of them a little, or give documents with ids",
                ..row.bad(
                    "two texts with one id",
                    "a text whose checksum no other has",
                    format!("that of {} for {}", quoted(&other), quoted(&id)),
                )
            });
            return found?.ok_or_else(|| too_many(row, "documents"));
        }
        // A judgment adds no document: without text or clicks no model could find it.
        if self.documents_listed || row.role() == Role::Judgments {
            return self.documents.get(&id).ok_or_else(|| self.unknown_document(row, &id));
        }
        self.documents.add(&id).ok_or_else(|| too_many(row, "documents"))
    }

    fn query_of(&mut self, row: &TableReader<'_>, raw: &str) -> Checked<u32> {
        let listed = self.queries.listed;
        self.queries.find(raw).ok_or_else(|| {
            if !listed {
                return too_many(row, "queries");
            }
            if self.queries.are_documents {
                return self.unknown_document(row, raw);
            }
            let position = raw.trim().parse::<usize>().unwrap_or_default();
            let like_position = (1..=self.queries.names.len()).contains(&position);
            self.like_positions += u64::from(like_position);
            unknown_query(row, raw, like_position)
        })
    }

    /// A row with an unknown document.
    pub(super) fn unknown_document(&self, row: &TableReader<'_>, id: &str) -> BadRow {
        BadRow {
            advice: if self.documents_listed {
                "add it to the documents"
            } else {
                "nobody clicked it: give the documents with `documents`, or, if this is their text, `doc_text = title`"
            },
            ..row.bad(
                "unknown document",
                "a known document",
                format!("the unknown document {}", quoted(id)),
            )
        }
    }
}

/// A row with an unknown query.
pub(super) fn unknown_query(row: &TableReader<'_>, id: &str, like_position: bool) -> BadRow {
    BadRow {
        advice: if like_position {
            "if the numbers are positions of the queries, set `columns = queries:id=position`; else add it to the queries"
        } else {
            "add it to the queries"
        },
        ..row.bad(
            "unknown query",
            "the id of a known query",
            format!("the unknown query {}", quoted(id)),
        )
    }
}

fn shown_clicks(clicks: Option<f64>) -> String {
    clicks.map_or("no clicks".into(), |clicks| counted(clicks, "click"))
}

fn too_many(row: &TableReader<'_>, what: &str) -> BadRow {
    row.bad("too many", format!("fewer than 2³² {what}"), "more")
}
