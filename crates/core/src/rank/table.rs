//! Rows of features with grades, query by query: all that a ranker ever sees.

use std::collections::HashMap;
use std::ops::Range;

use crate::{Error, Result};

/// Rows of features, those of a query side by side. A value that is not a number is missing; none
/// is infinite.
#[derive(Debug, Clone, PartialEq)]
pub struct FeatureTable {
    names: Vec<String>,
    queries: Vec<String>,
    /// What each query belongs to, where several belong together.
    groups: Option<Vec<String>>,
    /// Where the rows of each query begin, and where the last end.
    starts: Vec<usize>,
    docs: Vec<String>,
    grades: Vec<f32>,
    weights: Option<Vec<f32>>,
    positions: Option<Vec<u32>>,
    /// Row by row.
    values: Vec<f32>,
    /// The place of every row in the file it came from.
    places: Vec<usize>,
    /// What a feature is worth that the table does not have: 0, or missing.
    absent: f32,
    /// A feature of which whole numbers were rounded to 32 bits, if there is one.
    rounded: Option<String>,
}

impl FeatureTable {
    /// A feature of which whole numbers had to be rounded to 32 bits, so that unlike ones may have
    /// become equal.
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

    /// What a query belongs to: itself, or what it shares with others that are nearly the same, such
    /// as the pages that one query was answered with.
    pub fn group(&self, query: usize) -> &str {
        &self.groups.as_ref().unwrap_or(&self.queries)[query]
    }

    /// Whether several queries belong together.
    pub fn has_groups(&self) -> bool {
        self.groups.is_some()
    }

    /// The ids of the documents, one a row.
    pub fn docs(&self) -> &[String] {
        &self.docs
    }

    /// The grades, one a row.
    pub fn grades(&self) -> &[f32] {
        &self.grades
    }

    /// What each row counts, where rows do not count alike: as itself where rows are looked at one
    /// by one, and for every pair of which it is the better one.
    pub fn weights(&self) -> Option<&[f32]> {
        self.weights.as_deref()
    }

    /// What the row counts: 1 where nothing else is said.
    pub fn weight(&self, row: usize) -> f64 {
        self.weights.as_ref().map_or(1.0, |weights| f64::from(weights[row]))
    }

    /// The rank, from 1, at which each row was shown; 0 where it is not known.
    pub fn positions(&self) -> Option<&[u32]> {
        self.positions.as_deref()
    }

    /// How many rows there are.
    pub fn n_rows(&self) -> usize {
        self.grades.len()
    }

    /// How many features there are.
    pub fn n_features(&self) -> usize {
        self.names.len()
    }

    /// How many queries there are.
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

    /// `scores`, one a row of this table, in the order in which the rows were added.
    pub fn as_added<T: Copy + Default>(&self, scores: &[T]) -> Vec<T> {
        let mut sorted = vec![T::default(); scores.len()];
        for (&place, &score) in self.places.iter().zip(scores) {
            sorted[place] = score;
        }
        sorted
    }

    /// `scores`, one a row in the order in which the rows were added, as the rows of this table are.
    pub fn from_added<T: Copy>(&self, scores: &[T]) -> Vec<T> {
        self.places.iter().map(|&place| scores[place]).collect()
    }

    /// The same rows with other values: `values` row by row, as many features as before.
    ///
    /// # Panics
    /// If there are not as many values as before.
    pub fn with_values(&self, values: Vec<f32>) -> Self {
        assert_eq!(values.len(), self.values.len(), "as many values as before");
        FeatureTable { values, ..self.clone() }
    }

