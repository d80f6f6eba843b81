//! Commands and attributes by their names, and raw words as numbers: for games and engines that
//! look into no schema.

use client_core::{Argument, CommandError, Entity, Game, GivenCommand, View};
use shared::predicate::nearest;
use shared::world::attribute::joined;
use shared::{
    Attribute, AttributeType, AttributeValue, Audience, CommandKind, CommandSchema, EntityId,
    EntityRef,
};
use thiserror::Error;

use crate::GameClient;

/// Why something cannot be given or read by its name.
#[derive(Clone, Debug, PartialEq, Error)]
pub enum NamedError {
    /// The client has not been welcomed, or is not connected now.
    #[error("the client is not in the world")]
    NotInWorld,
    /// The world has nothing of this name.
    #[error("the world has no {what} `{name}`{}", question(.nearest))]
    Unknown {
        /// What was looked for: "command", "attribute" and so on.
        what: &'static str,
        /// The name that was given.
        name: String,
        /// The name that was probably meant.
        nearest: Option<String>,
    },
    /// A command that only the world gives.
    #[error("clients of this world cannot give `{0}`")]
    NotForClients(String),
    /// Too many numbers, or too few.
    #[error("`{command}` takes {}, found {found}", takes(.expected))]
    Count {
        /// The command's name.
        command: String,
        /// The names of its numbers.
        expected: Vec<String>,
        /// How many were given.
        found: usize,
    },
    /// A number that its word can't have.
    #[error("`{word}` of `{command}`: {expected}")]
    Number {
        /// The command's name.
        command: String,
        /// The word's name.
        word: String,
        /// What it can have.
        expected: String,
    },
    /// The client sees no such entity.
    #[error("entity {}.{} is not in view", .0.slot.0, .0.generation)]
    NotInView(EntityId),
    /// An attribute whose audience is another.
    #[error("this client may not know `{0}` of this entity")]
    Hidden(String),
    /// An attribute of another type.
    #[error("`{0}` is no text")]
    NoText(String),
    /// The command can't be sent.
    #[error(transparent)]
    Command(#[from] CommandError),
}

impl GameClient {
    /// In how many ticks of input a command can be used again, by the client's knowledge; 0:
    /// it runs if it is given now.
    pub fn ready_ticks_named(&self, name: &str) -> Result<u32, NamedError> {
        ready_ticks(self.game(), name)
    }

    /// Queues a command by its name, with its numbers in the order of the world file, as
    /// [`number`] gives them, and returns its sequence number. It goes out with a
    /// [`GameClient::flush`], just in time for a tick.
    ///
    /// ```no_run
    /// use client_bot::named::{NamedError, reference};
    /// use client_bot::GameClient;
    /// use client_bot::shared::EntityId;
    ///
    /// fn act(client: &mut GameClient, target: EntityId) -> Result<(), NamedError> {
    ///     // A point in units; an entity; no numbers at all.
    ///     client.command_named("move", &[1.0, -0.5])?;
    ///     client.command_named("strike", &[reference(target)])?;
    ///     client.command_named("rest", &[])?;
    ///     Ok(())
    /// }
    /// ```
    pub fn command_named(&mut self, name: &str, numbers: &[f64]) -> Result<u32, NamedError> {
        let (kind, words) = command(self.game(), name, numbers)?;
        Ok(self.command(kind, &words)?)
    }

    /// The same of a command with texts among its arguments, see
    /// [`Session::command_with`](client_core::Session::command_with):
    ///
    /// ```no_run
    /// use client_bot::GameClient;
    /// use client_bot::named::{NamedArgument, NamedError};
    ///
    /// fn write(client: &mut GameClient) -> Result<(), NamedError> {
    ///     client.command_named_with("write", &[NamedArgument::Text("Beware of the dog")])?;
    ///     Ok(())
    /// }
    /// ```
    pub fn command_named_with(
        &mut self,
        name: &str,
        arguments: &[NamedArgument<'_>],
    ) -> Result<GivenCommand, NamedError> {
        let (kind, arguments) = command_with(self.game(), name, arguments)?;
        Ok(self.command_with(kind, &arguments)?)
    }

    /// The newest value of an attribute of an entity in view, as [`number`] gives it.
    pub fn value(&self, entity: EntityId, attribute: &str) -> Result<f64, NamedError> {
        value(self.game(), entity, attribute)
    }
}

#[cfg(feature = "tokio")]
impl crate::Client {
    /// See [`GameClient::ready_ticks_named`].
    pub fn ready_ticks_named(&self, name: &str) -> Result<u32, NamedError> {
        ready_ticks(self.game(), name)
    }

