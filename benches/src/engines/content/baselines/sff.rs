//! Counting as in SFF: constraints are indexed by name, operator and value, so that only
//! satisfied ones are visited. It stops when all subscribers are reached.

use std::collections::HashMap;

use gpu_kernels::content::batch::{Attribute, ResolvedStrings};
use gpu_kernels::content::compile::{Condition, ConditionKind};
use gpu_kernels::content::{Batch, Subscriptions};

use super::Finder;

#[derive(Default)]
pub struct Sff {
    rows: Vec<Row>,
    /// Number of conditions and subscriber of each filter.
    filters: Vec<(u32, u32)>,
    always: Vec<u32>,
    /// For each filter, the notification that was counted last, and the count.
    counters: Vec<(u32, u32)>,
    reached: Vec<u32>,
    stamp: u32,
    /// The number of subscribers.
    subscribers: usize,
    count_reached: usize,
}

/// The constraints of one name: filters by the values that satisfy them.
#[derive(Clone, Default)]
struct Row {
    equal: HashMap<u64, Vec<u32>>,
    pattern: HashMap<u32, Vec<u32>>,
    /// By the value that must not be.
    not: Vec<(u64, u32)>,
    /// By the least value.
    at_least: Vec<(u64, u32)>,
    /// By the greatest value.
    at_most: Vec<(u64, u32)>,
    between: Vec<(Condition, u32)>,
}

impl Sff {
    pub fn build(subscriptions: &Subscriptions) -> Sff {
        let mut sff = Sff {
            rows: vec![Row::default(); subscriptions.vocabulary().len()],
            reached: vec![0; subscriptions.limits().subscribers],
            subscribers: subscriptions.subscribers(),
            ..Sff::default()
        };
        for (subscriber, conditions) in subscriptions.compiled_filters() {
            if conditions.is_empty() {
                sff.always.push(subscriber);
                continue;
            }
            let filter = sff.filters.len() as u32;
            sff.filters.push((conditions.len() as u32, subscriber));
            for condition in conditions {
                sff.rows[usize::from(condition.name)].add(condition, filter);
            }
        }
        for row in &mut sff.rows {
            for list in [&mut row.not, &mut row.at_least, &mut row.at_most] {
                list.sort_unstable();
            }
        }
        sff.counters = vec![(0, 0); sff.filters.len()];
        sff
    }
}

impl Finder for Sff {
    const APPROACH: &'static str = "counting as SFF, 1 thread";

    fn bytes(&self) -> usize {
        let of_lists = |lists: &mut dyn Iterator<Item = &Vec<u32>>| -> usize {
            lists.map(|list| 32 + size_of_val(&list[..])).sum()
        };
        let rows = self.rows.iter().map(|row| {
            let lists = [&row.not, &row.at_least, &row.at_most];
            let sorted: usize = lists.iter().map(|list| size_of_val(&list[..])).sum();
            let between = size_of_val(&row.between[..]);
            let maps = of_lists(&mut row.equal.values()) + of_lists(&mut row.pattern.values());
            sorted + between + maps
        });
        rows.sum::<usize>() + size_of_val(&self.filters[..]) + size_of_val(&self.counters[..])
    }

    fn match_batch(
        &mut self,
        batch: &Batch,
        resolved: &ResolvedStrings,
        mut visit: impl FnMut(usize, u32),
    ) {
        // Taken out, to be borrowed beside the counters.
        let rows = std::mem::take(&mut self.rows);
        for notification in 0..batch.len() {
            self.stamp += 1;
            self.count_reached = 0;
            let mut reach = |subscriber| visit(notification, subscriber);
            for i in 0..self.always.len() {
                self.reach(self.always[i], &mut reach);
            }
            let attributes = batch.attributes_of(notification);
            for attribute in attributes {
                if self.count_reached == self.subscribers {
                    break;
                }
                let row = &rows[attribute.name as usize];
                self.count_row(row, attribute, resolved, &mut reach);
            }
        }
        self.rows = rows;
    }
}

impl Sff {
    fn count_row(
        &mut self,
        row: &Row,
        attribute: &Attribute,
        resolved: &ResolvedStrings,
        reach: &mut impl FnMut(u32),
    ) {
        let (key, patterns) = match attribute.is_string {
            0 => (attribute.value, &[][..]),
            _ => {
                let string = &resolved.strings[attribute.value as usize];
                let patterns = &resolved.patterns[string.patterns()];
                (u64::from(string.exact), patterns)
            }
        };
        for &filter in row.equal.get(&key).into_iter().flatten() {
            self.count(filter, reach);
        }
        for &filter in patterns.iter().filter_map(|p| row.pattern.get(p)).flatten() {
            self.count(filter, reach);
        }
        let from = row.not.partition_point(|(value, _)| *value < key);
        let to = row.not.partition_point(|(value, _)| *value <= key);
        let at_least = row.at_least.partition_point(|(value, _)| *value <= key);
        let at_most = row.at_most.partition_point(|(value, _)| *value < key);
        for list in [
            &row.not[..from],
            &row.not[to..],
            &row.at_least[..at_least],
            &row.at_most[at_most..],
        ] {
            for &(_, filter) in list {
                self.count(filter, reach);
            }
        }
        for (condition, filter) in &row.between {
            if condition.holds(key, patterns) {
                self.count(*filter, reach);
            }
        }
    }

    #[inline]
    fn count(&mut self, filter: u32, reach: &mut impl FnMut(u32)) {
        let counter = &mut self.counters[filter as usize];
        if counter.0 != self.stamp {
            *counter = (self.stamp, 0);
        }
        counter.1 += 1;
        let (size, subscriber) = self.filters[filter as usize];
        if counter.1 == size {
            self.reach(subscriber, reach);
        }
    }

    fn reach(&mut self, subscriber: u32, reach: &mut impl FnMut(u32)) {
        if self.reached[subscriber as usize] != self.stamp {
            self.reached[subscriber as usize] = self.stamp;
            self.count_reached += 1;
            reach(subscriber);
        }
    }
}

impl Row {
    fn add(&mut self, condition: &Condition, filter: u32) {
        match condition.kind {
            ConditionKind::NOT => self.not.push((condition.low, filter)),
            ConditionKind::WITHIN if condition.is_point() => {
                self.equal.entry(condition.low).or_default().push(filter);
            }
            ConditionKind::WITHIN if condition.high == u64::MAX => {
                self.at_least.push((condition.low, filter));
            }
            ConditionKind::WITHIN if condition.low == 0 => {
                self.at_most.push((condition.high, filter));
            }
            ConditionKind::WITHIN => self.between.push((*condition, filter)),
            _ => {
                let filters = self.pattern.entry(condition.low as u32).or_default();
                filters.push(filter);
            }
        }
    }
}
