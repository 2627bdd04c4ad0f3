//! Output, waits and ends.

use std::time::Duration;

use sessiond_core::{Cause, Cursor, Error, Exit, Fired, Invocation, Pattern, Result, Slice, Stream, Until, Wait};

use super::{Decode, Encode, count, known, required, unsaid};
use crate::proto;

impl Encode for Wait {
    type Message = proto::Wait;

    fn encode(self) -> proto::Wait {
        proto::Wait {
            time: Some(self.time.encode()),
            until: self.until.encode(),
            max_bytes: self.max_bytes.map(|bytes| u32::try_from(bytes).unwrap_or(u32::MAX)),
        }
    }
}

impl Decode for proto::Wait {
    type Value = Wait;

    fn decode(self) -> Result<Wait> {
        Ok(Wait {
            time: self.time.decode()?.unwrap_or_default(),
            until: self.until.decode()?,
            max_bytes: self.max_bytes.map(|bytes| count(bytes.into())),
        })
    }
}

impl Encode for Until {
    type Message = proto::Until;

    fn encode(self) -> proto::Until {
        let pattern = self.pattern.map(|pattern| pattern.as_str().to_owned());
        proto::Until { pattern, quiet: self.quiet.encode(), end: self.end }
    }
}

impl Decode for proto::Until {
    type Value = Until;

    fn decode(self) -> Result<Until> {
        let pattern = self.pattern.as_deref().map(Pattern::new).transpose()?;
        Ok(Until { pattern, quiet: self.quiet.decode()?, end: self.end })
    }
}

impl Encode for Stream {
    type Message = proto::Stream;

    fn encode(self) -> proto::Stream {
        match self {
            Self::Stdout => proto::Stream::Stdout,
            Self::Stderr => proto::Stream::Stderr,
        }
    }
}

impl Decode for proto::Stream {
    type Value = Stream;

    fn decode(self) -> Result<Stream> {
        Ok(match self {
            Self::Unspecified | Self::Stdout => Stream::Stdout,
            Self::Stderr => Stream::Stderr,
        })
    }
}

impl Encode for Fired {
    type Message = proto::Fired;

    fn encode(self) -> proto::Fired {
        match self {
            Self::Output => proto::Fired::Output,
            Self::Pattern => proto::Fired::Pattern,
            Self::Quiet => proto::Fired::Quiet,
            Self::End => proto::Fired::End,
            Self::Full => proto::Fired::Full,
            Self::Deadline => proto::Fired::Deadline,
        }
    }
}

impl Decode for proto::Fired {
    type Value = Fired;

    fn decode(self) -> Result<Fired> {
        Ok(match self {
            Self::Unspecified => return Err(unsaid("fired")),
            Self::Output => Fired::Output,
            Self::Pattern => Fired::Pattern,
            Self::Quiet => Fired::Quiet,
            Self::End => Fired::End,
            Self::Full => Fired::Full,
            Self::Deadline => Fired::Deadline,
        })
    }
}

impl Encode for sessiond_core::Read {
    type Message = proto::Read;

    fn encode(self) -> proto::Read {
        proto::Read { slice: Some(self.slice.encode()), fired: self.fired.encode().into() }
    }
}

impl Decode for proto::Read {
    type Value = sessiond_core::Read;

    fn decode(self) -> Result<sessiond_core::Read> {
        let fired = known::<proto::Fired>(self.fired, "fired")?.decode()?;
        Ok(sessiond_core::Read { slice: required(self.slice, "slice")?.decode()?, fired })
    }
}

impl Encode for Slice {
    type Message = proto::Slice;

    fn encode(self) -> proto::Slice {
        proto::Slice {
            start: self.start.0,
            next: self.next.0,
            end: self.end.0,
            lost: self.lost,
            data: self.bytes,
            ended: self.ended.encode(),
        }
    }
}

impl Decode for proto::Slice {
    type Value = Slice;

    fn decode(self) -> Result<Slice> {
        Ok(Slice {
            start: Cursor(self.start),
            next: Cursor(self.next),
            end: Cursor(self.end),
            lost: self.lost,
            bytes: self.data,
            ended: self.ended.decode()?,
        })
    }
}

impl Encode for sessiond_core::End {
    type Message = proto::End;

    fn encode(self) -> proto::End {
        use proto::end::{Canceled, Exit as Sent};
        let exit = match self.exit {
            Exit::Exited(code) => Sent::Exited(code),
            Exit::Signaled(name) => Sent::Signaled(name),
            Exit::Failed(why) => Sent::Failed(why),
            Exit::Lost(how) => Sent::Lost(how),
            Exit::Canceled => Sent::Canceled(Canceled {}),
        };
        proto::End { exit: Some(exit), cause: Some(self.cause.encode()) }
    }
}

impl Decode for proto::End {
    type Value = sessiond_core::End;

    fn decode(self) -> Result<sessiond_core::End> {
        use proto::end::Exit as Sent;
        let exit = match required(self.exit, "exit")? {
            Sent::Exited(code) => Exit::Exited(code),
            Sent::Signaled(name) => Exit::Signaled(name),
            Sent::Failed(why) => Exit::Failed(why),
            Sent::Lost(how) => Exit::Lost(how),
            Sent::Canceled(_) => Exit::Canceled,
        };
        Ok(sessiond_core::End { exit, cause: self.cause.unwrap_or_default().decode()? })
    }
}

impl Encode for Cause {
    type Message = proto::Cause;

    fn encode(self) -> proto::Cause {
        use proto::cause::{Kind, Stop, TimeLimit};
        let kind = match self {
            Self::Own => None,
            Self::TimeLimit { limit, confirmed } => {
                Some(Kind::TimeLimit(TimeLimit { limit: Some(limit.encode()), confirmed }))
            }
            Self::Stop { confirmed } => Some(Kind::Stop(Stop { confirmed })),
            Self::Shutdown { confirmed } => Some(Kind::Shutdown(Stop { confirmed })),
        };
        proto::Cause { kind }
    }
}

impl Decode for proto::Cause {
    type Value = Cause;

    fn decode(self) -> Result<Cause> {
        use proto::cause::Kind;
        Ok(match self.kind {
            None => Cause::Own,
            Some(Kind::TimeLimit(limit)) => {
                let confirmed = limit.confirmed;
                let limit: Duration = required(limit.limit, "limit")?.decode()?;
                Cause::TimeLimit { limit, confirmed }
            }
            Some(Kind::Stop(stop)) => Cause::Stop { confirmed: stop.confirmed },
            Some(Kind::Shutdown(stop)) => Cause::Shutdown { confirmed: stop.confirmed },
        })
    }
}

impl Encode for Invocation {
    type Message = proto::Invocation;

    fn encode(self) -> proto::Invocation {
        use proto::invocation::Variable;
        let env = self.env.into_iter().map(|(name, value)| Variable { name, value }).collect();
        proto::Invocation { command: self.command, cwd: self.cwd, env }
    }
}

impl Decode for proto::Invocation {
    type Value = Invocation;

    fn decode(self) -> Result<Invocation, Error> {
        let env = self.env.into_iter().map(|variable| (variable.name, variable.value)).collect();
        Ok(Invocation { command: self.command, cwd: self.cwd, env })
    }
}
