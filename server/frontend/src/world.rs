//! The world, as sessions use it.

use std::sync::Arc;

use script::{Forecast, Logic};
use shared::wire::commands::CommandCodec;
use shared::wire::control::Interface;
use shared::wire::stream::StreamCodec;
use shared::wire::{EDITS_VERSION, PROTOCOL_VERSION_MIN, TEXTS_VERSION};
use shared::{CommandKind, NotificationKind, Schema, WorldConfig};

use crate::layers::{PackedLayers, SharedLayers};
use crate::welcome::SharedWelcome;

/// The world, as sessions use it.
pub struct SessionWorld {
    pub config: WorldConfig,
    /// Without the parts that are hidden from clients.
    pub schema: Schema,
    /// The data with which clients predict.
    forecast: Vec<u8>,
    /// The contents of the layers.
    pub layers: Arc<PackedLayers>,
    /// Where the page finds them.
    pub served_layers: SharedLayers,
    pub welcome: SharedWelcome,
    pub commands: CommandCodec,
    pub stream: StreamCodec,
    /// By command number: how often a client may give it in a tick, or 0: no limit.
    per_tick: Vec<u8>,
    /// The notification that finds the clients near a speaker.
    pub say: Option<NotificationKind>,
    /// The oldest protocol version whose clients know all that the world has.
    pub version_min: u16,
}

impl SessionWorld {
    pub fn new(config: &WorldConfig) -> SessionWorld {
        SessionWorld::serving(config, &SharedLayers::default())
    }

    /// The same, where the page finds the world's layers.
    pub fn serving(config: &WorldConfig, layers: &SharedLayers) -> SessionWorld {
        // The logic of a checked world compiles; if not, clients do not predict.
        let forecast = Logic::of(config).map(|logic| Forecast::of(config, &logic));
        let commands = CommandCodec::new(&config.schema, EPOCH);
        SessionWorld::of(config, &forecast.unwrap_or_default(), commands, layers)
    }

    fn of(
        config: &WorldConfig,
        forecast: &Forecast,
        commands: CommandCodec,
        served_layers: &SharedLayers,
    ) -> SessionWorld {
        let schema = config.schema.for_clients();
        let layers = served_layers.serve(&config.schema.layers);
        let forecast = forecast.to_bytes();
        SessionWorld {
            welcome: SharedWelcome::new(config, &schema, &forecast, layers.infos()),
            schema,
            forecast,
            layers,
            served_layers: served_layers.clone(),
            commands,
            stream: StreamCodec::new(&config.schema),
            per_tick: per_tick(&config.schema),
            say: config.schema.say().map(|(_, notification)| notification),
            version_min: version_min(&config.schema),
            config: config.clone(),
        }
    }

    /// Another world that takes the place of this one, for the same connections: datagrams that
    /// clients sent before they knew are outdated.
    pub fn followed_by(&self, config: &WorldConfig) -> SessionWorld {
        SessionWorld {
            commands: self.commands.next(&config.schema),
            ..SessionWorld::serving(config, &self.served_layers)
        }
    }

    /// How often a client may give a command in a tick; 0: no limit.
    pub fn per_tick(&self, kind: CommandKind) -> u8 {
        let most = self.per_tick.get(usize::from(kind.id()));
        most.copied().unwrap_or(0)
    }

    /// The message to clients after a change of commands or notifications.
    pub fn interface(&self) -> Interface {
        Interface {
            commands_epoch: self.commands.epoch(),
            commands: self.config.schema.commands.clone(),
            notifications: self.config.schema.notifications.clone(),
            constants: self.config.schema.constants.clone(),
            forecast: self.forecast.clone(),
            reasons: self.config.reasons.clone(),
        }
    }

    /// The world after its scripts have changed. `None` if that makes no difference to
    /// clients.
    pub fn changed(&self, config: &WorldConfig, forecast: &Forecast) -> Option<SessionWorld> {
        let (old, new) = (&self.config.schema, &config.schema);
        if (&old.commands, &old.notifications) == (&new.commands, &new.notifications)
            && old.constants == new.constants
            && self.config.reasons == config.reasons
            && self.forecast == forecast.to_bytes()
        {
            return None;
        }
        let commands = self.commands.next(new);
        Some(SessionWorld::of(
            config,
            forecast,
            commands,
            &self.served_layers,
        ))
    }
}

/// The oldest protocol version whose clients know all that a world has.
fn version_min(schema: &Schema) -> u16 {
    if schema.layers.has_editable() {
        EDITS_VERSION
    } else if schema.has_texts() {
        TEXTS_VERSION
    } else {
        PROTOCOL_VERSION_MIN
    }
}

fn per_tick(schema: &Schema) -> Vec<u8> {
    let by_number = schema.commands_by_number(|command| command.per_tick);
    by_number
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect()
}

/// The first epoch of commands.
const EPOCH: u8 = 1;
