//! Where the file lies, and what is wrong with what stands in it.

use std::path::PathBuf;

use sessiond_bootstrap::{Args, Configuration};

use crate::support::{Written, changes, from_text, from_variables, load};

fn refused(text: &str) -> String {
    from_text(text).unwrap_err()
}

#[test]
fn without_anything_this_machine_is_the_only_target() {
    let configuration = from_variables(&[]).unwrap();
    assert_eq!(configuration, Configuration::default());
    let names: Vec<_> = configuration.targets.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["local"]);
}

#[test]
fn a_flag_goes_before_a_variable_and_a_variable_before_the_default_place() {
    let flag = Written::new("[log]\nlevel = 'error'\n");
    let variable = Written::new("[log]\nlevel = 'info'\n");
    let home = tempfile::tempdir().unwrap();
    let place = home.path().join(".config/sessiond");
    std::fs::create_dir_all(&place).unwrap();
    std::fs::write(place.join("config.toml"), "[log]\nlevel = 'debug'\n").unwrap();

    let variable = variable.path().display().to_string();
    let home = home.path().display().to_string();
    let level = |args: &Args, variables: &[(&str, &str)]| load(args, variables).unwrap().log_level.as_str();
    let named = Args { config: Some(flag.path()), log: None };
    assert_eq!(level(&named, &[("SESSIOND_CONFIG", &variable), ("HOME", &home)]), "error");
    assert_eq!(level(&Args::default(), &[("SESSIOND_CONFIG", &variable), ("HOME", &home)]), "info");
    assert_eq!(level(&Args::default(), &[("HOME", &home)]), "debug");
    let xdg = format!("{home}/.config");
    assert_eq!(level(&Args::default(), &[("XDG_CONFIG_HOME", &xdg), ("HOME", "/nowhere")]), "debug");
    assert_eq!(level(&Args::default(), &[("XDG_CONFIG_HOME", "relative"), ("HOME", &home)]), "debug");
}

#[test]
fn a_missing_file_is_an_error_only_when_somebody_named_it() {
    let named = Args { config: Some(PathBuf::from("/nowhere/sessiond.toml")), log: None };
    let said = "/nowhere/sessiond.toml: the configuration cannot be read: no such file or directory (os error 2)";
    assert_eq!(load(&named, &[]).unwrap_err(), said);
    assert_eq!(from_variables(&[("SESSIOND_CONFIG", "/nowhere/sessiond.toml")]).unwrap_err(), said);
    assert!(from_variables(&[("HOME", "/nowhere")]).is_ok());
}

#[test]
fn what_is_no_toml_is_refused_with_its_line() {
    assert_eq!(
        refused("[limits]\nstop_grace_ms = 5\nstop_grace_ms = 6\n"),
        "config.toml:3: this is no TOML: duplicate key"
    );
}

#[test]
fn an_unknown_key_is_refused_with_its_line_and_the_nearest_known_one() {
    assert_eq!(
        refused("[limits]\nstop_grace = 5\n"),
        "config.toml:2: limits.stop_grace is not a known key; the nearest one is limits.stop_grace_ms"
    );
    assert_eq!(
        refused("\n\n[limit]\nlaunch_ms = 5\n"),
        "config.toml:4: limit.launch_ms is not a known key; the nearest one is limits.launch_ms"
    );
    assert_eq!(
        refused("[targets.local]\nshel = '/bin/sh'\n"),
        "config.toml:2: targets.local.shel is not a known key; the nearest one is targets.local.shell"
    );
    assert_eq!(
        refused("[lgo]\n"),
        "config.toml:1: lgo is not a known key; config.example.toml of the documentation has every key"
    );
    assert_eq!(
        refused("[limits]\n'stop grace' = 5\n"),
        "config.toml:2: limits.\"stop grace\" is not a known key; the nearest one is limits.stop_grace_ms"
    );
}

#[test]
fn a_wrong_type_is_refused_with_what_is_expected() {
    assert_eq!(
        refused("[limits]\nstop_grace_ms = \"2s\"\n"),
        "config.toml:2: limits.stop_grace_ms must be a whole number of milliseconds from 0 to 600000, not a string"
    );
    assert_eq!(
        refused("targets.local.enabled = 1\n"),
        "config.toml:1: targets.local.enabled must be true or false, not 1"
    );
    assert_eq!(
        refused("[targets.local]\ncwd = false\n"),
        "config.toml:2: targets.local.cwd must be an absolute path, or one that begins with ~/, not false"
    );
    assert_eq!(
        refused("[targets.local.env]\nPORT = 8080\n"),
        "config.toml:2: targets.local.env.PORT must be a string without a NUL, under a name without = or NUL, not 8080"
    );
    assert_eq!(
        refused("[log.level]\nx = 'info'\n"),
        "config.toml:2: log.level.x is not a known key; the nearest one is log.level"
    );
    assert_eq!(refused("limits = 5\n"), "config.toml:1: limits is a section: give it keys of its own");
    assert_eq!(refused("targets = []\n"), "config.toml:1: targets is a section: give it keys of its own");
    assert_eq!(
        refused("targets.local = 'pty'\n"),
        "config.toml:1: targets.local is a section: give it keys of its own"
    );
}

#[test]
fn a_target_that_is_no_section_is_refused() {
    for value in ["'pty'", "5", "[]"] {
        assert_eq!(
            refused(&format!("targets.box = {value}\n")),
            "config.toml:1: targets.box is a section: give it keys of its own"
        );
    }
}

