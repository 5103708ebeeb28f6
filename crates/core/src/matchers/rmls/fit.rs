//! The sweeps: by turns L_x and L_y, each half-sweep described, validated and perhaps kept.

use rayon::prelude::*;

use super::row;
use super::{Penalty, Rmls, RmlsReport, RmlsStep, START, Start, Validate};
use crate::linalg::{
    CENTRING_ERROR, Dense, Operator, SvdParams, effective_rank, nothing_there, randomised_svd,
};
use crate::matchers::Maps;
use crate::matchers::pls::{PlsReport, scale_columns};
use crate::random::Random;
use crate::{Error, Result, Run};

/// Rows looked at for the effective rank: the whole Gram matrix would cost more than a sweep.
const RANK_SAMPLE: usize = 4096;

/// Queries or documents.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    X,
    Y,
}

impl Side {
    /// The map of this side, for people.
    fn map(self) -> &'static str {
        match self {
            Side::X => "L_x",
            Side::Y => "L_y",
        }
    }
}

impl Rmls {
    fn threshold(&self, side: Side, row: &[f32]) -> f32 {
        let (fixed, share) = match side {
            Side::X => (self.beta, self.rho_x),
            Side::Y => (self.gamma, self.rho_y),
        };
        match self.penalty {
            Penalty::None | Penalty::Bound => 0.0,
            Penalty::Absolute => fixed as f32,
            Penalty::Relative => share as f32 * row.iter().fold(0.0f32, |m, w| m.max(w.abs())),
        }
    }

    fn theta(&self, side: Side) -> f32 {
        match side {
            Side::X => self.theta_x as f32,
            Side::Y => self.theta_y as f32,
        }
    }

    fn lambda(&self, side: Side) -> f32 {
        match side {
            Side::X => self.lambda_x as f32,
            Side::Y => self.lambda_y as f32,
        }
    }
}

/// Fits `params` to the matrix behind `operator`.
pub(super) fn fit(
    params: &Rmls,
    operator: Operator,
    validate: Option<&mut Validate<'_>>,
    run: &Run<'_>,
) -> Result<(Maps, RmlsReport)> {
    let report = RmlsReport { steps: Vec::new(), best: 0, collapsed: None, spectral: None };
    let mut fit = Fit {
        params,
        operator,
        validate,
        best: None,
        report,
        penalties: (0.0, 0.0),
        first_ranks: (None, None),
    };
    match params.start {
        Start::Random => fit.start_random(run)?,
        Start::Spectral => fit.start_spectral(run)?,
    }
    let best = fit.best.ok_or_else(|| Error::Empty {
        what: "RMLS made no step".into(),
        advice: "set sweeps to 1 or more".into(),
    })?;
    Ok((best.maps, fit.report))
}

struct Best {
    score: f64,
    sweep: usize,
    maps: Maps,
}

struct Fit<'a, 'v> {
    params: &'a Rmls,
    operator: Operator,
    validate: Option<&'a mut Validate<'v>>,
    best: Option<Best>,
    report: RmlsReport,
    /// β Σ|l_xu|₁ and γ Σ|l_yv|₁ as of each side's last update.
    penalties: (f64, f64),
    /// The effective rank of L_x and of L_y as they were first made.
    first_ranks: (Option<f64>, Option<f64>),
}

/// Sums over the rows of a half-sweep.
#[derive(Clone, Copy, Default)]
struct Sums {
    inner: f64,
    penalty: f64,
    moved: f64,
    old: f64,
    largest: f64,
    filled: f64,
    broken: bool,
}

impl Fit<'_, '_> {
    fn start_random(&mut self, run: &Run<'_>) -> Result<()> {
        let params = self.params;
        let mut l_y = Dense::gaussian(self.operator.d_y(), params.dim, params.seed);
        l_y.scale_rows_to(params.theta(Side::Y));
        if params.penalty == Penalty::Absolute {
            self.penalties.1 = params.gamma * ordered_sum(&l_y, |_, row| row::l1(row));
        }
        let l_x = Dense::zeros(self.operator.d_x(), params.dim);
        self.sweep_on(Maps { l_x, l_y }, None, run)
    }

    fn start_spectral(&mut self, run: &Run<'_>) -> Result<()> {
        let params = self.params;
        let defaults = SvdParams::of(params.dim);
        let svd_params = SvdParams { tolerance: params.tolerance, seed: params.seed, ..defaults };
        let svd = randomised_svd(&self.operator, &svd_params, run)?;
        self.report.spectral = Some(PlsReport::of(&svd));
        let mut maps = Maps { l_x: svd.u.clone(), l_y: svd.v.clone() };
        // The scale-free penalties apply to the start, too; an absolute threshold is made for
        // Ω and would mean something else here.
        let scale_free = match params.penalty {
            Penalty::Absolute => &Rmls { penalty: Penalty::None, ..params.clone() },
            _ => params,
        };
        self.penalties.0 = update_rows(scale_free, Side::X, &svd.u, &mut maps.l_x).penalty;
        self.penalties.1 = update_rows(scale_free, Side::Y, &svd.v, &mut maps.l_y).penalty;
        self.first_ranks = (Some(self.rank(&maps.l_x)), Some(self.rank(&maps.l_y)));
        let inner = self.inner(&maps);
        self.describe(START.into(), 0, inner, 0.0, &maps)?;
        if params.sweeps == 0 {
            return Ok(());
        }
        // From V·Σ⁻¹ the first half-sweep meets U again; from V it would meet U·Σ, let Σ back
        // in and collapse.
        let inverse: Vec<f32> = svd.sigma.iter().map(|&s| (1.0 / s) as f32).collect();
        let mut from = svd.v;
        scale_columns(&mut from, &inverse);
        self.sweep_on(maps, Some(from), run)
    }

