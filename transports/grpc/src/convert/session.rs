//! Sessions.

use sessiond_core::{
    Action, ControlOutcome, ControlSession, Cursor, InputState, Key, Launch, ListSessions, NativeId, ReadSession,
    Result, SessionPage, SessionSummary, StartSession, Started, Status, StopOutcome, StopSession, StopStatus,
    TargetName, WindowSize, WriteOutcome, WriteSession,
};

use super::{Decode, Encode, alike, backend, count, known, required, session_id, target, unknown, unsaid};
use crate::proto;

alike! {
    InputState { waiting, evidence }
}

/// A session and its target, as every call names them.
pub(crate) type Named = (sessiond_core::SessionId, Option<TargetName>);

/// A session as calls name it.
pub(crate) fn reference(session: sessiond_core::SessionId, target: Option<TargetName>) -> Option<proto::SessionRef> {
    let target = target.map(|name| name.to_string());
    Some(proto::SessionRef { session_id: session.to_string(), target })
}

/// The session that a call names.
pub(crate) fn named(session: Option<proto::SessionRef>) -> Result<Named> {
    let session = required(session, "session")?;
    Ok((session_id(&session.session_id)?, target(session.target)?))
}

impl Encode for WindowSize {
    type Message = proto::WindowSize;

    fn encode(self) -> proto::WindowSize {
        proto::WindowSize { cols: self.cols().into(), rows: self.rows().into() }
    }
}

impl Decode for proto::WindowSize {
    type Value = WindowSize;

    fn decode(self) -> Result<WindowSize> {
        // What is too large for a cell count is out of range there too.
        let cells = |value: u32| u16::try_from(value).unwrap_or(u16::MAX);
        WindowSize::new(cells(self.cols), cells(self.rows))
    }
}

impl Encode for StartSession {
    type Message = proto::StartSessionRequest;

    fn encode(self) -> Self::Message {
        use proto::start_session_request::What;
        proto::StartSessionRequest {
            target: self.target.map(|name| name.to_string()),
            client_id: self.client_id,
            what: Some(match self.what {
                Launch::Start(invocation) => What::Start(invocation.encode()),
                Launch::Attach(native) => What::Attach(native.0),
            }),
            time_limit: self.time_limit.encode(),
            size: Some(self.size.encode()),
            label: self.label,
            login: self.login,
            wait: Some(self.wait.encode()),
        }
    }
}

impl Decode for proto::StartSessionRequest {
    type Value = StartSession;

    fn decode(self) -> Result<StartSession> {
        use proto::start_session_request::What;
        Ok(StartSession {
            target: target(self.target)?,
            client_id: self.client_id,
            what: match required(self.what, "start")? {
                What::Start(invocation) => Launch::Start(invocation.decode()?),
                What::Attach(native) => Launch::Attach(NativeId(native)),
            },
            time_limit: self.time_limit.decode()?,
            size: self.size.decode()?.unwrap_or_default(),
            label: self.label,
            login: self.login,
            wait: self.wait.decode()?.unwrap_or_default(),
        })
    }
}

impl Encode for Started {
    type Message = proto::StartSessionResponse;

    fn encode(self) -> Self::Message {
        proto::StartSessionResponse { session_id: self.session.to_string(), read: self.read.encode() }
    }
}

impl Decode for proto::StartSessionResponse {
    type Value = Started;

    fn decode(self) -> Result<Started> {
        Ok(Started { session: session_id(&self.session_id)?, read: self.read.decode()? })
    }
}

impl Encode for ReadSession {
    type Message = proto::ReadSessionRequest;

    fn encode(self) -> Self::Message {
        proto::ReadSessionRequest {
            session: reference(self.session, self.target),
            cursor: self.cursor.0,
            wait: Some(self.wait.encode()),
        }
    }
}

impl Decode for proto::ReadSessionRequest {
    type Value = ReadSession;

    fn decode(self) -> Result<ReadSession> {
        let (session, target) = named(self.session)?;
        let wait = self.wait.decode()?.unwrap_or_default();
        Ok(ReadSession { session, target, cursor: Cursor(self.cursor), wait })
    }
}

impl Decode for proto::ReadSessionResponse {
    type Value = sessiond_core::Read;

    fn decode(self) -> Result<sessiond_core::Read> {
        required(self.read, "read")?.decode()
    }
}

impl Encode for WriteSession {
    type Message = proto::WriteSessionRequest;

