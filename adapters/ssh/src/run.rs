//! One process from its launch to its end, in one task: opens a channel, starts it, waits for its first line, and then
//! moves what it prints into the sink, never waiting for anybody who reads.

use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use sessiond_core::{Call, Error, Exit, Mark, OutputSink, Result, Stream, WindowSize};
use tokio::sync::oneshot;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::channel::{self, Event, Reader, Writer};
use crate::link::Link;
use crate::pool::{Lease, Pool, Slot, Want};
use crate::process::{Open, Running, Unclaimed};
use crate::shell::{First, FirstLine, Group, Launch, Leader, SecondStream};
use crate::{drain, error, stop};

/// How long a launch that nobody waits for any more may take to tell who it is, so that it can be stopped.
const LATE: Duration = Duration::from_secs(10);

/// What is to be started.
pub(crate) struct Job {
    pub(crate) mark: Mark,
    pub(crate) launch: Launch,
    /// Where it is to run, for an error that names it.
    pub(crate) cwd: Option<String>,
    pub(crate) place: Place,
}

/// What it reads from and prints to.
pub(crate) enum Place {
    /// A terminal of this size.
    Terminal(WindowSize),
    /// Pipes, with all of its input.
    Pipes(Bytes),
}

/// Who waits for the start.
pub(crate) struct Caller {
    pub(crate) cx: Call,
    /// Cancelled when nobody waits any more.
    pub(crate) gone: CancellationToken,
    pub(crate) answer: oneshot::Sender<Result<Unclaimed>>,
}

/// Runs a process from its launch to its end.
pub(crate) async fn run(pool: Arc<Pool>, job: Job, caller: Caller, sink: OutputSink) {
    let Caller { cx, gone, answer } = caller;
    let lease = match pool.lease(Want::Work, &cx, &gone).await {
        Ok(lease) => lease,
        Err(error) => return drop(answer.send(Err(error))),
    };
    let launch = pool.launch();
    let (mut process, request) = Starting::new(&pool, job, lease);
    let started = tokio::select! {
        started = process.start(request) => started,
        () = gone.cancelled() => Err(Error::unavailable("the call was taken back")),
        () = tokio::time::sleep_until(cx.deadline) => Err(error::timed_out(&pool.host.name)),
    };
    match started {
        Ok(leader) => {
            let (running, channel) = process.into_running(leader);
            drop(launch);
            // Who has gone meanwhile drops the answer, and that stops it.
            drop(answer.send(Ok(Unclaimed::new(running.clone()))));
            Box::pin(drain::to_end(running, channel, sink)).await;
        }
        Err(error) => {
            drop(answer.send(Err(error)));
            if process.may_run {
                Box::pin(process.take_back()).await;
            }
            process.channel.writer.close().await;
        }
    }
}

/// What is asked for first.
struct Request {
    terminal: Option<WindowSize>,
    exec: String,
}

/// The channel of a process.
pub(crate) struct ProcessChannel {
    pub(crate) reader: Reader,
    pub(crate) link: Arc<Link>,
    pub(crate) writer: Arc<Writer>,
    pub(crate) _slot: Slot,
    /// The second stream of a command; none on a terminal.
    pub(crate) second: Option<SecondStream>,
    /// Input that is not handed over yet.
    pub(crate) feed: Feed,
    /// Whether no output follows, and how it has ended, where that has come already.
    pub(crate) eof: bool,
    pub(crate) exit: Option<Exit>,
    /// Output that has come with the first line.
    pub(crate) early: Vec<(Stream, Bytes)>,
}

/// Input on its way.
pub(crate) struct Feed(Option<Pin<Box<dyn Future<Output = ()> + Send>>>);

impl Feed {
    fn new(writer: &Arc<Writer>, pieces: [Bytes; 2]) -> Self {
        let feed = writer.clone().feed(pieces);
        Self(Some(Box::pin(async move {
            // A connection that has ended is heard of by whoever reads from it.
            let _ = feed.await;
        })))
    }

    /// Waits for the next event while the input goes its way. Safe to drop.
    pub(crate) async fn next(&mut self, reader: &mut Reader) -> Event {
        while let Some(feed) = self.0.as_mut() {
            tokio::select! {
                event = reader.next() => return event,
                () = feed => self.0 = None,
            }
        }
        reader.next().await
    }

    /// Nobody takes it any more.
    pub(crate) fn drop_rest(&mut self) {
        self.0 = None;
    }
}

/// A process whose first line has not come yet.
struct Starting<'p> {
    pool: &'p Arc<Pool>,
    mark: Mark,
    cwd: Option<String>,
    period: u64,
    first: FirstLine,
    /// What was asked for and not answered yet.
    asked: VecDeque<&'static str>,
    /// It was asked to run, and nothing says that it does not.
    may_run: bool,
    channel: ProcessChannel,
}

