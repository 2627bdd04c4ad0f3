//! Paths of a platform. The only place where text becomes part of one.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use sessiond_core::{Error, Result, shown};

/// All but the unreserved characters of RFC 3986 section 2.3.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// A path below a platform's address, as it is sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Path(String);

impl Path {
    /// The path of these segments. Whatever stands in one stays in it (DS41).
    ///
    /// # Errors
    /// `invalid_argument` for a segment that no encoding keeps from meaning something else: an empty one, `.` and `..`.
    pub(crate) fn of(segments: &[&str]) -> Result<Self> {
        let mut path = String::with_capacity(96);
        for segment in segments {
            if matches!(*segment, "" | "." | "..") {
                return Err(Error::invalid_argument(format!(
                    "\"{}\" names nothing on a platform: give the name or id as its list shows it",
                    shown(segment)
                )));
            }
            path.push('/');
            path.extend(utf8_percent_encode(segment, ENCODED));
        }
        Ok(Self(path))
    }

    /// The text, which begins with a slash.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_segment_stays_one_segment() {
        let path = |id| Path::of(&["sessions", id, "messages"]).map(|path| path.0);
        assert_eq!(path("65f1-a_b.c~d"), Ok("/sessions/65f1-a_b.c~d/messages".into()));
        assert_eq!(path("../../whoami"), Ok("/sessions/..%2F..%2Fwhoami/messages".into()));
        assert_eq!(path("a%2fb?c=d#e f+é"), Ok("/sessions/a%252fb%3Fc%3Dd%23e%20f%2B%C3%A9/messages".into()));
        for id in ["", ".", ".."] {
            assert!(path(id).is_err(), "{id:?}");
        }
    }

    proptest! {
        #[test]
        fn no_segment_changes_which_path_is_asked(id in "\\PC{1,40}") {
            prop_assume!(id != "." && id != "..");
            let path = Path::of(&["sessions", &id]).unwrap();
            let mut url = reqwest::Url::parse("http://platform.test/base").unwrap();
            url.set_path(&format!("/base{}", path.as_str()));
            let segments: Vec<_> = url.path_segments().unwrap().collect();
            prop_assert_eq!(segments.len(), 3);
            let back = percent_encoding::percent_decode_str(segments[2]).decode_utf8().unwrap();
            prop_assert_eq!(back.as_ref(), id.as_str());
        }
    }
}
