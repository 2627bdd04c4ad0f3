//! The person's own terminal: raw while they are in a session, as it was afterwards.

use std::io::{self, IsTerminal, Write};

use rustix::termios::{OptionalActions, Termios, tcgetattr, tcgetwinsize, tcsetattr};
use sessiond_core::WindowSize;

/// Ends what a program may have told the terminal and what its next user does not expect: the alternate screen, a
/// hidden cursor, reports of the mouse and of pastes, keys in application form, colours (xterm's control sequences).
const AS_BEFORE: &str =
    "\x1b[?1049l\x1b[?25h\x1b[?1000l\x1b[?1002l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[?1l\x1b>\x1b[0m";

/// A terminal in raw mode. Dropping it puts back what was.
pub(crate) struct Raw {
    before: Termios,
}

impl Raw {
    /// Makes stdin raw.
    ///
    /// # Errors
    /// stdin and stdout are no terminal.
    pub(crate) fn enter() -> io::Result<Self> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Err(io::Error::other("attach needs a terminal: `sessiond-grpc tail` shows the output without one"));
        }
        let before = tcgetattr(io::stdin())?;
        let mut raw = before.clone();
        raw.make_raw();
        tcsetattr(io::stdin(), OptionalActions::Now, &raw)?;
        Ok(Self { before })
    }
}

impl Drop for Raw {
    fn drop(&mut self) {
        let mut stdout = io::stdout().lock();
        // A terminal that is gone needs nothing put back.
        let _ = stdout.write_all(AS_BEFORE.as_bytes()).and_then(|()| stdout.flush());
        let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &self.before);
    }
}

/// The terminal's size, where it says one that a session can have.
pub(crate) fn size() -> Option<WindowSize> {
    let size = tcgetwinsize(io::stdout()).ok()?;
    WindowSize::new(size.ws_col.min(WindowSize::MAX), size.ws_row.min(WindowSize::MAX)).ok()
}
