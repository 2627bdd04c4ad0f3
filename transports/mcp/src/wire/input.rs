//! Lines out of a reader. Reading can be broken off at any point: what has been read so far stays.

use std::io::BufRead as _;

use bytes::BytesMut;
use tokio::io::{AsyncRead, AsyncReadExt as _};

/// The longest line that is taken, in bytes; also how much is read ahead while no line can be taken on.
const MAX_LINE: usize = 16 << 20;

/// The least room for one read, in bytes.
const CHUNK: usize = 8 << 10;

/// What the buffer may keep when nothing is in it, in bytes.
const MAX_IDLE: usize = 64 << 10;

/// What comes next.
pub(super) enum Next {
    /// A line without its end; the last one may have had none.
    Line(BytesMut),
    /// The beginning of a line that is longer than is taken. Its rest is passed over.
    TooLong(BytesMut),
    /// No line is whole yet.
    Nothing,
    /// The input has ended, and all of it has been taken.
    End,
}

pub(super) struct Input<R> {
    reader: R,
    buffer: BytesMut,
    /// So many bytes of the buffer are known to hold no line end.
    searched: usize,
    /// A line was too long, and its rest is still to come.
    skipping: bool,
    ended: bool,
}

impl<R: AsyncRead + Unpin> Input<R> {
    pub(super) fn new(reader: R) -> Self {
        Self { reader, buffer: BytesMut::new(), searched: 0, skipping: false, ended: false }
    }

    /// Reads some more. A read that fails is the end.
    pub(super) async fn fill(&mut self) {
        if self.buffer.is_empty() && self.buffer.capacity() > MAX_IDLE {
            self.buffer = BytesMut::new();
        }
        self.buffer.reserve(CHUNK);
        if !matches!(self.reader.read_buf(&mut self.buffer).await, Ok(read) if read > 0) {
            self.ended = true;
        }
    }

    /// Whether more may be read ahead.
    pub(super) fn takes_more(&self) -> bool {
        !self.ended && self.buffer.len() <= MAX_LINE
    }

    /// Whether the reader has come to its end.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Takes the next line out of what has been read.
    pub(super) fn next(&mut self) -> Next {
        loop {
            let rest = self.buffer.get(self.searched..).unwrap_or_default();
            let Some(end) = line_end(rest).map(|at| self.searched + at) else {
                self.searched = self.buffer.len();
                return self.without_line_end();
            };
            let mut line = self.buffer.split_to(end + 1);
            self.searched = 0;
            if !std::mem::take(&mut self.skipping) {
                line.truncate(end);
                return if end > MAX_LINE { Next::TooLong(line) } else { Next::Line(line) };
            }
        }
    }

    fn without_line_end(&mut self) -> Next {
        if self.skipping {
            self.clear();
        }
        if self.buffer.len() > MAX_LINE {
            self.skipping = true;
            return Next::TooLong(self.clear());
        }
        match (self.ended, self.buffer.is_empty()) {
            (false, _) => Next::Nothing,
            (true, true) => Next::End,
            (true, false) => Next::Line(self.clear()),
        }
    }

    fn clear(&mut self) -> BytesMut {
        self.searched = 0;
        std::mem::take(&mut self.buffer)
    }
}

/// Where the first line end is. The C library's search, by way of std: the one of memchr begins with asking the
/// processor for its features, which a virtual machine answers slowly, and a client waits for the first answer.
fn line_end(bytes: &[u8]) -> Option<usize> {
    // Reading from memory does not fail.
    let passed = { bytes }.skip_until(b'\n').unwrap_or_default();
    passed.checked_sub(1).filter(|last| bytes.get(*last) == Some(&b'\n'))
}
