//! An inverted file: embeddings assigned to the lists of their nearest centres, each stored as the
//! quantised difference from the centre.
//!
//! ```text
//! q·x ≈ q·c + scale_q·scale_x·Σ_j code_q,j·code_x,j
//! ```
//! A search ranks the centres, probes the best lists, and computes the exact products of the best
//! candidates found there.

use std::path::Path;

use super::best::Best;
use super::codes::{Coded, stride};
use super::mapped::{ArrayLayout, FIELDS, Mapped};
use super::{DocSet, Embeddings, Report};
use crate::Result;
use crate::linalg::{dot, widest};
use crate::ranking::Hit;

/// The first bytes of a file of lists.
pub(super) const MARK: &[u8; 8] = b"likenlst";
/// The numbers of neighbours for which the number of probes is measured.
pub(super) const FEW: usize = 10;
/// The larger of them.
pub(super) const DEPTH: usize = 100;

/// The sizes and positions of the arrays in the file.
#[derive(Clone, Copy)]
pub(super) struct Places {
    pub dim: usize,
    pub n_lists: usize,
    /// Embeddings that are in a list.
    pub n_coded: usize,
    /// One row per list.
    pub centres: usize,
    /// One number per list: how far its embeddings spread beyond its centre.
    pub reaches: usize,
    /// The start of each list in `docs`, `codes` and `scales`.
    pub starts: usize,
    pub docs: usize,
    pub codes: usize,
    pub scales: usize,
    pub end: Option<usize>,
}

impl Places {
    pub fn new(dim: usize, n_lists: usize, n_coded: usize) -> Self {
        let mut layout = ArrayLayout::new();
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

/// The work of a search, which trades time for recall.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Effort {
    /// `nprobe`: the number of lists to probe.
    pub probes: usize,
    /// Exact products per requested neighbour.
    pub rescore: usize,
}

/// Inverted lists of embeddings, mapped into memory.
pub struct Lists {
    file: Mapped,
    places: Places,
    report: Report,
}

/// A list with its score for a query.
#[derive(Clone, Copy)]
struct ScoredList {
    list: u32,
    /// The product of the query with the centre.
    product: f32,
    /// An estimate of the largest product in the list.
    most: f32,
}

impl Lists {
    /// Opens lists of `embeddings`; an error if they belong to others, or are damaged.
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

    /// Checks the invariants that a search relies on.
    fn check(&self, n_embeddings: usize) -> Result<()> {
        let damaged = |problem: &str| Err(self.file.damaged(problem));
        let starts = self.starts();
        let whole = starts.first() == Some(&0) && starts.last() == Some(&(self.n_coded() as u64));
        if !whole || !starts.is_sorted() {
            return damaged("the starts of the lists are not ascending");
        }
        let mut seen = DocSet::new();
        if !self.docs().iter().all(|&doc| (doc as usize) < n_embeddings && seen.insert(doc)) {
            return damaged("a list has an unknown document, or one of another list");
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

    /// The number of lists.
    pub fn len(&self) -> usize {
        self.places.n_lists
    }

    /// Whether there are no lists.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The number of embeddings in lists; those with values that are not finite are in none.
    pub fn n_coded(&self) -> usize {
        self.places.n_coded
    }

    /// The recall and cost measured when the lists were built.
    pub fn report(&self) -> &Report {
        &self.report
    }

    pub(super) fn set_report(&mut self, report: Report) {
        self.report = report;
    }

    /// The effort that reaches the wanted recall for `k` neighbours among a share `share` of the
    /// embeddings. The k nearest in a tenth of them lie as deep as the 10·k nearest of all. Between
    /// the two measured depths, and beyond, the number of probes is a power of the depth.
    pub fn effort(&self, k: usize, share: f64) -> Effort {
        let deeper = (k as f64 / share.clamp(1e-9, 1.0) / FEW as f64).max(1.0);
        let (few, many) = (self.report.probes as f64, self.report.probes_at_100 as f64);
        let power = (many / few.max(1.0)).max(1.0).ln() / (DEPTH as f64 / FEW as f64).ln();
        // With a tolerance, so that the measured depths give the measured numbers.
        let probes = (few * deeper.powf(power) - 1e-6).ceil().min(self.len() as f64);
        Effort { probes: probes as usize, rescore: self.report.rescore }
    }

    /// The lists by score for `query`: the best `sorted` in order, then the others unordered.
    fn scored_lists(&self, query: &[f32], sorted: usize) -> Vec<ScoredList> {
        let norm = dot(query, query).sqrt();
        let (centres, reaches, dim) = (self.centres(), self.reaches(), self.places.dim);
        let mut lists: Vec<ScoredList> = Vec::with_capacity(self.len());
        widest(|| {
            for (list, (centre, reach)) in centres.chunks_exact(dim).zip(reaches).enumerate() {
                let product = dot(query, centre);
                let most = product + norm * reach;
                lists.push(ScoredList { list: list as u32, product, most });
            }
        });
        if sorted < lists.len() {
            lists.select_nth_unstable_by(sorted, by_score);
        }
        let sorted = sorted.min(lists.len());
        lists[..sorted].sort_unstable_by(by_score);
        lists
    }

    /// The lists in the order in which a search for `query` probes them.
    pub(super) fn order(&self, query: &[f32]) -> Vec<u32> {
        self.scored_lists(query, self.len()).iter().map(|scored| scored.list).collect()
    }

    /// Approximately the `k` nearest embeddings of `query` in `allowed`, with exact scores, largest
    /// first. If the probed lists have too few, more are probed.
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
        let mut lists = self.scored_lists(query, probes);
        let coded = Coded::new(query);
        let mut best = Best::new(candidates);
        let mut sums = Vec::new();
        let (first, rest) = lists.split_at_mut(probes);
        let mut seen = 0;
        for list in first {
            seen += self.scan(*list, &coded, allowed, &mut sums, &mut best);
        }
        if seen < candidates {
            rest.sort_unstable_by(by_score);
            for list in rest {
                seen += self.scan(*list, &coded, allowed, &mut sums, &mut best);
                if seen >= candidates {
                    break;
                }
            }
        }
        // In the order of the embeddings in memory.
        let mut docs: Vec<u32> = best.unsorted().iter().map(|hit| hit.doc).collect();
        docs.sort_unstable();
        embeddings.nearest_of(query, k, docs)
    }

    /// Offers the allowed embeddings of a list to `best`; returns their number.
    fn scan(
        &self,
        scored: ScoredList,
        query: &Coded,
        allowed: Option<&DocSet>,
        sums: &mut Vec<i32>,
        best: &mut Best,
    ) -> usize {
        let starts = self.starts();
        let list = scored.list as usize;
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
                best.offer(doc, scored.product + query.scale * scale * sum as f32);
                seen += 1;
            }
        }
        seen
    }
}

fn by_score(a: &ScoredList, b: &ScoredList) -> std::cmp::Ordering {
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
