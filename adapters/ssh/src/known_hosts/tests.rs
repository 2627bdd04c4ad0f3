//! What the files say, compared with what `ssh-keygen` says of the same files, and with keys and certificates that it
//! has made.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;
use std::sync::OnceLock;
use std::time::Duration;

use proptest::prelude::*;
use russh::keys::PublicKeyOrCertificate;
use sessiond_core::ErrorKind;
use tempfile::TempDir;

use super::*;
use crate::config::HostKeyPolicy;
use crate::route::Via;

/// Keys and certificates, made once.
struct Made {
    directory: TempDir,
}

impl Made {
    fn get() -> &'static Self {
        static MADE: OnceLock<Made> = OnceLock::new();
        MADE.get_or_init(|| {
            let made = Self { directory: tempfile::tempdir().unwrap() };
            for name in ["a", "b", "ca", "other-ca"] {
                made.keygen(&["-q", "-t", "ed25519", "-N", "", "-C", "comment of its own", "-f", name]);
            }
            made.keygen(&["-q", "-t", "ecdsa", "-N", "", "-f", "ecdsa"]);
            made.keygen(&["-q", "-t", "rsa", "-b", "2048", "-N", "", "-f", "rsa"]);
            made
        })
    }

    fn keygen(&self, arguments: &[&str]) -> String {
        keygen(self.directory.path(), arguments)
    }

    /// A public key as it stands in a file, without a comment.
    fn line(&self, name: &str) -> String {
        let text = std::fs::read_to_string(self.directory.path().join(format!("{name}.pub"))).unwrap();
        text.split(' ').take(2).collect::<Vec<_>>().join(" ").trim().to_owned()
    }

    fn key(&self, name: &str) -> PublicKey {
        PublicKey::from_openssh(&self.line(name)).unwrap()
    }

    fn fingerprint(&self, name: &str) -> String {
        let told = self.keygen(&["-l", "-f", &format!("{name}.pub")]);
        told.split(' ').nth(1).unwrap().to_owned()
    }

    /// A certificate of the key `a`, made in a directory of its own.
    fn certificate(&self, authority: &str, arguments: &[&str]) -> Certificate {
        let directory = tempfile::tempdir().unwrap();
        std::fs::copy(self.directory.path().join("a.pub"), directory.path().join("host.pub")).unwrap();
        let authority = self.directory.path().join(authority);
        let mut all = vec!["-q", "-s", authority.to_str().unwrap(), "-I", "id"];
        all.extend(arguments);
        all.push("host.pub");
        keygen(directory.path(), &all);
        Certificate::read_file(&directory.path().join("host-cert.pub")).unwrap()
    }
}

fn keygen(directory: &Path, arguments: &[&str]) -> String {
    let run = Command::new("ssh-keygen").args(arguments).current_dir(directory).output();
    let run = run.expect("ssh-keygen (Debian package openssh-client) is needed");
    assert!(run.status.success(), "ssh-keygen {arguments:?}: {}", String::from_utf8_lossy(&run.stderr));
    String::from_utf8(run.stdout).unwrap()
}

fn route(host: &str, port: u16, files: &[&Path]) -> Route {
    Route {
        name: "web".to_owned(),
        host: host.to_owned(),
        port,
        user: "ada".to_owned(),
        key_alias: None,
        known_hosts: files.iter().map(|file| file.to_path_buf()).collect(),
        revoked_keys: None,
        learn_into: files.first().map(|file| file.to_path_buf()),
        hash_known_hosts: false,
        check_address: false,
        policy: HostKeyPolicy::Strict,
        identities: Vec::new(),
        certificates: Vec::new(),
        identities_only: false,
        agent: None,
        password: None,
        passphrase: None,
        via: Via::Direct,
        connect_timeout: Duration::from_secs(1),
        keepalive: None,
        keepalive_max: 3,
        surroundings: crate::surroundings::Surroundings::default(),
    }
}

const FILE: &str = "/etc/keys";

/// What a file with this content says of a host.
fn saying(content: &str, host: &str, port: u16) -> KnownHosts {
    let mut known = KnownHosts { names: HostNames::of(&route(host, port, &[]), None), entries: Vec::new() };
    known.add_content(&Arc::from(Path::new(FILE)), content.as_bytes());
    known
}