    fn encode(self) -> Self::Message {
        proto::WriteSessionRequest {
            session: reference(self.session, self.target),
            input: self.input,
            wait: Some(self.wait.encode()),
        }
    }
}

impl Decode for proto::WriteSessionRequest {
    type Value = WriteSession;

    fn decode(self) -> Result<WriteSession> {
        let (session, target) = named(self.session)?;
        Ok(WriteSession { session, target, input: self.input, wait: self.wait.decode()?.unwrap_or_default() })
    }
}

impl Encode for WriteOutcome {
    type Message = proto::WriteSessionResponse;

    fn encode(self) -> Self::Message {
        proto::WriteSessionResponse { bytes: self.bytes, stalled: self.stalled, read: self.read.encode() }
    }
}

impl Decode for proto::WriteSessionResponse {
    type Value = WriteOutcome;

    fn decode(self) -> Result<WriteOutcome> {
        Ok(WriteOutcome { bytes: self.bytes, stalled: self.stalled, read: self.read.decode()? })
    }
}

impl Encode for ControlSession {
    type Message = proto::ControlSessionRequest;

    fn encode(self) -> Self::Message {
        proto::ControlSessionRequest {
            session: reference(self.session, self.target),
            action: Some(self.action.encode()),
            wait: Some(self.wait.encode()),
        }
    }
}

impl Decode for proto::ControlSessionRequest {
    type Value = ControlSession;

    fn decode(self) -> Result<ControlSession> {
        let (session, target) = named(self.session)?;
        let action = required(self.action, "action")?.decode()?;
        Ok(ControlSession { session, target, action, wait: self.wait.decode()?.unwrap_or_default() })
    }
}

impl Encode for Action {
    type Message = proto::Action;

    fn encode(self) -> proto::Action {
        use proto::action::{Eof, Interrupt, Keys, Kind, Stop};
        let kind = match self {
            Self::Interrupt => Kind::Interrupt(Interrupt {}),
            Self::Eof => Kind::Eof(Eof {}),
            Self::Stop => Kind::Stop(Stop {}),
            Self::Signal(signal) => Kind::Signal(signal.name().to_owned()),
            Self::Resize(size) => Kind::Resize(size.encode()),
            Self::Keys(keys) => Kind::Keys(Keys { names: keys.iter().map(Key::to_string).collect() }),
        };
        proto::Action { kind: Some(kind) }
    }
}

impl Decode for proto::Action {
    type Value = Action;

    fn decode(self) -> Result<Action> {
        use proto::action::Kind;
        Ok(match required(self.kind, "action")? {
            Kind::Interrupt(_) => Action::Interrupt,
            Kind::Eof(_) => Action::Eof,
            Kind::Stop(_) => Action::Stop,
            Kind::Signal(name) => Action::Signal(name.parse()?),
            Kind::Resize(size) => Action::Resize(size.decode()?),
            Kind::Keys(keys) => Action::Keys(keys.names.iter().map(|name| name.parse()).collect::<Result<_>>()?),
        })
    }
}

impl Encode for ControlOutcome {
    type Message = proto::ControlSessionResponse;

    fn encode(self) -> Self::Message {
        proto::ControlSessionResponse { accepted: self.accepted, detail: self.detail, read: self.read.encode() }
    }
}

impl Decode for proto::ControlSessionResponse {
    type Value = ControlOutcome;

    fn decode(self) -> Result<ControlOutcome> {
        Ok(ControlOutcome { accepted: self.accepted, detail: self.detail, read: self.read.decode()? })
    }
}

impl Encode for StopSession {
    type Message = proto::StopSessionRequest;

    fn encode(self) -> Self::Message {
        proto::StopSessionRequest { session: reference(self.session, self.target), wait: Some(self.wait.encode()) }
    }
}

impl Decode for proto::StopSessionRequest {
    type Value = StopSession;

    fn decode(self) -> Result<StopSession> {
        let (session, target) = named(self.session)?;
        Ok(StopSession { session, target, wait: self.wait.decode()?.unwrap_or_default() })
    }
}

impl Encode for StopOutcome {
    type Message = proto::StopSessionResponse;

    fn encode(self) -> Self::Message {
        let status = match self.status {
            StopStatus::Stopping => proto::StopStatus::Stopping,
            StopStatus::Stopped => proto::StopStatus::Stopped,
            StopStatus::Finished => proto::StopStatus::Finished,
        };
        proto::StopSessionResponse {
            accepted: self.accepted,
            already_done: self.already_done,
            status: status.into(),
            end: self.end.encode(),
            survivors: self.survivors,
        }
    }
}

