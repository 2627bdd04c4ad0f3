//! Commands on a host: how fast their output comes, and how long they take, against the OpenSSH client.

use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context, Result, ensure};
use tokio::task::JoinSet;

use super::{Bound, Check, Goal, Measured, Row};
use crate::inside::Inside;
use crate::raw;
use crate::setup::Setup;
use crate::ssh::Server;
use crate::stats::{Pairs, median, median_time};
use crate::text::Text;

pub(crate) const OUTPUT: Row = Row {
    name: "ssh-output",
    what: "200 MB through ssh_cmd_run in process, until its answer, against a read loop on ssh through ControlMaster",
    unit: "MB/s",
    goal: Goal::Ratio(Bound::AtLeast(0.9)),
    measure: measure_output,
};

pub(crate) const COMMAND: Row = Row {
    name: "ssh-command",
    what: "`true` on an open connection in process, against ssh through ControlMaster",
    unit: "us",
    goal: Goal::Ratio(Bound::AtMost(1.0)),
    measure: measure_command,
};

pub(crate) const CONNECT: Row = Row {
    name: "ssh-connect",
    what: "connecting and `true` in process, against ssh on a connection of its own",
    unit: "us",
    goal: Goal::Ratio(Bound::AtMost(1.0)),
    measure: measure_connect,
};

pub(crate) const MANY: Row = Row {
    name: "ssh-many",
    what: "100 commands at once on one host in process, until the last has ended, against 100 ssh through ControlMaster",
    unit: "ms",
    goal: Goal::Ratio(Bound::AtMost(1.2)),
    measure: measure_many,
};

const ROUNDS: usize = 7;
/// Commands in a round, one after the other; connections likewise.
const COMMANDS: usize = 50;
const CONNECTIONS: usize = 10;
/// Commands at once.
const AT_ONCE: usize = 100;
/// What OpenSSH's server takes on a connection where nothing is configured (`MaxSessions`), and what it takes here
/// so that ssh can have a hundred on one.
const FEW: usize = 10;
const PLENTY: usize = 1_000;

fn measure_output(setup: &Setup) -> Result<Measured> {
    let text = Text::lines()?;
    let bytes = 2 * text.bytes;
    let command = format!("exec cat {0} {0}", text.word());
    let server = Server::start(FEW)?;
    let (inside, master) = (server.inside()?, server.master()?);
    inside.run(|asker| async move { asker.connect().await })?;
    let megabytes = |begin: Instant| bytes as f64 / 1e6 / begin.elapsed().as_secs_f64();
    let ours = || {
        let command = command.clone();
        let begin = Instant::now();
        let run = inside.run(|asker| async move { asker.run(&command).await })?;
        let speed = megabytes(begin);
        let lines = run.command.context("there is no record")?.stdout.total;
        ensure!(lines == 2 * text.lines, "{lines} lines came of {}", 2 * text.lines);
        Ok(speed)
    };
    let mut buffer = vec![0; 64 << 10];
    let theirs = || {
        let ssh = master.ssh(&command)?;
        let begin = Instant::now();
        let (came, code) = raw::drain_command(ssh, &mut buffer)?;
        let speed = megabytes(begin);
        ensure!(code == Some(0) && came == bytes, "ssh: {came} bytes came of {bytes}, exit code {code:?}");
        Ok(speed)
    };
    let pairs = Pairs::take(setup.rounds(ROUNDS), ours, theirs)?;
    let unread = Pairs::take(setup.rounds(ROUNDS), ours, || {
        let mut ssh = master.ssh(&command)?;
        ssh.stdout(Stdio::null());
        let begin = Instant::now();
        ends_well(&mut ssh)?;
        Ok(megabytes(begin))
    })?;
    inside.close();
    let (mut measured, unread) = (Measured::from(pairs.compare()?), unread.compare()?);
    let what = format!("ratio to ssh into /dev/null, which nobody reads and which comes to {:.0} MB/s", unread.raw);
    measured.also.push(Check { what, figure: unread.ratio, bound: Bound::AtLeast(0.9) });
    Ok(measured)
}

