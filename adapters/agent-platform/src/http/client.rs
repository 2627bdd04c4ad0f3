//! The HTTP client of one platform: whom it trusts, who it is, and where it goes.

use std::path::Path;
use std::time::Duration;

use reqwest::header::{ACCEPT, HeaderMap, HeaderValue};
use reqwest::redirect::Policy;
use reqwest::{Certificate, Client, Identity, Url};
use sessiond_core::{Error, Result, shown};
use zeroize::Zeroizing;

use crate::config::Tls;

/// For how long a connection that nobody uses is kept: less than most servers do, so that it is we who close it.
const IDLE: Duration = Duration::from_secs(55);

/// A client with these certificates.
///
/// # Errors
/// `failed_precondition` for a file that cannot be read, or is not what it should be.
pub(super) fn client(tls: &Tls) -> Result<Client> {
    let mut headers = HeaderMap::new();
    headers.insert(ACCEPT, HeaderValue::from_static("application/json"));
    let mut builder = Client::builder()
        .user_agent(concat!("sessiond/", env!("CARGO_PKG_VERSION")))
        .default_headers(headers)
        .redirect(Policy::none())
        .no_proxy()
        .referer(false)
        .tcp_nodelay(true)
        .tcp_keepalive(Duration::from_secs(30))
        .pool_idle_timeout(IDLE);
    if let Some(path) = &tls.ca_file {
        let pem = read(path)?;
        let certificates = Certificate::from_pem_bundle(&pem).map_err(|_| no(path, "has no certificate in PEM"))?;
        if certificates.is_empty() {
            return Err(no(path, "has no certificate in PEM"));
        }
        builder = builder.tls_certs_only(certificates);
    }
    if let Some(identity) = identity(tls)? {
        builder = builder.identity(identity);
    }
    builder.build().map_err(|error| {
        tracing::debug!(%error, "no HTTP client");
        Error::failed_precondition(
            "no HTTP client can be made: check the certificates of the target, and that the system has some",
        )
    })
}

fn identity(tls: &Tls) -> Result<Option<Identity>> {
    let (certificate, key) = match (&tls.client_cert_file, &tls.client_key_file) {
        (None, None) => return Ok(None),
        (Some(certificate), Some(key)) => (certificate, key),
        _ => {
            return Err(Error::failed_precondition(
                "client_cert_file and client_key_file belong together: set both, or neither",
            ));
        }
    };
    let mut pem = Zeroizing::new(read(certificate)?.to_vec());
    pem.push(b'\n');
    pem.extend_from_slice(&read(key)?);
    Identity::from_pem(&pem)
        .map(Some)
        .map_err(|_| no(certificate, "and its key are no certificate and private key in PEM"))
}

fn read(path: &Path) -> Result<Zeroizing<Vec<u8>>> {
    std::fs::read(path).map(Zeroizing::new).map_err(|error| no(path, &format!("cannot be read: {error}")))
}

fn no(path: &Path, why: &str) -> Error {
    Error::failed_precondition(format!("{} {why}", path.display()))
}

/// A platform's address, fit to have paths appended.
///
/// # Errors
/// `invalid_argument` for what is no such address.
pub(super) fn base(url: &str) -> Result<Url> {
    let wrong = |why: &str| Err(Error::invalid_argument(format!("the target's url {why}: write it like https://host")));
    let Ok(base) = Url::parse(url) else { return wrong("is no URL") };
    if !matches!(base.scheme(), "http" | "https") || !base.has_host() {
        return wrong("is not of http or https");
    }
    if !base.username().is_empty() || base.password().is_some() {
        return wrong("has a credential in it, which belongs into the target's secrets");
    }
    if base.query().is_some() || base.fragment().is_some() {
        return wrong("has a query or a fragment");
    }
    if base.scheme() == "http" && !is_here(&base) {
        tracing::warn!(host = %shown(base.host_str().unwrap_or_default()), "credentials cross the network in the open");
    }
    Ok(base)
}

fn is_here(url: &Url) -> bool {
    let host = url.host_str().unwrap_or_default().trim_matches(['[', ']']);
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_server_and_perhaps_a_path() {
        for url in ["http://127.0.0.1:8000", "https://platform.test/base/", "http://[::1]:1/"] {
            assert!(base(url).is_ok(), "{url}");
        }
        for url in
            ["", "platform.test", "ftp://platform.test", "https://u@h/", "https://u:p@h", "https://h/?q", "file:///x"]
        {
            let refused = base(url).unwrap_err();
            assert!(refused.message().ends_with("write it like https://host"), "{refused}");
            assert!(!refused.message().contains("u:p"), "{refused}");
        }
    }

    #[test]
    fn certificates_that_are_none_are_refused_by_name() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.pem");
        let message = |tls: Tls| client(&tls).unwrap_err().message().to_owned();
        let ca = || Tls { ca_file: Some(path.clone()), ..Tls::default() };
        assert!(message(ca()).starts_with(&format!("{} cannot be read: ", path.display())));
        std::fs::write(&path, "no certificate").unwrap();
        assert_eq!(message(ca()), format!("{} has no certificate in PEM", path.display()));
        let half = Tls { client_cert_file: Some(path.clone()), ..Tls::default() };
        assert!(message(half).starts_with("client_cert_file and client_key_file belong together"));
        let both = Tls { client_cert_file: Some(path.clone()), client_key_file: Some(path.clone()), ..Tls::default() };
        assert!(message(both).ends_with("are no certificate and private key in PEM"));
    }
}
