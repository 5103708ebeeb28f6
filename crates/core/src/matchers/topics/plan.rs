//! The plans of topic models. Factorisations lie in scratch files where memory ends.

use super::factorised::Grouped;
use crate::linalg::n_groups;
use crate::plan::{ENTRY, Fit, Plan, csr, numbers};
use crate::topic::Rule;

/// The share of the topics' numbers that are not zero: with a penalty, and without.
const SPARSE: f64 = 0.1;
const FULL: f64 = 0.5;

/// What a factorisation is to find.
#[derive(Clone, Copy)]
struct Topics {
    shared: u64,
    own: u64,
    classes: u64,
    sweeps: usize,
    filled: f64,
}

impl Grouped {
    /// Documents by document and by term, their weights while they are learnt and once more in the
    /// order of the dataset, and topics of which a share is filled. Where documents say their
    /// classes nobody knows how many there are; then there are as many as there would be clusters.
    pub fn plan(&self, fit: &Fit<'_>) -> Plan {
        let how = &self.factorise;
        let clusters = self.grouping.as_ref().map_or(1, |grouping| grouping.clusters as u64);
        let (shared, own) = (how.shared as u64, how.own as u64);
        let topics = Topics {
            shared,
            own,
            classes: if own == 0 || fit.classes == 0 { clusters } else { fit.classes },
            sweeps: how.sweeps,
            filled: match how.rule {
                Rule::Sparse { .. } => SPARSE,
                Rule::NonNegative => FULL,
            },
        };
        let plan = topics.plan(fit, false);
        if plan.total > fit.limit { topics.plan(fit, true) } else { plan }
    }
}

impl Topics {
    /// A sweep gathers the weights of a document for every entry, and a row of topics.
    fn plan(&self, fit: &Fit<'_>, on_disk: bool) -> Plan {
        let width = self.shared.saturating_add(self.own);
        let all = self.shared.saturating_add(self.own.saturating_mul(self.classes));
        let weights = fit.n_docs.saturating_mul(width).saturating_mul(4);
        let topics = (numbers(fit.d_y, all) * self.filled * ENTRY as f64) as u64;
        let documents = csr(fit.nnz_y, fit.n_docs) + csr(fit.nnz_y, fit.d_y);
        let (name, held) = ("weights of the documents while they are learnt", "topics");
        // Every class has row starts of its own.
        let topics = topics.saturating_add(self.classes.saturating_mul(8 * fit.d_y));
        // VVᵀ of every class, those before a sweep, sums by groups of rows, UᵀU and its factor.
        let square = width.saturating_mul(width).saturating_mul(8);
        let groups = n_groups(width.min(1 << 16) as usize) as u64;
        let squares = square.saturating_mul(2 * self.classes + groups + 4);
        let mut sought = vec![
            ("topics while they are learnt", topics.saturating_mul(2)),
            ("products of topics with topics", squares),
        ];
        if self.filled == FULL {
            let beside =
                (fit.d_y + fit.n_docs).saturating_mul(width.saturating_add(10)).saturating_mul(8);
            sought.push(("singular vectors to begin with, and dense topics", beside));
        }
        let mut last = vec![(held, topics)];
        let mut scratch = 0;
        if on_disk {
            scratch = documents.saturating_add(weights.saturating_mul(2));
        } else {
            sought.push(("documents by document and by term", documents));
            // NMF carries on from what the weights were before.
            let copies = if self.filled == FULL { 3 } else { 1 };
            sought.push((name, weights.saturating_mul(copies)));
            last.push(("weights of the documents", weights));
        }
        let putting = vec![(name, if on_disk { 0 } else { weights })];
        let putting = putting.into_iter().chain(last.clone()).collect();
        let moved = 2.0 * self.sweeps as f64 * numbers(fit.nnz_y, width);
        let seconds = fit.rates.map(|rates| {
            let sweeps = moved / rates.gather(weights.max(4));
            vec![fit.reading(rates), (format!("{} sweeps", self.sweeps), sweeps)]
        });
        let disk = fit.counts().saturating_add(weights).saturating_add(topics);
        Plan { scratch, ..fit.worst(vec![sought, putting], last, disk, seconds) }
    }
}

/// Topics of all documents and of all words, `copies` of them and a plain one in the end, beside
/// the words by document and by word; each of the `walks` gathers a row for every word of
/// every document.
pub(super) fn plan_bags(fit: &Fit<'_>, copies: u64, walks: f64) -> Plan {
    let times = |n: u64, bytes: u64| n.saturating_mul(fit.dim).saturating_mul(bytes);
    let rows = fit.d_y + fit.n_docs;
    let name = "topics of words and documents while they are learnt";
    let words = csr(2 * fit.nnz_y, fit.n_docs + fit.d_y) + 12 * fit.nnz_y;
    let sought = vec![
        (name, times(rows, 4 * (copies + 1))),
        ("words by document and by word, while they are sorted", words),
    ];
    let moved = numbers(fit.nnz_y, fit.dim) * walks;
    let seconds = fit.rates.map(|rates| moved / rates.gather(times(rows, 4)));
    let held = vec![("topics of words and documents", times(rows, 4))];
    fit.found((name, seconds), vec![sought], held)
}
