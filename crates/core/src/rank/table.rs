//! Rows of features with grades, query by query: all that a ranker learns from and scores.

use std::collections::HashMap;
use std::ops::Range;

use crate::{Error, Result, counted};

/// Rows of features, grouped by query. A NaN is a missing value; no value is infinite.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureTable {
    names: Vec<String>,
    queries: Vec<String>,
    /// By query, the group that it belongs to, where there are groups.
    groups: Option<Vec<String>>,
    /// Where the rows of each query begin, and where the last end.
    starts: Vec<usize>,
    docs: Vec<String>,
    grades: Vec<f32>,
    weights: Option<Vec<f32>>,
    positions: Option<Vec<u32>>,
    /// Row by row.
    values: Vec<f32>,
    /// The place of every row in the order in which rows were added.
    places: Vec<usize>,
    /// The value of a feature that the table does not have: 0, or missing.
    absent: f32,
    /// A feature of which whole numbers were rounded to 32 bits, if there is one.
    rounded: Option<String>,
}

impl FeatureTable {
    /// A table without rows, in which an absent feature is missing.
    fn empty(names: Vec<String>) -> Self {
        FeatureTable {
            names,
            queries: Vec::new(),
            groups: None,
            starts: vec![0],
            docs: Vec::new(),
            grades: Vec::new(),
            weights: None,
            positions: None,
            values: Vec::new(),
            places: Vec::new(),
            absent: f32::NAN,
            rounded: None,
        }
    }

    /// A feature of which whole numbers had to be rounded to 32 bits, so that different ones may
    /// have become equal.
    pub fn rounded(&self) -> Option<&str> {
        self.rounded.as_deref()
    }

    /// The names of the features.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// The ids of the queries.
    pub fn queries(&self) -> &[String] {
        &self.queries
    }

    /// The group of a query: itself, or a name that it shares with queries that are nearly the
    /// same, such as the result pages of one query.
    pub fn group(&self, query: usize) -> &str {
        &self.groups.as_ref().unwrap_or(&self.queries)[query]
    }

    /// Whether queries have groups.
    pub fn has_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// The ids of the documents, one per row.
    pub fn docs(&self) -> &[String] {
        &self.docs
    }

    /// The grades, one per row.
    pub fn grades(&self) -> &[f32] {
        &self.grades
    }

