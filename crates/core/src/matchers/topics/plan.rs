//! Plans of topic models. Factorisations use scratch files if memory does not suffice.

use super::factorised::FactorisedMethod;
use crate::linalg::n_groups;
use crate::plan::{ENTRY, Fit, Plan, csr, numbers};
use crate::topic::FactorKind;

/// The share of the weights of topics that are not zero: with an ℓ1 penalty, and without.
const SPARSE: f64 = 0.1;
const DENSE: f64 = 0.5;

impl FactorisedMethod<'_> {
    /// The documents by document and by term, their weights while they are learnt and once more in
    /// the order of the dataset, and the topics. With classes of a field the plan assumes as many
    /// classes as there would be clusters, until it is known how many there are.
    pub fn plan(&self, fit: &Fit<'_>) -> Plan {
        let plan = self.plan_where(fit, false);
        if plan.total > fit.limit { self.plan_where(fit, true) } else { plan }
    }

    /// A sweep gathers, for every entry, the weights of a document and a row of topics.
    fn plan_where(&self, fit: &Fit<'_>, on_disk: bool) -> Plan {
        let how = &self.factorise;
        let (shared, own, sweeps) = (how.shared as u64, how.own as u64, how.sweeps);
        let clusters = self.grouping.map_or(1, |grouping| grouping.clusters as u64);
        let classes = if own == 0 || fit.classes == 0 { clusters } else { fit.classes };
        let dense = how.kind == FactorKind::Nmf;
        let filled = if dense { DENSE } else { SPARSE };
        let width = shared.saturating_add(own);
        let all = shared.saturating_add(own.saturating_mul(classes));
        let weights = fit.n_docs.saturating_mul(width).saturating_mul(4);
        let topics = (numbers(fit.d_y, all) * filled * ENTRY as f64) as u64;
        let documents = csr(fit.nnz_y, fit.n_docs) + csr(fit.nnz_y, fit.d_y);
        let (name, held) = ("weights of the documents while they are learnt", "topics");
        // Every class has its own row starts.
        let topics = topics.saturating_add(classes.saturating_mul(8 * fit.d_y));
        // VVᵀ of every class, those before a sweep, sums by groups of rows, UᵀU and its factor.
        let square = width.saturating_mul(width).saturating_mul(8);
        let groups = n_groups(width.min(1 << 16) as usize) as u64;
        let squares = square.saturating_mul(2 * classes + groups + 4);
        let mut sought = vec![
            ("topics while they are learnt", topics.saturating_mul(2)),
            ("products of topics with topics", squares),
        ];
        if dense {
            let beside =
                (fit.d_y + fit.n_docs).saturating_mul(width.saturating_add(10)).saturating_mul(8);
            sought.push(("initial singular vectors, and dense topics", beside));
        }
        let mut last = vec![(held, topics)];
        let mut scratch = 0;
        if on_disk {
            scratch = documents.saturating_add(weights.saturating_mul(2));
        } else {
            sought.push(("documents by document and by term", documents));
            // NMF starts each sweep from the weights of the one before, with momentum.
            let copies = if dense { 3 } else { 1 };
            sought.push((name, weights.saturating_mul(copies)));
            last.push(("weights of the documents", weights));
        }
        let putting = vec![(name, if on_disk { 0 } else { weights })];
        let putting = putting.into_iter().chain(last.clone()).collect();
        let moved = 2.0 * sweeps as f64 * numbers(fit.nnz_y, width);
        let seconds = fit.rates.map(|rates| {
            let seconds = moved / rates.gather(weights.max(4));
            vec![fit.reading(rates), (format!("{sweeps} sweeps"), seconds)]
        });
        let disk = fit.counts().saturating_add(weights).saturating_add(topics);
        Plan { scratch, ..fit.worst(vec![sought, putting], last, disk, seconds) }
    }
}

/// The topics of all documents and of all words, `copies` of them and a plain one in the end, and the
/// words by document and by word; each of the `walks` gathers a row for every word of every document.
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
