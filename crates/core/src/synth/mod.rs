//! Synthetic logs, for those who have none of their own yet and for measuring.

pub mod concepts;
pub mod demo;
