//! Regular expressions over a stream that is still growing: one pass, linear, any cut.
//!
//! The automaton's state is kept between pieces, so no byte is looked at twice. It is a lazy DFA, which cannot do
//! Unicode word boundaries; those of a pattern are taken as ASCII ones.

use std::sync::Arc;

use regex_automata::Anchored;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::hybrid::{CacheError, LazyStateID};
use regex_automata::nfa::thompson::{self, NFA};
use regex_automata::util::start;
use regex_automata::util::syntax;
use regex_syntax::hir::{Class, Hir, HirKind, Look};

use crate::error::{Error, Result};

/// The longest pattern, in bytes.
const MAX_LEN: usize = 4096;

/// The most memory that a compiled pattern may take, in bytes.
const MAX_NFA: usize = 1 << 20;

/// The memory for the states that a search has met; when it is full, the search forgets them and goes on.
const CACHE: usize = 2 << 20;

/// A search that has forgotten its states so often and met a new one every few bytes costs more than it may: a state
/// of a pattern with thousands of places takes tens of microseconds to make.
const FORGETS: usize = 8;
const BYTES_PER_STATE: usize = 64;

/// A compiled regular expression.
///
/// The syntax is that of Rust's `regex` crate, with `\r\n` as a line end for `.`, `^` and `$`. `$` and word boundaries
/// at the end of what has been printed so far match there.
#[derive(Clone, Debug)]
pub struct Pattern(Arc<Compiled>);

#[derive(Debug)]
struct Compiled {
    source: String,
    dfa: DFA,
}

impl Pattern {
    /// Compiles a pattern.
    ///
    /// # Errors
    /// `invalid_argument` when it is empty, does not compile or is too large.
    pub fn new(source: &str) -> Result<Self> {
        if source.is_empty() {
            return Err(Error::invalid_argument(
                "the pattern is empty: it matches before any output, so a wait for it never gets on; name what you \
                 expect, or leave it out to wait for any output",
            ));
        }
        if source.len() > MAX_LEN {
            return Err(Error::invalid_argument(format!(
                "the pattern has {} bytes: at most {MAX_LEN} are taken",
                source.len()
            )));
        }
        let syntax = syntax::Config::new().crlf(true).utf8(true);
        let hir = syntax::parse_with(source, &syntax)
            .map_err(|error| Error::invalid_argument(format!("the pattern does not compile: {}", reason(&error))))?;
        let too_large =
            || Error::invalid_argument("the pattern is too large when compiled: use smaller repetitions or classes");
        let nfa = NFA::compiler()
            .configure(thompson::Config::new().nfa_size_limit(Some(MAX_NFA)).utf8(false))
            .build_from_hir(&ascii_boundaries(hir))
            .map_err(|_| too_large())?;
        let dfa = DFA::builder()
            .configure(
                DFA::config()
                    .cache_capacity(CACHE)
                    .minimum_cache_clear_count(Some(FORGETS))
                    .minimum_bytes_per_state(Some(BYTES_PER_STATE)),
            )
            .build_from_nfa(nfa)
            .map_err(|_| too_large())?;
        Ok(Self(Arc::new(Compiled { source: source.to_owned(), dfa })))
    }

    /// The pattern as it was written.
    pub fn as_str(&self) -> &str {
        &self.0.source
    }
}

impl PartialEq for Pattern {
    fn eq(&self, other: &Self) -> bool {
        self.0.source == other.0.source
    }
}

/// Why a pattern does not compile, in one line.
fn reason(error: &regex_syntax::Error) -> String {
    match error {
        regex_syntax::Error::Parse(error) => format!("{} at byte {}", error.kind(), error.span().start.offset),
        regex_syntax::Error::Translate(error) => format!("{} at byte {}", error.kind(), error.span().start.offset),
        other => other.to_string().replace('\n', " "),
    }
}

/// Word boundaries that a DFA can see.
fn ascii_boundaries(hir: Hir) -> Hir {
    match hir.into_kind() {
        HirKind::Empty => Hir::empty(),
        HirKind::Literal(literal) => Hir::literal(literal.0),
        HirKind::Class(Class::Unicode(class)) => Hir::class(Class::Unicode(class)),
        HirKind::Class(Class::Bytes(class)) => Hir::class(Class::Bytes(class)),
        HirKind::Look(look) => Hir::look(match look {
            Look::WordUnicode => Look::WordAscii,
            Look::WordUnicodeNegate => Look::WordAsciiNegate,
            Look::WordStartUnicode => Look::WordStartAscii,
            Look::WordEndUnicode => Look::WordEndAscii,
            Look::WordStartHalfUnicode => Look::WordStartHalfAscii,
            Look::WordEndHalfUnicode => Look::WordEndHalfAscii,
            other => other,
        }),
        HirKind::Repetition(mut repetition) => {
            repetition.sub = Box::new(ascii_boundaries(*repetition.sub));
            Hir::repetition(repetition)
        }
        HirKind::Capture(mut capture) => {
            capture.sub = Box::new(ascii_boundaries(*capture.sub));
            Hir::capture(capture)
        }
        HirKind::Concat(parts) => Hir::concat(parts.into_iter().map(ascii_boundaries).collect()),
        HirKind::Alternation(parts) => Hir::alternation(parts.into_iter().map(ascii_boundaries).collect()),
    }
}

