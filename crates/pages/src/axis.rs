//! Axes: scales and ticks.
//!
//! Ticks of a linear axis are multiples of 1, 2 or 5 times a power of ten, about as many as fit.
//! Those of a logarithmic axis are powers of ten, with 2 and 5 times them if they fit, or every
//! second, third … power if not all fit.

/// The scale of an axis.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Scale {
    /// Linear.
    #[default]
    Linear,
    /// Logarithmic; values of 0 and below are left out.
    Log,
    /// Categorical: the value `i` is the name number `i`.
    Names(Vec<String>),
}

/// One axis of a panel.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Axis {
    /// The name of the quantity.
    pub label: String,
    /// Its unit.
    pub unit: Option<String>,
    /// Its scale.
    pub scale: Scale,
    /// The ends; by default those of the data, with a margin.
    pub range: Option<(f64, f64)>,
    /// Whether a linear axis starts at 0 if no value is negative.
    pub from_zero: bool,
}

impl Axis {
    /// A linear axis.
    pub fn linear(label: impl Into<String>) -> Self {
        Axis { label: label.into(), ..Axis::default() }
    }

    /// A logarithmic axis.
    pub fn log(label: impl Into<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Log, ..Axis::default() }
    }

    /// A categorical axis.
    pub fn names(label: impl Into<String>, names: Vec<String>) -> Self {
        Axis { label: label.into(), scale: Scale::Names(names), ..Axis::default() }
    }

    /// Sets the unit.
    pub fn unit(mut self, unit: impl Into<String>) -> Self {
        self.unit = Some(unit.into());
        self
    }

    /// Starts the axis at 0.
    pub fn from_zero(mut self) -> Self {
        self.from_zero = true;
        self
    }

    /// The label with its unit.
    pub(crate) fn text(&self) -> String {
        match &self.unit {
            Some(unit) => format!("{} ({unit})", self.label),
            None => self.label.clone(),
        }
    }

    /// Whether the axis can show a value.
    pub(crate) fn shows(&self, value: f64) -> bool {
        value.is_finite()
            && match &self.scale {
                Scale::Linear => true,
                Scale::Log => value > 0.0,
                Scale::Names(names) => value >= 0.0 && value < names.len() as f64,
            }
    }

    /// Ends and ticks for `values`, with about `max_ticks` ticks.
    pub(crate) fn lay_out(&self, values: impl Iterator<Item = f64>, max_ticks: usize) -> Layout {
        let seen = values.filter(|&value| self.shows(value)).fold(None, |ends, value| match ends {
            None => Some((value, value)),
            Some((low, high)) => Some((value.min(low), value.max(high))),
        });
        match &self.scale {
            Scale::Names(names) => Layout {
                ends: (-0.5, names.len().max(1) as f64 - 0.5),
                log: false,
                ticks: (0..).zip(names).map(|(i, n)| (f64::from(i), n.clone())).collect(),
            },
            Scale::Linear => {
                let (low, high) = self.range.or(seen).unwrap_or((0.0, 1.0));
                let (low, high) = if self.range.is_some() && low < high {
                    (low, high)
                } else {
                    let low = if self.from_zero && low >= 0.0 { 0.0 } else { low };
                    let spread = if high > low { high - low } else { high.abs().max(1.0) };
                    let margin = spread * if high > low { 0.06 } else { 0.5 };
                    let below = if self.from_zero && low == 0.0 { 0.0 } else { margin };
                    (low - below, high + margin)
                };
                let ticks = linear_ticks(low, high, max_ticks);
                Layout { ends: (low, high), log: false, ticks }
            }
            Scale::Log => {
                let given = self.range.filter(|&(low, high)| low > 0.0 && low < high);
                let (low, high) = given.or(seen).unwrap_or((1.0, 10.0));
                let (low, high) = match given {
                    Some(_) => (low.log10(), high.log10()),
                    None => {
                        let spread = (high / low).log10();
                        let margin = if spread > 0.0 { 0.06 * spread.max(0.3) } else { 0.3 };
                        (low.log10() - margin, high.log10() + margin)
                    }
                };
                Layout { ends: (low, high), log: true, ticks: log_ticks(low, high, max_ticks) }
            }
        }
    }
}

/// An axis with its ends and ticks.
pub(crate) struct Layout {
    /// The values at the ends; their logarithms on a logarithmic axis.
    ends: (f64, f64),
    log: bool,
    /// Values and their labels.
    pub(crate) ticks: Vec<(f64, String)>,
}

impl Layout {
    /// The position of `value`: 0 at the low end, 1 at the high end.
    pub(crate) fn place(&self, value: f64) -> f64 {
        let value = if self.log { value.log10() } else { value };
        (value - self.ends.0) / (self.ends.1 - self.ends.0)
    }
}

fn linear_ticks(low: f64, high: f64, max_ticks: usize) -> Vec<(f64, String)> {
    let rough = (high - low) / max_ticks.max(1) as f64;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].map(|m| m * power);
    let step = step.into_iter().find(|&s| s >= rough * (1.0 - 1e-9)).unwrap_or(10.0 * power);
    let first = (low / step - 1e-9).ceil() as i64;
    let last = (high / step + 1e-9).floor() as i64;
    // The digits after the point that distinguish neighbouring ticks.
    let digits = (-step.log10().floor()).clamp(0.0, 12.0) as usize;
    (first..=last)
        .map(|k| {
            let value = k as f64 * step;
            (value, tick(value, digits))
        })
        .collect()
}

