//! The sweeps: by turns L_x and L_y, each half-sweep described, validated and perhaps kept.

use rayon::prelude::*;

use super::row;
use super::{Penalty, Rmls, RmlsReport, RmlsStep, START, Start, Validate};
use crate::linalg::{Dense, Operator, SvdParams, effective_rank, randomised_svd};
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
    let mut fit = Fit { params, operator, validate, best: None, report, penalties: (0.0, 0.0) };
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
}

impl Fit<'_, '_> {
    fn start_random(&mut self, run: &Run<'_>) -> Result<()> {
        let params = self.params;
        let mut l_y = Dense::gaussian(self.operator.d_y(), params.dim, params.seed);
        l_y.scale_rows_to(params.theta(Side::Y));
        let l_x = Dense::zeros(self.operator.d_x(), params.dim);
        if params.penalty == Penalty::Absolute {
            self.penalties.1 = params.gamma * ordered_sum(&l_y, |_, row| row::l1(row));
        }
        // A random L_y has, but for chance, as much rank as it will ever have.
        let start = self.rank(&l_y);
        self.sweep_on(l_x, l_y, (start, start), run)
    }

    fn start_spectral(&mut self, run: &Run<'_>) -> Result<()> {
        let params = self.params;
        let defaults = SvdParams::of(params.dim);
        let svd_params = SvdParams { tolerance: params.tolerance, seed: params.seed, ..defaults };
        let svd = randomised_svd(&self.operator, &svd_params, run)?;
        self.report.spectral = Some(PlsReport::of(&svd));
        let (mut l_x, mut l_y) = (svd.u.clone(), svd.v.clone());
        // The scale-free penalties apply to the start, too; an absolute threshold is made for
        // Ω and would mean something else here.
        let start = match params.penalty {
            Penalty::Absolute => &Rmls { penalty: Penalty::None, ..params.clone() },
            _ => params,
        };
        update_rows(start, Side::X, &svd.u, &mut l_x);
        update_rows(start, Side::Y, &svd.v, &mut l_y);
        let ranks = (self.rank(&l_x), self.rank(&l_y));
        let inner = {
            let mut omega = Dense::zeros(self.operator.d_x(), l_y.n_cols());
            self.operator.apply(&l_y, &mut omega);
            ordered_sum(&omega, |u, omega| row::inner(omega, l_x.row(u)))
        };
        let step = self.describe(START.into(), inner, 0.0, &l_x, &l_y, ranks)?;
        if params.penalty == Penalty::Absolute && params.sweeps > 0 {
            // It does not obey the penalty, so it cannot be the result.
            self.report.steps.push(step);
        } else {
            self.keep(step, 0, &l_x, &l_y);
        }
        if params.sweeps == 0 {
            return Ok(());
        }
        // From V·Σ⁻¹ the first half-sweep meets U again; from V it would meet U·Σ, let Σ back
        // in and collapse.
        let inverse: Vec<f32> = svd.sigma.iter().map(|&s| (1.0 / s) as f32).collect();
        let mut from = svd.v;
        scale_columns(&mut from, &inverse);
        self.sweep_on(l_x, from, ranks, run)
    }

