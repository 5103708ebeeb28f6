//! The plan of RMLS, whose maps may be dense, packed (sparse) or on disk.

use super::bytes::{dense_bytes, scratch_bytes};
use super::params::{Penalty, Rmls, Start};
use crate::counted;
use crate::linalg::{SvdParams, packed_bytes, svd_bytes};
use crate::matchers::ByWords;
use crate::plan::{Fit, PROGRAM, Plan, RANKING, WIDTH, csr, numbers, sum};

const MAPS: &str = "maps L_x and L_y";

impl Rmls {
    /// The share that an absolute threshold leaves is unknown: the plan assumes all entries, or a
    /// tenth if all do not fit; the fit checks memory while it computes the maps.
    pub(super) fn planned(&self, fit: &Fit<'_>) -> Plan {
        let plan = self.with_share_left(self.share_left(), MAPS, fit);
        if self.penalty == Penalty::Absolute && plan.total > fit.limit {
            let name = "maps L_x and L_y, if a tenth of them is left";
            return self.with_share_left(Some(0.1), name, fit);
        }
        plan
    }

    /// A plan for maps with `share` of their entries, or dense ones, in a line called `name`. The peak
    /// may be the computation of singular vectors, a half-sweep, or the assembly of a map's rows
    /// from its panels.
    fn with_share_left(&self, share: Option<f64>, name: &'static str, fit: &Fit<'_>) -> Plan {
        let validated = fit.validation_scores > 0;
        let spectral = self.start() != Start::Random;
        // Without validation data only one of the starts is taken; the plan is for the one that needs
        // more.
        let compared = self.start() == Start::Auto && validated;
        let starts = if compared { 2 + u64::from(fit.warm_start) } else { 1 };
        let by_words = self.by_words.among(&self.features) == ByWords::Auto;
        let shape = fit.factor_shape();
        let dense = dense_bytes(shape, fit.dim as usize);
        let maps = share.map_or(dense, |share| packed(fit, share));
        let mut sweep = vec![fit.factors(), ("a half-sweep", scratch_bytes(shape))];
        if spectral {
            sweep.push((
                "singular vectors that the first half-sweep starts from",
                fit.d_y * fit.dim * 4,
            ));
        }
        if validated {
            sweep.push(fit.for_validation());
            if by_words {
                sweep.push(("documents by their words for validation", csr(fit.nnz_y, fit.n_docs)));
            }
        }
        // The fit decides in the same order what fits into memory: the maps, a copy of the best ones,
        // the embeddings of the documents.
        let base = PROGRAM + fit.counts() + sum(&sweep);
        let placement = fit.limit.saturating_sub(base);
        let mut left = placement;
        let mut scratch = 0;
        let on_disk = self.penalty == Penalty::None && maps > left;
        if on_disk {
            scratch += maps;
        } else {
            left = left.saturating_sub(maps);
            sweep.push((name, maps));
        }
        if validated {
            // Independent of the penalty: the fit does not know in advance how much it leaves.
            if dense.saturating_mul(2) > placement || maps > left {
                scratch += maps;
            } else {
                left -= maps;
                sweep.push(("the best maps so far", maps));
            }
            let (what, embeddings) = fit.embeddings();
            if 2 * embeddings <= left {
                sweep.push((what, embeddings));
            }
        }
        let mut phases = vec![sweep];
        if spectral {
            let svd =
                svd_bytes(fit.d_x as usize, fit.d_y as usize, &SvdParams::of(fit.dim as usize));
            let seeking = ("singular vectors of the start during training", svd);
            let mut phase = vec![fit.factors(), fit.between(), seeking];
            if fit.warm_start {
                phase.push(("the earlier maps", maps));
                phase.push(("the earlier L_y that the solver starts from", fit.d_y * fit.dim * 4));
            }
            phases.push(phase);
        }
        if self.start() == Start::Auto {
            let copy = ("a copy of them to choose the start", fit.factors().1);
            phases.push(vec![fit.factors(), fit.between(), copy]);
        }
        // An entry of a sparse row takes eight bytes, one of a dense row four.
        let rows = |d: u64| (d * fit.dim) as f64 * share.map_or(4.0, |share| 8.0 * share);
        let larger = rows(fit.d_x.max(fit.d_y)) as u64;
        let kept = rows(fit.d_x + fit.d_y) as u64;
        // Maps in scratch files stay there until they are written to the model; so do the documents'
        // embeddings if they do not fit into memory.
        if on_disk {
            scratch = scratch.max(maps + larger);
        } else {
            phases.push(vec![(name, maps), ("the rows of one of them", larger)]);
        }
        let mut held = if share.is_some() { vec![("maps", kept)] } else { fit.fitted(kept) };
        if on_disk {
            held.remove(0);
            let (embeddings, (_, bytes)) = (fit.n_docs * fit.dim * 4, held[0]);
            if PROGRAM + fit.counts() + bytes > fit.limit {
                held[0] = ("features of the documents", bytes - embeddings);
                scratch = scratch.max(kept + embeddings);
            }
        }
        let disk = fit.counts() + kept;
        let sweeps = self.most_sweeps(validated) as u64;
        let seconds = fit.rates.map(|rates| {
            let mut seconds = vec![fit.reading(rates)];
            if self.start() == Start::Auto {
                seconds
                    .push(("spectrum of the clicks".to_owned(), 2.0 * fit.product(WIDTH, rates)));
            }
            if spectral {
                let width = fit.dim + (fit.dim / 5).max(10);
                seconds.push(("singular vectors".to_owned(), fit.svd_seconds(width, rates)));
            }
            // A sweep is C·L_y and CᵀL_x, and packing and unpacking of packed maps.
            let passes = if share.is_some() { 4.0 } else { 0.0 } * fit.maps() as f64 / rates.stream;
            let sweep = 2.0 * fit.product(fit.dim, rates) + passes;
            let all = sweeps.saturating_mul(starts);
            seconds.push((counted(all, "sweep"), all as f64 * sweep));
            if validated {
                let steps = all.saturating_mul(2).saturating_add(u64::from(spectral));
                let times = steps.saturating_mul(1 + u64::from(by_words));
                // Each score reads the embedding of its document.
                let scores = numbers(fit.validation_scores, fit.dim) / rates.stream;
                let once = RANKING * (scores + fit.embeddings_seconds(rates));
                seconds.push((format!("validation, {times} times"), times as f64 * once));
            }
            seconds.push(("embeddings of the documents".to_owned(), fit.embeddings_seconds(rates)));
            seconds.push(fit.writing(disk, rates));
            seconds
        });
        Plan { scratch, ..fit.worst(phases, held, disk, seconds) }
    }

