//! Placeholder while the workspace is laid.
fn main() {}
