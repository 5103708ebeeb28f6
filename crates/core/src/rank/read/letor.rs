//! Tables in LETOR and SVMlight format, with LightGBM's side files: `FILE.query` (the number of rows
//! of each query, for rows without `qid`), `FILE.weight` and `FILE.position`; and `FILE.names`, one
//! name per feature.

use std::collections::HashSet;
use std::path::{Path, PathBuf};

use super::TableFile;
use crate::rank::{FeatureTable, TableBuilder};
use crate::rows::{Letor, LetorRow, text_lines};
use crate::{Error, Result, Run};

/// A row without its features.
struct Row {
    grade: f32,
    query: Option<String>,
    doc: Option<String>,
    /// The place of its first feature among all entries.
    first: usize,
    /// A feature whose value was rounded to 32 bits.
    rounded: Option<u32>,
}

/// Bytes per value while a file is read: the sparse entry, and the dense value.
const BYTES: u64 = 12;

/// Bytes per name.
const NAME: u64 = 48;

pub(super) fn read(file: &TableFile, run: &Run<'_>) -> Result<FeatureTable> {
    let mut rows = Vec::new();
    let mut entries: Vec<(u32, f32)> = Vec::new();
    let (mut least, mut most) = (u32::MAX, None::<u32>);
    let mut source = Letor::open(&file.path, file.without_grades, *run)?;
    let mut read = LetorRow::default();
    while source.read_row(&mut read)? {
        for &(feature, _) in &read.features {
            least = least.min(feature);
            most = most.max(Some(feature));
        }
        let LetorRow { grade, rounded, ref mut query, ref mut doc, ref features } = read;
        let first = entries.len();
        entries.extend_from_slice(features);
        rows.push(Row { grade, query: query.take(), doc: doc.take(), first, rounded });
    }
    let given = given_names(file, run)?;
    let n_given = given.as_ref().map(|(_, names)| names.len() as u64);
    // Features count from 0 if there is a feature 0, or if there are as many names as that needs.
    let most = most.map_or(0, u64::from);
    let first = if least == 0 || n_given == Some(most + 1) { 0 } else { 1 };
    let n_used = if entries.is_empty() { 0 } else { most + 1 - u64::from(first) };
    let n_features = n_used.max(n_given.unwrap_or(0));
    let needed = (rows.len() as u64).saturating_mul(n_features).saturating_mul(BYTES);
    let needed = needed.saturating_add(n_features.saturating_mul(NAME));
    if needed > run.memory_left() {
        return Err(Error::Memory {
            what: format!(
                "{}: {} rows with {n_features} features each",
                file.path.display(),
                rows.len(),
            ),
            advice: "rows are stored densely: number the features without gaps, or read fewer rows"
                .into(),
        });
    }
    let names = match given {
        None => (u64::from(first)..u64::from(first) + n_used).map(|f| f.to_string()).collect(),
        Some((path, names)) if (names.len() as u64) < n_used => {
            return Err(Error::Unusable {
                path,
                problem: format!("{} names for {n_used} features", names.len()),
                advice: "write one name per line, the first line for feature 1 (or 0)".into(),
            });
        }
        Some((_, names)) => names,
    };
    let without_query = rows.iter().position(|row| row.query.is_none());
    let groups = without_query.map(|at| Groups::read(&file.path, &rows, at, run)).transpose()?;
    let absent = if file.absent_is_missing { f32::NAN } else { 0.0 };
    let mut builder = TableBuilder::new(names);
    builder.absent(absent);
    let mut values = vec![absent; builder.n_features()];
    let ends = rows.iter().skip(1).map(|row| row.first).chain([entries.len()]);
    for (place, (row, end)) in rows.iter().zip(ends).enumerate() {
        values.fill(absent);
        for &(feature, value) in &entries[row.first..end] {
            values[(feature - first) as usize] = value;
        }
        let query = match (&row.query, &groups) {
            (Some(query), _) => query.clone(),
            (None, Some(groups)) => groups.query(place),
            (None, None) => String::new(),
        };
        // A row without an id has its place as id.
        let doc = row.doc.clone().unwrap_or_else(|| (place + 1).to_string());
        builder.push(&query, &doc, row.grade, &values)?;
    }
    if let Some(feature) = rows.iter().find_map(|row| row.rounded) {
        builder.rounded((feature - first) as usize);
    }
    if let Some(weights) = numbers(&side(&file.path, "weight"), rows.len(), run, |text| {
        text.parse::<f32>().ok().filter(|weight| weight.is_finite() && *weight >= 0.0)
    })? {
        builder.weights(weights)?;
    }
    if let Some(positions) =
        numbers(&side(&file.path, "position"), rows.len(), run, |text| text.parse::<u32>().ok())?
    {
        // LightGBM counts positions from 0; here 0 means unknown.
        let from_zero = u32::from(positions.contains(&0));
        builder.positions(positions.iter().map(|p| p.saturating_add(from_zero)).collect())?;
    }
    Ok(builder.finish())
}

