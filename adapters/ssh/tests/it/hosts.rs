//! Which hosts are targets, as whoever lists or asks for them sees it.

use std::path::PathBuf;

use sessiond_core::{ErrorKind, HostInfo, TargetInfo, TargetName, Targets};
use sessiond_ssh::{ClientConfig, Config, HostConfig, Hosts};
use tempfile::TempDir;

/// A client configuration in a directory of its own.
struct Client {
    _directory: TempDir,
    file: PathBuf,
}

impl Client {
    fn new(text: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let file = directory.path().join("config");
        std::fs::write(&file, text).unwrap();
        Self { _directory: directory, file }
    }

    fn config(&self) -> Config {
        Config { client_config: ClientConfig::File(self.file.clone()), ..Config::default() }
    }
}

fn configured(name: &str, description: Option<&str>) -> HostConfig {
    HostConfig { name: name.to_owned(), description: description.map(str::to_owned), ..HostConfig::default() }
}

fn target(name: &str, description: Option<&str>, source: &str) -> TargetInfo {
    let host = HostInfo { description: description.map(str::to_owned), source: source.to_owned() };
    TargetInfo { host: Some(host), ..TargetInfo::new(TargetName::new(name).unwrap(), "ssh") }
}

async fn refusal(hosts: &Hosts, name: &str) -> (ErrorKind, String) {
    let error = hosts.resolve(&TargetName::new(name).unwrap()).await.err().expect("no such host");
    (error.kind(), error.message().to_owned())
}

#[tokio::test]
async fn the_hosts_of_both_configurations_are_listed_and_can_be_asked_for() {
    let client = Client::new("Host web db *.example\nHost db\nHost cache\n");
    let own = vec![configured("db", Some("the database")), configured("mail", None)];
    let hosts = Hosts::new(Config { hosts: own, ..client.config() }).unwrap();
    let file = client.file.display().to_string();
    let expected = [
        target("db", Some("the database"), "configuration"),
        target("mail", None, "configuration"),
        target("web", None, &file),
        target("cache", None, &file),
    ];
    assert_eq!(hosts.list(), expected);
    for info in expected {
        assert_eq!(hosts.resolve(&info.name).await.ok().map(|found| found.info), Some(info));
    }
}

#[tokio::test]
async fn a_host_that_nobody_names_is_not_found_and_the_answer_says_how_it_would_be() {
    let client = Client::new("Host *.example\n");
    let hosts = Hosts::new(client.config()).unwrap();
    assert_eq!(hosts.list(), []);
    let expected = format!(
        "there is no target \"web.example\": list_clients shows those there are; to reach another host, its operator adds a \
         Host entry with this very name in {}, a host in the configuration of this server, or any_host = true",
        client.file.display()
    );
    assert_eq!(refusal(&hosts, "web.example").await, (ErrorKind::NotFound, expected));
}

#[tokio::test]
async fn any_host_may_be_asked_for_where_the_operator_says_so_but_not_by_any_name() {
    let hosts = Hosts::new(Config { any_host: true, ..Client::new("").config() }).unwrap();
    let name = TargetName::new("web.example").unwrap();
    let found = hosts.resolve(&name).await.ok().map(|found| found.info);
    assert_eq!(found, Some(target("web.example", None, "any_host")));
    assert_eq!(hosts.list(), []);
    for name in ["-oProxyCommand=x", "a b", "$(x)", "u@web", "a;b", "*"] {
        assert_eq!(refusal(&hosts, name).await.0, ErrorKind::NotFound, "{name}");
    }
}

#[tokio::test]
async fn the_list_follows_the_file() {
    let client = Client::new("Host web\n");
    let hosts = Hosts::new(client.config()).unwrap();
    let names = || hosts.list().into_iter().map(|info| info.name.to_string()).collect::<Vec<_>>();
    assert_eq!(names(), ["web"]);
    std::fs::write(&client.file, "Host web db\n").unwrap();
    assert_eq!(names(), ["web", "db"]);
    std::fs::remove_file(&client.file).unwrap();
    assert_eq!(names(), Vec::<String>::new());
    assert_eq!(refusal(&hosts, "web").await.0, ErrorKind::NotFound);
}

#[tokio::test]
async fn a_host_has_one_backend_for_good() {
    let client = Client::new("Host web\n");
    let hosts = Hosts::new(client.config()).unwrap();
    let name = TargetName::new("web").unwrap();
    let (one, two) = (hosts.resolve(&name).await.ok().unwrap(), hosts.resolve(&name).await.ok().unwrap());
    assert!(std::sync::Arc::ptr_eq(&one.backend, &two.backend));
    assert!(one.backend.connections().is_some());
}

#[test]
fn names_that_no_host_can_have_are_refused_at_the_start() {
    for names in [vec!["-x"], vec!["a b"], vec![""], vec!["a", "a"], vec!["a;b"]] {
        let hosts = names.iter().map(|name| configured(name, None)).collect();
        let refused = Hosts::new(Config { hosts, ..Config::default() }).err().map(|error| error.kind());
        assert_eq!(refused, Some(ErrorKind::InvalidArgument), "{names:?}");
    }
}

#[test]
fn settings_that_no_host_can_have_are_refused_at_the_start_by_name() {
    let refused = |host: HostConfig| {
        let hosts = vec![HostConfig { name: "web".to_owned(), ..host }];
        let error = Hosts::new(Config { hosts, ..Config::default() }).err().expect("it is wrong");
        (error.kind(), error.message().to_owned())
    };
    let some = |text: &str| Some(text.to_owned());
    let expected = |message: &str| (ErrorKind::InvalidArgument, message.to_owned());
    let plain = "leave out blanks, leading dashes and what a shell acts on";
    assert_eq!(
        refused(HostConfig { host: some("-oX"), ..HostConfig::default() }),
        expected(&format!("host \"-oX\" of host web cannot be: {plain}"))
    );
    assert_eq!(
        refused(HostConfig { user: some("$(x)"), ..HostConfig::default() }),
        expected(&format!("user \"$(x)\" of host web cannot be: {plain}"))
    );
    assert_eq!(
        refused(HostConfig { jump: some("a,,b"), ..HostConfig::default() }),
        expected("jump \"a,,b\" of host web cannot be: \"\" is no host to go through")
    );
    assert_eq!(
        refused(HostConfig { port: Some(0), ..HostConfig::default() }),
        expected("port \"0\" of host web cannot be: ports begin at 1")
    );
}
