//! The sweeps: alternately L_x and L_y, each half-sweep described and scored on validation, with early
//! stopping (`Fit::sweep_on`).

use std::path::Path;

use super::choice::starts;
use super::half::{HalfSweeps, Sums};
use super::params::{Penalty, Rmls};
use super::placement::MemoryPlacement;
use super::report::{INIT, Origin, RmlsReport, RmlsStep, START};
use super::sample_size::{sample_rows, sampled};
use crate::early_stopping::EarlyStopping;
use crate::linalg::{
    CENTRING_ERROR, Dense, Operator, Panels, Side, SvdParams, dot_f64, effective_rank,
    nothing_there, randomised_svd_from, scale_columns,
};
use crate::matchers::pls::PlsReport;
use crate::matchers::{Map, Maps};
use crate::random::Random;
use crate::{Error, Result, Run};

/// Scores a pair of maps on validation data; higher is better.
pub type Validate<'a> = dyn FnMut(&Panels, &Panels) -> Result<f64> + 'a;

fn name_of(side: Side) -> &'static str {
    match side {
        Side::X => "L_x",
        Side::Y => "L_y",
    }
}

/// Fits `params` to the matrix behind `operator`, with maps placed as `placement` says. `participation_ratio`
/// is that of `choice.rs`, where it is needed.
pub(super) fn fit(
    placement: MemoryPlacement,
    params: &Rmls,
    operator: Operator,
    participation_ratio: Option<f64>,
    init: Option<Maps>,
    validate: Option<&mut Validate<'_>>,
    run: &Run<'_>,
) -> Result<(Maps, RmlsReport)> {
    let (branches, reason) =
        starts(params, participation_ratio, init.is_some(), validate.is_some());
    let report = RmlsReport {
        way: operator.product_form().to_string(),
        participation_ratio,
        reason,
        steps: Vec::new(),
        best: 0,
        collapsed: None,
        by_words: false,
        spectral: None,
        sampled: sampled(&operator, params.dim),
    };
    let scratch = run.scratch();
    let mut fit = Fit {
        params,
        sweeps: params.most_sweeps(validate.is_some()),
        half_sweeps: HalfSweeps {
            params,
            operator: &operator,
            scratch: operator.scratch()?,
            on_disk: placement.maps_on_disk.then_some(&scratch),
            memory: placement.maps,
            bounds: Default::default(),
        },
        validate,
        best: None,
        best_maps: None,
        best_folder: placement.best_on_disk.then_some(&scratch),
        report,
        branch: Branch::new(Origin::Random, 0, params),
        penalties: [0.0; 2],
        samples: [None, None],
        sample_rows: sample_rows(&operator, params.dim),
    };
    let is_warm = init.is_some();
    let mut earlier = init.map(|maps| fit.describe_init(maps)).transpose()?;
    for (at, &origin) in branches.iter().enumerate() {
        let ended = match origin {
            Origin::Init => {
                let pair = earlier.take().map_or_else(|| fit.random_pair(), Ok)?;
                fit.sweep_on(pair, None, run)?
            }
            Origin::Spectral => {
                let l_y = match earlier.take() {
                    Some(pair) => {
                        let l_y = pair.y.to_dense()?;
                        if fit.validate.is_some() {
                            fit.end(pair, false)?;
                        }
                        Some(l_y)
                    }
                    // After sweeps from the earlier maps their best step, which has not collapsed.
                    None => match fit.best_maps.as_ref().filter(|_| is_warm) {
                        Some(best) => Some(best.y.to_dense()?),
                        None => None,
                    },
                };
                fit.begin(Origin::Spectral);
                fit.start_spectral(l_y, run)?
            }
            Origin::Random => {
                fit.begin(Origin::Random);
                let pair = fit.random_pair()?;
                fit.sweep_on(pair, None, run)?
            }
        };
        fit.end(ended, at + 1 == branches.len())?;
    }
    if fit.best.is_none() {
        return Err(Error::Empty {
            what: "RMLS made no step".into(),
            advice: "set sweeps to 1 or more".into(),
        });
    }
    let Fit { report, best_maps, half_sweeps, .. } = fit;
    drop(half_sweeps);
    drop(operator);
    let Some(Pair { x, y }) = best_maps else {
        return Err(Error::Structure { problem: "RMLS has no best maps".into() });
    };
    // One side after the other, so that only one is in memory twice. Maps that did not fit into
    // memory stay on disk until they are written to the model.
    let folder = placement.maps_on_disk.then_some(scratch.as_path());
    let l_x = Map::of(&x, folder)?;
    drop(x);
    let l_y = Map::of(&y, folder)?;
    Ok((Maps { l_x, l_y }, report))
}

/// Both maps in training.
struct Pair {
    x: Panels,
    y: Panels,
}

