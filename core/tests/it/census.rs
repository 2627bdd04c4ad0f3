//! How many bytes pass, for whoever watches the server.

use bytes::Bytes;
use sessiond_core::{ExecuteCommand, Limits, Service, Traffic};

use crate::rig::{Rig, for_output, ms};

fn fake(input: u64, output: u64, dropped: u64) -> Vec<Traffic> {
    vec![Traffic { backend: "fake", input, output, dropped }]
}

#[tokio::test(start_paused = true)]
async fn what_was_printed_is_what_can_be_read_and_what_was_dropped() {
    let rig = Rig::with(Limits { session_output: 100, command_output: 10, ..Limits::default() });
    assert_eq!(rig.registry.traffic(), []);

    let session = rig.start("printf 0123456789; sleep 1; head -c 250 /dev/zero").await;
    assert_eq!(rig.read(session, 0, for_output(500)).await.unwrap().slice.bytes.len(), 10);
    assert_eq!(rig.registry.traffic(), fake(0, 10, 0));
    let end = rig.to_end(session).await.slice;
    assert_eq!((end.start.0, end.next.0), (160, 260));
    assert_eq!(rig.registry.traffic(), fake(0, 260, 160));

    let command = rig.execute("printf 0123456789abcdef").await;
    assert_eq!((&command.stdout[..], command.truncated), (&b"0123456789"[..], true));
    assert_eq!(rig.registry.traffic(), fake(0, 276, 166));

    // An hour later nothing of all this can be read, and the numbers stand.
    tokio::time::sleep(ms(3_600_000)).await;
    assert_eq!(rig.registry.traffic(), fake(0, 276, 166));
}

#[tokio::test(start_paused = true)]
async fn input_counts_when_a_target_has_taken_it() {
    let rig = Rig::new();
    let session = rig.start("sleep 60").await;
    let written = rig.write(session, "hello\n", sessiond_core::Wait::default()).await.unwrap();
    assert_eq!(rig.registry.traffic()[0].input, written.bytes);
    rig.stop(session, 20_000).await;
    rig.write(session, "too late\n", sessiond_core::Wait::default()).await.unwrap_err();
    let request = ExecuteCommand { stdin: Bytes::from_static(b"12345"), ..Rig::command("cat") };
    rig.registry.execute_command(&crate::rig::me(), request).await.unwrap();
    assert_eq!(rig.registry.traffic()[0].input, written.bytes + 5);
}
