//! Filters by the hash of their set of names: each subset of a notification's names is
//! looked up.

use std::collections::HashMap;

use super::Finder;
use gpu_kernels::content::batch::{Attribute, ResolvedStrings};
use gpu_kernels::content::compile::Condition;
use gpu_kernels::content::{Batch, Subscriptions};
use shared::world::mix::mix;

pub struct Subsets {
    /// By the hash of the names: begin and end of the filters with these names.
    groups: HashMap<u64, (u32, u32)>,
    /// Subscriber, begin and end of the conditions of each filter.
    filters: Vec<(u32, u32, u32)>,
    conditions: Vec<Condition>,
    /// The most names of a filter.
    largest: usize,
    reached: Vec<u32>,
    stamp: u32,
}

impl Subsets {
    pub fn build(subscriptions: &Subscriptions) -> Subsets {
        let mut by_names: HashMap<u64, Vec<(u32, &[Condition])>> = HashMap::new();
        let mut largest = 0;
        for (subscriber, conditions) in subscriptions.compiled_filters() {
            let mut names: Vec<u32> = conditions.iter().map(|c| u32::from(c.name)).collect();
            names.sort_unstable();
            names.dedup();
            largest = largest.max(names.len());
            let key = names.iter().fold(0, |key, &name| with_name(key, name));
            by_names
                .entry(key)
                .or_default()
                .push((subscriber, conditions));
        }
        let mut subsets = Subsets {
            groups: HashMap::new(),
            filters: vec![],
            conditions: vec![],
            largest,
            reached: vec![0; subscriptions.limits().subscribers],
            stamp: 0,
        };
        for (key, group) in by_names {
            let start = subsets.filters.len() as u32;
            for (subscriber, conditions) in group {
                let from = subsets.conditions.len() as u32;
                subsets.conditions.extend_from_slice(conditions);
                let to = subsets.conditions.len() as u32;
                subsets.filters.push((subscriber, from, to));
            }
            let end = subsets.filters.len() as u32;
            subsets.groups.insert(key, (start, end));
        }
        subsets
    }
}

impl Finder for Subsets {
    const APPROACH: &'static str = "subsets of names, 1 thread";

    fn bytes(&self) -> usize {
        self.groups.len() * size_of::<(u64, (u32, u32))>()
            + size_of_val(&self.filters[..])
            + size_of_val(&self.conditions[..])
    }

    fn match_batch(
        &mut self,
        batch: &Batch,
        resolved: &ResolvedStrings,
        mut visit: impl FnMut(usize, u32),
    ) {
        for notification in 0..batch.len() {
            self.stamp += 1;
            let attributes = batch.attributes_of(notification);
            self.search(attributes, resolved, 0, 0, 0, &mut |subscriber| {
                visit(notification, subscriber);
            });
        }
    }
}

impl Subsets {
    /// Visits the subsets that begin with `size` names of hash `key` and continue with
    /// attributes from `from`.
    fn search(
        &mut self,
        attributes: &[Attribute],
        resolved: &ResolvedStrings,
        key: u64,
        size: usize,
        from: usize,
        visit: &mut impl FnMut(u32),
    ) {
        if let Some(&(start, end)) = self.groups.get(&key) {
            for i in start..end {
                let (subscriber, from, to) = self.filters[i as usize];
                let conditions = &self.conditions[from as usize..to as usize];
                let is_new = self.reached[subscriber as usize] != self.stamp;
                let holds = |c: &Condition| holds(c, attributes, resolved);
                if is_new && conditions.iter().all(holds) {
                    self.reached[subscriber as usize] = self.stamp;
                    visit(subscriber);
                }
            }
        }
        if size == self.largest {
            return;
        }
        for i in from..attributes.len() {
            let key = with_name(key, attributes[i].name);
            self.search(attributes, resolved, key, size + 1, i + 1, visit);
        }
    }
}

fn with_name(key: u64, name: u32) -> u64 {
    mix(key, u64::from(name) + 1)
}

fn holds(condition: &Condition, attributes: &[Attribute], resolved: &ResolvedStrings) -> bool {
    let mut named = attributes.iter();
    let Some(attribute) = named.find(|a| a.name == u32::from(condition.name)) else {
        return false;
    };
    if attribute.is_string == 0 {
        return condition.holds(attribute.value, &[]);
    }
    let string = &resolved.strings[attribute.value as usize];
    let patterns = &resolved.patterns[string.patterns()];
    condition.holds(u64::from(string.exact), patterns)
}

/// With more attributes, a notification has too many subsets.
pub const ATTRIBUTES_MAX: usize = 12;
