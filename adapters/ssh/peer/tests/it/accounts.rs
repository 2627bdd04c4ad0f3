//! Who gets in, with what, and where they are then.

use std::process::{Command, Output};

use sessiond_ssh_peer::{Account, Agent, Client, Dropbear, Key, KeyKind, Keys, Sshd, Validity};

/// What a command that ended well printed on stdout.
#[track_caller]
fn printed(command: &mut Command) -> String {
    let output = command.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
}

/// What a command said that was refused.
#[track_caller]
fn refused(command: &mut Command) -> String {
    let Output { status, stderr, .. } = command.output().unwrap();
    assert_eq!(status.code(), Some(255), "{}", String::from_utf8_lossy(&stderr));
    String::from_utf8(stderr).unwrap()
}

fn identity(key: &Key) -> String {
    format!("IdentityFile {}", key.path().display())
}

#[test]
fn a_key_lets_an_account_in_and_root_in() {
    let keys = Keys::new().unwrap();
    let key = keys.ed25519("id").unwrap();
    let sshd = Sshd::builder()
        .account(Account::root().authorized_key(&key))
        .account(Account::new("alice").authorized_key(&key).file(".bashrc", "GREETING=hello\n"))
        .start()
        .unwrap();
    let client = Client::new().unwrap();
    client.host("alice", &sshd, "alice", &[&identity(&key)]).unwrap();
    client.host("root", &sshd, "root", &[&identity(&key)]).unwrap();
    assert_eq!(
        printed(&mut client.ssh(["alice", "whoami; pwd; echo $GREETING; echo $0"]).unwrap()),
        "alice\n/run/home/alice\nhello\nbash"
    );
    assert_eq!(printed(&mut client.ssh(["root", "id -u; pwd"]).unwrap()), "0\n/run/home/root");
    // The same file from the other side of the wall.
    assert_eq!(std::fs::read_to_string(sshd.home("alice").join(".bashrc")).unwrap(), "GREETING=hello\n");
    // Root by nobody's leave.
    let sshd = Sshd::builder().account(Account::new("alice").authorized_key(&key)).start().unwrap();
    client.host("closed", &sshd, "root", &[&identity(&key)]).unwrap();
    assert!(refused(&mut client.ssh(["closed", "true"]).unwrap()).contains("Permission denied"));
}

#[test]
fn every_kind_of_key_lets_in_with_a_passphrase_and_out_of_the_agent() {
    let keys = Keys::new().unwrap();
    for (name, kind) in [("ed25519", KeyKind::Ed25519), ("rsa", KeyKind::Rsa), ("ecdsa", KeyKind::Ecdsa)] {
        let key = keys.make(name, kind, "open sesame").unwrap();
        let sshd =
            Sshd::builder().host_key_kind(kind).account(Account::new("alice").authorized_key(&key)).start().unwrap();
        let client = Client::new().unwrap();
        client.host("box", &sshd, "alice", &[&identity(&key)]).unwrap();
        assert!(refused(&mut client.ssh(["box", "true"]).unwrap()).contains("Permission denied"), "{name}");
        let mut answering = client.ssh_answering("open sesame", ["box", "whoami"]).unwrap();
        assert_eq!(printed(&mut answering.command), "alice", "{name}");

        let agent = Agent::start().unwrap();
        agent.add_encrypted(&key, "open sesame").unwrap();
        let mut ssh = client.ssh(["-o", "IdentityFile none", "-o", "IdentitiesOnly no", "box", "whoami"]).unwrap();
        assert_eq!(printed(ssh.env("SSH_AUTH_SOCK", agent.socket())), "alice", "{name}");
    }
}

#[test]
fn a_certificate_lets_in_while_it_is_valid() {
    let keys = Keys::new().unwrap();
    let (authority, key) = (keys.ed25519("ca").unwrap(), keys.ed25519("id").unwrap());
    let sshd = Sshd::builder()
        .option("TrustedUserCAKeys", &authority.public_path().to_string_lossy())
        .account(Account::new("alice"))
        .start()
        .unwrap();
    let client = Client::new().unwrap();
    client.host("box", &sshd, "alice", &[&identity(&key)]).unwrap();
    authority.certify_user(&key, &["alice"], Validity::Always).unwrap();
    assert_eq!(printed(&mut client.ssh(["box", "whoami"]).unwrap()), "alice");
    for (principal, validity) in [("bob", Validity::Always), ("alice", Validity::Expired), ("alice", Validity::NotYet)]
    {
        authority.certify_user(&key, &[principal], validity).unwrap();
        assert!(refused(&mut client.ssh(["box", "true"]).unwrap()).contains("Permission denied"));
    }
}

