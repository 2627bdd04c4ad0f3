//! What is compared. One file for each group of rows; a new row is a line in [`ROWS`].

mod agents;
mod boot;
mod bridge;
mod call;
mod done;
mod echo;
mod flood;
mod grpc;
mod http;
mod http_load;
mod idle;
mod many;
mod memory;
mod pipe;
mod ssh;
mod ssh_echo;
mod ssh_idle;
mod start;
mod stops;
mod throughput;

use anyhow::Result;

use crate::setup::Setup;
use crate::stats::Compared;

/// Every row.
pub(crate) const ROWS: &[Row] = &[
    throughput::ROW,
    pipe::ROW,
    echo::INSIDE,
    echo::STDIO,
    call::ROW,
    done::ROW,
    idle::ROW,
    start::ROW,
    boot::ROW,
    memory::ONE_LINE,
    memory::ESCAPES,
    flood::ROW,
    stops::ROW,
    many::ROW,
    grpc::READ,
    bridge::ROW,
    grpc::FOLLOW,
    grpc::FOLLOWERS,
    grpc::WAITS,
    http::READ,
    http::WAITS,
    http_load::FLOOD,
    http_load::LOAD,
    ssh::OUTPUT,
    ssh::COMMAND,
    ssh::CONNECT,
    ssh::MANY,
    ssh_echo::ROW,
    ssh_idle::ROW,
    agents::DESCRIBE,
    agents::IDLE,
];

/// One comparison.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    pub(crate) what: &'static str,
    pub(crate) unit: &'static str,
    pub(crate) goal: Goal,
    pub(crate) measure: fn(&Setup) -> Result<Measured>,
}

/// What is wanted of a row.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Goal {
    /// Of ours divided by raw.
    Ratio(Bound),
    /// Of ours less raw.
    More(Bound),
    /// Of ours alone.
    Ours(Bound),
}

/// Where a figure must lie.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bound {
    AtLeast(f64),
    AtMost(f64),
}

impl Bound {
    pub(crate) fn holds(self, figure: f64) -> bool {
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
    /// `None` where there is no raw side.
    pub(crate) against: Option<Compared>,
    /// What else the row demands.
    pub(crate) also: Vec<Check>,
    pub(crate) notes: Vec<String>,
}

/// A figure beside a row's own.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Check {
    pub(crate) what: String,
    pub(crate) figure: f64,
    pub(crate) bound: Bound,
}

impl Check {
    pub(crate) fn at_most(bound: f64, what: impl Into<String>, figure: f64) -> Self {
        Self { what: what.into(), figure, bound: Bound::AtMost(bound) }
    }

    pub(crate) fn is_met(&self) -> bool {
        self.bound.holds(self.figure)
    }
}

impl Measured {
    /// A figure that is compared with nothing.
    pub(crate) fn alone(ours: f64) -> Self {
        Self { ours, against: None, also: Vec::new(), notes: Vec::new() }
    }

    /// Whether the goal and everything else is met. A goal about a raw side that was not measured is not.
    pub(crate) fn meets(&self, goal: Goal) -> bool {
        let own = match (goal, self.against) {
            (Goal::Ours(bound), _) => bound.holds(self.ours),
            (Goal::Ratio(bound), Some(against)) => bound.holds(against.ratio),
            (Goal::More(bound), Some(against)) => bound.holds(against.more),
            (Goal::Ratio(_) | Goal::More(_), None) => false,
        };
        own && self.also.iter().all(Check::is_met)
    }
}

impl From<Compared> for Measured {
    fn from(against: Compared) -> Self {
        Self { against: Some(against), ..Self::alone(against.ours) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_goal_is_about_one_figure() {
        let measured = Measured::from(Compared { ours: 3.0, raw: 2.0, ratio: 1.5, more: 1.0 });
        assert!(measured.meets(Goal::Ratio(Bound::AtMost(1.5))));
        assert!(!measured.meets(Goal::Ratio(Bound::AtLeast(1.6))));
        assert!(measured.meets(Goal::More(Bound::AtMost(1.0))));
        assert!(measured.meets(Goal::Ours(Bound::AtLeast(3.0))));
        assert!(!Measured::alone(3.0).meets(Goal::Ratio(Bound::AtMost(1.5))));
    }

    #[test]
    fn what_else_is_demanded_counts_as_much() {
        let mut measured = Measured::alone(3.0);
        measured.also.push(Check::at_most(0.0, "lost", 0.0));
        assert!(measured.meets(Goal::Ours(Bound::AtMost(3.0))));
        measured.also.push(Check::at_most(0.0, "lost", 1.0));
        assert!(!measured.meets(Goal::Ours(Bound::AtMost(3.0))));
    }
}
