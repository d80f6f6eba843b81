//! Matching with the index, on CPUs. Each thread has its own notifications, and matches them
//! in groups. The notifications of a group descend the tree together, step by step, so that
//! one waits for memory while others are compared.

use std::ops::Range;

use crate::tick::error::StartError;
use device::cpu::{Workers, ranges};

use super::batch::{Attribute, Batch, Matches, ResolvedStrings};
use super::compile::Condition;
use super::index::{
    Entry, Index, NO_CONDITIONS, Node, SET_NAMES_MAX, child_key, name_bit, name_token, point_token,
    subsets, token_bit,
};
use super::subscriptions::Subscriptions;

/// The threads, and the scratch of each. The subscriptions are an argument of each call.
pub struct CpuMatcher {
    workers: Workers,
    parts: Vec<ThreadScratch>,
    resolved: ResolvedStrings,
    /// Whether a sample of the work is kept.
    keeps_sample: bool,
}

impl CpuMatcher {
    pub fn new(threads: usize) -> Result<CpuMatcher, StartError> {
        Ok(CpuMatcher {
            workers: Workers::new(threads)?,
            parts: vec![],
            resolved: ResolvedStrings::default(),
            keeps_sample: false,
        })
    }

    /// From now on, [`CpuMatcher::sampled`] has the cost of each subscriber's filters.
    pub fn keep_sample(&mut self) {
        self.keeps_sample = true;
    }

    /// The subscriber of each filter that a sample of the last batch's notifications looked at:
    /// one in [`SAMPLED`] of them, whatever the number of threads.
    pub fn sampled(&self) -> impl Iterator<Item = u32> {
        self.parts
            .iter()
            .flat_map(|part| part.sampled.iter().copied())
    }

    /// Finds all matches of a batch.
    pub fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) {
        subscriptions.resolve(batch, &mut self.resolved);
        let parts = self.workers.parts_of(batch.len(), NOTIFICATIONS_PER_PART);
        if self.parts.len() < parts {
            self.parts.resize_with(parts, ThreadScratch::default);
        }
        let names = subscriptions.vocabulary.len();
        let (index, resolved) = (&subscriptions.index, &self.resolved);
        let subscribers = subscriptions.subscribers();
        let limit = subscriptions.limits.subscribers;
        let keeps_sample = self.keeps_sample;
        for part in &mut self.parts {
            part.sampled.clear();
        }
        let cuts = ranges(batch.len(), parts);
        let tasks = self.parts.iter_mut().zip(cuts).collect();
        self.workers.run(tasks, |(part, range)| {
            let search = Search {
                index,
                set_sizes: index.sets.size_bits(),
                resolved,
                subscribers,
                keeps_sample,
            };
            part.prepare(names, limit);
            let mut start = range.start;
            while start < range.end {
                let end = (start + part.group).min(range.end);
                part.match_group(&search, batch, start..end);
                start = end;
            }
        });
        matches.clear();
        for part in &self.parts[..parts] {
            matches.append(&part.matches);
        }
    }
}

/// The index that all notifications of a batch are compared with.
struct Search<'a> {
    index: &'a Index,
    /// A bit for each size that sets of names have.
    set_sizes: u32,
    resolved: &'a ResolvedStrings,
    /// The number of subscribers with a subscription.
    subscribers: usize,
    keeps_sample: bool,
}

/// One thread's scratch and results.
#[derive(Default)]
struct ThreadScratch {
    matches: Matches,
    names: usize,
    /// The most notifications of a group.
    group: usize,
    /// By place in the group and name. A value is valid if its stamp is that of this group.
    values: Vec<NamedValue>,
    stamp: u32,
    members: Vec<Member>,
    tokens: Vec<u64>,
    /// By place in the group: a bit for each subscriber that was reached. Empty if there are
    /// too many subscribers.
    reached: Vec<u64>,
    /// Words of such bits for one notification.
    words: usize,
    probes: Vec<Probe>,
    found: Vec<Hit>,
    candidates: Vec<Candidate>,
    /// See [`CpuMatcher::sampled`].
    sampled: Vec<u32>,
}

#[derive(Clone, Copy, Default)]
struct NamedValue {
    key: u64,
    stamp: u32,
    patterns_start: u32,
    patterns_len: u32,
}

/// A notification of a group.
#[derive(Default)]
struct Member {
    names: u64,
    tokens: Range<u32>,
    subscribers: Vec<u32>,
    is_sampled: bool,
}

/// A node that a notification looks up, and the range of the tokens that may lead on from
/// there.
#[derive(Clone, Copy)]
struct Probe {
    key: u64,
    member: u32,
    from: u16,
    to: u16,
}

/// A probe whose node exists.
#[derive(Clone, Copy)]
struct Hit {
    at: u32,
    member: u32,
    from: u16,
    to: u16,
}

/// A filter whose names a notification may all have, by the mask.
#[derive(Clone, Copy)]
struct Candidate {
    member: u32,
    conditions: u32,
    subscriber: u32,
}