fn place(line: usize) -> Place {
    Place { file: Arc::from(Path::new(FILE)), line }
}

fn known(line: usize) -> Verdict {
    Verdict::Known(place(line))
}

#[test]
fn a_key_is_known_by_every_form_of_its_hosts_name() {
    let made = Made::get();
    let (key, line) = (made.key("a"), made.line("a"));
    let hash = |name: &str| pattern::hashed(&[9; 20], name).unwrap();
    for (hosts, port) in [
        ("web.example".to_owned(), 22),
        ("x,WEB.example,y".to_owned(), 22),
        ("*.example,!db.example".to_owned(), 22),
        ("[web.example]:2222".to_owned(), 2222),
        ("[*.example]:2222".to_owned(), 2222),
        ("web.example".to_owned(), 2222),
        (hash("web.example"), 22),
        (hash("[web.example]:2222"), 2222),
    ] {
        assert_eq!(
            saying(&format!("# one\r\n{hosts}\t {line}\r\n"), "Web.Example", port).check(&key),
            known(2),
            "{hosts}"
        );
    }
    for (hosts, port) in [("[web.example]:2222", 22), ("*.example,!web.*", 22), ("[web.example]:2222", 2223)] {
        assert_eq!(saying(&format!("{hosts} {line}"), "web.example", port).check(&key), Verdict::Unknown, "{hosts}");
    }
}

#[test]
fn any_other_key_of_the_host_makes_a_key_changed_whatever_its_type() {
    let made = Made::get();
    let content = format!("web {}\nweb {}\nother {}\n", made.line("b"), made.line("ecdsa"), made.line("a"));
    let of = |name: &str, kind: &str, line| KnownKey {
        kind: kind.to_owned(),
        fingerprint: made.fingerprint(name),
        place: place(line),
    };
    let both = vec![of("b", "ssh-ed25519", 1), of("ecdsa", "ecdsa-sha2-nistp256", 2)];
    let known_keys = saying(&content, "web", 22);
    assert_eq!(known_keys.check(&made.key("a")), Verdict::Changed(both.clone()));
    assert_eq!(known_keys.check(&made.key("rsa")), Verdict::Changed(both));
    assert_eq!(known_keys.check(&made.key("ecdsa")), known(2));
}

#[test]
fn another_key_of_the_host_on_no_particular_port_says_nothing_of_its_other_ports() {
    let made = Made::get();
    let content = format!("web {}\n", made.line("b"));
    assert_eq!(saying(&content, "web", 2222).check(&made.key("a")), Verdict::Unknown);
}

#[test]
fn a_key_of_a_type_that_nobody_knows_is_still_a_key_of_its_host() {
    let blob = [&[0, 0, 0, 3][..], b"new", &[1, 2, 3]].concat();
    let content = format!("web new {}\n", data_encoding::BASE64.encode(&blob));
    let verdict = saying(&content, "web", 22).check(&Made::get().key("a"));
    assert_eq!(
        verdict,
        Verdict::Changed(vec![KnownKey { kind: "new".to_owned(), fingerprint: fingerprint(&blob), place: place(1) }])
    );
}

#[test]
fn a_line_without_a_whole_key_vouches_for_nobody() {
    let made = Made::get();
    let line = made.line("a");
    for bad in [&line[..line.len() - 5], "ssh-ed25519", "ssh-ed25519 #", &line.replace("ssh-ed25519", "ssh-rsa"), ""] {
        assert_eq!(saying(&format!("web {bad}\n"), "web", 22).check(&made.key("a")), Verdict::Unknown, "{bad}");
    }
}

#[test]
fn a_revoked_key_is_refused_whatever_else_is_said() {
    let made = Made::get();
    let (a, ca) = (made.line("a"), made.line("ca"));
    let content = format!("web {a}\n@revoked * {a}\n");
    assert_eq!(saying(&content, "web", 22).check(&made.key("a")), Verdict::Revoked(place(2)));
    // Also where it is revoked for the host's name without the port.
    let content = format!("[web]:2222 {a}\n@revoked web {a}\n");
    assert_eq!(saying(&content, "web", 2222).check(&made.key("a")), Verdict::Revoked(place(2)));
    let content = format!("@cert-authority * {ca}\n@revoked\tweb\t{ca}\n");
    let certificate = made.certificate("ca", &["-h", "-n", "web"]);
    assert_eq!(saying(&content, "web", 22).check_certificate(&certificate, 1), CertificateVerdict::Revoked(place(2)));
    // The key in a certificate counts too.
    let content = format!("@cert-authority * {ca}\n@revoked * {a}\n");
    assert_eq!(saying(&content, "web", 22).check_certificate(&certificate, 1), CertificateVerdict::Revoked(place(2)));
    // Another host's revocation is none of ours.
    let content = format!("web {a}\n@revoked db {a}\n");
    assert_eq!(saying(&content, "web", 22).check(&made.key("a")), known(1));
}

