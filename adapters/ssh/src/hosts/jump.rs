//! The hosts on the way, as `ProxyJump` names them.

/// A host to go through.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Hop {
    /// Its name.
    pub(super) host: String,
    /// The user there.
    pub(super) user: Option<String>,
    /// Its port.
    pub(super) port: Option<u16>,
}

/// Reads `[user@]host[:port]` or `ssh://[user@]host[:port]`, several with commas between them, in the order of the
/// way.
///
/// # Errors
/// Words that say what is wrong.
pub(super) fn parse(text: &str) -> Result<Vec<Hop>, String> {
    text.split(',')
        .map(|hop| parse_hop(hop.trim()).ok_or_else(|| format!("\"{}\" is no host to go through", hop.trim())))
        .collect()
}

fn parse_hop(text: &str) -> Option<Hop> {
    let text = text.strip_prefix("ssh://").map_or(text, |rest| rest.trim_end_matches('/'));
    let (user, place) = match text.rsplit_once('@') {
        Some((user, place)) => (Some(user), place),
        None => (None, text),
    };
    let (host, port) = split_port(place)?;
    let port = port.map(str::parse::<u16>).transpose().ok()?;
    let fits = super::names::is_host(host) && user.is_none_or(super::names::is_user) && port != Some(0);
    fits.then(|| Hop { host: host.to_owned(), user: user.map(str::to_owned), port })
}

/// An IPv6 address with a port stands in brackets; without brackets it has none.
fn split_port(place: &str) -> Option<(&str, Option<&str>)> {
    if let Some(rest) = place.strip_prefix('[') {
        let (host, rest) = rest.split_once(']')?;
        return match rest.strip_prefix(':') {
            Some(port) => Some((host, Some(port))),
            None => rest.is_empty().then_some((host, None)),
        };
    }
    match place.split_once(':') {
        Some((host, port)) if !port.contains(':') => Some((host, Some(port))),
        _ => Some((place, None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hop(host: &str, user: Option<&str>, port: Option<u16>) -> Hop {
        Hop { host: host.to_owned(), user: user.map(str::to_owned), port }
    }

    #[test]
    fn every_form_of_a_hop_is_read() {
        assert_eq!(parse("a"), Ok(vec![hop("a", None, None)]));
        assert_eq!(
            parse("u@a:22, ssh://v@b:2200/,[::1]:77,fe80::1,d\\w@c"),
            Ok(vec![
                hop("a", Some("u"), Some(22)),
                hop("b", Some("v"), Some(2200)),
                hop("::1", None, Some(77)),
                hop("fe80::1", None, None),
                hop("c", Some("d\\w"), None),
            ])
        );
    }

    #[test]
    fn what_is_no_host_is_refused() {
        for text in ["", "a,,b", "a:0", "a:x", "a:70000", "-oX@a", "@a", "a b", "u;v@a", "[a", "[a]b", "a:", "-v"] {
            assert!(parse(text).is_err(), "{text:?}");
        }
    }
}