#[test]
fn a_host_certificate_is_as_good_as_a_known_key() {
    let keys = Keys::new().unwrap();
    let (authority, host, key) =
        (keys.ed25519("ca").unwrap(), keys.ed25519("host").unwrap(), keys.ed25519("id").unwrap());
    let certificate = authority.certify_host(&host, &["127.0.0.1"], Validity::Always).unwrap();
    let sshd = Sshd::builder()
        .host_key(&host)
        .option("HostCertificate", &certificate.to_string_lossy())
        .account(Account::new("alice").authorized_key(&key))
        .start()
        .unwrap();
    let client = Client::new().unwrap();
    client.host("box", &sshd, "alice", &[&identity(&key)]).unwrap();
    let line = format!("@cert-authority [127.0.0.1]:{} {}\n", sshd.port(), authority.public_line().unwrap());
    std::fs::write(client.known_hosts_path(), line).unwrap();
    assert_eq!(printed(&mut client.ssh(["box", "whoami"]).unwrap()), "alice");
}

#[test]
fn a_password_lets_in_and_a_wrong_one_does_not() {
    let sshd = Sshd::builder().account(Account::new("alice").password("correct horse")).start().unwrap();
    let client = Client::new().unwrap();
    client.host("box", &sshd, "alice", &[]).unwrap();
    let mut right = client.ssh_answering("correct horse", ["box", "whoami"]).unwrap();
    assert_eq!(printed(&mut right.command), "alice");
    let mut wrong = client.ssh_answering("battery staple", ["box", "whoami"]).unwrap();
    assert!(refused(&mut wrong.command).contains("Permission denied"));
}

#[test]
fn keyboard_interactive_asks_for_the_password_by_way_of_pam() {
    let sshd = Sshd::builder()
        .keyboard_interactive()
        .option("PasswordAuthentication", "no")
        .account(Account::new("alice").password("correct horse"))
        .start()
        .unwrap();
    let client = Client::new().unwrap();
    client.host("box", &sshd, "alice", &["PreferredAuthentications keyboard-interactive"]).unwrap();
    let mut right = client.ssh_answering("correct horse", ["box", "whoami"]).unwrap();
    assert_eq!(printed(&mut right.command), "alice");
    assert!(sshd.log().contains("Accepted keyboard-interactive/pam for alice"), "{}", sshd.log());
    let mut wrong = client.ssh_answering("battery staple", ["box", "whoami"]).unwrap();
    assert!(refused(&mut wrong.command).contains("Permission denied"));
}

#[test]
fn where_two_methods_are_asked_for_one_is_a_partial_success() {
    let keys = Keys::new().unwrap();
    let key = keys.ed25519("id").unwrap();
    let both = Account::new("both").authorized_key(&key).password("correct horse");
    let sshd = Sshd::builder().account(both.option("AuthenticationMethods", "publickey,password")).start().unwrap();
    let client = Client::new().unwrap();
    client.host("box", &sshd, "both", &[&identity(&key)]).unwrap();
    let mut key_only = client.ssh(["-v", "box", "true"]).unwrap();
    assert!(refused(&mut key_only).contains("Authenticated using \"publickey\" with partial success"));
    let mut two = client.ssh_answering("correct horse", ["box", "whoami"]).unwrap();
    assert_eq!(printed(&mut two.command), "both");
}

#[test]
fn login_shells_are_what_the_account_says() {
    let keys = Keys::new().unwrap();
    let key = keys.ed25519("id").unwrap();
    let sshd = Sshd::builder()
        .account(Account::new("fay").shell("/usr/bin/fish").authorized_key(&key))
        .account(Account::new("tess").shell("/usr/bin/tcsh").authorized_key(&key))
        .account(Account::new("chris").chroot().authorized_key(&key))
        .start()
        .unwrap();
    let client = Client::new().unwrap();
    for user in ["fay", "tess", "chris"] {
        client.host(user, &sshd, user, &[&identity(&key)]).unwrap();
    }
    assert_eq!(printed(&mut client.ssh(["fay", "echo $FISH_VERSION | grep -q . ; and echo fish"]).unwrap()), "fish");
    assert_eq!(printed(&mut client.ssh(["tess", "if ($?tcsh) echo tcsh"]).unwrap()), "tcsh");
    let shut_in = client.ssh(["chris", "true"]).unwrap().output().unwrap();
    assert_eq!((shut_in.status.code(), shut_in.stdout), (Some(1), Vec::new()));
    assert_eq!(String::from_utf8(shut_in.stderr).unwrap(), "/bin/bash: No such file or directory\n");
}

#[test]
fn dropbear_lets_in_by_key_and_by_password() {
    let keys = Keys::new().unwrap();
    let key = keys.ed25519("id").unwrap();
    let alice = Account::new("alice").authorized_key(&key).password("correct horse");
    let dropbear = Dropbear::builder().account(alice).start().unwrap();
    let client = Client::new().unwrap();
    client.host("box", &dropbear, "alice", &[&identity(&key)]).unwrap();
    assert_eq!(printed(&mut client.ssh(["box", "whoami; pwd"]).unwrap()), "alice\n/run/home/alice");
    let mut ssh = client.ssh_answering("correct horse", ["-o", "PubkeyAuthentication no", "box", "whoami"]).unwrap();
    assert_eq!(printed(&mut ssh.command), "alice");
    dropbear.restart().unwrap();
    assert_eq!(printed(&mut client.ssh(["box", "whoami"]).unwrap()), "alice");
}
