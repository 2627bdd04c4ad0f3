//! The discipline of a host's terminal, as `stty -a` tells it.

use sessiond_core::Discipline;

/// Reads what `stty -a` prints, its lines joined.
pub(crate) fn read(modes: &str) -> Discipline {
    let has = |word: &str| modes.split([' ', ';']).any(|found| found == word);
    let key = |name: &str| {
        let value = modes.split(';').find_map(|setting| {
            let (before, value) = setting.split_once(" = ")?;
            // Settings are told apart by semicolons, but the first of a line follows the speed.
            (before.split(' ').next_back()? == name).then(|| value.trim().to_owned())
        })?;
        character(&value)
    };
    Discipline::new(|mode| has(mode.as_str()), |which| key(which.as_str()))
}

/// `^D`, `^?`, a character, or nothing for `<undef>`.
fn character(shown: &str) -> Option<u8> {
    match shown.as_bytes() {
        b"^?" => Some(0x7f),
        [b'^', letter] => Some(letter & 0x1f),
        [plain] => Some(*plain),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COOKED: &str = "speed 38400 baud; rows 24; columns 80; line = 0; intr = ^C; quit = ^\\; erase = ^?; \
        kill = ^U; eof = ^D; eol = <undef>; eol2 = <undef>; swtch = <undef>; start = ^Q; stop = ^S; susp = ^Z; \
        rprnt = ^R; werase = ^W; lnext = ^V; discard = ^O; min = 1; time = 0; -parenb icrnl ixon -inlcr -igncr \
        iutf8 opost isig icanon iexten echo -noflsh";

    #[test]
    fn what_stty_prints_is_understood() {
        assert_eq!(read(COOKED), Discipline::usual());
        let odd = read("speed 9600 baud;\nintr = ^C; eof = x; lnext = <undef>; -icanon -icrnl inlcr -isig");
        let expected = Discipline::new(
            |mode| mode.as_str() == "inlcr",
            |key| match key.as_str() {
                "eof" => Some(b'x'),
                "intr" => Some(3),
                _ => None,
            },
        );
        assert_eq!(odd, expected);
        assert_eq!(odd.end_of_file(), b'x');
    }

    #[test]
    fn keys_are_read_as_stty_writes_them() {
        assert_eq!(["^?", "^D", "x", "<undef>"].map(character), [Some(0x7f), Some(4), Some(b'x'), None]);
    }
}
