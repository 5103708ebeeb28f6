//! L-BFGS: minimises a smooth function by its gradients and an estimate of its curvature from the
//! last steps. (Nocedal 1980.)

use std::collections::VecDeque;

use super::matrix::inner;
use crate::Result;

/// Steps remembered.
const MEMORY: usize = 10;
/// Maximum steps of a line search.
const TRIES: usize = 30;

/// Minimises `function`, which returns its value and gradient, from `start` until no derivative is
/// above `tolerance`, for `most` steps, or until the value does not fall any more. `observe` gets the
/// number of each step, the value and the point, and says whether to stop.
pub(super) fn minimise(
    start: Vec<f64>,
    most: usize,
    tolerance: f64,
    mut function: impl FnMut(&[f64]) -> (f64, Vec<f64>),
    mut observe: impl FnMut(usize, f64, &[f64]) -> Result<bool>,
) -> Result<()> {
    let mut point = start;
    let (mut value, mut gradient) = function(&point);
    let mut memory: VecDeque<(Vec<f64>, Vec<f64>, f64)> = VecDeque::new();
    for step in 1..=most {
        let direction = direction(&gradient, &memory);
        let slope = inner(&gradient, &direction);
        let largest = gradient.iter().fold(0.0, |most: f64, g| most.max(g.abs()));
        if largest <= tolerance || slope >= 0.0 {
            observe(step, value, &point)?;
            return Ok(());
        }
        // There is no curvature yet to scale the first step.
        let mut length = if memory.is_empty() { (1.0 / largest).min(1.0) } else { 1.0 };
        let (mut low, mut high) = (0.0, f64::INFINITY);
        let mut found = None;
        for _ in 0..TRIES {
            let next: Vec<f64> =
                point.iter().zip(&direction).map(|(x, p)| x + length * p).collect();
            let (there, slopes) = function(&next);
            // Wolfe's conditions: the value falls enough, and the slope is flatter than before.
            if there.is_nan() || there > value + 1e-4 * length * slope {
                high = length;
            } else if inner(&slopes, &direction) < 0.9 * slope {
                low = length;
                found = Some((next, there, slopes));
            } else {
                found = Some((next, there, slopes));
                break;
            }
            length = if high.is_finite() { 0.5 * (low + high) } else { 2.0 * length };
        }
        let Some((next, there, slopes)) = found else {
            // Only rounding errors are left.
            observe(step, value, &point)?;
            return Ok(());
        };
        let moved: Vec<f64> = next.iter().zip(&point).map(|(a, b)| a - b).collect();
        let turned: Vec<f64> = slopes.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        let curvature = inner(&moved, &turned);
        if curvature > 1e-12 * inner(&turned, &turned) {
            if memory.len() == MEMORY {
                memory.pop_front();
            }
            memory.push_back((moved, turned, curvature));
        }
        (point, value, gradient) = (next, there, slopes);
        if observe(step, value, &point)? {
            return Ok(());
        }
    }
    Ok(())
}

/// −B⁻¹g by two loops over the remembered steps.
fn direction(gradient: &[f64], memory: &VecDeque<(Vec<f64>, Vec<f64>, f64)>) -> Vec<f64> {
    let mut direction: Vec<f64> = gradient.iter().map(|g| -g).collect();
    let mut shares = Vec::with_capacity(memory.len());
    for (moved, turned, curvature) in memory.iter().rev() {
        let share = inner(moved, &direction) / curvature;
        direction.iter_mut().zip(turned).for_each(|(p, y)| *p -= share * y);
        shares.push(share);
    }
    if let Some((_, turned, curvature)) = memory.back() {
        let scale = curvature / inner(turned, turned);
        direction.iter_mut().for_each(|p| *p *= scale);
    }
    for ((moved, turned, curvature), share) in memory.iter().zip(shares.iter().rev()) {
        let back = inner(turned, &direction) / curvature;
        direction.iter_mut().zip(moved).for_each(|(p, s)| *p += (share - back) * s);
    }
    direction
}
