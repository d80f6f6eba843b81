//! Matching with the index, on CPUs: each thread takes its own notifications, a group
//! at a time. A group descends the tree together, step by step, so that the memory
//! that one notification waits for is fetched while others are looked at.

use std::ops::Range;

use crate::backend::StartError;
use crate::cpu::workers::{Workers, ranges};

use super::batch::{Attribute, Batch, Matches, ResolvedStrings};
use super::compile::{Condition, name_bit, name_token, point_token};
use super::index::{Index, NO_CONDITIONS, Node, child_key, token_bit};
use super::subscriptions::Subscriptions;

/// Scratch of each thread; the subscriptions are somebody else's.
pub struct CpuMatcher {
    workers: Workers,
    parts: Vec<Part>,
    resolved: ResolvedStrings,
}

impl CpuMatcher {
    pub fn new(threads: usize) -> Result<CpuMatcher, StartError> {
        Ok(CpuMatcher {
            workers: Workers::new(threads)?,
            parts: vec![],
            resolved: ResolvedStrings::default(),
        })
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
            self.parts.resize_with(parts, Part::default);
        }
        let names = subscriptions.vocabulary.len();
        let (index, resolved) = (&subscriptions.index, &self.resolved);
        let interfaces = subscriptions.interfaces();
        let limit = subscriptions.limits.interfaces;
        let cuts = ranges(batch.len(), parts);
        let tasks = self.parts.iter_mut().zip(cuts).collect();
        self.workers.run(tasks, |(part, range)| {
            let search = Search {
                index,
                resolved,
                interfaces,
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

/// What all notifications of a batch are matched with.
struct Search<'a> {
    index: &'a Index,
    resolved: &'a ResolvedStrings,
    /// How many interfaces there are to be found.
    interfaces: usize,
}

/// One thread's scratch and results.
#[derive(Default)]
struct Part {
    matches: Matches,
    names: usize,
    /// Notifications of a group, at most.
    group: usize,
    /// By place in the group and name, valid where the stamp is this group's.
    values: Vec<NamedValue>,
    stamp: u32,
    members: Vec<Member>,
    tokens: Vec<u64>,
    /// By place in the group, a bit for each interface that was reached; none where
    /// interfaces are many.
    reached: Vec<u64>,
    words: usize,
    probes: Vec<Probe>,
    found: Vec<Found>,
    candidates: Vec<Candidate>,
}

#[derive(Clone, Copy, Default)]
struct NamedValue {
    key: u64,
    stamp: u32,
    patterns_start: u32,
    patterns_len: u32,
}

/// One notification of a group.
#[derive(Default)]
struct Member {
    names: u64,
    tokens: Range<u32>,
    interfaces: Vec<u32>,
}

/// A node that a notification looks for, and the token from which on it goes there.
#[derive(Clone, Copy)]
struct Probe {
    key: u64,
    member: u32,
    from: u32,
}

#[derive(Clone, Copy)]
struct Found {
    at: u32,
    member: u32,
    from: u32,
}

/// A filter whose names are all there.
#[derive(Clone, Copy)]
struct Candidate {
    member: u32,
    conditions: u32,
    interface: u32,
}

impl Part {
    fn prepare(&mut self, names: usize, interfaces: usize) {
        self.matches.clear();
        self.names = names;
        self.group = (NAMED_VALUES / names.max(1)).clamp(1, GROUP_MAX);
        self.words = match interfaces <= INTERFACES_AS_BITS {
            true => interfaces.div_ceil(64),
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
            self.take_in(member, attributes, search.resolved);
            self.scan(search, member as u32, &root);
            self.descend(member as u32, &root, 0);
        }
        self.compare(search);
        while !self.probes.is_empty() {
            self.find(search);
            let mut found = std::mem::take(&mut self.found);
            for &Found { at, member, from } in &found {
                let node = search.index.nodes.get(at);
                self.scan(search, member, node);
                if node.children > 0 {
                    self.descend(member, node, from);
                }
            }
            found.clear();
            self.found = found;
            self.compare(search);
        }
        for member in &mut self.members[..range.len()] {
            let start = self.matches.interfaces.len();
            member.interfaces.sort_unstable();
            member.interfaces.dedup();
            self.matches.interfaces.append(&mut member.interfaces);
            self.matches.finish(start);
        }
    }

    /// Notes the values by name, and the tokens that they offer: points first, as
    /// filters have them.
    fn take_in(&mut self, member: usize, attributes: &[Attribute], resolved: &ResolvedStrings) {
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
            // A name that no subscription can have: declared elsewhere.
            let Some(place) = values.get_mut(attribute.name as usize) else {
                continue;
            };
            *place = value;
            self.tokens.push(point_token(attribute.name, value.key));
            names |= name_bit(attribute.name);
        }
        let of_names = attributes.iter().map(|a| name_token(a.name));
        self.tokens.extend(of_names);
        self.members[member].names = names;
        self.members[member].tokens = start..self.tokens.len() as u32;
    }

    /// Looks for the children of a node that the notification can satisfy.
    #[inline]
    fn descend(&mut self, member: u32, node: &Node, from: u32) {
        let range = self.members[member as usize].tokens.clone();
        let tokens = &self.tokens[range.start as usize..range.end as usize];
        for (i, &token) in (from..).zip(&tokens[from as usize..]) {
            if node.child_bits & token_bit(token) != 0 {
                self.probes.push(Probe {
                    key: child_key(node.key, token),
                    member,
                    from: i + 1,
                });
            }
        }
    }

    /// One look-up doesn't wait for another.
    fn find(&mut self, search: &Search) {
        for probe in &self.probes {
            if let Some(at) = search.index.nodes.find(probe.key) {
                self.found.push(Found {
                    at,
                    member: probe.member,
                    from: probe.from,
                });
            }
        }
        self.probes.clear();
    }

    /// Takes the filters of a bucket whose names are there.
    #[inline]
    fn scan(&mut self, search: &Search, member: u32, node: &Node) {
        let entries = search.index.entries.items();
        let names = !self.members[member as usize].names;
        let bucket = &entries[node.start as usize..(node.start + node.len) as usize];
        for entry in bucket {
            if entry.names & names == 0 {
                self.candidates.push(Candidate {
                    member,
                    conditions: entry.conditions,
                    interface: entry.interface,
                });
            }
        }
    }

    /// Compares the candidates, condition by condition.
    fn compare(&mut self, search: &Search) {
        let mut candidates = std::mem::take(&mut self.candidates);
        for candidate in &candidates {
            let member = candidate.member as usize;
            let reached = &self.reached[member * self.words..][..self.words];
            let interface = candidate.interface as usize;
            let is_reached = |word: &u64| word >> (interface % 64) & 1 == 1;
            if reached.get(interface / 64).is_some_and(is_reached) {
                continue;
            }
            if self.holds(search, candidate) {
                self.reach(search, member, candidate.interface);
            }
        }
        candidates.clear();
        self.candidates = candidates;
    }

    fn reach(&mut self, search: &Search, member: usize, interface: u32) {
        let reached = &mut self.reached[member * self.words..][..self.words];
        let interfaces = &mut self.members[member].interfaces;
        interfaces.push(interface);
        if let Some(word) = reached.get_mut(interface as usize / 64) {
            *word |= 1 << (interface % 64);
            if interfaces.len() == search.interfaces {
                // There is nobody left to be found.
                self.probes.retain(|probe| probe.member as usize != member);
            }
        }
    }

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

/// Fewer aren't worth a second thread.
const NOTIFICATIONS_PER_PART: usize = 16;
/// Enough to keep memory busy; the values of more would fill the cache.
const GROUP_MAX: usize = 16;
/// Of a group's values by name.
const NAMED_VALUES: usize = 4_096;
/// With more, their bits would cost more than what they spare.
const INTERFACES_AS_BITS: usize = 1_024;
