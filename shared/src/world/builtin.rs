//! The built-in commands and notifications, besides the engine's own.

use super::attribute::AttributeType;
use super::command::{CommandKind, CommandSchema, CommandWord, Senders};
use super::notification::{NotificationField, NotificationKind, NotificationSchema};

/// A step by an offset, each axis clamped to `speed_max`.
pub const MOVE: CommandKind = CommandKind(2);
/// Takes `damage` from the `hp` of one target in reach.
pub const STRIKE: CommandKind = CommandKind(3);
/// Gives `amount` to the `hp` of one target in reach, which may be the entity itself.
pub const HEAL: CommandKind = CommandKind(4);
/// Takes `damage` from the `hp` of all other entities within `radius` of a point in
/// reach: several updates from one command.
pub const BLAST: CommandKind = CommandKind(5);
/// Claims an item in reach that has no owner. The merge rule of `owner` decides between
/// several claims. Picking an item that the entity owns puts it down.
pub const PICK: CommandKind = CommandKind(6);
/// A random step.
pub const ROAM: CommandKind = CommandKind(7);
/// The embers of a blast: takes `ember_damage` from the `hp` of all entities within the
/// blast's radius of a point, and schedules itself for the next tick, with one tick less.
pub const BURN: CommandKind = CommandKind(8);
/// A notification around the commanding entity: how far it is heard along each axis, at
/// most `radius_max`, and a number.
pub const SHOUT: CommandKind = CommandKind(9);

/// A blast. Source: the entity that gave the command. Words: the centre. It is heard
/// within `commands.blast.sound` of the centre along each axis.
pub const BLAST_NOTIFICATION: NotificationKind = NotificationKind(2);
/// A shout. Source: the entity that gave the command. Words: its number.
pub const SHOUT_NOTIFICATION: NotificationKind = NotificationKind(3);

/// A built-in command, whatever the world.
struct Command {
    kind: CommandKind,
    name: &'static str,
    senders: Senders,
    has_actor: bool,
    /// The attribute that a world needs for it.
    needs: Option<(&'static str, AttributeType)>,
    words: &'static [Word],
}

/// One or several words of a command.
enum Word {
    /// `x`, `y` and in three dimensions `z`.
    Axes,
    One(&'static str, AttributeType),
}

/// The commands of a world of `dimensions` axes in which an attribute exists if `has`
/// says so.
pub fn commands(
    dimensions: usize,
    has: impl Fn(&str, AttributeType) -> bool,
) -> impl Iterator<Item = CommandSchema> {
    let possible = COMMANDS
        .iter()
        .filter(move |command| command.needs.is_none_or(|(name, ty)| has(name, ty)));
    possible.map(move |command| command.schema(dimensions))
}

/// The form of the notification of a blast.
pub fn blast_notification(dimensions: usize) -> NotificationSchema {
    let axes = AXES[..dimensions].iter();
    NotificationSchema {
        kind: BLAST_NOTIFICATION,
        name: "blast".to_owned(),
        fields: axes
            .map(|axis| NotificationField::new(axis, AttributeType::Fixed))
            .collect(),
    }
}

/// The form of the notification of a shout.
pub fn shout_notification() -> NotificationSchema {
    NotificationSchema {
        kind: SHOUT_NOTIFICATION,
        name: "shout".to_owned(),
        fields: vec![NotificationField::new("number", AttributeType::I32)],
    }
}

impl Command {
    fn schema(&self, dimensions: usize) -> CommandSchema {
        let mut words = vec![];
        for word in self.words {
            match word {
                Word::Axes => words.extend(
                    AXES[..dimensions]
                        .iter()
                        .map(|axis| CommandWord::new(axis, AttributeType::Fixed)),
                ),
                Word::One(name, ty) => words.push(CommandWord::new(name, *ty)),
            }
        }
        CommandSchema {
            kind: self.kind,
            name: self.name.to_owned(),
            senders: self.senders,
            has_actor: self.has_actor,
            words,
        }
    }
}

const COMMANDS: [Command; 8] = [
    Command {
        kind: MOVE,
        name: "move",
        senders: ANYONE,
        has_actor: true,
        needs: None,
        words: &[Word::Axes],
    },
    Command {
        kind: STRIKE,
        name: "strike",
        senders: ANYONE,
        has_actor: true,
        needs: HP,
        words: &[TARGET],
    },
    Command {
        kind: HEAL,
        name: "heal",
        senders: ANYONE,
        has_actor: true,
        needs: HP,
        words: &[TARGET],
    },
    Command {
        kind: BLAST,
        name: "blast",
        senders: ANYONE,
        has_actor: true,
        needs: HP,
        words: &[Word::Axes],
    },
    Command {
        kind: PICK,
        name: "pick",
        senders: ANYONE,
        has_actor: true,
        needs: Some(("owner", AttributeType::Entity)),
        words: &[TARGET],
    },
    Command {
        kind: ROAM,
        name: "roam",
        senders: Senders {
            clients: false,
            rules: true,
        },
        has_actor: true,
        needs: None,
        words: &[],
    },
    Command {
        kind: BURN,
        name: "burn",
        senders: Senders {
            clients: false,
            rules: false,
        },
        has_actor: false,
        needs: HP,
        words: &[Word::Axes, Word::One("ticks", AttributeType::I32)],
    },
    Command {
        kind: SHOUT,
        name: "shout",
        senders: ANYONE,
        has_actor: true,
        needs: None,
        words: &[
            Word::One("radius", AttributeType::Fixed),
            Word::One("number", AttributeType::I32),
        ],
    },
];

const ANYONE: Senders = Senders {
    clients: true,
    rules: true,
};
const HP: Option<(&str, AttributeType)> = Some(("hp", AttributeType::I32));
const TARGET: Word = Word::One("target", AttributeType::Entity);
const AXES: [&str; 3] = ["x", "y", "z"];
