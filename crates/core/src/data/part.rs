//! The parts of a dataset.

/// A part of a dataset.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Part {
    Train,
    Validation,
    Test,
}

impl Part {
    /// Parses the name of a part.
    pub(super) fn parse(text: &str) -> Option<Part> {
        match text.trim().to_ascii_lowercase().as_str() {
            "train" | "training" => Some(Part::Train),
            "validation" | "valid" | "val" | "dev" => Some(Part::Validation),
            "test" => Some(Part::Test),
            _ => None,
        }
    }
}

/// Every part.
pub(super) const PARTS: [Part; 3] = [Part::Train, Part::Validation, Part::Test];
