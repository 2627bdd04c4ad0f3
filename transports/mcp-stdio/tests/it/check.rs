//! `check`: what holds and what is wrong.

use crate::support::{Place, stderr, stdout};

#[test]
fn everything_is_in_order_on_a_fresh_machine() {
    let place = Place::new();
    let output = place.run(&["check"], "");
    assert_eq!((output.status.code(), stderr(&output)), (Some(0), ""));
    let text = stdout(&output);
    let home = place.directory.path().display();
    let head = format!("configuration: defaults (there is no {home}/.config/sessiond/config.toml)\n");
    assert!(text.starts_with(&head), "{text}");
    assert!(text.contains("\n  limits.stop_grace_ms               2000\n"), "{text}");
    assert!(text.contains("\n  targets.local.shell                (not set)\n"), "{text}");
    assert!(text.contains("\ntarget local (pty) is online"), "{text}");
    assert!(text.ends_with("\neverything is in order\n"), "{text}");
}

#[test]
fn what_is_set_is_shown_with_its_place() {
    let place = Place::new();
    std::fs::write(place.path("c.toml"), "[limits]\nstop_grace_ms = 100\n\n[targets.local.env]\nTOKEN = 'hunter2'\n")
        .unwrap();
    let output =
        place.command(&["check", "--config", "c.toml"]).env("SESSIOND_LIMITS__LAUNCH_MS", "500").output().unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text.contains("  limits.stop_grace_ms               100  from c.toml:2\n"), "{text}");
    assert!(text.contains("  limits.launch_ms                   500  from SESSIOND_LIMITS__LAUNCH_MS\n"), "{text}");
    assert!(text.contains("  targets.local.env                  { TOKEN }  from c.toml:5\n"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}

#[test]
fn what_is_wrong_with_the_configuration_is_told() {
    let place = Place::new();
    std::fs::write(place.path("c.toml"), "[limits]\nstop_grace = 100\n[mcp]\ntext = 'long'\n").unwrap();
    let output = place.run(&["check", "--config", "c.toml"], "");
    assert_eq!(output.status.code(), Some(1));
    assert_eq!(
        stdout(&output),
        "the configuration is wrong:\n\
        \x20 c.toml:2: limits.stop_grace is not a known key; the nearest one is limits.stop_grace_ms\n\
        \x20 c.toml:4: mcp.text must be one of short, full\n\
         \n\
         2 things are wrong\n"
    );
}

#[test]
fn a_target_that_cannot_run_anything_is_told() {
    let place = Place::new();
    let output = place.command(&["check"]).env("SESSIOND_TARGETS__LOCAL__SHELL", "/nowhere/sh").output().unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(1), "{text}");
    assert!(text.contains("/nowhere/sh"), "{text}");
    assert!(text.ends_with("\n1 thing is wrong\n"), "{text}");
}

#[test]
fn a_wrong_configuration_keeps_the_server_from_starting() {
    let place = Place::new();
    let output = place.run(&["--config", "nowhere.toml"], "");
    assert_eq!((output.status.code(), stdout(&output)), (Some(1), ""));
    assert_eq!(
        stderr(&output),
        "error: nowhere.toml: the configuration cannot be read: no such file or directory (os error 2)\n"
    );
}

#[test]
fn a_host_is_shown_with_its_settings_but_not_asked_and_its_secret_is_not_told() {
    let place = Place::new();
    let text = "[targets.box]\nbackend = 'ssh'\nhost = '127.0.0.1'\nport = 1\npassword_env = 'BOX_PASSWORD'\n";
    std::fs::write(place.path("c.toml"), text).unwrap();
    let output = place.command(&["check", "--config", "c.toml"]).env("BOX_PASSWORD", "hunter2").output().unwrap();
    let text = stdout(&output);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(text.contains("  targets.box.password_env           \"BOX_PASSWORD\"  from c.toml:5\n"), "{text}");
    assert!(text.contains("\ntarget box (ssh) is not asked\n"), "{text}");
    assert!(!text.contains("hunter2"), "{text}");
}
