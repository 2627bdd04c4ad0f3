//! Every way to log in, against OpenSSH: what it lets in, and what is said where it does not.

use sessiond_ssh_peer::{Agent, KeyKind, Validity};

use super::*;
use crate::secret::{Secret, SecretSource};

fn secret(secret: &str) -> Option<SecretSource> {
    Some(SecretSource::Environment { name: "SECRET".into(), value: Some(Secret::new(secret.into())) })
}

/// A server on which `alice` has a password, with more lines of configuration.
fn with_password(options: &[(&str, &str)]) -> Stand {
    Stand::new(|_| {
        let builder = Sshd::builder().account(Account::new("alice").password("correct horse"));
        options.iter().fold(builder, |builder, (keyword, value)| builder.option(keyword, value)).start().unwrap()
    })
}

#[tokio::test]
async fn a_key_of_every_kind_lets_in() {
    let stand = Stand::new(|keys| {
        let kinds = [("ed", KeyKind::Ed25519), ("rsa", KeyKind::Rsa), ("ec", KeyKind::Ecdsa)];
        let alice = kinds.into_iter().fold(Account::new("alice"), |alice, (name, kind)| {
            alice.authorized_key(&keys.make(name, kind, "").unwrap())
        });
        Sshd::builder().account(alice).start().unwrap()
    });
    for name in ["ed", "rsa", "ec"] {
        let key = Key::at(stand.keys.dir().join(name));
        assert_eq!(let_in(&stand.route_with(&key)).await, "publickey", "{name}");
    }
    let log = stand.sshd.log();
    assert!(log.contains("RSA SHA256:") && !log.contains("ssh-rsa"), "{log}");
}

#[tokio::test]
async fn an_encrypted_key_takes_its_passphrase() {
    let stand = Stand::new(|keys| {
        let key = keys.make("id", KeyKind::Ed25519, "open sesame").unwrap();
        Sshd::builder().account(Account::new("alice").authorized_key(&key)).start().unwrap()
    });
    let key = Key::at(stand.keys.dir().join("id"));
    let path = key.path().display();
    let route = stand.route_with(&key);
    assert_eq!(let_in(&Route { passphrase: secret("open sesame"), ..route.clone() }).await, "publickey");
    assert_eq!(
        refused(&route).await,
        Error::permission_denied(format!(
            "box does not let alice in: there was nothing to try; {path} is encrypted (configure its passphrase, or \
             add it to the agent); it still offers publickey, password; put one of your public keys into alice's \
             authorized_keys on the host, or name another key (IdentityFile, or the agent), or configure a password for \
             this host"
        ))
    );
    let wrong = refused(&Route { passphrase: secret("wrong"), ..route }).await;
    let expected = format!("tried publickey ({path}); {path} is not unlocked by the configured passphrase; it still");
    assert!(wrong.message().contains(&expected), "{wrong}");
    assert!(!wrong.message().contains("wrong"), "{wrong}");
}

#[tokio::test]
async fn a_key_file_that_others_can_read_is_not_used() {
    use std::os::unix::fs::PermissionsExt;

    let (stand, key) = Stand::with_key();
    std::fs::set_permissions(key.path(), std::fs::Permissions::from_mode(0o640)).unwrap();
    let refused = refused(&stand.route_with(&key)).await;
    let expected = format!(
        "there was nothing to try; {} is not used, as others have access to it (mode 0640: chmod 600 it); it still",
        key.path().display()
    );
    assert!(refused.message().contains(&expected), "{refused}");
}

#[tokio::test]
async fn an_agent_signs_with_ed25519_and_with_rsa() {
    for kind in [KeyKind::Ed25519, KeyKind::Rsa] {
        let agent = Agent::start().unwrap();
        let stand = Stand::new(|keys| {
            let key = keys.make("held", kind, "").unwrap();
            agent.add(&key).unwrap();
            Sshd::builder().account(Account::new("alice").authorized_key(&key)).start().unwrap()
        });
        let route = Route { agent: Some(agent.socket()), ..stand.route() };
        assert_eq!(let_in(&route).await, "publickey", "{kind:?}");
    }
}

