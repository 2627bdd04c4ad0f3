//! Routes as the OpenSSH client means them, and our own reading of its files compared with the client's.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use proptest::prelude::*;
use sessiond_core::ErrorKind;
use tempfile::TempDir;

use super::book::Book;
use super::evaluate::evaluate;
use super::files::{Base, Files};
use super::settings::Settings;
use super::wish::Wish;
use crate::config::{ClientConfig, Config, HostConfig, HostKeyPolicy};
use crate::route::{Route, Via};
use crate::surroundings::Surroundings;

/// A home directory with files in its `.ssh`, and a server that lives there.
struct Home {
    directory: TempDir,
    config: Config,
}

impl Home {
    fn new(files: &[(&str, &str)]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let ssh = directory.path().join(".ssh");
        std::fs::create_dir(&ssh).unwrap();
        for (name, content) in files {
            std::fs::write(ssh.join(name), content).unwrap();
        }
        let path = std::env::var_os("PATH").unwrap_or_default();
        let surroundings = Surroundings::new(vec![("HOME".into(), directory.path().into()), ("PATH".into(), path)]);
        let config =
            Config { client_config: ClientConfig::File(ssh.join("config")), surroundings, ..Config::default() };
        Self { directory, config }
    }

    /// The same without the client.
    fn without_client(self) -> Self {
        Self { config: Config { ssh_program: Some("/none/ssh".into()), ..self.config }, ..self }
    }

    fn with_host(mut self, host: HostConfig) -> Self {
        self.config.hosts.push(host);
        self
    }

    fn path(&self, name: &str) -> PathBuf {
        self.directory.path().join(name)
    }

    async fn route(&self, name: &str) -> sessiond_core::Result<Route> {
        Book::new(self.config.clone()).route(name).await
    }
}

/// What a route is where nothing is said, on this machine and in this home.
fn plain(home: &Home, name: &str) -> Route {
    let ssh = |name: &str| home.path(".ssh").join(name);
    Route {
        name: name.to_owned(),
        host: name.to_owned(),
        port: 22,
        user: user(),
        key_alias: None,
        known_hosts: vec![
            ssh("known_hosts"),
            ssh("known_hosts2"),
            "/etc/ssh/ssh_known_hosts".into(),
            "/etc/ssh/ssh_known_hosts2".into(),
        ],
        revoked_keys: None,
        learn_into: Some(ssh("known_hosts")),
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
        connect_timeout: Duration::from_secs(30),
        keepalive: Some(Duration::from_secs(15)),
        keepalive_max: 3,
        surroundings: home.config.surroundings.clone(),
    }
}

fn user() -> String {
    let run = Command::new("id").arg("-un").output().unwrap();
    String::from_utf8(run.stdout).unwrap().trim().to_owned()
}

/// Settings of every kind; `UserKnownHostsFile` because the client knows no other home than the account's.
const EVERYTHING: &str = "\
Host web
  HostName %h.example
  Port 2222
  User op
  IdentityFile ~/keys/%n
  IdentityFile ~/.ssh/id_rsa
  CertificateFile %d/certificate
  IdentitiesOnly yes
  IdentityAgent /run/agent
  HostKeyAlias Cluster
  UserKnownHostsFile /k/%h /k/two
  GlobalKnownHostsFile /k/all
  RevokedHostKeys /k/revoked
  StrictHostKeyChecking accept-new
  HashKnownHosts yes
  CheckHostIP yes
  ConnectTimeout 1m
  ServerAliveInterval 5
  ServerAliveCountMax 7
  ProxyCommand nc -X %% %h %p %r %n # to the end
Host *
  User nobody
";

fn everything(home: &Home) -> Route {
    Route {
        host: "web.example".to_owned(),
        port: 2222,
        user: "op".to_owned(),
        key_alias: Some("cluster".to_owned()),
        known_hosts: vec!["/k/web.example".into(), "/k/two".into(), "/k/all".into()],
        revoked_keys: Some("/k/revoked".into()),
        learn_into: Some("/k/web.example".into()),
        hash_known_hosts: true,
        check_address: true,
        policy: HostKeyPolicy::AcceptNew,
        identities: vec![home.path("keys/web"), home.path(".ssh/id_rsa")],
        certificates: vec![home.path("certificate")],
        identities_only: true,
        agent: Some("/run/agent".into()),
        via: Via::Command("nc -X % web.example 2222 op web # to the end".to_owned()),
        connect_timeout: Duration::from_secs(60),
        keepalive: Some(Duration::from_secs(5)),
        keepalive_max: 7,
        ..plain(home, "web")
    }
}

