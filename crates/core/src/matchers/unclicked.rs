//! Random negatives: documents that were not clicked for a query. They are drawn in the order of their
//! ids, so that the result does not depend on the order of the input.

use rayon::prelude::*;

use crate::features::Counts;
use crate::random::Random;
use crate::sparse::Csr;

/// Random draws before a linear search.
const TRIES: usize = 64;

/// The documents that may be drawn, and the clicks.
pub(super) struct Unclicked<'a> {
    clicks: &'a Csr,
    /// The document that each query is, if queries are documents.
    own: &'a [u32],
    /// Documents with features that are not held out, by id.
    free: Vec<u32>,
    /// The place of every document in `free`, or [`NOWHERE`].
    places: Vec<u32>,
}

const NOWHERE: u32 = u32::MAX;

impl<'a> Unclicked<'a> {
    /// `y` are the features of the documents; nothing can be learnt from one without any.
    pub fn of(counts: &'a Counts, y: &Csr) -> Self {
        let mut free: Vec<u32> = (0..counts.n_docs() as u32)
            .filter(|doc| counts.held_out_documents.binary_search(doc).is_err())
            .filter(|&doc| !y.row(doc as usize).is_empty())
            .collect();
        let id = |doc: u32| &counts.doc_ids[doc as usize];
        free.par_sort_unstable_by(|&a, &b| id(a).cmp(id(b)));
        let mut places = vec![NOWHERE; counts.n_docs()];
        (0u32..).zip(&free).for_each(|(place, &doc)| places[doc as usize] = place);
        Unclicked { clicks: &counts.clicks, own: &counts.own_documents, free, places }
    }

    /// The documents that may be drawn, by id.
    pub fn free(&self) -> &[u32] {
        &self.free
    }

    /// Whether `doc` may be drawn.
    pub fn is_free(&self, doc: u32) -> bool {
        self.place(doc) != NOWHERE
    }

    /// The place of `doc` in the order of ids.
    pub fn place(&self, doc: u32) -> u32 {
        self.places[doc as usize]
    }

    /// Whether `doc` was clicked for `query`.
    pub fn clicked(&self, query: u32, doc: u32) -> bool {
        self.clicks.row(query as usize).get(doc) > 0.0
    }

    /// Whether `doc` is a negative for `query`: it was not clicked and is not the query itself.
    pub fn is_other(&self, query: u32, doc: u32) -> bool {
        !self.clicked(query, doc) && self.own.get(query as usize) != Some(&doc)
    }

    /// Those of `queries` that have negatives; equal queries must be adjacent.
    pub fn with_others(&self, queries: impl Iterator<Item = u32>) -> impl Iterator<Item = u32> {
        let mut last = (u32::MAX, false);
        queries.filter(move |&query| {
            if last.0 != query {
                last = (query, self.has_other(query));
            }
            last.1
        })
    }

    /// Whether `query` has negatives.
    fn has_other(&self, query: u32) -> bool {
        let clicked = self.clicks.row(query as usize);
        let clicked = clicked.iter().filter(|&(doc, clicks)| clicks > 0.0 && self.is_free(doc));
        let own = self.own.get(query as usize).is_some_and(|&own| {
            self.places.get(own as usize).is_some_and(|&place| place != NOWHERE)
                && !self.clicked(query, own)
        });
        self.free.len() > clicked.count() + usize::from(own)
    }

    /// A negative for `query`, uniformly; `None` if there is none.
    pub fn draw(&self, query: u32, random: &mut Random) -> Option<u32> {
        self.draw_by(query, random, |random| random.below(self.free.len() as u64) as usize)
    }

    /// The same with `place` drawing the place in [`Unclicked::free`].
    pub fn draw_by(
        &self,
        query: u32,
        random: &mut Random,
        place: impl Fn(&mut Random) -> usize,
    ) -> Option<u32> {
        for _ in 0..TRIES {
            let doc = self.free[place(random)];
            if self.is_other(query, doc) {
                return Some(doc);
            }
        }
        let first = random.below(self.free.len() as u64) as usize;
        let mut all = self.free[first..].iter().chain(&self.free[..first]);
        all.find(|&&doc| self.is_other(query, doc)).copied()
    }
}