fn log_ticks(low: f64, high: f64, max_ticks: usize) -> Vec<(f64, String)> {
    let max_ticks = max_ticks.max(2);
    let within = |exponent: f64| exponent >= low - 1e-9 && exponent <= high + 1e-9;
    let (first, last) = (low.floor() as i32, high.ceil() as i32);
    let all = |parts: &[f64], every: i32| -> Vec<f64> {
        (first..=last)
            .filter(|power| power.rem_euclid(every) == 0)
            .flat_map(|power| parts.iter().map(move |part| part * 10f64.powi(power)))
            .filter(|value| within(value.log10()))
            .collect()
    };
    // The finest ticks that fit; below a decade, those of a linear axis.
    let fine = [&[1.0, 2.0, 5.0][..], &[1.0]];
    let mut found = fine.into_iter().map(|parts| all(parts, 1)).find(|t| t.len() <= max_ticks + 1);
    if found.is_none() {
        found = (2..=40).map(|every| all(&[1.0], every)).find(|ticks| ticks.len() <= max_ticks);
    }
    let found = found.unwrap_or_default();
    if found.len() < 2 {
        let mut ticks = linear_ticks(10f64.powf(low), 10f64.powf(high), max_ticks.min(4));
        ticks.retain(|&(value, _)| value > 0.0);
        return ticks;
    }
    found.into_iter().map(|value| (value, number(value))).collect()
}

/// The label of a tick.
fn tick(value: f64, digits: usize) -> String {
    if value != 0.0 && (value.abs() >= 1e4 || value.abs() < 1e-4) {
        return number(value);
    }
    let text = format!("{value:.digits$}");
    if text.trim_start_matches('-').chars().all(|c| c == '0' || c == '.') {
        return "0".into();
    }
    text
}

/// A short form of a number: 1500, 20k, 3M, 0.25, 1e-5.
pub(crate) fn number(value: f64) -> String {
    let trimmed = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    let plain = |value: f64| trimmed(&format!("{value:.4}"));
    match value.abs() {
        size if size == 0.0 || !size.is_finite() => format!("{value}"),
        size if size >= 1e15 => format!("{value:e}"),
        size if size >= 1e12 => format!("{}T", plain(value / 1e12)),
        size if size >= 1e9 => format!("{}G", plain(value / 1e9)),
        size if size >= 1e6 => format!("{}M", plain(value / 1e6)),
        size if size >= 1e4 => format!("{}k", plain(value / 1e3)),
        size if size >= 1e-3 => {
            // Four significant digits.
            let digits = (3 - size.log10().floor() as i32).clamp(0, 6) as usize;
            let text = format!("{value:.digits$}");
            if digits > 0 { trimmed(&text) } else { text }
        }
        _ => {
            let text = format!("{value:.2e}");
            let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
            format!("{}e{power}", trimmed(digits))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn written(axis: Axis, values: &[f64], room: usize) -> Vec<String> {
        let layout = axis.lay_out(values.iter().copied(), room);
        for (value, text) in &layout.ticks {
            let place = layout.place(*value);
            assert!((-1e-6..=1.0 + 1e-6).contains(&place), "{text} at {place}");
        }
        layout.ticks.into_iter().map(|(_, text)| text).collect()
    }

    #[test]
    fn linear_ticks_are_round_numbers() {
        let ticks = |low: f64, high: f64, room| {
            linear_ticks(low, high, room).into_iter().map(|(_, text)| text).collect::<Vec<_>>()
        };
        assert_eq!(
            ticks(0.0, 1.0, 5),
            ["0.0", "0.2", "0.4", "0.6", "0.8", "1.0"]
                .map(|t| { if t == "0.0" { "0" } else { t } })
        );
        assert_eq!(ticks(0.271, 0.302, 4), ["0.28", "0.29", "0.30"]);
        assert_eq!(ticks(-30.0, 100.0, 4), ["0", "50", "100"]);
        assert_eq!(ticks(0.0, 50_000.0, 5), ["0", "10k", "20k", "30k", "40k", "50k"]);
    }

    #[test]
    fn log_ticks_follow_the_room() {
        assert_eq!(written(Axis::log("n"), &[1e3, 1e6], 6), ["1000", "10k", "100k", "1M"]);
        let ticks = written(Axis::log("n"), &[1e-12, 1e12], 5);
        assert!(ticks.len() <= 5 && ticks.len() >= 3, "{ticks:?}");
        assert_eq!(written(Axis::log("dim"), &[100.0, 1000.0], 6), ["100", "200", "500", "1000"]);
        let within = written(Axis::log("dim"), &[210.0, 230.0], 5);
        assert!(within.len() >= 2, "{within:?}");
    }

    #[test]
    fn one_value_or_none_still_has_an_axis() {
        for axis in [Axis::linear("x"), Axis::log("x"), Axis::names("x", vec!["a".into()])] {
            for values in [&[][..], &[0.5], &[0.5, 0.5], &[f64::NAN, f64::INFINITY]] {
                let layout = axis.lay_out(values.iter().copied(), 5);
                assert!(layout.place(0.5).is_finite(), "{axis:?}");
                assert!(!layout.ticks.is_empty(), "{axis:?} {values:?}");
            }
        }
        let zero = Axis::linear("x").from_zero().lay_out([0.0, 4.0].into_iter(), 4);
        assert_eq!(zero.place(0.0), 0.0);
    }

    #[test]
    fn numbers_are_short() {
        let numbers = [0.0, 0.25, 1.0, 1500.0, 20_000.0, 3e6, 1e-5, 2.5e-4, 0.30000000000000004];
        assert_eq!(
            numbers.map(number),
            ["0", "0.25", "1", "1500", "20k", "3M", "1e-5", "2.5e-4", "0.3"]
        );
        assert_eq!(number(-1234.5), "-1234");
    }
}
