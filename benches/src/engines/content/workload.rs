//! What is subscribed and published: the paper's default scenario (Table 1) with
//! each parameter free, and a dense one in the manner of BE-Gen.

use gpu_kernels::content::{Batch, Limits, Subscriptions};
use shared::content::{
    Constraint, Filter, NameId, Notification, Operator, Predicate, PredicateLimits, Value,
    ValueType, Vocabulary,
};
use shared::mix::mix;

/// Ranges include both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    pub names: usize,
    /// Names by Zipf's law, or all alike.
    pub is_zipf: bool,
    /// Of a notification.
    pub attributes: (usize, usize),
    pub interfaces: usize,
    pub filters_per_interface: usize,
    pub constraints_per_filter: (usize, usize),
    pub values: usize,
    pub numeric_percent: usize,
    /// Kinds of notifications, each with its own names, to which filters keep, and
    /// whose constraints are mostly satisfied; 0 for none.
    pub kinds: usize,
}

/// Table 1: a million constraints.
pub const DEFAULT: Workload = Workload {
    names: 100,
    is_zipf: false,
    attributes: (3, 5),
    interfaces: 10,
    filters_per_interface: 25_000,
    constraints_per_filter: (3, 5),
    values: 100,
    numeric_percent: 50,
    kinds: 0,
};

/// A million subscriptions, of which a notification satisfies one in a thousand.
/// Names that came together by chance alone would never all be there, so filters
/// are about the names of one kind of notification.
pub const DENSE: Workload = Workload {
    names: 1_000,
    is_zipf: false,
    attributes: (30, 130),
    interfaces: 1_000_000,
    filters_per_interface: 1,
    constraints_per_filter: (5, 30),
    values: 1_000,
    numeric_percent: 100,
    kinds: 100,
};

/// Random numbers of one purpose: splitmix by the project's own hash.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        ((u128::from(mix(self.0, 1)) * bound as u128) >> 64) as usize
    }

    fn within(&mut self, (low, high): (usize, usize)) -> usize {
        low + self.below(high - low + 1)
    }
}

/// Makes subscriptions and notifications.
pub struct Generator {
    workload: Workload,
    seed: u64,
    vocabulary: Vocabulary,
    /// By name, the sum of the weights up to it.
    weights: Vec<f64>,
    kinds: Vec<Vec<usize>>,
}

impl Generator {
    pub fn new(workload: Workload, seed: u64) -> anyhow::Result<Generator> {
        let mut dice = Dice(mix(seed, 2));
        let mut vocabulary = Vocabulary::new();
        for i in 0..workload.names {
            let is_numeric = dice.below(100) < workload.numeric_percent;
            let value_type = match is_numeric {
                true => ValueType::Integer,
                false => ValueType::String,
            };
            vocabulary.declare(&format!("name{i}"), value_type)?;
        }
        let mut sum = 0.0;
        let weights = (1..=workload.names).map(|rank| {
            sum += if workload.is_zipf {
                1.0 / rank as f64
            } else {
                1.0
            };
            sum
        });
        let mut generator = Generator {
            workload,
            seed,
            vocabulary,
            weights: weights.collect(),
            kinds: vec![],
        };
        for _ in 0..workload.kinds {
            let count = dice.within(workload.attributes);
            let names = generator.names(&mut dice, count);
            generator.kinds.push(names);
        }
        Ok(generator)
    }

    /// An empty matcher's subscriptions with room for the workload.
    pub fn subscriptions(&self) -> Subscriptions {
        let w = &self.workload;
        let filters = w.interfaces * w.filters_per_interface + CHANGES;
        let limits = Limits {
            predicate: PredicateLimits {
                filters,
                ..PredicateLimits::default()
            },
            interfaces: w.interfaces,
            filters,
            constraints: filters * w.constraints_per_filter.1,
        };
        Subscriptions::new(self.vocabulary.clone(), limits)
    }

