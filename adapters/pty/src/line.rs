//! The discipline of a terminal of this machine.

use std::os::fd::AsFd;

use rustix::termios::{InputModes, LocalModes, SpecialCodeIndex, Termios, tcgetattr};
use sessiond_core::{Discipline, Result, TerminalKey, TerminalMode};

use crate::error;

/// Asks the terminal.
///
/// # Errors
/// `failed_precondition` when the terminal is gone.
pub(crate) fn discipline(terminal: impl AsFd) -> Result<Discipline> {
    let modes = tcgetattr(terminal).map_err(|_| error::ended())?;
    Ok(Discipline::new(|mode| has(&modes, mode), |key| code(&modes, key)))
}

fn has(modes: &Termios, mode: TerminalMode) -> bool {
    let local = |mode| modes.local_modes.contains(mode);
    let input = |mode| modes.input_modes.contains(mode);
    match mode {
        TerminalMode::Icanon => local(LocalModes::ICANON),
        TerminalMode::Isig => local(LocalModes::ISIG),
        TerminalMode::Noflsh => local(LocalModes::NOFLSH),
        TerminalMode::Iexten => local(LocalModes::IEXTEN),
        TerminalMode::Icrnl => input(InputModes::ICRNL),
        TerminalMode::Igncr => input(InputModes::IGNCR),
        TerminalMode::Inlcr => input(InputModes::INLCR),
    }
}

/// A key; one that the terminal does not have is 0 there.
fn code(modes: &Termios, key: TerminalKey) -> Option<u8> {
    let index = match key {
        TerminalKey::Eof => SpecialCodeIndex::VEOF,
        TerminalKey::Eol => SpecialCodeIndex::VEOL,
        TerminalKey::Eol2 => SpecialCodeIndex::VEOL2,
        TerminalKey::Kill => SpecialCodeIndex::VKILL,
        TerminalKey::Intr => SpecialCodeIndex::VINTR,
        TerminalKey::Quit => SpecialCodeIndex::VQUIT,
        TerminalKey::Susp => SpecialCodeIndex::VSUSP,
        TerminalKey::Lnext => SpecialCodeIndex::VLNEXT,
    };
    Some(modes.special_codes[index]).filter(|code| *code != 0)
}
