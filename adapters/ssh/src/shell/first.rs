//! The first line of a launch: who the process is, or why nothing runs. What comes before it is not the command's.

use sessiond_core::Mark;

/// So much of what a host says before the first line is kept, for an error that quotes it.
const QUOTED: usize = 512;

/// The longest first line: a mark, a number, and the fields of `/proc/PID/stat`.
const LONGEST: usize = 2048;

/// What a first line tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum First {
    /// It runs.
    Started(Leader),
    /// There is no such directory; nothing runs.
    NoDirectory,
    /// That is no directory; nothing runs.
    NotADirectory,
    /// The directory may not be entered; nothing runs.
    Denied,
}

/// The process that a launch has become, as its host knows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Leader {
    /// Its process id.
    pub(crate) pid: u32,
    /// When it started, in clock ticks since the machine's start, where `/proc` tells.
    pub(crate) started: Option<u64>,
    /// The number of its terminal (`/dev/pts/N`), where `/proc` tells.
    pub(crate) terminal: Option<u32>,
}

/// Looks for the first line in what a host prints.
pub(crate) struct FirstLine {
    mark: String,
    noise: Noise,
}

impl FirstLine {
    /// Looks for the line that begins with this mark.
    pub(crate) fn new(mark: Mark) -> Self {
        Self { mark: mark.to_string(), noise: Noise::default() }
    }

    /// Takes what was printed next. Once the line is there: what it tells, and where in `bytes` the output begins.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Option<(First, usize)> {
        let before = self.noise.held.len();
        self.noise.held.extend_from_slice(bytes);
        let held = self.noise.held.as_slice();
        // A host that shows what it was asked to run shows the mark too, before anything has run.
        let found = memchr::memmem::find_iter(held, self.mark.as_bytes()).find_map(|at| {
            let begin = at + self.mark.len();
            let line = held.get(begin..)?;
            let length = memchr::memchr(b'\n', line)?;
            let first = parse(line.get(..length)?)?;
            Some((first, begin + length + 1))
        });
        if let Some((first, end)) = found {
            return Some((first, end.saturating_sub(before)));
        }
        self.noise.forget();
        None
    }

    /// The first words of what was printed before it; nothing when nothing was.
    pub(crate) fn words(&self) -> Option<String> {
        self.noise.words()
    }
}

/// The second stream of a command, whose output begins behind a line that is the mark alone.
pub(crate) struct SecondStream {
    line: Vec<u8>,
    noise: Noise,
    begun: bool,
}

impl SecondStream {
    /// Looks for the line that is this mark.
    pub(crate) fn new(mark: Mark) -> Self {
        Self { line: format!("{mark}\n").into_bytes(), noise: Noise::default(), begun: false }
    }

    /// Takes what was printed next; where in `bytes` the output begins, if any of it is output.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Option<usize> {
        if self.begun {
            return Some(0);
        }
        let before = self.noise.held.len();
        self.noise.held.extend_from_slice(bytes);
        match memchr::memmem::find(&self.noise.held, &self.line) {
            Some(at) => {
                self.begun = true;
                let output = (at + self.line.len()).saturating_sub(before);
                self.noise = Noise::default();
                Some(output)
            }
            None => {
                self.noise.forget();
                None
            }
        }
    }

    /// The first words of what was printed before it; nothing when nothing was.
    pub(crate) fn words(&self) -> Option<String> {
        self.noise.words()
    }
}

/// What a host prints before the first line: its beginning, for a person, and its end, where the line may begin.
#[derive(Debug, Default)]
struct Noise {
    beginning: Vec<u8>,
    held: Vec<u8>,
}

impl Noise {
    /// Keeps the beginning and what the line may still need.
    fn forget(&mut self) {
        let Some(surplus) = self.held.len().checked_sub(2 * LONGEST) else { return };
        let room = QUOTED.saturating_sub(self.beginning.len());
        self.beginning.extend(self.held.get(..surplus.min(room)).unwrap_or_default());
        self.held.drain(..surplus);
    }

    /// Its first words, trimmed; nothing when there was none.
    fn words(&self) -> Option<String> {
        let all: Vec<u8> = self.beginning.iter().chain(&self.held).copied().take(QUOTED).collect();
        let text = String::from_utf8_lossy(&all);
        let text = text.trim();
        (!text.is_empty()).then(|| text.to_owned())
    }
}

fn parse(line: &[u8]) -> Option<First> {
    let line = std::str::from_utf8(line).ok()?;
    let mut words = line.split_ascii_whitespace();
    let word = words.next()?;
    if word == "cd" {
        return match words.next()? {
            "missing" => Some(First::NoDirectory),
            "file" => Some(First::NotADirectory),
            "denied" => Some(First::Denied),
            _ => None,
        };
    }
    // The fields from the third on: state, parent, group, session, terminal, ..., start.
    let fields: Vec<&str> = words.collect();
    let number = |field: usize| fields.get(field)?.parse().ok();
    Some(First::Started(Leader {
        pid: word.parse().ok()?,
        started: number(19),
        terminal: number(4).and_then(pseudo_terminal),
    }))
}

