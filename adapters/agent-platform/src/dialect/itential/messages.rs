//! What a session said: every page of its messages, and which of them are completed turns.

use std::collections::HashSet;

use sessiond_core::{ErrorKind, PlatformId, ReasoningEvent, Result};

use super::pages::{self, Coming, Next, Progress};
use super::{SESSIONS, no_session};
use crate::dialect::Mark;
use crate::http::{Ask, Http, Path, Reply, malformed};
use crate::json::{Field, Page, record};
use crate::request::Request;

record! {
    /// A message.
    Message {
        event_id: "eventId",
        sequence_number: "sequenceNumber",
        timestamp: "timestamp",
        type_: "type",
        category: "category",
        text: "text",
        data: "data",
    }
}

record! {
    /// What a message of a model has besides its text.
    Reasoning { stop_reason: "stopReason" }
}

/// The messages of one page.
const LIMIT: usize = 500;
/// More pages than any session has.
const MOST_PAGES: usize = 10_000;
/// A page of less than half the bytes of the one before is the last: the next one is not asked for ahead.
const SHRUNK: usize = 2;

impl Message<'_> {
    /// Whether it is a completed turn (DS10).
    fn is_completed_turn(&self) -> bool {
        self.category.str().as_deref() == Some("AGENT_REASONING")
            && self.data.record::<Reasoning<'_>>().stop_reason.str().as_deref() == Some("end_turn")
    }

    fn parts(&self) -> [Field<'_>; 7] {
        let Self { event_id, sequence_number, timestamp, type_, category, text, data } = *self;
        [event_id, sequence_number, timestamp, type_, category, text, data]
    }
}

/// A message as it was sent, to be recognised.
struct Sent([Option<String>; 7]);

impl Sent {
    fn of(message: &Message<'_>) -> Self {
        Self(message.parts().map(|part| part.json().map(str::to_owned)))
    }

    fn is(&self, message: &Message<'_>) -> bool {
        self.0.iter().zip(message.parts()).all(|(sent, part)| sent.as_deref() == part.json())
    }
}

/// An event with what its place depends on (DS11).
pub(super) struct Placed<T> {
    pub(super) sequence_number: Option<i64>,
    /// Microseconds since 1970; `None` when its time could not be read.
    pub(super) micros: Option<i64>,
    pub(super) event: T,
}

/// By sequence number when every event has one; otherwise by time, where an event without one stays behind its
/// predecessor (DS11).
pub(super) fn sorted<T>(mut events: Vec<Placed<T>>) -> Vec<T> {
    if events.iter().all(|event| event.sequence_number.is_some()) {
        events.sort_by_key(|event| event.sequence_number);
    } else {
        let mut last = i64::MIN;
        for event in &mut events {
            last = event.micros.unwrap_or(last);
            event.micros = Some(last);
        }
        events.sort_by_key(|event| event.micros);
    }
    events.into_iter().map(|placed| placed.event).collect()
}

/// The completed turns, in order.
pub(super) async fn turns(http: &Http, cx: &Request, id: &PlatformId) -> Result<Vec<ReasoningEvent>> {
    Ok(sorted(each(http, cx, id, completed_turn).await?))
}

/// The completed turns from the page on where the mark stands: pages in the order of their events only grow at the end.
pub(super) async fn turns_since(
    http: &Http,
    cx: &Request,
    id: &PlatformId,
    mark: &mut Mark,
) -> Result<Vec<ReasoningEvent>> {
    let from = Place::of(mark);
    let mut list = List::new(completed_turn, from);
    list.read(http, cx, id).await?;
    if list.kept.is_empty() && list.progress.received == 0 && from.page > 1 {
        // The platform has other pages than it had.
        list = List::new(completed_turn, Place::START);
        list.read(http, cx, id).await?;
    }
    *mark = list.place.mark();
    Ok(sorted(list.kept))
}

fn completed_turn(message: &Message<'_>) -> Option<Placed<ReasoningEvent>> {
    message.is_completed_turn().then(|| {
        let moment = message.timestamp.moment();
        let micros = moment.as_ref().map(|moment| moment.micros);
        let event = ReasoningEvent {
            event_id: message.event_id.id(),
            sequence_number: message.sequence_number.integer(),
            timestamp: moment.map(|moment| moment.text),
            text: message.text.text(),
        };
        Placed { sequence_number: event.sequence_number, micros, event }
    })
}

