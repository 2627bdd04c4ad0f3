//! The services: each method is one verb, its message decoded and its answer encoded.

use std::pin::Pin;
use std::sync::Arc;

use futures_util::Stream;
use sessiond_core::{Cursor, Handle, Service, Tasks};
use tonic::{Request, Response, Status, Streaming};

use super::attach::{self, Attached};
use super::call::{Begun, begin};
use super::follow::{Followed, Source, follow};
use crate::convert::error::status;
use crate::convert::{Decode, Encode, Follows, known, named};
use crate::proto;
use crate::proto::agent_service_server::AgentService;
use crate::proto::command_service_server::CommandService;
use crate::proto::host_service_server::HostService;
use crate::proto::session_service_server::SessionService;
use crate::proto::target_service_server::TargetService;

/// A stream of answers.
type Answers<M> = Pin<Box<dyn Stream<Item = Result<M, Status>> + Send>>;

/// All the services over one [`Service`].
pub(super) struct Verbs {
    service: Arc<dyn Service>,
    /// Of the attached terminals.
    tasks: Tasks,
}

impl Verbs {
    pub(super) fn new(service: Arc<dyn Service>, tasks: Tasks) -> Self {
        Self { service, tasks }
    }

    /// Follows a stream of output.
    fn follow<M: Follows + 'static>(&self, call: Begun<()>, source: Source, cursor: u64) -> Answers<M> {
        let followed = Followed::new(self.service.clone(), call.cx, source, Cursor(cursor));
        Box::pin(follow(followed, call.guard))
    }
}

/// Implements a service: each line a verb, its request, its answer, and the field that holds the answer where that is
/// part of a message. What follows `+` stands in it as it is.
macro_rules! services {
    ($($service:ident {
        $($verb:ident($asked:ident) -> $answered:ident $({ $field:ident })?;)*
        $(+ { $($rest:tt)* })?
    })*) => {
        $(
            #[tonic::async_trait]
            impl $service for Verbs {
                $(
                    async fn $verb(
                        &self,
                        request: Request<proto::$asked>,
                    ) -> Result<Response<proto::$answered>, Status> {
                        let Begun { cx, message, guard: _taken_back } = begin(request)?;
                        let asked = message.decode().map_err(|error| status(&error))?;
                        let answer = self.service.$verb(&cx, asked).await.map_err(|error| status(&error))?;
                        Ok(Response::new(services!(@answer $answered $($field)?, answer)))
                    }
                )*
                $($($rest)*)?
            }
        )*
    };
    (@answer $answered:ident, $answer:ident) => { $answer.encode() };
    (@answer $answered:ident $field:ident, $answer:ident) => { proto::$answered { $field: Some($answer.encode()) } };
}

services! {
    TargetService {
        list_targets(ListTargetsRequest) -> ListTargetsResponse;
    }

    SessionService {
        start_session(StartSessionRequest) -> StartSessionResponse;
        read_session(ReadSessionRequest) -> ReadSessionResponse { read };
        write_session(WriteSessionRequest) -> WriteSessionResponse;
        control_session(ControlSessionRequest) -> ControlSessionResponse;
        stop_session(StopSessionRequest) -> StopSessionResponse;
        list_sessions(ListSessionsRequest) -> ListSessionsResponse;
        + {
            type FollowSessionStream = Answers<proto::FollowSessionResponse>;

            async fn follow_session(
                &self,
                request: Request<proto::FollowSessionRequest>,
            ) -> Result<Response<Self::FollowSessionStream>, Status> {
                let Begun { cx, message, guard } = begin(request)?;
                let session = named(message.session).map_err(|error| status(&error))?;
                let call = Begun { cx, message: (), guard };
                Ok(Response::new(self.follow(call, Source::Session(session), message.cursor)))
            }

            type AttachSessionStream = Answers<proto::AttachSessionResponse>;

            async fn attach_session(
                &self,
                request: Request<Streaming<proto::AttachSessionRequest>>,
            ) -> Result<Response<Self::AttachSessionStream>, Status> {
                let attached = Attached::new(self.service.clone(), self.tasks.clone(), begin(request)?);
                Ok(Response::new(Box::pin(attach::answers(attached))))
            }
        }
    }

    CommandService {
        execute_command(ExecuteCommandRequest) -> ExecuteCommandResponse;
        run_command(RunCommandRequest) -> RunCommandResponse;
        check_command(CheckCommandRequest) -> CheckCommandResponse;
        read_command(ReadCommandRequest) -> ReadCommandResponse;
        read_command_output(ReadCommandOutputRequest) -> ReadCommandOutputResponse { read };
        kill_command(KillCommandRequest) -> KillCommandResponse;
        list_commands(ListCommandsRequest) -> ListCommandsResponse;
        + {
            async fn clear_commands(
                &self,
                request: Request<proto::ClearCommandsRequest>,
            ) -> Result<Response<proto::ClearCommandsResponse>, Status> {
                let Begun { cx, guard: _taken_back, .. } = begin(request)?;
                let cleared = self.service.clear_commands(&cx).await.map_err(|error| status(&error))?;
                Ok(Response::new(cleared.encode()))
            }

            type FollowCommandStream = Answers<proto::FollowCommandResponse>;

            async fn follow_command(
                &self,
                request: Request<proto::FollowCommandRequest>,
            ) -> Result<Response<Self::FollowCommandStream>, Status> {
                let Begun { cx, message, guard } = begin(request)?;
                let stream = known::<proto::Stream>(message.stream, "stream").and_then(Decode::decode);
                let source = Source::Command(Handle(message.handle), stream.map_err(|error| status(&error))?);
                Ok(Response::new(self.follow(Begun { cx, message: (), guard }, source, message.cursor)))
            }
        }
    }

    HostService {
        connect_host(ConnectHostRequest) -> ConnectHostResponse;
        list_connections(ListConnectionsRequest) -> ListConnectionsResponse;
        disconnect_host(DisconnectHostRequest) -> DisconnectHostResponse;
        + {
            async fn list_hosts(
                &self,
                request: Request<proto::ListHostsRequest>,
            ) -> Result<Response<proto::ListHostsResponse>, Status> {
                let Begun { cx, guard: _taken_back, .. } = begin(request)?;
                let hosts = self.service.list_hosts(&cx).await.map_err(|error| status(&error))?;
                Ok(Response::new(hosts.encode()))
            }
        }
    }

    AgentService {
        list_agent_sessions(ListAgentSessionsRequest) -> ListAgentSessionsResponse;
        describe_agent_session(DescribeAgentSessionRequest) -> DescribeAgentSessionResponse { session };
        agent_token_usage(AgentTokenUsageRequest) -> AgentTokenUsageResponse;
        list_agents(ListAgentsRequest) -> ListAgentsResponse;
        start_agent(StartAgentRequest) -> StartAgentResponse { run };
        control_agent_session(ControlAgentSessionRequest) -> ControlAgentSessionResponse { run };
        describe_manual_task(DescribeManualTaskRequest) -> DescribeManualTaskResponse { task };
        complete_manual_task(CompleteManualTaskRequest) -> CompleteManualTaskResponse;
        + {
            async fn list_platforms(
                &self,
                request: Request<proto::ListPlatformsRequest>,
            ) -> Result<Response<proto::ListPlatformsResponse>, Status> {
                let Begun { cx, guard: _taken_back, .. } = begin(request)?;
                let platforms = self.service.list_platforms(&cx).await.map_err(|error| status(&error))?;
                Ok(Response::new(platforms.encode()))
            }
        }
    }
}
