//! Starts a session on a running server and follows it: `cargo run --example follow -- 'for i in 1 2 3; do date; sleep
//! 1; done'`. It goes on when this is interrupted; `sessiond-grpc list` shows it.

use std::io::Write;

use futures_util::StreamExt;
use sessiond_core::{Cursor, Invocation, Service, TargetName};
use sessiond_grpc::Item;
use sessiond_grpc::client::{GrpcClient, SessionRef, address_of_user, new_session};

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1);
    let command = arguments.next().ok_or("usage: follow COMMAND [unix:PATH | http://IP:PORT]")?;
    let address = arguments.next().map_or_else(address_of_user, |address| address.parse())?;

    let client = GrpcClient::connect(&address).await?;
    let cx = GrpcClient::call();
    let target = TargetName::new("local")?;
    let started = client.start_session(&cx, new_session(target.clone(), Invocation::new(command))).await?;

    let session = SessionRef { session: started.session, target: Some(target) };
    let mut items = client.follow_session(&cx, &session, Cursor::START).await?;
    let mut stdout = std::io::stdout();
    while let Some(item) = items.next().await {
        match item? {
            Item::Chunk { bytes, .. } => stdout.write_all(&bytes)?,
            Item::Gap { bytes, .. } => writeln!(stdout, "[{bytes} bytes are gone]")?,
            Item::End(end) => writeln!(stdout, "[exit code {}]", end.exit_code())?,
        }
        stdout.flush()?;
    }
    Ok(())
}
