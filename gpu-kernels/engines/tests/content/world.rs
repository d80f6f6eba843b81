//! Random vocabularies, predicates and notifications, small enough that much
//! matches.

use gpu_kernels::content::{Limits, SubscriptionId, Subscriptions};
use shared::predicate::{
    Constraint, Filter, NameId, Notification, Operator, Predicate, PredicateLimits, Value,
    ValueType, Vocabulary,
};

use super::direct::satisfies;
use testkit::dice::Dice;

pub struct World {
    pub subscriptions: Subscriptions,
    vocabulary: Vocabulary,
    pub held: Vec<(u32, Predicate, SubscriptionId)>,
    subscribers: usize,
    values: i32,
}

const TEXTS: [&str; 12] = [
    "",
    "a",
    "ab",
    "abc",
    "b",
    "ba",
    "ö",
    "aö",
    "öa",
    "日本語",
    "本",
    "🦀a",
];

impl World {
    pub fn new(dice: &mut Dice) -> World {
        World::with_subscribers(dice, 4096)
    }

    pub fn with_subscribers(dice: &mut Dice, limit: usize) -> World {
        let mut vocabulary = Vocabulary::new();
        for i in 0..1 + dice.below(90) {
            let value_type = dice.pick(&[ValueType::Integer, ValueType::Float, ValueType::String]);
            vocabulary.declare(&format!("name{i}"), value_type).unwrap();
        }
        let mut world = World::with(vocabulary, limit);
        // Few subscribers, or many.
        let bound = dice.pick(&[3, 100, 4000]);
        world.subscribers = 1 + dice.below(bound.min(limit));
        world.values = dice.within(1..=30);
        world
    }

    pub fn of_names(names: &[(&str, ValueType)]) -> World {
        World::of_names_for(names, 4096)
    }

    pub fn of_names_for(names: &[(&str, ValueType)], subscribers: usize) -> World {
        let mut vocabulary = Vocabulary::new();
        for (name, value_type) in names {
            vocabulary.declare(name, *value_type).unwrap();
        }
        World::with(vocabulary, subscribers)
    }

    fn with(vocabulary: Vocabulary, subscribers: usize) -> World {
        let limits = Limits {
            subscribers,
            filters: 1 << 14,
            constraints: 1 << 16,
            ..Limits::default()
        };
        World {
            subscriptions: Subscriptions::new(vocabulary.clone(), limits),
            vocabulary,
            held: vec![],
            subscribers: limits.subscribers,
            values: 10,
        }
    }

    pub fn subscribe_text(&mut self, subscriber: u32, text: &str) -> SubscriptionId {
        let limits = PredicateLimits::default();
        let predicate = Predicate::parse(text, &self.vocabulary, &limits).unwrap();
        self.subscribe(subscriber, predicate)
    }

    fn subscribe(&mut self, subscriber: u32, predicate: Predicate) -> SubscriptionId {
        let id = self.subscriptions.subscribe(subscriber, &predicate);
        let id = id.unwrap();
        self.held.push((subscriber, predicate, id));
        id
    }

    pub fn subscribe_some(&mut self, dice: &mut Dice, count: usize) {
        for _ in 0..count {
            let filters = (0..dice.below(4)).map(|_| self.filter(dice)).collect();
            let subscriber = dice.below(self.subscribers) as u32;
            self.subscribe(subscriber, Predicate { filters });
        }
    }

    pub fn unsubscribe_some(&mut self, dice: &mut Dice, count: usize) {
        for _ in 0..count.min(self.held.len()) {
            let (_, _, id) = self.held.swap_remove(dice.below(self.held.len()));
            assert!(self.subscriptions.unsubscribe(id));
        }
    }

    fn filter(&self, dice: &mut Dice) -> Filter {
        // Rarely without any, since that matches everything.
        let count = if dice.once_in(40) {
            0
        } else {
            1 + dice.below(6)
        };
        Filter {
            constraints: (0..count).map(|_| self.constraint(dice)).collect(),
        }
    }

    fn constraint(&self, dice: &mut Dice) -> Constraint {
        let name = NameId(dice.below(self.vocabulary.len()) as u16);
        let is_text = self.vocabulary.value_type(name) == ValueType::String;
        let operator = loop {
            let operator = dice.pick(&Operator::ALL);
            let for_both = matches!(operator, Operator::Equal | Operator::NotEqual);
            if for_both || operator.is_pattern() == is_text {
                break operator;
            }
        };
        let value = match is_text {
            true => dice.pick(&TEXTS).into(),
            false => self.number(dice, has_whole_constants(name)),
        };
        Constraint {
            name,
            operator,
            value,
        }
    }

    fn number(&self, dice: &mut Dice, as_integer: bool) -> Value {
        let whole = dice.within(0..=self.values);
        match dice.below(30) {
            0 => Value::Float(dice.pick(&[f64::INFINITY, f64::NEG_INFINITY, -0.0, 1e300])),
            1 => Value::Integer(dice.pick(&[i64::MIN, i64::MAX])),
            2 => Value::Float(f64::from(whole) + 0.5),
            _ if as_integer => Value::Integer(i64::from(whole)),
            _ => Value::Float(f64::from(whole)),
        }
    }

    pub fn notification(&self, attributes: &[(&str, Value)]) -> Notification {
        let named = attributes.iter().map(|(name, value)| {
            let id = self.vocabulary.id(name).expect("a declared name");
            (id, value.clone())
        });
        Notification::new(&self.vocabulary, named).unwrap()
    }

    pub fn notifications(&self, dice: &mut Dice, count: usize) -> Vec<Notification> {
        (0..count).map(|_| self.random_notification(dice)).collect()
    }

    fn random_notification(&self, dice: &mut Dice) -> Notification {
        let mut names: Vec<u16> = (0..self.vocabulary.len() as u16).collect();
        dice.shuffle(&mut names);
        names.truncate(dice.below(self.vocabulary.len() + 1));
        let attributes = names.into_iter().map(|name| {
            let name = NameId(name);
            let whole = dice.within(0..=self.values);
            let value = match self.vocabulary.value_type(name) {
                ValueType::String => dice.pick(&TEXTS).into(),
                ValueType::Integer if dice.once_in(30) => Value::Integer(i64::MAX),
                ValueType::Integer => Value::Integer(i64::from(whole)),
                ValueType::Float if dice.once_in(30) => Value::Float(f64::INFINITY),
                ValueType::Float => Value::Float(f64::from(whole) / 2.0),
            };
            (name, value)
        });
        Notification::new(&self.vocabulary, attributes).unwrap()
    }

    /// The matches of a direct evaluation.
    pub fn expected(&self, notifications: &[Notification]) -> Vec<Vec<u32>> {
        let of = |notification: &Notification| {
            let held = self.held.iter();
            let matching = held.filter(|(_, predicate, _)| satisfies(notification, predicate));
            let mut subscribers: Vec<u32> = matching.map(|(subscriber, ..)| *subscriber).collect();
            subscribers.sort_unstable();
            subscribers.dedup();
            subscribers
        };
        notifications.iter().map(of).collect()
    }
}

/// Constants of both numeric types, by name.
fn has_whole_constants(name: NameId) -> bool {
    name.0.is_multiple_of(2)
}