    /// See [`GameClient::command_named`]. It goes out as one of [`crate::Client::command`] does.
    pub fn command_named(&mut self, name: &str, numbers: &[f64]) -> Result<u32, NamedError> {
        let (kind, words) = command(self.game(), name, numbers)?;
        let given = self.command(kind, &words);
        // The words are those of a command that clients can give.
        given.ok_or(NamedError::NotInWorld)
    }

    /// See [`GameClient::command_named_with`].
    pub fn command_named_with(
        &mut self,
        name: &str,
        arguments: &[NamedArgument<'_>],
    ) -> Result<GivenCommand, NamedError> {
        let (kind, arguments) = command_with(self.game(), name, arguments)?;
        Ok(self.command_with(kind, &arguments)?)
    }

    /// See [`GameClient::value`].
    pub fn value(&self, entity: EntityId, attribute: &str) -> Result<f64, NamedError> {
        value(self.game(), entity, attribute)
    }
}

/// A command that clients can give.
fn command_of<'a>(game: &'a Game, name: &str) -> Result<&'a CommandSchema, NamedError> {
    let schema = game.view().ok_or(NamedError::NotInWorld)?.schema();
    match schema.command_named(name) {
        Some(command) if command.senders.clients => Ok(command),
        Some(_) => Err(NamedError::NotForClients(name.to_owned())),
        None => {
            let known = schema.commands.iter().filter(|c| c.senders.clients);
            Err(unknown("command", name, known.map(|c| &*c.name)))
        }
    }
}

fn ready_ticks(game: &Game, name: &str) -> Result<u32, NamedError> {
    let kind = command_of(game, name)?.kind;
    let (ready, input) = (game.ready_at(kind), game.prediction());
    let ticks = ready
        .zip(input)
        .map(|(ready, p)| ready.since(p.input_tick()));
    Ok(ticks.unwrap_or(0))
}

/// The number of a command, and its raw words.
fn command(
    game: &Game,
    name: &str,
    numbers: &[f64],
) -> Result<(CommandKind, Vec<i32>), NamedError> {
    let command = command_of(game, name)?;
    if numbers.len() != command.words.len() {
        return Err(NamedError::Count {
            command: name.to_owned(),
            expected: command.words.iter().map(|word| word.name.clone()).collect(),
            found: numbers.len(),
        });
    }
    let words = command.words.iter().zip(numbers).map(|(word, &number)| {
        raw(word.ty, number).map_err(|expected| NamedError::Number {
            command: name.to_owned(),
            word: word.name.clone(),
            expected,
        })
    });
    Ok((command.kind, words.collect::<Result<_, _>>()?))
}

/// An argument of a command.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum NamedArgument<'a> {
    /// As [`number`] gives it.
    Number(f64),
    /// For a parameter of type text.
    Text(&'a str),
}

/// The number of a command, and its arguments.
fn command_with<'a>(
    game: &Game,
    name: &str,
    arguments: &[NamedArgument<'a>],
) -> Result<(CommandKind, Vec<Argument<'a>>), NamedError> {
    let numbers = arguments.iter().map(|argument| match argument {
        NamedArgument::Number(number) => *number,
        NamedArgument::Text(_) => 0.0,
    });
    let numbers: Vec<f64> = numbers.collect();
    let (kind, words) = command(game, name, &numbers)?;
    let arguments = words.iter().zip(arguments);
    let arguments = arguments.map(|(&word, argument)| match argument {
        NamedArgument::Number(_) => Argument::Word(word),
        NamedArgument::Text(text) => Argument::Text(text),
    });
    Ok((kind, arguments.collect()))
}

/// The text of an attribute; `None` if it has not been received yet, or the world has it no more.
pub fn text<'a>(
    game: &'a Game,
    entity: EntityId,
    attribute: &str,
) -> Result<Option<&'a str>, NamedError> {
    let view = game.view().ok_or(NamedError::NotInWorld)?;
    match found(game, entity, attribute)? {
        AttributeValue::Text(handle) => Ok(view.text(handle)),
        _ => Err(NamedError::NoText(attribute.to_owned())),
    }
}

fn value(game: &Game, entity: EntityId, attribute: &str) -> Result<f64, NamedError> {
    Ok(found(game, entity, attribute)?.number())
}

