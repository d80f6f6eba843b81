use shared::{Attribute, AttributeType, CommandKind, CommandSchema, Fixed, Schema, WorldConfig};

use super::changes::Changes;

/// The names of the kept world and the given one, matched. Numbers of the one become those of
/// the other where both have the name.
pub struct Names<'a> {
    pub kept: &'a WorldConfig,
    pub given: &'a WorldConfig,
    /// By number in the kept world; `None`: it is gone.
    kinds: Vec<Option<u16>>,
    symbols: Vec<Option<i32>>,
    /// By column of the given world: where its values come from; `None`: they are defaults.
    sources: Vec<Option<Source>>,
}

/// Where a column's values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Source {
    /// A column of the kept world.
    pub column: usize,
    conversion: Conversion,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Conversion {
    Same,
    ToFixed,
    ToInt,
    Symbols,
}

impl<'a> Names<'a> {
    pub fn new(kept: &'a WorldConfig, given: &'a WorldConfig) -> Names<'a> {
        let kinds = kept.schema.kinds.iter();
        let kind = |name: &str| u16::try_from(given.schema.kind(name)?).ok();
        let new_symbols = &given.schema.symbols;
        let symbol = |name: &String| {
            let place = new_symbols.iter().position(|new| new == name)?;
            i32::try_from(place).ok()
        };
        Names {
            kept,
            given,
            kinds: kinds.map(|old| kind(&old.name)).collect(),
            symbols: kept.schema.symbols.iter().map(symbol).collect(),
            sources: given
                .schema
                .attributes
                .iter()
                .map(|new| source(&kept.schema, new))
                .collect(),
        }
    }

    /// The number of a kind; `None` if it is gone.
    pub fn kind(&self, kept: u16) -> Option<u16> {
        self.kinds.get(usize::from(kept)).copied().flatten()
    }

    /// By command of the given world that rests after a use: its place among those of the kept
    /// one, and its own rest in ticks.
    pub fn resting(&self) -> Vec<(Option<usize>, u32)> {
        let given = self.given.schema.resting_commands();
        let place = |name: &str| {
            let mut kept = self.kept.schema.resting_commands();
            kept.position(|old| old.name == name)
        };
        given.map(|new| (place(&new.name), new.cooldown)).collect()
    }

    /// Where the values of a column come from.
    pub fn source(&self, column: usize) -> Option<Source> {
        self.sources.get(column).copied().flatten()
    }

    /// A value of the kept world in the given one; `None`: a symbol that is gone.
    pub fn value(&self, conversion: Source, value: i32) -> Option<i32> {
        let scale = 1 << Fixed::FRACTION_BITS;
        match conversion.conversion {
            Conversion::Same => Some(value),
            Conversion::ToFixed => Some(value.saturating_mul(scale)),
            Conversion::ToInt => Some(value.div_euclid(scale)),
            Conversion::Symbols => self.symbol(value),
        }
    }

    /// The number of a symbol; `None` if it is gone.
    pub fn symbol(&self, kept: i32) -> Option<i32> {
        let place = usize::try_from(kept).ok()?;
        self.symbols.get(place).copied().flatten()
    }

    /// The name of a command of the kept world; a number alone if it never had one.
    pub fn command_name(&self, kind: CommandKind) -> String {
        let name = match kind {
            CommandKind::SPAWN => Some("spawn"),
            CommandKind::DESPAWN => Some("despawn"),
            kind => self.kept.logic.numbers.command_name(kind),
        };
        name.map_or_else(|| kind.id().to_string(), str::to_owned)
    }

    /// A command in both worlds, with the same parameters; `Err` is the reason if there is none.
    pub fn command(&self, kind: CommandKind) -> Result<Pair<'_>, &'static str> {
        let old = self.kept.schema.command(kind).ok_or("is gone")?;
        let new = self
            .given
            .schema
            .command_named(&old.name)
            .ok_or("is gone")?;
        match old.words == new.words {
            true => Ok(Pair { old, new }),
            false => Err("has other parameters"),
        }
    }

    /// Reports additions, removals and changes of type.
    pub fn describe(&self, changes: &mut Changes) {
        let (kept, given) = (&self.kept.schema, &self.given.schema);
        let (old, new) = (kept.world.capacity, given.world.capacity);
        if old != new {
            changes.say(format!("capacity: {old} slots, now {new}"));
        }
        let (old, new) = (self.kept.limits.clients, self.given.limits.clients);
        if old != new {
            changes.say(format!("clients: {old} rows, now {new}"));
        }
        for kind in given
            .kinds
            .iter()
            .filter(|new| kept.kind(&new.name).is_none())
        {
            changes.say(format!("kind {} is new", kind.name));
        }
        let name = |kept: &WorldConfig| {
            kept.schema.kinds[usize::from(kept.player_kind)]
                .name
                .clone()
        };
        let players = [name(self.kept), name(self.given)];
        if players[0] != players[1] {
            changes.say(format!(
                "players are born as {}, not {}; those of before stay what they are",
                players[1], players[0]
            ));
        }
        for (column, new) in given.attributes.iter().enumerate() {
            let Some(old) = kept.column(&new.name).map(|old| &kept.attributes[old]) else {
                continue;
            };
            if old.ty != new.ty {
                let (from, to) = (old.ty.name(), new.ty.name());
                let then = match self.source(column) {
                    Some(_) => "its values are converted",
                    None => "its values are the defaults",
                };
                changes.say(format!("attribute {}: {from}, now {to}; {then}", new.name));
            }
        }
        let is_gone = |attribute: &&Attribute| given.column(&attribute.name).is_none();
        for attribute in kept.attributes.iter().filter(is_gone) {
            changes.say(format!("attribute {} is gone", attribute.name));
        }
        for symbol in kept
            .symbols
            .iter()
            .filter(|symbol| !given.symbols.contains(symbol))
        {
            changes.say(format!("symbol {symbol:?} is gone"));
        }
        for command in &kept.commands {
            if given.command_named(&command.name).is_none() {
                changes.say(format!("command {} is gone", command.name));
            }
        }
        for command in &given.commands {
            if kept.command_named(&command.name).is_none() {
                changes.say(format!("command {} is new", command.name));
            }
        }
    }
}

/// A command of both worlds.
pub struct Pair<'a> {
    pub old: &'a CommandSchema,
    pub new: &'a CommandSchema,
}

fn source(kept: &Schema, new: &Attribute) -> Option<Source> {
    let column = kept.column(&new.name)?;
    let old = &kept.attributes[column];
    let conversion = match (old.ty, new.ty) {
        (AttributeType::Symbol, AttributeType::Symbol) => Conversion::Symbols,
        (old, new) if old == new => Conversion::Same,
        (AttributeType::I32, AttributeType::Fixed) => Conversion::ToFixed,
        (AttributeType::Fixed, AttributeType::I32) => Conversion::ToInt,
        (AttributeType::Bool, AttributeType::I32) => Conversion::Same,
        _ => return None,
    };
    Some(Source { column, conversion })
}
