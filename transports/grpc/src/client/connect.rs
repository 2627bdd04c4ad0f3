//! The way to a server: its address, whom we trust there, and how we prove who we are.

use std::fmt;

use sessiond_core::{Error, Result};
use tonic::metadata::{Ascii, MetadataValue};
use tonic::service::Interceptor;
use tonic::transport::{Certificate, ClientTlsConfig, Endpoint, Identity};
use tonic::{Request, Status};

use super::{CONNECT, CONNECTION_WINDOW, STREAM_WINDOW, innermost};
use crate::Address;

/// How a client proves who it is on a network, and whose certificates it trusts there. On a unix socket neither counts.
#[derive(Clone, Default)]
pub struct Credentials {
    key: Option<MetadataValue<Ascii>>,
    authorities: Option<Vec<u8>>,
    certificate: Option<Identity>,
}

impl Credentials {
    /// None: for unix sockets, and for servers that ask for nothing.
    pub fn none() -> Self {
        Self::default()
    }

    /// With whatever there is of a key, authorities and a certificate with its private key.
    ///
    /// # Errors
    /// `invalid_argument` as for [`with_key`](Self::with_key).
    pub fn of(key: Option<&str>, authorities: Option<&[u8]>, certificate: Option<(&[u8], &[u8])>) -> Result<Self> {
        let mut credentials = match key {
            Some(key) => Self::none().with_key(key)?,
            None => Self::none(),
        };
        if let Some(authorities) = authorities {
            credentials = credentials.with_authorities(authorities.to_vec());
        }
        if let Some((certificate, key)) = certificate {
            credentials = credentials.with_certificate(certificate, key);
        }
        Ok(credentials)
    }

    /// With a key, or a token, that is sent with each call.
    ///
    /// # Errors
    /// `invalid_argument` when it cannot be sent. The message does not quote it.
    pub fn with_key(self, key: &str) -> Result<Self> {
        let sent = format!("Bearer {key}").parse::<MetadataValue<Ascii>>().ok().filter(|_| !key.is_empty());
        let mut sent = sent.ok_or_else(|| Error::invalid_argument("the key for the server is none: it is one line"))?;
        // Nobody prints it, and HTTP/2 keeps it out of its tables.
        sent.set_sensitive(true);
        Ok(Self { key: Some(sent), ..self })
    }

    /// Trusting these authorities, in PEM, in place of the system's.
    #[must_use]
    pub fn with_authorities(self, pem: Vec<u8>) -> Self {
        Self { authorities: Some(pem), ..self }
    }

    /// With a certificate and its private key, both in PEM.
    #[must_use]
    pub fn with_certificate(self, certificate: &[u8], key: &[u8]) -> Self {
        Self { certificate: Some(Identity::from_pem(certificate, key)), ..self }
    }

    /// What is sent with each call to this address.
    ///
    /// # Errors
    /// `failed_precondition` when a key would go through a network in the clear.
    pub(super) fn added(&self, address: &Address) -> Result<Added> {
        match address {
            Address::Unix(_) => Ok(Added::default()),
            Address::Tcp(port) if self.key.is_some() && !port.ip().to_canonical().is_loopback() => {
                Err(Error::failed_precondition(format!(
                    "the key would go to {address} in the clear: connect to https://HOST:PORT"
                )))
            }
            Address::Tcp(_) | Address::Tls(_) => Ok(Added { key: self.key.clone(), traceparent: None }),
        }
    }

    /// The other end, with TLS where the address says so.
    ///
    /// # Errors
    /// `invalid_argument` for an address that cannot be one; `failed_precondition` for certificates that are none.
    pub(super) fn endpoint(&self, address: &Address) -> Result<Endpoint> {
        let endpoint = Endpoint::from_shared(address.to_string())
            .map_err(|error| Error::invalid_argument(format!("{address} is no address: {}", innermost(&error))))?
            .connect_timeout(CONNECT)
            .initial_stream_window_size(STREAM_WINDOW)
            .initial_connection_window_size(CONNECTION_WINDOW)
            .tcp_nodelay(true);
        let Address::Tls(host) = address else { return Ok(endpoint) };
        let name = host.rsplit_once(':').map_or(host.as_str(), |(name, _)| name).trim_matches(['[', ']']);
        let mut tls = ClientTlsConfig::new().domain_name(name).timeout(CONNECT);
        tls = match &self.authorities {
            Some(pem) => tls.ca_certificate(Certificate::from_pem(pem)),
            None => tls.with_native_roots(),
        };
        if let Some(certificate) = &self.certificate {
            tls = tls.identity(certificate.clone());
        }
        endpoint.tls_config(tls).map_err(|error| {
            Error::failed_precondition(format!("TLS with {address} cannot be had: {}", innermost(&error)))
        })
    }
}

impl fmt::Debug for Credentials {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Credentials")
    }
}

/// What is added to each call: the key, and the trace that it is part of.
#[derive(Clone, Default)]
pub(super) struct Added {
    key: Option<MetadataValue<Ascii>>,
    traceparent: Option<fn() -> Option<String>>,
}

impl Added {
    /// The same, with what tells the trace.
    pub(super) fn tracing(self, traceparent: fn() -> Option<String>) -> Self {
        Self { traceparent: Some(traceparent), ..self }
    }
}

impl Interceptor for Added {
    fn call(&mut self, mut request: Request<()>) -> std::result::Result<Request<()>, Status> {
        if let Some(key) = &self.key {
            request.metadata_mut().insert("authorization", key.clone());
        }
        let traceparent = self.traceparent.and_then(|traceparent| traceparent()?.parse().ok());
        if let Some(traceparent) = traceparent {
            request.metadata_mut().insert("traceparent", traceparent);
        }
        Ok(request)
    }
}

impl fmt::Debug for Added {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Added")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_not_printed_and_does_not_go_through_a_network_in_the_clear() {
        let credentials = Credentials::none().with_key("sdk_s3cret").unwrap();
        let near: Address = "127.0.0.1:1".parse().unwrap();
        let far: Address = "192.0.2.1:1".parse().unwrap();
        assert!(!format!("{credentials:?} {:?}", credentials.added(&near).unwrap()).contains("s3cret"));
        assert_eq!(
            credentials.added(&far).unwrap_err().message(),
            "the key would go to http://192.0.2.1:1 in the clear: connect to https://HOST:PORT"
        );
        assert!(Credentials::none().added(&far).is_ok());
        for key in ["", "two\nlines"] {
            let refused = Credentials::none().with_key(key).unwrap_err();
            assert_eq!(refused.message(), "the key for the server is none: it is one line");
        }
    }
}