#[tokio::test]
async fn a_route_is_what_the_client_configuration_says() {
    let home = Home::new(&[("config", EVERYTHING)]);
    assert_eq!(home.route("web").await, Ok(everything(&home)));
}

#[tokio::test]
async fn without_the_client_the_files_say_the_same() {
    let home = Home::new(&[("config", EVERYTHING)]).without_client();
    assert_eq!(home.route("web").await, Ok(everything(&home)));
}

#[tokio::test]
async fn where_nothing_is_said_the_defaults_of_openssh_hold() {
    let home = Home::new(&[("id_ed25519", ""), ("id_rsa.pub", "")]);
    let identities = vec![home.path(".ssh/id_rsa"), home.path(".ssh/id_ed25519")];
    assert_eq!(home.route("web").await, Ok(Route { identities, ..plain(&home, "web") }));
}

#[tokio::test]
async fn our_own_configuration_comes_first_and_the_clients_fills_it_up() {
    let client = "Host db\n Port 2200\n User nobody\n HostName elsewhere\n IdentityFile /k/client\n\
                  Match host 10.0.0.9 user op\n HostKeyAlias matched\n";
    let host = HostConfig {
        name: "db".to_owned(),
        host: Some("10.0.0.9".to_owned()),
        user: Some("op".to_owned()),
        identities: vec!["~/own".into()],
        known_hosts: vec!["/k/own".into()],
        host_keys: Some(HostKeyPolicy::AcceptNew),
        keepalive: Some(Duration::from_secs(1)),
        ..HostConfig::default()
    };
    let home = Home::new(&[("config", client)]).with_host(host);
    let expected = Route {
        host: "10.0.0.9".to_owned(),
        port: 2200,
        user: "op".to_owned(),
        identities: vec![home.path("own"), "/k/client".into()],
        known_hosts: vec!["/k/own".into(), "/etc/ssh/ssh_known_hosts".into(), "/etc/ssh/ssh_known_hosts2".into()],
        learn_into: Some("/k/own".into()),
        policy: HostKeyPolicy::AcceptNew,
        keepalive: Some(Duration::from_secs(1)),
        key_alias: Some("matched".to_owned()),
        ..plain(&home, "db")
    };
    assert_eq!(home.route("db").await, Ok(expected));
}

#[tokio::test]
async fn a_home_that_is_not_the_accounts_own_has_its_own_files_alone() {
    let home = Home::new(&[]);
    let config = Config { client_config: ClientConfig::OpenSsh, ..home.config.clone() };
    assert_eq!(Book::new(config.clone()).route("web").await, Ok(plain(&home, "web")));
    std::fs::write(home.path(".ssh/config"), "Host web\n Port 2200\n").unwrap();
    assert_eq!(Book::new(config).route("web").await.unwrap().port, 2200);
}

#[tokio::test]
async fn an_alias_that_would_stand_for_every_host_is_refused() {
    let home = Home::new(&[("config", "Host web\n HostKeyAlias *\n")]);
    let error = home.route("web").await.unwrap_err();
    let expected = "the configuration of web is wrong: the alias \"*\" would stand for more than one host; mend it";
    assert_eq!((error.kind(), error.message()), (ErrorKind::FailedPrecondition, expected));
}

/// The hosts of a way, from the first to the last.
fn way(route: &Route) -> Vec<String> {
    let shown = |route: &Route| format!("{}@{}:{}", route.user, route.host, route.port);
    match &route.via {
        Via::Jump(hops) => hops.iter().chain([route]).map(shown).collect(),
        Via::Command(line) => vec![format!("({line})"), shown(route)],
        Via::Direct => vec![shown(route)],
    }
}

const JUMPS: &str = "\
Host inner
  ProxyJump middle,x@last:77
Host middle
  HostName 10.0.0.2
  ProxyJump outer
Host last
  ProxyJump elsewhere
Host outer
  Port 2200
Host free
  ProxyJump none
Host loop
  ProxyJump pool
Host pool
  ProxyJump loop
Host behind
  ProxyJump tunnel
Host tunnel
  ProxyCommand tunnel %h
Host *
  User u
";

