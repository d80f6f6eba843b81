//! Subscriptions and notifications: the paper's default scenario (Table 1) with each
//! parameter free, and a dense one in the manner of BE-Gen.

use gpu_kernels::content::{Batch, Limits, Subscriptions};
use shared::predicate::{
    Constraint, Filter, NameId, Notification, Operator, Predicate, PredicateLimits, Value,
    ValueType, Vocabulary,
};
use shared::world::mix::mix;

use crate::dice::Dice;

/// Ranges include both ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Workload {
    pub names: usize,
    /// Whether names follow Zipf's law; else all are equally frequent.
    pub is_zipf: bool,
    /// Attributes of a notification.
    pub attributes: (usize, usize),
    pub subscribers: usize,
    pub filters_per_subscriber: usize,
    pub constraints_per_filter: (usize, usize),
    pub values: usize,
    pub numeric_percent: usize,
    /// Kinds of notifications, each with its own names; 0 for none. A filter uses the
    /// names of one kind, and its constraints are mostly satisfied.
    pub kinds: usize,
}

/// Table 1: a million constraints.
pub const DEFAULT: Workload = Workload {
    names: 100,
    is_zipf: false,
    attributes: (3, 5),
    subscribers: 10,
    filters_per_subscriber: 25_000,
    constraints_per_filter: (3, 5),
    values: 100,
    numeric_percent: 50,
    kinds: 0,
};

/// A million subscriptions, of which a notification satisfies one in a thousand. Filters
/// use the names of one kind of notification: randomly chosen names would never all be
/// present.
pub const DENSE: Workload = Workload {
    names: 1_000,
    is_zipf: false,
    attributes: (30, 130),
    subscribers: 1_000_000,
    filters_per_subscriber: 1,
    constraints_per_filter: (5, 30),
    values: 1_000,
    numeric_percent: 100,
    kinds: 100,
};

/// Makes subscriptions and notifications.
pub struct Generator {
    workload: Workload,
    seed: u64,
    vocabulary: Vocabulary,
    /// For each name, the sum of the weights up to it.
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

    /// No subscriptions yet, with room for those of the workload.
    pub fn subscriptions(&self) -> Subscriptions {
        let w = &self.workload;
        let filters = w.subscribers * w.filters_per_subscriber + CHANGES;
        let limits = Limits {
            predicate: PredicateLimits {
                filters,
                ..PredicateLimits::default()
            },
            subscribers: w.subscribers,
            filters,
            constraints: filters * w.constraints_per_filter.1,
        };
        Subscriptions::new(self.vocabulary.clone(), limits)
    }

    /// The predicate of each subscriber.
    pub fn predicates(&self) -> impl Iterator<Item = (u32, Predicate)> + '_ {
        (0..self.workload.subscribers).map(|subscriber| {
            let mut dice = Dice(mix(mix(self.seed, 3), subscriber as u64));
            let filters = 0..self.workload.filters_per_subscriber;
            let filters = filters.map(|_| self.filter(&mut dice)).collect();
            (subscriber as u32, Predicate { filters })
        })
    }

    /// Predicates of one filter each, for subscriptions that come and go.
    pub fn changes(&self) -> Vec<Predicate> {
        let mut dice = Dice(mix(self.seed, 5));
        let one = |_| Predicate {
            filters: vec![self.filter(&mut dice)],
        };
        (0..CHANGES).map(one).collect()
    }

    /// Notifications from number `start`.
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
        // The first steps of a shuffle.
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

    /// A constraint with one of the paper's operators, all equally likely.
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

    /// A constraint that 85 of 100 values satisfy on average.
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

    /// Strings are numerals, so that some contain others.
    fn value(&self, name: NameId, value: usize) -> Value {
        match self.vocabulary.value_type(name) {
            ValueType::String => Value::String(format!("v{value}").into()),
            _ => Value::Integer(value as i64),
        }
    }
}

/// The number of filters that come and go.
const CHANGES: usize = 1_000;