#[test]
fn a_list_of_revoked_keys_holds_for_every_host_and_must_be_there() {
    let made = Made::get();
    let directory = tempfile::tempdir().unwrap();
    let (file, list) = (directory.path().join("known"), directory.path().join("revoked"));
    std::fs::write(&file, format!("web {}\n", made.line("a"))).unwrap();
    std::fs::write(&list, format!("# lost\n{} of old\n", made.line("a"))).unwrap();
    let route = Route { revoked_keys: Some(list.clone()), ..route("web", 22, &[&file]) };
    let read = || KnownHosts::read(&route.known_hosts, route.revoked_keys.as_deref(), HostNames::of(&route, None));
    let revoked = Verdict::Revoked(Place { file: Arc::from(list.as_path()), line: 2 });
    assert_eq!(read().unwrap().check(&made.key("a")), revoked);

    // A line that nobody understands may revoke any key.
    std::fs::write(&list, format!("{}\nsha256: {}\n", made.line("b"), "SHA256:AAAA")).unwrap();
    let refused = read().unwrap_err();
    assert_eq!(refused.kind(), ErrorKind::Unsupported);
    assert!(refused.message().contains("line 2"), "{refused}");

    made.keygen(&["-q", "-k", "-f", list.to_str().unwrap(), "a.pub"]);
    assert_eq!(read().unwrap_err().kind(), ErrorKind::Unsupported);
    std::fs::remove_file(&list).unwrap();
    assert_eq!(read().unwrap_err().kind(), ErrorKind::Unavailable);
}

#[test]
fn an_authority_vouches_for_the_hosts_that_its_certificate_names() {
    let made = Made::get();
    let content = format!("@cert-authority *.example,web {}\n", made.line("ca"));
    let now = SystemSeconds::now();
    let judged = |arguments: &[&str], host: &str, port, now| {
        saying(&content, host, port).check_certificate(&made.certificate("ca", arguments), now)
    };
    let trusted = CertificateVerdict::Trusted(place(1));
    assert_eq!(judged(&["-h", "-n", "web"], "web", 22, now), trusted);
    assert_eq!(judged(&["-h", "-n", "web"], "WEB", 2222, now), trusted);
    assert_eq!(judged(&["-h", "-n", "x,*.example"], "a.example", 22, now), trusted);
    assert_eq!(judged(&["-h"], "web", 22, now), trusted);
    assert_eq!(judged(&["-h", "-V", "-1d:+1d"], "web", 22, now), trusted);

    let worthless = |why: &str| CertificateVerdict::Worthless(why.to_owned());
    assert_eq!(judged(&["-h", "-n", "db,x"], "web", 22, now), worthless("it is for db, x, not for web"));
    assert_eq!(judged(&["-n", "web"], "web", 22, now), worthless("it is a certificate of a user, not of a host"));
    assert_eq!(judged(&["-h", "-V", "-2d:-1d"], "web", 22, now), worthless("it has expired"));
    assert_eq!(judged(&["-h", "-V", "+1d:+2d"], "web", 22, now), worthless("it is not valid yet"));
    let critical = ["-h", "-n", "web", "-O", "critical:x=y"];
    assert_eq!(judged(&critical, "web", 22, now), worthless("it has critical options, and none is known for hosts"));
    let nobody = worthless(&format!("no @cert-authority line has its authority {}", made.fingerprint("ca")));
    assert_eq!(judged(&["-h", "-n", "db"], "db", 22, now), nobody);
}

/// The time as certificates count it.
struct SystemSeconds;

impl SystemSeconds {
    fn now() -> u64 {
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs()
    }
}

