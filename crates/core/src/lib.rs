//! liken learns which document answers which query from click logs and text.

pub mod data;
mod error;
pub mod eval;
pub mod experiment;
pub mod features;
pub mod file;
pub mod linalg;
pub mod matchers;
pub mod random;
mod run;
pub mod sparse;
pub mod synth;
pub mod text;

pub use error::{Error, Result};
pub use run::{Progress, Run};
