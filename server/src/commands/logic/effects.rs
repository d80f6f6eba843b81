//! The parameters and effects of a command, as text.

use std::collections::BTreeMap;

use script::Command;
use script::interpreter::{Effects, Outgoing, World};
use shared::world::attribute::{halves, joined};
use shared::world::collection::declared_name;
use shared::world::edit::{EDIT_KIND, LayerKind};
use shared::world::given::{self, FollowUp, is_follow_up};
use shared::world::symbols::KEYS;
use shared::world::value::words_at;
use shared::world::words::TextHandle;
use shared::{
    AttributeType, AttributeValue, CommandKind, EntityId, EntityRef, Fixed, MergeRule,
    NotificationKind, Slot, WorldConfig,
};

use super::still::Still;

/// The parameters of a command: `target: Entity, rank: Symbol<rank>`.
pub fn parameters(config: &WorldConfig, command: &Command) -> String {
    let words = command.schema.words.iter().zip(&command.word_columns);
    let words = words.filter(|(word, _)| word.ty != AttributeType::High);
    let words = words.map(|(word, column)| {
        let attribute = |column: u16| config.schema.attributes.get(usize::from(column & !KEYS));
        let of = column.and_then(attribute);
        let of = of.map_or(String::new(), |of| format!("<{}>", declared_name(&of.name)));
        format!("{}: {}{of}", word.name, word.ty.script_name())
    });
    words.collect::<Vec<String>>().join(", ")
}

/// `entity 17 (wolf)`.
pub fn entity(still: &Still, entity: EntityId) -> String {
    if entity == EntityId::NONE {
        return "nobody".to_owned();
    }
    let kind = usize::from(still.kind(entity.slot));
    let kind = &still.config.schema.kinds[kind].name;
    format!("entity {} ({kind})", entity.slot.0)
}

/// An argument or an attribute.
pub fn value(still: &Still, ty: AttributeType, words: [i32; 2]) -> String {
    let [raw, _] = words;
    match AttributeValue::of(ty, words) {
        AttributeValue::I32(number) | AttributeValue::High(number) => number.to_string(),
        AttributeValue::I64(number) => number.to_string(),
        AttributeValue::Fixed(number) => units(number.raw()),
        AttributeValue::Bool(truth) => truth.to_string(),
        AttributeValue::Symbol(symbol) => match symbol.name(&still.config.schema.symbols) {
            Some(symbol) => format!("{symbol:?}"),
            None => format!("the unknown symbol {raw}"),
        },
        AttributeValue::Text(TextHandle::EMPTY) => "\"\"".to_owned(),
        AttributeValue::Text(handle) => match still.texts.get(&handle) {
            Some(text) => format!("{:?}", &**text),
            None => format!("text {}", handle.0),
        },
        AttributeValue::Entity(reference) => match still.referred(reference) {
            Some(found) => entity(still, found),
            None => "nobody".to_owned(),
        },
    }
}

