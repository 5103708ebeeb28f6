//! Bags of words and factorisations as matchers.

mod bags;
mod factorised;
