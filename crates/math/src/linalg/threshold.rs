//! The soft threshold S_t(x) = sign(x)·max(|x| − t, 0), the proximal step of the ℓ1 penalty.

/// S_t(x). A NaN stays NaN, so that it is noticed later instead of becoming zero.
#[inline]
pub fn soft_threshold(x: f32, t: f32) -> f32 {
    if x.abs() <= t { 0.0 } else { x - t.copysign(x) }
}

/// Applies [`soft_threshold`] to a row and returns the sum of squares of the result, which the
/// caller needs to scale the row.
pub fn soft_threshold_row(row: &mut [f32], t: f32) -> f64 {
    for x in row.iter_mut() {
        *x = soft_threshold(*x, t);
    }
    super::dot_f64(row, row)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_within_the_threshold_vanish_and_others_move_towards_zero() {
        assert_eq!(soft_threshold(3.0, 1.0), 2.0);
        assert_eq!(soft_threshold(-3.0, 1.0), -2.0);
        assert_eq!(soft_threshold(1.0, 1.0), 0.0);
        assert_eq!(soft_threshold(-0.5, 1.0), 0.0);
        assert_eq!(soft_threshold(-0.5, 0.0), -0.5);
    }

    #[test]
    fn what_is_not_a_number_is_not_hidden() {
        assert!(soft_threshold(f32::NAN, 1.0).is_nan());
        assert_eq!(soft_threshold(f32::INFINITY, 1.0), f32::INFINITY);
    }

    #[test]
    fn a_row_is_thresholded_entry_by_entry() {
        let mut row = [4.0, -0.5, 0.0, -3.0];
        assert_eq!(soft_threshold_row(&mut row, 1.0), 9.0 + 4.0);
        assert_eq!(row, [3.0, 0.0, 0.0, -2.0]);
    }
}