#[tokio::test]
async fn a_public_key_alone_selects_the_agents() {
    let agent = Agent::start().unwrap();
    let (stand, key) = Stand::with_key();
    agent.add(&stand.keys.ed25519("other").unwrap()).unwrap();
    agent.add(&key).unwrap();
    std::fs::remove_file(key.path()).unwrap();
    let route = Route { agent: Some(agent.socket()), identities_only: true, ..stand.route_with(&key) };
    assert_eq!(let_in(&route).await, "publickey");
    assert!(!stand.sshd.log().contains("Failed publickey"), "{}", stand.sshd.log());
}

#[tokio::test]
async fn nothing_is_offered_twice() {
    let agent = Agent::start().unwrap();
    let stand = Stand::new(|keys| {
        let (authority, key) = (keys.ed25519("ca").unwrap(), keys.ed25519("id").unwrap());
        authority.certify_user(&key, &["alice"], Validity::Always).unwrap();
        agent.add(&key).unwrap();
        Sshd::builder().account(Account::new("alice")).start().unwrap()
    });
    let key = Key::at(stand.keys.dir().join("id"));
    let refused = refused(&Route { agent: Some(agent.socket()), ..stand.route_with(&key) }).await;
    let path = key.path().display();
    let expected = format!("tried publickey ({path} with the certificate 'made for a test', {path}); it still");
    assert!(refused.message().contains(&expected), "{refused}");
    let log = stand.sshd.log();
    assert_eq!(log.matches("Failed publickey").count(), 2, "{log}");
}

#[tokio::test]
async fn a_full_agent_does_not_use_up_the_attempts() {
    let agent = Agent::start().unwrap();
    let stand = Stand::new(|keys| {
        for n in 0..6 {
            agent.add(&keys.ed25519(&format!("other{n}")).unwrap()).unwrap();
        }
        let key = keys.ed25519("id").unwrap();
        let account = Account::new("alice").authorized_key(&key).password("correct horse");
        Sshd::builder().option("MaxAuthTries", "3").account(account).start().unwrap()
    });
    let full = Route { agent: Some(agent.socket()), ..stand.route() };
    let key = Key::at(stand.keys.dir().join("id"));
    let named = Route { identities: vec![key.path().to_owned()], ..full.clone() };
    assert_eq!(let_in(&named).await, "publickey");
    assert_eq!(let_in(&Route { password: secret("correct horse"), ..full.clone() }).await, "password");
    assert_eq!(let_in(&Route { identities_only: true, ..named }).await, "publickey");
    let refused = refused(&full).await;
    let message = refused.message();
    assert!(message.starts_with("box does not let alice in: tried publickey (ssh-ed25519 SHA256:"), "{message}");
    assert!(
        message.ends_with(
            "; the connection ended meanwhile (the host ended it: Too many authentication failures); if that was one \
             key too many, name the right one (IdentityFile) and set IdentitiesOnly"
        ),
        "{message}"
    );
}

#[tokio::test]
async fn an_agent_that_is_not_there_is_no_obstacle() {
    let (stand, key) = Stand::with_key();
    let gone = stand.keys.dir().join("no-agent");
    let route = Route { agent: Some(gone.clone()), ..stand.route_with(&key) };
    assert_eq!(let_in(&route).await, "publickey");
    let refused = refused(&Route { identities: Vec::new(), ..route }).await;
    let expected = format!("nothing to try; the agent at {} cannot be reached (", gone.display());
    assert!(refused.message().contains(&expected), "{refused}");
}

