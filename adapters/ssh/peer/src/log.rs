//! What a server says on stderr, line by line: for diagnostics, and to await that it is ready.

use std::io::{BufRead, BufReader, Read};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

/// How long a line is awaited. Reached only when something is wrong, on however slow a machine.
const PATIENCE: Duration = Duration::from_secs(30);

#[derive(Debug, Default)]
struct Lines {
    lines: Vec<String>,
    /// Nothing more can come.
    ended: bool,
}

#[derive(Debug, Default)]
struct Shared {
    lines: Mutex<Lines>,
    changed: Condvar,
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The log of one house, filled by a thread of its own until nobody can write it any more.
#[derive(Debug)]
pub(crate) struct Log {
    shared: Arc<Shared>,
    reader: Option<JoinHandle<()>>,
}

impl Log {
    pub(crate) fn of(source: impl Read + Send + 'static) -> Self {
        let shared = Arc::new(Shared::default());
        let sink = Arc::clone(&shared);
        let reader = thread::spawn(move || {
            // `sshd -e` ends its lines as a terminal in raw mode needs it.
            for line in BufReader::new(source).split(b'\n').map_while(|line| line.ok()) {
                sink.lock().lines.push(String::from_utf8_lossy(&line).trim_end_matches('\r').to_owned());
                sink.changed.notify_all();
            }
            sink.lock().ended = true;
            sink.changed.notify_all();
        });
        Self { shared, reader: Some(reader) }
    }

    /// Everything so far.
    pub(crate) fn text(&self) -> String {
        self.shared.lock().lines.join("\n")
    }

    /// How many lines there are so far: where to begin looking for what comes next.
    pub(crate) fn len(&self) -> usize {
        self.shared.lock().lines.len()
    }

    /// The first line from number `from` on of which `wanted` makes something.
    ///
    /// # Errors
    /// The log has ended without one, or none came in half a minute: with the whole log.
    pub(crate) fn find<T>(&self, from: usize, what: &str, mut wanted: impl FnMut(&str) -> Option<T>) -> Result<T> {
        let until = Instant::now() + PATIENCE;
        let mut next = from;
        let mut log = self.shared.lock();
        loop {
            if let Some(found) = log.lines.iter().skip(next).find_map(|line| wanted(line)) {
                return Ok(found);
            }
            next = next.max(log.lines.len());
            let left = until.saturating_duration_since(Instant::now());
            if log.ended || left.is_zero() {
                bail!("the server never said {what}; its log:\n{}", log.lines.join("\n"));
            }
            log = self.shared.changed.wait_timeout(log, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Waits until nobody can write the log any more.
    pub(crate) fn join(&mut self) {
        if let Some(reader) = self.reader.take() {
            // The thread does nothing that panics; if it did, the log is what it is.
            drop(reader.join());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_found_once_it_is_there() {
        let (reader, mut writer) = std::io::pipe().unwrap();
        let log = Log::of(reader);
        let ask = thread::spawn(move || log.find(0, "b", |line| (line == "b").then(|| line.to_owned())));
        std::io::Write::write_all(&mut writer, b"a\r\nb\r\n").unwrap();
        assert_eq!(ask.join().unwrap().unwrap(), "b");
    }

    #[test]
    fn a_log_that_ends_without_the_line_is_an_error_that_shows_it() {
        let log = Log::of(&b"a\nc\n"[..]);
        let error = log.find(0, "b", |line| (line == "b").then_some(())).unwrap_err();
        assert_eq!(error.to_string(), "the server never said b; its log:\na\nc");
    }
}
