//! The history of a fit: plots and sentences made from its report.

use liken::matchers::{FitReport, PlsReport, RmlsReport, StepsReport};
use liken_pages::{Axis, Mark, Panel, Point, Series};

use crate::pages::charts::svgs;
use crate::pages::layout::{fixed, grouped};

/// The history of the fit of a part.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct FitHistory {
    /// Groups of plots with their captions.
    pub plots: Vec<(Vec<String>, String)>,
    /// Facts in sentences.
    pub facts: Vec<String>,
    /// Warnings.
    pub warnings: Vec<String>,
}

impl FitHistory {
    /// The history in a report.
    pub fn of(report: &FitReport) -> Self {
        let mut history = FitHistory { warnings: report.warnings(), ..FitHistory::default() };
        match report {
            FitReport::Lexical => {
                history.facts.push("There is nothing to train: the method counts words.".into());
            }
            FitReport::Steps(report) | FitReport::Ranker(report) => history.steps(report),
            FitReport::Pls(report) => history.spectrum("singular values", report),
            FitReport::Mpls(report) => {
                for kind in &report.kinds {
                    history.spectrum(&format!("singular values of {}", kind.kind), &kind.pls);
                    history.facts.push(format!("Weight of {}: {}.", kind.kind, fixed(kind.alpha, 3)));
                }
            }
            FitReport::Rmls(report) => history.rmls(report),
            FitReport::Square(report) => {
                history.sigma("singular values", &report.sigma);
                history.facts.push(format!(
                    "{} dimensions after {} iterations; {} % of the clicks are explained.",
                    report.dim,
                    report.iterations,
                    fixed(100.0 * report.explained, 1)
                ));
            }
            FitReport::Ridge(report) => history.facts.push(format!(
                "{} weights from {} query features to {} documents hold {} % of the squared weights; λ = {}.",
                grouped(report.weights as usize),
                grouped(report.features),
                grouped(report.documents),
                fixed(100.0 * report.mass, 2),
                report.lambda
            )),
        }
        history
    }

    fn plot(&mut self, panels: Vec<Panel>, about: String, caption: impl Into<String>) {
        self.plots.push((svgs(panels, &about), caption.into()));
    }

    /// A fit in steps: one panel per figure.
    fn steps(&mut self, report: &StepsReport) {
        self.facts.extend(report.notes.iter().cloned());
        let figure = |(f, name): (usize, &String)| {
            let values: Vec<f64> =
                report.steps.iter().map(|step| step.get(f).copied().unwrap_or(f64::NAN)).collect();
            curve(name, &report.step, &[("", &values)], report.kept)
        };
        let panels: Vec<Panel> = report.figures.iter().enumerate().map(figure).collect();
        if report.steps.len() > 1 && !panels.is_empty() {
            let about =
                format!("{} of {} {}s", report.figures.join(", "), report.steps.len(), report.step);
            let star = if report.kept.is_some() {
                " The star marks the step that was selected."
            } else {
                ""
            };
            self.plot(panels, about, format!("The fit, {} by {}.{star}", report.step, report.step));
        } else if let Some(step) = report.steps.first() {
            let figures = report.figures.iter().zip(step);
            let text: Vec<String> =
                figures.map(|(name, value)| format!("{name} {value:.4}")).collect();
            self.facts.push(format!("{}.", text.join(", ")));
        }
    }

    fn spectrum(&mut self, title: &str, report: &PlsReport) {
        self.sigma(title, &report.sigma);
        let converged = if report.converged { "" } else { ", not converged" };
        self.facts.push(format!(
            "{} dimensions after {} iterations, residual {:.1e}{converged}.",
            report.dim, report.iterations, report.residual
        ));
        self.way(&report.way);
    }

    /// The way products were computed; mostly the same for the start and the sweeps.
    fn way(&mut self, way: &str) {
        let fact = format!("Products: {way}.");
        if !way.is_empty() && !self.facts.contains(&fact) {
            self.facts.push(fact);
        }
    }