    fn sweep_on(
        &mut self,
        mut l_x: Dense,
        mut l_y: Dense,
        start: (f64, f64),
        run: &Run<'_>,
    ) -> Result<()> {
        let params = self.params;
        let total = Some(2 * params.sweeps as u64);
        for sweep in 1..=params.sweeps {
            run.step(&format!("RMLS sweep {sweep}"), 2 * (sweep as u64 - 1), total)?;
            self.half_sweep(Side::X, sweep, &mut l_x, &mut l_y, start)?;
            run.step(&format!("RMLS sweep {sweep}"), 2 * sweep as u64 - 1, total)?;
            self.half_sweep(Side::Y, sweep, &mut l_x, &mut l_y, start)?;
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
        l_x: &mut Dense,
        l_y: &mut Dense,
        start: (f64, f64),
    ) -> Result<()> {
        let mut omega = match side {
            Side::X => {
                let mut omega = Dense::zeros(self.operator.d_x(), l_y.n_cols());
                self.operator.apply(l_y, &mut omega);
                omega
            }
            Side::Y => {
                let mut omega = Dense::zeros(self.operator.d_y(), l_x.n_cols());
                self.operator.apply_transpose(l_x, &mut omega);
                omega
            }
        };
        let old = if side == Side::X { &*l_x } else { &*l_y };
        let sums = update_rows(self.params, side, old, &mut omega);
        if !sums.inner.is_finite() || !sums.largest.is_finite() {
            return Err(Error::NotFinite {
                what: "a row of Ω = C·L",
                sweep,
                advice:
                    "look for huge weights in the clicks, or use response = \"log\" or \"binary\""
                        .into(),
            });
        }
        if sums.filled == 0.0 {
            let (name, hint) = match (self.params.penalty, side) {
                (Penalty::Absolute, Side::X) => ("L_x", "beta"),
                (Penalty::Absolute, Side::Y) => ("L_y", "gamma"),
                (_, Side::X) => ("L_x", "the penalty"),
                (_, Side::Y) => ("L_y", "the penalty"),
            };
            return Err(Error::Empty {
                what: format!(
                    "the penalty empties all of {name} in sweep {sweep}: the largest |ω| is {:.3e}",
                    sums.largest
                ),
                advice: format!("set {hint} well below that, or use penalty = \"relative\""),
            });
        }
        match side {
            Side::X => (*l_x, self.penalties.0) = (omega, sums.penalty),
            Side::Y => (*l_y, self.penalties.1) = (omega, sums.penalty),
        }
        let name = format!("sweep {sweep}, {}", if side == Side::X { "L_x" } else { "L_y" });
        let change = if sums.old > 0.0 { (sums.moved / sums.old).sqrt() } else { 1.0 };
        let step = self.describe(name, sums.inner, change, l_x, l_y, start)?;
        self.keep(step, sweep, l_x, l_y);
        Ok(())
    }

    fn describe(
        &mut self,
        step: String,
        inner: f64,
        change: f64,
        l_x: &Dense,
        l_y: &Dense,
        start: (f64, f64),
    ) -> Result<RmlsStep> {
        let ranks = (self.rank(l_x), self.rank(l_y));
        // With few dimensions a tenth of the start is less than one direction.
        let fell = |now: f64, start: f64| now < start / 10.0 || (now < 1.5 && start > 3.0);
        if self.report.collapsed.is_none() && (fell(ranks.0, start.0) || fell(ranks.1, start.1)) {
            self.report.collapsed = Some(self.report.steps.len());
        }
        let validation = match &mut self.validate {
            Some(validate) => Some(validate(l_x, l_y)?),
            None => None,
        };
        Ok(RmlsStep {
            step,
            objective: inner - self.penalties.0 - self.penalties.1,
            change,
            density_x: filled(l_x) / l_x.values().len().max(1) as f64,
            density_y: filled(l_y) / l_y.values().len().max(1) as f64,
            effective_rank_x: ranks.0,
            effective_rank_y: ranks.1,
            validation,
        })
    }

    fn keep(&mut self, step: RmlsStep, sweep: usize, l_x: &Dense, l_y: &Dense) {
        let score = step.validation;
        self.report.steps.push(step);
        let better = match (&self.best, score) {
            (Some(best), Some(score)) => score > best.score,
            // Without validation the last sweep is the result.
            _ => true,
        };
        if better {
            self.report.best = self.report.steps.len() - 1;
            let maps = Maps { l_x: l_x.clone(), l_y: l_y.clone() };
            self.best = Some(Best { score: score.unwrap_or(0.0), sweep, maps });
        }
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
                let broken = omega.iter().any(|w| !w.is_finite());
                sums.largest = if broken { f64::NAN } else { sums.largest.max(f64::from(largest)) };
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
        largest: if a.largest.is_nan() || b.largest.is_nan() {
            f64::NAN
        } else {
            a.largest.max(b.largest)
        },
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
