//! Feeds the fuzzer's bytes to the target `tools`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sessiond_fuzz::tools::run(data));