/// What `keep` makes of every message, from all pages, in the order of the pages. A message that two pages have, because
/// the list has grown in between, counts once.
pub(super) async fn each<T, F>(http: &Http, cx: &Request, id: &PlatformId, keep: F) -> Result<Vec<T>>
where
    F: Fn(&Message<'_>) -> Option<T>,
{
    let mut list = List::new(keep, Place::START);
    list.read(http, cx, id).await?;
    Ok(list.kept)
}

fn ask(id: &PlatformId, page: usize) -> Result<Ask> {
    let [folder, sessions] = SESSIONS;
    let path = Path::of(&[folder, sessions, id.as_str(), "messages"])?;
    let ask = Ask::get(path).query("page", page).query("limit", LIMIT);
    Ok(ask.query("sortBy", "eventId").query("sortOrder", "asc"))
}

/// Up to where a list has been read.
#[derive(Clone, Copy)]
struct Place {
    /// The last page that had something on it, from 1 on.
    page: usize,
    /// The elements of the longest page.
    longest: usize,
}

impl Place {
    const START: Self = Self { page: 1, longest: 0 };

    fn of(mark: &Mark) -> Self {
        let numbers = mark.0.as_deref().and_then(|mark| mark.split_once('/'));
        let place = numbers.and_then(|(page, longest)| {
            Some(Self { page: page.parse().ok().filter(|page| *page > 0)?, longest: longest.parse().ok()? })
        });
        place.unwrap_or(Self::START)
    }

    fn mark(self) -> Mark {
        Mark(Some(format!("{}/{}", self.page, self.longest).into()))
    }
}

/// A list of messages as it is read.
struct List<T, F> {
    keep: F,
    kept: Vec<T>,
    /// The ids of what is kept from the pages before.
    known: HashSet<String>,
    progress: Progress,
    /// How the first page begins.
    first: Option<Sent>,
    place: Place,
}

impl<T, F: Fn(&Message<'_>) -> Option<T>> List<T, F> {
    fn new(keep: F, place: Place) -> Self {
        let progress = Progress::cut_at(place.longest);
        Self { keep, kept: Vec::new(), known: HashSet::new(), progress, first: None, place }
    }

    /// Reads from its place to the end of the list. The next page is asked for while the one before is decoded, as soon
    /// as pages have proven to go on.
    async fn read(&mut self, http: &Http, cx: &Request, id: &PlatformId) -> Result<()> {
        let coming = |page: usize| -> Coming<'_> { Box::pin(async move { http.ask(cx, &ask(id, page)?).await }) };
        let from = self.place.page;
        let mut page = coming(from);
        let mut here = None;
        let mut before = usize::MAX;
        for number in (from..).take(MOST_PAGES) {
            let arrived = match here.take() {
                Some(arrived) => arrived,
                None => page.await,
            };
            let reply = match arrived {
                // Some platforms have no page behind the last one.
                Err(error) if error.kind() == ErrorKind::NotFound && number > 1 => return Ok(()),
                arrived => arrived.map_err(|error| no_session(error, id))?,
            };
            page = coming(number + 1);
            if reply.bytes().len() > before / SHRUNK {
                here = pages::set_out(&mut page).await;
            }
            before = reply.bytes().len();
            let had = self.progress.received;
            let next = self.page(&reply)?;
            if self.progress.received > had {
                self.place = Place { page: number, longest: self.progress.longest };
            }
            if next == Next::End {
                return Ok(());
            }
        }
        Err(pages::endless())
    }

    fn page(&mut self, reply: &Reply) -> Result<Next> {
        let page: Page<Message<'_>> = reply.json()?;
        // Instead of an empty list some versions send an empty object.
        if !page.found && !page.is_empty {
            return Err(malformed());
        }
        let begins = page.records.first();
        let repeats = self.first.as_ref().zip(begins).is_some_and(|(first, now)| first.is(now));
        if repeats {
            // The platform sends the whole list, whichever page it is asked for. This one is newer.
            self.kept.clear();
            self.known.clear();
        }
        self.take(&page);
        if self.first.is_none() {
            self.first = begins.map(Sent::of);
        }
        let next = self.progress.page(page.received, page.total);
        Ok(if repeats { Next::End } else { next })
    }

    /// Keeps what is to be kept of a page and was on none before.
    fn take(&mut self, page: &Page<Message<'_>>) {
        let mut ids = Vec::new();
        for message in &page.records {
            let Some(event) = (self.keep)(message) else { continue };
            let id = message.event_id.id();
            if id.as_ref().is_none_or(|id| !self.known.contains(id)) {
                self.kept.push(event);
                ids.extend(id);
            }
        }
        self.known.extend(ids);
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use proptest::prelude::*;
    use tokio_util::sync::CancellationToken;

    use super::*;
    use crate::config::{DialectName, PlatformConfig};

    fn placed(sequence_number: Option<i64>, micros: Option<i64>, event: &'static str) -> Placed<&'static str> {
        Placed { sequence_number, micros, event }
    }

    #[tokio::test]
    async fn who_follows_a_long_session_reads_its_last_page_again_and_no_other() {
        let peer = sessiond_agent_peer::Peer::start().unwrap();
        let run = peer.run();
        peer.fill(&run, 1_200);
        let http = Http::new(&PlatformConfig::new(peer.url(), DialectName::Itential)).unwrap();
        let cx = Request::follower(Duration::from_secs(20), CancellationToken::new());
        let id = PlatformId::new("session_id", run.clone()).unwrap();
        let mut mark = Mark::default();
        assert_eq!(turns_since(&http, &cx, &id, &mut mark).await.unwrap().len(), 300);
        assert_eq!(mark, Mark(Some("3/500".into())));
        peer.turn(&run, "and one more");
        peer.forget_requests();
        let turns = turns_since(&http, &cx, &id, &mut mark).await.unwrap();
        assert_eq!((turns.len(), turns[50].text.as_deref()), (51, Some("and one more")));
        assert_eq!(peer.requests().len(), 1);
        // Pages that are longer than they were.
        let mut ahead = Mark(Some("30/40".into()));
        assert_eq!(turns_since(&http, &cx, &id, &mut ahead).await.unwrap().len(), 301);
        assert_eq!(ahead, mark);
    }

    #[test]
    fn a_mark_is_a_place_and_an_odd_one_is_the_start() {
        let place = |mark: Option<&str>| Place::of(&Mark(mark.map(Into::into)));
        let read = place(Some("7/500"));
        assert_eq!((read.page, read.longest, read.mark()), (7, 500, Mark(Some("7/500".into()))));
        for odd in [None, Some(""), Some("7"), Some("0/500"), Some("x/y"), Some("-1/2")] {
            assert_eq!(place(odd).mark(), Place::START.mark(), "{odd:?}");
        }
    }

    #[test]
    fn sequence_numbers_decide_when_every_event_has_one() {
        let events = vec![placed(Some(3), Some(1), "c"), placed(Some(1), Some(3), "a"), placed(Some(2), None, "b")];
        assert_eq!(sorted(events), ["a", "b", "c"]);
    }

    #[test]
    fn otherwise_times_decide_and_who_has_none_stays_behind_its_predecessor() {
        let events = vec![
            placed(None, None, "first"),
            placed(Some(9), Some(30), "c"),
            placed(None, None, "behind c"),
            placed(Some(8), Some(10), "a"),
            placed(Some(7), Some(20), "b"),
            placed(None, None, "behind b"),
        ];
        assert_eq!(sorted(events), ["first", "a", "b", "behind b", "c", "behind c"]);
    }

    proptest! {
        #[test]
        fn sorting_keeps_every_event_and_the_order_of_equals(
            events in prop::collection::vec((prop::option::of(0_i64..4), prop::option::of(0_i64..4)), 0..40)
        ) {
            let count = events.len();
            let placed = events.iter().enumerate().map(|(place, (sequence_number, micros))| Placed {
                sequence_number: *sequence_number, micros: *micros, event: place,
            });
            let mut order = sorted(placed.collect());
            let by_sequence = events.iter().all(|(sequence, _)| sequence.is_some());
            for pair in order.windows(2) {
                let (a, b) = (events[pair[0]], events[pair[1]]);
                let (a, b) = if by_sequence { (a.0, b.0) } else { (a.1, b.1) };
                if let (Some(a), Some(b)) = (a, b) {
                    prop_assert!(a < b || a == b && pair[0] < pair[1]);
                }
            }
            order.sort_unstable();
            prop_assert_eq!(order, (0..count).collect::<Vec<_>>());
        }
    }
}