impl Decode for proto::StopSessionResponse {
    type Value = StopOutcome;

    fn decode(self) -> Result<StopOutcome> {
        let status = match known(self.status, "status")? {
            proto::StopStatus::Unspecified => return Err(unsaid("status")),
            proto::StopStatus::Stopping => StopStatus::Stopping,
            proto::StopStatus::Stopped => StopStatus::Stopped,
            proto::StopStatus::Finished => StopStatus::Finished,
        };
        Ok(StopOutcome {
            accepted: self.accepted,
            already_done: self.already_done,
            status,
            end: self.end.decode()?,
            survivors: self.survivors,
        })
    }
}

impl Encode for Status {
    type Message = proto::SessionStatus;

    fn encode(self) -> proto::SessionStatus {
        match self {
            Self::Running => proto::SessionStatus::Running,
            Self::Stopping => proto::SessionStatus::Stopping,
            Self::Finished => proto::SessionStatus::Finished,
            Self::Lost => proto::SessionStatus::Lost,
        }
    }
}

impl Decode for proto::SessionStatus {
    type Value = Option<Status>;

    fn decode(self) -> Result<Option<Status>> {
        Ok(match self {
            Self::Unspecified => None,
            Self::Running => Some(Status::Running),
            Self::Stopping => Some(Status::Stopping),
            Self::Finished => Some(Status::Finished),
            Self::Lost => Some(Status::Lost),
        })
    }
}

impl Encode for ListSessions {
    type Message = proto::ListSessionsRequest;

    fn encode(self) -> Self::Message {
        proto::ListSessionsRequest {
            target: self.target.map(|name| name.to_string()),
            client_id: self.client_id,
            status: self.status.map_or(proto::SessionStatus::Unspecified, Encode::encode).into(),
            limit: self.limit.map(|limit| u32::try_from(limit).unwrap_or(u32::MAX)),
            page_token: self.page_token,
        }
    }
}

impl Decode for proto::ListSessionsRequest {
    type Value = ListSessions;

    fn decode(self) -> Result<ListSessions> {
        Ok(ListSessions {
            target: target(self.target)?,
            client_id: self.client_id,
            status: known::<proto::SessionStatus>(self.status, "status")?.decode()?,
            limit: self.limit.map(|limit| count(limit.into())),
            page_token: self.page_token,
        })
    }
}

impl Encode for SessionPage {
    type Message = proto::ListSessionsResponse;

    fn encode(self) -> Self::Message {
        proto::ListSessionsResponse { sessions: self.sessions.encode(), next_page_token: self.next_page_token }
    }
}

impl Decode for proto::ListSessionsResponse {
    type Value = SessionPage;

    fn decode(self) -> Result<SessionPage> {
        Ok(SessionPage { sessions: self.sessions.decode()?, next_page_token: self.next_page_token })
    }
}

impl Encode for SessionSummary {
    type Message = proto::SessionSummary;

    fn encode(self) -> Self::Message {
        proto::SessionSummary {
            session_id: self.session.to_string(),
            target: self.target.to_string(),
            backend: self.backend.to_owned(),
            label: self.label.map(|label| label.to_string()),
            command: self.command.to_string(),
            started_at: Some(self.started_at.encode()),
            ended_at: self.ended_at.encode(),
            status: self.status.encode().into(),
            end: self.end.encode(),
            output_start: self.output_start.0,
            output_end: self.output_end.0,
            descendants: u32::try_from(self.descendants).unwrap_or(u32::MAX),
            native_id: self.native_id.map(|native| native.0),
            input_state: self.input_state.encode(),
        }
    }
}

impl Decode for proto::SessionSummary {
    type Value = SessionSummary;

    fn decode(self) -> Result<SessionSummary> {
        let status = known::<proto::SessionStatus>(self.status, "status")?.decode()?;
        Ok(SessionSummary {
            session: self.session_id.parse().map_err(|_| unknown("session_id", &self.session_id))?,
            target: TargetName::new(self.target)?,
            backend: backend(&self.backend),
            label: self.label.map(Into::into),
            command: self.command.into(),
            started_at: required(self.started_at, "started_at")?.decode()?,
            ended_at: self.ended_at.decode()?,
            status: required(status, "status")?,
            end: self.end.decode()?,
            output_start: Cursor(self.output_start),
            output_end: Cursor(self.output_end),
            descendants: count(self.descendants.into()),
            native_id: self.native_id.map(NativeId),
            input_state: self.input_state.decode()?,
        })
    }
}
