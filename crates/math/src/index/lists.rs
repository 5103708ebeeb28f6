//! An inverted file: embeddings assigned to lists by the centre they are nearest to, each as small
//! integers that say how it differs from the centre.
//!
//! ```text
//! q·x ≈ q·c + scale_q·scale_x·Σ_j code_q,j·code_x,j
//! ```
//! A search looks at the centres, goes through the lists that promise most, and computes the
//! exact products of the best it found there.

use std::path::Path;

use super::best::Best;
use super::codes::{Coded, stride};
use super::mapped::{FIELDS, Layout, Mapped};
use super::{DocSet, Embeddings, Report};
use crate::Result;
use crate::linalg::{dot, widest};
use crate::ranking::Hit;

/// What a file of lists begins with.
pub(super) const MARK: &[u8; 8] = b"likenlst";
/// The numbers of neighbours for which the number of lists to go through is measured.
pub(super) const FEW: usize = 10;
/// The larger of them.
pub(super) const DEPTH: usize = 100;

/// Where everything lies in the file.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub dim: usize,
    pub n_lists: usize,
    /// Embeddings that are in a list.
    pub n_coded: usize,
    /// One row a list.
    pub centres: usize,
    /// One number a list: how much further than its centre it reaches.
    pub reaches: usize,
    /// Where each list begins among the following.
    pub starts: usize,
    pub docs: usize,
    pub codes: usize,
    pub scales: usize,
    pub end: Option<usize>,
}

impl Places {
    pub fn new(dim: usize, n_lists: usize, n_coded: usize) -> Self {
        let mut layout = Layout::new();
        let centres = layout.place::<f32>(n_lists, dim);
        let reaches = layout.place::<f32>(n_lists, 1);
        let starts = layout.place::<u64>(n_lists.saturating_add(1), 1);
        let docs = layout.place::<u32>(n_coded, 1);
        let codes = layout.place::<i8>(n_coded, stride(dim));
        let scales = layout.place::<f32>(n_coded, 1);
        let end = layout.end();
        Places { dim, n_lists, n_coded, centres, reaches, starts, docs, codes, scales, end }
    }
}

/// How much work a search takes upon itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// Lists to go through.
    pub probes: usize,
    /// Exact products for each neighbour asked for.
    pub rescore: usize,
}

/// Lists of embeddings, mapped into memory.
pub struct Lists {
    file: Mapped,
    places: Places,
    report: Report,
}

/// A list as a query sees it.
#[derive(Clone, Copy)]
struct Promise {
    list: u32,
    /// The product of the query with the centre.
    product: f32,
    /// What the best of the list may have.
    most: f32,
}

impl Lists {
    /// Opens lists of `embeddings`; an error if they are of others, or damaged.
    pub fn open(path: &Path, embeddings: &Embeddings) -> Result<Self> {
        Lists::of(Mapped::open(path, MARK)?, embeddings)
    }

    pub(super) fn of(file: Mapped, embeddings: &Embeddings) -> Result<Self> {
        let fields = &file.fields;
        let own = [embeddings.n_rows() as u64, embeddings.dim() as u64, embeddings.checksum()];
        if fields[..3] != own {
            return Err(file.damaged("the lists are not those of the embeddings beside them"));
        }
        let (n_lists, n_coded) = (fields[3], fields[4]);
        if n_coded > own[0] || n_lists > n_coded {
            return Err(
                file.damaged(format!("{n_lists} lists of {n_coded} of {} embeddings", own[0]))
            );
        }
        let places = Places::new(embeddings.dim(), n_lists as usize, n_coded as usize);
        file.check_len(places.end)?;
        let report = Report::from_fields(fields, file.bytes());
        let lists = Lists { file, places, report };
        lists.check(embeddings.n_rows())?;
        Ok(lists)
    }

    /// Everything that a search relies on.
    fn check(&self, n_embeddings: usize) -> Result<()> {
        let damaged = |problem: &str| Err(self.file.damaged(problem));
        let starts = self.starts();
        let whole = starts.first() == Some(&0) && starts.last() == Some(&(self.n_coded() as u64));
        if !whole || !starts.is_sorted() {
            return damaged("the lists are not one after another");
        }
        let mut seen = DocSet::new();
        if !self.docs().iter().all(|&doc| (doc as usize) < n_embeddings && seen.insert(doc)) {
            return damaged("a document is in two lists, or is none");
        }
        let finite = |numbers: &[f32]| numbers.iter().all(|number| number.is_finite());
        if !finite(self.centres()) || !finite(self.reaches()) || !finite(self.scales()) {
            return damaged("a centre, a reach or a scale is not finite");
        }
        Ok(())
    }

    fn centres(&self) -> &[f32] {
        self.file.array(self.places.centres, self.places.n_lists * self.places.dim)
    }

    fn reaches(&self) -> &[f32] {
        self.file.array(self.places.reaches, self.places.n_lists)
    }

    fn starts(&self) -> &[u64] {
        self.file.array(self.places.starts, self.places.n_lists + 1)
    }

    fn docs(&self) -> &[u32] {
        self.file.array(self.places.docs, self.places.n_coded)
    }

    fn codes(&self) -> &[i8] {
        self.file.array(self.places.codes, self.places.n_coded * stride(self.places.dim))
    }

    fn scales(&self) -> &[f32] {
        self.file.array(self.places.scales, self.places.n_coded)
    }

