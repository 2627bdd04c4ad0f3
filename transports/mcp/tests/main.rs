//! The MCP tools, over a pipe in memory and a scripted backend: what a client sees, and nothing else.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test may stop at the first surprise"
)]

use std::path::Path;

mod access;
mod agents;
mod arguments;
mod commands;
mod connection;
mod eras;
mod faults;
mod hosts;
mod lists;
mod observed;
mod platforms;
mod published;
mod remote_commands;
mod remote_lives;
mod remote_runs;
mod roles;
mod script;
mod sessions;
mod support;
mod texts;
mod unread;

#[test]
fn every_file_is_part_of_this_binary() {
    let names = include_str!("main.rs");
    for entry in Path::new(env!("CARGO_MANIFEST_DIR")).join("tests").read_dir().unwrap() {
        let path = entry.unwrap().path();
        let stem = path.file_stem().unwrap().to_str().unwrap();
        if path.extension().is_some_and(|extension| extension == "rs") && stem != "main" {
            assert!(names.contains(&format!("mod {stem};")), "{stem}");
        }
    }
}
