//! Which names this server goes by, and which web pages may ask it.
//!
//! A page in somebody's browser can let a name of its own point to this machine and then ask as if it were from here
//! (DNS rebinding). The browser still says which name the page believes in (`Host`) and where the page is from
//! (`Origin`): both must be expected (MCP, "Streamable HTTP", security warning).

use http::header::{HOST, ORIGIN};
use http::request::Parts;
use http::uri::{Authority, Scheme, Uri};
use http::{HeaderMap, HeaderValue};
use sessiond_core::{Error, shown};

/// The names of the machine itself, which no page elsewhere can have.
const LOOPBACK: [&str; 3] = ["localhost", "127.0.0.1", "[::1]"];

/// What is expected.
#[derive(Clone, Debug)]
pub(crate) struct Allowed {
    hosts: Vec<HostRule>,
    origins: Vec<OriginRule>,
}

/// A name, in lower case, and a port when only that one is meant.
#[derive(Clone, Debug, PartialEq, Eq)]
struct HostRule {
    host: String,
    port: Option<u16>,
}

/// Where pages may be from.
#[derive(Clone, Debug, PartialEq, Eq)]
struct OriginRule {
    scheme: Scheme,
    at: HostRule,
}

/// What is wrong with the names of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Unexpected {
    /// There is no `Host`, or there are several, or it is none.
    NoHost,
    /// Nobody has said that this server goes by that name.
    Host,
    /// Nobody has said that pages from there may ask.
    Origin,
}

impl Unexpected {
    pub(crate) fn message(self) -> &'static str {
        match self {
            Self::NoHost => "the request does not say which host it is for: send one Host header",
            Self::Host => {
                "this server does not go by the name in the Host header: ask for it by an allowed one, or add the name \
                 to http.allowed_hosts"
            }
            Self::Origin => {
                "pages of this Origin may not ask this server: add the origin to http.allowed_origins when they are to"
            }
        }
    }
}

impl Allowed {
    /// The machine itself, under every port; these hosts (`NAME` or `NAME:PORT`), and pages from these origins
    /// (`SCHEME://NAME`, with a port or `:*` for every one). Pages of this machine are expected in any case.
    ///
    /// # Errors
    /// `invalid_argument` that shows the entry which is none.
    pub(crate) fn new(hosts: &[String], origins: &[String]) -> Result<Self, Error> {
        let own = LOOPBACK.map(|host| HostRule { host: host.to_owned(), port: None });
        let pages = [Scheme::HTTP, Scheme::HTTPS].into_iter();
        let pages = pages.flat_map(|scheme| own.clone().map(|at| OriginRule { scheme: scheme.clone(), at }));
        let mut allowed = Self { hosts: own.to_vec(), origins: pages.collect() };
        for host in hosts {
            let rule = HostRule::parse(host).ok_or_else(|| {
                Error::invalid_argument(format!("{} is no host: write NAME or NAME:PORT", shown(host)))
            })?;
            allowed.hosts.push(rule);
        }
        for origin in origins {
            let rule = OriginRule::parse(origin).ok_or_else(|| {
                Error::invalid_argument(format!(
                    "{} is no origin: write http:// or https:// and NAME, NAME:PORT or NAME:*",
                    shown(origin)
                ))
            })?;
            allowed.origins.push(rule);
        }
        Ok(allowed)
    }

    /// Looks at the names of a request. Returns the host that it asks for.
    ///
    /// # Errors
    /// [`Unexpected`].
    pub(crate) fn check(&self, request: &Parts) -> Result<Authority, Unexpected> {
        let host = asked(request).ok_or(Unexpected::NoHost)?;
        if !self.hosts.iter().any(|rule| rule.allows(&host)) {
            return Err(Unexpected::Host);
        }
        for origin in request.headers.get_all(ORIGIN) {
            if !self.allows(origin) {
                return Err(Unexpected::Origin);
            }
        }
        Ok(host)
    }

    fn allows(&self, origin: &HeaderValue) -> bool {
        let origin = origin.to_str().ok().and_then(|text| text.parse::<Uri>().ok());
        let Some((Some(scheme), Some(at))) = origin.as_ref().map(|uri| (uri.scheme(), uri.authority())) else {
            return false;
        };
        self.origins.iter().any(|rule| rule.allows(scheme, at))
    }
}

/// The host of a request: one header, or what HTTP/2 has in its place.
fn asked(request: &Parts) -> Option<Authority> {
    match single(&request.headers) {
        Some(Some(host)) => host.to_str().ok().and_then(|text| text.parse().ok()),
        Some(None) => request.uri.authority().cloned(),
        None => None,
    }
    .filter(|host: &Authority| !host.host().is_empty() && !host.as_str().contains('@'))
}

/// The header when there is one; `None` when there are several.
fn single(headers: &HeaderMap) -> Option<Option<&HeaderValue>> {
    let mut hosts = headers.get_all(HOST).iter();
    let first = hosts.next();
    hosts.next().is_none().then_some(first)
}

impl HostRule {
    fn parse(text: &str) -> Option<Self> {
        let authority: Authority = text.parse().ok().filter(|_| !text.contains('@'))?;
        let host = authority.host().to_ascii_lowercase();
        let port = authority.port_u16();
        // What is behind the name must be a port, and nothing else.
        let whole = port.map_or_else(|| host.clone(), |port| format!("{host}:{port}"));
        (!host.is_empty() && whole.eq_ignore_ascii_case(text)).then_some(Self { host, port })
    }

