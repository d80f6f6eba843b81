//! The oracle: it compares each subscription of each client with each happening of a tick,
//! one after the other, by the rules as they are written. It shares only the types of
//! outputs with the engine.

use std::collections::BTreeMap;

use gpu_kernels::TickOutput;
use gpu_kernels::listen::Notice;
use shared::world::attribute::{AttributeType, joined};
use shared::{Audience, CommandKind, EntityId, WorldConfig};

use super::mirror::Mirror;

#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    Number(f64),
    Text(String),
}

/// A name, an operator as the text form has it, and a value.
pub type Constraint = (String, &'static str, Value);

/// A disjunction of conjunctions.
pub type Predicate = Vec<Vec<Constraint>>;

pub fn text(predicate: &Predicate) -> String {
    let constraint = |(name, operator, value): &Constraint| match value {
        Value::Number(number) => format!("{name} {operator} {number}"),
        Value::Text(text) => format!("{name} {operator} {text:?}"),
    };
    let filter = |constraints: &Vec<Constraint>| match constraints.is_empty() {
        true => "true".to_owned(),
        false => constraints
            .iter()
            .map(constraint)
            .collect::<Vec<_>>()
            .join(" && "),
    };
    match predicate.is_empty() {
        true => "false".to_owned(),
        false => predicate
            .iter()
            .map(filter)
            .collect::<Vec<_>>()
            .join(" || "),
    }
}

/// The subscriptions and entities of all clients.
#[derive(Default)]
pub struct Direct {
    /// By client and its own number.
    pub subscriptions: BTreeMap<(u32, u32), Predicate>,
    /// The own entity of each client.
    pub entities: BTreeMap<u32, EntityId>,
}

/// Something that happened, with all names that describe it.
struct Happening {
    notice: Notice,
    names: BTreeMap<String, Value>,
    entity: Option<EntityId>,
    /// Whether only the entity's own client may get the notice.
    is_private: bool,
}

impl Direct {
    /// Each client's notices, with the numbers of its subscriptions; clients without notices
    /// are missing. `mirror` is the world before the tick.
    pub fn listen(
        &self,
        config: &WorldConfig,
        output: &TickOutput,
        mirror: &Mirror,
    ) -> BTreeMap<u32, Vec<(Notice, Vec<u32>)>> {
        let mut all: BTreeMap<u32, Vec<(Notice, Vec<u32>)>> = BTreeMap::new();
        for happening in happenings(config, output, mirror) {
            for client in 0..config.limits.clients {
                let own = self.entities.get(&client).copied();
                let is_own = own.is_some() && own == happening.entity;
                if happening.is_private && !is_own {
                    continue;
                }
                let own = self.subscriptions.range((client, 0)..=(client, u32::MAX));
                let ids: Vec<u32> = own
                    .filter(|(_, predicate)| satisfies(config, &happening, predicate, is_own))
                    .map(|(&(_, id), _)| id)
                    .collect();
                if ids.is_empty() {
                    continue;
                }
                let notices = all.entry(client).or_default();
                if notices.len() < config.limits.client_notices_per_tick as usize {
                    notices.push((happening.notice, ids));
                }
            }
        }
        all
    }
}

fn satisfies(
    config: &WorldConfig,
    happening: &Happening,
    predicate: &Predicate,
    is_own: bool,
) -> bool {
    let holds = |(name, operator, constant): &Constraint| {
        let attributes = &config.schema.attributes;
        let attribute = attributes.iter().find(|a| a.name == *name);
        let may_know = match attribute.map(|a| a.audience) {
            Some(Audience::Hidden) => panic!("{name} can be named"),
            Some(Audience::Private) => is_own,
            _ => true,
        };
        let value = happening.names.get(name);
        may_know && value.is_some_and(|value| compare(value, operator, constant))
    };
    predicate.iter().any(|filter| filter.iter().all(holds))
}

fn compare(value: &Value, operator: &str, constant: &Value) -> bool {
    match (value, constant) {
        (Value::Number(a), Value::Number(b)) => match operator {
            "==" => a == b,
            "!=" => a != b,
            "<" => a < b,
            "<=" => a <= b,
            ">" => a > b,
            ">=" => a >= b,
            _ => panic!("{operator} of numbers"),
        },
        (Value::Text(a), Value::Text(b)) => match operator {
            "==" => a == b,
            "!=" => a != b,
            "prefix" => a.starts_with(b.as_str()),
            "suffix" => a.ends_with(b.as_str()),
            "contains" => a.contains(b.as_str()),
            _ => panic!("{operator} of texts"),
        },
        _ => panic!("{value:?} {operator} {constant:?}"),
    }
}

/// In the order of their notices.
fn happenings(config: &WorldConfig, output: &TickOutput, mirror: &Mirror) -> Vec<Happening> {
    let schema = &config.schema;
    let mut all = vec![];
    for (i, notification) in output.notifications.iter().enumerate() {
        let own = schema.notifications.iter();
        let mut own = own.filter(|n| n.kind.id() == notification.kind);
        let declared = own.next().expect("a notification of this world");
        let entity = (notification.source != EntityId::NONE).then_some(notification.source);
        let mut names = describe(config, output, mirror, entity);
        names.insert("event".to_owned(), Value::Text(declared.name.clone()));
        for (field, &word) in declared.fields.iter().zip(notification.words()) {
            let name = format!("{}.{}", declared.name, field.name);
            names.insert(name, value(config, field.ty, word));
        }
        all.push(Happening {
            notice: Notice::Notification(i as u32),
            names,
            entity,
            is_private: false,
        });
    }
    let mut causes = output.changes.causes.iter().zip(&output.changes.actors[..]);
    for (slot, columns, values) in output.changes.iter() {
        for (&column, &new) in columns.iter().zip(values) {
            let (&command, &actor) = causes.next().expect("a cause");
            let command = CommandKind(command);
            let by = mirror.ids.get(actor as usize);
            let by = by.copied().unwrap_or(EntityId::NONE);
            let name = &schema
                .command(command)
                .expect("a command of the world")
                .name;
            let attribute = &schema.attributes[usize::from(column)];
            if attribute.audience == Audience::Hidden || attribute.ty.is_half() {
                continue;
            }
            let entity = mirror.ids[slot.index()];
            let old = mirror.rows[slot.index()][usize::from(column)];
            let mut names = describe(config, output, mirror, Some(entity));
            names.insert("event".to_owned(), Value::Text("change".to_owned()));
            names.insert("attribute".to_owned(), Value::Text(attribute.name.clone()));
            names.insert("command".to_owned(), Value::Text(name.clone()));
            if by != EntityId::NONE {
                let reference = f64::from(by.reference().0);
                names.insert("by".to_owned(), Value::Number(reference));
            }
            let is_symbol = attribute.ty == AttributeType::Symbol;
            for (name, raw) in [("old", old), ("new", new)] {
                let suffix = if is_symbol { "_symbol" } else { "" };
                names.insert(format!("{name}{suffix}"), value(config, attribute.ty, raw));
            }
            all.push(Happening {
                notice: Notice::Change {
                    entity,
                    kind: mirror.kinds[slot.index()],
                    column,
                    old,
                    new,
                    command: Some(command),
                    by,
                },
                names,
                entity: Some(entity),
                is_private: attribute.audience == Audience::Private,
            });
        }
    }
    all
}

/// The entity's own names.
fn describe(
    config: &WorldConfig,
    output: &TickOutput,
    mirror: &Mirror,
    entity: Option<EntityId>,
) -> BTreeMap<String, Value> {
    let mut names = BTreeMap::new();
    let Some(entity) = entity else {
        return names;
    };
    let slot = entity.slot.index();
    let (kind, mut row) = if mirror.ids[slot] == entity {
        (mirror.kinds[slot], mirror.rows[slot].clone())
    } else {
        // It falls in the tick of its birth.
        let mut after = mirror.clone();
        after.apply(config, output);
        assert_eq!(after.ids[slot], entity);
        (after.kinds[slot], after.rows[slot].clone())
    };
    let kind = &config.schema.kinds[usize::from(kind)];
    names.insert("kind".to_owned(), Value::Text(kind.name.clone()));
    let reference = entity.reference().0;
    names.insert("entity".to_owned(), Value::Number(f64::from(reference)));
    for (changed, columns, values) in output.changes.iter() {
        for (&column, &value) in columns.iter().zip(values) {
            if changed.index() == slot {
                row[usize::from(column)] = value;
            }
        }
    }
    for own in &kind.attributes {
        let column = usize::from(own.column);
        let attribute = &config.schema.attributes[column];
        let value = match attribute.ty {
            AttributeType::I64 => Value::Number(joined([row[column], row[column + 1]]) as f64),
            AttributeType::High => continue,
            ty => value(config, ty, row[column]),
        };
        names.insert(attribute.name.clone(), value);
    }
    names
}

fn value(config: &WorldConfig, ty: AttributeType, raw: i32) -> Value {
    match ty {
        AttributeType::Fixed => Value::Number(f64::from(raw) / 4096.0),
        AttributeType::Symbol => Value::Text(config.schema.symbols[raw as usize].clone()),
        _ => Value::Number(f64::from(raw)),
    }
}
