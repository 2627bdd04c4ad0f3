//! Whose key is trusted, seen from a connection; which line of a file says what is tested with the files.

use sessiond_ssh_peer::{KeyKind, Validity};

use super::*;

#[tokio::test]
async fn a_known_key_is_named_with_the_line_that_knows_it() {
    let (stand, key) = Stand::with_key();
    let link = open(&stand.route_with(&key)).await.unwrap();
    let facts = link.facts();
    assert_eq!(facts.host_key.kind, "ssh-ed25519");
    assert_eq!(facts.host_key.fingerprint, stand.sshd.host_key_fingerprint().unwrap());
    assert_eq!(facts.host_key.verified_by, format!("{}:1", stand.keys.dir().join("known_hosts").display()));
    assert_eq!((facts.user.as_str(), facts.port, facts.hops.len()), ("alice", stand.sshd.port(), 0));
    assert!(facts.server_version.starts_with("OpenSSH_"), "{facts:?}");
}

#[tokio::test]
async fn a_hashed_name_is_known_too() {
    let (stand, key) = Stand::with_key();
    let file = stand.file("hashed", &stand.sshd.known_hosts_lines().unwrap());
    let hashed = std::process::Command::new("ssh-keygen").args(["-q", "-H", "-f"]).arg(&file).output().unwrap();
    assert!(hashed.status.success(), "{hashed:?}");
    assert!(std::fs::read_to_string(&file).unwrap().starts_with("|1|"));
    assert_eq!(let_in(&Route { known_hosts: vec![file], ..stand.route_with(&key) }).await, "publickey");
}

#[tokio::test]
async fn an_unknown_key_is_refused_before_anything_is_sent_to_it() {
    let (stand, key) = Stand::with_key();
    let route = Route { known_hosts: vec![stand.keys.dir().join("none")], ..stand.route_with(&key) };
    let refused = refused(&route).await;
    let shown = format!(
        "the host key of box is not known: it shows ssh-ed25519 {}",
        stand.sshd.host_key_fingerprint().unwrap()
    );
    assert!(refused.message().starts_with(&shown), "{refused}");
    assert_eq!(refused.kind(), sessiond_core::ErrorKind::PermissionDenied);
    stand.sshd.await_log("Connection closed by").unwrap();
    assert!(!stand.sshd.log().contains("alice"), "{}", stand.sshd.log());
}

#[tokio::test]
async fn a_new_key_is_learnt_where_that_is_wanted_and_then_holds() {
    let (stand, key) = Stand::with_key();
    let file = stand.keys.dir().join("learnt");
    let route = Route {
        known_hosts: vec![file.clone()],
        learn_into: Some(file.clone()),
        policy: HostKeyPolicy::AcceptNew,
        ..stand.route_with(&key)
    };
    assert_eq!(let_in(&route).await, "publickey");
    let learnt = std::fs::read_to_string(&file).unwrap();
    assert!(learnt.starts_with(&format!("[127.0.0.1]:{} ssh-ed25519 ", stand.sshd.port())), "{learnt}");
    assert_eq!(let_in(&Route { policy: HostKeyPolicy::Strict, ..route.clone() }).await, "publickey");
    // Another server where the first one was.
    let other = stand.keys.ed25519("other").unwrap().public_line().unwrap();
    std::fs::write(&file, format!("[127.0.0.1]:{} {other}\n", stand.sshd.port())).unwrap();
    let refused = refused(&route).await;
    assert!(
        refused.message().starts_with("the host key of box has changed: it shows ssh-ed25519 SHA256:"),
        "{refused}"
    );
}

#[tokio::test]
async fn a_revoked_key_is_refused_although_it_is_known() {
    let (stand, key) = Stand::with_key();
    let known = stand.sshd.known_hosts_lines().unwrap();
    let revoked = format!("{known}@revoked {known}");
    let file = stand.file("revoked", &revoked);
    let refused = refused(&Route { known_hosts: vec![file], ..stand.route_with(&key) }).await;
    assert!(refused.message().starts_with("the host key of box is revoked: "), "{refused}");
}

#[tokio::test]
async fn of_several_host_keys_the_known_one_is_asked_for() {
    let stand = Stand::new(|keys| {
        let account = Account::new("alice").authorized_key(&keys.ed25519("id").unwrap());
        let kinds = [KeyKind::Ed25519, KeyKind::Ecdsa, KeyKind::Rsa];
        let builder = kinds.into_iter().fold(Sshd::builder(), |builder, kind| builder.host_key_kind(kind));
        builder.account(account).start().unwrap()
    });
    let key = Key::at(stand.keys.dir().join("id"));
    for (line, kind) in
        stand.sshd.known_hosts_lines().unwrap().lines().zip(["ssh-ed25519", "ecdsa-sha2-nistp256", "ssh-rsa"])
    {
        let known = stand.file("one", &format!("{line}\n"));
        let link = open(&Route { known_hosts: vec![known], ..stand.route_with(&key) }).await.unwrap();
        assert_eq!(link.facts().host_key.kind, kind);
        assert_eq!(output(&link, "echo on").await, (Some(0), b"on\n".to_vec()));
    }
}

#[tokio::test]
async fn a_hosts_certificate_is_enough_where_its_authority_is_known() {
    let stand = Stand::new(|keys| {
        let authority = keys.ed25519("ca").unwrap();
        let host_key = keys.ed25519("host").unwrap();
        let certificate = authority.certify_host(&host_key, &["127.0.0.1"], Validity::Always).unwrap();
        let account = Account::new("alice").authorized_key(&keys.ed25519("id").unwrap());
        let builder = Sshd::builder().host_key(&host_key).option("HostCertificate", &certificate.display().to_string());
        builder.account(account).start().unwrap()
    });
    let key = Key::at(stand.keys.dir().join("id"));
    let authority = Key::at(stand.keys.dir().join("ca")).public_line().unwrap();
    let file = stand.file("authority", &format!("@cert-authority * {authority}\n"));
    let route = Route { known_hosts: vec![file.clone()], ..stand.route_with(&key) };
    let link = open(&route).await.unwrap();
    assert_eq!(link.facts().host_key.verified_by, format!("certificate authority {}:1", file.display()));
    // Known by its key alone, the certificate is not asked for.
    assert_eq!(let_in(&stand.route_with(&key)).await, "publickey");
    let foreign = stand.keys.ed25519("foreign").unwrap().public_line().unwrap();
    let file = stand.file("foreign_authority", &format!("@cert-authority * {foreign}\n"));
    let refused = refused(&Route { known_hosts: vec![file], ..route }).await;
    assert!(refused.message().contains("its certificate counts for nothing"), "{refused}");
}
