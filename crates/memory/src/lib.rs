//! Memory: hints to the processor (prefetch) and to Linux (huge pages). Only speed depends on them, never a result.
//!
//! All of the product's unsafe code is here.

mod huge_pages;
pub mod prefetch;

pub use huge_pages::HugePages;
