//! The latent dimensions of a bilinear model by their words: those of queries and of documents with
//! the largest weights.

use std::cmp::Ordering;
use std::ops::Range;

use liken::features::Counts;
use liken::matchers::{Bilinear, Map, Maps, Model};

/// The dimensions of a page.
pub const PER_PAGE: usize = 20;

/// A word and its weight in a dimension.
pub type WordWeight = (String, f32);

/// A latent dimension.
#[derive(Debug, Clone, PartialEq)]
pub struct Dimension {
    /// Its number, from 1.
    pub number: usize,
    /// Words of queries, the largest absolute weight first.
    pub queries: Vec<WordWeight>,
    /// Words of documents, the largest absolute weight first.
    pub documents: Vec<WordWeight>,
}

/// The first latent space of a model.
pub fn latent_space(model: &Model) -> Option<&Bilinear> {
    model.parts.iter().find_map(|part| part.matcher.bilinear())
}

/// The dimensions in `range`, with at most `most` words of each side.
pub fn dimensions(
    maps: &Maps,
    counts: &Counts,
    range: Range<usize>,
    most: usize,
) -> Vec<Dimension> {
    let range = range.start.min(maps.l_x.n_cols())..range.end.min(maps.l_x.n_cols());
    let n_terms = counts.n_terms();
    let queries = strongest(&maps.l_x, n_terms, range.clone(), most);
    let documents = strongest(&maps.l_y, n_terms, range.clone(), most);
    let named = |words: Vec<(u32, f32)>| -> Vec<WordWeight> {
        let named = |(id, weight)| (counts.vocabulary.term(id).to_owned(), weight);
        words.into_iter().map(named).collect()
    };
    range
        .zip(queries.into_iter().zip(documents))
        .map(|(k, (queries, documents))| Dimension {
            number: k + 1,
            queries: named(queries),
            documents: named(documents),
        })
        .collect()
}

/// For every column in `range` the at most `most` rows of the first `n_rows` with the largest
/// absolute values, without zeros. Rows after the words are clicks, which have no names.
fn strongest(map: &Map, n_rows: usize, range: Range<usize>, most: usize) -> Vec<Vec<(u32, f32)>> {
    let mut found: Vec<Vec<(u32, f32)>> = vec![Vec::new(); range.len()];
    let order = |a: &(u32, f32), b: &(u32, f32)| -> Ordering {
        b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0))
    };
    let mut note = |column: usize, row: usize, value: f32| {
        let best = &mut found[column - range.start];
        if value == 0.0 || most == 0 {
            return;
        }
        let entry = (row as u32, value);
        if best.len() == most && best.last().is_some_and(|last| order(&entry, last).is_ge()) {
            return;
        }
        let at = best.partition_point(|other| order(other, &entry).is_lt());
        best.insert(at, entry);
        best.truncate(most);
    };
    for row in 0..n_rows.min(map.n_rows()) {
        match map {
            Map::Dense(dense) => {
                let values = dense.row(row);
                range.clone().for_each(|column| note(column, row, values[column]));
            }
            Map::Sparse(sparse) => {
                let inside = sparse.row(row).within(range.start as u32..range.end as u32);
                inside.iter().for_each(|(column, value)| note(column as usize, row, value));
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use liken::linalg::Dense;
    use liken::sparse::Csr;

    use super::*;

    #[test]
    fn the_strongest_rows_are_those_a_full_sort_finds() {
        let (rows, columns) = (57, 9);
        let value = |i: usize, j: usize| match (i * 31 + j * 17) % 11 {
            0..4 => 0.0,
            other => (other as f32 - 7.5) * (1.0 + ((i * 7 + j) % 5) as f32),
        };
        let dense = Map::Dense(Dense::from_fn(rows, columns, value));
        let triplets =
            (0..rows).flat_map(|i| (0..columns).map(move |j| (i as u32, j as u32, value(i, j))));
        let filled: Vec<(u32, u32, f32)> = triplets.filter(|&(_, _, v)| v != 0.0).collect();
        let sparse = Map::Sparse(Csr::from_triplets(rows, columns, filled).unwrap());
        for (range, most, n_rows) in [(0..9, 5, 57), (3..5, 100, 40), (8..9, 1, 57), (0..2, 0, 9)] {
            let oracle: Vec<Vec<(u32, f32)>> = range
                .clone()
                .map(|j| {
                    let mut all: Vec<(u32, f32)> = (0..n_rows)
                        .map(|i| (i as u32, value(i, j)))
                        .filter(|&(_, v)| v != 0.0)
                        .collect();
                    all.sort_by(|a, b| b.1.abs().total_cmp(&a.1.abs()).then(a.0.cmp(&b.0)));
                    all.truncate(most);
                    all
                })
                .collect();
            assert_eq!(strongest(&dense, n_rows, range.clone(), most), oracle);
            assert_eq!(strongest(&sparse, n_rows, range.clone(), most), oracle);
        }
    }
}
