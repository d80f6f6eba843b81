use shared::world::collection::member;
use shared::world::limits::persist_command;
use shared::{Attribute, AttributeType, CommandKind, CommandSchema, Fixed, Schema, WorldConfig};

use super::MigrationError;
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
    /// Attributes with another name: the old one, and the new one.
    renames: &'a [(String, String)],
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
    /// To the high half of a number that is not below 0, or is.
    Sign,
}

impl<'a> Names<'a> {
    /// Fails if a rename is not of an attribute that is gone to one that is new.
    pub fn new(
        kept: &'a WorldConfig,
        given: &'a WorldConfig,
        renames: &'a [(String, String)],
    ) -> Result<Names<'a>, MigrationError> {
        check_renames(&kept.schema, &given.schema, renames)?;
        let kinds = kept.schema.kinds.iter();
        let kind = |name: &str| u16::try_from(given.schema.kind(name)?).ok();
        let new_symbols = &given.schema.symbols;
        let symbol = |name: &String| {
            let place = new_symbols.iter().position(|new| new == name)?;
            i32::try_from(place).ok()
        };
        Ok(Names {
            kept,
            given,
            kinds: kinds.map(|old| kind(&old.name)).collect(),
            symbols: kept.schema.symbols.iter().map(symbol).collect(),
            sources: given
                .schema
                .attributes
                .iter()
                .enumerate()
                .map(|(column, _)| source(&kept.schema, &given.schema, renames, column))
                .collect(),
            renames,
        })
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
            Conversion::Sign => Some(value >> 31),
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
            .command_named(&self.new_command_name(&old.name))
            .ok_or("is gone")?;
        match old.words == new.words {
            true => Ok(Pair { old, new }),
            false => Err("has other parameters"),
        }
    }

    /// The name of a command in the given world: one that gives an account's value to its entity
    /// is named for the attribute.
    fn new_command_name(&self, kept: &str) -> String {
        let mut renames = self.renames.iter();
        let rename = renames.find(|(old, _)| persist_command(old) == kept);
        rename.map_or_else(|| kept.to_owned(), |(_, new)| persist_command(new))
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
        let whole = |attribute: &&Attribute| attribute.ty != AttributeType::High;
        let all = given.attributes.iter().enumerate();
        for (column, new) in all.filter(|(_, new)| whole(new)) {
            let before = old_name(self.renames, &new.name);
            let Some(old) = kept.column(before).map(|old| &kept.attributes[old]) else {
                continue;
            };
            if before != new.name {
                changes.say(format!("attribute {before} is {} now", new.name));
            }
            if old.ty != new.ty {
                let (from, to) = (old.ty.name(), new.ty.name());
                let then = match self.source(column) {
                    Some(_) => "its values are converted",
                    None => "its values are the defaults",
                };
                changes.say(format!("attribute {}: {from}, now {to}; {then}", new.name));
            }
        }
        let is_renamed = |name: &str| self.renames.iter().any(|(old, _)| old == name);
        let is_gone = |attribute: &&Attribute| {
            given.column(&attribute.name).is_none() && !is_renamed(&attribute.name)
        };
        for attribute in kept.attributes.iter().filter(whole).filter(is_gone) {
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
            if given
                .command_named(&self.new_command_name(&command.name))
                .is_none()
            {
                changes.say(format!("command {} is gone", command.name));
            }
        }
        for command in &given.commands {
            let mut others = kept.commands.iter();
            if !others.any(|old| self.new_command_name(&old.name) == command.name) {
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

/// The renames, where that of an array or a map is one of each value that both worlds have.
pub fn of_each_value(
    renames: &[(String, String)],
    kept: &Schema,
    given: &Schema,
) -> Vec<(String, String)> {
    let mut all = vec![];
    for (old, new) in renames {
        let names = kept.attributes.iter().map(|own| own.name.as_str());
        let own = names.filter_map(|name| {
            let (_, part) = member(name).filter(|(whole, _)| whole == old)?;
            let new = part.name(new);
            given.column(&new).map(|_| (name.to_owned(), new))
        });
        let before = all.len();
        all.extend(own);
        if all.len() == before {
            all.push((old.clone(), new.clone()));
        }
    }
    all
}

/// The name of an attribute in the kept world.
pub fn old_name<'a>(renames: &'a [(String, String)], new: &'a str) -> &'a str {
    let rename = renames.iter().find(|rename| rename.1 == new);
    rename.map_or(new, |(old, _)| old)
}

fn check_renames(
    kept: &Schema,
    given: &Schema,
    renames: &[(String, String)],
) -> Result<(), MigrationError> {
    for (place, (old, new)) in renames.iter().enumerate() {
        let is_double = renames[..place]
            .iter()
            .any(|(other, another)| other == old || another == new);
        let reason = if kept.column(old).is_none() {
            "the world has no attribute of the first name"
        } else if given.column(new).is_none() {
            "the new file has no attribute of the second name"
        } else if given.column(old).is_some() {
            "the new file still has an attribute of the first name"
        } else if kept.column(new).is_some() {
            "the world has an attribute of the second name already"
        } else if is_double {
            "one of the names is renamed twice"
        } else {
            continue;
        };
        return Err(MigrationError::Rename {
            old: old.clone(),
            new: new.clone(),
            reason,
        });
    }
    Ok(())
}

fn source(
    kept: &Schema,
    given: &Schema,
    renames: &[(String, String)],
    column: usize,
) -> Option<Source> {
    let new = &given.attributes[column];
    if new.ty == AttributeType::High {
        // Of the other half, or of the number that is as long as that.
        let low = source(kept, given, renames, column.checked_sub(1)?)?;
        return Some(match kept.attributes[low.column].ty {
            AttributeType::I64 => Source {
                column: low.column + 1,
                conversion: Conversion::Same,
            },
            AttributeType::I32
            | AttributeType::Fixed
            | AttributeType::Bool
            | AttributeType::Entity
            | AttributeType::Symbol
            | AttributeType::Text
            | AttributeType::High => Source {
                column: low.column,
                conversion: Conversion::Sign,
            },
        });
    }
    let column = kept.column(old_name(renames, &new.name))?;
    let old = &kept.attributes[column];
    let conversion = match (old.ty, new.ty) {
        (AttributeType::Symbol, AttributeType::Symbol) => Conversion::Symbols,
        (old, new) if old == new => Conversion::Same,
        (AttributeType::I32, AttributeType::Fixed) => Conversion::ToFixed,
        (AttributeType::Fixed, AttributeType::I32 | AttributeType::I64) => Conversion::ToInt,
        (AttributeType::Bool, AttributeType::I32 | AttributeType::I64) => Conversion::Same,
        (AttributeType::I32, AttributeType::I64) => Conversion::Same,
        (
            AttributeType::I32
            | AttributeType::Fixed
            | AttributeType::Bool
            | AttributeType::Entity
            | AttributeType::Symbol
            | AttributeType::I64
            | AttributeType::High
            | AttributeType::Text,
            _,
        ) => return None,
    };
    Some(Source { column, conversion })
}