    fn sigma(&mut self, title: &str, sigma: &[f64]) {
        if sigma.len() < 2 {
            return;
        }
        let mut series = Series { mark: Mark::Dot, ..Series::line("", 0) };
        series.points =
            sigma.iter().zip(1..).map(|(&value, k)| Point::new(f64::from(k), value)).collect();
        let panel = Panel {
            x: Axis::linear("dimension"),
            y: if sigma.iter().all(|&s| s > 0.0) { Axis::log("σ") } else { Axis::linear("σ") },
            series: vec![series],
            ..Panel::titled(capital(title))
        };
        let about = format!(
            "{} {title}, from {} down to {}",
            sigma.len(),
            fixed(sigma[0], 4),
            fixed(sigma[sigma.len() - 1], 4)
        );
        self.plot(vec![panel], about, "The strength of each latent dimension: where the curve is flat, further dimensions differ little in strength.");
    }

    fn rmls(&mut self, report: &RmlsReport) {
        if let Some(spectral) = &report.spectral {
            self.spectrum("singular values of the start", spectral);
        }
        self.way(&report.way);
        let of = |value: &dyn Fn(&liken::matchers::RmlsStep) -> f64| -> Vec<f64> {
            report.steps.iter().map(value).collect()
        };
        let validation = of(&|step| step.validation.unwrap_or(f64::NAN));
        let kept = Some(report.best);
        let step = "half-sweep";
        let mut panels = vec![curve("Objective", step, &[("", &of(&|s| s.objective))], kept)];
        if validation.iter().any(|value| value.is_finite()) {
            panels.push(curve("Validation score", step, &[("", &validation)], kept));
        }
        let kept_name = report.steps.get(report.best).map_or("", |step| step.step.as_str());
        let about = format!("Objective and validation score of {} half-sweeps", report.steps.len());
        let caption =
            format!("The training curve. The star marks the selected model: {kept_name}.");
        self.plot(panels, about, caption);
        let (x, y) = (of(&|s| s.density_x), of(&|s| s.density_y));
        let density = curve("Density", step, &[("L_x, queries", &x), ("L_y, documents", &y)], None);
        let (x, y) = (of(&|s| s.effective_rank_x), of(&|s| s.effective_rank_y));
        let title = "Effective rank";
        let mut rank = curve(title, step, &[("L_x, queries", &x), ("L_y, documents", &y)], None);
        if let Some(at) = report.collapsed {
            let mut star = Series::scatter("collapse", 4, Mark::Diamond);
            let value =
                x.get(at).copied().unwrap_or(f64::NAN).min(y.get(at).copied().unwrap_or(f64::NAN));
            star.points = vec![Point::new(at as f64, value).about("the collapse begins here")];
            rank.series.push(star);
        }
        let last = report.steps.last();
        let about = format!(
            "Share of numbers that are not zero, at the end {} and {}, and effective rank, at the end {} and {}",
            fixed(last.map_or(0.0, |s| s.density_x), 3),
            fixed(last.map_or(0.0, |s| s.density_y), 3),
            fixed(last.map_or(0.0, |s| s.effective_rank_x), 1),
            fixed(last.map_or(0.0, |s| s.effective_rank_y), 1),
        );
        let collapsed = match report.collapsed.and_then(|at| report.steps.get(at)) {
            Some(step) => format!(" It collapses at {}.", step.step),
            None => " It does not collapse.".into(),
        };
        self.plot(
            vec![density, rank],
            about,
            format!("Density: the share of each map that is not zero. Effective rank: how many directions the rows really use; near 1 all rows are parallel.{collapsed}"),
        );
    }
}

