//! How a connection ended, as a level that a late waiter does not miss.

use tokio::sync::watch;

/// The end of a connection, told once.
#[derive(Debug)]
pub(crate) struct Ending(watch::Sender<Option<String>>);

/// Whether a connection has ended, and why.
#[derive(Clone, Debug)]
pub(crate) struct Loss(watch::Receiver<Option<String>>);

/// A connection that has not ended.
pub(crate) fn ending() -> (Ending, Loss) {
    let (ending, loss) = watch::channel(None);
    (Ending(ending), Loss(loss))
}

impl Ending {
    /// Says why the connection ended: words that continue a sentence about it. The first reason stays.
    pub(crate) fn tell(&self, why: impl FnOnce() -> String) {
        self.0.send_if_modified(|told| {
            let first = told.is_none();
            if first {
                *told = Some(why());
            }
            first
        });
    }
}

impl Drop for Ending {
    fn drop(&mut self) {
        // Whoever would tell is gone: the protocol's task ended without a word.
        self.tell(|| "it ended".to_owned());
    }
}

impl Loss {
    /// Why the connection ended; `None` while it stands.
    pub(crate) fn get(&self) -> Option<String> {
        self.0.borrow().clone()
    }

    /// Waits for the end.
    pub(crate) async fn wait(&self) -> String {
        let mut told = self.0.clone();
        match told.wait_for(Option::is_some).await {
            Ok(why) => why.clone().unwrap_or_default(),
            // Dropping the sender tells, so that this is not reached.
            Err(_) => "it ended".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_first_reason_stays_and_is_told_to_late_waiters() {
        let (ending, loss) = ending();
        assert_eq!(loss.get(), None);
        ending.tell(|| "the host closed it".into());
        ending.tell(|| "something else".into());
        drop(ending);
        assert_eq!(loss.wait().await, "the host closed it");
        assert_eq!(loss.get().as_deref(), Some("the host closed it"));
    }

    #[tokio::test]
    async fn an_end_without_a_word_is_an_end() {
        let (ending, loss) = ending();
        let waiting = loss.wait();
        drop(ending);
        assert_eq!(waiting.await, "it ended");
    }
}