#[test]
fn a_forged_certificate_is_worthless() {
    let made = Made::get();
    let content = format!("@cert-authority * {}\n", made.line("ca"));
    let good = made.certificate("ca", &["-h", "-n", "web"]);
    let mut bytes = good.to_bytes().unwrap();
    // The last byte of its signature.
    *bytes.last_mut().unwrap() ^= 1;
    let forged = Certificate::from_bytes(&bytes).unwrap();
    let known = saying(&content, "web", 22);
    let now = SystemSeconds::now();
    assert_eq!(known.check_certificate(&good, now), CertificateVerdict::Trusted(place(1)));
    assert_eq!(
        known.check_certificate(&forged, now),
        CertificateVerdict::Worthless("its signature is wrong".to_owned())
    );
}

#[test]
fn an_authority_that_signs_with_sha_1_is_not_believed() {
    let made = Made::get();
    let content = format!("@cert-authority * {}\n", made.line("rsa"));
    let known = saying(&content, "web", 22);
    let now = SystemSeconds::now();
    let good = made.certificate("rsa", &["-h", "-n", "web", "-t", "rsa-sha2-256"]);
    assert_eq!(known.check_certificate(&good, now), CertificateVerdict::Trusted(place(1)));
    let weak = made.certificate("rsa", &["-h", "-n", "web", "-t", "ssh-rsa"]);
    let why = "its authority signed it with SHA-1 or DSA, which can be forged";
    assert_eq!(known.check_certificate(&weak, now), CertificateVerdict::Worthless(why.to_owned()));
}

#[test]
fn an_authority_is_no_host_and_a_host_is_no_authority() {
    let made = Made::get();
    let content = format!("@cert-authority web {}\n", made.line("a"));
    assert_eq!(saying(&content, "web", 22).check(&made.key("a")), Verdict::Unknown);
    assert!(saying(&content, "web", 22).has_authority());
    let known = saying(&format!("web {}\n", made.line("ca")), "web", 22);
    assert!(!known.has_authority());
    let verdict = known.check_certificate(&made.certificate("ca", &["-h"]), SystemSeconds::now());
    assert!(matches!(verdict, CertificateVerdict::Worthless(_)), "{verdict:?}");
}

#[test]
fn an_alias_stands_for_the_host_on_every_port() {
    let made = Made::get();
    let route = Route { key_alias: Some("Cluster".to_owned()), ..route("10.0.0.1", 2222, &[]) };
    let names = HostNames::of(&route, Some("10.0.0.1".parse().unwrap()));
    assert_eq!(names.full(), "cluster");
    let mut known = KnownHosts { names, entries: Vec::new() };
    let content = format!("[10.0.0.1]:2222 {}\ncluster {}\n", made.line("b"), made.line("a"));
    known.add_content(&Arc::from(Path::new(FILE)), content.as_bytes());
    assert_eq!(known.check(&made.key("a")), Verdict::Known(place(2)));
}

#[test]
fn where_addresses_count_the_address_must_not_have_another_key() {
    let made = Made::get();
    let content = format!("web {}\n10.0.0.1 {}\n", made.line("a"), made.line("b"));
    let judged = |check_address| {
        let route = Route { check_address, ..route("web", 22, &[]) };
        let names = HostNames::of(&route, Some("10.0.0.1".parse().unwrap()));
        let mut known = KnownHosts { names, entries: Vec::new() };
        known.add_content(&Arc::from(Path::new(FILE)), content.as_bytes());
        known.check(&made.key("a"))
    };
    assert_eq!(judged(false), known(1));
    assert!(matches!(judged(true), Verdict::Changed(_)));
}

#[test]
fn a_key_that_is_known_is_asked_for_first() {
    use russh::keys::{EcdsaCurve, HashAlg};

    let made = Made::get();
    let (ed, rsa512) = (Algorithm::Ed25519, Algorithm::Rsa { hash: Some(HashAlg::Sha512) });
    let (rsa256, ecdsa) =
        (Algorithm::Rsa { hash: Some(HashAlg::Sha256) }, Algorithm::Ecdsa { curve: EcdsaCurve::NistP256 });
    let offered = [ed.clone(), ecdsa.clone(), rsa512.clone(), rsa256.clone()];
    let content = format!("web {}\n@revoked web {}\n", made.line("rsa"), made.line("ecdsa"));
    assert_eq!(saying(&content, "web", 22).order(&offered), [rsa512, rsa256, ed, ecdsa]);
    assert_eq!(saying(&content, "db", 22).order(&offered), offered);
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_and_a_missing_one_says_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let names = || HostNames::of(&route("web", 22, &[]), None);
    let missing = directory.path().join("missing");
    let known = KnownHosts::read(&[missing.clone(), missing.join("below")], None, names()).unwrap();
    assert_eq!(known.check(&Made::get().key("a")), Verdict::Unknown);
    // A directory can be opened and not be read, by root too.
    let error = KnownHosts::read(&[directory.path().to_owned()], None, names()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Unavailable);
}

