//! Successive halving: many settings are tried on a small sample of the training data, the best
//! third on a larger one, the best third of these on all of it.
//!
//! A budget of N is worth N fits to all data. One of them is spent on the defaults. With
//! R = min(3, N − 1) rungs, rung r = 0 … R−1 has n_r = ⌊n/3^r⌋ settings on a share 3^(r−R+1) of the
//! data, with the largest n for which Σ n_r·3^(r−R+1) ≤ N − 1: three rungs of n, n/3, n/9 settings
//! cost n/9 fits each.

/// The best 1/`KEEP_ONE_IN` of a rung's settings go on.
pub const KEEP_ONE_IN: usize = 3;
/// The most rungs: the smallest sample is a ninth of the data, since scores of less are noise.
const MOST_RUNGS: usize = 3;

/// The largest budget.
pub const MOST_BUDGET: usize = 10_000;

/// One rung of the ladder.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rung {
    /// Number of settings tried.
    pub settings: usize,
    /// Each is fitted to 1/`one_in` of the training queries (or pairs).
    pub one_in: u32,
}

/// The rungs for `budget` fits ([`MOST_BUDGET`] at most), of which the first is the defaults'. Where
/// nothing is learnt (`learns`), a sample of the training data costs as much as all of it, and there
/// is one rung.
pub fn rungs(budget: usize, learns: bool) -> Vec<Rung> {
    let fits = budget.min(MOST_BUDGET).saturating_sub(1);
    let n_rungs = if learns { fits.min(MOST_RUNGS) } else { 1 };
    if fits == 0 {
        return Vec::new();
    }
    let last = KEEP_ONE_IN.pow(n_rungs as u32 - 1);
    let ladder = |n: usize| {
        (0..n_rungs as u32).map(move |r| {
            let step = KEEP_ONE_IN.pow(r);
            Rung { settings: n / step, one_in: (last / step) as u32 }
        })
    };
    // In units of the smallest sample: whole numbers.
    let cost = |rung: Rung| rung.settings * (last / rung.one_in as usize);
    let mut n = last;
    while ladder(n + 1).map(cost).sum::<usize>() <= fits * last {
        n += 1;
    }
    ladder(n).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(budget: usize, learns: bool) -> Vec<(usize, u32)> {
        rungs(budget, learns).iter().map(|rung| (rung.settings, rung.one_in)).collect()
    }

    #[test]
    fn the_ladder_fits_the_budget_and_ends_with_full_fits() {
        assert_eq!(plain(1, true), []);
        assert_eq!(plain(2, true), [(1, 1)]);
        assert_eq!(plain(3, true), [(3, 3), (1, 1)]);
        assert_eq!(plain(4, true), [(9, 9), (3, 3), (1, 1)]);
        assert_eq!(plain(10, true), [(27, 9), (9, 3), (3, 1)]);
        assert_eq!(plain(10, false), [(9, 1)]);
        assert_eq!(plain(usize::MAX, false), [(MOST_BUDGET - 1, 1)]);
        assert_eq!(plain(usize::MAX, true), plain(MOST_BUDGET, true));
        for budget in 2..200 {
            let rungs = rungs(budget, true);
            let cost: f64 = rungs.iter().map(|r| r.settings as f64 / f64::from(r.one_in)).sum();
            assert!(cost <= budget as f64 - 1.0 + 1e-9, "{budget}: {cost}");
            assert!(cost > budget as f64 - 2.5, "{budget}: {cost} leaves much unused");
            assert!(rungs.windows(2).all(|pair| {
                pair[1].settings == pair[0].settings / KEEP_ONE_IN
                    && pair[1].one_in < pair[0].one_in
            }));
            assert_eq!(rungs.last().map(|rung| rung.one_in), Some(1));
            assert!(rungs.iter().all(|rung| rung.settings > 0));
        }
    }
}