struct Fit<'a, 'v> {
    params: &'a Rmls,
    /// Most sweeps of a branch.
    sweeps: usize,
    half_sweeps: HalfSweeps<'a>,
    validate: Option<&'a mut Validate<'v>>,
    /// The best step of all branches and its validation score.
    best: Option<(usize, f64)>,
    /// A copy of the best maps, if they are not the current ones.
    best_maps: Option<Pair>,
    /// The folder of that copy, if it is not in memory.
    best_folder: Option<&'a Path>,
    report: RmlsReport,
    branch: Branch,
    /// β Σ|l_xu|₁ and γ Σ|l_yv|₁ as of each side's last update.
    penalties: [f64; 2],
    /// Samples of the current L_x and L_y.
    samples: [Option<Sample>; 2],
    sample_rows: usize,
}

/// The steps from one start.
struct Branch {
    origin: Origin,
    /// Its first step.
    first: usize,
    /// By sweeps.
    stopping: EarlyStopping<()>,
    /// The effective rank of the first L_x and of the first L_y.
    first_ranks: [Option<f64>; 2],
}

impl Branch {
    fn new(origin: Origin, first: usize, params: &Rmls) -> Self {
        let stopping = EarlyStopping::new(params.patience);
        Branch { origin, first, stopping, first_ranks: [None; 2] }
    }
}

/// A fixed sample of the rows of a map, with its effective rank and the map's density.
struct Sample {
    rows: Dense,
    rank: f64,
    density: f64,
}

impl Fit<'_, '_> {
    /// Begins the steps from another start.
    fn begin(&mut self, origin: Origin) {
        self.branch = Branch::new(origin, self.report.steps.len(), self.params);
        self.penalties = [0.0; 2];
        self.samples = [None, None];
    }

    /// Ends the steps from one start with the maps `pair`, and keeps them if they are the best.
    fn end(&mut self, pair: Pair, is_last: bool) -> Result<()> {
        if is_last || self.best_folder.is_none() {
            if self.is_best_current() {
                self.best_maps = Some(pair);
            }
            return Ok(());
        }
        self.keep_best(&pair)
    }

    /// A random L_y, and no L_x yet.
    fn random_pair(&mut self) -> Result<Pair> {
        let params = self.params;
        let (d_x, d_y) = (self.half_sweeps.operator.d_x(), self.half_sweeps.operator.d_y());
        let y = Panels::random(d_y, params.dim, params.seed, params.theta_y as f32);
        if params.penalty == Penalty::Absolute {
            self.penalties[1] = params.gamma * l1(&y);
        }
        self.sample(Side::Y, &y, 1.0);
        Ok(Pair { x: Panels::new(d_x, params.dim), y })
    }

    /// Makes earlier maps the first step.
    fn describe_init(&mut self, maps: Maps) -> Result<Pair> {
        self.begin(Origin::Init);
        let (x, y) = (maps.l_x.into_panels()?, maps.l_y.into_panels()?);
        if self.params.penalty == Penalty::Absolute {
            self.penalties = self.absolute_penalties(&x, &y);
        }
        self.sample(Side::X, &x, share(x.filled(), &x));
        self.sample(Side::Y, &y, share(y.filled(), &y));
        let inner = self.half_sweeps.inner(&x, &y)?;
        let pair = Pair { x, y };
        self.describe(INIT.into(), 0, inner, 0.0, &pair)?;
        Ok(pair)
    }

    fn start_spectral(&mut self, init: Option<Dense>, run: &Run<'_>) -> Result<Pair> {
        let params = self.params;
        let defaults = SvdParams::of(params.dim);
        let svd_params = SvdParams { tolerance: params.tolerance, seed: params.seed, ..defaults };
        let svd = randomised_svd_from(self.half_sweeps.operator, &svd_params, init.as_ref(), run)?;
        drop(init);
        self.report.spectral = Some(PlsReport::of(&svd, self.half_sweeps.operator));
        let (x, y) = (Panels::from_dense(&svd.u)?, Panels::from_dense(&svd.v)?);
        drop(svd.u);
        let (x, sums_x) = self.half_sweeps.scale_start(Side::X, x)?;
        let (y, sums_y) = self.half_sweeps.scale_start(Side::Y, y)?;
        // An absolute penalty did not apply to the start, but counts in its objective.
        self.penalties = match params.penalty {
            Penalty::Absolute => self.absolute_penalties(&x, &y),
            _ => [sums_x.penalty, sums_y.penalty],
        };
        self.sample(Side::X, &x, share(sums_x.filled, &x));
        self.sample(Side::Y, &y, share(sums_y.filled, &y));
        let pair = Pair { x, y };
        let inner = self.half_sweeps.inner(&pair.x, &pair.y)?;
        self.describe(START.into(), 0, inner, 0.0, &pair)?;
        if self.sweeps == 0 {
            return Ok(pair);
        }
        // From V·Σ⁻¹ the first half-sweep gives U again; from V it would give U·Σ, bring Σ back and
        // collapse.
        let inverse: Vec<f32> = svd.sigma.iter().map(|&s| (1.0 / s) as f32).collect();
        let mut from = svd.v;
        scale_columns(&mut from, &inverse);
        let panels = Panels::from_dense(&from)?;
        drop(from);
        let norms = panels.map_rows(|row| dot_f64(row, row).sqrt());
        self.sweep_on(pair, Some((panels, norms)), run)
    }

