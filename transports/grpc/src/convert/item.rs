//! Pieces of followed output, which three streams carry.

use sessiond_core::{Cursor, Result};

use super::{Decode, Encode, required};
use crate::{Item, proto};

/// A message that is one piece of followed output.
pub(crate) trait Follows: Sized {
    /// The message of a piece.
    fn of(item: Item) -> Self;

    /// The piece; `None` when the message is something else of its stream.
    ///
    /// # Errors
    /// `invalid_argument` when it says nothing.
    fn item(self) -> Result<Option<Item>>;
}

macro_rules! follows {
    ($($message:ident, $module:ident $(, $other:ident)*;)*) => {
        $(
            impl Follows for proto::$message {
                fn of(item: Item) -> Self {
                    use proto::$module::Item as Sent;
                    let item = match item {
                        Item::Chunk { start, bytes } => Sent::Chunk(proto::Chunk { start: start.0, data: bytes }),
                        Item::Gap { start, bytes } => Sent::Gap(proto::Gap { start: start.0, bytes }),
                        Item::End(end) => Sent::End(end.encode()),
                    };
                    Self { item: Some(item) }
                }

                fn item(self) -> Result<Option<Item>> {
                    use proto::$module::Item as Sent;
                    Ok(Some(match required(self.item, "item")? {
                        Sent::Chunk(chunk) => Item::Chunk { start: Cursor(chunk.start), bytes: chunk.data },
                        Sent::Gap(gap) => Item::Gap { start: Cursor(gap.start), bytes: gap.bytes },
                        Sent::End(end) => Item::End(end.decode()?),
                        $(Sent::$other(_) => return Ok(None),)*
                    }))
                }
            }
        )*
    };
}

follows! {
    FollowSessionResponse, follow_session_response;
    FollowCommandResponse, follow_command_response;
    AttachSessionResponse, attach_session_response, Refused;
}
