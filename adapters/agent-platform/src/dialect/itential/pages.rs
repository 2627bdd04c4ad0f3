//! When a list has ended. Platforms cut pages below what was asked for, leave totals out and ignore parameters.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

use sessiond_core::{Error, Result};

use crate::http::{Http, Reply, malformed};
use crate::json::{Page, Record};
use crate::request::Request;

/// The smallest number at which a platform may cut a page of its own accord: a shorter page is the last.
const SMALLEST_CUT: usize = 20;

/// How far a list has been read, page by page.
#[derive(Default)]
pub(super) struct Progress {
    /// The elements so far.
    pub(super) received: usize,
    /// The longest page so far: a shorter one is the last.
    pub(super) longest: usize,
}

/// What to do after a page.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Next {
    /// There may be more.
    More,
    /// It was the last one.
    End,
}

impl Progress {
    /// A list of which so many elements are known already.
    pub(super) fn from(received: usize) -> Self {
        Self { received, longest: 0 }
    }

    /// A list whose pages are known to be as long as this.
    pub(super) fn cut_at(longest: usize) -> Self {
        Self { received: 0, longest }
    }

    /// Takes a page of so many elements, of a list that may say how many it has in all.
    pub(super) fn page(&mut self, received: usize, total: Option<u64>) -> Next {
        self.received += received;
        let is_short = received < self.longest.max(SMALLEST_CUT);
        self.longest = self.longest.max(received);
        let so_far = u64::try_from(self.received).unwrap_or(u64::MAX);
        let is_last = match total {
            // A total below what has come already is none: some versions say 0 where they do not know.
            Some(total) if total >= so_far => total == so_far,
            _ => is_short,
        };
        if received == 0 || is_last { Next::End } else { Next::More }
    }
}

/// Decodes a page of a list.
///
/// # Errors
/// `unavailable` when the answer has no list.
pub(super) fn decode<'a, R: Record<'a>>(reply: &'a Reply) -> Result<Page<R>> {
    let page: Page<R> = reply.json()?;
    if page.found { Ok(page) } else { Err(malformed()) }
}

/// The whole list, from pages with `skip`, `limit` and `metadata.total`. `take` gets each record once.
pub(super) async fn by_skip<R>(
    http: &Http,
    cx: &Request,
    ask: impl Fn(usize) -> Result<crate::http::Ask>,
    take: impl Fn(&Reply, &mut Vec<R>) -> Result<(usize, Option<u64>)>,
) -> Result<Vec<R>>
where
    R: PartialEq,
{
    let mut rows: Vec<R> = Vec::new();
    let mut progress = Progress::default();
    loop {
        let reply = http.ask(cx, &ask(progress.received)?).await?;
        let before = rows.len();
        let (received, total) = take(&reply, &mut rows)?;
        // A platform that ignores `skip` sends the first page again.
        if before > 0 && rows.get(before).is_some_and(|again| rows.first() == Some(again)) {
            rows.truncate(before);
            return Ok(rows);
        }
        if progress.page(received, total) == Next::End {
            return Ok(rows);
        }
    }
}

/// An answer that is being waited for, and may be under way already.
pub(super) type Coming<'a> = Pin<Box<dyn Future<Output = Result<Reply>> + Send + 'a>>;

/// Sends a request without waiting for its answer, so that the platform works while we decode.
pub(super) async fn set_out(coming: &mut Coming<'_>) -> Option<Result<Reply>> {
    let done = poll_fn(|cx| match coming.as_mut().poll(cx) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => Poll::Ready(None),
    })
    .await;
    if done.is_none() {
        // The connection has a task of its own, which must have had its turn.
        tokio::task::yield_now().await;
    }
    done
}

/// A list that goes on for ever.
pub(super) fn endless() -> Error {
    Error::unavailable("the platform's list does not end: look at the platform itself")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ends_after(pages: &[usize], total: Option<u64>) -> Option<usize> {
        let mut progress = Progress::default();
        pages.iter().position(|received| progress.page(*received, total) == Next::End)
    }

    #[test]
    fn a_list_ends_with_its_total_or_with_a_short_page() {
        assert_eq!(ends_after(&[100, 1], Some(101)), Some(1));
        assert_eq!(ends_after(&[25, 25, 25, 7], Some(82)), Some(3));
        assert_eq!(ends_after(&[0], Some(7)), Some(0));
        assert_eq!(ends_after(&[100, 100, 3], Some(0)), Some(2));
        assert_eq!(ends_after(&[19], None), Some(0));
        assert_eq!(ends_after(&[500, 499], None), Some(1));
        assert_eq!(ends_after(&[500, 500, 0], None), Some(2));
        assert_eq!(ends_after(&[25, 25, 3], None), Some(2));
    }
}