    /// The weight of each row, where rows have weights. It multiplies the loss of the row in
    /// pointwise methods, and of every pair of which the row is the better one in pairwise ones.
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// The weight of a row; 1 where rows have no weights.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| f64::from(weights[row]))
    }

    /// The rank, from 1, at which each row was shown; 0 where it is unknown.
    pub fn positions(&self) -> Option<&[u32]> {
        self.positions.as_deref()
    }

    /// The number of rows.
    pub fn n_rows(&self) -> usize {
        self.grades.len()
    }

    /// The number of features.
    pub fn n_features(&self) -> usize {
        self.names.len()
    }

    /// The number of queries.
    pub fn n_queries(&self) -> usize {
        self.queries.len()
    }

    /// The rows of a query.
    pub fn rows_of(&self, query: usize) -> Range<usize> {
        self.starts[query]..self.starts[query + 1]
    }

    /// The rows of every query, in order.
    pub fn by_query(&self) -> impl ExactSizeIterator<Item = Range<usize>> + '_ {
        self.starts.windows(2).map(|two| two[0]..two[1])
    }

    /// The features of a row.
    pub fn row(&self, row: usize) -> &[f32] {
        &self.values[row * self.n_features()..(row + 1) * self.n_features()]
    }

    /// All features, row by row.
    pub fn values(&self) -> &[f32] {
        &self.values
    }

    /// Reorders `scores`, one per row of this table, to the order in which the rows were added.
    pub fn in_input_order<T: Copy + Default>(&self, scores: &[T]) -> Vec<T> {
        let mut sorted = vec![T::default(); scores.len()];
        for (&place, &score) in self.places.iter().zip(scores) {
            sorted[place] = score;
        }
        sorted
    }

    /// Reorders `scores`, one per row in the order in which the rows were added, to the order of
    /// the rows of this table.
    pub fn from_input_order<T: Copy>(&self, scores: &[T]) -> Vec<T> {
        self.places.iter().map(|&place| scores[place]).collect()
    }

    /// The same rows with other values, row by row.
    ///
    /// # Panics
    /// If there are not as many values as before.
    pub fn with_values(&self, values: Vec<f32>) -> Self {
        assert_eq!(values.len(), self.values.len(), "as many values as before");
        FeatureTable { values, ..self.clone() }
    }

    /// The same rows with these weights.
    ///
    /// # Panics
    /// If there is not one weight per row.
    pub fn with_weights(mut self, weights: Option<Vec<f32>>) -> Self {
        assert!(weights.as_ref().is_none_or(|w| w.len() == self.n_rows()), "one weight per row");
        self.weights = weights;
        self
    }

    /// The rows of several tables as one: queries stay apart, features are those of all.
    pub fn joined(tables: &[&FeatureTable]) -> Self {
        let mut names: Vec<String> = Vec::new();
        for table in tables {
            let new = table.names.iter().filter(|name| !names.contains(name));
            let new: Vec<String> = new.cloned().collect();
            names.extend(new);
        }
        let mut all = FeatureTable {
            groups: tables.iter().any(|table| table.groups.is_some()).then(Vec::new),
            weights: tables.iter().any(|table| table.weights.is_some()).then(Vec::new),
            positions: tables.iter().any(|table| table.positions.is_some()).then(Vec::new),
            absent: tables.first().map_or(f32::NAN, |table| table.absent),
            rounded: tables.iter().find_map(|table| table.rounded.clone()),
            ..FeatureTable::empty(names)
        };
        for table in tables {
            let (first, n) = (all.grades.len(), table.n_rows());
            all.values.extend(table.with_features(&all.names).0.values);
            all.queries.extend_from_slice(&table.queries);
            if let Some(groups) = &mut all.groups {
                groups.extend((0..table.n_queries()).map(|query| table.group(query).to_owned()));
            }
            all.starts.extend(table.starts[1..].iter().map(|end| first + end));
            all.docs.extend_from_slice(&table.docs);
            all.grades.extend(&table.grades);
            all.places.extend(table.places.iter().map(|place| first + place));
            if let Some(weights) = &mut all.weights {
                weights.extend((0..n).map(|row| table.weight(row) as f32));
            }
            if let Some(positions) = &mut all.positions {
                match &table.positions {
                    Some(own) => positions.extend(own),
                    None => positions.extend(vec![0; n]),
                }
            }
        }
        all
    }

    /// The rows of the queries at `chosen`, in that order.
    pub fn of_queries(&self, chosen: &[usize]) -> Self {
        let rows: Vec<usize> = chosen.iter().flat_map(|&query| self.rows_of(query)).collect();
        let mut starts = vec![0];
        for &query in chosen {
            starts.push(starts[starts.len() - 1] + self.rows_of(query).len());
        }
        let of_chosen = |names: &Vec<String>| chosen.iter().map(|&q| names[q].clone()).collect();
        FeatureTable {
            queries: of_chosen(&self.queries),
            groups: self.groups.as_ref().map(of_chosen),
            starts,
            ..self.picked(&rows)
        }
    }

    /// The rows at `rows`, without queries and groups.
    fn picked(&self, rows: &[usize]) -> Self {
        let pick = |from: &[f32]| rows.iter().map(|&row| from[row]).collect::<Vec<f32>>();
        let positions = |from: &Vec<u32>| rows.iter().map(|&row| from[row]).collect();
        FeatureTable {
            docs: rows.iter().map(|&row| self.docs[row].clone()).collect(),
            grades: pick(&self.grades),
            weights: self.weights.as_deref().map(pick),
            positions: self.positions.as_ref().map(positions),
            values: rows.iter().flat_map(|&row| self.row(row)).copied().collect(),
            places: (0..rows.len()).collect(),
            absent: self.absent,
            rounded: self.rounded.clone(),
            ..FeatureTable::empty(self.names.clone())
        }
    }

    /// The same rows with the features `names`, in that order, and the names that the table does
    /// not have. The values of those are 0 if the table comes from a sparse file, else missing.
    pub fn with_features(&self, names: &[String]) -> (Self, Vec<String>) {
        if self.names == names {
            return (self.clone(), Vec::new());
        }
        let at: HashMap<&str, usize> =
            self.names.iter().enumerate().map(|(at, name)| (name.as_str(), at)).collect();
        let places: Vec<Option<usize>> =
            names.iter().map(|name| at.get(name.as_str()).copied()).collect();
        let value = |row: usize, place: Option<usize>| {
            place.map_or(self.absent, |feature| self.row(row)[feature])
        };
        let values = (0..self.n_rows())
            .flat_map(|row| places.iter().map(move |&place| value(row, place)))
            .collect();
        let lacking = names.iter().zip(&places).filter(|(_, place)| place.is_none());
        let lacking = lacking.map(|(name, _)| name.clone()).collect();
        (FeatureTable { names: names.to_vec(), values, ..self.clone() }, lacking)
    }

    /// Whether a feature that the table does not have is missing, instead of 0.
    pub fn absent_is_missing(&self) -> bool {
        self.absent.is_nan()
    }

    /// The features at `chosen` alone, in that order.
    pub fn of_features(&self, chosen: &[usize]) -> Self {
        let values = (0..self.n_rows())
            .flat_map(|row| chosen.iter().map(move |&feature| self.row(row)[feature]))
            .collect();
        let names = chosen.iter().map(|&feature| self.names[feature].clone()).collect();
        FeatureTable { names, values, ..self.clone() }
    }
}