#[test]
fn a_value_out_of_range_is_refused_with_the_range() {
    let said = |value: &str| refused(&format!("[limits]\ndefault_max_bytes = {value}\n"));
    let message = |actual: &str| {
        format!(
            "config.toml:2: limits.default_max_bytes must be a whole number of bytes from 4 to 1048576, not {actual}"
        )
    };
    assert_eq!(said("3"), message("3"));
    assert_eq!(said("1048577"), message("1048577"));
    assert_eq!(said("-4"), message("a number that is negative or too large"));
    assert_eq!(said("99999999999999999999"), message("a number that is negative or too large"));
    assert_eq!(said("4.5"), message("a float"));
    for value in ["0x1000", "4_096", "+4096"] {
        let configuration = from_text(&format!("[limits]\ndefault_max_bytes = {value}\n")).unwrap();
        assert_eq!(configuration.limits.default_max_bytes, Some(4096), "{value}");
    }
}

#[test]
fn a_word_that_is_not_one_of_the_known_is_refused_with_them() {
    assert_eq!(refused("[mcp]\ntext = 'long'\n"), "config.toml:2: mcp.text must be one of short, full");
    assert_eq!(refused("[log]\nformat = 'xml'\n"), "config.toml:2: log.format must be one of text, json");
    assert_eq!(
        refused("[targets.local]\nshell = 'bash'\n"),
        "config.toml:2: targets.local.shell must be an absolute path"
    );
}

#[test]
fn an_unknown_backend_is_refused_once_with_the_known_ones() {
    assert_eq!(
        refused("[targets.box]\nbackend = 'docker'\nimage = 'debian'\n"),
        "config.toml:2: targets.box.backend is \"docker\", which is not known; known backends are pty, ssh, agent-platform"
    );
    assert_eq!(
        refused("[targets.box]\ncwd = '/srv'\n"),
        "config.toml:2: targets.box.backend is missing; known backends are pty, ssh, agent-platform"
    );
    assert_eq!(
        refused("[targets.box]\n"),
        "config.toml:1: targets.box.backend is missing; known backends are pty, ssh, agent-platform"
    );
    assert_eq!(
        refused("[targets.box]\nbackend = 1\n"),
        "config.toml:2: targets.box.backend must be a string; known backends are pty, ssh, agent-platform"
    );
}

#[test]
fn every_problem_is_told_at_once_in_the_order_of_the_file() {
    let text = "[limits]\nstop_grace = 1\nlaunch_ms = 1\n[mcp]\ntext = 'x'\n";
    assert_eq!(
        refused(text).lines().collect::<Vec<_>>(),
        [
            "config.toml:2: limits.stop_grace is not a known key; the nearest one is limits.stop_grace_ms",
            "config.toml:3: limits.launch_ms must be a whole number of milliseconds from 100 to 600000, not 1",
            "config.toml:5: mcp.text must be one of short, full",
        ]
    );
}

#[test]
fn what_the_file_says_of_this_machine_goes_over_its_defaults() {
    let configuration = from_text("[targets.local]\ncwd = '~/work'\nenv = { A = '1', B = '2' }\n").unwrap();
    assert_eq!(changes(&configuration), ["targets.local.cwd = \"~/work\"", "targets.local.env = { A, B }"]);
}

#[test]
fn a_second_view_of_this_machine_is_a_target_of_its_own() {
    let configuration = from_text("[targets.web]\nbackend = 'pty'\ncwd = '/srv/web'\n").unwrap();
    let names: Vec<_> = configuration.targets.keys().map(ToString::to_string).collect();
    assert_eq!(names, ["local", "web"]);
}

#[test]
fn a_server_without_any_target_is_refused() {
    let none = "[ssh]\nenabled = false\n[targets.local]\nenabled = false\n";
    assert_eq!(refused(none), "every target is disabled: enable one, for nothing can run without");
    assert!(from_text(&format!("{none}[targets.web]\nbackend = 'pty'\n")).is_ok());
}

#[test]
fn a_list_of_paths_may_be_one_path_and_holds_nothing_else() {
    let host = |value: &str| from_text(&format!("[targets.box]\nbackend = 'ssh'\nidentity_files = {value}\n"));
    let changed = |value: &str| changes(&host(value).unwrap()).pop().unwrap();
    assert_eq!(changed("'~/.ssh/a'"), "targets.box.identity_files = [\"~/.ssh/a\"]");
    assert_eq!(changed("['~/.ssh/a', '/b']"), "targets.box.identity_files = [\"~/.ssh/a\", \"/b\"]");
    let refused = |value: &str| host(value).unwrap_err();
    let must = "config.toml:3: targets.box.identity_files must be an absolute path, one that begins with ~/, or a list of \
                such";
    assert_eq!(refused("'id'"), must);
    assert_eq!(refused("[]"), format!("{must}, not a list of strings"));
    assert_eq!(refused("['/a', 'b']"), format!("{must}, not a list of strings"));
    assert_eq!(refused("['/a', 5]"), format!("{must}, not an array"));
    assert_eq!(refused("5"), format!("{must}, not 5"));
}

#[test]
fn a_text_is_one_line() {
    let refused = |value: &str| from_text(&format!("[targets.box]\nbackend = 'ssh'\nuser = {value}\n")).unwrap_err();
    assert_eq!(refused("''"), "config.toml:3: targets.box.user must be one line of text");
    assert_eq!(refused("\"a\\nb\""), "config.toml:3: targets.box.user must be one line of text");
    assert_eq!(refused("7"), "config.toml:3: targets.box.user must be one line of text, not 7");
}
