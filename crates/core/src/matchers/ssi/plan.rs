//! The size of W in each of its forms, for plans and for the fit itself.

use super::full;
use super::params::{Form, Ssi};
use crate::Result;
use crate::features::Counts;
use crate::params::check::check_memory;
use crate::plan::{Fit, Plan, csr};

/// Bytes of W: in training, and by words after an epoch.
pub(crate) struct Bytes {
    pub learnt: u64,
    pub epoch: u64,
}

impl Ssi {
    /// W in training, and W by words of the best epoch and of the last, with the embeddings of the
    /// documents if W has maps.
    pub(super) fn planned(&self, fit: &Fit<'_>) -> Plan {
        let name = "W during training";
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
        // The maximum: all cells are different.
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
        // Read once, and read and written again if the margin is violated, as at first.
        let moved = 3.0 * 4.0 * triples * touched;
        let seconds = fit.rates.map(|rates| {
            let embeddings = if held.len() > 1 { fit.embeddings_seconds(rates) } else { 0.0 };
            let epochs = ssi.epochs + ssi.rates.len() * ssi.epochs_of_a_choice();
            epochs as f64 * (moved / rates.gather(all.learnt) + embeddings)
        });
        fit.found((name, seconds), vec![sought], held)
    }

    /// The bytes of W over `words`, with the embeddings of `docs` documents; steps touch at most
    /// `cells` cells.
    pub(crate) fn bytes(&self, words: u64, docs: u64, cells: u64) -> Bytes {
        let features = if self.frequent > 0 { words.min(self.frequent as u64) } else { words };
        let row = 4 * self.dim as u64;
        // By words, every place of the bins has dimensions of its own.
        let places = if self.exact { self.bins as u64 } else { 1 } + u64::from(self.rare);
        let times = |n: u64, bytes: u64| n.saturating_mul(bytes);
        match self.form {
            Form::LowRank | Form::Symmetric => {
                let maps = if self.form == Form::LowRank { 2 } else { 1 };
                let models = 1 + u64::from(self.rare);
                let learnt = times(features, maps * models * row);
                Bytes { learnt, epoch: times(2 * words + docs, places.saturating_mul(row)) }
            }
            Form::Diagonal => Bytes { learnt: 4 * features, epoch: 4 * words },
            Form::Hash => {
                let weights = 4 * self.weights as u64;
                Bytes { learnt: weights, epoch: weights }
            }
            Form::Full => {
                let cells = cells.min(times(features, features));
                Bytes { learnt: times(cells, full::CELL_BYTES), epoch: times(cells, 8) }
            }
        }
    }

    /// Refuses a fit for which memory is too small: W in training and, with the embeddings of the
    /// documents, of the best epoch and of the last. `full` checks its size while it grows.
    pub(super) fn check_memory(&self, counts: &Counts, most: u64) -> Result<()> {
        let (words, docs) = (counts.n_terms(), counts.n_docs());
        let Bytes { learnt, epoch } = self.bytes(words as u64, docs as u64, 0);
        let advice = match self.form {
            Form::Hash => "lower `weights`",
            _ => "lower `dim` or set `frequent`",
        };
        let what = || match self.form {
            Form::Hash => format!("{} weights, three times over,", self.weights),
            _ => format!(
                "maps of {words} words in {} dimensions and the embeddings of {docs} documents",
                self.dim
            ),
        };
        check_memory(learnt.saturating_add(epoch.saturating_mul(2)), most, what, advice)
    }
}
