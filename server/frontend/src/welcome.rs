//! The welcome of a client: a few bytes of its own, and a part that all welcomes of a world share.

use bytes::Bytes;
use shared::wire::control::{Quotas, Ticket};
use shared::wire::{codec, length};
use shared::{EntityId, Schema, Tick, WorldConfig};

/// The shared part of a world's welcomes, encoded once: the schema alone may be a MiB.
pub struct SharedWelcome(Bytes);

/// The fields that differ by client.
pub struct OwnWelcome<'a> {
    pub tick: Tick,
    pub entity: EntityId,
    pub commands_epoch: u8,
    pub ticket: Ticket,
    pub resumed: bool,
    pub standby: &'a str,
}

impl SharedWelcome {
    /// `schema` is without the parts that are hidden from clients.
    pub fn new(config: &WorldConfig, schema: &Schema, forecast: &[u8]) -> SharedWelcome {
        let quotas = Quotas::of(&config.limits, config.spectators);
        let fields = (config.player_kind, quotas, schema, forecast);
        SharedWelcome(codec::to_bytes(&fields).into())
    }

    /// The bytes of a [`Welcome`](shared::wire::control::Welcome) with the length in front of
    /// them, in parts. Its fields are written one after the other, so parts can be joined.
    pub fn parts(&self, own: &OwnWelcome<'_>) -> [Bytes; 3] {
        let head = codec::to_bytes(&(
            own.tick,
            own.entity,
            own.commands_epoch,
            own.ticket,
            own.resumed,
        ));
        let standby = codec::to_bytes(&own.standby);
        let mut begin = vec![];
        length::put(head.len() + self.0.len() + standby.len(), &mut begin);
        begin.extend_from_slice(&head);
        [begin.into(), self.0.clone(), standby.into()]
    }
}

#[cfg(test)]
mod tests {
    use shared::wire::control::Welcome;

    use super::*;

    #[test]
    fn the_parts_are_a_welcome_and_its_long_part_is_the_same_memory_for_all() {
        let config = world_file::default();
        let schema = config.schema.for_clients();
        let forecast = vec![3; 300];
        let shared = SharedWelcome::new(&config, &schema, &forecast);
        let mut long = vec![];
        for (row, standby) in [(7, ""), (300_000, "standby.example:7777")] {
            let own = OwnWelcome {
                tick: Tick(u64::from(row) << 20),
                entity: EntityId::new(row, 9),
                commands_epoch: 3,
                ticket: [row as u8; 16],
                resumed: row == 7,
                standby,
            };
            let parts = shared.parts(&own);
            let whole = codec::to_bytes(&Welcome {
                tick: own.tick,
                entity: own.entity,
                commands_epoch: own.commands_epoch,
                ticket: own.ticket,
                resumed: own.resumed,
                player_kind: config.player_kind,
                quotas: Quotas::of(&config.limits, config.spectators),
                schema: schema.clone(),
                forecast: forecast.clone(),
                standby: standby.to_owned(),
            });
            let mut expected = vec![];
            length::put(whole.len(), &mut expected);
            expected.extend(whole);
            assert_eq!(parts.concat(), expected);
            assert!(parts[0].len() + parts[2].len() < 80);
            long.push(parts[1].as_ptr());
        }
        assert_eq!(long[0], long[1]);
    }
}
