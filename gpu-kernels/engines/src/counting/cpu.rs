use device::cpu::{ThreadError, Workers, ranges};
use gpu_kernels::content::batch::{Attribute, ResolvedStrings};
use gpu_kernels::content::{Batch, Matches, Subscriptions};

use super::table::{CountedFilter, Order, Table};

/// The paper's matching on CPUs: each thread takes its own notifications, and prunes as
/// SFF does (section 5), since a subscriber that is reached needs no more counting.
/// After a change the tables are built again, as in the paper.
pub struct CountingMatcher {
    workers: Workers,
    order: Order,
    table: Table,
    /// The number of changes that the tables know of.
    built: Option<u64>,
    parts: Vec<Part>,
    resolved: ResolvedStrings,
}

impl CountingMatcher {
    pub fn new(threads: usize, order: Order) -> Result<CountingMatcher, ThreadError> {
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
        let limit = subscriptions.limits().subscribers;
        let live = subscriptions.subscribers();
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
    /// The subscribers that the present notification reaches.
    found: Vec<u32>,
    /// By filter: the notification that it was last counted for, and how many of its
    /// constraints hold there. So no counter is ever reset.
    counters: Vec<(u32, u32)>,
    /// By subscriber: the notification that reached it last.
    reached: Vec<u32>,
    /// The present notification.
    stamp: u32,
}

impl Part {
    fn prepare(&mut self, table: &Table, subscribers: usize) {
        self.matches.clear();
        self.counters.resize(table.filters.len(), (0, 0));
        self.reached.resize(subscribers, 0);
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
        for &subscriber in &table.always {
            self.reach(subscriber);
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
            if self.found.len() == live {
                break;
            }
        }
        self.found.sort_unstable();
        self.matches.push_list(self.found.drain(..));
    }

    fn count(&mut self, filter: CountedFilter, number: u32) {
        if self.reached[filter.subscriber as usize] == self.stamp {
            return;
        }
        let counter = &mut self.counters[number as usize];
        if counter.0 != self.stamp {
            *counter = (self.stamp, 0);
        }
        counter.1 += 1;
        if counter.1 == filter.size {
            self.reach(filter.subscriber);
        }
    }

    fn reach(&mut self, subscriber: u32) {
        let reached = &mut self.reached[subscriber as usize];
        if *reached != self.stamp {
            *reached = self.stamp;
            self.found.push(subscriber);
        }
    }
}

/// Few, since each notification is held against many constraints.
const NOTIFICATIONS_PER_PART: usize = 4;
