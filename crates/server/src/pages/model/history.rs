//! The history of a fit: plots and sentences made from its report.

use std::ops::Range;

use liken::counted;
use liken::matchers::{FitReport, Origin, PlsReport, RmlsReport, RmlsStep, StepsReport};
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
                    "{} after {}; {} % of the clicks are explained.",
                    counted(report.dim, "dimension"),
                    counted(report.iterations, "iteration"),
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
            curve(name, &report.step, &[(String::new(), values)], report.kept.map(|at| (0, at)))
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
            "{} after {}, residual {:.1e}{converged}.",
            counted(report.dim, "dimension"),
            counted(report.iterations, "iteration"),
            report.residual
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
        self.facts.extend(report.remarks().into_iter().map(|remark| capital(&remark) + "."));
        let branches = report.branches();
        // A line for every start, each from its own first step.
        let lines = |map: &str, value: &dyn Fn(&RmlsStep) -> f64| -> Vec<(String, Vec<f64>)> {
            let line = |(origin, steps): &(Option<Origin>, Range<usize>)| {
                let origin = origin.filter(|_| branches.len() > 1).map(Origin::name);
                let name: Vec<&str> =
                    origin.into_iter().chain([map]).filter(|part| !part.is_empty()).collect();
                (name.join(", "), report.steps[steps.clone()].iter().map(value).collect())
            };
            branches.iter().map(line).collect()
        };
        let place = |at: usize| {
            let line = branches.iter().position(|(_, steps)| steps.contains(&at))?;
            Some((line, at - branches[line].1.start))
        };
        let kept = place(report.best);
        let step = "half-sweep";
        let mut panels = vec![curve("Objective", step, &lines("", &|s| s.objective), kept)];
        if report.steps.iter().any(|step| step.validation.is_some()) {
            let validation = lines("", &|s| s.validation.unwrap_or(f64::NAN));
            panels.push(curve("Validation score", step, &validation, kept));
        }
        let name = |at: usize| report.steps.get(at).map_or_else(String::new, RmlsStep::name);
        let about = format!("Objective and validation score of {} half-sweeps", report.steps.len());
        let caption = format!(
            "The training curve. The star marks the selected model: {}.",
            name(report.best)
        );
        self.plot(panels, about, caption);
        let of_both = |x: &dyn Fn(&RmlsStep) -> f64, y: &dyn Fn(&RmlsStep) -> f64| {
            [lines("L_x, queries", x), lines("L_y, documents", y)].concat()
        };
        let density = of_both(&|s| s.density_x, &|s| s.density_y);
        let density = curve("Density", step, &density, None);
        let ranks = of_both(&|s| s.effective_rank_x, &|s| s.effective_rank_y);
        let mut rank = curve("Effective rank", step, &ranks, None);
        if let Some((at, (_, x))) = report.collapsed.and_then(|at| Some((at, place(at)?))) {
            let mut star = Series::scatter("collapse", ranks.len(), Mark::Diamond);
            let collapsed = &report.steps[at];
            let value = collapsed.effective_rank_x.min(collapsed.effective_rank_y);
            star.points = vec![Point::new(x as f64, value).about("the collapse begins here")];
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
        let collapsed = match report.collapsed {
            Some(at) => format!(" The rows collapse at {}.", name(at)),
            None => " The rows do not collapse.".into(),
        };
        self.plot(
            vec![density, rank],
            about,
            format!("Density: the share of each map that is not zero. Effective rank: how many directions the rows really use; near 1 all rows are parallel.{collapsed}"),
        );
    }
}

/// Named lines over the steps of a fit, from 0; the step `kept` of a line has a star.
fn curve(
    title: &str,
    step: &str,
    lines: &[(String, Vec<f64>)],
    kept: Option<(usize, usize)>,
) -> Panel {
    let mut series: Vec<Series> = Vec::new();
    for (at, (name, values)) in lines.iter().enumerate() {
        let points = values.iter().enumerate().map(|(i, &value)| Point::new(i as f64, value));
        let points = points.filter(|point| point.y.is_finite()).collect();
        series.push(Series { points, ..Series::line(name, at) });
    }
    let star = kept.and_then(|(line, at)| Some((at, *lines.get(line)?.1.get(at)?)));
    if let Some((at, value)) = star.filter(|(_, value)| value.is_finite()) {
        let mut kept = Series::scatter("", lines.len(), Mark::Star);
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
        assert!(caption.contains("The rows collapse at sweep 1, L_y"), "{caption}");
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
