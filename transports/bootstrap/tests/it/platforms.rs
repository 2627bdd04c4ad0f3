//! Agent platforms: what is configured of them, and what comes of it.

use sessiond_bootstrap::{Args, Bootstrap, Environment};
use sessiond_core::{Call, Owner, PlatformInfo, Service};

use crate::support::{Written, changes, from_text};

/// A platform with these lines, in the target `plan`.
fn platform(lines: &str) -> String {
    format!("[targets.plan]\nbackend = 'agent-platform'\n{lines}")
}

fn refusal(lines: &str) -> String {
    from_text(&platform(lines)).unwrap_err()
}

#[test]
fn a_platform_needs_a_dialect_and_an_address() {
    assert_eq!(
        refusal(""),
        "config.toml:2: targets.plan.dialect is missing: it is one of itential, langgraph\n\
         config.toml:2: targets.plan.url is missing: write it like https://host"
    );
    let told = "config.toml:4: targets.plan.url must be an address like https://host, without a credential in it";
    for url in ["platform.test", "ftp://platform.test", "https://", "https://ada:secret@platform.test", "https://a b"] {
        assert_eq!(refusal(&format!("dialect = 'itential'\nurl = '{url}'\n")), told, "{url}");
    }
    assert_eq!(
        refusal("dialect = 'temporal'\nurl = 'https://h'\n").lines().next().unwrap(),
        "config.toml:3: targets.plan.dialect must be one of itential, langgraph"
    );
}

#[test]
fn each_way_to_log_in_needs_its_own() {
    let refused = |lines: &str| refusal(&format!("dialect = 'itential'\nurl = 'https://h'\n{lines}"));
    assert_eq!(
        refused("auth = 'login'\npassword_env = 'SECRET'\n"),
        "config.toml:5: targets.plan.auth = \"login\" needs user"
    );
    assert_eq!(
        refused("auth = 'token'\n"),
        "config.toml:5: targets.plan.auth = \"token\" needs one of token_file, token_env, token_command"
    );
    assert_eq!(refused("auth = 'oauth'\n").lines().count(), 2, "the id and the secret of the client are both missing");
    assert_eq!(
        refused("token_file = '~/token'\n"),
        "config.toml:5: targets.plan.token_file is of no use without auth: set auth to what it is for"
    );
    assert_eq!(
        refused("auth = 'token'\ntoken_env = 'A'\ntoken_command = 'b'\n"),
        "config.toml:7: targets.plan.token_command excludes targets.plan.token_env, which config.toml:6 sets: \
         keep one of them"
    );
    assert_eq!(
        refused("auth = 'oauth'\nclient_id_env = 'A'\nclient_secret_env = 'B'\ntoken_header = 'X-Api-Key'\n"),
        "config.toml:8: targets.plan.token_header is of use with auth = \"token\" only: leave it out"
    );
    assert_eq!(
        refused("client_key_file = '~/key'\n"),
        "config.toml:5: targets.plan.client_key_file needs client_cert_file beside it: set both, or neither"
    );
}

#[test]
fn what_is_missing_may_come_from_a_variable() {
    let file = Written::new(&platform("dialect = 'itential'\nauth = 'token'\ntoken_env = 'PLATFORM_TOKEN'\n"));
    let configuration = file.load(&[("SESSIOND_TARGETS__PLAN__URL", "https://h/base")]).unwrap();
    assert_eq!(
        changes(&configuration),
        [
            "targets.plan.backend = \"agent-platform\"",
            "targets.plan.dialect = \"itential\"",
            "targets.plan.url = \"https://h/base\"",
            "targets.plan.auth = \"token\"",
            "targets.plan.token_env = \"PLATFORM_TOKEN\"",
        ]
    );
}

#[test]
fn a_disabled_platform_may_be_unfinished() {
    assert_eq!(from_text(&platform("enabled = false\n")).err(), None);
}

/// What a configuration makes, in an environment of these variables.
async fn assembled(text: &str, variables: &[(&str, &str)]) -> Result<Vec<(String, Option<PlatformInfo>)>, String> {
    let file = Written::new(text);
    let args = Args { config: Some(file.path()), log: None };
    let bootstrap =
        Bootstrap::load(&args, Environment::of(variables.iter().copied())).map_err(|error| error.to_string())?;
    let assembly = bootstrap.assemble().map_err(|error| error.to_string())?;
    let listed = assembly.registry.list_platforms(&Call::new(Owner::management("ada"))).await;
    assert_eq!(assembly.has_platforms, !listed.as_ref().unwrap().platforms.is_empty());
    assembly.shutdown().await;
    Ok(listed.unwrap().platforms.into_iter().map(|info| (info.name.to_string(), info.platform)).collect())
}

#[tokio::test]
async fn a_platform_is_a_target_that_is_asked_nothing_before_it_is_used() {
    assert_eq!(assembled("", &[]).await, Ok(Vec::new()));
    let text = platform("dialect = 'langgraph'\nurl = 'http://127.0.0.1:1'\nauth = 'token'\ntoken_env = 'NOT_SET'\n");
    let info = PlatformInfo { dialect: "langgraph".to_owned() };
    assert_eq!(assembled(&text, &[]).await, Ok(vec![("plan".to_owned(), Some(info))]));
}

#[tokio::test]
async fn the_header_for_a_token_is_named_like_one() {
    let with = |header: &str| {
        let token = format!("auth = 'token'\ntoken_env = 'NOT_SET'\ntoken_header = '{header}'\n");
        platform(&format!("dialect = 'langgraph'\nurl = 'http://127.0.0.1:1'\n{token}"))
    };
    assert_eq!(assembled(&with("X-Api-Key"), &[]).await.unwrap().len(), 1);
    let refused = assembled(&with("X Api Key"), &[]).await.unwrap_err();
    assert!(refused.contains("target plan: the target's token_header is no header's name"), "{refused}");
}

#[tokio::test]
async fn a_certificate_that_is_not_there_is_told_by_the_targets_name() {
    let text = platform("dialect = 'itential'\nurl = 'https://h'\nca_file = '/nowhere/ca.pem'\n");
    let refused = assembled(&text, &[]).await.unwrap_err();
    assert!(refused.contains("target plan: /nowhere/ca.pem cannot be read"), "{refused}");
}