/// The number of a pseudo-terminal by the number of its device: majors 136 to 143 on Linux.
fn pseudo_terminal(device: u64) -> Option<u32> {
    let (major, minor) = (device >> 8 & 0xfff, device & 0xff | device >> 12 & 0xfff00);
    let bank = major.checked_sub(136).filter(|bank| *bank < 8)?;
    u32::try_from(bank << 8 | minor).ok()
}

#[cfg(test)]
mod tests {
    use sessiond_core::Mark;

    use super::*;

    fn stat(pid: u32, device: u64, started: u64) -> String {
        format!("{pid} S 1 {pid} {pid} {device} -1 4194304 1 0 0 0 0 0 0 0 20 0 1 0 {started} 1 2 3")
    }

    fn started(pid: u32, terminal: Option<u32>, started: u64) -> First {
        First::Started(Leader { pid, started: Some(started), terminal })
    }

    #[test]
    fn a_first_line_is_found_wherever_the_pieces_are_cut() {
        let mark = Mark::random().unwrap();
        let all = format!("welcome\r\n{mark} {}\r\noutput", stat(42, 34816 + 5, 777));
        for cut in 0..all.len() - "output".len() {
            let mut line = FirstLine::new(mark);
            let (head, tail) = all.as_bytes().split_at(cut);
            assert_eq!(line.feed(head), None, "{cut}");
            let (first, output) = line.feed(tail).unwrap();
            assert_eq!((first, &tail[output..]), (started(42, Some(5), 777), &b"output"[..]), "{cut}");
        }
    }

    #[test]
    fn a_second_stream_begins_behind_its_line() {
        let mark = Mark::random().unwrap();
        let all = format!("warning\n{mark}\noutput\n");
        for cut in 0..all.len() {
            let mut second = SecondStream::new(mark);
            let (head, tail) = all.as_bytes().split_at(cut);
            let mut output = Vec::new();
            for piece in [head, tail] {
                if let Some(at) = second.feed(piece) {
                    output.extend_from_slice(&piece[at..]);
                }
            }
            assert_eq!(output, b"output\n", "{cut}");
        }
        assert_eq!(SecondStream::new(mark).feed(b"nothing"), None);
    }

    #[test]
    fn a_flood_before_the_line_is_forgotten_but_for_its_first_words() {
        let mark = Mark::random().unwrap();
        let mut line = FirstLine::new(mark);
        assert_eq!(line.feed(b"hello there\n"), None);
        for _ in 0..1000 {
            assert_eq!(line.feed(&[b'x'; 1000]), None);
        }
        assert!(line.words().unwrap().starts_with("hello there\nxxx"));
        assert!(line.noise.held.len() <= 2 * LONGEST);
        let (first, _) = line.feed(format!("\n{mark} {}\n", stat(1, 0, 9)).as_bytes()).unwrap();
        assert_eq!(first, started(1, None, 9));
    }

    #[test]
    fn a_line_tells_what_is_wrong_with_the_directory() {
        let mark = Mark::random().unwrap();
        for (word, first) in
            [("missing", First::NoDirectory), ("file", First::NotADirectory), ("denied", First::Denied)]
        {
            assert_eq!(FirstLine::new(mark).feed(format!("{mark} cd {word}\n").as_bytes()).unwrap().0, first);
        }
    }

    #[test]
    fn what_only_looks_like_the_first_line_is_passed_over() {
        let mark = Mark::random().unwrap();
        let stat = stat(42, 0, 7);
        for noise in [
            // A server that tells what it was asked to run, and a shell that does.
            format!("run: exec sh -c 'echo {mark} >&2;printf {mark} $$'\r\n"),
            format!("+ eval 'cd /x||{{ echo {mark} cd $1;exit 1;}};echo {mark} cd'\n"),
            // The line of the second stream, where both are one.
            format!("{mark}\n"),
            format!("{mark}\r\n{mark}"),
        ] {
            let all = format!("{noise}{mark} {stat}\r\noutput");
            for cut in 0..all.len() - "output".len() {
                let mut line = FirstLine::new(mark);
                let (head, tail) = all.as_bytes().split_at(cut);
                assert_eq!(line.feed(head), None, "{cut} of {all}");
                let (first, output) = line.feed(tail).unwrap();
                assert_eq!((first, &tail[output..]), (started(42, None, 7), &b"output"[..]), "{cut} of {all}");
            }
        }
    }

    #[test]
    fn a_host_without_proc_tells_the_number_alone() {
        let mark = Mark::random().unwrap();
        let (first, _) = FirstLine::new(mark).feed(format!("{mark} 42 \n").as_bytes()).unwrap();
        assert_eq!(first, First::Started(Leader { pid: 42, started: None, terminal: None }));
    }

    #[test]
    fn terminals_beyond_the_first_256_have_their_number() {
        assert_eq!(pseudo_terminal(136 << 8 | 255), Some(255));
        assert_eq!(pseudo_terminal(137 << 8), Some(256));
        assert_eq!(pseudo_terminal(136 << 8 | 1 << 20), Some(256));
        assert_eq!(pseudo_terminal(4 << 8 | 1), None);
    }
}
