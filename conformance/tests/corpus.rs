//! Replays the fuzzer's corpus, and a stretch of bytes that only a seed knows, on any compiler.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    missing_docs,
    unreachable_pub,
    reason = "a target stops at the first surprise; its files are those that the fuzzer builds as a library"
)]

#[path = "../fuzz/src/lib.rs"]
mod targets;

use std::fs;
use std::path::Path;

use sessiond_conformance::faults::Dice;

/// How many inputs of each target come from the seed.
const DRAWN: u64 = 300;

/// Feeds a target its corpus and what the seed draws, and names the input that breaks it.
fn feed(name: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/corpus").join(name);
    let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.sort();
    assert!(!files.is_empty(), "{} holds no input", folder.display());
    let mut inputs: Vec<_> = files.iter().map(|file| (file.display().to_string(), fs::read(file).unwrap())).collect();
    let seeds: Vec<Vec<u8>> = inputs.iter().map(|(_, bytes)| bytes.clone()).collect();
    inputs.extend((0..DRAWN).map(|seed| (format!("seed {seed}"), drawn(&seeds, seed))));
    for (input, bytes) in inputs {
        let run = || target(&bytes);
        std::panic::catch_unwind(run).unwrap_or_else(|_| panic!("{name} breaks on {input}, see above: {bytes:?}"));
    }
}

/// Bytes without any order, or a known input with some bytes changed.
fn drawn(known: &[Vec<u8>], seed: u64) -> Vec<u8> {
    let mut dice = Dice::new(seed);
    let mut byte = |below: u64| u8::try_from(dice.below(below)).unwrap();
    if seed.is_multiple_of(2) {
        let length = u32::from(byte(256)) * u32::from(byte(4));
        return (0..length).map(|_| byte(256)).collect();
    }
    let mut bytes = known[usize::from(byte(256)) % known.len()].clone();
    for _ in 0..byte(9) {
        if let Some(place) = (usize::from(byte(256)) << 8 | usize::from(byte(256))).checked_rem(bytes.len()) {
            bytes[place] = byte(256);
        }
    }
    bytes
}

#[test]
fn any_operations_on_a_log_agree_with_the_model() {
    feed("log", targets::log::run);
}

#[test]
fn any_pattern_finds_what_another_engine_finds_in_the_whole() {
    feed("pattern", targets::pattern::run);
}

#[test]
fn any_call_of_any_tool_has_an_answer_of_the_closed_set() {
    feed("tools", targets::tools::run);
}