fn units(raw: i32) -> String {
    let text = format!("{:.3}", Fixed::from_raw(raw).to_f64());
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// `(150, 150)`.
pub fn place(still: &Still, place: [i32; 3]) -> String {
    let axes = place[..still.config.dimensions()].iter();
    let axes: Vec<String> = axes.map(|&axis| units(axis)).collect();
    format!("({})", axes.join(", "))
}

/// The effects of a run, in order.
#[derive(Default)]
pub struct CommandEffects {
    updates: BTreeMap<(u32, u16), Vec<i32>>,
    /// What an atomic command leaves.
    written: BTreeMap<(u32, u16), i32>,
    later: Vec<(u32, EntityId, u16, Vec<i32>)>,
    notifications: Vec<Notified>,
}

struct Notified {
    kind: u16,
    source: EntityId,
    area: Option<([i32; 3], i32)>,
    words: Vec<i32>,
}

impl Effects for CommandEffects {
    fn update(&mut self, slot: Slot, column: u16, value: i32) {
        self.updates
            .entry((slot.0, column))
            .or_default()
            .push(value);
    }

    fn write(&mut self, slot: Slot, column: u16, value: i32) {
        self.written.insert((slot.0, column), value);
    }
}

impl Outgoing for CommandEffects {
    fn after(&mut self, ticks: u32, entity: EntityId, kind: u16, words: &[i32]) {
        self.later.push((ticks, entity, kind, words.to_vec()));
    }

    fn notify(
        &mut self,
        kind: u16,
        source: EntityId,
        area: Option<([i32; 3], i32)>,
        words: &[i32],
    ) {
        self.notifications.push(Notified {
            kind,
            source,
            area,
            words: words.to_vec(),
        });
    }
}

impl CommandEffects {
    /// A line for each change, deferred command, and notification.
    pub fn lines(&self, still: &Still) -> Vec<String> {
        let updates = self.updates.iter();
        let updates = updates.filter(|((_, column), _)| !is_high(still, *column));
        let updates =
            updates.map(
                |(&(slot, column), values)| match self.updates.get(&(slot, column + 1)) {
                    Some(highs) if is_low(still, column) => {
                        let both = values.iter().zip(highs);
                        let numbers = both.map(|(&low, &high)| joined([low, high])).collect();
                        wide_change(still, Slot(slot), column, numbers)
                    }
                    _ => change(still, Slot(slot), column, values),
                },
            );
        let mut values = vec![];
        let later = self.later.iter().filter_map(|(ticks, by, kind, words)| {
            let unit = if *ticks == 1 { "tick" } else { "ticks" };
            if *kind == CommandKind::SPAWN.id() && words.first().copied().is_some_and(is_follow_up)
            {
                return Some(follow_up(still, *by, words));
            }
            if *kind == CommandKind::SPAWN.id() {
                let birth = birth(still, &mut values, words)?;
                return Some(format!("in {ticks} {unit}: {birth}"));
            }
            let command = still.config.schema.command(CommandKind(*kind));
            let (name, words) = match command {
                Some(c) => {
                    let named = c.words.iter().map(|w| (w.name.as_str(), w.ty));
                    (c.name.as_str(), named_words(still, named, words))
                }
                None => ("a command that the world lacks", String::new()),
            };
            let by = entity(still, *by);
            Some(format!("in {ticks} {unit}: {name}({words}) by {by}"))
        });
        let notifications = self.notifications.iter().map(|n| n.line(still));
        let written = self.written.iter();
        let written = written.filter(|((_, column), _)| !is_high(still, *column));
        let written = written.map(|(&(slot, column), &value)| {
            let high = self.written.get(&(slot, column + 1)).copied();
            left(still, Slot(slot), column, [value, high.unwrap_or(0)])
        });
        updates
            .chain(written)
            .chain(later)
            .chain(notifications)
            .collect()
    }
}

/// `cell 77 of the layer blocked becomes 1`; `None`: these are no words of an edit.
fn edit(still: &Still, words: &[i32]) -> Option<String> {
    let &[number, cell, word] = words else {
        return None;
    };
    let layer = LayerKind::of(number)?;
    let value = match layer {
        LayerKind::Blocked | LayerKind::Height => word.to_string(),
        LayerKind::Tag => value(still, AttributeType::Symbol, [word, 0]),
    };
    let name = layer.name();
    Some(format!("cell {cell} of the layer {name} becomes {value}"))
}

impl Notified {
    fn line(&self, still: &Still) -> String {
        let changed = (self.kind == EDIT_KIND.0).then(|| edit(still, &self.words));
        if let Some(line) = changed.flatten() {
            return line;
        }
        let schema = still
            .config
            .schema
            .notification(NotificationKind(self.kind));
        let (name, fields) = match schema {
            Some(n) => {
                let named = n.fields.iter().map(|f| (f.name.as_str(), f.ty));
                (n.name.as_str(), named_words(still, named, &self.words))
            }
            None => ("a notification that the world lacks", String::new()),
        };
        let about = match self.source == EntityId::NONE {
            true => String::new(),
            false => format!(" of {}", entity(still, self.source)),
        };
        let to = match self.area {
            Some((center, distance)) => {
                format!("all within {} of {}", units(distance), place(still, center))
            }
            None => "subscribers only".to_owned(),
        };
        format!("tells {name} {{{fields}}}{about} to {to}")
    }
}

/// `spawn(pile { holds: "gold" }, (10, 12))`; `None`: its values, which wait for it in `values`.
fn birth(still: &Still, values: &mut Vec<(u16, i32)>, words: &[i32]) -> Option<String> {
    let schema = &still.config.schema;
    let (&word, rest) = words.split_first()?;
    if given::is_values(word) {
        values.extend(given::columns(word).into_iter().zip(rest.iter().copied()));
        return None;
    }
    let kind = given::birth(word).and_then(|(kind, _)| schema.kinds.get(usize::from(kind)));
    let kind = kind.map_or("a kind that the world lacks", |kind| &kind.name);
    let mut at = [0; 3];
    for (axis, &word) in at.iter_mut().zip(rest.iter().skip(1)) {
        *axis = word;
    }
    let at = place(still, at);
    let all = std::mem::take(values);
    let given = all.iter().filter_map(|&(column, raw)| {
        let attribute = schema.attributes.get(usize::from(column))?;
        if attribute.ty == AttributeType::High {
            return None;
        }
        let next = all.iter().find(|next| next.0 == column.saturating_add(1));
        let next = next.map_or(0, |next| next.1);
        let value = value(still, attribute.ty, [raw, next]);
        Some(format!("{}: {value}", attribute.name))
    });
    let given: Vec<String> = given.collect();
    Some(match given.is_empty() {
        true => format!("spawn({kind}, {at})"),
        false => format!("spawn({kind} {{ {} }}, {at})", given.join(", ")),
    })
}

/// `2 ticks after the birth: rot(n: 1) by the newborn`.
fn follow_up(still: &Still, by: EntityId, words: &[i32]) -> String {
    let form = FollowUp::of(words[0]);
    let ticks = given::ticks(words[1]);
    let unit = if ticks == 1 { "tick" } else { "ticks" };
    let command = still.config.schema.command(CommandKind(form.command));
    let words = form.fill(&words[2..], EntityRef::NONE);
    let named = command.map_or(&[][..], |command| &command.words);
    let named = (0..).zip(named);
    let named = named.filter(|(_, word)| word.ty != AttributeType::High);
    let named: Vec<String> = named
        .map(|(place, word)| match form.newborn >> place & 1 {
            1 => format!("{}: the newborn", word.name),
            _ => format!(
                "{}: {}",
                word.name,
                value(still, word.ty, words_at(&words, place))
            ),
        })
        .collect();
    let name = command.map_or("a command that the world lacks", |command| &command.name);
    let by = match form.is_giver {
        true => "the newborn".to_owned(),
        false => entity(still, by),
    };
    format!(
        "{ticks} {unit} after the birth: {name}({}) by {by}",
        named.join(", ")
    )
}

fn named_words<'a>(
    still: &Still,
    named: impl Iterator<Item = (&'a str, AttributeType)>,
    words: &[i32],
) -> String {
    let named = named.zip(0..);
    let named = named.filter(|((_, ty), place)| *ty != AttributeType::High && *place < words.len());
    let words: Vec<String> = named
        .map(|((name, ty), place)| format!("{name}: {}", value(still, ty, words_at(words, place))))
        .collect();
    words.join(", ")
}

/// `entity 17 (wolf): hp 30 - 5 = 25`.
fn change(still: &Still, slot: Slot, column: u16, values: &[i32]) -> String {
    let schema = &still.config.schema;
    let attribute = &schema.attributes[usize::from(column)];
    let before = still.attribute(slot, column.into());
    let own = &schema.kinds[usize::from(still.kind(slot))].attributes;
    let bounds = own.iter().find(|a| a.column == column);
    let (low, high) = bounds.map_or((i32::MIN, i32::MAX), |a| (a.min, a.max));
    let clamp = |value: i64| value.clamp(low.into(), high.into()) as i32;
    let show = |raw: i32| value(still, attribute.ty, [raw, 0]);
    let who = still
        .entity(slot.0)
        .map_or(String::new(), |e| entity(still, e));
    let (name, first) = (&attribute.name, values[0]);
    let after = match attribute.merge {
        MergeRule::Sum => {
            let signed = |&value: &i32| match value < 0 {
                true => format!(" - {}", show(value.saturating_neg())),
                false => format!(" + {}", show(value)),
            };
            let terms: String = values.iter().map(signed).collect();
            let sum = i64::from(before) + values.iter().map(|&v| i64::from(v)).sum::<i64>();
            let (total, sum) = (show(clamp(sum)), sum != i64::from(clamp(sum)));
            let limit = if sum { ", its limit" } else { "" };
            return format!("{who}: {name} {}{terms} = {total}{limit}", show(before));
        }
        MergeRule::Min => values.iter().copied().min().unwrap_or(first),
        MergeRule::Max => values.iter().copied().max().unwrap_or(first),
        MergeRule::First => first,
        MergeRule::Last => values.last().copied().unwrap_or(first),
    };
    left(still, slot, column, [clamp(after.into()), 0])
}

/// The same of a number of 64 bits, whose low half is in a column.
fn wide_change(still: &Still, slot: Slot, column: u16, numbers: Vec<i64>) -> String {
    let schema = &still.config.schema;
    let attribute = &schema.attributes[usize::from(column)];
    let before = joined(words(still, slot, column));
    let (min, max) = schema.wide_bounds()[usize::from(column)];
    let clamp = |value: i128| value.clamp(min.into(), max.into()) as i64;
    let mut all = numbers.iter().map(|&number| i128::from(number));
    let after = match attribute.merge {
        MergeRule::Sum => {
            let signed = |number: &i64| match *number < 0 {
                true => format!(" - {}", number.unsigned_abs()),
                false => format!(" + {number}"),
            };
            let terms: String = numbers.iter().map(signed).collect();
            let sum = i128::from(before) + all.sum::<i128>();
            let total = clamp(sum);
            let limit = match i128::from(total) == sum {
                true => "",
                false => ", its limit",
            };
            let who = still.entity(slot.0);
            let who = who.map_or(String::new(), |e| entity(still, e));
            let name = &attribute.name;
            return format!("{who}: {name} {before}{terms} = {total}{limit}");
        }
        MergeRule::Min => all.min(),
        MergeRule::Max => all.max(),
        MergeRule::First => all.next(),
        MergeRule::Last => all.next_back(),
    };
    let after = after.unwrap_or(before.into());
    left(still, slot, column, halves(clamp(after)))
}

fn is_low(still: &Still, column: u16) -> bool {
    still.config.schema.attributes[usize::from(column)].ty == AttributeType::I64
}

fn is_high(still: &Still, column: u16) -> bool {
    still.config.schema.attributes[usize::from(column)].ty == AttributeType::High
}

/// The word of an entity in a column, and of a number of 64 bits the one in the next.
fn words(still: &Still, slot: Slot, column: u16) -> [i32; 2] {
    let column = usize::from(column);
    let high = match still.config.schema.attributes[column].ty {
        AttributeType::I64 => still.attribute(slot, column + 1),
        AttributeType::I32
        | AttributeType::Fixed
        | AttributeType::Bool
        | AttributeType::Entity
        | AttributeType::Symbol
        | AttributeType::Text
        | AttributeType::High => 0,
    };
    [still.attribute(slot, column), high]
}

/// `entity 17 (wolf): hp 30 → 25`.
fn left(still: &Still, slot: Slot, column: u16, after: [i32; 2]) -> String {
    let attribute = &still.config.schema.attributes[usize::from(column)];
    let before = words(still, slot, column);
    let show = |words: [i32; 2]| value(still, attribute.ty, words);
    let who = still
        .entity(slot.0)
        .map_or(String::new(), |e| entity(still, e));
    let name = &attribute.name;
    match after == before {
        true => format!("{who}: {name} stays {}", show(before)),
        false => format!("{who}: {name} {} → {}", show(before), show(after)),
    }
}