    fn allows(&self, host: &Authority) -> bool {
        self.host.eq_ignore_ascii_case(host.host()) && (self.port.is_none() || self.port == host.port_u16())
    }
}

impl OriginRule {
    fn parse(text: &str) -> Option<Self> {
        let (scheme, at) = text.split_once("://")?;
        let scheme = [Scheme::HTTP, Scheme::HTTPS].into_iter().find(|known| known == scheme)?;
        let (name, any_port) = at.strip_suffix(":*").map_or((at, false), |name| (name, true));
        let mut at = HostRule::parse(name)?;
        if at.port.is_none() && !any_port {
            at.port = Some(default_port(&scheme));
        } else if at.port.is_some() && any_port {
            return None;
        }
        Some(Self { scheme, at })
    }

    /// A browser leaves out the port that the scheme has anyway (RFC 6454, section 6.2).
    fn allows(&self, scheme: &Scheme, at: &Authority) -> bool {
        let port = at.port_u16().unwrap_or_else(|| default_port(scheme));
        self.scheme == *scheme
            && self.at.host.eq_ignore_ascii_case(at.host())
            && self.at.port.is_none_or(|expected| expected == port)
    }
}

fn default_port(scheme: &Scheme) -> u16 {
    if *scheme == Scheme::HTTPS { 443 } else { 80 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn allowed() -> Allowed {
        let hosts = ["Sessions.example".to_owned(), "other.example:8443".to_owned(), "192.0.2.7".to_owned()];
        let origins = ["https://app.example".to_owned(), "http://dev.example:*".to_owned()];
        Allowed::new(&hosts, &origins).unwrap()
    }

    fn check(headers: &[(&str, &str)], uri: &str) -> Result<String, Unexpected> {
        let mut request = http::Request::builder().uri(uri);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        allowed().check(&request.body(()).unwrap().into_parts().0).map(|host| host.to_string())
    }

    #[test]
    fn the_machine_itself_and_the_named_hosts_are_expected() {
        for host in [
            "localhost",
            "LOCALHOST:8080",
            "127.0.0.1:1",
            "[::1]:8080",
            "sessions.example",
            "SESSIONS.example:443",
            "other.example:8443",
            "192.0.2.7:80",
        ] {
            assert_eq!(check(&[("host", host)], "/mcp"), Ok(host.to_owned()), "{host}");
        }
    }

    #[test]
    fn a_name_that_only_points_here_is_not() {
        for host in [
            "evil.example",
            "localhost.evil.example",
            "evil.example:8080",
            "127.0.0.1.nip.io",
            "other.example",
            "other.example:80",
            "::1",
            "0.0.0.0",
            "127.0.0.2",
            "localhost.",
        ] {
            assert!(matches!(check(&[("host", host)], "/mcp"), Err(Unexpected::Host | Unexpected::NoHost)), "{host}");
        }
    }

    #[test]
    fn a_request_is_for_one_host() {
        assert_eq!(check(&[], "/mcp"), Err(Unexpected::NoHost));
        assert_eq!(check(&[("host", "")], "/mcp"), Err(Unexpected::NoHost));
        assert_eq!(check(&[("host", "a b")], "/mcp"), Err(Unexpected::NoHost));
        assert_eq!(check(&[("host", "evil.example@localhost")], "/mcp"), Err(Unexpected::NoHost));
        assert_eq!(check(&[("host", "localhost"), ("host", "evil.example")], "/mcp"), Err(Unexpected::NoHost));
        assert_eq!(check(&[], "http://localhost:9/mcp"), Ok("localhost:9".to_owned()), "as HTTP/2 says it");
        assert_eq!(check(&[], "http://evil.example/mcp"), Err(Unexpected::Host));
    }

    #[test]
    fn pages_are_from_the_machine_itself_or_a_named_origin() {
        for origin in [
            "http://localhost",
            "https://localhost:5173",
            "http://127.0.0.1:6274",
            "http://[::1]:3000",
            "https://app.example",
            "https://app.example:443",
            "http://dev.example:1",
            "http://dev.example",
        ] {
            assert!(check(&[("host", "localhost"), ("origin", origin)], "/mcp").is_ok(), "{origin}");
        }
        for origin in [
            "null",
            "",
            "http://evil.example",
            "http://app.example",
            "https://app.example:8443",
            "https://dev.example",
            "http://localhost.evil.example",
            "file://localhost",
            "localhost",
            "chrome-extension://localhost",
        ] {
            let checked = check(&[("host", "localhost"), ("origin", origin)], "/mcp");
            assert_eq!(checked, Err(Unexpected::Origin), "{origin}");
        }
        let both = [("host", "localhost"), ("origin", "http://localhost"), ("origin", "http://evil.example")];
        assert_eq!(check(&both, "/mcp"), Err(Unexpected::Origin));
    }

    #[test]
    fn an_entry_that_is_none_is_shown() {
        for host in ["", "a b", "user@host", "host:", "host:99999", "http://host", "host/path"] {
            let error = Allowed::new(&[host.to_owned()], &[]).unwrap_err();
            assert!(error.message().contains("is no host"), "{host}: {error}");
        }
        for origin in ["", "*", "host", "ftp://host", "http://", "http://host:80:*", "http://host:x", "null"] {
            let error = Allowed::new(&[], &[origin.to_owned()]).unwrap_err();
            assert!(error.message().contains("is no origin"), "{origin}: {error}");
        }
    }
}
