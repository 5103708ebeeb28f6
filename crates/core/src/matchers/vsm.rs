//! The vector space model, `ltc`: (1 + ln tf)·idf on both sides, cosine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lexical::{Lexical, QuerySide, weigh};
use super::method::{Matcher, Method, SavedState};
use crate::Result;
use crate::features::{Counts, UnseenCounts, idf};
use crate::sparse::Csr;

/// Parameters of the vector space model: there are none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Vsm {}

impl Method for Vsm {
    fn restore(&self, counts: &Counts, _: SavedState<'_>) -> Result<Box<dyn Matcher>> {
        Ok(Box::new(self.fit(counts)?))
    }

    fn fold_in(&self, counts: &Counts, new: &UnseenCounts) -> Result<Option<Box<dyn Matcher>>> {
        Ok(Some(Box::new(self.fit_text(&new.docs, idf(counts))?)))
    }

    fn learns(&self) -> bool {
        false
    }

    fn weighs_clicks(&self) -> bool {
        false
    }
}

impl Vsm {
    /// The matcher for `counts`.
    pub fn fit(&self, counts: &Counts) -> Result<Lexical> {
        self.fit_text(&counts.docs, idf(counts))
    }

    /// The matcher for a field of the documents, with the field's own idf.
    pub(crate) fn fit_field(&self, counts: &Counts, field: &Csr) -> Result<Lexical> {
        let mut df = vec![0u32; field.n_cols()];
        for (j, row) in field.rows().enumerate() {
            if counts.held_out_documents.binary_search(&(j as u32)).is_err() {
                row.indices.iter().for_each(|&term| df[term as usize] += 1);
            }
        }
        let n = counts.n_training_docs as f64;
        let idf = df.iter().map(|&df| (n / f64::from(df.max(1))).ln_1p() as f32).collect();
        self.fit_text(field, idf)
    }

    fn fit_text(&self, text: &Csr, idf: Vec<f32>) -> Result<Lexical> {
        let weight =
            |term: u32, f: f32| (1.0 + f64::from(f).ln()).max(0.0) * f64::from(idf[term as usize]);
        let norms: Vec<f64> = text
            .rows()
            .map(|row| row.iter().map(|(term, f)| weight(term, f).powi(2)).sum::<f64>().sqrt())
            .collect();
        let docs = weigh(
            text,
            |j, term, f| if norms[j] > 0.0 { weight(term, f) / norms[j] } else { 0.0 },
            None,
        )?;
        Ok(Lexical::new(QuerySide::TfIdf { idf }, docs))
    }
}