fn verify(route: &Route, key: &str) -> Result<Trusted> {
    HostKeys::read(route, None)?.verify(&PublicKeyOrCertificate::from(Made::get().key(key)))
}

#[test]
fn a_key_that_is_trusted_says_what_vouches_for_it() {
    let made = Made::get();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("known");
    let content = format!("web {}\n@cert-authority web {}\n", made.line("rsa"), made.line("ca"));
    std::fs::write(&file, content).unwrap();
    let route = route("web", 22, &[&file]);
    let trusted = |kind: &str, name: &str, verified_by: String| Trusted {
        kind: kind.to_owned(),
        fingerprint: made.fingerprint(name),
        verified_by,
    };
    assert_eq!(verify(&route, "rsa"), Ok(trusted("ssh-rsa", "rsa", format!("{}:1", file.display()))));
    let certificate = made.certificate("ca", &["-h", "-n", "web"]);
    let verified = HostKeys::read(&route, None).unwrap().verify(&PublicKeyOrCertificate::from(certificate));
    assert_eq!(verified, Ok(trusted("ssh-ed25519", "a", format!("certificate authority {}:2", file.display()))));
}

#[test]
fn a_refusal_says_what_was_seen_what_was_expected_and_what_to_do() {
    let made = Made::get();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("known");
    std::fs::write(&file, format!("[web]:2222 {}\n", made.line("b"))).unwrap();
    let (a, b, ecdsa) = (made.fingerprint("a"), made.fingerprint("b"), made.fingerprint("ecdsa"));
    let shown = file.display();
    let refused = |result: Result<Trusted>, message: String| {
        assert_eq!(result, Err(Error::permission_denied(message)));
    };
    refused(
        verify(&route("web", 2222, &[&file]), "a"),
        format!(
            "the host key of web has changed: it shows ssh-ed25519 {a}, known is ssh-ed25519 {b} ({shown}:1); somebody \
             may be intercepting the connection, so ask whoever runs the host, and if the change is theirs remove the \
             old key with ssh-keygen -R '[web]:2222' -f '{shown}'"
        ),
    );
    refused(
        verify(&route("web", 2222, &[&file]), "ecdsa"),
        format!(
            "web shows a host key of a type that is not known for it: it shows ecdsa-sha2-nistp256 {ecdsa}, known is \
             ssh-ed25519 {b} ({shown}:1); compare the fingerprint with the host's own, then add the key to {shown} by \
             hand under the name [web]:2222"
        ),
    );
    refused(
        verify(&route("web", 22, &[&file]), "a"),
        format!(
            "the host key of web is not known: it shows ssh-ed25519 {a}; compare the fingerprint with the host's own, \
             then connect once by hand (ssh web), or add the key to {shown} under the name web, or let new keys be \
             learnt with StrictHostKeyChecking accept-new for this host"
        ),
    );
    std::fs::write(&file, format!("@revoked * {}\n", made.line("a"))).unwrap();
    refused(
        verify(&route("web", 22, &[&file]), "a"),
        format!(
            "the host key of web is revoked: it shows ssh-ed25519 {a}, and {shown}:1 forbids that key or its authority; \
             the host needs a new key before anybody may connect to it"
        ),
    );
}

#[test]
fn a_worthless_certificate_is_said_to_be_so() {
    let made = Made::get();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("known");
    std::fs::write(&file, format!("@cert-authority * {}\n", made.line("ca"))).unwrap();
    let certificate = PublicKeyOrCertificate::from(made.certificate("ca", &["-h", "-n", "db"]));
    let keys = HostKeys::read(&route("web", 22, &[&file]), None).unwrap();
    let error = keys.verify(&certificate).unwrap_err();
    assert!(error.message().contains("(its certificate counts for nothing: it is for db, not for web)"), "{error}");
    // The key in it may be known by itself.
    std::fs::write(&file, format!("@cert-authority * {}\nweb {}\n", made.line("ca"), made.line("a"))).unwrap();
    let keys = HostKeys::read(&route("web", 22, &[&file]), None).unwrap();
    assert_eq!(keys.verify(&certificate).unwrap().verified_by, format!("{}:2", file.display()));
}