#[tokio::test]
async fn a_certificate_lets_in_where_its_key_alone_does_not() {
    for kind in [KeyKind::Ed25519, KeyKind::Rsa] {
        let agent = Agent::start().unwrap();
        let stand = Stand::new(|keys| {
            let authority = keys.ed25519("ca").unwrap();
            let key = keys.make("id", kind, "").unwrap();
            authority.certify_user(&key, &["alice"], Validity::Always).unwrap();
            let line = format!("cert-authority {}", authority.public_line().unwrap());
            Sshd::builder().account(Account::new("alice").authorized_line(&line)).start().unwrap()
        });
        let key = Key::at(stand.keys.dir().join("id"));
        let route = stand.route_with(&key);
        assert_eq!(let_in(&route).await, "publickey", "beside its key, {kind:?}");
        agent.add(&key).unwrap();
        let held = Route { agent: Some(agent.socket()), ..stand.route() };
        assert_eq!(let_in(&held).await, "publickey", "held by the agent, {kind:?}");
        let named = stand.keys.dir().join("named");
        std::fs::rename(key.certificate_path(), &named).unwrap();
        let route = Route { certificates: vec![named.clone()], ..route };
        assert_eq!(let_in(&route).await, "publickey", "named, {kind:?}");
        let without = Route { certificates: Vec::new(), ..route };
        assert_eq!(refused(&without).await.kind(), sessiond_core::ErrorKind::PermissionDenied, "{kind:?}");
        let alone = Route { certificates: vec![named], agent: held.agent, ..stand.route() };
        assert_eq!(let_in(&alone).await, "publickey", "named, with its key at the agent, {kind:?}");
    }
}

#[tokio::test]
async fn a_certificate_that_has_expired_is_not_offered() {
    let stand = Stand::new(|keys| {
        let authority = keys.ed25519("ca").unwrap();
        let key = keys.ed25519("id").unwrap();
        authority.certify_user(&key, &["alice"], Validity::Expired).unwrap();
        let line = format!("cert-authority {}", authority.public_line().unwrap());
        Sshd::builder().account(Account::new("alice").authorized_line(&line)).start().unwrap()
    });
    let key = Key::at(stand.keys.dir().join("id"));
    let refused = refused(&stand.route_with(&key)).await;
    let path = key.path().display();
    let expected =
        format!("tried publickey ({path}); the certificate 'made for a test' of {path} has expired; it still");
    assert!(refused.message().contains(&expected), "{refused}");
}

#[tokio::test]
async fn a_password_lets_in_and_a_wrong_one_is_sent_once() {
    let stand = with_password(&[]);
    let route = stand.route();
    assert_eq!(let_in(&Route { password: secret("correct horse"), ..route.clone() }).await, "password");
    assert_eq!(
        refused(&Route { password: secret("battery staple"), ..route }).await,
        Error::permission_denied(
            "box does not let alice in: tried password; it still offers publickey, password; put one of your public \
             keys into alice's authorized_keys on the host, or name another key (IdentityFile, or the agent), or \
             correct the configured password"
        )
    );
    let log = stand.sshd.log();
    assert_eq!(log.matches("Failed password").count(), 1, "{log}");
}

#[tokio::test]
async fn a_password_that_cannot_be_had_is_told() {
    let stand = with_password(&[]);
    let path = stand.file("password", "correct horse\n");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o644)).unwrap();
    let refused = refused(&Route { password: Some(SecretSource::File(path.clone())), ..stand.route() }).await;
    let expected = format!(
        "there was nothing to try; the password cannot be had: others than its owner have access to {} (mode 0644): \
         chmod 600 it; it still",
        path.display()
    );
    assert!(refused.message().contains(&expected), "{refused}");
    std::fs::set_permissions(&path, std::os::unix::fs::PermissionsExt::from_mode(0o600)).unwrap();
    assert_eq!(let_in(&Route { password: Some(SecretSource::File(path)), ..stand.route() }).await, "password");
}