#[tokio::test]
async fn each_host_on_the_way_is_what_its_own_configuration_says() {
    let home = Home::new(&[("config", JUMPS)]);
    for home in [Home { config: home.config.clone(), directory: tempfile::tempdir().unwrap() }, home.without_client()] {
        let route = home.route("inner").await.unwrap();
        // What comes before the last hop is said where the way is; the first hop has a way of its own.
        assert_eq!(way(&route), ["u@outer:2200", "u@10.0.0.2:22", "x@last:77", "u@inner:22"]);
        assert_eq!(home.route("free").await.unwrap().via, Via::Direct);
        let Via::Jump(hops) = home.route("behind").await.unwrap().via else { panic!("there is a hop") };
        assert_eq!(hops.iter().map(way).collect::<Vec<_>>(), [["(tunnel tunnel)", "u@tunnel:22"]]);
        let error = home.route("loop").await.unwrap_err();
        assert!(error.message().contains("it leads in a circle"), "{error}");
    }
}

#[tokio::test]
async fn a_host_on_the_way_may_be_one_of_our_own_configuration() {
    let bastion = HostConfig {
        name: "bastion".to_owned(),
        host: Some("10.0.0.1".to_owned()),
        user: Some("b".to_owned()),
        ..HostConfig::default()
    };
    let inner = HostConfig { name: "inner".to_owned(), jump: Some("bastion:2200".to_owned()), ..HostConfig::default() };
    let home = Home::new(&[]).with_host(bastion).with_host(inner);
    let route = home.route("inner").await.unwrap();
    assert_eq!(way(&route), ["b@10.0.0.1:2200".to_owned(), format!("{}@inner:22", user())]);
}

#[tokio::test]
async fn an_edited_file_holds_from_the_next_connect_on() {
    let home = Home::new(&[("config", "Host web\n Port 1\n Include more\n")]);
    // Relative paths begin where the client thinks it is at home.
    let more = home.path("more");
    let config = home.path(".ssh/config");
    let write = |path: &Path, text: &str| std::fs::write(path, text).unwrap();
    write(&config, &format!("Include {}\nHost web\n Port 1\n", more.display()));
    let book = Book::new(home.config.clone());
    let mut ports = vec![book.route("web").await.unwrap().port];
    write(&more, "Host web\n Port 2\n");
    ports.push(book.route("web").await.unwrap().port);
    ports.push(book.route("web").await.unwrap().port);
    write(&more, "Host web\n Port 3\n");
    ports.push(book.route("web").await.unwrap().port);
    assert_eq!(ports, [1, 2, 2, 3]);
}

#[tokio::test]
async fn the_client_is_asked_once_while_its_files_stay_as_they_are() {
    use std::os::unix::fs::PermissionsExt;

    let home = Home::new(&[("config", "Host web\n Port 2200\n")]);
    let (program, asked) = (home.path("ssh"), home.path("asked"));
    std::fs::write(&program, format!("#!/bin/sh\necho >> {}\nexec ssh \"$@\"\n", asked.display())).unwrap();
    std::fs::set_permissions(&program, PermissionsExt::from_mode(0o755)).unwrap();
    let book = Book::new(Config { ssh_program: Some(program), ..home.config.clone() });
    let times = || std::fs::read_to_string(&asked).unwrap().lines().count();
    for _ in 0..3 {
        assert_eq!(book.route("web").await.unwrap().port, 2200);
    }
    assert_eq!(times(), 1);
    std::fs::write(home.path(".ssh/config"), "Host web\n Port 2201\n").unwrap();
    assert_eq!(book.route("web").await.unwrap().port, 2201);
    assert_eq!(times(), 2);
}

#[tokio::test]
async fn what_may_change_without_the_file_is_asked_for_each_time() {
    let home = Home::new(&[]);
    let flag = home.path("flag");
    let text = format!("Match exec \"test -e {}\"\n Port 2\nHost web\n Port 1\n", flag.display());
    std::fs::write(home.path(".ssh/config"), text).unwrap();
    let book = Book::new(home.config.clone());
    assert_eq!(book.route("web").await.unwrap().port, 1);
    std::fs::write(&flag, "").unwrap();
    assert_eq!(book.route("web").await.unwrap().port, 2);
}

