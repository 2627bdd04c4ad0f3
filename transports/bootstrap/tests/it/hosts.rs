//! SSH hosts: what is configured of them, and what comes of it.

use std::time::Duration;

use sessiond_bootstrap::{Args, Bootstrap, Environment};
use sessiond_core::{Call, HostInfo, ListTargets, Owner, Service};

use crate::support::{Written, changes, from_text};

/// The names of the targets that a configuration makes in a home directory, with who names the hosts among them; and
/// whether there are hosts.
async fn assembled(text: &str, client_config: Option<&str>) -> Result<(Vec<(String, Option<HostInfo>)>, bool), String> {
    let home = tempfile::tempdir().unwrap();
    if let Some(client_config) = client_config {
        std::fs::create_dir(home.path().join(".ssh")).unwrap();
        std::fs::write(home.path().join(".ssh/config"), client_config).unwrap();
    }
    let file = Written::new(text);
    let args = Args { config: Some(file.path()), log: None };
    let bootstrap =
        Bootstrap::load(&args, Environment::of([("HOME", home.path())])).map_err(|error| error.to_string())?;
    let assembly = bootstrap.assemble().map_err(|error| error.to_string())?;
    let targets = assembly.registry.list_targets(&Call::new(Owner::management("ada")), ListTargets::default()).await;
    let has_hosts = assembly.has_hosts;
    assembly.shutdown().await;
    let place = home.path().display().to_string();
    let shown = |host: HostInfo| HostInfo { source: host.source.replace(&place, "~"), ..host };
    let names = targets.unwrap().into_iter().map(|it| (it.info.name.to_string(), it.info.host.map(shown)));
    Ok((names.collect(), has_hosts))
}

fn host(name: &str, description: Option<&str>, source: &str) -> (String, Option<HostInfo>) {
    let info = HostInfo { description: description.map(str::to_owned), source: source.to_owned() };
    (name.to_owned(), Some(info))
}

fn local() -> (String, Option<HostInfo>) {
    ("local".to_owned(), None)
}

#[tokio::test]
async fn without_a_word_about_hosts_there_is_none() {
    assert_eq!(assembled("", None).await, Ok((vec![local()], false)));
    assert_eq!(assembled("", Some("Host *\n  User ada\n")).await, Ok((vec![local()], false)));
}

#[tokio::test]
async fn the_client_configurations_hosts_are_there_without_further_words() {
    let client_config = Some("Host web\n  HostName 10.0.0.7\n");
    let both = Ok((vec![local(), host("web", None, "~/.ssh/config")], true));
    assert_eq!(assembled("", client_config).await, both);
    let machine = Ok((vec![local()], false));
    assert_eq!(assembled("[ssh]\nenabled = false\n", client_config).await, machine);
    assert_eq!(assembled("[ssh]\nconfig = '/dev/null'\n", client_config).await, machine);
    let alone = Ok((vec![host("web", None, "~/.ssh/config")], true));
    assert_eq!(assembled("[targets.local]\nenabled = false\n", client_config).await, alone);
}

#[tokio::test]
async fn a_target_over_ssh_is_a_host() {
    let text = "[targets.box]\nbackend = 'ssh'\nhost = '10.0.0.5'\ndescription = 'builds'\n\
                [targets.off]\nbackend = 'ssh'\nenabled = false\n";
    let hosts = Ok((vec![local(), host("box", Some("builds"), "configuration")], true));
    assert_eq!(assembled(text, None).await, hosts);
}

#[tokio::test]
async fn where_any_host_will_do_there_are_hosts_that_nobody_can_list() {
    assert_eq!(assembled("[ssh]\nany_host = true\n", None).await, Ok((vec![local()], true)));
    assert_eq!(assembled("[ssh]\nany_host = true\nenabled = false\n", None).await, Ok((vec![local()], false)));
}

#[tokio::test]
async fn a_server_that_has_nothing_to_run_on_does_not_start() {
    assert_eq!(
        assembled("[targets.local]\nenabled = false\n", None).await,
        Err("there is nothing to run anything on: every target is disabled, and there is no SSH host".to_owned())
    );
}

