//! Sums with the same bits in any order of their terms. Every term is rounded to a whole number of
//! units and whole numbers are added, so the sum of a row does not depend on which of its panels came
//! first, or on which machine they were computed.

/// Units of the largest sum: three bits of a u64 are left for bounds that rounding errors exceed.
const BITS: i32 = 61;
/// The units of a sum that is not finite, or far above its bound.
const BROKEN: u64 = u64::MAX;

/// A sum of non-negative terms.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedPointSum {
    units: u64,
    /// A power of two.
    units_per_one: f64,
}

impl FixedPointSum {
    /// An empty sum whose terms will not exceed `bound` together. Each term is rounded to 2⁻⁶⁰ of
    /// `bound`, or less.
    pub fn up_to(bound: f64) -> Self {
        if !bound.is_finite() {
            return FixedPointSum { units: BROKEN, units_per_one: 1.0 };
        }
        // 2^exponent is above the bound; zero and subnormal numbers have the smallest exponent.
        let exponent = ((bound.abs().to_bits() >> 52) as i32 - 1022).max(-900);
        FixedPointSum { units: 0, units_per_one: 2.0f64.powi(BITS - exponent) }
    }

    /// Adds a term.
    #[inline(always)]
    pub fn add(&mut self, value: f64) {
        let units = value * self.units_per_one;
        // False for NaN, too.
        let fits = units < (1u64 << 63) as f64;
        let units = if fits { (units + 0.5) as u64 } else { BROKEN };
        self.units = self.units.saturating_add(units);
    }

    /// The sum; NaN if a term was not finite, or if the sum is far above its bound.
    pub fn value(self) -> f64 {
        if self.units == BROKEN { f64::NAN } else { self.units as f64 / self.units_per_one }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn sum_of(bound: f64, values: impl IntoIterator<Item = f64>) -> FixedPointSum {
        let mut sum = FixedPointSum::up_to(bound);
        values.into_iter().for_each(|value| sum.add(value));
        sum
    }

    proptest! {
        #[test]
        fn any_order_gives_the_same_bits_close_to_the_real_sum(
            values in proptest::collection::vec(0.0f64..1.0, 1..40), exponent in -200i32..200,
        ) {
            let values: Vec<f64> = values.iter().map(|v| v * 2.0f64.powi(exponent)).collect();
            let expected: f64 = values.iter().sum();
            // A bound a thousand times too large costs ten bits of more than fifty.
            for bound in [expected, 1000.0 * expected] {
                let forward = sum_of(bound, values.iter().copied());
                prop_assert_eq!(forward, sum_of(bound, values.iter().rev().copied()));
                prop_assert!((forward.value() - expected).abs() <= 1e-12 * expected);
            }
        }
    }

    #[test]
    fn nothing_and_bounds_of_nothing_are_zero() {
        assert_eq!(FixedPointSum::up_to(0.0).value(), 0.0);
        assert_eq!(sum_of(0.0, [0.0, 0.0]).value(), 0.0);
        assert_eq!(sum_of(1e300, [1e300]).value(), 1e300);
    }

    #[test]
    fn what_is_not_a_number_or_too_large_does_not_pass() {
        for sum in [
            sum_of(1.0, [0.5, f64::NAN, 0.1]),
            sum_of(1.0, [f64::INFINITY]),
            sum_of(1.0, [1e9]),
            sum_of(f64::INFINITY, [1.0]),
            sum_of(f64::NAN, []),
            sum_of(0.0, [1.0]),
        ] {
            assert!(sum.value().is_nan(), "{sum:?}");
        }
        // Rounding errors may exceed a bound a little.
        assert_eq!(sum_of(1.0, [1.0, 0.5]).value(), 1.5);
    }
}
