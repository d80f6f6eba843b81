use clap::ValueEnum;

use super::workload::{DEFAULT, DENSE, Workload};
use crate::report::Row;

/// Scenarios that differ in one parameter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Group {
    /// Table 1
    Default,
    /// Table 2: names by Zipf's law
    Zipf,
    /// Figure 6
    Attributes,
    /// Figure 7
    Constraints,
    /// Figure 8
    Filters,
    /// Figure 9
    #[value(alias = "interfaces")]
    Subscribers,
    /// Figure 10
    Names,
    /// Figure 11
    Numeric,
    /// Notifications of many attributes, in the manner of BE-Gen
    Dense,
}

pub struct Scenario {
    pub group: Group,
    /// The value of the parameter.
    pub at: usize,
    pub workload: Workload,
}

impl Group {
    pub const ALL: [Group; 9] = [
        Group::Default,
        Group::Zipf,
        Group::Attributes,
        Group::Constraints,
        Group::Filters,
        Group::Subscribers,
        Group::Names,
        Group::Numeric,
        Group::Dense,
    ];

    pub fn name(self) -> &'static str {
        self.scenario().trim_start_matches("content ")
    }

    /// The `scenario` of its rows.
    pub fn scenario(self) -> &'static str {
        match self {
            Group::Default => "content default",
            Group::Zipf => "content zipf",
            Group::Attributes => "content attributes",
            Group::Constraints => "content constraints",
            Group::Filters => "content filters",
            Group::Subscribers => "content subscribers",
            Group::Names => "content names",
            Group::Numeric => "content numeric",
            Group::Dense => "content dense",
        }
    }

    /// Whether a row is one of this group. Kept reports say `interfaces` for subscribers.
    pub fn has(self, row: &Row) -> bool {
        row.scenario == self.scenario()
            || self == Group::Subscribers && row.scenario == "content interfaces"
    }

    /// The title of its table.
    pub fn title(self) -> &'static str {
        match self {
            Group::Default => "Table 1: the default scenario, by million constraints",
            Group::Zipf => "Table 2: names by Zipf's law",
            Group::Attributes => "Figure 6: attributes of a notification",
            Group::Constraints => "Figure 7: constraints of a filter",
            Group::Filters => "Figure 8: filters of a subscriber",
            Group::Subscribers => "Figure 9: subscribers (interfaces in the paper)",
            Group::Names => "Figure 10: names",
            Group::Numeric => "Figure 11: numeric constraints, in percent",
            Group::Dense => "Dense: subscriptions of 5 to 30 constraints, in millions",
        }
    }

    pub fn scenarios(self) -> Vec<Scenario> {
        let values: &[usize] = match self {
            Group::Default | Group::Zipf | Group::Dense => &[1],
            Group::Attributes | Group::Constraints => &[1, 3, 5, 7, 9],
            Group::Filters => &[100, 1_000, 10_000, 25_000, 100_000, 250_000],
            Group::Subscribers => &[10, 30, 100],
            Group::Names => &[10, 30, 100, 300, 1_000],
            Group::Numeric => &[0, 25, 50, 75, 100],
        };
        let scenario = |&at: &usize| Scenario {
            group: self,
            at,
            workload: self.workload(at),
        };
        values.iter().map(scenario).collect()
    }

    fn workload(self, at: usize) -> Workload {
        // The paper gives averages; the values are one more or less.
        let around = |at: usize| (at.saturating_sub(1).max(1), at + usize::from(at > 1));
        let mut w = DEFAULT;
        match self {
            Group::Default => {}
            Group::Zipf => w.is_zipf = true,
            Group::Attributes => w.attributes = around(at),
            Group::Constraints => w.constraints_per_filter = around(at),
            Group::Filters => w.filters_per_subscriber = at,
            Group::Subscribers => w.subscribers = at,
            Group::Names => w.names = at,
            Group::Numeric => w.numeric_percent = at,
            Group::Dense => w = DENSE,
        }
        w
    }
}
