//! Files of a hundred megabytes for programs to print.

use std::fs;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use anyhow::{Context, Result};

const FILE_BYTES: usize = 100_000_000;

/// Text as programs print it.
const LINE: &[u8] = b"2026-11-30T12:00:00.000000Z  INFO build: compiled module 0123456789 in 42 ms\n";
/// Bytes between which no line ends.
const UNBROKEN: &[u8] = b"0123456789abcdef";
/// What a program that paints prints: colours, places, erasing, a title, a mode.
const ESCAPES: &[u8] =
    b"\x1b[1;31mred\x1b[0m\x1b[12;40H\x1b[2K\x1b]0;title\x07\x1b[?25l\x1b[38;2;1;2;3m#\x1b[m\x1b[?25h";

/// A file that goes with its owner.
pub(crate) struct Text {
    path: PathBuf,
    /// How many bytes a terminal makes of it: a carriage return more for each line.
    pub(crate) printed: u64,
    /// How many there are in the file.
    pub(crate) bytes: u64,
    /// How many lines those are.
    pub(crate) lines: u64,
}

impl Text {
    /// Lines of a log.
    ///
    /// # Errors
    /// The temporary directory has no room.
    pub(crate) fn lines() -> Result<Self> {
        Self::of(LINE)
    }

    /// One line without an end.
    ///
    /// # Errors
    /// The temporary directory has no room.
    pub(crate) fn one_line() -> Result<Self> {
        Self::of(UNBROKEN)
    }

    /// Hardly anything but escape sequences.
    ///
    /// # Errors
    /// The temporary directory has no room.
    pub(crate) fn escapes() -> Result<Self> {
        Self::of(ESCAPES)
    }

    fn of(piece: &[u8]) -> Result<Self> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("sessiond-bench-{}-{number}.txt", std::process::id()));
        let times = FILE_BYTES / piece.len();
        let newlines = piece.iter().filter(|byte| **byte == b'\n').count();
        let (bytes, printed) = (times * piece.len(), times * (piece.len() + newlines));
        let text = Self { path, printed: printed as u64, bytes: bytes as u64, lines: (times * newlines) as u64 };
        text.write(piece, times).with_context(|| format!("writing {}", text.path.display()))?;
        Ok(text)
    }

    fn write(&self, piece: &[u8], times: usize) -> std::io::Result<()> {
        let mut file = BufWriter::new(fs::File::create(&self.path)?);
        for _ in 0..times {
            file.write_all(piece)?;
        }
        file.flush()
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    /// The shell's word for it.
    pub(crate) fn word(&self) -> String {
        crate::inside::word(&self.path)
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
    }
}
