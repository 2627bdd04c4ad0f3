//! The caller's commands: listing them, clearing them, and forgetting those whose connection's time is over.

use super::Registry;
use super::handle::CommandRecord;
use crate::call::Call;
use crate::error::{Error, Result};
use crate::id::TargetName;
use crate::output::Stream;
use crate::pattern::{Pattern, Search};
use crate::service::{CommandSummary, ListCommands, RecentOutput};

impl Registry {
    /// The caller's commands in the order of starting.
    pub(super) async fn history(&self, cx: &Call, request: ListCommands) -> Result<Vec<CommandSummary>> {
        if let Some(name) = &request.target {
            // A host that is not there is an error, not an empty list.
            self.host(cx, Some(name)).await?;
        }
        let mut listed = Vec::new();
        for record in self.table.commands(&cx.owner) {
            let target = &record.run.target.name;
            let wanted = request.target.as_ref().is_none_or(|name| name == target)
                && cx.owner.reaches(target)
                && !record.is_outdated(&cx.owner)
                && matches(request.pattern.as_ref(), &record.command)?;
            if wanted {
                listed.push(record);
            }
        }
        let newest = request.limit.unwrap_or(usize::MAX).min(listed.len());
        listed.drain(..listed.len() - newest);
        if request.reverse {
            listed.reverse();
        }
        Ok(listed.iter().map(|record| summary(record, request.output_lines)).collect())
    }

    /// Forgets those of the caller's commands that have ended.
    pub(super) fn clear(&self, cx: &Call) -> Result<usize> {
        // Those of other targets that the owner has are none of this caller's business, not even that they are there.
        let own = self.table.commands(&cx.owner);
        let has_any = own.iter().any(|record| cx.owner.reaches(&record.run.target.name));
        if !has_any && self.used_hosts.connected(&cx.owner).is_empty() {
            return Err(Error::failed_precondition(
                "there is nothing to clear: no host is connected, and no command is kept; ssh_cmd_run starts one",
            ));
        }
        Ok(self.table.forget_commands(&cx.owner, |record| cx.owner.reaches(&record.run.target.name)))
    }

    /// Forgets the caller's commands of earlier periods of a host.
    pub(super) fn forget_outdated(&self, cx: &Call, host: &TargetName, latest: Option<u64>) {
        let Some(latest) = latest else { return };
        // Periods come in the order of starting: where the first one is of this period, all are.
        let first = self.table.first_finished(&cx.owner, host);
        if first.is_some_and(|first| !first.is_of(latest)) {
            let outdated = |record: &CommandRecord| record.run.target.name == *host && !record.is_of(latest);
            self.table.forget_commands(&cx.owner, outdated);
        }
    }
}

/// Whether the pattern, where there is one, matches somewhere in a command's text.
fn matches(pattern: Option<&Pattern>, command: &str) -> Result<bool> {
    let Some(pattern) = pattern else { return Ok(true) };
    let mut search = Search::new(pattern)?;
    search.feed(command.as_bytes())?;
    Ok(search.found()?.is_some())
}

fn summary(record: &CommandRecord, output_lines: Option<u64>) -> CommandSummary {
    let newest = |stream, count| record.run.log.newest_lines(stream, count).lines;
    let output = output_lines
        .map(|count| RecentOutput { stdout: newest(Stream::Stdout, count), stderr: newest(Stream::Stderr, count) });
    CommandSummary { info: record.info(), output }
}