/// Lines over the steps of a fit, from 0; the step `kept` has a star on the first line.
fn curve(title: &str, step: &str, lines: &[(&str, &[f64])], kept: Option<usize>) -> Panel {
    let mut series: Vec<Series> = Vec::new();
    for (at, &(name, values)) in lines.iter().enumerate() {
        let points = values.iter().enumerate().map(|(i, &value)| Point::new(i as f64, value));
        let points = points.filter(|point| point.y.is_finite()).collect();
        series.push(Series { points, ..Series::line(name, at) });
    }
    let star = kept.and_then(|at| Some((at, *lines.first()?.1.get(at)?)));
    if let Some((at, value)) = star.filter(|(_, value)| value.is_finite()) {
        let mut kept = Series::scatter("", 1, Mark::Star);
        kept.points = vec![Point::new(at as f64, value).about(format!("selected: {value}"))];
        series.push(kept);
    }
    Panel { x: Axis::linear(step), y: Axis::linear(""), series, ..Panel::titled(capital(title)) }
}

fn capital(text: &str) -> String {
    let mut chars = text.chars();
    chars.next().map_or_else(String::new, |first| first.to_uppercase().chain(chars).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn report(json: serde_json::Value) -> FitReport {
        serde_json::from_value(json).unwrap()
    }

    #[test]
    fn rmls_shows_its_curve_its_density_and_its_collapse() {
        let step = |name: &str, objective: f64, rank: f64, validation: Option<f64>| {
            serde_json::json!({
                "step": name, "objective": objective, "change": 0.1, "density_x": 0.5,
                "density_y": 0.25, "effective_rank_x": rank, "effective_rank_y": rank,
                "validation": validation
            })
        };
        let history = FitHistory::of(&report(serde_json::json!({
            "kind": "rmls", "way": "row by row", "best": 1, "collapsed": 2, "spectral": null,
            "steps": [
                step("start", 1.0, 20.0, Some(0.2)), step("sweep 1, L_x", 2.0, 18.0, Some(0.4)),
                step("sweep 1, L_y", 3.0, 1.1, None)
            ]
        })));
        assert_eq!(history.plots.len(), 2);
        let (curve, caption) = (history.plots[0].0.join(""), &history.plots[0].1);
        assert!(curve.contains("Objective") && curve.contains("Validation score"), "{curve}");
        assert!(caption.contains("sweep 1, L_x"), "{caption}");
        let (density, caption) = (history.plots[1].0.join(""), &history.plots[1].1);
        assert!(density.contains("Density") && density.contains("Effective rank"), "{density}");
        assert!(density.contains("collapse"), "{density}");
        assert!(caption.contains("collapses at sweep 1, L_y"), "{caption}");
        assert!(history.warnings.iter().any(|warning| warning.contains("collapses")));
        for svg in history.plots.iter().flat_map(|(svgs, _)| svgs) {
            assert!(!svg.contains("NaN") && svg.contains("<title>"), "{svg}");
        }
    }

    #[test]
    fn steps_have_a_panel_for_every_figure() {
        let history = FitHistory::of(&report(serde_json::json!({
            "kind": "steps", "step": "epoch", "figures": ["loss", "validation"],
            "steps": [[1.0, 0.1], [0.5, 0.3], [0.4, 0.2]], "kept": 1, "notes": ["so it was"],
            "warnings": ["careful"]
        })));
        assert_eq!(history.facts, ["so it was"]);
        assert_eq!(history.warnings, ["careful"]);
        let (svg, caption) = (history.plots[0].0.join(""), &history.plots[0].1);
        assert!(svg.contains(">Loss<") && svg.contains(">Validation<"), "{svg}");
        assert!(caption.contains("star"), "{caption}");
        assert_eq!(svg.matches("<polygon").count(), 2, "a star in each panel");
    }

    #[test]
    fn other_fits_say_what_they_are() {
        let pls = serde_json::json!({
            "kind": "pls", "way": "", "dim": 3, "iterations": 5, "residual": 1e-6,
            "converged": true, "rank_deficient": false, "sigma": [3.0, 2.0, 0.0]
        });
        let history = FitHistory::of(&report(pls));
        assert!(history.plots[0].0[0].contains("Singular values"));
        assert!(history.facts[0].starts_with("3 dimensions after 5 iterations"));
        let lexical = FitHistory::of(&FitReport::Lexical);
        assert!(lexical.plots.is_empty() && !lexical.facts.is_empty());
    }
}
