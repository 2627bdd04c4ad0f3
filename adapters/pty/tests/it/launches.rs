//! Launches that fail: an error at once that says which path and what to do, and nothing left behind.

use std::os::unix::fs::PermissionsExt;

use sessiond_core::{Error, ErrorKind, Invocation};
use sessiond_pty::{Config, Pty};

use crate::support::{Directory, Piped, Terminal, alone, config, pty};

/// The same refusal for a session and a command.
async fn refused(pty: &Pty, invocation: &Invocation) -> (ErrorKind, String) {
    let session: Error = Terminal::try_run(pty, invocation.clone()).await.err().expect("a session started");
    let spec = sessiond_core::CommandSpec { invocation: invocation.clone(), stdin: bytes::Bytes::new() };
    let command: Error = Piped::try_run(pty, spec).await.err().expect("a command started");
    assert_eq!(session, command);
    (session.kind(), session.message().to_owned())
}

fn at(cwd: &str) -> Invocation {
    Invocation { cwd: Some(cwd.into()), ..Invocation::new("echo ran") }
}

async fn shell(path: &str) -> (ErrorKind, String) {
    let pty = Pty::new(Config { shell: Some(path.into()), ..config() }).unwrap();
    refused(&pty, &Invocation::new("true")).await
}

#[tokio::test]
async fn a_directory_that_is_none_is_named() {
    let pty = pty();
    assert_eq!(
        refused(&pty, &at("/no/such")).await,
        (ErrorKind::FailedPrecondition, "there is no directory /no/such: create it, or name another in cwd".into())
    );
    assert_eq!(
        refused(&pty, &at("/etc/passwd")).await,
        (ErrorKind::FailedPrecondition, "/etc/passwd is not a directory: name another in cwd".into())
    );
    assert_eq!(
        refused(&pty, &at("/etc/passwd/x")).await,
        (
            ErrorKind::FailedPrecondition,
            "there is no directory /etc/passwd/x: create it, or name another in cwd".into()
        )
    );
}

#[tokio::test]
async fn a_shell_that_is_none_is_named() {
    let advice = ": set another shell in the configuration, or SHELL";
    assert_eq!(
        shell("/no/shell").await,
        (ErrorKind::FailedPrecondition, format!("there is no shell /no/shell{advice}"))
    );
    assert_eq!(shell("/etc").await, (ErrorKind::FailedPrecondition, format!("shell /etc is not a program{advice}")));
    assert_eq!(
        shell("/etc/passwd").await,
        (ErrorKind::PermissionDenied, format!("shell /etc/passwd may not be executed{advice}"))
    );
    let directory = Directory::new("shells");
    let script = |name: &str, content: &str| {
        let path = directory.path(name);
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let (kind, message) = shell(&script("lost", "#!/no/interpreter\n")).await;
    assert_eq!(kind, ErrorKind::FailedPrecondition);
    assert!(message.contains("the interpreter that it names is not"), "{message}");
    let (kind, message) = shell(&script("odd", "\u{0}\u{1}\u{2}")).await;
    assert_eq!(kind, ErrorKind::FailedPrecondition);
    assert!(message.contains("is no program for this machine"), "{message}");
}

#[tokio::test]
async fn a_command_that_is_too_long_is_refused() {
    let pty = pty();
    let (kind, message) = refused(&pty, &Invocation::new(format!("true {}", "x".repeat(200_000)))).await;
    assert_eq!(kind, ErrorKind::InvalidArgument);
    assert!(message.contains("put it into a file"), "{message}");
}

#[test]
fn an_ordinary_user_is_told_which_directory_may_not_be_entered() {
    let ordinary = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    let wrap: &[&str] = if is_root() { &ordinary } else { &[] };
    alone("launches::an_ordinary_user_is_told_which_directory_may_not_be_entered", wrap, async {
        assert!(!is_root(), "root enters every directory");
        let directory = Directory::new("closed");
        let closed = directory.path("closed");
        std::fs::create_dir_all(closed.join("inner")).unwrap();
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o600)).unwrap();
        let pty = pty();
        for path in [closed.clone(), closed.join("inner")] {
            let path = path.to_str().unwrap();
            assert_eq!(
                refused(&pty, &at(path)).await,
                (ErrorKind::PermissionDenied, format!("directory {path} may not be entered: name another in cwd"))
            );
        }
        std::fs::set_permissions(&closed, std::fs::Permissions::from_mode(0o700)).unwrap();
    });
}

pub(crate) fn is_root() -> bool {
    std::fs::metadata("/proc/self").is_ok_and(|own| std::os::unix::fs::MetadataExt::uid(&own) == 0)
}
