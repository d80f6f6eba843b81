//! Matching with the index, on CPUs: each thread takes its own notifications.

use crate::backend::StartError;
use crate::cpu::workers::{Workers, ranges};

use super::batch::{Attribute, Batch, Matches, ResolvedStrings};
use super::compile::{Condition, name_bit, name_token, point_token};
use super::index::{Entry, Index, NO_CONDITIONS, Node, child_key, token_bit};
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
            part.prepare(names, limit);
            for notification in range {
                let attributes = batch.attributes_of(notification);
                part.match_one(index, interfaces, attributes, resolved);
            }
        });
        matches.clear();
        for part in &self.parts[..parts] {
            matches.append(&part.matches);
        }
    }
}

/// One thread's scratch and results.
#[derive(Default)]
struct Part {
    matches: Matches,
    /// By name, valid where the stamp is this notification's.
    values: Vec<NamedValue>,
    /// The last notification that reached each interface.
    reached: Vec<u32>,
    stamp: u32,
    tokens: Vec<u64>,
    /// Nodes still to be visited, and the token from which on they go.
    open: Vec<(u32, u32)>,
}

#[derive(Clone, Copy, Default)]
struct NamedValue {
    key: u64,
    stamp: u32,
    patterns_start: u32,
    patterns_len: u32,
}

/// What a notification is, for the time that it is matched.
struct Search<'a> {
    index: &'a Index,
    resolved: &'a ResolvedStrings,
    names: u64,
    /// Where its matches begin.
    start: usize,
    /// How many interfaces there are to be found.
    interfaces: usize,
}

impl Part {
    fn prepare(&mut self, names: usize, interfaces: usize) {
        self.matches.clear();
        self.values.resize(names, NamedValue::default());
        self.reached.resize(interfaces, 0);
    }

    fn match_one(
        &mut self,
        index: &Index,
        interfaces: usize,
        attributes: &[Attribute],
        resolved: &ResolvedStrings,
    ) {
        self.next_stamp();
        let search = Search {
            index,
            resolved,
            names: self.take_in(attributes, resolved),
            start: self.matches.interfaces.len(),
            interfaces,
        };
        self.scan(&search, &index.root);
        if index.root.children > 0 {
            self.descend(&search, &index.root, 0);
        }
        while let Some((at, from)) = self.open.pop() {
            if self.is_complete(&search) {
                self.open.clear();
                break;
            }
            let node = index.nodes.get(at);
            self.scan(&search, node);
            if node.children > 0 {
                self.descend(&search, node, from as usize);
            }
        }
        self.matches.finish(search.start);
    }

    fn next_stamp(&mut self) {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.values.fill(NamedValue::default());
            self.reached.fill(0);
            self.stamp = 1;
        }
    }

    /// Notes the values by name, and the tokens that they offer: points first, as
    /// filters have them.
    fn take_in(&mut self, attributes: &[Attribute], resolved: &ResolvedStrings) -> u64 {
        self.tokens.clear();
        let mut names = 0;
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
            let Some(place) = self.values.get_mut(attribute.name as usize) else {
                continue;
            };
            *place = value;
            self.tokens.push(point_token(attribute.name, value.key));
            names |= name_bit(attribute.name);
        }
        let of_names = attributes.iter().map(|a| name_token(a.name));
        self.tokens.extend(of_names);
        names
    }

    fn is_complete(&self, search: &Search) -> bool {
        self.matches.interfaces.len() - search.start == search.interfaces
    }

    /// Opens the children of a node that the notification can satisfy.
    #[inline]
    fn descend(&mut self, search: &Search, node: &Node, from: usize) {
        for i in from..self.tokens.len() {
            let token = self.tokens[i];
            if node.child_bits & token_bit(token) == 0 {
                continue;
            }
            if let Some(child) = search.index.nodes.find(child_key(node.key, token)) {
                self.open.push((child, i as u32 + 1));
            }
        }
    }

    /// Compares the filters of a bucket.
    #[inline]
    fn scan(&mut self, search: &Search, node: &Node) {
        let entries = search.index.entries.items();
        let bucket = &entries[node.start as usize..(node.start + node.len) as usize];
        for entry in bucket {
            if entry.names & !search.names != 0 {
                continue;
            }
            if self.reached[entry.interface as usize] != self.stamp && self.holds(search, entry) {
                self.reached[entry.interface as usize] = self.stamp;
                self.matches.interfaces.push(entry.interface);
            }
        }
    }

    #[inline]
    fn holds(&self, search: &Search, entry: &Entry) -> bool {
        if entry.conditions == NO_CONDITIONS {
            return true;
        }
        let conditions = &search.index.conditions.items()[entry.conditions as usize..];
        for condition in conditions {
            let value = &self.values[usize::from(condition.name)];
            if value.stamp != self.stamp || !self.satisfies(search, condition, value) {
                return false;
            }
            if condition.is_last != 0 {
                break;
            }
        }
        true
    }

    #[inline]
    fn satisfies(&self, search: &Search, condition: &Condition, value: &NamedValue) -> bool {
        let start = value.patterns_start as usize;
        let patterns = &search.resolved.patterns[start..start + value.patterns_len as usize];
        condition.holds(value.key, patterns)
    }
}

/// Fewer aren't worth a second thread.
const NOTIFICATIONS_PER_PART: usize = 64;
