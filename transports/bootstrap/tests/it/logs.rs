//! What stands in the log, and where.

use std::process::Command;

use sessiond_bootstrap::{LogFormat, LogLevel, logs};

/// Tells the test that it is to be the process whose log is looked at.
const CHILD: &str = "TEST_LOGS_CHILD";

#[test]
fn a_panic_is_a_line_of_the_log_and_not_the_end_of_the_process() {
    if std::env::var_os(CHILD).is_some() {
        logs::start(LogLevel::Error, LogFormat::Text);
        let panicked = std::thread::spawn(|| panic!("it went wrong")).join();
        assert!(panicked.is_err());
        return;
    }
    let name = "logs::a_panic_is_a_line_of_the_log_and_not_the_end_of_the_process";
    let child =
        Command::new(std::env::current_exe().unwrap()).args(["--exact", name]).env(CHILD, "1").output().unwrap();
    let log = String::from_utf8(child.stderr).unwrap();
    assert!(child.status.success(), "{log}");
    assert_eq!(log.lines().count(), 1, "{log}");
    let said = "ERROR sessiond_bootstrap::logs: a task panicked, which is a fault of sessiond: it went wrong";
    assert!(log.contains(said), "{log}");
    assert!(log.contains("logs.rs:"), "{log}");
    assert!(!String::from_utf8(child.stdout).unwrap().contains("went wrong"));
}

#[test]
fn a_client_that_leaves_before_its_answer_is_no_line_of_the_log() {
    if std::env::var_os(CHILD).is_some() {
        logs::start(LogLevel::Info, LogFormat::Text);
        tracing::error!(target: "rmcp::service", "failed to send pending response during drain");
        tracing::error!(target: "rmcp::transport", "something else");
        return;
    }
    let name = "logs::a_client_that_leaves_before_its_answer_is_no_line_of_the_log";
    let child =
        Command::new(std::env::current_exe().unwrap()).args(["--exact", name]).env(CHILD, "1").output().unwrap();
    let log = String::from_utf8(child.stderr).unwrap();
    assert!(child.status.success(), "{log}");
    assert_eq!(log.lines().count(), 1, "{log}");
    assert!(log.contains("ERROR rmcp::transport: something else"), "{log}");
}
