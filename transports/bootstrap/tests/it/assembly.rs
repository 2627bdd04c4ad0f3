//! What comes of a configuration: targets, and the environment of their children.

use sessiond_bootstrap::Environment;

#[test]
fn children_get_the_environment_without_what_is_the_servers_own() {
    let server = Environment::of([
        ("PATH", "/usr/bin"),
        ("SESSIOND_CONFIG", "/etc/sessiond.toml"),
        ("SESSIOND_SESSION", "0123456789abcdef"),
        ("SESSIOND_LIMITS__STOP_GRACE_MS", "500"),
        ("PLATFORM_TOKEN", "hunter2"),
        ("HOME", "/home/agent"),
    ]);
    let children = server.for_children(&["PLATFORM_TOKEN".into()]);
    let of = |name: &str, value: &str| (name.into(), value.into());
    assert_eq!(children, [of("PATH", "/usr/bin"), of("HOME", "/home/agent")]);
}

#[test]
fn an_environment_prints_its_names_alone() {
    let printed = format!("{:?}", Environment::of([("PLATFORM_TOKEN", "hunter2")]));
    assert_eq!(printed, "[\"PLATFORM_TOKEN\"]");
}
