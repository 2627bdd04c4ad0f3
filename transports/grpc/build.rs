//! Makes Rust of `proto/`, and keeps the descriptors for reflection.

use std::error::Error;
use std::path::PathBuf;

use prost::Message;

/// The files, below `proto/`.
const FILES: [&str; 6] = ["output", "target", "session", "command", "host", "agent"];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo:rerun-if-changed=proto");
    let files = FILES.map(|name| format!("proto/sessiond/v1/{name}.proto"));
    let descriptors = protox::compile(files, ["proto"])?;
    let out = PathBuf::from(std::env::var_os("OUT_DIR").ok_or("cargo names no OUT_DIR")?);
    std::fs::write(out.join("descriptors.bin"), descriptors.encode_to_vec())?;
    // Output is handed on as it was received, without another copy.
    tonic_prost_build::configure().bytes(".").codec_path("crate::codec::Small").compile_fds(descriptors)?;
    Ok(())
}
