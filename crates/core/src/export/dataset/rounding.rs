//! Numbers for formats that hold whole numbers alone.

/// Rounds, and counts the numbers that changed.
#[derive(Default)]
pub(super) struct Rounding {
    pub(super) changed: usize,
}

impl Rounding {
    /// A training weight: rounded, but never to 0, which would mean that there is no pair.
    pub(super) fn weight(&mut self, value: f32) -> i64 {
        let whole = self.grade(value);
        if whole == 0 { value.signum() as i64 } else { whole }
    }

    /// A grade, rounded.
    pub(super) fn grade(&mut self, value: f32) -> i64 {
        let whole = value.round();
        self.changed += usize::from(whole != value);
        whole as i64
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        let warning = format!(
            "of the weights and grades {} had to be rounded to whole numbers; the formats tsv and parquet keep them unchanged",
            self.changed
        );
        Vec::from_iter((self.changed > 0).then_some(warning))
    }
}
