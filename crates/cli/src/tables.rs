//! Tables of a comparison: means of every system, and tests against the baseline.

use std::io::{self, Write};

use liken::eval::Cell;

use crate::output::{Grid, NOTHING, TableFormat, four_digits, remark};

/// A comparison of systems.
pub struct Table<'a> {
    /// The heading of the names: model, run or ranker.
    pub kind: &'static str,
    /// The headings of the columns.
    pub measures: Vec<String>,
    /// The name of the system that the others are tested against.
    pub baseline: &'a str,
    /// Whether means are shown with standard errors instead of intervals.
    pub standard_errors: bool,
    /// Names and cells.
    pub rows: Vec<(&'a str, &'a [Cell])>,
}

impl Table<'_> {
    /// The meaning of the numbers and stars in the table of means.
    pub fn legend(&self) -> String {
        let mut legend = match self.standard_errors {
            true => "mean ± standard error over the queries".to_owned(),
            false => "mean with 95 % bootstrap interval".to_owned(),
        };
        if self.rows.len() > 1 {
            legend += &format!(
                "; paired t-test against {}, Holm-corrected: * p < 0.05, ** p < 0.01",
                self.baseline
            );
        }
        legend
    }

    /// Writes the means.
    pub fn write_means(&self, out: &mut impl Write, format: TableFormat) -> io::Result<()> {
        let heading = std::iter::once(self.kind.to_owned()).chain(self.measures.iter().cloned());
        let mut grid = Grid::new(heading);
        for (name, cells) in &self.rows {
            let cells = cells.iter().map(|cell| {
                let stars = match cell.against {
                    Some(against) if against.t_holm < 0.01 => "**",
                    Some(against) if against.t_holm < 0.05 => "*",
                    _ => "",
                };
                if let Some(mean) = cell.mean.filter(|_| self.standard_errors) {
                    let error = four_digits(cell.standard_error);
                    return format!("{mean:.4}{stars:<2} ± {error}");
                }
                match (cell.mean, cell.interval) {
                    (Some(mean), Some(of)) => {
                        format!("{mean:.4}{stars:<2} [{:.3}, {:.3}]", of.low, of.high)
                    }
                    _ => NOTHING.to_owned(),
                }
            });
            grid.row(std::iter::once((*name).to_owned()).chain(cells));
        }
        grid.write(out, format)
    }

    /// Writes differences to the baseline with their tests; nothing if there is one row only.
    pub fn write_tests(&self, out: &mut impl Write, format: TableFormat) -> io::Result<()> {
        if self.rows.len() < 2 {
            return Ok(());
        }
        // With many measures, only the first; JSON has all.
        let all = (self.rows.len() - 1) * self.measures.len() <= 16;
        let shown = if all { self.measures.len() } else { 1 };
        let which = if all { "" } else { " (the first measure; --format json has all)" };
        writeln!(out)?;
        remark(out, format, &format!("difference to {} and p-values{which}", self.baseline))?;
        let mut grid = Grid::new([
            self.kind,
            "measure",
            "difference",
            "Cohen's d",
            "t",
            "t (Holm)",
            "t (B-H)",
            "sign",
            "randomisation",
            "bootstrap",
            "wins/ties/losses",
        ])
        .left(&[1]);
        for (name, cells) in &self.rows {
            for (measure, cell) in self.measures.iter().zip(*cells).take(shown) {
                if let Some(against) = cell.against {
                    let (wins, ties, losses) = against.wins_ties_losses;
                    grid.row([
                        (*name).to_owned(),
                        measure.clone(),
                        format!("{:+.4}", against.difference),
                        against.effect_size.map_or(NOTHING.into(), |d| format!("{d:+.2}")),
                        p(against.t),
                        p(against.t_holm),
                        p(against.t_bh),
                        p(against.sign),
                        p(against.randomisation),
                        p(against.bootstrap),
                        format!("{wins}/{ties}/{losses}"),
                    ]);
                }
            }
        }
        grid.write(out, format)
    }
}

fn p(value: f64) -> String {
    if value < 0.0001 { "<0.0001".into() } else { format!("{value:.4}") }
}
