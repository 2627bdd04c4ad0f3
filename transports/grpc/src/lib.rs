//! gRPC: the verbs of `Service` one to one, output as bytes, in the package `sessiond.v1` of `proto/`.
//!
//! - [`proto`]: the messages, and the descriptors for reflection
//! - `codec`: messages to bytes, and back
//! - `convert`: messages to requests and answers, and back; the only place that knows both
//! - [`Item`]: what somebody who follows output gets (`item`)
//! - [`Address`]: where a server listens, and where one of the same user does unless told otherwise (`address`)
//! - [`server`] (feature `server`): the services over any `Service`
//! - [`client`] (feature `client`): a `Service` over the wire, and a small interface for other services

mod address;
#[cfg(feature = "client")]
pub mod client;
mod codec;
#[cfg_attr(
    not(all(feature = "client", feature = "server")),
    allow(dead_code, unused_imports, reason = "each end needs one of the two ways")
)]
mod convert;
mod item;
#[cfg(feature = "server")]
pub mod server;

pub use address::{Address, check_directory, make_directory};
pub use item::Item;

/// The messages and services of `sessiond.v1`, as `proto/` declares and documents them.
pub mod proto {
    #![allow(missing_docs, clippy::all, reason = "made from the files, which document everything")]
    tonic::include_proto!("sessiond.v1");

    /// The encoded `FileDescriptorSet` of the package.
    pub const DESCRIPTORS: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
}

/// The most bytes of one request, and of what a caller writes in one message.
pub const MAX_REQUEST: usize = 16 << 20;
