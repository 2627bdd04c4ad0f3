//! The way to a running server, with what proves who we are where it is on a network.

use std::time::Duration;

use anyhow::Context;
use sessiond_bootstrap::{Args, Bootstrap, Environment};
use sessiond_core::Tasks;
use sessiond_grpc::Address;
use sessiond_grpc::client::{Credentials, GrpcClient};

use crate::cli::Server;

/// How long what has printed a key may take to end.
const TASKS_END: Duration = Duration::from_secs(1);

/// Connects to a server, or to the user's own.
///
/// # Errors
/// Nobody answers there, or what proves who we are cannot be had.
pub(crate) async fn client(common: &Args, server: Option<&Server>) -> anyhow::Result<GrpcClient> {
    let address = match server {
        Some(server) => server.address()?,
        None => sessiond_grpc::client::address_of_user()?,
    };
    let credentials = match &address {
        // The account proves it, so a configuration that is wrong is in nobody's way.
        Address::Unix(_) => Credentials::none(),
        Address::Tcp(_) | Address::Tls(_) => credentials(common).await?,
    };
    let client = GrpcClient::connect_with(&address, &credentials).await;
    client.context("a server is started by `sessiond-grpc` or its systemd unit, and --connect says where one listens")
}

async fn credentials(common: &Args) -> anyhow::Result<Credentials> {
    let bootstrap = Bootstrap::load(common, Environment::capture())?;
    let tasks = Tasks::new();
    let connect = bootstrap.connect(&tasks).await;
    tasks.shutdown(TASKS_END).await;
    let connect = connect.context("[connect] of the configuration")?;
    Ok(Credentials::of(connect.key(), connect.tls.authorities(), connect.tls.certificate())?)
}
