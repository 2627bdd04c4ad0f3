//! Feeds the fuzzer's bytes to the target `log`.

#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| sessiond_fuzz::log::run(data));