/// Builds a [`FeatureTable`] of rows in any order.
pub struct TableBuilder {
    /// The rows as they were added; `groups` has one per row.
    added: FeatureTable,
    numbers: HashMap<String, u32>,
    query_of: Vec<u32>,
}

impl TableBuilder {
    /// A builder of a table with these features.
    pub fn new(names: Vec<String>) -> Self {
        let added = FeatureTable::empty(names);
        TableBuilder { added, numbers: HashMap::new(), query_of: Vec::new() }
    }

    /// Records that whole numbers of this feature were rounded to 32 bits.
    pub fn rounded(&mut self, feature: usize) {
        let rounded = self.added.rounded.take();
        self.added.rounded = rounded.or_else(|| self.added.names.get(feature).cloned());
    }

    /// Sets the value of a feature that the table does not have; by default it is missing (NaN).
    pub fn absent(&mut self, value: f32) {
        self.added.absent = value;
    }

    /// The number of features.
    pub fn n_features(&self) -> usize {
        self.added.n_features()
    }

    /// The number of rows so far.
    pub fn n_rows(&self) -> usize {
        self.added.n_rows()
    }

    /// Adds a row; the rows of a query need not be adjacent. An error if a value is infinite, if
    /// the grade is not finite, or if the number of values is not that of the features.
    pub fn push(&mut self, query: &str, doc: &str, grade: f32, values: &[f32]) -> Result<()> {
        if values.len() != self.n_features() {
            let expected = format!("{}, one per feature", counted(self.n_features(), "value"));
            return Err(Error::parameter("row", counted(values.len(), "value"), &expected));
        }
        if !grade.is_finite() {
            return Err(Error::parameter("grade", grade, "a finite number"));
        }
        if let Some(infinite) = values.iter().position(|value| value.is_infinite()) {
            let name = &self.added.names[infinite];
            let expected = "a finite number, or nan for a missing value";
            return Err(Error::parameter(name, values[infinite], expected));
        }
        let number = match self.numbers.get(query) {
            Some(&number) => number,
            None => {
                let number = u32::try_from(self.added.queries.len())
                    .map_err(|_| Error::parameter("queries", "2^32", "fewer"))?;
                self.numbers.insert(query.to_owned(), number);
                self.added.queries.push(query.to_owned());
                number
            }
        };
        self.query_of.push(number);
        self.added.docs.push(doc.to_owned());
        self.added.grades.push(grade);
        self.added.values.extend(values);
        Ok(())
    }

