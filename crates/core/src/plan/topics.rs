//! The plans of topic models. Factorisations lie in scratch files where memory ends.

use super::fit::{ENTRY, Fit, csr, numbers};
use super::{Plan, Rates};
use crate::linalg::n_groups;
use crate::matchers::Params;

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

impl Fit {
    /// Documents by document and by term, their weights while they are learnt and once more in the
    /// order of the dataset, and topics of which a share is filled. Where documents say their
    /// classes nobody knows how many there are; then there are as many as there would be clusters.
    pub(super) fn topics(&self, params: &Params, rates: Option<&Rates>, limit: u64) -> Plan {
        let dim = self.dim;
        let topics = |shared: u64, own: u64, classes: usize, sweeps: usize, filled: f64| Topics {
            shared,
            own,
            classes: if own == 0 || self.classes == 0 { classes as u64 } else { self.classes },
            sweeps,
            filled,
        };
        let topics = match params {
            Params::Rlsi(m) => topics(dim, 0, 1, m.sweeps, SPARSE),
            Params::Grlsi(m) => topics(dim, m.class_dim as u64, m.clusters, m.sweeps, SPARSE),
            Params::Crlsi(m) => topics(0, dim, m.clusters, m.sweeps, SPARSE),
            Params::Nmf(m) => topics(dim, 0, 1, m.sweeps, FULL),
            Params::Gnmf(m) => topics(dim, m.class_dim as u64, m.clusters, m.sweeps, FULL),
            Params::Cnmf(m) => topics(0, dim, m.clusters, m.sweeps, FULL),
            other => return self.lexical(other.name(), rates),
        };
        let plan = self.factorised(params.name(), topics, rates, false);
        if plan.total > limit {
            return self.factorised(params.name(), topics, rates, true);
        }
        plan
    }

    /// A sweep gathers the weights of a document for every entry, and a row of topics.
    fn factorised(&self, method: &str, find: Topics, rates: Option<&Rates>, on_disk: bool) -> Plan {
        let width = find.shared.saturating_add(find.own);
        let all = find.shared.saturating_add(find.own.saturating_mul(find.classes));
        let weights = self.n_docs.saturating_mul(width).saturating_mul(4);
        let topics = (numbers(self.d_y, all) * find.filled * ENTRY as f64) as u64;
        let documents = csr(self.nnz_y, self.n_docs) + csr(self.nnz_y, self.d_y);
        let (name, held) = ("weights of the documents while they are learnt", "topics");
        // Every class has row starts of its own.
        let topics = topics.saturating_add(find.classes.saturating_mul(8 * self.d_y));
        // VVᵀ of every class, those before a sweep, sums by groups of rows, UᵀU and its factor.
        let square = width.saturating_mul(width).saturating_mul(8);
        let groups = n_groups(width.min(1 << 16) as usize) as u64;
        let squares = square.saturating_mul(2 * find.classes + groups + 4);
        let mut sought = vec![
            ("topics while they are learnt", topics.saturating_mul(2)),
            ("products of topics with topics", squares),
        ];
        if find.filled == FULL {
            let beside =
                (self.d_y + self.n_docs).saturating_mul(width.saturating_add(10)).saturating_mul(8);
            sought.push(("singular vectors to begin with, and dense topics", beside));
        }
        let mut last = vec![(held, topics)];
        let mut scratch = 0;
        if on_disk {
            scratch = documents.saturating_add(weights.saturating_mul(2));
        } else {
            sought.push(("documents by document and by term", documents));
            // NMF carries on from what the weights were before.
            let copies = if find.filled == FULL { 3 } else { 1 };
            sought.push((name, weights.saturating_mul(copies)));
            last.push(("weights of the documents", weights));
        }
        let putting = vec![(name, if on_disk { 0 } else { weights })];
        let putting = putting.into_iter().chain(last.clone()).collect();
        let moved = 2.0 * find.sweeps as f64 * numbers(self.nnz_y, width);
        let seconds = rates.map(|rates| {
            let sweeps = moved / rates.gather(weights.max(4));
            vec![self.reading(rates), (format!("{} sweeps", find.sweeps), sweeps)]
        });
        let disk = self.counts().saturating_add(weights).saturating_add(topics);
        Plan { scratch, ..self.worst(method, vec![sought, putting], last, disk, seconds) }
    }

    /// Topics of all documents and of all words, `copies` of them and a plain one in the end, beside
    /// the words by document and by word; each of the `walks` gathers a row for every word of
    /// every document.
    pub(super) fn bags(
        &self,
        method: &str,
        copies: u64,
        walks: f64,
        rates: Option<&Rates>,
    ) -> Plan {
        let times = |n: u64, bytes: u64| n.saturating_mul(self.dim).saturating_mul(bytes);
        let rows = self.d_y + self.n_docs;
        let name = "topics of words and documents while they are learnt";
        let words = csr(2 * self.nnz_y, self.n_docs + self.d_y) + 12 * self.nnz_y;
        let sought = vec![
            (name, times(rows, 4 * (copies + 1))),
            ("words by document and by word, while they are sorted", words),
        ];
        let moved = numbers(self.nnz_y, self.dim) * walks;
        let seconds = rates.map(|rates| moved / rates.gather(times(rows, 4)));
        let held = vec![("topics of words and documents", times(rows, 4))];
        self.found(method, (name, seconds), vec![sought], held, rates)
    }
}