#[tokio::test]
async fn a_password_answers_the_hosts_questions() {
    let stand = Stand::new(|_| {
        let builder = Sshd::builder().keyboard_interactive().option("PasswordAuthentication", "no");
        builder.account(Account::new("alice").password("correct horse")).start().unwrap()
    });
    let route = stand.route();
    assert_eq!(let_in(&Route { password: secret("correct horse"), ..route.clone() }).await, "keyboard-interactive");
    let wrong = refused(&Route { password: secret("battery staple"), ..route.clone() }).await;
    assert_eq!(
        wrong,
        Error::permission_denied(
            "box does not let alice in: tried keyboard-interactive; it still offers publickey, keyboard-interactive; \
             put one of your public keys into alice's authorized_keys on the host, or name another key (IdentityFile, \
             or the agent), or correct the configured password"
        )
    );
    let without = refused(&route).await;
    assert!(without.message().contains("there was nothing to try"), "{without}");
}

#[tokio::test]
async fn a_host_that_wants_both_gets_both_in_its_order() {
    for methods in ["publickey,password", "password,publickey"] {
        let stand = Stand::new(|keys| {
            let account = Account::new("alice").password("correct horse").authorized_key(&keys.ed25519("id").unwrap());
            let account = account.option("AuthenticationMethods", methods);
            Sshd::builder().account(account).start().unwrap()
        });
        let key = Key::at(stand.keys.dir().join("id"));
        let route = stand.route_with(&key);
        assert_eq!(let_in(&Route { password: secret("correct horse"), ..route.clone() }).await, methods);
        let half = Route { password: secret("battery staple"), ..route };
        let refused = refused(&half).await;
        let expected = match methods {
            "publickey,password" => "; it accepted publickey and wants more; it still offers password",
            _ => "tried password; it still offers password",
        };
        assert!(refused.message().contains(expected), "{refused}");
    }
}

#[tokio::test]
async fn a_host_that_goes_in_the_midst_of_a_login_has_refused_nobody() {
    let stand = Stand::new(|keys| {
        let key = keys.make("id", KeyKind::Ed25519, "open sesame").unwrap();
        Sshd::builder().account(Account::new("alice").authorized_key(&key)).start().unwrap()
    });
    let asked = stand.keys.dir().join("asked");
    std::process::Command::new("mkfifo").arg(&asked).status().unwrap();
    // The passphrase is asked for once the host would accept the key, and is told when the host has gone.
    let command = format!("read gone < {}; echo open sesame", asked.display());
    let key = Key::at(stand.keys.dir().join("id"));
    let route = Route { passphrase: Some(SecretSource::Command(command)), ..stand.route_with(&key) };
    let told = tokio::task::spawn_blocking(move || {
        let mut gone = std::fs::OpenOptions::new().write(true).open(asked).unwrap();
        stand.sshd.kill_connections().unwrap();
        std::io::Write::write_all(&mut gone, b"gone\n").unwrap();
        stand
    });
    let (refused, _stand) = tokio::join!(refused(&route), told);
    assert_eq!(refused.kind(), sessiond_core::ErrorKind::Unavailable);
    let begins = "alice is not logged in to box: the connection ended meanwhile (the host ";
    assert!(refused.message().starts_with(begins), "{refused}");
}

#[tokio::test]
async fn two_keys_are_two_keys() {
    let stand = Stand::new(|keys| {
        let account = Account::new("alice").option("AuthenticationMethods", "publickey,publickey");
        let account =
            ["a", "b"].iter().fold(account, |account, name| account.authorized_key(&keys.ed25519(name).unwrap()));
        Sshd::builder().account(account).start().unwrap()
    });
    let identities = ["a", "b"].map(|name| stand.keys.dir().join(name)).to_vec();
    assert_eq!(let_in(&Route { identities, ..stand.route() }).await, "publickey,publickey");
}

#[tokio::test]
async fn what_the_host_says_stands_in_the_refusal() {
    let stand = Stand::new(|keys| {
        let banner = keys.dir().join("banner");
        std::fs::write(&banner, "Ask the\n\x1b[31mdesk\x1b[0m first\n").unwrap();
        Sshd::builder().account(Account::new("alice")).option("Banner", &banner.display().to_string()).start().unwrap()
    });
    let refused = refused(&stand.route()).await;
    assert!(refused.message().contains("; it says: Ask the \\u{1b}[31mdesk\\u{1b}[0m first; put"), "{refused}");
}