impl ThreadScratch {
    fn prepare(&mut self, names: usize, subscribers: usize) {
        self.matches.clear();
        self.names = names;
        self.group = (NAMED_VALUES / names.max(1)).clamp(1, GROUP_MAX);
        self.words = match subscribers <= SUBSCRIBERS_AS_BITS {
            true => subscribers.div_ceil(64),
            false => 0,
        };
        let values = self.group * names;
        if self.values.len() < values {
            self.values.resize(values, NamedValue::default());
        }
        self.reached.resize(self.group * self.words, 0);
        self.members.resize_with(self.group, Member::default);
    }

    fn match_group(&mut self, search: &Search, batch: &Batch, range: Range<usize>) {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.values.fill(NamedValue::default());
            self.stamp = 1;
        }
        self.tokens.clear();
        self.reached.fill(0);
        let root = search.index.root;
        for (member, notification) in range.clone().enumerate() {
            let attributes = batch.attributes_of(notification);
            self.add_member(member, attributes, search.resolved);
            self.members[member].is_sampled = search.keeps_sample && is_sampled(notification);
            self.scan(search, member as u32, &root);
            self.find_sets(search, member as u32);
            let tokens = self.members[member].tokens.len();
            // Filters of fewer names are looked up by their set.
            if tokens / 2 > SET_NAMES_MAX {
                self.descend(search, member as u32, &root, 0..tokens as u16);
            }
        }
        self.compare(search);
        while !self.probes.is_empty() {
            self.find(search);
            let mut found = std::mem::take(&mut self.found);
            for found in &found {
                let node = search.index.nodes.get(found.at);
                self.scan(search, found.member, node);
                if node.children > 0 {
                    self.descend(search, found.member, node, found.from..found.to);
                }
            }
            found.clear();
            self.found = found;
            self.compare(search);
        }
        for member in &mut self.members[..range.len()] {
            let start = self.matches.subscribers.len();
            member.subscribers.sort_unstable();
            member.subscribers.dedup();
            self.matches.subscribers.append(&mut member.subscribers);
            self.matches.finish(start);
        }
    }

    /// Stores a notification's values by name, and its tokens: points first, in the order of
    /// filters.
    fn add_member(&mut self, member: usize, attributes: &[Attribute], resolved: &ResolvedStrings) {
        let start = self.tokens.len() as u32;
        let mut names = 0;
        let values = &mut self.values[member * self.names..][..self.names];
        for attribute in attributes {
            let mut value = NamedValue {
                key: attribute.value,
                stamp: self.stamp,
                ..NamedValue::default()
            };
            if attribute.is_string != 0 {
                let string = &resolved.strings[attribute.value as usize];
                value.key = u64::from(string.exact);
                value.patterns_start = string.patterns_start;
                value.patterns_len = string.patterns_len;
            }
            // A name that is not in the vocabulary of the subscriptions.
            let Some(place) = values.get_mut(attribute.name as usize) else {
                continue;
            };
            *place = value;
            self.tokens.push(point_token(attribute.name, value.key));
            names |= name_bit(attribute.name);
        }
        let known = attributes.iter().filter(|a| (a.name as usize) < self.names);
        let of_names = known.map(|a| name_token(a.name));
        self.tokens.extend(of_names);
        self.members[member].names = names;
        self.members[member].tokens = start..self.tokens.len() as u32;
    }

    /// Looks up the sets of which a notification has all names.
    fn find_sets(&mut self, search: &Search, member: u32) {
        let range = self.members[member as usize].tokens.clone();
        let tokens = &self.tokens[range.start as usize..range.end as usize];
        let points = tokens.len() / 2;
        let (nodes, sets) = (&search.index.nodes, &search.index.sets);
        let probes = &mut self.probes;
        let mut look_for = |token| {
            let key = child_key(0, token);
            if nodes.may_have(key) {
                probes.push(Probe {
                    key,
                    member,
                    from: 0,
                    to: points as u16,
                });
            }
        };
        if sets.are_subsets_fewer(points) {
            return subsets(&tokens[points..], search.set_sizes, &mut look_for);
        }
        let values = &self.values[member as usize * self.names..][..self.names];
        let is_there = |&name: &u16| values[usize::from(name)].stamp == self.stamp;
        for set in sets.rows() {
            if set.names().iter().all(is_there) {
                look_for(set.token());
            }
        }
    }

    /// Looks up the children of a node for the notification's tokens.
    #[inline]
    fn descend(&mut self, search: &Search, member: u32, node: &Node, range: Range<u16>) {
        if node.child_bits == 0 {
            return;
        }
        let start = self.members[member as usize].tokens.start as usize;
        let tokens = &self.tokens[start..][usize::from(range.start)..usize::from(range.end)];
        for (i, &token) in (range.start..).zip(tokens) {
            if node.child_bits & token_bit(token) == 0 {
                continue;
            }
            let key = child_key(node.key, token);
            if search.index.nodes.may_have(key) {
                self.probes.push(Probe {
                    key,
                    member,
                    from: i + 1,
                    to: range.end,
                });
            }
        }
    }

    /// Finds the nodes of all probes. One look-up doesn't wait for another.
    fn find(&mut self, search: &Search) {
        for probe in &self.probes {
            if let Some(at) = search.index.nodes.find(probe.key) {
                self.found.push(Hit {
                    at,
                    member: probe.member,
                    from: probe.from,
                    to: probe.to,
                });
            }
        }
        self.probes.clear();
    }

    /// Makes the filters of a bucket whose names fit the mask candidates.
    #[inline]
    fn scan(&mut self, search: &Search, member: u32, node: &Node) {
        let entries = search.index.entries.items();
        let bucket = &entries[node.start as usize..(node.start + node.len) as usize];
        if self.members[member as usize].is_sampled {
            let subscribers = bucket.iter().map(|entry| entry.subscriber);
            self.sampled.extend(subscribers);
        }
        if bucket.len() > LONG_BUCKET && self.words > 0 {
            return self.scan_long(search, member, bucket);
        }
        let names = !self.members[member as usize].names;
        for entry in bucket {
            if entry.names & names == 0 {
                self.candidates.push(Candidate {
                    member,
                    conditions: entry.conditions,
                    subscriber: entry.subscriber,
                });
            }
        }
    }

    /// Compares a long bucket at once. It goes over the filters in wide steps, since the
    /// filters of a subscriber are often side by side: so most subscribers are reached soon,
    /// and the rest of their filters is skipped.
    fn scan_long(&mut self, search: &Search, member: u32, bucket: &[Entry]) {
        let place = member as usize;
        let names = !self.members[place].names;
        for first in 0..LONG_STEP {
            for entry in bucket.iter().skip(first).step_by(LONG_STEP) {
                if self.members[place].subscribers.len() == search.subscribers {
                    return;
                }
                if entry.names & names == 0 {
                    self.compare_one(
                        search,
                        &Candidate {
                            member,
                            conditions: entry.conditions,
                            subscriber: entry.subscriber,
                        },
                    );
                }
            }
        }
    }

    /// Compares all candidates.
    fn compare(&mut self, search: &Search) {
        let mut candidates = std::mem::take(&mut self.candidates);
        for candidate in &candidates {
            self.compare_one(search, candidate);
        }
        candidates.clear();
        self.candidates = candidates;
    }

    /// Compares a candidate, unless its subscriber was reached already.
    #[inline]
    fn compare_one(&mut self, search: &Search, candidate: &Candidate) {
        let member = candidate.member as usize;
        let reached = &self.reached[member * self.words..][..self.words];
        let subscriber = candidate.subscriber as usize;
        let is_reached = |word: &u64| word >> (subscriber % 64) & 1 == 1;
        if reached.get(subscriber / 64).is_some_and(is_reached) {
            return;
        }
        if self.holds(search, candidate) {
            self.reach(search, member, candidate.subscriber);
        }
    }

    /// Adds a subscriber to a notification's matches.
    fn reach(&mut self, search: &Search, member: usize, subscriber: u32) {
        let reached = &mut self.reached[member * self.words..][..self.words];
        let subscribers = &mut self.members[member].subscribers;
        subscribers.push(subscriber);
        if let Some(word) = reached.get_mut(subscriber as usize / 64) {
            *word |= 1 << (subscriber % 64);
            if subscribers.len() == search.subscribers {
                // All subscribers are reached.
                self.probes.retain(|probe| probe.member as usize != member);
            }
        }
    }

    /// Whether a notification satisfies all conditions of a filter.
    #[inline]
    fn holds(&self, search: &Search, candidate: &Candidate) -> bool {
        if candidate.conditions == NO_CONDITIONS {
            return true;
        }
        let values = &self.values[candidate.member as usize * self.names..][..self.names];
        let conditions = &search.index.conditions.items()[candidate.conditions as usize..];
        for condition in conditions {
            let value = &values[usize::from(condition.name)];
            if value.stamp != self.stamp || !satisfies(search, condition, value) {
                return false;
            }
            if condition.is_last != 0 {
                break;
            }
        }
        true
    }
}

#[inline]
fn satisfies(search: &Search, condition: &Condition, value: &NamedValue) -> bool {
    let start = value.patterns_start as usize;
    let patterns = &search.resolved.patterns[start..start + value.patterns_len as usize];
    condition.holds(value.key, patterns)
}

/// Whether the notification at a place of a batch is in the sample. Events come in patterns,
/// such as x, y, x, y, of which the sample has all parts.
fn is_sampled(place: usize) -> bool {
    (place as u32).wrapping_mul(0x9e37_79b1) < u32::MAX / SAMPLED
}

/// One notification in so many is in the sample.
pub const SAMPLED: u32 = 8;
/// The fewest notifications for which one more thread pays.
const NOTIFICATIONS_PER_PART: usize = 16;
/// Enough to keep memory busy. The values of more would fill the cache.
const GROUP_MAX: usize = 16;
/// The most values by name of a group.
const NAMED_VALUES: usize = 4_096;
/// A bucket of more filters is compared at once.
const LONG_BUCKET: usize = 64;
/// The distance between filters of a long bucket that are compared one after the other.
const LONG_STEP: usize = 61;
/// With more subscribers, their bits cost more than they save.
const SUBSCRIBERS_AS_BITS: usize = 1_024;