/// The names of the features from the given file, or from `FILE.names` beside the table.
fn given_names(file: &TableFile, run: &Run<'_>) -> Result<Option<(PathBuf, Vec<String>)>> {
    let beside = Some(side(&file.path, "names")).filter(|path| path.is_file());
    let Some(path) = file.names.clone().or(beside) else { return Ok(None) };
    let mut names: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for line in text_lines(&path, *run)? {
        let (number, line) = line?;
        let name = line.trim();
        if name.is_empty() || !seen.insert(name.to_owned()) {
            return Err(Error::Line {
                path,
                line: number,
                expected: "a name, each once".into(),
                found: format!("{name:?}"),
                advice: "write one name per line, the first line for feature 1".into(),
            });
        }
        names.push(name.to_owned());
    }
    Ok(Some((path, names)))
}

/// The rows of each query, for rows without a query.
struct Groups {
    ends: Vec<usize>,
}

impl Groups {
    fn read(path: &Path, rows: &[Row], at: usize, run: &Run<'_>) -> Result<Self> {
        let beside = side(path, "query");
        let unusable = |path: PathBuf, problem: String| Error::Unusable {
            path,
            problem,
            advice: format!(
                "write qid:ID into every row, or the number of rows of each query, one per line, into {}",
                beside.display()
            ),
        };
        if rows.iter().any(|row| row.query.is_some()) {
            let problem = format!("row {} has no qid, but others have one", at + 1);
            return Err(unusable(path.to_owned(), problem));
        }
        if !beside.is_file() {
            return Err(unusable(path.to_owned(), "no row has a qid".into()));
        }
        let mut ends = Vec::new();
        let mut end = 0usize;
        for line in text_lines(&beside, *run)? {
            let (number, line) = line?;
            let text = line.trim();
            if text.is_empty() {
                continue;
            }
            let size = text.parse::<usize>().ok().and_then(|size| end.checked_add(size));
            end = size.ok_or_else(|| Error::Line {
                path: beside.clone(),
                line: number,
                expected: "the number of rows of the next query".into(),
                found: format!("{text:?}"),
                advice: "write one whole number per line".into(),
            })?;
            ends.push(end);
        }
        if end != rows.len() {
            let problem = format!("its queries have {end} rows, but the table has {}", rows.len());
            return Err(unusable(beside.clone(), problem));
        }
        Ok(Groups { ends })
    }

    /// The query of a row: its place, counted from 1.
    fn query(&self, row: usize) -> String {
        (self.ends.partition_point(|&end| end <= row) + 1).to_string()
    }
}

/// The side file of `path`: `rank.train` and `rank.train.gz` have `rank.train.query`.
fn side(path: &Path, ending: &str) -> PathBuf {
    let compressed = path.extension().is_some_and(|e| e == "gz" || e == "zst");
    let mut name =
        if compressed { path.with_extension("") } else { path.to_owned() }.into_os_string();
    name.push(format!(".{ending}"));
    name.into()
}

/// One number per row, from a side file if there is one.
fn numbers<T>(
    path: &Path,
    n_rows: usize,
    run: &Run<'_>,
    parse: impl Fn(&str) -> Option<T>,
) -> Result<Option<Vec<T>>> {
    if !path.is_file() {
        return Ok(None);
    }
    let mut numbers = Vec::with_capacity(n_rows);
    for line in text_lines(path, *run)? {
        let (number, line) = line?;
        if line.trim().is_empty() {
            continue;
        }
        numbers.push(parse(line.trim()).ok_or_else(|| Error::Line {
            path: path.to_owned(),
            line: number,
            expected: "a number from 0 on, one per row of the table".into(),
            found: format!("{:?}", line.trim()),
            advice: "correct the line, or move the file away".into(),
        })?);
    }
    if numbers.len() != n_rows {
        return Err(Error::Unusable {
            path: path.to_owned(),
            problem: format!("{} numbers for {n_rows} rows", numbers.len()),
            advice: "write one number per row of the table, or move the file away".into(),
        });
    }
    Ok(Some(numbers))
}