    /// β Σ|l_xu|₁ and γ Σ|l_yv|₁ of maps that no half-sweep has made.
    fn absolute_penalties(&self, x: &Panels, y: &Panels) -> [f64; 2] {
        [self.params.beta * l1(x), self.params.gamma * l1(y)]
    }

    /// Sweeps from `pair` until early stopping or convergence; the first L_x is computed from `from`,
    /// if given, instead of L_y: panels and the norms of their rows.
    fn sweep_on(
        &mut self,
        mut pair: Pair,
        mut from: Option<(Panels, Vec<f64>)>,
        run: &Run<'_>,
    ) -> Result<Pair> {
        let total = Some(2 * self.sweeps as u64);
        for sweep in 1..=self.sweeps {
            let mut largest_change = 0.0f64;
            for side in [Side::X, Side::Y] {
                let done = 2 * (sweep as u64 - 1) + u64::from(side == Side::Y);
                run.step(&self.stage(sweep), done, total)?;
                pair = self.half_sweep(side, sweep, pair, from.take(), run)?;
                largest_change =
                    largest_change.max(self.report.steps.last().map_or(0.0, |step| step.change));
            }
            let converged = largest_change < self.params.min_change;
            if converged || self.validate.is_some() && self.branch.stopping.is_over(sweep) {
                break;
            }
        }
        Ok(pair)
    }

    fn half_sweep(
        &mut self,
        side: Side,
        sweep: usize,
        pair: Pair,
        from: Option<(Panels, Vec<f64>)>,
        run: &Run<'_>,
    ) -> Result<Pair> {
        self.keep_best(&pair)?;
        let Pair { x, y } = pair;
        let (source, old) = if side == Side::X { (y, x) } else { (x, y) };
        let replaced = from.is_some();
        let (made, sums) = match &from {
            Some((from, norms)) => {
                self.half_sweeps.half_sweep(side, from, Some(norms), old, run)?
            }
            None => self.half_sweeps.half_sweep(side, &source, None, old, run)?,
        };
        drop(from);
        self.check_sums(&sums, side, sweep)?;
        let change = self.sample(side, &made, share(sums.filled, &made));
        self.penalties[side as usize] = sums.penalty;
        let pair = match side {
            Side::X => Pair { x: made, y: source },
            Side::Y => Pair { x: source, y: made },
        };
        // Σ ⟨ω, l⟩ is the trace, unless ω was not computed from L_y.
        let inner = if replaced { self.half_sweeps.inner(&pair.x, &pair.y)? } else { sums.inner };
        self.describe(format!("sweep {sweep}, {}", name_of(side)), sweep, inner, change, &pair)?;
        Ok(pair)
    }

    /// The text of progress in a sweep, with the density and the effective rank of the last step.
    fn stage(&self, sweep: usize) -> String {
        match self.report.steps.last() {
            Some(last) => format!(
                "sweep {sweep} (density {:.3} and {:.3}, effective rank {:.0} and {:.0})",
                last.density_x, last.density_y, last.effective_rank_x, last.effective_rank_y
            ),
            None => format!("sweep {sweep}"),
        }
    }

    /// Whether the current maps are the best so far.
    fn is_best_current(&self) -> bool {
        self.best.is_some_and(|(step, _)| step + 1 == self.report.steps.len())
    }

    /// Copies the maps before they change, if they are the best so far by validation and there is no
    /// copy of the best yet.
    fn keep_best(&mut self, pair: &Pair) -> Result<()> {
        if self.validate.is_some() && self.best_maps.is_none() && self.is_best_current() {
            let (x, y) = (pair.x.copy(self.best_folder)?, pair.y.copy(self.best_folder)?);
            self.best_maps = Some(Pair { x, y });
        }
        Ok(())
    }

