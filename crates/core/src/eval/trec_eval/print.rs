//! Prints an evaluation as trec_eval does.

use std::io::{self, Write};

use super::evaluate::{Evaluation, Value};
use super::statistic::Over;

impl Evaluation {
    /// Writes one line per measure, with name, query (or `all`) and value: first for every query if
    /// `per_query`, then over all queries if `summary`. Columns are in trec_eval's order, others last.
    pub fn write(&self, out: &mut impl Write, per_query: bool, summary: bool) -> io::Result<()> {
        let mut order: Vec<usize> = (0..self.columns.len()).collect();
        order.sort_by_key(|&c| self.columns[c].order);
        if per_query {
            for query in &self.queries {
                for &c in &order {
                    let column = &self.columns[c];
                    match (column.statistic.over(), &query.values[c]) {
                        (Over::Mean | Over::Sum, value) => {
                            line(out, &column.name, &query.id, value)?;
                        }
                        (Over::Nothing, Value::Text(text)) => {
                            let quoted = Value::Text(format!("'{text}'"));
                            line(out, &column.name, &query.id, &quoted)?;
                        }
                        _ => {}
                    }
                }
            }
        }
        if summary {
            for &c in &order {
                if let Some(value) = &self.summary[c] {
                    line(out, &self.columns[c].name, "all", value)?;
                }
            }
        }
        Ok(())
    }
}

fn line(out: &mut impl Write, name: &str, query: &str, value: &Value) -> io::Result<()> {
    match value {
        Value::Real(value) => writeln!(out, "{name:<22}\t{query}\t{value:6.4}"),
        Value::Count(value) => writeln!(out, "{name:<22}\t{query}\t{value}"),
        Value::Text(value) => writeln!(out, "{name:<22}\t{query}\t{value}"),
        Value::Absent => Ok(()),
    }
}
