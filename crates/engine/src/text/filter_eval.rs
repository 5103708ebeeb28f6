//! Evaluation of filters: every condition is looked up in a column, one segment at a time. Segments
//! never change, so results are cached.

use std::ops::{Bound, RangeInclusive};
use std::sync::{Arc, Mutex, PoisonError};

use liken::index::DocSet;
use tantivy::columnar::Column;
use tantivy::index::SegmentId;
use tantivy::schema::IndexRecordOption;
use tantivy::{DocSet as _, SegmentReader, TERMINATED, Term};

use super::filter::{Filter, OneOf, Rule, Test};
use super::schema::{PRESENT, VALUES};

type Result<T> = std::result::Result<T, tantivy::TantivyError>;

/// Up to this many values, one lookup in the column for each is faster than a scan of all values.
const FEW: usize = 3;

/// The documents of a segment that pass `rule`, deleted ones among them.
fn allowed(rule: &Rule, segment: &SegmentReader) -> Result<DocSet> {
    let end = segment.max_doc();
    match rule {
        Rule::All(rules) => {
            let mut bits = DocSet::all(end);
            for rule in rules {
                bits.intersect(&allowed(rule, segment)?);
            }
            Ok(bits)
        }
        Rule::Any(rules) => {
            let mut bits = DocSet::new();
            for rule in rules {
                bits.unite(&allowed(rule, segment)?);
            }
            Ok(bits)
        }
        Rule::Not(rule) => {
            let mut bits = DocSet::all(end);
            bits.subtract(&allowed(rule, segment)?);
            Ok(bits)
        }
        Rule::Field(column, test) => passing(column, test, segment),
    }
}

fn passing(column: &str, test: &Test, segment: &SegmentReader) -> Result<DocSet> {
    let mut bits = DocSet::new();
    let columns = segment.fast_fields();
    let name = format!("{VALUES}.{column}");
    match test {
        Test::OneOf(OneOf { numbers, strings, truths }) => {
            if let (false, Some(values)) = (numbers.is_empty(), columns.column_opt::<f64>(&name)?) {
                let known = |value: f64| numbers.binary_search_by(|n| n.total_cmp(&value)).is_ok();
                one_of(&values, numbers, known, &mut bits);
            }
            if let (false, Some(values)) = (truths.is_empty(), columns.column_opt::<bool>(&name)?) {
                one_of(&values, truths, |value| truths.contains(&value), &mut bits);
            }
            if let (false, Some(values)) = (strings.is_empty(), columns.str(&name)?) {
                let mut places = Vec::new();
                for text in strings {
                    places.extend(values.dictionary().term_ord(text.as_bytes())?);
                }
                places.sort_unstable();
                let known = |place| places.binary_search(&place).is_ok();
                one_of(values.ords(), &places, known, &mut bits);
            }
        }
        Test::Numbers(low, high) => {
            let low = match *low {
                Bound::Included(low) => low,
                Bound::Excluded(low) => low.next_up(),
                Bound::Unbounded => f64::NEG_INFINITY,
            };
            let high = match *high {
                Bound::Included(high) => high,
                Bound::Excluded(high) => high.next_down(),
                Bound::Unbounded => f64::INFINITY,
            };
            if let Some(values) = columns.column_opt::<f64>(&name)? {
                between(&values, low..=high, &mut bits);
            }
        }
        Test::Strings(low, high) => {
            strings_between(&name, segment, as_bytes(low), as_bytes(high), &mut bits)?;
        }
        Test::Prefix(prefix) => {
            let mut after = prefix.clone().into_bytes();
            // No byte of a string is 255, so there is a next one.
            let high = match after.last_mut() {
                Some(last) => {
                    *last += 1;
                    Bound::Excluded(after.as_slice())
                }
                None => Bound::Unbounded,
            };
            strings_between(&name, segment, Bound::Included(prefix.as_bytes()), high, &mut bits)?;
        }
        Test::Exists => {
            let present = segment.schema().get_field(PRESENT)?;
            let name = Term::from_field_text(present, column);
            let lists = segment.inverted_index(present)?;
            if let Some(mut list) = lists.read_postings(&name, IndexRecordOption::Basic)? {
                while list.doc() != TERMINATED {
                    bits.insert(list.doc());
                    list.advance();
                }
            }
        }
    }
    Ok(bits)
}

fn as_bytes(bound: &Bound<String>) -> Bound<&[u8]> {
    bound.as_ref().map(String::as_bytes)
}

