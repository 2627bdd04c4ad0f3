//! The fuzz targets: each a function over any bytes that panics when something is wrong.
//!
//! - `log`: operations on an output log, and its lines, against a model that keeps everything
//! - `pattern`: the search in growing output against the `regex` crate on the whole of it
//! - `tools`: calls of every tool with any arguments
//! - `input`: the bytes, taken piece by piece
//!
//! `cargo +nightly fuzz run NAME` searches; the core's tests replay what stands in `corpus/`.

pub mod input;
pub mod log;
pub mod pattern;
pub mod tools;