#[tokio::test]
async fn a_wrong_configuration_is_refused_with_the_words_of_who_found_it() {
    let refused = async |text: &str, client: bool| {
        let home = Home::new(&[("config", text)]);
        let file = home.path(".ssh/config").display().to_string();
        let home = if client { home } else { home.without_client() };
        let error = home.route("web").await.unwrap_err();
        (error.kind(), error.message().replace(&file, "FILE"))
    };
    let (kind, message) = refused("Host web\n Port x\n", true).await;
    assert_eq!(kind, ErrorKind::FailedPrecondition);
    assert!(message.starts_with("ssh -G web: FILE line 2: "), "{message}");
    let wrong = |why: &str| (ErrorKind::FailedPrecondition, format!("the configuration of web is wrong: {why}"));
    assert_eq!(refused("Host web\n Port x\n", false).await, wrong("FILE line 2: x is no port"));
    assert_eq!(refused("Host web\n User 'x\n", false).await, wrong("FILE line 2: a quote is left open"));
    let installed = "is understood by the OpenSSH client alone: install it";
    assert_eq!(refused("Match host web\n", false).await, wrong(&format!("FILE line 1: Match {installed}")));
    let canonical =
        wrong(&format!("FILE line 1: {}", installed.replace("is understood", "canonical names are understood")));
    assert_eq!(refused("CanonicalizeHostname yes\n", false).await, canonical);
    let (kind, _) = refused("Host web\n ProxyCommand x\n ProxyUseFdpass yes\n", true).await;
    assert_eq!(kind, ErrorKind::Unsupported);
    assert_eq!(refused("Host web\n HostName -oX\n", true).await.0, ErrorKind::FailedPrecondition);
    assert_eq!(refused("Host web\n User $(x)\n ProxyCommand y %r\n", true).await.0, ErrorKind::FailedPrecondition);
}

#[tokio::test]
async fn a_client_that_hangs_is_given_up() {
    let home = Home::new(&[]);
    std::fs::write(home.path(".ssh/config"), "Match exec \"sleep 600\"\n Port 2\n").unwrap();
    let book = Book::new(home.config.clone());
    let route = tokio::time::timeout(Duration::from_millis(200), book.route("web")).await;
    assert!(route.is_err());
}

#[tokio::test]
async fn a_file_of_the_user_that_others_can_write_is_not_believed() {
    use std::os::unix::fs::PermissionsExt;

    let home = Home::new(&[("config", "Host web\n Port 2200\n")]).without_client();
    let book = Book::new(Config { client_config: ClientConfig::OpenSsh, ..home.config.clone() });
    assert_eq!(book.route("web").await.unwrap().port, 2200);
    let config = home.path(".ssh/config");
    std::fs::set_permissions(&config, PermissionsExt::from_mode(0o664)).unwrap();
    let error = book.route("web").await.unwrap_err();
    let expected = format!(
        "the configuration of web is wrong: others than its owner can write {}: chmod 600 it",
        config.display()
    );
    assert_eq!((error.kind(), error.message()), (ErrorKind::FailedPrecondition, expected.as_str()));
}

/// What our own reading of a file makes of a name, as `ssh -G` would print it.
fn ours(file: &Path, name: &str) -> Settings {
    let base = Base { directory: Path::new("/none"), home: Path::new("/none") };
    let mut settings = Wish::named(name).settings();
    evaluate(&Files::read(file, base).items, name, &mut settings).unwrap();
    settings
}

/// What the client makes of it, less what it prints where nothing is said.
fn theirs(file: &Path, name: &str, keyword: &str) -> Vec<String> {
    let run = Command::new("ssh").arg("-G").arg("-F").arg(file).arg(name).output();
    let run = run.expect("ssh (Debian package openssh-client) is needed");
    assert!(run.status.success(), "{}", String::from_utf8_lossy(&run.stderr));
    let printed = String::from_utf8(run.stdout).unwrap();
    let found = printed.lines().filter_map(|line| line.strip_prefix(keyword)?.strip_prefix(' '));
    found.map(str::to_owned).collect()
}

fn patterns() -> impl Strategy<Value = String> {
    prop::collection::vec(prop::sample::select(vec!["a", "b", "ab", "*", "a*", "?", "!a", "!*b", "\"b\"", "A"]), 1..4)
        .prop_map(|patterns| patterns.join(" "))
}

