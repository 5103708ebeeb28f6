//! Inverse propensity weights, which remove position bias from clicks as grades.
//!
//! A row with a grade above 0 has the weight 1/p(rank), where p(rank) is the examination propensity
//! of the rank; other rows have the weight 1. A pair has the weight of its better row, so that the
//! expected sum over pairs is that with every document examined (Joachims, Swaminathan and Schnabel,
//! 2017; for lambdas: Wang and others, 2018).

use std::str::FromStr;

use super::FeatureTable;
use crate::{Error, Result};

/// The examination propensity by rank.
#[derive(Debug, Clone, PartialEq)]
pub enum Propensity {
    /// 1 / rank^eta.
    Power(f64),
    /// By rank, from 1; ranks beyond the list have the last propensity.
    Ranks(Vec<f64>),
}

impl Propensity {
    /// Propensities by rank: numbers above 0 and up to 1.
    pub fn by_rank(ranks: Vec<f64>) -> Result<Self> {
        let expected = "propensities above 0, at most 1, one per rank";
        match ranks.iter().find(|p| !(**p > 0.0 && **p <= 1.0)) {
            Some(wrong) => Err(Error::parameter("propensity", wrong, expected)),
            None if ranks.is_empty() => Err(Error::parameter("propensity", "none", expected)),
            None => Ok(Propensity::Ranks(ranks)),
        }
    }

    /// The propensity at `rank`, counted from 1.
    pub fn at(&self, rank: u32) -> f64 {
        match self {
            Propensity::Power(eta) => f64::from(rank.max(1)).powf(-eta),
            Propensity::Ranks(ranks) => {
                let last = ranks.len().saturating_sub(1);
                ranks.get((rank.max(1) as usize - 1).min(last)).copied().unwrap_or(1.0)
            }
        }
    }

    /// The weight of every row of `table`, at most `most`; an error if it has no positions.
    pub fn weights(&self, table: &FeatureTable, most: f64) -> Result<Vec<f32>> {
        if !(most >= 1.0 && most.is_finite()) {
            return Err(Error::parameter("clip", most, "a finite number from 1 on"));
        }
        let positions = table.positions().ok_or_else(|| Error::Empty {
            what: "the table has no positions, the ranks at which its rows were shown".into(),
            advice:
                "add a column `position`, or a file FILE.position beside a LETOR file with one \
                     rank per row"
                    .into(),
        })?;
        let own = |row: usize, position: u32| {
            let weighs = table.grades()[row] > 0.0 && position > 0;
            let factor = if weighs { (1.0 / self.at(position)).min(most) } else { 1.0 };
            (table.weight(row) * factor).min(f64::from(f32::MAX)) as f32
        };
        Ok(positions.iter().enumerate().map(|(row, &position)| own(row, position)).collect())
    }
}

/// Reads `power:1`.
impl FromStr for Propensity {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let power = text.strip_prefix("power:").and_then(|eta| eta.parse::<f64>().ok());
        match power.filter(|eta| eta.is_finite() && *eta >= 0.0) {
            Some(eta) => Ok(Propensity::Power(eta)),
            None => Err(Error::parameter("propensity", text, "power:ETA, such as power:1")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::TableBuilder;
    use super::*;

    #[test]
    fn clicks_far_down_count_more() {
        let mut builder = TableBuilder::new(vec!["x".into()]);
        for grade in [1.0, 0.0, 1.0, 1.0] {
            builder.push("q", "d", grade, &[0.0]).unwrap();
        }
        let table = builder.finish();
        let power: Propensity = "power:1".parse().unwrap();
        assert!(power.weights(&table, 10.0).unwrap_err().to_string().contains("position"));
        let mut builder = TableBuilder::new(vec!["x".into()]);
        for grade in [1.0, 0.0, 1.0, 1.0] {
            builder.push("q", "d", grade, &[0.0]).unwrap();
        }
        builder.positions(vec![2, 3, 40, 0]).unwrap();
        let table = builder.finish();
        assert_eq!(power.weights(&table, 10.0).unwrap(), [2.0, 1.0, 10.0, 1.0]);
        let ranks = Propensity::by_rank(vec![1.0, 0.25]).unwrap();
        assert_eq!(ranks.weights(&table, 10.0).unwrap(), [4.0, 1.0, 4.0, 1.0]);
        assert!(
            Propensity::by_rank(vec![0.0]).is_err() && "power:x".parse::<Propensity>().is_err()
        );
    }
}
