//! The names of the splits of a dataset.

/// A split of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum SplitName {
    /// Trains models.
    Train,
    /// Tunes hyperparameters and stops fits early.
    Validation,
    /// Evaluates finished models.
    Test,
}

impl SplitName {
    pub(super) const ALL: [Self; 3] = [Self::Train, Self::Validation, Self::Test];

    /// Parses a cell of a column `split`.
    pub(super) fn parse(text: &str) -> Option<SplitName> {
        match text.trim().to_ascii_lowercase().as_str() {
            "train" | "training" => Some(SplitName::Train),
            "validation" | "valid" | "val" | "dev" => Some(SplitName::Validation),
            "test" => Some(SplitName::Test),
            _ => None,
        }
    }
}