#[tokio::test]
async fn a_name_that_no_host_can_have_is_refused() {
    let refused = assembled("[targets.\"-oProxyCommand=x\"]\nbackend = 'ssh'\n", None).await.unwrap_err();
    assert!(refused.contains("-oProxyCommand=x"), "{refused}");
}

#[test]
fn what_is_set_for_all_hosts_is_kept() {
    let text = "[ssh]\nany_host = true\nhost_keys = 'accept-new'\nconnect_timeout_ms = 500\nkeepalive_ms = 0\n\
                max_connections = 2\nlinger_ms = 0\nwrite_stall_ms = 1\nconfig = '~/hosts'\nprogram = '/usr/bin/ssh'\n";
    let configuration = from_text(text).unwrap();
    assert_eq!(
        changes(&configuration),
        [
            "ssh.config = \"~/hosts\"",
            "ssh.program = \"/usr/bin/ssh\"",
            "ssh.any_host = true",
            "ssh.host_keys = \"accept-new\"",
            "ssh.connect_timeout_ms = 500",
            "ssh.keepalive_ms = 0",
            "ssh.max_connections = 2",
            "ssh.linger_ms = 0",
            "ssh.write_stall_ms = 1",
        ]
    );
    assert_eq!(configuration.ssh.keepalive, None);
    assert_eq!(configuration.ssh.connect_timeout, Duration::from_millis(500));
}

#[test]
fn a_secret_comes_one_way_alone() {
    let host = "[targets.box]\nbackend = 'ssh'\n";
    assert!(from_text(&format!("{host}password_env = 'A'\npassphrase_file = '/b'\n")).is_ok());
    assert_eq!(
        from_text(&format!("{host}password_command = 'c'\npassword_file = '/a'\n")).unwrap_err(),
        "config.toml:3: targets.box.password_command excludes targets.box.password_file, which config.toml:4 sets: keep \
         one of them"
    );
    let file = Written::new(&format!("{host}passphrase_file = '/a'\n"));
    let refused = file.load(&[("SESSIOND_TARGETS__BOX__PASSPHRASE_ENV", "A")]).unwrap_err();
    assert_eq!(
        refused,
        "SESSIOND_TARGETS__BOX__PASSPHRASE_ENV excludes targets.box.passphrase_file, which config.toml:3 sets: keep one \
         of them"
    );
}

#[test]
fn a_password_in_the_place_of_its_source_is_not_repeated() {
    let refused = from_text("[targets.box]\nbackend = 'ssh'\npassword = 'hunter2'\n").unwrap_err();
    assert!(refused.starts_with("config.toml:3: targets.box.password is not a known key"), "{refused}");
    let file = from_text("[targets.box]\nbackend = 'ssh'\npassword_file = 'hunter2'\n").unwrap_err();
    assert!(!refused.contains("hunter2") && !file.contains("hunter2"), "{refused} {file}");
}

#[tokio::test]
async fn a_variable_with_a_credential_is_kept_from_children() {
    let file = Written::new("[targets.box]\nbackend = 'ssh'\nenabled = false\npassword_env = 'BOX_PASSWORD'\n");
    let environment = Environment::of([
        ("PATH", std::env::var_os("PATH").unwrap()),
        ("BOX_PASSWORD", "hunter2".into()),
        ("OTHER", "kept".into()),
        ("HOME", "/".into()),
    ]);
    let args = Args { config: Some(file.path()), log: None };
    let assembly = Bootstrap::load(&args, environment).unwrap().assemble().unwrap();
    let cx = Call::new(Owner::management("ada"));
    let request = sessiond_core::ExecuteCommand {
        target: Some(sessiond_core::TargetName::new("local").unwrap()),
        client_id: None,
        invocation: sessiond_core::Invocation::new("echo \"$BOX_PASSWORD$OTHER\""),
        stdin: "".into(),
        time_limit: None,
    };
    let result = assembly.registry.execute_command(&cx, request).await.unwrap();
    assembly.shutdown().await;
    assert_eq!(result.stdout, "kept\n");
}