    /// How many lists there are.
    pub fn len(&self) -> usize {
        self.places.n_lists
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many embeddings are in a list; those that hold a number that is not finite are in none.
    pub fn n_coded(&self) -> usize {
        self.places.n_coded
    }

    /// What was measured when the lists were made.
    pub fn report(&self) -> &Report {
        &self.report
    }

    pub(super) fn set_report(&mut self, report: Report) {
        self.report = report;
    }

    /// The effort that reaches the measured recall for `k` neighbours among a share `share` of
    /// the embeddings: the neighbours of a query in a tenth of them lie as deep as ten times as many
    /// in all. Between the two depths that were measured, and beyond, the lists to go through
    /// grow as a power of the depth.
    pub fn effort(&self, k: usize, share: f64) -> Effort {
        let deeper = (k as f64 / share.clamp(1e-9, 1.0) / FEW as f64).max(1.0);
        let (few, many) = (self.report.probes as f64, self.report.probes_at_100 as f64);
        let power = (many / few.max(1.0)).max(1.0).ln() / (DEPTH as f64 / FEW as f64).ln();
        // Rounded before it is rounded up, so that the measured depths give the measured numbers.
        let probes = (few * deeper.powf(power) - 1e-6).ceil().min(self.len() as f64);
        Effort { probes: probes as usize, rescore: self.report.rescore }
    }

    /// The lists by what they promise to `query`: the first `sorted` in order, the others behind
    /// them.
    fn promises(&self, query: &[f32], sorted: usize) -> Vec<Promise> {
        let norm = dot(query, query).sqrt();
        let (centres, reaches, dim) = (self.centres(), self.reaches(), self.places.dim);
        let mut promises: Vec<Promise> = Vec::with_capacity(self.len());
        widest(|| {
            for (list, (centre, reach)) in centres.chunks_exact(dim).zip(reaches).enumerate() {
                let product = dot(query, centre);
                promises.push(Promise { list: list as u32, product, most: product + norm * reach });
            }
        });
        if sorted < promises.len() {
            promises.select_nth_unstable_by(sorted, by_promise);
        }
        let sorted = sorted.min(promises.len());
        promises[..sorted].sort_unstable_by(by_promise);
        promises
    }

    /// The lists in the order in which a search for `query` goes through them.
    pub(super) fn order(&self, query: &[f32]) -> Vec<u32> {
        self.promises(query, self.len()).iter().map(|promise| promise.list).collect()
    }

    /// About the `k` nearest embeddings of `query` among those in `allowed`, with exact scores, the
    /// largest first. Where the lists to be probed hold too few, more are.
    ///
    /// # Panics
    /// If the query has not as many numbers as the embeddings.
    pub fn nearest(
        &self,
        embeddings: &Embeddings,
        query: &[f32],
        k: usize,
        allowed: Option<&DocSet>,
        effort: Effort,
    ) -> Vec<Hit> {
        assert_eq!(query.len(), self.places.dim, "a query needs as many numbers as the embeddings");
        let candidates = k.saturating_mul(effort.rescore.max(1)).min(self.n_coded());
        if candidates == 0 {
            return Vec::new();
        }
        let probes = effort.probes.min(self.len());
        let mut promises = self.promises(query, probes);
        let coded = Coded::new(query);
        let mut best = Best::new(candidates);
        let mut sums = Vec::new();
        let (first, rest) = promises.split_at_mut(probes);
        let mut seen = 0;
        for promise in first {
            seen += self.scan(*promise, &coded, allowed, &mut sums, &mut best);
        }
        if seen < candidates {
            rest.sort_unstable_by(by_promise);
            for promise in rest {
                seen += self.scan(*promise, &coded, allowed, &mut sums, &mut best);
                if seen >= candidates {
                    break;
                }
            }
        }
        // In the order in which the embeddings lie.
        let mut docs: Vec<u32> = best.unsorted().iter().map(|hit| hit.doc).collect();
        docs.sort_unstable();
        embeddings.nearest_of(query, k, docs)
    }

    /// Offers the embeddings of a list to `best`; how many there were.
    fn scan(
        &self,
        promise: Promise,
        query: &Coded,
        allowed: Option<&DocSet>,
        sums: &mut Vec<i32>,
        best: &mut Best,
    ) -> usize {
        let starts = self.starts();
        let list = promise.list as usize;
        let (start, end) = (starts[list] as usize, starts[list + 1] as usize);
        let docs = &self.docs()[start..end];
        if allowed.is_some_and(|allowed| !docs.iter().any(|&doc| allowed.contains(doc))) {
            return 0;
        }
        let stride = stride(self.places.dim);
        sums.resize(end - start, 0);
        query.dots(&self.codes()[start * stride..end * stride], sums);
        let rows = docs.iter().zip(&self.scales()[start..end]).zip(&*sums);
        let mut seen = 0;
        for ((&doc, &scale), &sum) in rows {
            if allowed.is_none_or(|allowed| allowed.contains(doc)) {
                best.offer(doc, promise.product + query.scale * scale * sum as f32);
                seen += 1;
            }
        }
        seen
    }
}

fn by_promise(a: &Promise, b: &Promise) -> std::cmp::Ordering {
    b.most.total_cmp(&a.most).then(a.list.cmp(&b.list))
}

/// The fields of the header of lists of `embeddings`.
pub(super) fn fields(embeddings: &Embeddings, places: &Places, report: &Report) -> [u64; FIELDS] {
    let mut fields = [0; FIELDS];
    fields[0] = embeddings.n_rows() as u64;
    fields[1] = embeddings.dim() as u64;
    fields[2] = embeddings.checksum();
    fields[3] = places.n_lists as u64;
    fields[4] = places.n_coded as u64;
    report.to_fields(&mut fields);
    fields
}