    /// Sweeps on from `maps`; the very first L_x is made from `from`, if given, instead of L_y.
    fn sweep_on(&mut self, mut maps: Maps, mut from: Option<Dense>, run: &Run<'_>) -> Result<()> {
        let params = self.params;
        let total = Some(2 * params.sweeps as u64);
        for sweep in 1..=params.sweeps {
            run.step(&format!("RMLS sweep {sweep}"), 2 * (sweep as u64 - 1), total)?;
            self.half_sweep(Side::X, sweep, &mut maps, from.take())?;
            run.step(&format!("RMLS sweep {sweep}"), 2 * sweep as u64 - 1, total)?;
            self.half_sweep(Side::Y, sweep, &mut maps, None)?;
            let stale = self.best.as_ref().map_or(0, |best| sweep - best.sweep);
            if self.validate.is_some() && stale >= params.patience {
                break;
            }
        }
        Ok(())
    }

    fn half_sweep(
        &mut self,
        side: Side,
        sweep: usize,
        maps: &mut Maps,
        from: Option<Dense>,
    ) -> Result<()> {
        let (n_rows, dim) = match side {
            Side::X => (self.operator.d_x(), maps.l_y.n_cols()),
            Side::Y => (self.operator.d_y(), maps.l_x.n_cols()),
        };
        let mut omega = Dense::zeros(n_rows, dim);
        match side {
            Side::X => self.operator.apply(from.as_ref().unwrap_or(&maps.l_y), &mut omega),
            Side::Y => self.operator.apply_transpose(&maps.l_x, &mut omega),
        }
        let old = if side == Side::X { &maps.l_x } else { &maps.l_y };
        let sums = update_rows(self.params, side, old, &mut omega);
        self.check_sums(&sums, side, sweep)?;
        let rank = Some(self.rank(&omega));
        match side {
            Side::X => {
                (maps.l_x, self.penalties.0) = (omega, sums.penalty);
                self.first_ranks.0 = self.first_ranks.0.or(rank);
            }
            Side::Y => {
                (maps.l_y, self.penalties.1) = (omega, sums.penalty);
                self.first_ranks.1 = self.first_ranks.1.or(rank);
            }
        }
        let name = format!("sweep {sweep}, {}", side.map());
        let change = if sums.old > 0.0 { (sums.moved / sums.old).sqrt() } else { 1.0 };
        // Σ ⟨ω, l⟩ is the trace, unless ω came from something else than L_y.
        let inner = if from.is_some() { self.inner(maps) } else { sums.inner };
        self.describe(name, sweep, inner, change, maps)
    }

    fn check_sums(&self, sums: &Sums, side: Side, sweep: usize) -> Result<()> {
        if sums.broken || !sums.inner.is_finite() {
            return Err(Error::NotFinite {
                what: "a row of Ω = C·L",
                sweep,
                advice:
                    "look for huge weights in the clicks, or use response = \"log\" or \"binary\""
                        .into(),
            });
        }
        if sums.largest <= CENTRING_ERROR * self.operator.correction_norm() {
            return Err(nothing_there());
        }
        if sums.filled == 0.0 {
            let knob = match (self.params.penalty, side) {
                (Penalty::Absolute, Side::X) => "beta",
                (Penalty::Absolute, Side::Y) => "gamma",
                _ => "the penalty",
            };
            return Err(Error::Empty {
                what: format!(
                    "the penalty empties all of {} in sweep {sweep}: the largest |ω| is {:.3e}",
                    side.map(),
                    sums.largest
                ),
                advice: format!("set {knob} well below that, or use penalty = \"relative\""),
            });
        }
        Ok(())
    }

    /// tr(L_xᵀ C L_y).
    fn inner(&self, maps: &Maps) -> f64 {
        let mut omega = Dense::zeros(self.operator.d_x(), maps.l_y.n_cols());
        self.operator.apply(&maps.l_y, &mut omega);
        ordered_sum(&omega, |u, omega| row::inner(omega, maps.l_x.row(u)))
    }

