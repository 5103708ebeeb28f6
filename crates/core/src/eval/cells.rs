//! The cells of a comparison table, from the values of several systems on the same queries: means,
//! intervals, and tests against a baseline.

use serde::{Deserialize, Serialize};

use super::significance::{
    BOOTSTRAP_ROUNDS, Interval, RANDOMISATION_ROUNDS, benjamini_hochberg, bootstrap_mean,
    bootstrap_test, differences, effect_size, holm, mean, paired_t, randomisation, sign,
    standard_error, wins_ties_losses,
};

/// One measure of one system.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cell {
    /// The mean over the queries; `None` if no query has a value.
    pub mean: Option<f64>,
    /// Its standard error: the standard deviation over the queries divided by the root of their
    /// number; `None` for fewer than two.
    pub standard_error: Option<f64>,
    /// Its 95 % interval, by bootstrap over the queries.
    pub interval: Option<Interval>,
    /// The difference from the baseline; `None` for the baseline itself, and without a mean.
    pub against: Option<PairedDifference>,
}

/// The difference of a system from the baseline, paired over queries.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct PairedDifference {
    /// The mean difference.
    pub difference: f64,
    /// The p-value of the two-sided paired t-test.
    pub t: f64,
    /// The same after Holm's correction over all systems in the table.
    pub t_holm: f64,
    /// The same after the correction of Benjamini and Hochberg.
    pub t_bh: f64,
    /// The p-value of the sign test.
    pub sign: f64,
    /// The p-value of Fisher's randomisation test.
    pub randomisation: f64,
    /// The p-value of the bootstrap test.
    pub bootstrap: f64,
    /// Cohen's d of the differences, if they have a spread.
    pub effect_size: Option<f64>,
    /// Queries won, tied and lost.
    pub wins_ties_losses: (usize, usize, usize),
}

/// The cells of a table, by system and measure. `values` holds one value per query, by system and
/// measure; all systems have the same queries in the same order. `higher` says for every measure
/// whether higher values win.
///
/// # Panics
/// If there is no system `baseline`, or systems differ in the number of values.
pub fn cells(
    values: &[Vec<Vec<f64>>],
    higher: &[bool],
    baseline: usize,
    seed: u64,
) -> Vec<Vec<Cell>> {
    let mut cells: Vec<Vec<Cell>> = values
        .iter()
        .map(|system| {
            let cell = |values: &Vec<f64>| {
                let values = Some(&values[..]).filter(|values| is_sound(values));
                let interval =
                    |values: &[f64]| bootstrap_mean(values, BOOTSTRAP_ROUNDS, 0.95, seed);
                Cell {
                    mean: values.map(mean),
                    standard_error: values.and_then(standard_error),
                    interval: values.map(interval),
                    against: None,
                }
            };
            system.iter().map(cell).collect()
        })
        .collect();
    for m in 0..values[baseline].len() {
        let tested =
            |&s: &usize| s != baseline && is_sound(&values[s][m]) && is_sound(&values[baseline][m]);
        let others: Vec<usize> = (0..values.len()).filter(tested).collect();
        let differences: Vec<Vec<f64>> =
            others.iter().map(|&s| differences(&values[s][m], &values[baseline][m])).collect();
        let t: Vec<f64> = differences.iter().map(|d| paired_t(d).p).collect();
        let (by_holm, by_bh) = (holm(&t), benjamini_hochberg(&t));
        for (k, (&s, d)) in others.iter().zip(&differences).enumerate() {
            let (above, ties, below) = wins_ties_losses(d);
            let (wins, losses) = if higher[m] { (above, below) } else { (below, above) };
            cells[s][m].against = Some(PairedDifference {
                difference: mean(d),
                t: t[k],
                t_holm: by_holm[k],
                t_bh: by_bh[k],
                sign: sign(d).p,
                randomisation: randomisation(d, RANDOMISATION_ROUNDS, seed).p,
                bootstrap: bootstrap_test(d, BOOTSTRAP_ROUNDS, seed).p,
                effect_size: effect_size(d),
                wins_ties_losses: (wins, ties, losses),
            });
        }
    }
    cells
}

/// Whether there are values, all of them finite.
fn is_sound(values: &[f64]) -> bool {
    !values.is_empty() && values.iter().all(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_has_no_mean_is_not_tested() {
        let good = vec![0.1, 0.2, 0.9, 0.4];
        let values = [
            vec![good.clone(), vec![]],
            vec![vec![0.1, f64::NAN, 0.9, 0.4], vec![]],
            vec![good.iter().map(|value| value + 0.5).collect(), vec![]],
        ];
        let found = cells(&values, &[true; 2], 0, 1);
        assert!(found[1][0].standard_error.is_none() && found[0][1].standard_error.is_none());
        let error = found[0][0].standard_error.unwrap();
        // Squares around 0.4: 0.09, 0.04, 0.25, 0, over 3, over 4.
        assert!((error - (0.38f64 / 12.0).sqrt()).abs() < 1e-12);
        assert!(found[1][0].mean.is_none() && found[1][0].against.is_none());
        // As if the one that is not a number did not take part.
        let alone = cells(&[values[0].clone(), values[2].clone()], &[true; 2], 0, 1);
        assert_eq!(found[2][0].against.unwrap().t_holm, alone[1][0].against.unwrap().t_holm);
        assert!(found[2][0].mean.is_some_and(|mean| (mean - 0.9).abs() < 1e-12));
        for row in &found {
            assert!(row[1].mean.is_none() && row[1].interval.is_none() && row[1].against.is_none());
        }
        let by_nan = cells(&values, &[true; 2], 1, 1);
        assert!(by_nan.iter().all(|row| row[0].against.is_none()));
    }
}