/// The whole number of an attribute, which has up to 64 bits; of a fixed-point one its raw number.
pub fn whole(game: &Game, entity: EntityId, attribute: &str) -> Result<i64, NamedError> {
    let (low, high) = found(game, entity, attribute)?.words();
    Ok(high.map_or(low.into(), |high| joined([low, high])))
}

fn found(game: &Game, entity: EntityId, attribute: &str) -> Result<AttributeValue, NamedError> {
    let view = game.view().ok_or(NamedError::NotInWorld)?;
    let seen = view.get(entity.slot);
    let seen = seen.filter(|seen| seen.id == entity);
    let seen = seen.ok_or(NamedError::NotInView(entity))?;
    let (column, attribute) = known_attribute(view, seen, attribute)?;
    Ok(AttributeValue::in_row(attribute.ty, &seen.row, column))
}

/// An attribute that an entity has, and that this client may know.
fn known_attribute<'a>(
    view: &'a View,
    entity: &Entity,
    name: &str,
) -> Result<(usize, &'a Attribute), NamedError> {
    let schema = view.schema();
    let kind = schema.kinds.get(usize::from(entity.kind));
    let has = |column: usize| {
        let mut own = kind.iter().flat_map(|kind| &kind.attributes);
        column < schema.dimensions() || own.any(|own| usize::from(own.column) == column)
    };
    let column = schema.column(name).filter(|&column| has(column));
    let column = column.ok_or_else(|| {
        let columns = schema.attributes.iter().enumerate();
        let own = columns.filter(|&(column, a)| has(column) && a.ty != AttributeType::High);
        unknown("attribute of its kind", name, own.map(|(_, a)| &*a.name))
    })?;
    let attribute = &schema.attributes[column];
    let is_known = match attribute.audience {
        Audience::Hidden => false,
        Audience::Private => view.is_own(entity),
        _ => true,
    };
    match is_known {
        true => Ok((column, attribute)),
        false => Err(NamedError::Hidden(name.to_owned())),
    }
}

fn unknown<'a>(what: &'static str, name: &str, known: impl Iterator<Item = &'a str>) -> NamedError {
    NamedError::Unknown {
        what,
        name: name.to_owned(),
        nearest: nearest(name, known),
    }
}

/// The name of a kind of entities; `None` if the world has no such kind.
pub fn kind_name(view: &View, kind: u16) -> Option<&str> {
    let kinds = &view.schema().kinds;
    Some(&kinds.get(usize::from(kind))?.name)
}

/// A raw word as a number: fixed-point ones in units, booleans as 0 and 1, symbols by their
/// number, entities by their reference.
pub fn number(ty: AttributeType, raw: i32) -> f64 {
    AttributeValue::of_word(ty, raw).number()
}

/// The number that stands for an entity in a command's numbers.
pub fn reference(entity: EntityId) -> f64 {
    f64::from(entity.reference().0)
}

/// The entity in view that a number stands for, as attributes of entities have it.
pub fn referenced(view: &View, reference: f64) -> Option<EntityId> {
    let reference = EntityRef(reference as i32);
    let seen = view.get(reference.slot())?;
    Some(seen.id).filter(|id| reference.is_generation(id.generation))
}

/// The number of a symbol in a command's numbers; `None` if the world has no such symbol.
pub fn symbol(view: &View, name: &str) -> Option<f64> {
    let symbols = view.schema().symbols.iter();
    let (number, _) = (0u32..).zip(symbols).find(|(_, known)| *known == name)?;
    Some(f64::from(number))
}

/// The raw word of a number, or what was expected.
pub fn raw(ty: AttributeType, number: f64) -> Result<i32, String> {
    AttributeValue::of_number(ty, number).map(AttributeValue::raw)
}

/// A question behind an error.
fn question(nearest: &Option<String>) -> String {
    match nearest {
        Some(name) => format!("; did you mean `{name}`?"),
        None => String::new(),
    }
}

