//! The plan of SSI: what W takes in each of its forms.

use super::{Form, Ssi};
use crate::plan::{Fit, Plan, csr};

impl Ssi {
    /// W while it is learnt, and by words as the best epoch and the last leave it, each with the
    /// embeddings of the documents where W is of maps.
    pub(super) fn planned(&self, fit: &Fit<'_>) -> Plan {
        let name = "W while it is learnt";
        let words = csr(fit.nnz_x + 2 * fit.nnz_y, fit.n_queries + fit.n_docs + fit.d_y);
        let ssi = &Ssi { dim: fit.dim as usize, ..self.clone() };
        let triples = ssi.triples(fit.nnz_r as usize) as f64;
        let in_query = fit.nnz_x as f64 / fit.n_queries.max(1) as f64;
        let in_docs = 2.0 * fit.nnz_y as f64 / fit.n_docs.max(1) as f64;
        let touched = match ssi.form {
            Form::LowRank | Form::Symmetric => fit.dim as f64 * (in_query + in_docs),
            Form::Diagonal => in_query,
            Form::Full | Form::Hash => in_query * in_docs,
        };
        // All of them different: that is the most.
        let cells = (triples * ssi.epochs as f64 * touched) as u64;
        let all = ssi.bytes(fit.d_y, fit.n_docs, cells);
        let by_words = ssi.bytes(fit.d_y, 0, cells).epoch;
        let sought = vec![
            (name, all.learnt),
            ("words of queries and documents", words),
            ("the best epoch and the last", all.epoch.saturating_mul(2)),
        ];
        let mut held = vec![("W", by_words)];
        if all.epoch > by_words {
            held.push(("embeddings of the documents", all.epoch - by_words));
        }
        // Read to be looked at; read and written where the margin is violated, as it is at first.
        let moved = 3.0 * 4.0 * triples * touched;
        let seconds = fit.rates.map(|rates| {
            let embeddings = if held.len() > 1 { fit.embeddings_seconds(rates) } else { 0.0 };
            ssi.epochs as f64 * (moved / rates.gather(all.learnt) + embeddings)
        });
        fit.found((name, seconds), vec![sought], held)
    }
}