    /// The same rows, each with its weight.
    ///
    /// # Panics
    /// If there is not one weight a row.
    pub fn with_weights(mut self, weights: Option<Vec<f32>>) -> Self {
        assert!(weights.as_ref().is_none_or(|w| w.len() == self.n_rows()), "one weight a row");
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
            names,
            queries: Vec::new(),
            groups: tables.iter().any(|table| table.groups.is_some()).then(Vec::new),
            starts: vec![0],
            docs: Vec::new(),
            grades: Vec::new(),
            weights: tables.iter().any(|table| table.weights.is_some()).then(Vec::new),
            positions: tables.iter().any(|table| table.positions.is_some()).then(Vec::new),
            values: Vec::new(),
            places: Vec::new(),
            absent: tables.first().map_or(f32::NAN, |table| table.absent),
            rounded: tables.iter().find_map(|table| table.rounded.clone()),
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
        let pick = |from: &[f32]| rows.iter().map(|&row| from[row]).collect::<Vec<f32>>();
        FeatureTable {
            names: self.names.clone(),
            queries: chosen.iter().map(|&query| self.queries[query].clone()).collect(),
            groups: self
                .groups
                .as_ref()
                .map(|groups| chosen.iter().map(|&query| groups[query].clone()).collect()),
            starts,
            docs: rows.iter().map(|&row| self.docs[row].clone()).collect(),
            grades: pick(&self.grades),
            weights: self.weights.as_deref().map(pick),
            positions: self
                .positions
                .as_ref()
                .map(|positions| rows.iter().map(|&row| positions[row]).collect()),
            values: rows.iter().flat_map(|&row| self.row(row)).copied().collect(),
            places: (0..rows.len()).collect(),
            absent: self.absent,
            rounded: self.rounded.clone(),
        }
    }

    /// The same rows with the features `names`, in that order; a feature that the table does not
    /// have is what an absent one is worth: 0 in sparse files, else missing. With the names that
    /// it does not have.
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

/// Makes a [`FeatureTable`] of rows in any order.
pub struct TableBuilder {
    names: Vec<String>,
    queries: Vec<String>,
    numbers: HashMap<String, u32>,
    query_of: Vec<u32>,
    docs: Vec<String>,
    grades: Vec<f32>,
    groups: Option<Vec<String>>,
    weights: Option<Vec<f32>>,
    positions: Option<Vec<u32>>,
    values: Vec<f32>,
    absent: f32,
    rounded: Option<String>,
}

impl TableBuilder {
    /// A table with these features.
    pub fn new(names: Vec<String>) -> Self {
        TableBuilder {
            names,
            queries: Vec::new(),
            numbers: HashMap::new(),
            query_of: Vec::new(),
            docs: Vec::new(),
            grades: Vec::new(),
            groups: None,
            weights: None,
            positions: None,
            values: Vec::new(),
            absent: f32::NAN,
            rounded: None,
        }
    }

    /// Says that whole numbers of this feature were rounded to 32 bits.
    pub fn rounded(&mut self, feature: usize) {
        self.rounded = self.rounded.take().or_else(|| self.names.get(feature).cloned());
    }

    /// What a feature is worth that the table does not have; missing (not a number) if not said.
    pub fn absent(&mut self, value: f32) {
        self.absent = value;
    }

    /// How many features there are.
    pub fn n_features(&self) -> usize {
        self.names.len()
    }

    /// How many rows there are so far.
    pub fn n_rows(&self) -> usize {
        self.grades.len()
    }

    /// Adds a row. Rows of one query need not come side by side. An error if a value is infinite,
    /// if the grade is not a finite number, or if there are not as many values as features.
    pub fn push(&mut self, query: &str, doc: &str, grade: f32, values: &[f32]) -> Result<()> {
        if values.len() != self.names.len() {
            let expected = format!("{} values, one a feature", self.names.len());
            return Err(Error::parameter("row", format!("{} values", values.len()), &expected));
        }
        if !grade.is_finite() {
            return Err(Error::parameter("grade", grade, "a finite number"));
        }
        if let Some(infinite) = values.iter().position(|value| value.is_infinite()) {
            let name = &self.names[infinite];
            let expected = "a finite number, or nan where it is missing";
            return Err(Error::parameter(name, values[infinite], expected));
        }
        let number = match self.numbers.get(query) {
            Some(&number) => number,
            None => {
                let number = u32::try_from(self.queries.len())
                    .map_err(|_| Error::parameter("queries", "2^32", "fewer"))?;
                self.numbers.insert(query.to_owned(), number);
                self.queries.push(query.to_owned());
                number
            }
        };
        self.query_of.push(number);
        self.docs.push(doc.to_owned());
        self.grades.push(grade);
        self.values.extend(values);
        Ok(())
    }