/// A command's parameters, by the names of its numbers.
fn takes(names: &[String]) -> String {
    match names {
        [] => "no numbers".to_owned(),
        [name] => format!("1 number ({name})"),
        names => format!("{} numbers ({})", names.len(), names.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use client_core::{Game, GameOptions, Session, Step, Welcomed};
    use shared::Tick;
    use shared::wire::control::{Quotas, Welcome};

    use super::*;

    const OWN: EntityId = EntityId::new(5, 1);

    /// A game in a world of this text, which has received nothing but the welcome.
    fn game(world: &str) -> Game {
        let world = world_file::parse(world, "a test's world").unwrap();
        let welcome = Welcome {
            tick: Tick(10),
            entity: OWN,
            commands_epoch: 1,
            ticket: [7; 16],
            resumed: false,
            processed: None,
            player_kind: 0,
            quotas: Quotas::default(),
            schema: world.schema.for_clients(),
            forecast: vec![],
            servers: vec![],
            reasons: vec![],
            layers: vec![],
            doors: vec![],
            rankings: vec![],
            planes: Default::default(),
            editable: vec![],
        };
        let session = Session::new(&welcome).unwrap();
        let rest = vec![];
        let welcomed = Welcomed {
            welcome,
            session,
            rest,
        };
        let mut game = Game::new(GameOptions::default());
        assert_eq!(game.next_step(Duration::ZERO), Step::Connect);
        game.welcomed(welcomed, None, Duration::ZERO).unwrap();
        game
    }

    const WORLD: &str = "
        [world]
        size = [100, 100]
        aoi = 20
        capacity = 64

        [[kind]]
        name = \"player\"
        attributes = [
            { name = \"hp\", type = \"i32\", audience = \"state\", default = 100, min = 0, max = 100 },
        ]
    ";

    #[test]
    fn commands_are_given_in_units_by_their_names() {
        let game = game(WORLD);
        let (kind, words) = command(&game, "move", &[1.0, -0.5]).unwrap();
        let schema = game.view().unwrap().schema();
        assert_eq!(Some(kind), schema.command_named("move").map(|c| c.kind));
        assert_eq!(words, [4096, -2048]);
        let target = EntityId::new(9, 3);
        let (_, words) = command(&game, "strike", &[reference(target)]).unwrap();
        assert_eq!(words, [target.reference().0]);
        assert_eq!(ready_ticks(&game, "move"), Ok(0));
    }

    #[test]
    fn errors_say_what_was_expected_and_what_was_probably_meant() {
        let game = game(WORLD);
        let error = |name, numbers: &[f64]| command(&game, name, numbers).unwrap_err().to_string();
        assert_eq!(
            error("mvoe", &[]),
            "the world has no command `mvoe`; did you mean `move`?"
        );
        assert_eq!(
            error("levitate", &[]),
            "the world has no command `levitate`"
        );
        assert_eq!(
            error("move", &[1.0, 0.0, 0.0]),
            "`move` takes 2 numbers (x, y), found 3"
        );
        assert_eq!(
            error("strike", &[]),
            "`strike` takes 1 number (target), found 0"
        );
        assert_eq!(
            error("spawn", &[]),
            "clients of this world cannot give `spawn`"
        );
        assert_eq!(
            error("move", &[f64::NAN, 0.0]),
            "`x` of `move`: expected a number within ±524,288, found NaN"
        );
        assert_eq!(
            ready_ticks(&game, "moves").unwrap_err().to_string(),
            "the world has no command `moves`; did you mean `move`?"
        );
        assert_eq!(takes(&[]), "no numbers");
        assert_eq!(value(&game, OWN, "hp"), Err(NamedError::NotInView(OWN)));
        let nowhere = Game::new(GameOptions::default());
        assert_eq!(ready_ticks(&nowhere, "move"), Err(NamedError::NotInWorld));
        assert_eq!(value(&nowhere, OWN, "hp"), Err(NamedError::NotInWorld));
    }

    #[test]
    fn numbers_are_the_words_they_came_from() {
        for raw_word in [i32::MIN, -70_000, -1, 0, 1, 65_536, i32::MAX] {
            for ty in [
                AttributeType::Fixed,
                AttributeType::I32,
                AttributeType::Entity,
            ] {
                assert_eq!(raw(ty, number(ty, raw_word)), Ok(raw_word), "{ty:?}");
            }
        }
    }

    #[test]
    fn numbers_that_no_word_can_hold_are_refused() {
        for number in [f64::NAN, f64::INFINITY, 0.5, 3e9] {
            assert!(raw(AttributeType::I32, number).is_err(), "{number}");
        }
        assert!(raw(AttributeType::Bool, 2.0).is_err());
        assert!(raw(AttributeType::Fixed, 1e9).is_err());
        assert!(raw(AttributeType::Fixed, f64::NAN).is_err());
    }
}
