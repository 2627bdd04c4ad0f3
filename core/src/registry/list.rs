//! Listing an owner's sessions by page, as fast with a hundred thousand as with one.

use std::sync::Arc;

use futures_util::future::join_all;
use tokio::time::Instant;

use super::record::Record;
use super::run::LOOK;
use super::shelf::Position;
use super::table::Table;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::id::TargetName;
use crate::output::Status;
use crate::service::{DEFAULT_PAGE, ListSessions, MAX_PAGE, SessionPage};

/// How many records are looked at while the table is locked.
const BATCH: usize = 512;

impl Position {
    fn to_token(self) -> String {
        match self {
            Self::Running(seq) => format!("r{seq}"),
            Self::Finished(seq) => format!("f{seq}"),
        }
    }

    fn from_token(token: &str) -> Result<Self> {
        let refused =
            || Error::invalid_argument("page_token is not one that a session_list has returned: leave it out");
        let number = |digits: &str| digits.parse().map_err(|_| refused());
        match (token.strip_prefix('r'), token.strip_prefix('f')) {
            (Some(digits), _) => Ok(Self::Running(number(digits)?)),
            (_, Some(digits)) => Ok(Self::Finished(number(digits)?)),
            _ => Err(refused()),
        }
    }
}

/// One page of the caller's sessions; `only` is the one target that the caller has, or asks for.
pub(super) async fn page(
    table: &Table,
    cx: &Call,
    only: Option<&TargetName>,
    request: ListSessions,
) -> Result<SessionPage> {
    let limit = request.limit.unwrap_or(DEFAULT_PAGE);
    if !(1..=MAX_PAGE).contains(&limit) {
        return Err(Error::invalid_argument(format!("limit must be 1 to {MAX_PAGE}")));
    }
    let mut position = request.page_token.as_deref().map(Position::from_token).transpose()?;
    let wanted = |record: &Record| {
        only.is_none_or(|name| record.run.target.name == *name)
            && cx.owner.reaches(&record.run.target.name)
            && request.client_id.as_ref().is_none_or(|id| record.run.target.client_id == *id)
            && request.status.is_none_or(|status| record.run.log.status() == status)
    };
    let mut found: Vec<(Position, Arc<Record>)> = Vec::new();
    // One more than the page tells whether there is another page. Mostly every record is wanted: then the first look
    // takes no more than that.
    let mut size = limit + 1;
    while found.len() <= limit {
        let batch = table.page(&cx.owner, position, size);
        let Some((last, _)) = batch.last() else { break };
        position = Some(*last);
        let is_last_batch = batch.len() < size || request.status.is_some_and(|status| is_behind(*last, status));
        found.extend(batch.into_iter().filter(|(_, record)| wanted(record)));
        if is_last_batch {
            break;
        }
        size = BATCH;
    }
    let more = found.len() > limit;
    found.truncate(limit);
    let next_page_token = found.last().filter(|_| more).map(|(position, _)| position.to_token());
    let until = (Instant::now() + LOOK).min(cx.deadline);
    let sessions = join_all(found.iter().map(|(_, record)| record.summary(cx, until))).await;
    Ok(SessionPage { sessions, next_page_token })
}

/// Whether no session of this status can come behind the position.
fn is_behind(position: Position, status: Status) -> bool {
    matches!((position, status), (Position::Finished(_), Status::Running | Status::Stopping))
}
