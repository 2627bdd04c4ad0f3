//! The fuzzer's bytes, taken piece by piece. When they are used up, everything is zero or empty.

/// The rest of the bytes.
pub struct Input<'a>(pub &'a [u8]);

impl<'a> Input<'a> {
    /// Whether there is anything left.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The next byte.
    pub fn byte(&mut self) -> u8 {
        self.take(1).first().copied().unwrap_or_default()
    }

    /// The next two bytes.
    pub fn number(&mut self) -> u64 {
        u64::from(self.byte()) << 8 | u64::from(self.byte())
    }

    /// At most so many bytes.
    pub fn take(&mut self, most: usize) -> &'a [u8] {
        let (taken, rest) = self.0.split_at(most.min(self.0.len()));
        self.0 = rest;
        taken
    }

    /// As many bytes as the next one says.
    pub fn piece(&mut self) -> &'a [u8] {
        let length = self.byte();
        self.take(length.into())
    }

    /// One of these.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> T {
        of[usize::from(self.byte()) % of.len()]
    }
}