    /// The share of entries that a relative penalty leaves if they are normally distributed, when the
    /// largest of d is about √(2 ln d): P(|z| > ρ·√(2 ln d)). Unknown for other penalties.
    fn share_left(&self) -> Option<f64> {
        let largest = (2.0 * (self.dim.max(2) as f64).ln()).sqrt();
        let share = |rho: f64| two_tails(rho * largest);
        (self.penalty == Penalty::Relative).then(|| (share(self.rho_x) + share(self.rho_y)) / 2.0)
    }
}

/// Bytes of both maps with `share` of their entries.
fn packed(fit: &Fit<'_>, share: f64) -> u64 {
    let panels = fit.dim.div_ceil(WIDTH);
    let side = |d: u64| {
        let filled = (share * (d * fit.dim) as f64) as u64;
        panels * packed_bytes(d as usize, filled / panels) + 4 * d
    };
    side(fit.d_x) + side(fit.d_y)
}

/// P(|z| > x) of a standard normal, by Abramowitz and Stegun's formula 7.1.26.
pub(crate) fn two_tails(x: f64) -> f64 {
    let x = x / std::f64::consts::SQRT_2;
    let t = 1.0 / (1.0 + 0.327_591_1 * x);
    let terms = [1.061_405_429, -1.453_152_027, 1.421_413_741, -0.284_496_736, 0.254_829_592];
    terms.iter().fold(0.0, |sum, a| (sum + a) * t) * (-x * x).exp()
}