    /// Says what every row counts; one finite weight from 0 on a row.
    pub fn weights(&mut self, weights: Vec<f32>) -> Result<()> {
        self.one_a_row("weights", weights.len())?;
        if let Some(wrong) = weights.iter().find(|w| !(w.is_finite() && **w >= 0.0)) {
            return Err(Error::parameter("weight", wrong, "a finite number from 0 on"));
        }
        self.weights = Some(weights);
        Ok(())
    }

    /// Says what the query of every row belongs to; that of its first row counts.
    pub fn groups(&mut self, groups: Vec<String>) -> Result<()> {
        self.one_a_row("groups", groups.len())?;
        self.groups = Some(groups);
        Ok(())
    }

    /// Says at which rank every row was shown; 0 where it is not known.
    pub fn positions(&mut self, positions: Vec<u32>) -> Result<()> {
        self.one_a_row("positions", positions.len())?;
        self.positions = Some(positions);
        Ok(())
    }

    fn one_a_row(&self, what: &str, n: usize) -> Result<()> {
        if n == self.n_rows() {
            return Ok(());
        }
        Err(Error::parameter(what, n, &format!("{}, one a row", self.n_rows())))
    }

    /// The table, queries in the order in which they first came, their rows in the order in which
    /// they came.
    pub fn finish(self) -> FeatureTable {
        let n_features = self.names.len();
        let mut places: Vec<usize> = (0..self.grades.len()).collect();
        places.sort_by_key(|&row| self.query_of[row]);
        let mut starts = vec![0; self.queries.len() + 1];
        for &query in &self.query_of {
            starts[query as usize + 1] += 1;
        }
        for query in 0..self.queries.len() {
            starts[query + 1] += starts[query];
        }
        let in_order = places.is_sorted();
        let pick = |from: Vec<f32>| match in_order {
            true => from,
            false => places.iter().map(|&row| from[row]).collect(),
        };
        let values = match in_order {
            true => self.values,
            false => places
                .iter()
                .flat_map(|&row| &self.values[row * n_features..(row + 1) * n_features])
                .copied()
                .collect(),
        };
        // A query has rows, and its first stands where it begins.
        let first = |query: usize| places[starts[query]];
        let groups = self.groups.as_ref().map(|groups| {
            (0..self.queries.len()).map(|query| groups[first(query)].clone()).collect()
        });
        FeatureTable {
            names: self.names,
            queries: self.queries,
            groups,
            starts,
            docs: places.iter().map(|&row| self.docs[row].clone()).collect(),
            grades: pick(self.grades),
            weights: self.weights.map(pick),
            positions: self
                .positions
                .map(|positions| places.iter().map(|&row| positions[row]).collect()),
            values,
            places,
            absent: self.absent,
            rounded: self.rounded,
        }
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
        assert_eq!(table.as_added(table.grades()), [0.0, 1.0, 2.0]);
        assert_eq!((table.weight(1), table.weight(2)), (3.0, 2.0));
        let second = table.of_queries(&[1]);
        assert_eq!((second.docs(), second.n_rows()), (&["2".to_owned()][..], 1));
        assert_eq!(table.of_features(&[0]).values(), [0.0, 2.0, 1.0]);
        let both = FeatureTable::joined(&[&second, &table]);
        assert_eq!(both.queries(), ["y", "x", "y"]);
        assert_eq!(both.docs(), ["2", "1", "3", "2"]);
        assert_eq!(both.as_added(both.grades()), [1.0, 0.0, 1.0, 2.0]);
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
