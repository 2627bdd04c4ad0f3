//! Variables over the file.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;

use sessiond_bootstrap::{Args, Bootstrap, Environment, LogLevel};

use crate::support::{Written, changes, from_variables, load};

fn refused(name: &str, value: &str) -> String {
    from_variables(&[(name, value)]).unwrap_err()
}

#[test]
fn a_variable_goes_before_the_file() {
    let file = Written::new("[limits]\nstop_grace_ms = 100\nlaunch_ms = 200\n");
    let configuration = file.load(&[("SESSIOND_LIMITS__STOP_GRACE_MS", "500")]).unwrap();
    assert_eq!(changes(&configuration), ["limits.stop_grace_ms = 500", "limits.launch_ms = 200"]);
}

#[test]
fn every_kind_of_key_has_a_variable() {
    let file = Written::new("[targets.build-box]\nbackend = 'pty'\n");
    let configuration = file
        .load(&[
            ("SESSIOND_LIMITS__RUNNING_PER_OWNER", "3"),
            ("SESSIOND_MCP__TEXT", "full"),
            ("SESSIOND_LOG__FORMAT", "json"),
            ("SESSIOND_CONNECT", "auto"),
            ("SESSIOND_TARGETS__LOCAL__ENABLED", "false"),
            ("SESSIOND_TARGETS__BUILD_BOX__CWD", "/srv"),
            ("SESSIOND_TARGETS__BUILD_BOX__ENV__http_proxy", "http://proxy:3128"),
            ("SESSIOND_TARGETS__BUILD_BOX__ENV__A__B", "c"),
        ])
        .unwrap();
    assert_eq!(
        changes(&configuration),
        [
            "limits.running_per_owner = 3",
            "mcp.text = \"full\"",
            "log.format = \"json\"",
            "targets.build-box.backend = \"pty\"",
            "targets.build-box.cwd = \"/srv\"",
            "targets.build-box.env = { A__B, http_proxy }",
            "targets.local.enabled = false",
        ]
    );
}

#[test]
fn a_bad_value_is_refused_with_the_variable() {
    assert_eq!(
        refused("SESSIOND_LIMITS__STOP_GRACE_MS", "hunter2"),
        "SESSIOND_LIMITS__STOP_GRACE_MS must be a whole number of milliseconds from 0 to 600000"
    );
    assert_eq!(
        refused("SESSIOND_LIMITS__STOP_GRACE_MS", "600001"),
        "SESSIOND_LIMITS__STOP_GRACE_MS must be a whole number of milliseconds from 0 to 600000, not 600001"
    );
    assert_eq!(
        refused("SESSIOND_TARGETS__LOCAL__SHELL", "bash"),
        "SESSIOND_TARGETS__LOCAL__SHELL must be an absolute path"
    );
}

#[test]
fn an_unknown_variable_of_ours_is_refused_with_the_nearest_known_one() {
    assert_eq!(
        refused("SESSIOND_LIMITS__STOP_GRACE", "5"),
        "SESSIOND_LIMITS__STOP_GRACE sets no known key; the nearest one is SESSIOND_LIMITS__STOP_GRACE_MS"
    );
    assert_eq!(
        refused("SESSIOND_TARGETS__LOCL__SHELL", "/bin/sh"),
        "SESSIOND_TARGETS__LOCL__SHELL sets no known key; the nearest one is SESSIOND_TARGETS__LOCAL__SHELL"
    );
    assert_eq!(
        refused("SESSIOND_TARGETS__LOCL", "/bin/sh"),
        "SESSIOND_TARGETS__LOCL sets no known key; the nearest one is SESSIOND_TARGETS__LOCAL__CWD"
    );
    assert_eq!(
        refused("SESSIOND_LOGS", "5"),
        "SESSIOND_LOGS sets no known key; the nearest one is SESSIOND_LOG__LEVEL"
    );
    assert_eq!(
        refused("SESSIOND_VAULT_ADDRESS_AND_TOKEN", "5"),
        "SESSIOND_VAULT_ADDRESS_AND_TOKEN sets no known key; config.example.toml of the documentation has every key"
    );
}

#[test]
fn what_is_not_utf_8_is_refused() {
    let environment = Environment::of([(OsString::from("SESSIOND_MCP__TEXT"), OsStr::from_bytes(b"\xff").to_owned())]);
    let said = Bootstrap::load(&Args::default(), environment).unwrap_err().to_string();
    assert_eq!(said, "SESSIOND_MCP__TEXT is not UTF-8; write it so, or set the key in the file");
}

#[test]
fn the_mark_of_our_own_children_is_no_configuration() {
    assert!(from_variables(&[("SESSIOND_SESSION", "0123456789abcdef")]).is_ok());
}

#[test]
fn the_log_level_has_a_flag_and_a_short_variable() {
    let file = Written::new("[log]\nlevel = 'error'\n");
    let args = |log| Args { config: Some(file.path()), log };
    let level = |log, variables: &[(&str, &str)]| load(&args(log), variables).unwrap().log_level.as_str();
    assert_eq!(level(None, &[]), "error");
    assert_eq!(level(None, &[("SESSIOND_LOG", "info")]), "info");
    assert_eq!(level(None, &[("SESSIOND_LOG", "info"), ("SESSIOND_LOG__LEVEL", "debug")]), "info");
    assert_eq!(level(Some(LogLevel::Trace), &[("SESSIOND_LOG", "info")]), "trace");
    assert_eq!(refused("SESSIOND_LOG", "loud"), "SESSIOND_LOG must be one of off, error, warn, info, debug, trace");
}