    /// Sets the weights of all rows: one finite number from 0 on per row.
    pub fn weights(&mut self, weights: Vec<f32>) -> Result<()> {
        self.one_per_row("weights", weights.len())?;
        if let Some(wrong) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(Error::parameter("weight", wrong, "a finite number from 0 on"));
        }
        self.added.weights = Some(weights);
        Ok(())
    }

    /// Sets the group of every row; a query has that of its first row.
    pub fn groups(&mut self, groups: Vec<String>) -> Result<()> {
        self.one_per_row("groups", groups.len())?;
        self.added.groups = Some(groups);
        Ok(())
    }

    /// Sets the rank at which every row was shown; 0 where it is unknown.
    pub fn positions(&mut self, positions: Vec<u32>) -> Result<()> {
        self.one_per_row("positions", positions.len())?;
        self.added.positions = Some(positions);
        Ok(())
    }

    fn one_per_row(&self, what: &str, n: usize) -> Result<()> {
        if n == self.n_rows() {
            return Ok(());
        }
        Err(Error::parameter(what, n, &format!("{}, one per row", self.n_rows())))
    }

    /// The table: queries in the order of their first rows, and the rows of each in the order in
    /// which they were added.
    pub fn finish(mut self) -> FeatureTable {
        let mut places: Vec<usize> = (0..self.n_rows()).collect();
        places.sort_by_key(|&row| self.query_of[row]);
        let queries = std::mem::take(&mut self.added.queries);
        let mut starts = vec![0; queries.len() + 1];
        for &query in &self.query_of {
            starts[query as usize + 1] += 1;
        }
        for query in 0..queries.len() {
            starts[query + 1] += starts[query];
        }
        let groups = self.added.groups.take().map(|groups| {
            starts[..queries.len()].iter().map(|&start| groups[places[start]].clone()).collect()
        });
        let rows = if places.is_sorted() { self.added } else { self.added.picked(&places) };
        FeatureTable { queries, groups, starts, places, ..rows }
    }
}

/// The first eight of `names`, and how many more there are.
pub(super) fn first_names(names: &[String]) -> String {
    const SHOWN: usize = 8;
    let shown = names.iter().take(SHOWN).cloned().collect::<Vec<_>>().join(", ");
    match names.len() > SHOWN {
        true => format!("{shown} and {} more", names.len() - SHOWN),
        false => shown,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_query_come_together_and_find_back() {
        let mut builder = TableBuilder::new(vec!["a".into(), "b".into()]);
        for (query, doc, grade) in [("x", "1", 0.0), ("y", "2", 1.0), ("x", "3", 2.0)] {
            builder.push(query, doc, grade, &[grade, f32::NAN]).unwrap();
        }
        builder.weights(vec![1.0, 2.0, 3.0]).unwrap();
        let table = builder.finish();
        assert_eq!(table.docs(), ["1", "3", "2"]);
        assert_eq!((table.rows_of(0), table.rows_of(1)), (0..2, 2..3));
        assert_eq!(table.in_input_order(table.grades()), [0.0, 1.0, 2.0]);
        assert_eq!((table.weight(1), table.weight(2)), (3.0, 2.0));
        let second = table.of_queries(&[1]);
        assert_eq!((second.docs(), second.n_rows()), (&["2".to_owned()][..], 1));
        assert_eq!(table.of_features(&[0]).values(), [0.0, 2.0, 1.0]);
        let both = FeatureTable::joined(&[&second, &table]);
        assert_eq!(both.queries(), ["y", "x", "y"]);
        assert_eq!(both.docs(), ["2", "1", "3", "2"]);
        assert_eq!(both.in_input_order(both.grades()), [1.0, 0.0, 1.0, 2.0]);
        assert_eq!(both.weights().unwrap(), [2.0, 1.0, 3.0, 2.0]);
        let (other, lacking) = table.with_features(&["b".into(), "c".into(), "a".into()]);
        assert_eq!((lacking, other.row(1)[2]), (vec!["c".to_owned()], 2.0));
    }

    #[test]
    fn what_is_no_table_is_refused() {
        let mut builder = TableBuilder::new(vec!["a".into()]);
        assert!(builder.push("q", "d", 0.0, &[1.0, 2.0]).is_err());
        assert!(builder.push("q", "d", f32::NAN, &[1.0]).is_err());
        let error = builder.push("q", "d", 0.0, &[f32::INFINITY]).unwrap_err();
        assert!(error.to_string().contains("a = inf"), "{error}");
        builder.push("q", "d", 0.0, &[f32::NAN]).unwrap();
        assert!(builder.weights(vec![-1.0]).is_err());
        assert!(builder.positions(vec![1, 2]).is_err());
    }
}