#[test]
fn the_first_key_of_a_host_is_learnt_once_and_ssh_keygen_finds_it() {
    let made = Made::get();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join(".ssh/known_hosts");
    let new = Route { policy: HostKeyPolicy::AcceptNew, ..route("web.example", 2222, &[&file]) };

    let first = verify(&new, "a").unwrap();
    assert_eq!(first.verified_by, format!("{}:1", file.display()));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("[web.example]:2222 {}\n", made.line("a")));
    assert_eq!(verify(&new, "a"), Ok(first));
    assert_eq!(verify(&new, "b").unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert_eq!(verify(&new, "ecdsa").unwrap_err().kind(), ErrorKind::PermissionDenied);

    let mode = |path: &Path| path.metadata().unwrap().permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(file.parent().unwrap())), (0o600, 0o700));
    assert_eq!(lines_found(&file, "[web.example]:2222"), [1]);
}

#[test]
fn a_key_is_learnt_in_the_manner_of_its_file() {
    let made = Made::get();
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("known_hosts");
    // A last line without its end stays a line of its own.
    std::fs::write(&file, format!("old {}", made.line("b"))).unwrap();
    let new = |host| Route { policy: HostKeyPolicy::AcceptNew, ..route(host, 22, &[&file]) };
    assert_eq!(verify(&new("web"), "a").unwrap().verified_by, format!("{}:2", file.display()));
    assert_eq!(std::fs::read_to_string(&file).unwrap(), format!("old {}\nweb {}\n", made.line("b"), made.line("a")));

    keygen(directory.path(), &["-q", "-H", "-f", "known_hosts"]);
    assert_eq!(verify(&new("db"), "ecdsa").unwrap().verified_by, format!("{}:3", file.display()));
    let content = std::fs::read_to_string(&file).unwrap();
    assert!(content.lines().all(|line| line.starts_with("|1|")), "{content}");
    assert_eq!(lines_found(&file, "db"), [3]);

    std::fs::remove_file(&file).unwrap();
    verify(&Route { hash_known_hosts: true, ..new("web") }, "a").unwrap();
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("|1|"));
    assert_eq!(lines_found(&file, "web"), [1]);
}

#[test]
fn of_two_first_keys_at_once_one_is_learnt() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("known_hosts");
    let new = Route { policy: HostKeyPolicy::AcceptNew, ..route("web", 22, &[&file]) };
    // Both have looked before either has written.
    let (one, two) = (HostKeys::read(&new, None).unwrap(), HostKeys::read(&new, None).unwrap());
    let show = |keys: &HostKeys, key| keys.verify(&PublicKeyOrCertificate::from(Made::get().key(key)));
    assert!(show(&one, "a").is_ok());
    assert_eq!(show(&two, "b").unwrap_err().kind(), ErrorKind::PermissionDenied);
    assert!(show(&two, "a").is_ok());
    assert_eq!(std::fs::read_to_string(&file).unwrap().lines().count(), 1);
}

#[test]
fn a_key_that_cannot_be_remembered_is_not_accepted() {
    let directory = tempfile::tempdir().unwrap();
    let new = Route { policy: HostKeyPolicy::AcceptNew, ..route("web", 22, &[Path::new("/proc/none/known_hosts")]) };
    assert!(verify(&new, "a").is_err());
    // Whoever names a file that keeps nothing, or none at all, wants nothing to be kept.
    let new = Route { policy: HostKeyPolicy::AcceptNew, ..route("web", 22, &[Path::new("/dev/null")]) };
    assert!(verify(&new, "a").is_ok());
    let new = Route { policy: HostKeyPolicy::AcceptNew, ..route("web", 22, &[]) };
    assert_eq!(verify(&new, "a").unwrap().verified_by, "nothing: a new key, and no file to keep it in");
    drop(directory);
}

