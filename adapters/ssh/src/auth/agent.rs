//! The agent: which keys it holds, and how it is asked to sign.

use std::path::Path;
use std::time::Duration;

use russh::keys::agent::client::AgentClient;
use russh::keys::agent::{AgentIdentity, AgentSessionBinding};
use tokio::net::UnixStream;

/// How long an agent may take to say what it holds. Signing may take as long as the login: it may ask a person.
const LIST: Duration = Duration::from_secs(5);

/// A connection to the agent.
pub(crate) struct Agent(pub(crate) AgentClient<UnixStream>);

impl Agent {
    /// Connects to the agent behind a socket, tells it for which host it is to sign, and lists its keys.
    ///
    /// # Errors
    /// Why there is no agent: a note for whoever asks why a key was not offered.
    pub(crate) async fn connect(
        socket: &Path,
        binding: Option<&AgentSessionBinding>,
    ) -> Result<(Self, Vec<AgentIdentity>), String> {
        let shown = socket.display();
        let listed = tokio::time::timeout(LIST, async {
            let stream = UnixStream::connect(socket).await.map_err(|error| format!("cannot be reached ({error})"))?;
            let mut client = AgentClient::connect(stream);
            if let Some(binding) = binding {
                // An agent that does not know the request refuses it, and then has no keys for which it would matter.
                let _ = client.bind_session(binding, false).await;
            }
            let keys = client.request_identities().await.map_err(|_| "does not say which keys it holds".to_owned())?;
            Ok::<_, String>((Self(client), keys))
        });
        match listed.await {
            Ok(Ok(listed)) => Ok(listed),
            Ok(Err(why)) => Err(format!("the agent at {shown} {why}")),
            Err(_) => Err(format!("the agent at {shown} does not answer")),
        }
    }
}
