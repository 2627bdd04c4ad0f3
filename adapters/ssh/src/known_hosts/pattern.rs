//! Whether the hosts that a line names include one: lists, wildcards, negation and hashed names.

use data_encoding::BASE64;
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;

use crate::wildcard;

/// What a hashed name begins with: `|1|SALT|HASH`, both in base 64.
const HASHED: &str = "|1|";

/// The length of a salt and of a hash, in bytes.
const DIGEST: usize = 20;

/// Whether the hosts of a line include a name, which is in lower case.
///
/// A list matches when one of its patterns does and none of those that are negated (`!`) does. A line with a hashed
/// name has that name alone.
pub(super) fn matches(hosts: &str, name: &str) -> bool {
    if hosts.starts_with('|') {
        return hashed_matches(hosts, name);
    }
    let hosts = hosts.to_lowercase();
    wildcard::list(hosts.split(','), name)
}

fn hashed_matches(hosts: &str, name: &str) -> bool {
    let Some((salt, hash)) = hosts.strip_prefix(HASHED).and_then(|rest| rest.split_once('|')) else { return false };
    let (Ok(salt), Ok(hash)) = (BASE64.decode(salt.as_bytes()), BASE64.decode(hash.as_bytes())) else { return false };
    salt.len() == DIGEST && digest(&salt, name).is_some_and(|digest| digest[..] == hash[..])
}

/// Writes a name so that the file does not tell it.
pub(super) fn hashed(salt: &[u8; DIGEST], name: &str) -> Option<String> {
    digest(salt, name).map(|digest| format!("{HASHED}{}|{}", BASE64.encode(salt), BASE64.encode(&digest)))
}

fn digest(salt: &[u8], name: &str) -> Option<[u8; DIGEST]> {
    let mac = Hmac::<Sha1>::new_from_slice(salt).ok()?;
    Some(mac.chain_update(name.as_bytes()).finalize().into_bytes().into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_matches_when_one_of_its_patterns_does() {
        for hosts in ["a.b", "x,a.b", "A.B", "*", "a.*", "*.b", "?.b", "a?b", "*a*b*", "!x,a.b", "a.b,!a.c", "**"] {
            assert!(matches(hosts, "a.b"), "{hosts}");
        }
        for hosts in ["", "a", "a.b.c", "x,y", "?.?.?", "a.b?", "[a.b]:22", "!a.b", "*,!a.b", "!a.*,*", "a.b*c", ","] {
            assert!(!matches(hosts, "a.b"), "{hosts}");
        }
        assert!(matches("[a.b]:2222", "[a.b]:2222"));
        assert!(matches("[*]:2222", "[a.b]:2222"));
    }

    #[test]
    fn a_hashed_name_matches_its_own_host_alone() {
        let hosts = hashed(&[7; DIGEST], "[a.b]:2222").unwrap();
        assert_eq!(hosts.len(), "|1|".len() + 28 + 1 + 28);
        assert!(matches(&hosts, "[a.b]:2222"));
        assert!(!matches(&hosts, "a.b"));
        assert!(!matches(&format!("{hosts},[a.b]:2222"), "[a.b]:2222"));
        for hosts in ["|1|", "|1||", "|2|AAAA|AAAA", "|1|AAAA|AAAA", "|1|!|!"] {
            assert!(!matches(hosts, "a.b"), "{hosts}");
        }
    }
}
