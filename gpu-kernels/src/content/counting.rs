//! The paper's way to match (section 4): select the constraints of a notification's
//! names, evaluate each, and count the satisfied ones of every filter.
//!
//! On CPUs each thread takes its own notifications, and prunes as SFF does (section
//! 5): an interface that is reached needs no more counting. The tables are built
//! anew after a change, as in the paper.

use crate::backend::StartError;
use crate::cpu::workers::{Workers, ranges};

use super::batch::{Attribute, Batch, Matches, ResolvedStrings};
use super::compile::Condition;
use super::subscriptions::Subscriptions;

/// How the constraints of one name are ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    AsFound,
    /// By operator, then value: neighbours take the same branch (section 4.2).
    ByOperator,
}

/// The paper's tables (figure 2), and scratch of each thread.
pub struct CountingMatcher {
    workers: Workers,
    order: Order,
    table: Table,
    /// What the tables were built of.
    built: Option<u64>,
    parts: Vec<Part>,
    resolved: ResolvedStrings,
}

/// Constraints by name, and what they count for.
#[derive(Default)]
pub struct Table {
    /// Where the constraints of each name begin, and the end.
    pub row_offsets: Vec<u32>,
    pub constraints: Vec<Counted>,
    pub filters: Vec<CountedFilter>,
    /// Interfaces of filters without constraints.
    pub always: Vec<u32>,
}

#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub struct Counted {
    pub condition: Condition,
    pub filter: u32,
    pub padding: u32,
}

const _: () = assert!(size_of::<Counted>() == 32);

#[derive(Clone, Copy, Debug, Default)]
#[repr(C)]
pub struct CountedFilter {
    /// How many constraints it has.
    pub size: u32,
    pub interface: u32,
}

impl Table {
    pub fn build(subscriptions: &Subscriptions, order: Order) -> Table {
        let names = subscriptions.vocabulary.len();
        let mut rows: Vec<Vec<Counted>> = vec![vec![]; names];
        let mut table = Table::default();
        for (interface, conditions) in subscriptions.filters_held() {
            if conditions.is_empty() {
                table.always.push(interface);
                continue;
            }
            let filter = table.filters.len() as u32;
            let size = conditions.len() as u32;
            table.filters.push(CountedFilter { size, interface });
            for &condition in conditions {
                rows[usize::from(condition.name)].push(Counted {
                    condition,
                    filter,
                    padding: 0,
                });
            }
        }
        table.row_offsets.push(0);
        for mut row in rows {
            if order == Order::ByOperator {
                let key = |c: &Condition| (c.kind as u8, c.low, c.high);
                row.sort_by_key(|counted| key(&counted.condition));
            }
            table.constraints.extend(row);
            table.row_offsets.push(table.constraints.len() as u32);
        }
        table
    }

    pub fn bytes(&self) -> usize {
        size_of_val(&self.row_offsets[..])
            + size_of_val(&self.constraints[..])
            + size_of_val(&self.filters[..])
    }
}

impl CountingMatcher {
    pub fn new(threads: usize, order: Order) -> Result<CountingMatcher, StartError> {
        Ok(CountingMatcher {
            workers: Workers::new(threads)?,
            order,
            table: Table::default(),
            built: None,
            parts: vec![],
            resolved: ResolvedStrings::default(),
        })
    }

    /// Builds the tables, if subscriptions have changed.
    pub fn deploy(&mut self, subscriptions: &Subscriptions) {
        let changes = Some(subscriptions.changes());
        if self.built != changes {
            self.table = Table::build(subscriptions, self.order);
            self.built = changes;
        }
    }

    pub fn table(&self) -> &Table {
        &self.table
    }

    /// Finds all matches of a batch.
    pub fn match_batch(
        &mut self,
        subscriptions: &mut Subscriptions,
        batch: &Batch,
        matches: &mut Matches,
    ) {
        self.deploy(subscriptions);
        subscriptions.resolve(batch, &mut self.resolved);
        let parts = self.workers.parts_of(batch.len(), NOTIFICATIONS_PER_PART);
        if self.parts.len() < parts {
            self.parts.resize_with(parts, Part::default);
        }
        let (table, resolved) = (&self.table, &self.resolved);
        let limit = subscriptions.limits.interfaces;
        let live = subscriptions.interfaces();
        let cuts = ranges(batch.len(), parts);
        let tasks = self.parts.iter_mut().zip(cuts).collect();
        self.workers.run(tasks, |(part, range)| {
            part.prepare(table, limit);
            for notification in range {
                part.match_one(table, live, batch.attributes_of(notification), resolved);
            }
        });
        matches.clear();
        for part in &self.parts[..parts] {
            matches.append(&part.matches);
        }
    }
}

/// One thread's counters and results.
#[derive(Default)]
struct Part {
    matches: Matches,
    /// Of each filter: the notification that it was counted for, and how many of
    /// its constraints hold there. So no counter is ever reset.
    counters: Vec<(u32, u32)>,
    reached: Vec<u32>,
    stamp: u32,
}

impl Part {
    fn prepare(&mut self, table: &Table, interfaces: usize) {
        self.matches.clear();
        self.counters.resize(table.filters.len(), (0, 0));
        self.reached.resize(interfaces, 0);
    }

    fn match_one(
        &mut self,
        table: &Table,
        live: usize,
        attributes: &[Attribute],
        resolved: &ResolvedStrings,
    ) {
        self.stamp = self.stamp.wrapping_add(1);
        if self.stamp == 0 {
            self.counters.fill((0, 0));
            self.reached.fill(0);
            self.stamp = 1;
        }
        let start = self.matches.interfaces.len();
        for &interface in &table.always {
            self.reach(interface);
        }
        for attribute in attributes {
            let name = attribute.name as usize;
            let Some(&end) = table.row_offsets.get(name + 1) else {
                continue;
            };
            let (key, patterns) = match attribute.is_string {
                0 => (attribute.value, &[][..]),
                _ => {
                    let string = &resolved.strings[attribute.value as usize];
                    let patterns = &resolved.patterns[string.patterns()];
                    (u64::from(string.exact), patterns)
                }
            };
            for counted in &table.constraints[table.row_offsets[name] as usize..end as usize] {
                if counted.condition.holds(key, patterns) {
                    self.count(table.filters[counted.filter as usize], counted.filter);
                }
            }
            if self.matches.interfaces.len() - start == live {
                break;
            }
        }
        self.matches.finish(start);
    }

    fn count(&mut self, filter: CountedFilter, number: u32) {
        if self.reached[filter.interface as usize] == self.stamp {
            return;
        }
        let counter = &mut self.counters[number as usize];
        if counter.0 != self.stamp {
            *counter = (self.stamp, 0);
        }
        counter.1 += 1;
        if counter.1 == filter.size {
            self.reach(filter.interface);
        }
    }

    fn reach(&mut self, interface: u32) {
        let reached = &mut self.reached[interface as usize];
        if *reached != self.stamp {
            *reached = self.stamp;
            self.matches.interfaces.push(interface);
        }
    }
}

/// Each notification looks at many constraints.
const NOTIFICATIONS_PER_PART: usize = 4;
