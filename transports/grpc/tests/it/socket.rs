//! Who gets in: sockets, their modes and their owners, what an earlier server left, ports.

use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;
use std::process::Stdio;

use rustix::process::Signal;
use sessiond_bootstrap::network::Door;
use sessiond_bootstrap::{Args, Bootstrap, Environment};
use sessiond_core::{ErrorKind, ListTargets, Service, Tasks};
use sessiond_grpc::Address;
use sessiond_grpc::client::GrpcClient;
use sessiond_grpc::server::Listener;

use crate::place::{Place, stderr};

fn mode(path: &Path) -> u32 {
    path.symlink_metadata().unwrap().permissions().mode() & 0o777
}

/// Listens on a network where nobody is known.
fn bind(address: &Address, no_password: bool) -> sessiond_core::Result<Listener> {
    let bootstrap = Bootstrap::load(&Args::default(), Environment::default()).unwrap();
    let network = bootstrap.network(&["h2"], &Tasks::new()).unwrap();
    Listener::bind(address, &network, if no_password { Door::Open } else { Door::Asked })
}

fn refused(address: &Address, no_password: bool) -> (ErrorKind, String) {
    let error = bind(address, no_password).err().expect("this is refused");
    (error.kind(), error.message().to_owned())
}

#[tokio::test]
async fn the_socket_is_its_users_alone_and_goes_with_its_server() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("own/s");
    let listener = bind(&Address::Unix(path.clone()), false).unwrap();
    assert_eq!((mode(&path), mode(path.parent().unwrap())), (0o600, 0o700));
    drop(listener);
    assert!(!path.exists());
}

#[tokio::test]
async fn a_second_server_leaves_the_first_ones_socket_alone() {
    let place = tempfile::tempdir().unwrap();
    let address = Address::Unix(place.path().join("s"));
    let first = bind(&address, false).unwrap();
    let (kind, message) = refused(&address, false);
    assert_eq!(kind, ErrorKind::FailedPrecondition);
    assert!(message.starts_with("another server listens on "), "{message}");
    drop(first);
    drop(bind(&address, false).unwrap());
}

#[tokio::test]
async fn of_servers_that_start_at_the_same_time_one_listens_and_the_others_are_told_when_it_does() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s");
    let runtime = tokio::runtime::Handle::current();
    let start = || {
        let _entered = runtime.enter();
        let bound = bind(&Address::Unix(path.clone()), false);
        if bound.is_err() {
            UnixStream::connect(&path).expect("whoever was first listens by now");
        }
        bound.ok()
    };
    let listening = std::thread::scope(|scope| {
        let starting: Vec<_> = (0..16).map(|_| scope.spawn(start)).collect();
        starting.into_iter().filter_map(|server| server.join().unwrap()).collect::<Vec<_>>()
    });
    assert_eq!(listening.len(), 1);
}

#[tokio::test]
async fn what_a_killed_server_left_is_replaced_and_what_is_somebody_elses_is_not() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("s");
    let address = Address::Unix(path.clone());
    // A socket that nobody listens on any more, as SIGKILL leaves it.
    drop(UnixListener::bind(&path).unwrap());
    drop(bind(&address, false).unwrap());

    let other = UnixListener::bind(&path).unwrap();
    assert!(refused(&address, false).1.starts_with("another server listens on "));
    drop(other);
    std::fs::remove_file(&path).unwrap();
    std::fs::write(&path, "text").unwrap();
    assert!(refused(&address, false).1.ends_with("name another one with --listen unix:PATH"));
    assert_eq!(std::fs::read(&path).unwrap(), b"text");
}

#[tokio::test]
async fn a_directory_that_is_not_its_users_own_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let (own, link) = (place.path().join("own"), place.path().join("link"));
    std::fs::create_dir(&own).unwrap();
    symlink(&own, &link).unwrap();
    assert_eq!(refused(&Address::Unix(link.join("s")), false).0, ErrorKind::PermissionDenied);
    std::fs::set_permissions(&own, std::fs::Permissions::from_mode(0o777)).unwrap();
    assert_eq!(refused(&Address::Unix(own.join("s")), false).0, ErrorKind::PermissionDenied);
}

#[tokio::test]
async fn a_port_without_keys_needs_a_word_and_is_of_this_machine_only() {
    let local = "127.0.0.1:0".parse().unwrap();
    assert!(refused(&local, false).1.contains("say --no-password when every account of this machine is meant"));
    let host = "https://127.0.0.1:1".parse().unwrap();
    assert!(refused(&host, false).1.contains("is where to connect to"));
    assert!(refused(&"0.0.0.0:0".parse().unwrap(), true).1.contains("can be reached from other machines"));
    assert!(refused(&"[::]:0".parse().unwrap(), true).1.contains("can be reached from other machines"));
    drop(bind(&local, true).unwrap());
}

#[tokio::test]
async fn a_port_without_a_password_is_warned_of_and_served() {
    let place = Place::new();
    let daemon = place.serve(&["--listen", "127.0.0.1:0", "--no-password"]);
    let client = daemon.client().await;
    assert_eq!(client.0.list_targets(&GrpcClient::call(), ListTargets::default()).await.unwrap().len(), 1);
    let address = daemon.address.to_string();
    let (code, said) = daemon.end(Signal::TERM);
    assert_eq!(code, Some(0));
    assert!(said.starts_with(&format!("warning: {address} asks nobody for a password")), "{said}");
}

#[tokio::test]
async fn another_account_is_turned_away_even_where_it_can_open_the_socket() {
    let place = Place::new();
    let daemon = place.serve(&[]);
    for (path, mode) in [(place.path(), 0o755), (&place.socket(), 0o666)] {
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }
    let connect = format!(
        "import socket\ns = socket.socket(socket.AF_UNIX)\ns.connect({:?})\n\
         try:\n    s.sendall(b'PRI * HTTP/2.0\\r\\n\\r\\nSM\\r\\n\\r\\n')\n    print(len(s.recv(100)))\n\
         except (ConnectionResetError, BrokenPipeError):\n    print(0)",
        place.socket().display().to_string()
    );
    let ask = |uid: &str| {
        let mut python = place.program("setpriv");
        python.args(["--reuid", uid, "--clear-groups", "/usr/bin/python3", "-c", &connect]).stderr(Stdio::piped());
        let output = python.output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        String::from_utf8(output.stdout).unwrap().trim().parse::<usize>().unwrap()
    };
    assert!(ask("0") > 0, "the server's own account gets an answer");
    assert_eq!(ask("65534"), 0, "another gets none");
    let (_, said) = daemon.end(Signal::TERM);
    assert!(said.contains("turned a connection away") && said.contains("uid=65534"), "{said}");
}
