//! A program whose last act is to print the time by the machine's steady clock, in nanoseconds; it ends with 7.
//!
//! `sessiond-bench-stamp MS` sleeps first, so that whoever waits for its end waits already.
#![allow(unsafe_code, reason = "the end must follow the stamp at once, without the runtime's own leaving")]

use std::time::Duration;

#[path = "../raw/clock.rs"]
mod clock;

fn main() {
    let delay = std::env::args().nth(1).and_then(|text| text.parse().ok()).unwrap_or(0);
    std::thread::sleep(Duration::from_millis(delay));
    let stamp = format!("{}\n", clock::nanoseconds());
    // SAFETY: the text is ours and as long as we say; `_exit` is allowed at any time.
    unsafe {
        libc::write(1, stamp.as_ptr().cast(), stamp.len());
        libc::_exit(7)
    }
}