/// The lines that `ssh-keygen -F` finds.
fn lines_found(file: &Path, name: &str) -> Vec<usize> {
    let run = Command::new("ssh-keygen").arg("-F").arg(name).arg("-f").arg(file).output();
    let run = run.expect("ssh-keygen (Debian package openssh-client) is needed");
    let told = String::from_utf8(run.stdout).unwrap();
    let found = told.lines().filter_map(|line| line.strip_prefix("# Host ")?.split_once(" found: line "));
    found.map(|(_, rest)| rest.split(' ').next().unwrap().parse().unwrap()).collect()
}

/// The lines that ours finds, whether or not they hold a whole key: of that `ssh-keygen -F` looks at the type alone.
fn lines_ours(file: &Path, host: &str, port: u16) -> Vec<usize> {
    let content = std::fs::read_to_string(file).unwrap();
    let name = HostNames::of(&route(host, port, &[]), None).full;
    let lines = content.split('\n').enumerate();
    let has_type = |line: &Line<'_>| line.key.starts_with("ssh-") || line.key.starts_with("ecdsa-");
    let names_it =
        |line: &str| Line::parse(line).is_some_and(|line| has_type(&line) && pattern::matches(line.hosts, &name));
    lines.filter(|(_, line)| names_it(line)).map(|(index, _)| index + 1).collect()
}

/// Hosts that are asked about.
const ASKED: [(&str, u16); 6] = [("a", 22), ("a.b", 22), ("a.b", 2222), ("ab.b", 22), ("10.0.0.1", 22), ("::1", 2222)];

fn hosts() -> impl Strategy<Value = String> {
    let part = prop_oneof![
        "[abAB.?*]{1,5}",
        "!?[ab.?*]{1,4}",
        Just("[a.b]:2222".to_owned()),
        Just("[*]:2222".to_owned()),
        Just("[::1]:2222".to_owned()),
        Just("10.0.0.*".to_owned()),
        Just("*".to_owned()),
        Just(String::new()),
    ];
    let list = prop::collection::vec(part, 1..4).prop_map(|parts| parts.join(","));
    let hashed = (prop::sample::select(ASKED.to_vec()), any::<[u8; 20]>())
        .prop_map(|((host, port), salt)| pattern::hashed(&salt, &with_port(host, port)).unwrap());
    let broken = prop_oneof![Just("|1|AAAA|AAAA"), Just("|1|"), Just("|2|x|y"), Just("|")].prop_map(str::to_owned);
    prop_oneof![6 => list, 3 => hashed, 1 => broken]
}

fn line() -> impl Strategy<Value = String> {
    let marker = prop_oneof![
        8 => Just(""), 1 => Just("@revoked "), 1 => Just("@cert-authority  "), 1 => Just("@unknown "),
        1 => Just("@revoked @cert-authority "), 1 => Just("@"),
    ];
    let blank = prop_oneof![Just(" "), Just("\t"), Just("  \t ")];
    let key = prop_oneof![8 => (0..6usize).prop_map(Some), 1 => Just(None)];
    let tail = prop_oneof![Just(""), Just(" a comment"), Just("\t# x"), Just(" ")];
    let lead = prop_oneof![8 => Just(""), 1 => Just(" "), 1 => Just("\t"), 1 => Just("#")];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\n\n")];
    (lead, marker, hosts(), blank, key, tail, end).prop_map(|(lead, marker, hosts, blank, key, tail, end)| {
        let made = Made::get();
        let names = ["a", "b", "ca", "ecdsa", "rsa"];
        let key = match key {
            Some(index) if index < names.len() => made.line(names[index]),
            // Cut short; it stays no base 64, whatever follows.
            Some(_) => made.line("a").trim_end_matches('=').chars().take(60).collect::<String>() + "!",
            None => String::new(),
        };
        format!("{lead}{marker}{hosts}{blank}{key}{tail}{end}")
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 32, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn ours_and_ssh_keygen_find_the_same_lines(lines in prop::collection::vec(line(), 1..24)) {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("known_hosts");
        std::fs::write(&file, lines.concat()).unwrap();
        for (host, port) in ASKED {
            let theirs = lines_found(&file, &with_port(host, port));
            prop_assert_eq!(lines_ours(&file, host, port), theirs, "{} of {:?}", with_port(host, port), lines);
        }
    }
}