/// A search for the first match, fed piece by piece.
pub(crate) struct Search {
    pattern: Pattern,
    cache: Cache,
    state: LazyStateID,
    /// How many bytes have been fed.
    fed: u64,
    /// Behind the match, as far as it is known.
    matched: Option<u64>,
    /// Nothing that follows can change `matched`.
    settled: bool,
}

impl Search {
    /// A search that has seen nothing yet.
    pub(crate) fn new(pattern: &Pattern) -> Result<Self> {
        let dfa = &pattern.0.dfa;
        let mut cache = dfa.create_cache();
        let state = dfa
            .start_state(&mut cache, &start::Config::new().anchored(Anchored::No))
            .map_err(|error| Error::internal(format!("the pattern has no start: {error}")))?;
        Ok(Self { pattern: pattern.clone(), cache, state, fed: 0, matched: None, settled: false })
    }

    /// Looks at the next bytes.
    pub(crate) fn feed(&mut self, bytes: &[u8]) -> Result<()> {
        let dfa = &self.pattern.0.dfa;
        for byte in bytes {
            if self.settled {
                return Ok(());
            }
            self.state = dfa.next_state(&mut self.cache, self.state, *byte).map_err(gave_up)?;
            if self.state.is_tagged() {
                // A match is reported one byte late.
                if self.state.is_match() {
                    self.matched = Some(self.fed);
                } else if self.state.is_dead() {
                    self.settled = true;
                }
            }
            self.fed += 1;
        }
        Ok(())
    }

    /// Whether nothing that follows can change what has been found.
    pub(crate) fn is_settled(&self) -> bool {
        self.settled
    }

    /// Behind the leftmost match in what has been fed, as if nothing followed: the number of bytes up to there.
    pub(crate) fn found(&mut self) -> Result<Option<u64>> {
        if self.settled {
            return Ok(self.matched);
        }
        let dfa = &self.pattern.0.dfa;
        let end = dfa.next_eoi_state(&mut self.cache, self.state).map_err(gave_up)?;
        Ok(if end.is_match() { Some(self.fed) } else { self.matched })
    }
}

fn gave_up(_: CacheError) -> Error {
    Error::invalid_argument("the pattern is too costly to search for in this output: use smaller repetitions")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::ErrorKind;

    /// The first match as somebody sees it who looks after each piece.
    fn first_match(pattern: &str, pieces: &[&[u8]]) -> Option<u64> {
        let mut search = Search::new(&Pattern::new(pattern).unwrap()).unwrap();
        pieces.iter().find_map(|piece| {
            search.feed(piece).unwrap();
            search.found().unwrap()
        })
    }

    #[test]
    fn a_match_ends_where_it_would_in_the_whole_text() {
        assert_eq!(first_match("b.r", &[b"foo bar baz"]), Some(7));
        assert_eq!(first_match(r"code: \d+", &[b"exit code: 137\r\n"]), Some(14));
        assert_eq!(first_match("nothing", &[b"foo bar baz"]), None);
        assert_eq!(first_match("x*", &[b""]), Some(0));
    }

    #[test]
    fn a_match_is_found_across_pieces() {
        assert_eq!(first_match("login:", &[b"Last lo", b"gin", b": "]), Some(11));
        assert_eq!(first_match("€", &[b"\xe2", b"\x82", b"\xac"]), Some(3));
    }

    #[test]
    fn the_end_of_what_is_there_is_an_end() {
        assert_eq!(first_match(r"\$ $", &[b"$ ls\r\n", b"file\r\n$ "]), Some(14));
        assert_eq!(first_match(r"(?m)^done$", &[b"not done\r\ndone\r\n"]), Some(14));
    }

    #[test]
    fn word_boundaries_work_beside_other_alphabets() {
        assert_eq!(first_match(r"\bok\b", &["книга ok.".as_bytes()]), Some(13));
        assert_eq!(first_match(r"\bok\b", &["книга token.".as_bytes()]), None);
    }

    #[test]
    fn bad_bytes_stop_no_search() {
        assert_eq!(first_match("ok", &[b"\xff\xfe\x80ok"]), Some(5));
    }

    #[test]
    fn a_broken_pattern_is_told_in_one_line() {
        let error = Pattern::new("ab(").unwrap_err();
        assert_eq!(error.message(), "the pattern does not compile: unclosed group at byte 2");
    }

    #[test]
    fn what_does_not_compile_or_is_too_large_is_refused() {
        for pattern in ["", "(", "a{2,1}", r"(?=a)", &"x".repeat(MAX_LEN + 1), r"\w{1000}{1000}", r"(?-u:\xff)"] {
            let error = Pattern::new(pattern).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::InvalidArgument, "{error}");
            assert!(!error.message().contains('\n'), "{error}");
        }
    }
}
