//! From the values of several systems on the same queries to a table: means, intervals, and
//! tests against one of them.

use serde::{Deserialize, Serialize};

use super::significance::{
    BOOTSTRAP_ROUNDS, Interval, RANDOMISATION_ROUNDS, benjamini_hochberg, bootstrap_mean,
    bootstrap_test, differences, effect_size, holm, mean, paired_t, randomisation, sign,
    wins_ties_losses,
};

/// One measure of one system.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cell {
    /// The mean over the queries.
    pub mean: f64,
    /// Its 95 % interval, by bootstrap over the queries.
    pub interval: Interval,
    /// Against the baseline; nothing for the baseline itself.
    pub against: Option<Against>,
}

/// A difference to the baseline, paired over queries.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Against {
    /// Mean difference.
    pub difference: f64,
    /// Two-sided paired t-test.
    pub t: f64,
    /// The same after Holm's correction over all systems in the table.
    pub t_holm: f64,
    /// The same after Benjamini and Hochberg's.
    pub t_bh: f64,
    /// Sign test.
    pub sign: f64,
    /// Fisher's randomisation test.
    pub randomisation: f64,
    /// Bootstrap test.
    pub bootstrap: f64,
    /// Cohen's d of the differences, where they have a spread.
    pub effect_size: Option<f64>,
    /// Queries won, tied and lost.
    pub wins_ties_losses: (usize, usize, usize),
}

/// The cells of a table, by system and measure. `values` holds, by system and measure, one
/// value a query; all systems have the same queries in the same order.
///
/// # Panics
/// If there is no system `baseline`, or systems differ in the number of values.
pub fn cells(values: &[Vec<Vec<f64>>], baseline: usize, seed: u64) -> Vec<Vec<Cell>> {
    let mut cells: Vec<Vec<Cell>> = values
        .iter()
        .map(|system| {
            let cell = |values: &Vec<f64>| Cell {
                mean: mean(values),
                interval: bootstrap_mean(values, BOOTSTRAP_ROUNDS, 0.95, seed),
                against: None,
            };
            system.iter().map(cell).collect()
        })
        .collect();
    let others: Vec<usize> = (0..values.len()).filter(|&s| s != baseline).collect();
    for m in 0..values[baseline].len() {
        let differences: Vec<Vec<f64>> =
            others.iter().map(|&s| differences(&values[s][m], &values[baseline][m])).collect();
        let t: Vec<f64> = differences.iter().map(|d| paired_t(d).p).collect();
        let (by_holm, by_bh) = (holm(&t), benjamini_hochberg(&t));
        for (k, (&s, d)) in others.iter().zip(&differences).enumerate() {
            cells[s][m].against = Some(Against {
                difference: mean(d),
                t: t[k],
                t_holm: by_holm[k],
                t_bh: by_bh[k],
                sign: sign(d).p,
                randomisation: randomisation(d, RANDOMISATION_ROUNDS, seed).p,
                bootstrap: bootstrap_test(d, BOOTSTRAP_ROUNDS, seed).p,
                effect_size: effect_size(d),
                wins_ties_losses: wins_ties_losses(d),
            });
        }
    }
    cells
}
