//! What goes wrong with one process, chosen by a test or drawn from a seed.

use std::time::Duration;

/// The longest that any planned delay is.
pub const LONGEST_DELAY: Duration = Duration::from_millis(1500);

/// How a start goes wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Launching {
    /// Not at all.
    #[default]
    Sound,
    /// At once.
    Refused,
    /// After the process has run and been stopped again.
    FailsLate,
    /// It never returns.
    Hangs,
    /// It returns when the output has ended, or after [`LONGEST_DELAY`].
    EndsFirst,
}

/// How the output ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Ending {
    /// As the process did.
    #[default]
    Own,
    /// Its sink is dropped in place of the end.
    Dropped,
    /// Its sink is dropped after so many bytes, and the process is gone.
    BreaksAfter(u64),
}

/// How a stop goes wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Stopping {
    /// Not at all.
    #[default]
    Sound,
    /// It is done, but not confirmed.
    Unconfirmed,
    /// The first one is refused.
    RefusedOnce,
    /// The first one breaks without an answer.
    BreaksOnce,
    /// The first one never answers. Not drawn from a seed: it makes everything long.
    HangsOnce,
}

/// How a write goes wrong.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Writing {
    /// Not at all.
    #[default]
    Sound,
    /// It hands over the first half.
    Half,
    /// It is refused.
    Refused,
}

/// What goes wrong with one process. The default is nothing.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Plan {
    /// How its start goes wrong.
    pub launching: Launching,
    /// How long the start takes before anything is started.
    pub launch_delay: Duration,
    /// The most bytes that are passed on at once; 0 is no bound.
    pub cut: usize,
    /// The pause behind each piece.
    pub pause: Duration,
    /// Every piece with a number that this divides is lost; 0 is none.
    pub lose_every: u64,
    /// How long the end takes to arrive.
    pub end_delay: Duration,
    /// How the output ends.
    pub ending: Ending,
    /// How long the outcome of a stop takes to arrive.
    pub outcome_delay: Duration,
    /// How a stop goes wrong.
    pub stopping: Stopping,
    /// How a write goes wrong.
    pub writing: Writing,
}

impl Plan {
    /// The plan of the start with this number under this seed.
    pub fn drawn(seed: u64, number: u64) -> Self {
        let mut dice = Dice::new(seed ^ number.wrapping_mul(0xd6e8_feb8_6659_fd93));
        let delay = |dice: &mut Dice| dice.pick(&[0, 0, 0, 1, 40, 1500]).map_or(Duration::ZERO, Duration::from_millis);
        use Launching::{EndsFirst, FailsLate, Hangs, Refused, Sound};
        Self {
            launching: dice
                .pick(&[Sound, Sound, Sound, Sound, EndsFirst, EndsFirst, Refused, FailsLate, Hangs])
                .unwrap_or_default(),
            launch_delay: delay(&mut dice),
            cut: dice.pick(&[0, 0, 1, 1, 1, 2, 3, 5]).unwrap_or_default(),
            pause: dice.pick(&[0, 0, 1, 3]).map_or(Duration::ZERO, Duration::from_millis),
            lose_every: dice.pick(&[0, 0, 0, 2, 5, 13]).unwrap_or_default(),
            end_delay: delay(&mut dice),
            ending: match dice.below(8) {
                0 => Ending::Dropped,
                1 => Ending::BreaksAfter(dice.below(60)),
                _ => Ending::Own,
            },
            outcome_delay: delay(&mut dice),
            stopping: dice
                .pick(&[
                    Stopping::Sound,
                    Stopping::Sound,
                    Stopping::Unconfirmed,
                    Stopping::RefusedOnce,
                    Stopping::BreaksOnce,
                ])
                .unwrap_or_default(),
            writing: dice.pick(&[Writing::Sound, Writing::Sound, Writing::Half, Writing::Refused]).unwrap_or_default(),
        }
    }
}

/// Numbers from a seed (splitmix64): the same ones everywhere and for ever.
#[derive(Clone, Debug)]
pub struct Dice(u64);

impl Dice {
    /// The dice of this seed.
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next number below `bound`; 0 when that is 0.
    pub fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)).checked_rem(bound).unwrap_or_default()
    }

    /// One of these; `None` of none.
    pub fn pick<T: Copy>(&mut self, of: &[T]) -> Option<T> {
        let place = usize::try_from(self.below(of.len() as u64)).unwrap_or_default();
        of.get(place).copied()
    }
}