impl<'p> Starting<'p> {
    fn new(pool: &'p Arc<Pool>, job: Job, lease: Lease) -> (Self, Request) {
        let (reader, writer) = channel::split(lease.channel);
        let (terminal, feed) = match job.place {
            Place::Terminal(size) => (Some(size), Feed(None)),
            Place::Pipes(stdin) => (None, Feed::new(&writer, [Bytes::from(job.launch.input), stdin])),
        };
        let channel = ProcessChannel {
            reader,
            link: lease.link,
            writer,
            _slot: lease.slot,
            second: terminal.is_none().then(|| SecondStream::new(job.mark)),
            feed,
            eof: false,
            exit: None,
            early: Vec::new(),
        };
        let starting = Self {
            pool,
            mark: job.mark,
            cwd: job.cwd,
            period: lease.period,
            first: FirstLine::new(job.mark),
            asked: VecDeque::new(),
            may_run: false,
            channel,
        };
        (starting, Request { terminal, exec: job.launch.exec })
    }

    /// Asks for it and waits for its first line. Everything goes out at once: no answer is waited for in between.
    async fn start(&mut self, request: Request) -> Result<Leader> {
        let broke_off = |_| error::broke_off(&self.pool.host.name);
        if let Some(size) = request.terminal {
            self.asked.push_back("a terminal");
            self.channel.writer.terminal(size).await.map_err(broke_off)?;
        }
        self.asked.push_back("to run programs");
        self.may_run = true;
        self.channel.writer.exec(&request.exec).await.map_err(broke_off)?;
        self.first_line().await
    }

    /// Waits for the first line. Safe to drop, and to be called again.
    async fn first_line(&mut self) -> Result<Leader> {
        loop {
            match self.channel.feed.next(&mut self.channel.reader).await {
                Event::Output(Stream::Stdout, bytes) => {
                    if let Some((first, at)) = self.first.feed(&bytes) {
                        self.channel.early.push((Stream::Stdout, bytes.slice(at..)));
                        return self.verdict(first);
                    }
                }
                Event::Output(Stream::Stderr, bytes) => {
                    if let Some(at) = self.channel.second.as_mut().and_then(|second| second.feed(&bytes)) {
                        self.channel.early.push((Stream::Stderr, bytes.slice(at..)));
                    }
                }
                Event::Answer(granted) => {
                    let what = self.asked.pop_front().unwrap_or_default();
                    if !granted {
                        // What was asked for behind it may be granted all the same.
                        self.may_run = !self.asked.is_empty();
                        return Err(error::request_refused(&self.pool.host.name, what));
                    }
                }
                Event::Exit(exit) => self.channel.exit = Some(exit),
                Event::Eof => self.channel.eof = true,
                Event::Closed => return Err(self.ran_nothing()),
            }
            if self.channel.eof && self.channel.exit.is_some() {
                return Err(self.ran_nothing());
            }
        }
    }

    fn verdict(&mut self, first: First) -> Result<Leader> {
        let cwd = self.cwd.as_deref().unwrap_or_default();
        let error = match first {
            First::Started(leader) => return Ok(leader),
            First::NoDirectory => error::no_directory(cwd),
            First::NotADirectory => error::not_a_directory(cwd),
            First::Denied => error::directory_denied(cwd),
        };
        self.may_run = false;
        Err(error)
    }

    fn ran_nothing(&mut self) -> Error {
        self.may_run = false;
        if self.channel.link.loss().is_some() {
            // It may have begun all the same.
            self.pool.leave([]);
            return error::broke_off(&self.pool.host.name);
        }
        let words = self.channel.second.as_ref().and_then(SecondStream::words).or_else(|| self.first.words());
        error::no_shell(&self.pool.host.name, words.as_deref())
    }

    fn into_running(self, leader: Leader) -> (Arc<Running>, ProcessChannel) {
        let open = Open { writer: self.channel.writer.clone(), link: self.channel.link.clone() };
        let running = Running::new(self.pool.clone(), (self.mark, leader), self.period, open);
        self.pool.remember(&running);
        (running, self.channel)
    }

    /// Nobody waits for it any more: waits for its first line, so that it can be found, and stops it.
    async fn take_back(&mut self) {
        let group = match timeout(LATE, self.first_line()).await {
            Ok(Ok(leader)) => vec![Group { leader, lived: None }],
            Ok(Err(_)) if !self.may_run => return,
            _ => Vec::new(),
        };
        let stop = stop::marked(self.pool, self.mark, &group);
        tokio::pin!(stop);
        // What it prints meanwhile is read, or it would hold up the whole connection.
        let mut closed = false;
        loop {
            tokio::select! {
                () = &mut stop => return,
                event = self.channel.feed.next(&mut self.channel.reader), if !closed => closed = event == Event::Closed,
            }
        }
    }
}
