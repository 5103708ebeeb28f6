//! The data of the probabilistic matchers: clicked pairs with weights, the text of the documents,
//! and the share of every word in the collection.

use super::lexical::occurrences;
use crate::Result;
use crate::features::{Counts, QueryTerms, Response, no_training_clicks};
use crate::sparse::Csr;

/// The words of the documents: of one field, or of all.
pub(super) fn text_of<'a>(counts: &'a Counts, field: Option<&str>) -> Result<&'a Csr> {
    field.map_or(Ok(&counts.docs), |name| counts.field(name))
}

/// The training clicks above zero as responses, queries × documents, without held-out documents:
/// a click becomes a training weight here.
pub(super) fn clicked_pairs(counts: &Counts, response: Response) -> Result<Csr> {
    let clicks = &counts.clicks;
    let counts_for_training = |doc: u32| counts.held_out_documents.binary_search(&doc).is_err();
    let pairs = Csr::by_rows(clicks.n_cols(), clicks.n_rows(), |i| {
        let row = clicks.row(i).iter();
        let kept = row.filter(|&(doc, value)| value > 0.0 && counts_for_training(doc));
        Ok(kept.map(|(doc, value)| (doc, response.of(value))).unzip())
    })?;
    if pairs.nnz() == 0 { Err(no_training_clicks()) } else { Ok(pairs) }
}

/// P(w|C): the share of every word in the documents and the queries of training together. A
/// word of neither has 0 and is unknown.
pub(super) fn collection(counts: &Counts, text: &Csr) -> Vec<f64> {
    let mut shares = occurrences(counts, text).into_owned();
    for (i, row) in counts.queries.rows().enumerate() {
        if counts.clicks.row(i).values.iter().any(|&value| value > 0.0) {
            row.iter().for_each(|(term, f)| shares[term as usize] += f64::from(f));
        }
    }
    let total: f64 = shares.iter().sum();
    if total > 0.0 {
        shares.iter_mut().for_each(|share| *share /= total);
    }
    shares
}

/// The words of `query` that the collection has, with their counts.
pub(super) fn known_words<'a>(
    query: &'a QueryTerms,
    collection: &'a [f64],
) -> impl Iterator<Item = (u32, f64)> + 'a {
    let known = |&(term, _): &(u32, f32)| collection[term as usize] > 0.0;
    query.row().iter().filter(known).map(|(term, count)| (term, f64::from(count)))
}