    /// The predicate of each interface.
    pub fn predicates(&self) -> impl Iterator<Item = (u32, Predicate)> + '_ {
        (0..self.workload.interfaces).map(|interface| {
            let mut dice = Dice(mix(mix(self.seed, 3), interface as u64));
            let filters = 0..self.workload.filters_per_interface;
            let filters = filters.map(|_| self.filter(&mut dice)).collect();
            (interface as u32, Predicate { filters })
        })
    }

    /// Single filters of the same kind, for subscriptions that come and go.
    pub fn changes(&self) -> Vec<Predicate> {
        let mut dice = Dice(mix(self.seed, 5));
        let one = |_| Predicate {
            filters: vec![self.filter(&mut dice)],
        };
        (0..CHANGES).map(one).collect()
    }

    /// Notification number `start` and those that follow.
    pub fn batch(&self, start: usize, count: usize) -> anyhow::Result<Batch> {
        let mut batch = Batch::new();
        for i in start..start + count {
            batch.push(&self.notification(i)?)?;
        }
        Ok(batch)
    }

    fn notification(&self, number: usize) -> anyhow::Result<Notification> {
        let mut dice = Dice(mix(mix(self.seed, 4), number as u64));
        let names = match self.kinds.len() {
            0 => {
                let count = dice.within(self.workload.attributes);
                self.names(&mut dice, count)
            }
            kinds => self.kinds[dice.below(kinds)].clone(),
        };
        let attributes = names.into_iter().map(|name| {
            let name = NameId(name as u16);
            let value = dice.below(self.workload.values);
            (name, self.value(name, value))
        });
        Ok(Notification::new(&self.vocabulary, attributes)?)
    }

    /// Distinct names.
    fn names(&self, dice: &mut Dice, count: usize) -> Vec<usize> {
        let mut names = vec![];
        let total = self.weights.last().copied().unwrap_or_default();
        while names.len() < count.min(self.workload.names) {
            let at = dice.below(1 << 53) as f64 / (1u64 << 53) as f64 * total;
            let name = self.weights.partition_point(|&sum| sum <= at);
            if !names.contains(&name) {
                names.push(name);
            }
        }
        names
    }

    fn filter(&self, dice: &mut Dice) -> Filter {
        let count = dice.within(self.workload.constraints_per_filter);
        if self.kinds.is_empty() {
            let names = self.names(dice, count).into_iter();
            let constraints = names.map(|name| self.constraint(dice, name)).collect();
            return Filter { constraints };
        }
        // The first places of a shuffle.
        let mut names = self.kinds[dice.below(self.kinds.len())].clone();
        let count = count.min(names.len());
        for i in 0..count {
            let other = i + dice.below(names.len() - i);
            names.swap(i, other);
        }
        let names = names.into_iter().take(count);
        let constraints = names.map(|name| self.wide_constraint(dice, name)).collect();
        Filter { constraints }
    }

    /// One of the paper's operators, each as likely as the others.
    fn constraint(&self, dice: &mut Dice, name: usize) -> Constraint {
        let name = NameId(name as u16);
        let operators = match self.vocabulary.value_type(name) {
            ValueType::String => [
                Operator::Equal,
                Operator::NotEqual,
                Operator::Contains,
                Operator::Prefix,
            ],
            _ => [
                Operator::Equal,
                Operator::NotEqual,
                Operator::Greater,
                Operator::Less,
            ],
        };
        Constraint {
            name,
            operator: operators[dice.below(4)],
            value: self.value(name, dice.below(self.workload.values)),
        }
    }

    /// Satisfied by 85 in 100 values on average.
    fn wide_constraint(&self, dice: &mut Dice, name: usize) -> Constraint {
        let values = self.workload.values;
        let margin = dice.below(values * 3 / 10);
        let (operator, bound) = match dice.below(2) {
            0 => (Operator::GreaterOrEqual, margin),
            _ => (Operator::Less, values - margin),
        };
        Constraint {
            name: NameId(name as u16),
            operator,
            value: Value::Integer(bound as i64),
        }
    }

    /// Texts are numerals, so that some are in others.
    fn value(&self, name: NameId, value: usize) -> Value {
        match self.vocabulary.value_type(name) {
            ValueType::String => Value::String(format!("v{value}").into()),
            _ => Value::Integer(value as i64),
        }
    }
}

/// How many filters come and go.
const CHANGES: usize = 1_000;