    fn check_sums(&self, sums: &Sums, side: Side, sweep: usize) -> Result<()> {
        if sums.not_finite || !sums.inner.is_finite() {
            return Err(Error::NotFinite {
                what: "a row of Ω = C·L",
                step: sweep,
                advice:
                    "look for huge weights in the clicks, or use response = \"log\" or \"binary\""
                        .into(),
            });
        }
        if sums.largest <= CENTRING_ERROR * self.half_sweeps.operator.correction_norm() {
            return Err(nothing_there());
        }
        if sums.filled == 0 {
            let parameter = match (self.params.penalty, side) {
                (Penalty::Absolute, Side::X) => "beta",
                (Penalty::Absolute, Side::Y) => "gamma",
                _ => "the penalty",
            };
            return Err(Error::Empty {
                what: format!(
                    "the penalty empties all of {} in sweep {sweep}: the largest |ω| is {:.3e}",
                    name_of(side),
                    sums.largest
                ),
                advice: format!("set {parameter} well below that, or use penalty = \"relative\""),
            });
        }
        Ok(())
    }

    /// Describes the current maps in the report with their validation score, and saves them as the
    /// best if they are the best so far and satisfy the penalty on both sides.
    fn describe(
        &mut self,
        step: String,
        sweep: usize,
        inner: f64,
        change: f64,
        pair: &Pair,
    ) -> Result<()> {
        let of = |side: Side| {
            let sample = self.samples[side as usize].as_ref();
            sample.map_or((0.0, 0.0), |sample| (sample.rank, sample.density))
        };
        let ((rank_x, density_x), (rank_y, density_y)) = (of(Side::X), of(Side::Y));
        // With few dimensions a tenth of the start is less than one direction.
        let fell = |now: f64, first: Option<f64>| {
            first.is_some_and(|first| now < first / 10.0 || (now < 1.5 && first > 3.0))
        };
        let first_ranks = self.branch.first_ranks;
        if self.report.collapsed.is_none()
            && (fell(rank_x, first_ranks[0]) || fell(rank_y, first_ranks[1]))
        {
            self.report.collapsed = Some(self.report.steps.len());
        }
        let validate = self.validate.as_mut();
        let validation = validate.map(|validate| validate(&pair.x, &pair.y)).transpose()?;
        let origin = self.branch.origin;
        self.report.steps.push(RmlsStep {
            origin: Some(origin),
            step,
            objective: inner - self.penalties[0] - self.penalties[1],
            change,
            density_x,
            density_y,
            effective_rank_x: rank_x,
            effective_rank_y: rank_y,
            validation,
        });
        // Both sides are thresholded after the first update of L_y; before that, only if the start
        // was. Earlier maps satisfy the penalty because `Model::check_warm_start` requires the same
        // one; so do the sweeps from them.
        let last = self.report.steps.len() - 1;
        let since = last - self.branch.first;
        let satisfies_penalty = match (self.params.penalty, origin) {
            (Penalty::None, _) | (_, Origin::Init) => true,
            (Penalty::Relative | Penalty::Bound, Origin::Spectral) => true,
            (Penalty::Absolute, Origin::Spectral) => since >= 2,
            (_, Origin::Random) => since >= 1,
        };
        if !satisfies_penalty {
            return Ok(());
        }
        // Without validation the last sweep is the result.
        let score = validation.unwrap_or(0.0);
        if validation.is_none_or(|score| self.branch.stopping.improves(score)) {
            self.branch.stopping.save(sweep, score, ());
        }
        if validation.is_none() || self.best.is_none_or(|(_, best)| score > best) {
            self.report.best = last;
            self.best_maps = None;
            self.best = Some((last, score));
        }
        Ok(())
    }

    /// Samples a few hundred to a few thousand rows of a new map, always the same ones, for its
    /// effective rank; returns its change.
    fn sample(&mut self, side: Side, map: &Panels, density: f64) -> f64 {
        let mut random = Random::new(self.params.seed, u64::MAX);
        let all = map.n_rows() <= self.sample_rows;
        let n = if all { map.n_rows() } else { self.sample_rows };
        let mut rows = Dense::zeros(n, map.n_cols());
        for i in 0..n {
            let row = if all { i } else { random.below(map.n_rows() as u64) as usize };
            map.row_into(row, rows.row_mut(i));
        }
        let rank = effective_rank(&rows);
        self.branch.first_ranks[side as usize].get_or_insert(rank);
        let old = self.samples[side as usize].replace(Sample { rows, rank, density });
        let (Some(old), Some(new)) = (old, &self.samples[side as usize]) else { return 1.0 };
        let (mut moved, mut size) = (0.0f64, 0.0f64);
        for (&new, &old) in new.rows.values().iter().zip(old.rows.values()) {
            moved += f64::from(new - old) * f64::from(new - old);
            size += f64::from(old) * f64::from(old);
        }
        if size > 0.0 { (moved / size).sqrt() } else { 1.0 }
    }
}

/// Σ_i |l_i|₁, the rows in order.
fn l1(map: &Panels) -> f64 {
    map.map_rows(super::row::l1).into_iter().sum()
}

fn share(filled: u64, map: &Panels) -> f64 {
    filled as f64 / (map.n_rows() * map.n_cols()).max(1) as f64
}
