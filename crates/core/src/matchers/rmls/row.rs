//! The update of one row of RMLS: the l that maximises ⟨ω, l⟩ under its norms, in closed form, or by
//! bisection for the bound on the ℓ1 norm.

use crate::linalg::{soft_threshold, soft_threshold_row};

/// S_t(ω) of a part of a row. Scaled to ‖l‖₂ = θ once the whole row is known, this is the
/// maximiser of ⟨ω, l⟩ − t·|l|₁ with ‖l‖₂ ≤ θ.
#[inline]
pub(super) fn threshold(omega: &mut [f32], threshold: f32) {
    omega.iter_mut().for_each(|w| *w = soft_threshold(*w, threshold));
}

/// The same for a whole row, scaled. A row without entries above the threshold becomes zero.
fn penalised(omega: &mut [f32], threshold: f32, theta: f32) {
    let squares = soft_threshold_row(omega, threshold);
    if squares > 0.0 {
        let scale = f64::from(theta) / squares.sqrt();
        omega.iter_mut().for_each(|value| *value = (f64::from(*value) * scale) as f32);
    }
}

/// The maximiser of ⟨ω, l⟩ with |l|₁ ≤ λ and ‖l‖₂ ≤ θ, exactly. `scratch` is as long as the row.
pub(super) fn bounded(omega: &mut [f32], lambda: f32, theta: f32, scratch: &mut [f32]) {
    let largest = omega.iter().fold(0.0f32, |m, w| m.max(w.abs()));
    if largest == 0.0 {
        return;
    }
    let (lambda, theta_wide) = (f64::from(lambda), f64::from(theta));
    if lambda < theta_wide {
        // The ℓ1 ball lies inside the ℓ2 ball: its corner is optimal.
        let first = omega.iter().position(|w| w.abs() == largest).unwrap_or(0);
        let corner = lambda as f32 * omega[first].signum();
        omega.fill(0.0);
        omega[first] = corner;
        return;
    }
    // |l|₁ of the scaled row falls as the threshold grows; find where it meets λ.
    let mut l1_at = |threshold: f32| {
        scratch.copy_from_slice(omega);
        let squares = soft_threshold_row(scratch, threshold);
        theta_wide * l1(scratch) / squares.sqrt()
    };
    if l1_at(0.0) <= lambda {
        return penalised(omega, 0.0, theta);
    }
    let (mut low, mut high) = (0.0f32, largest);
    loop {
        let middle = low + (high - low) / 2.0;
        if middle <= low || middle >= high {
            break;
        }
        if l1_at(middle) > lambda { low = middle } else { high = middle }
    }
    if high < largest {
        penalised(omega, high, theta);
    } else {
        // Even the entries tied for the largest exceed the bound: any distribution of λ among them
        // is optimal; distribute it evenly.
        let tied = omega.iter().filter(|w| w.abs() == largest).count();
        let share = (lambda / tied as f64) as f32;
        omega
            .iter_mut()
            .for_each(|w| *w = if w.abs() == largest { share * w.signum() } else { 0.0 });
    }
}

pub(super) fn l1(row: &[f32]) -> f64 {
    row.iter().map(|&value| f64::from(value.abs())).sum()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::linalg::dot_f64;

    /// The best of many feasible points on a grid of directions, for two and three entries.
    fn brute_force(omega: &[f32], value: impl Fn(&[f64]) -> f64, theta: f64, lambda: f64) -> f64 {
        let steps = 180;
        let mut best = 0.0f64;
        let angle = |i: usize| i as f64 * 2.0 * std::f64::consts::PI / steps as f64;
        for i in 0..steps {
            let second = if omega.len() == 3 { steps } else { 1 };
            for j in 0..second {
                let (a, b) = (angle(i), angle(j));
                let direction: Vec<f64> = if omega.len() == 3 {
                    vec![a.cos() * b.cos(), a.sin() * b.cos(), b.sin()]
                } else {
                    vec![a.cos(), a.sin()]
                };
                let l1: f64 = direction.iter().map(|d| d.abs()).sum();
                let length = theta.min(lambda / l1);
                for part in [0.25, 0.5, 1.0] {
                    let point: Vec<f64> = direction.iter().map(|d| d * length * part).collect();
                    best = best.max(value(&point));
                }
            }
        }
        best
    }

    fn inner64(omega: &[f32], l: &[f64]) -> f64 {
        omega.iter().zip(l).map(|(&w, l)| f64::from(w) * l).sum()
    }

    proptest! {
        #[test]
        fn a_penalised_row_beats_every_feasible_row(
            omega in proptest::collection::vec(-3.0f32..3.0, 2..4), beta in 0.0f32..2.0, theta in 0.2f32..2.0,
        ) {
            let value = |l: &[f64]| {
                inner64(&omega, l) - f64::from(beta) * l.iter().map(|v| v.abs()).sum::<f64>()
            };
            let mut row = omega.clone();
            penalised(&mut row, beta, theta);
            let found: Vec<f64> = row.iter().map(|&v| f64::from(v)).collect();
            prop_assert!(dot_f64(&row, &row).sqrt() <= f64::from(theta) * 1.00001);
            prop_assert!(value(&found) >= brute_force(&omega, value, f64::from(theta), f64::INFINITY) - 1e-4);
        }

        #[test]
        fn a_bounded_row_beats_every_feasible_row(
            omega in proptest::collection::vec(-3.0f32..3.0, 2..4), lambda in 0.1f32..3.0, theta in 0.2f32..2.0,
        ) {
            let mut row = omega.clone();
            bounded(&mut row, lambda, theta, &mut vec![0.0; omega.len()]);
            let found: Vec<f64> = row.iter().map(|&v| f64::from(v)).collect();
            prop_assert!(dot_f64(&row, &row).sqrt() <= f64::from(theta) * 1.0001);
            prop_assert!(l1(&row) <= f64::from(lambda) * 1.0001);
            let best = brute_force(&omega, |l| inner64(&omega, l), f64::from(theta), f64::from(lambda));
            prop_assert!(inner64(&omega, &found) >= best - 1e-3, "{found:?} {} {best}", inner64(&omega, &found));
        }
    }

    #[test]
    fn a_bound_below_theta_leaves_one_corner() {
        let mut row = [1.0, -2.0, 2.0];
        bounded(&mut row, 0.5, 1.0, &mut [0.0; 3]);
        assert_eq!(row, [0.0, -0.5, 0.0]);
    }

    #[test]
    fn ties_that_the_bound_cannot_hold_share_it() {
        let mut row = [2.0, -2.0, 2.0, 1.0];
        bounded(&mut row, 1.2, 1.0, &mut [0.0; 4]);
        assert!(
            row.iter().zip([0.4, -0.4, 0.4, 0.0]).all(|(a, b)| (a - b).abs() < 1e-6),
            "{row:?}"
        );
    }

    #[test]
    fn a_wide_bound_is_no_bound() {
        let (mut row, mut free) = ([1.0, -2.0, 0.5], [1.0, -2.0, 0.5]);
        bounded(&mut row, 3.0, 1.0, &mut [0.0; 3]);
        penalised(&mut free, 0.0, 1.0);
        assert_eq!(row, free);
    }
}
