//! The vectors of queries and documents in training: by words, for the identity, and by the features
//! of W.

use std::sync::Arc;

use super::bins::Bins;
use crate::Result;
use crate::linalg::Dense;
use crate::sparse::{Csr, Row};

/// A query, a document clicked for it, and one that was not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Triple {
    pub query: u32,
    pub good: u32,
    pub bad: u32,
}

/// The vectors of all queries and documents.
pub(super) struct Data {
    x: Csr,
    /// Shared with the matchers of all epochs.
    y: Arc<Csr>,
    /// The features of each learnt model; empty if they are the words.
    views: Vec<View>,
}

/// Queries and documents by the features of some bins, with a row for each place of the bins.
struct View {
    x: Csr,
    y: Csr,
    bins: Bins,
}

impl Data {
    /// Queries `x` and documents `y` by words, with a view through each of the `bins`.
    pub fn new(x: Csr, y: Csr, bins: Vec<Bins>) -> Result<Self> {
        let view = |bins: Bins| Ok(View { x: bins.apply(&x)?, y: bins.apply(&y)?, bins });
        let views = bins.into_iter().map(view).collect::<Result<_>>()?;
        Ok(Data { x, y: Arc::new(y), views })
    }

    /// The documents by words.
    pub fn documents(&self) -> Arc<Csr> {
        Arc::clone(&self.y)
    }

    /// The number of features of W.
    pub fn n_features(&self) -> usize {
        self.views.first().map_or(self.x.n_cols(), |view| view.bins.n_features())
    }

    pub fn n_words(&self) -> usize {
        self.x.n_cols()
    }

    /// The word of a feature.
    pub fn word(&self, feature: usize) -> u32 {
        self.views.first().map_or(feature as u32, |view| view.bins.word(feature))
    }

    /// The rows that a query or document has in a view.
    pub fn places(&self, view: usize) -> usize {
        self.views.get(view).map_or(1, |view| view.bins.places())
    }

    /// The embedding of every word under a map of the features of a view, with the dimensions of all
    /// places.
    pub fn of_words(&self, view: usize, map: Dense) -> Dense {
        match self.views.get(view) {
            Some(view) => view.bins.of_words(&map),
            None => map,
        }
    }

    /// Which features of a view `queries` have, and which `documents` have.
    pub fn seen(
        &self,
        view: usize,
        queries: impl Iterator<Item = u32>,
        documents: impl Iterator<Item = u32>,
    ) -> (Vec<bool>, Vec<bool>) {
        let (x, y, places) = self.view(view);
        let rows = |item: u32| item as usize * places..(item as usize + 1) * places;
        (x.columns_of(queries.flat_map(rows)), y.columns_of(documents.flat_map(rows)))
    }

    fn view(&self, view: usize) -> (&Csr, &Csr, usize) {
        match self.views.get(view) {
            Some(view) => (&view.x, &view.y, view.bins.places()),
            None => (&self.x, &self.y, 1),
        }
    }

    /// The features of a triple in the first view: of the query, the good document and the bad one.
    pub fn features(&self, triple: Triple) -> [Row<'_>; 3] {
        self.rows(0, triple, 0)
    }

    /// The same in one place of a view.
    #[inline]
    pub fn rows(&self, view: usize, triple: Triple, place: usize) -> [Row<'_>; 3] {
        let Triple { query, good, bad } = triple;
        let (x, y, places) = self.view(view);
        let at = |i: u32| i as usize * places + place;
        [x.row(at(query)), y.row(at(good)), y.row(at(bad))]
    }

    /// The number of features of a triple's query and documents in all places of a view.
    pub fn entries(&self, view: usize, triple: Triple) -> usize {
        let lengths = (0..self.places(view)).map(|place| self.rows(view, triple, place));
        lengths.map(|rows| rows.iter().map(|row| row.len()).sum::<usize>()).sum()
    }

    /// qᵀ(d⁺ − d⁻).
    pub fn cosines(&self, triple: Triple) -> f32 {
        let (good, bad) = (self.y.row(triple.good as usize), self.y.row(triple.bad as usize));
        let query = self.x.row(triple.query as usize);
        query.iter().map(|(s, q)| q * (good.get(s) - bad.get(s))).sum()
    }
}
