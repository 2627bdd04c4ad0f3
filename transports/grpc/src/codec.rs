//! How messages become bytes: as prost has it, in buffers of the size that nearly all of them need.

use std::marker::PhantomData;

use prost::Message;
use tonic::codec::{BufferSettings, Codec};
use tonic_prost::{ProstCodec, ProstDecoder, ProstEncoder};

/// What a buffer has at first, in bytes; it grows for a larger message. The 8 KiB that tonic takes are more than an
/// allocator hands out of a cache, and a call takes two of them at either end.
const BUFFER: usize = 1000;

/// From how many bytes on what is encoded is handed on, in bytes: as much as tonic takes.
const HANDED_ON: usize = 32 << 10;

/// A codec of one method.
#[derive(Debug)]
pub(crate) struct Small<T, U>(PhantomData<(T, U)>);

impl<T, U> Default for Small<T, U> {
    fn default() -> Self {
        Self(PhantomData)
    }
}

impl<T, U> Codec for Small<T, U>
where
    T: Message + Send + 'static,
    U: Message + Default + Send + 'static,
{
    type Encode = T;
    type Decode = U;
    type Encoder = ProstEncoder<T>;
    type Decoder = ProstDecoder<U>;

    fn encoder(&mut self) -> Self::Encoder {
        ProstCodec::<T, U>::raw_encoder(BufferSettings::new(BUFFER, HANDED_ON))
    }

    fn decoder(&mut self) -> Self::Decoder {
        ProstCodec::<T, U>::raw_decoder(BufferSettings::new(BUFFER, HANDED_ON))
    }
}
