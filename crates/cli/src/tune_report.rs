//! The results of a tuning: the table, the plot of every trial, an HTML page with both, and the
//! parameter file of the best trial.

use std::io::{self, Write};
use std::path::Path;

use liken::tuning::{TrialRow, Tuned};
use liken_pages::{Axis, Chart, Mark, Page, Panel, Part, Point, Series};
use serde_json::Value;

use crate::output::{Grid, NOTHING, TableFormat, counted, four_digits, remark, typed, write_file};

/// Rows of the table on the terminal; the files have all.
const SHOWN: usize = 25;

/// Writes a tuning.
pub struct Report<'a> {
    pub tuned: &'a Tuned,
    pub dataset: &'a Path,
    /// The folder of the journal and the results.
    pub output: &'a Path,
}

impl Report<'_> {
    /// The files beside the journal.
    pub const FILES: [&'static str; 6] =
        ["table.md", "table.tsv", "table.json", "plot.svg", "index.html", "best.toml"];

    /// Writes [`Report::FILES`].
    pub fn write_files(&self) -> anyhow::Result<()> {
        let mut json = serde_json::to_string_pretty(self.tuned)?;
        json.push('\n');
        let plot = self.plot().svg();
        let page = self.page(&plot)?;
        let texts = [self.markdown()?, self.tsv(), json, plot, page, self.best()?];
        for (name, text) in Self::FILES.iter().zip(texts) {
            write_file(&self.output.join(name), |out| Ok(out.write_all(text.as_bytes())?))?;
        }
        Ok(())
    }

    /// Prints the table and the conclusion.
    pub fn print(&self, out: &mut impl Write) -> io::Result<()> {
        writeln!(out, "{}", self.about())?;
        writeln!(out)?;
        self.grid(SHOWN).write(out, TableFormat::Table)?;
        if self.tuned.trials.len() > SHOWN {
            let more = self.tuned.trials.len() - SHOWN;
            writeln!(out, "… and {more} more: {}", self.output.join("table.md").display())?;
        }
        writeln!(out)?;
        writeln!(out, "{}", self.verdict())
    }

    /// The method, the dataset and the number of trials.
    fn about(&self) -> String {
        let tuned = self.tuned;
        let trials = counted(tuned.trials.len(), "trial");
        let queries = counted(tuned.queries, "validation query");
        let mut text = format!(
            "{} on {}: {} of {queries}; {trials}",
            tuned.method,
            self.dataset.display(),
            tuned.measure,
        );
        for (one_in, word) in SUBSETS {
            let n = tuned.trials.iter().filter(|row| row.one_in == one_in).count();
            if n > 0 && one_in > 1 {
                text += &format!(", {n} of them with {word} of the training data");
            }
        }
        text
    }

    /// The best setting and how certain it is.
    fn verdict(&self) -> String {
        let tuned = self.tuned;
        let Some(best) = tuned.best_row() else { return String::new() };
        let score = four_digits(best.score);
        if tuned.defaults_are_best {
            return format!("the defaults are best here: {score}");
        }
        let values: Vec<String> = tuned
            .varied
            .iter()
            .map(|key| format!("{key} = {}", shown(best.setting.get(key))))
            .collect();
        let values = values.join(", ");
        let Some(defaults) = tuned.defaults_row().and_then(|row| row.score) else {
            return format!("best trial: {values}: {score}; the defaults failed");
        };
        let mut text = format!("best trial: {values}: {score}; defaults: {defaults:.4}");
        if let (Some(difference), Some(interval)) = (best.difference, best.interval) {
            text += &format!(
                "; difference {difference:+.4}, 95 % interval {:+.4} to {:+.4}",
                interval.low, interval.high
            );
            if interval.low <= 0.0 && interval.high >= 0.0 {
                text += ", which includes 0: the trial may be no better than the defaults";
            }
        }
        text + "\nthe score of the best of many trials is optimistic (selection bias); measure it on test queries"
    }

    fn heading(&self) -> Vec<String> {
        let mut heading = vec![String::new(), self.tuned.measure.to_string()];
        heading.push("against the defaults".into());
        if self.has_subsets() {
            heading.push("training".into());
        }
        heading.extend(self.tuned.varied.iter().cloned());
        heading.push("seconds".into());
        if self.tuned.trials.iter().any(|row| row.kept.is_some()) {
            heading.push("kept".into());
        }
        if self.tuned.trials.iter().any(|row| row.weights.len() > 1) {
            heading.push("weights".into());
        }
        heading
    }

    fn cells(&self, row: &TrialRow) -> Vec<String> {
        let is_best = self.tuned.best_row().is_some_and(|best| std::ptr::eq(best, row));
        let name = match (is_best, row.defaults) {
            (true, true) => "best, defaults",
            (true, false) => "best",
            (false, true) => "defaults",
            (false, false) => "",
        };
        let mut cells = vec![name.to_owned(), four_digits(row.score)];
        cells.push(match (row.difference, row.interval, &row.error) {
            (_, _, Some(error)) => format!("failed: {}", error.lines().next().unwrap_or_default()),
            (Some(difference), Some(of), _) => {
                format!("{difference:+.4} [{:+.3}, {:+.3}]", of.low, of.high)
            }
            _ => NOTHING.to_owned(),
        });
        if self.has_subsets() {
            cells.push(subset(row.one_in).to_owned());
        }
        cells.extend(self.tuned.varied.iter().map(|key| shown(row.setting.get(key))));
        cells.push(format!("{:.1}", row.seconds));
        if self.tuned.trials.iter().any(|row| row.kept.is_some()) {
            cells.push(row.kept.clone().unwrap_or_else(|| NOTHING.to_owned()));
        }
        if self.tuned.trials.iter().any(|row| row.weights.len() > 1) {
            let weights: Vec<String> = row.weights.iter().map(ToString::to_string).collect();
            cells.push(weights.join(" + "));
        }
        cells
    }

    fn has_subsets(&self) -> bool {
        self.tuned.trials.iter().any(|row| row.one_in > 1)
    }

    fn grid(&self, most: usize) -> Grid {
        let mut grid = Grid::new(self.heading());
        for row in self.tuned.trials.iter().take(most) {
            grid.row(self.cells(row));
        }
        grid
    }

    fn markdown(&self) -> anyhow::Result<String> {
        let mut out = Vec::new();
        remark(&mut out, TableFormat::Markdown, &self.about())?;
        self.grid(usize::MAX).write(&mut out, TableFormat::Markdown)?;
        writeln!(out)?;
        for line in self.verdict().lines() {
            remark(&mut out, TableFormat::Markdown, line)?;
        }
        Ok(String::from_utf8(out)?)
    }

    /// Numbers with all digits, one line per trial.
    fn tsv(&self) -> String {
        let mut text =
            "score difference low high one_in seconds kept defaults error".replace(' ', "\t");
        self.tuned.varied.iter().for_each(|key| text += &format!("\t{key}"));
        text.push('\n');
        let number = |value: Option<f64>| value.map_or(String::new(), |value| value.to_string());
        for row in &self.tuned.trials {
            let mut cells = vec![
                number(row.score),
                number(row.difference),
                number(row.interval.map(|interval| interval.low)),
                number(row.interval.map(|interval| interval.high)),
                row.one_in.to_string(),
                format!("{:.3}", row.seconds),
                row.kept.clone().unwrap_or_default(),
                row.defaults.to_string(),
                row.error.clone().unwrap_or_default().replace(['\t', '\n'], " "),
            ];
            cells.extend(self.tuned.varied.iter().map(|key| shown(row.setting.get(key))));
            text += &(cells.join("\t") + "\n");
        }
        text
    }

    /// The best setting as a parameter file.
    fn best(&self) -> anyhow::Result<String> {
        let tuned = self.tuned;
        let (method, dataset) = (typed(Path::new(&tuned.method)), typed(self.dataset));
        let mut text = format!("# liken train {method} {dataset} --params best.toml -o model\n");
        for line in self.verdict().lines().take(1) {
            text += &format!("# {} on validation, {line}\n", tuned.measure);
        }
        text += "# all other parameters have their defaults\n";
        text += &tuned.best.to_toml()?;
        Ok(text)
    }

    fn page(&self, plot: &str) -> anyhow::Result<String> {
        let tuned = self.tuned;
        let heading = self.heading();
        let text = |name: &str| name.is_empty() || name == "kept" || name == "training";
        let numbers = (0..heading.len()).filter(|&c| !text(&heading[c])).collect();
        let mut page =
            Page::titled(format!("Tuning {} on {}", tuned.method, self.dataset.display()));
        page.parts.push(Part::Text(self.about()));
        page.parts.extend(self.verdict().lines().map(|line| Part::Text(line.to_owned())));
        page.parts.push(Part::Code(self.best()?));
        page.parts.push(Part::Heading("Score by parameter and by time".into()));
        page.parts.push(Part::Plot(plot.to_owned()));
        page.parts.push(Part::Heading("All trials, the best first".into()));
        let rows = tuned.trials.iter().map(|row| self.cells(row)).collect();
        page.parts.push(Part::Table { heading, rows, numbers });
        Ok(page.html())
    }

    /// Score by each parameter that varies, and by time.
    fn plot(&self) -> Chart {
        let tuned = self.tuned;
        let mut panels: Vec<Panel> =
            tuned.varied.iter().map(|key| self.by_parameter(key)).collect();
        let seconds = |row: &TrialRow| Some(row.seconds);
        let mut time = self.panel("time", &seconds);
        let found: Vec<f64> = tuned.trials.iter().map(|row| row.seconds).collect();
        time.x = numeric("time of a trial", &found, false).unit("s");
        panels.push(time);
        let mut chart = Chart::of(panels);
        chart.about = format!("{} of every trial", tuned.measure);
        chart
    }

    fn by_parameter(&self, key: &str) -> Panel {
        let value = |row: &TrialRow| row.setting.get(key).cloned().unwrap_or(Value::Null);
        let values: Vec<Value> = self.tuned.trials.iter().map(value).collect();
        if let Some(numbers) = values.iter().map(Value::as_f64).collect::<Option<Vec<f64>>>() {
            let mut panel = self.panel(key, &|row| value(row).as_f64());
            panel.x = numeric(key, &numbers, self.tuned.log.iter().any(|log| log == key));
            return panel;
        }
        let mut names: Vec<String> = values.iter().map(|value| shown(Some(value))).collect();
        names.sort();
        names.dedup();
        let place = |row: &TrialRow| {
            names.binary_search(&shown(Some(&value(row)))).ok().map(|at| at as f64)
        };
        let mut panel = self.panel(key, &place);
        panel.x = Axis::names(key, names.clone());
        panel
    }

    /// A scatter plot of every trial that has a score.
    fn panel(&self, title: &str, x: &dyn Fn(&TrialRow) -> Option<f64>) -> Panel {
        let tuned = self.tuned;
        let best = tuned.best_row();
        let is_best = |row: &TrialRow| best.is_some_and(|best| std::ptr::eq(best, row));
        let points = |wanted: &dyn Fn(&TrialRow) -> bool| -> Vec<Point> {
            let rows = tuned.trials.iter().filter(|row| wanted(row));
            rows.filter_map(|row| Some(Point::new(x(row)?, row.score?).about(self.tooltip(row))))
                .collect()
        };
        let mut series = Vec::new();
        for (one_in, word) in SUBSETS {
            let all = one_in == 1;
            let name = match all {
                true => "all training data".to_owned(),
                false => format!("{word} of the training data"),
            };
            let (colour, mark) = if all { (0, Mark::Dot) } else { (5, Mark::Ring) };
            let mut trials = Series::scatter(name, colour, mark);
            trials.opacity = match one_in {
                1 => 0.85,
                3 => 0.8,
                _ => 0.45,
            };
            trials.points =
                points(&|row: &TrialRow| row.one_in == one_in && !row.defaults && !is_best(row));
            series.extend((!trials.points.is_empty()).then_some(trials));
        }
        let marked = [
            ("defaults", 1, Mark::Diamond, points(&|row: &TrialRow| row.defaults)),
            ("best trial", 4, Mark::Star, points(&|row: &TrialRow| is_best(row))),
        ];
        for (name, colour, mark, points) in marked {
            series.push(Series { points, ..Series::scatter(name, colour, mark) });
        }
        let y = Axis::linear(format!("validation {}", tuned.measure));
        Panel { y, series, ..Panel::titled(title) }
    }

    fn tooltip(&self, row: &TrialRow) -> String {
        let mut text = four_digits(row.score);
        for key in &self.tuned.varied {
            text += &format!("\n{key} = {}", shown(row.setting.get(key)));
        }
        if row.one_in > 1 {
            text += &format!("\nfitted to {} of the training data", subset(row.one_in));
        }
        text + &format!("\n{:.1} s", row.seconds)
    }
}

/// The subsets of the training data that trials are fitted to: one in N queries.
const SUBSETS: [(u32, &str); 3] = [(9, "a ninth"), (3, "a third"), (1, "all")];

fn subset(one_in: u32) -> &'static str {
    SUBSETS.iter().find(|&&(known, _)| known == one_in).map_or(NOTHING, |&(_, word)| word)
}

/// A value as after `--set KEY=`.
fn shown(value: Option<&Value>) -> String {
    match value {
        None | Some(Value::Null) => "none".into(),
        Some(Value::String(text)) => text.clone(),
        Some(other) => other.to_string(),
    }
}

/// An axis of numbers, logarithmic if they were drawn so or span a factor of 30.
fn numeric(label: &str, values: &[f64], log: bool) -> Axis {
    let least = values.iter().copied().fold(f64::INFINITY, f64::min);
    let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
    if least > 0.0 && (log || most / least >= 30.0) {
        Axis::log(label)
    } else {
        Axis::linear(label)
    }
}
