//! The vector space model, `ltc`: (1 + ln tf)·idf on both sides, cosine.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::lexical::{Lexical, QuerySide, weigh};
use super::method::{Kept, Matcher, Method};
use crate::Result;
use crate::features::{Counts, idf};

/// Parameters of the vector space model: there are none.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct Vsm {}

impl Method for Vsm {
    fn restore(&self, counts: &Counts, _kept: Kept<'_>) -> Result<Box<dyn Matcher>> {
        Ok(Box::new(self.fit(counts)?))
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
        let idf = idf(counts);
        let weight =
            |term: u32, f: f32| (1.0 + f64::from(f).ln()).max(0.0) * f64::from(idf[term as usize]);
        let norms: Vec<f64> = counts
            .docs
            .rows()
            .map(|row| row.iter().map(|(term, f)| weight(term, f).powi(2)).sum::<f64>().sqrt())
            .collect();
        let docs = weigh(
            &counts.docs,
            |j, term, f| if norms[j] > 0.0 { weight(term, f) / norms[j] } else { 0.0 },
            None,
        )?;
        Ok(Lexical::new(QuerySide::TfIdf { idf }, docs))
    }
}
