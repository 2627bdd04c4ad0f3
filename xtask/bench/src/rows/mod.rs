//! What is compared. One file for each group of rows; a new row is a line in [`ROWS`].

mod call;
mod idle;
mod start;
mod throughput;

use anyhow::Result;

use crate::setup::Setup;
use crate::stats::Compared;

/// Every row.
pub(crate) const ROWS: &[Row] = &[throughput::ROW, call::ROW, start::ROW, idle::ROW];

/// One comparison.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) goal: Goal,
    pub(crate) measure: fn(&Setup) -> Result<Measured>,
}

/// What is wanted of the ratio, or of the figure itself where there is no raw side.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    AtLeast(f64),
    AtMost(f64),
}

impl Goal {
    pub(crate) fn is_met(self, figure: f64) -> bool {
        match self {
            Self::AtLeast(bound) => figure >= bound,
            Self::AtMost(bound) => figure <= bound,
        }
    }
}

/// What came out.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Measured {
    pub(crate) ours: f64,
    pub(crate) raw: Option<f64>,
    pub(crate) ratio: Option<f64>,
    /// Whether everything else that the row demands holds too; `notes` say what does not.
    pub(crate) sound: bool,
    pub(crate) notes: Vec<String>,
}

impl Measured {
    /// The figure that the goal is about.
    pub(crate) fn judged(&self) -> f64 {
        self.ratio.unwrap_or(self.ours)
    }
}

impl From<Compared> for Measured {
    fn from(Compared { ours, raw, ratio }: Compared) -> Self {
        Self { ours, raw: Some(raw), ratio: Some(ratio), sound: true, notes: Vec::new() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_about_the_ratio_where_there_is_one() {
        let mut measured = Measured::from(Compared { ours: 3.0, raw: 2.0, ratio: 1.5 });
        assert!(Goal::AtMost(1.5).is_met(measured.judged()));
        assert!(!Goal::AtLeast(1.6).is_met(measured.judged()));
        measured.ratio = None;
        assert!(Goal::AtLeast(1.6).is_met(measured.judged()));
    }
}
