//! Medians of interleaved rounds, and what a row says in the end.

use std::time::Instant;

use anyhow::{Context, Result};

/// The middle of the figures; the mean of the two middle ones of an even number.
pub(crate) fn median(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    let middle = sorted.len() / 2;
    let upper = *sorted.get(middle)?;
    if sorted.len() % 2 == 1 {
        return Some(upper);
    }
    Some((upper + sorted.get(middle.checked_sub(1)?)?) / 2.0)
}

/// The figure that all but one in a hundred stay below.
pub(crate) fn percentile_99(figures: &[f64]) -> Option<f64> {
    let mut sorted = figures.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted.get(sorted.len() * 99 / 100).copied()
}

/// Times something again and again; returns each time in microseconds.
///
/// # Errors
/// What it fails with.
pub(crate) fn times(count: usize, mut work: impl FnMut() -> Result<()>) -> Result<Vec<f64>> {
    let mut times = Vec::with_capacity(count);
    for _ in 0..count {
        let begin = Instant::now();
        work()?;
        times.push(begin.elapsed().as_secs_f64() * 1e6);
    }
    Ok(times)
}

/// The median of [`times`].
///
/// # Errors
/// What it fails with.
pub(crate) fn median_time(count: usize, work: impl FnMut() -> Result<()>) -> Result<f64> {
    median(&times(count, work)?).context("nothing was measured")
}

/// Pairs of figures, each pair taken back to back.
#[derive(Debug, Default)]
pub(crate) struct Pairs {
    ours: Vec<f64>,
    raw: Vec<f64>,
}

/// What both sides came to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Compared {
    /// The median of each side.
    pub(crate) ours: f64,
    pub(crate) raw: f64,
    /// The median of the ratios within each pair: a drift of the machine between pairs does not touch it.
    pub(crate) ratio: f64,
    /// The median of the differences within each pair.
    pub(crate) more: f64,
}

impl Pairs {
    /// Takes `rounds` pairs. Which side goes first changes from pair to pair.
    ///
    /// # Errors
    /// What either side fails with.
    pub(crate) fn take(
        rounds: usize,
        mut ours: impl FnMut() -> Result<f64>,
        mut raw: impl FnMut() -> Result<f64>,
    ) -> Result<Self> {
        let mut pairs = Self::default();
        for round in 0..rounds {
            if round % 2 == 0 {
                pairs.ours.push(ours()?);
                pairs.raw.push(raw()?);
            } else {
                pairs.raw.push(raw()?);
                pairs.ours.push(ours()?);
            }
        }
        Ok(pairs)
    }

    /// Figures that were taken beside others.
    pub(crate) fn of(ours: Vec<f64>, raw: Vec<f64>) -> Self {
        Self { ours, raw }
    }

    /// Compares the sides.
    ///
    /// # Errors
    /// No pair was taken.
    pub(crate) fn compare(&self) -> Result<Compared> {
        let pairs = || self.ours.iter().zip(&self.raw);
        let ratios: Vec<f64> = pairs().map(|(ours, raw)| ours / raw).collect();
        let differences: Vec<f64> = pairs().map(|(ours, raw)| ours - raw).collect();
        let middle = |figures: &[f64]| median(figures).context("no round was measured");
        Ok(Compared {
            ours: middle(&self.ours)?,
            raw: middle(&self.raw)?,
            ratio: middle(&ratios)?,
            more: middle(&differences)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_median_is_the_middle() {
        assert_eq!(median(&[]), None);
        assert_eq!(median(&[3.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(&[4.0, 1.0, 2.0, 3.0]), Some(2.5));
    }

    #[test]
    fn one_in_a_hundred_is_above_the_percentile() {
        assert_eq!(percentile_99(&[]), None);
        assert_eq!(percentile_99(&[5.0]), Some(5.0));
        let figures: Vec<f64> = (0..200).rev().map(f64::from).collect();
        assert_eq!(percentile_99(&figures), Some(198.0));
    }

    #[test]
    fn sides_take_turns_in_going_first_and_are_compared_within_their_pair() {
        let order = std::cell::RefCell::new(String::new());
        let side = |name: char, figures: [f64; 3]| {
            let mut figures = figures.into_iter();
            let order = &order;
            move || {
                order.borrow_mut().push(name);
                Ok(figures.next().unwrap())
            }
        };
        let pairs = Pairs::take(3, side('o', [2.0, 40.0, 6.0]), side('r', [1.0, 10.0, 2.0])).unwrap();
        assert_eq!(order.into_inner(), "orroor");
        assert_eq!(pairs.compare().unwrap(), Compared { ours: 6.0, raw: 2.0, ratio: 3.0, more: 4.0 });
        assert!(Pairs::default().compare().is_err());
    }
}