/// Adds the documents with a string between the bounds.
fn strings_between(
    column: &str,
    segment: &SegmentReader,
    low: Bound<&[u8]>,
    high: Bound<&[u8]>,
    bits: &mut DocSet,
) -> Result<()> {
    let Some(values) = segment.fast_fields().str(column)? else { return Ok(()) };
    let (low, high) = values.dictionary().term_bounds_to_ord(low, high)?;
    let first = match low {
        Bound::Included(first) => first,
        Bound::Excluded(before) => before.saturating_add(1),
        Bound::Unbounded => 0,
    };
    let end = match high {
        Bound::Included(last) => last.saturating_add(1),
        Bound::Excluded(end) => end,
        Bound::Unbounded => u64::MAX,
    };
    let end = end.min(values.num_terms() as u64);
    if first < end {
        between(values.ords(), first..=end - 1, bits);
    }
    Ok(())
}

/// Adds the documents with a value in `range`.
fn between<T>(column: &Column<T>, range: RangeInclusive<T>, bits: &mut DocSet)
where
    T: PartialOrd + Copy + std::fmt::Debug + Send + Sync + 'static,
{
    // tantivy takes a range below all values for the smallest of them.
    let (mut low, mut high) = range.into_inner();
    if low < column.min_value() {
        low = column.min_value();
    }
    if high > column.max_value() {
        high = column.max_value();
    }
    if low > high {
        return;
    }
    let mut found = Vec::new();
    column.get_docids_for_value_range(low..=high, 0..column.num_docs(), &mut found);
    found.into_iter().for_each(|doc| {
        bits.insert(doc);
    });
}

/// Adds the documents with one of `values`, the ones that are `known`.
fn one_of<T>(column: &Column<T>, values: &[T], known: impl Fn(T) -> bool, bits: &mut DocSet)
where
    T: PartialOrd + Copy + Default + std::fmt::Debug + Send + Sync + 'static,
{
    if values.len() <= FEW {
        return values.iter().for_each(|&value| between(column, value..=value, bits));
    }
    let mut found = Vec::new();
    let mut block = [T::default(); 1024];
    let n_values = column.values.num_vals();
    for start in (0..n_values).step_by(block.len()) {
        let len = block.len().min((n_values - start) as usize);
        column.values.get_range(u64::from(start), &mut block[..len]);
        let rows = (start..).zip(&block[..len]).filter(|&(_, &value)| known(value));
        found.extend(rows.map(|(row, _)| row));
    }
    column.index.select_batch_in_place(0, &mut found);
    found.into_iter().for_each(|doc| {
        bits.insert(doc);
    });
}

/// The most bytes of cached results.
const MOST_BYTES: usize = 32 << 20;

/// The documents that filters allow, by segment; the most recently used last.
#[derive(Default)]
pub(super) struct FilterCache {
    entries: Mutex<Vec<CachedFilter>>,
}

struct CachedFilter {
    segment: SegmentId,
    filter: String,
    allowed: Arc<DocSet>,
}

impl CachedFilter {
    fn bytes(&self) -> usize {
        self.allowed.bytes() + self.filter.len() + size_of::<CachedFilter>()
    }
}

impl FilterCache {
    /// The documents of a segment that `filter` allows, deleted ones among them.
    pub fn allowed(&self, filter: &Filter, segment: &SegmentReader) -> Result<Arc<DocSet>> {
        let id = segment.segment_id();
        let is_it = |entry: &CachedFilter| entry.segment == id && entry.filter == filter.json;
        {
            let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
            if let Some(at) = entries.iter().position(is_it) {
                let entry = entries.remove(at);
                let bits = entry.allowed.clone();
                entries.push(entry);
                return Ok(bits);
            }
        }
        let bits = Arc::new(allowed(&filter.rule, segment)?);
        let entry =
            CachedFilter { segment: id, filter: filter.json.clone(), allowed: bits.clone() };
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        if !entries.iter().any(is_it) && entry.bytes() <= MOST_BYTES {
            let mut bytes = entries.iter().map(CachedFilter::bytes).sum::<usize>() + entry.bytes();
            let mut gone = 0;
            while bytes > MOST_BYTES {
                bytes -= entries[gone].bytes();
                gone += 1;
            }
            entries.drain(..gone);
            entries.push(entry);
        }
        Ok(bits)
    }

    /// Drops the results of segments that no longer exist.
    pub fn keep(&self, segments: impl Fn(SegmentId) -> bool) {
        let mut entries = self.entries.lock().unwrap_or_else(PoisonError::into_inner);
        entries.retain(|entry| segments(entry.segment));
    }
}