fn setting() -> impl Strategy<Value = String> {
    let value = prop::sample::select(vec!["x", "y", "\"x y\"", "'z'", "x#y", "x # y", "a\\ b"]);
    let path = prop::sample::select(vec!["/x", "\"/x y\"", "/z", "none"]);
    let number = 1..9u16;
    let separator = prop::sample::select(vec![" ", "=", " = ", "\t"]);
    prop_oneof![
        (separator.clone(), value).prop_map(|(separator, value)| format!("User{separator}{value}")),
        (separator.clone(), number.clone()).prop_map(|(separator, port)| format!("pOrT{separator}{port}")),
        (separator.clone(), path.clone()).prop_map(|(separator, path)| format!("IdentityFile{separator}{path}")),
        (separator.clone(), path).prop_map(|(separator, path)| format!("CertificateFile{separator}{path}")),
        (separator.clone(), number.clone())
            .prop_map(|(separator, time)| format!("ServerAliveInterval{separator}{time}")),
        (separator.clone(), number).prop_map(|(separator, n)| format!("ProxyJump{separator}u@h{n}:{n},k")),
        separator.prop_map(|separator| format!("ProxyCommand{separator}nc \"%h\" %p # x")),
        Just("ProxyJump none".to_owned()),
        Just("ProxyCommand none".to_owned()),
        Just("HostName h.example".to_owned()),
        Just("HostKeyAlias Alias".to_owned()),
    ]
}

fn config_line() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => patterns().prop_map(|patterns| format!("Host {patterns}")),
        6 => setting().prop_map(|setting| format!("  {setting}\r")),
        1 => Just("Match all".to_owned()),
        1 => Just("Include INCLUDED".to_owned()),
        1 => Just("# comment".to_owned()),
        1 => Just(String::new()),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn our_own_reading_and_the_clients_agree(
        lines in prop::collection::vec(config_line(), 1..14),
        included in prop::collection::vec(config_line(), 0..6),
    ) {
        let directory = tempfile::tempdir().unwrap();
        let (file, other) = (directory.path().join("config"), directory.path().join("included"));
        let text = lines.join("\n").replace("INCLUDED", &other.display().to_string());
        std::fs::write(&file, &text).unwrap();
        std::fs::write(&other, included.join("\n").replace("Include INCLUDED", "")).unwrap();
        for name in ["a", "b"] {
            let settings = ours(&file, name);
            for keyword in ["user", "port", "identityfile", "certificatefile", "serveraliveinterval", "hostkeyalias",
                "hostname", "proxycommand", "proxyjump"]
            {
                let expected = theirs(&file, name, keyword);
                let found = settings.all(keyword);
                // The client prints its defaults too, but never a carrier that is none.
                if !found.is_empty() && found != ["none"] {
                    prop_assert_eq!(found, &expected, "{} of {} in {}\n---\n{}", keyword, name, &text, included.join("\n"));
                } else if ["certificatefile", "hostkeyalias", "proxycommand", "proxyjump"].contains(&keyword) {
                    let none = expected.is_empty() || expected == ["none"];
                    prop_assert!(none, "{} of {} in {}: {:?}", keyword, name, &text, expected);
                }
            }
        }
    }
}

#[tokio::test]
async fn strict_checking_is_strict_however_it_is_written() {
    for (word, policy) in [("YES", HostKeyPolicy::Strict), ("Accept-New", HostKeyPolicy::AcceptNew)] {
        let home = Home::new(&[("config", &format!("Host web\n  StrictHostKeyChecking {word}\n"))]);
        let other = match policy {
            HostKeyPolicy::Strict => HostKeyPolicy::AcceptNew,
            HostKeyPolicy::AcceptNew => HostKeyPolicy::Strict,
        };
        let mut home = home.without_client();
        home.config.host_keys = other;
        assert_eq!(home.route("web").await.unwrap().policy, policy, "{word}");
    }
}

#[tokio::test]
async fn hosts_that_nobody_has_connected_to_keep_no_other_out() {
    use sessiond_core::{TargetName, Targets};

    let config = Config { any_host: true, client_config: ClientConfig::Nothing, ..Config::default() };
    let hosts = super::Hosts::new(config).unwrap();
    let kept = hosts.resolve(&TargetName::new("kept").unwrap()).await.unwrap().backend;
    for number in 0..super::MOST + 2 {
        hosts.resolve(&TargetName::new(format!("host-{number}")).unwrap()).await.unwrap();
    }
    let again = hosts.resolve(&TargetName::new("kept").unwrap()).await.unwrap().backend;
    assert!(std::sync::Arc::ptr_eq(&kept, &again), "who is used stays");
}
