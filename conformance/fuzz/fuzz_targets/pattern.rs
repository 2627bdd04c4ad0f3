//! Feeds the fuzzer's bytes to the target `pattern`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sessiond_fuzz::pattern::run(data));
