//! The names in a caller's certificate, as the keys file has them.

use std::fmt::Write;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use tokio_util::sync::CancellationToken;
use x509_parser::prelude::{FromDer, GeneralName, X509Certificate, X509Name};

/// A certificate that TLS has verified: who it names, and until when it holds.
#[derive(Clone, Debug)]
pub struct Certificate {
    subject: String,
    names: Vec<String>,
    until: SystemTime,
    /// Fires when whoever has verified it is trusted no more.
    trust: CancellationToken,
}

/// The attribute types that have a short name in a distinguished name (RFC 4514, section 3).
const SHORT: [(&str, &str); 9] = [
    ("2.5.4.3", "CN"),
    ("2.5.4.7", "L"),
    ("2.5.4.8", "ST"),
    ("2.5.4.10", "O"),
    ("2.5.4.11", "OU"),
    ("2.5.4.6", "C"),
    ("2.5.4.9", "STREET"),
    ("0.9.2342.19200300.100.1.25", "DC"),
    ("0.9.2342.19200300.100.1.1", "UID"),
];

impl Certificate {
    /// Reads the names of a certificate (RFC 5280) in DER; `None` where it is none.
    pub fn of_der(der: &[u8]) -> Option<Self> {
        let (_, parsed) = X509Certificate::from_der(der).ok()?;
        let alternatives = parsed.subject_alternative_name().ok().flatten();
        let names = alternatives.iter().flat_map(|names| &names.value.general_names).filter_map(name).collect();
        let until = u64::try_from(parsed.validity().not_after.timestamp()).unwrap_or(0);
        let until = UNIX_EPOCH + Duration::from_secs(until);
        Some(Self { subject: distinguished(parsed.subject())?, names, until, trust: CancellationToken::new() })
    }

    /// The same, for as long as this does not fire.
    pub(crate) fn trusted(self, trust: CancellationToken) -> Self {
        Self { trust, ..self }
    }

    /// Fires when it counts no more.
    pub(super) fn trust(&self) -> &CancellationToken {
        &self.trust
    }

    /// The subject, as RFC 4514 writes distinguished names: `CN=alice,O=Example`, which is what
    /// `openssl x509 -subject -nameopt RFC2253` prints.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Its alternative names: `DNS:host`, `URI:spiffe://domain/path` and `email:name@host` (RFC 5280, section 4.2.1.6).
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// Until when it holds.
    pub(super) fn until(&self) -> SystemTime {
        self.until
    }
}

/// An alternative name of a kind that an entry can give.
fn name(name: &GeneralName<'_>) -> Option<String> {
    match name {
        GeneralName::DNSName(name) => Some(format!("DNS:{}", name.to_ascii_lowercase())),
        GeneralName::URI(name) => Some(format!("URI:{name}")),
        GeneralName::RFC822Name(name) => Some(format!("email:{name}")),
        _ => None,
    }
}

/// A distinguished name, the last part first (RFC 4514, section 2). `None` where a part is no text: nobody could write
/// that into a file and mean it.
fn distinguished(name: &X509Name<'_>) -> Option<String> {
    let parts: Option<Vec<String>> = name.iter().map(part).collect();
    let mut parts = parts?;
    parts.reverse();
    Some(parts.join(","))
}

fn part(part: &x509_parser::prelude::RelativeDistinguishedName<'_>) -> Option<String> {
    let attributes = part.iter().map(|attribute| {
        let id = attribute.attr_type().to_id_string();
        let short = SHORT.iter().find(|(known, _)| *known == id).map(|(_, short)| (*short).to_owned());
        Some(format!("{}={}", short.unwrap_or(id), escaped(attribute.as_str().ok()?)))
    });
    attributes.collect::<Option<Vec<_>>>().map(|attributes| attributes.join("+"))
}

/// A value with all that could end it or begin another one escaped (RFC 4514, section 2.4).
fn escaped(value: &str) -> String {
    let mut text = String::with_capacity(value.len());
    let last = value.chars().count().saturating_sub(1);
    for (place, c) in value.chars().enumerate() {
        let is_at_edge = c == ' ' && (place == 0 || place == last) || c == '#' && place == 0;
        if matches!(c, '"' | '+' | ',' | ';' | '<' | '>' | '\\') || is_at_edge {
            text.push('\\');
            text.push(c);
        } else if c.is_ascii_control() {
            // Writing to a string cannot fail.
            let _ = write!(text, "\\{:02X}", u32::from(c));
        } else {
            text.push(c);
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_cannot_pass_for_another_part_of_the_name() {
        assert_eq!(escaped("alice"), "alice");
        assert_eq!(escaped("alice,O=Example+OU=x"), "alice\\,O=Example\\+OU=x");
        assert_eq!(escaped(" #\\\"<>; "), "\\ #\\\\\\\"\\<\\>\\;\\ ");
        assert_eq!(escaped("#a\n"), "\\#a\\0A");
        assert_eq!(escaped(" "), "\\ ");
    }

    #[test]
    fn what_is_no_certificate_names_nobody() {
        assert!(Certificate::of_der(b"").is_none());
        assert!(Certificate::of_der(b"CN=alice").is_none());
    }
}