    /// Reports and validates what `maps` are now, and keeps them if they are the best so far
    /// and obey the penalty on both sides.
    fn describe(
        &mut self,
        step: String,
        sweep: usize,
        inner: f64,
        change: f64,
        maps: &Maps,
    ) -> Result<()> {
        let Maps { l_x, l_y } = maps;
        let ranks = (self.rank(l_x), self.rank(l_y));
        // With few dimensions a tenth of the start is less than one direction.
        let fell = |now: f64, first: Option<f64>| {
            first.is_some_and(|first| now < first / 10.0 || (now < 1.5 && first > 3.0))
        };
        if self.report.collapsed.is_none()
            && (fell(ranks.0, self.first_ranks.0) || fell(ranks.1, self.first_ranks.1))
        {
            self.report.collapsed = Some(self.report.steps.len());
        }
        let validation = match &mut self.validate {
            Some(validate) => Some(validate(l_x, l_y)?),
            None => None,
        };
        self.report.steps.push(RmlsStep {
            step,
            objective: inner - self.penalties.0 - self.penalties.1,
            change,
            density_x: filled(l_x) / l_x.values().len().max(1) as f64,
            density_y: filled(l_y) / l_y.values().len().max(1) as f64,
            effective_rank_x: ranks.0,
            effective_rank_y: ranks.1,
            validation,
        });
        // Both sides are thresholded once L_y has been updated; before that, only where the
        // start was.
        let last = self.report.steps.len() - 1;
        let obeys = match (self.params.penalty, self.params.start) {
            (Penalty::None, _) | (Penalty::Relative | Penalty::Bound, Start::Spectral) => true,
            (Penalty::Absolute, Start::Spectral) => last >= 2,
            (_, Start::Random) => last >= 1,
        };
        let better = match (&self.best, validation) {
            (Some(best), Some(score)) => score > best.score,
            // Without validation the last sweep is the result.
            _ => true,
        };
        if obeys && better {
            self.report.best = last;
            self.best = Some(Best { score: validation.unwrap_or(0.0), sweep, maps: maps.clone() });
        }
        Ok(())
    }

    /// The effective rank of a few thousand rows, always the same ones.
    fn rank(&self, map: &Dense) -> f64 {
        if map.n_rows() <= RANK_SAMPLE {
            return effective_rank(map);
        }
        let mut random = Random::new(self.params.seed, u64::MAX);
        let mut sample = Dense::zeros(RANK_SAMPLE, map.n_cols());
        for i in 0..RANK_SAMPLE {
            let row = random.below(map.n_rows() as u64) as usize;
            sample.row_mut(i).copy_from_slice(map.row(row));
        }
        effective_rank(&sample)
    }
}

/// Turns Ω into the new rows, in place, and sums what the report needs. The sums are made
/// over fixed blocks and added in order.
fn update_rows(params: &Rmls, side: Side, old: &Dense, omega: &mut Dense) -> Sums {
    const BLOCK: usize = 256;
    let dim = omega.n_cols();
    let parts: Vec<Sums> = omega
        .values_mut()
        .par_chunks_mut(BLOCK * dim)
        .enumerate()
        .map(|(block, rows)| {
            let mut sums = Sums::default();
            let mut before = vec![0.0f32; dim];
            let mut scratch = vec![0.0f32; dim];
            for (k, omega) in rows.chunks_exact_mut(dim).enumerate() {
                let old = old.row(block * BLOCK + k);
                before.copy_from_slice(omega);
                let largest = omega.iter().fold(0.0f32, |m, w| m.max(w.abs()));
                // `max` passes over a NaN, so look for one.
                sums.broken |= omega.iter().any(|w| !w.is_finite());
                sums.largest = sums.largest.max(f64::from(largest));
                let threshold = params.threshold(side, omega);
                if params.penalty == Penalty::Bound {
                    row::bounded(omega, params.lambda(side), params.theta(side), &mut scratch);
                } else {
                    row::penalised(omega, threshold, params.theta(side));
                }
                sums.inner += row::inner(&before, omega);
                sums.penalty += f64::from(threshold) * row::l1(omega);
                sums.filled += omega.iter().filter(|&&value| value != 0.0).count() as f64;
                for (new, old) in omega.iter().zip(old) {
                    let moved = f64::from(new - old);
                    sums.moved += moved * moved;
                    sums.old += f64::from(*old) * f64::from(*old);
                }
            }
            sums
        })
        .collect();
    parts.into_iter().fold(Sums::default(), |a, b| Sums {
        inner: a.inner + b.inner,
        penalty: a.penalty + b.penalty,
        moved: a.moved + b.moved,
        old: a.old + b.old,
        largest: a.largest.max(b.largest),
        broken: a.broken || b.broken,
        filled: a.filled + b.filled,
    })
}

fn filled(map: &Dense) -> f64 {
    map.values().par_iter().filter(|&&value| value != 0.0).count() as f64
}

fn ordered_sum(map: &Dense, f: impl Fn(usize, &[f32]) -> f64 + Sync) -> f64 {
    let parts: Vec<f64> = (0..map.n_rows()).into_par_iter().map(|i| f(i, map.row(i))).collect();
    parts.into_iter().sum()
}