fn measure_command(setup: &Setup) -> Result<Measured> {
    let server = Server::start(FEW)?;
    let (inside, master) = (server.inside()?, server.master()?);
    inside.run(|asker| async move { asker.connect().await })?;
    let ours = || median_time(COMMANDS, || inside.run(|asker| async move { asker.run("true").await.map(drop) }));
    let theirs = || {
        let mut ssh = master.ssh("true")?;
        median_time(COMMANDS, || ends_well(&mut ssh))
    };
    let pairs = Pairs::take(setup.rounds(ROUNDS), ours, theirs)?;
    inside.close();
    Ok(pairs.compare()?.into())
}

fn measure_connect(setup: &Setup) -> Result<Measured> {
    let server = Server::start(FEW)?;
    let inside = server.inside()?;
    let ours = || {
        let times = (0..CONNECTIONS).map(|_| connection(&inside)).collect::<Result<Vec<_>>>()?;
        median(&times).context("nothing was measured")
    };
    let theirs = || {
        let mut ssh = server.ssh("true")?;
        median_time(CONNECTIONS, || ends_well(&mut ssh))
    };
    let pairs = Pairs::take(setup.rounds(ROUNDS), ours, theirs)?;
    inside.close();
    Ok(pairs.compare()?.into())
}

/// The microseconds until a host that is not connected has run its first command.
fn connection(inside: &Inside) -> Result<f64> {
    inside.run(|asker| async move {
        let begin = Instant::now();
        asker.run("true").await?;
        let time = begin.elapsed();
        asker.disconnect().await?;
        Ok(time.as_secs_f64() * 1e6)
    })
}

fn measure_many(setup: &Setup) -> Result<Measured> {
    let server = Server::start(PLENTY)?;
    let (inside, master) = (server.inside()?, server.master()?);
    inside.run(|asker| async move { asker.connect().await })?;
    let pairs = Pairs::take(
        setup.rounds(ROUNDS),
        || all_at_once(&inside),
        || {
            let mut commands = (0..AT_ONCE).map(|number| master.ssh(&numbered(number))).collect::<Result<Vec<_>>>()?;
            let begin = Instant::now();
            let started: Vec<_> = commands.iter_mut().map(|ssh| ssh.stdout(Stdio::piped()).spawn()).collect();
            for (number, ssh) in started.into_iter().enumerate() {
                let output = ssh?.wait_with_output()?;
                ensure!(output.status.success() && output.stdout == said(number), "ssh {number} came to {output:?}");
            }
            Ok(begin.elapsed().as_secs_f64() * 1e3)
        },
    )?;
    inside.close();
    drop(master);
    let mut measured = Measured::from(pairs.compare()?);

    let server = Server::start(FEW)?;
    let inside = server.inside()?;
    let time = all_at_once(&inside)?;
    inside.close();
    measured.notes.push(format!("where the host takes {FEW} on a connection, all have ended after {time:.0} ms"));
    Ok(measured)
}

/// The milliseconds until all have ended.
fn all_at_once(inside: &Inside) -> Result<f64> {
    inside.run(|asker| async move {
        let begin = Instant::now();
        let mut running = JoinSet::new();
        for number in 0..AT_ONCE {
            let asker = asker.clone();
            running.spawn(async move {
                let run = asker.run(&numbered(number)).await?;
                ensure!(*run.stdout.bytes == *said(number), "command {number} came to {run:?}");
                anyhow::Ok(())
            });
        }
        while let Some(ended) = running.join_next().await {
            ended??;
        }
        Ok(begin.elapsed().as_secs_f64() * 1e3)
    })
}

fn numbered(number: usize) -> String {
    format!("echo {number}")
}

fn said(number: usize) -> Vec<u8> {
    format!("{number}\n").into_bytes()
}

fn ends_well(ssh: &mut Command) -> Result<()> {
    let status = ssh.status()?;
    ensure!(status.success(), "ssh ended with {status}");
    Ok(())
}
