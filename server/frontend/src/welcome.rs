//! The welcome of a client: a few bytes of its own, and a part that all welcomes of a world share.

use bytes::Bytes;
use shared::wire::control::{Quotas, Ticket};
use shared::wire::layers::LayerInfo;
use shared::wire::rankings::RankingInfo;
use shared::wire::{RANKINGS_VERSION, codec, length};
use shared::{ClientRow, EntityId, Schema, Tick, WorldConfig};

use crate::servers::Others;

/// The shared parts of a world's welcomes, encoded once: the schema alone may be a MiB.
pub struct SharedWelcome {
    world: Bytes,
    reasons: Bytes,
    layers: Bytes,
    /// The last field.
    rankings: Bytes,
}

/// The fields that differ by client.
pub struct OwnWelcome<'a> {
    pub tick: Tick,
    pub entity: EntityId,
    pub commands_epoch: u8,
    pub ticket: Ticket,
    pub resumed: bool,
    pub client: ClientRow,
    pub others: &'a Others,
}

impl SharedWelcome {
    /// `schema` is without the parts that are hidden from clients.
    pub fn new(
        config: &WorldConfig,
        schema: &Schema,
        forecast: &[u8],
        layers: &[LayerInfo],
    ) -> SharedWelcome {
        let quotas = Quotas::of(&config.limits, config.spectators);
        let fields = (config.player_kind, quotas, schema, forecast);
        SharedWelcome {
            world: codec::to_bytes(&fields).into(),
            reasons: codec::to_bytes(&config.reasons).into(),
            layers: codec::to_bytes(&layers).into(),
            rankings: codec::to_bytes(&RankingInfo::all(&config.schema)).into(),
        }
    }

    /// The bytes of a [`Welcome`](shared::wire::control::Welcome) with the length in front of
    /// them, in parts, as clients of a version read it. Its fields are written one after the other,
    /// so parts can be joined.
    pub fn parts(&self, own: &OwnWelcome<'_>, version: u16) -> [Bytes; 6] {
        let head = codec::to_bytes(&(
            own.tick,
            own.entity,
            own.commands_epoch,
            own.ticket,
            own.resumed,
        ));
        let servers: Vec<&str> = own.others.of(own.client).collect();
        let servers = codec::to_bytes(&servers);
        let (world, layers) = (self.world.clone(), self.layers.clone());
        let reasons = self.reasons.clone();
        let rankings = match version < RANKINGS_VERSION {
            true => Bytes::new(),
            false => self.rankings.clone(),
        };
        let len = [&world, &reasons, &layers, &rankings].map(Bytes::len);
        let len = head.len() + servers.len() + len.iter().sum::<usize>();
        let mut begin = vec![];
        length::put(len, &mut begin);
        begin.extend_from_slice(&head);
        [
            begin.into(),
            world,
            servers.into(),
            reasons,
            layers,
            rankings,
        ]
    }
}

#[cfg(test)]
mod tests {
    use shared::wire::PROTOCOL_VERSION;
    use shared::wire::control::Welcome;
    use shared::wire::layers::LayerKind;
    use shared::world::ranking::Ranking;

    use super::*;

    #[test]
    fn the_parts_are_a_welcome_and_its_long_part_is_the_same_memory_for_all() {
        let mut config = world_file::default();
        config.reasons = vec!["too far away".to_owned(), "too poor".to_owned()];
        let schema = config.schema.for_clients();
        config.schema.rankings = ["score", "secret"]
            .map(|name| Ranking {
                name: name.to_owned(),
                kind: 0,
                column: 2,
                is_least_first: false,
                length: 20,
                is_sent: name == "score",
            })
            .to_vec();
        let rankings = RankingInfo::all(&config.schema);
        assert_eq!(rankings.len(), 1);
        let forecast = vec![3; 300];
        let layers = vec![LayerInfo {
            kind: LayerKind::Blocked,
            cells: [20, 30],
            edge_bits: 12,
            hash: 77,
            packed_bytes: 19,
            tags: vec![],
        }];
        let shared = SharedWelcome::new(&config, &schema, &forecast, &layers);
        let mut long = vec![];
        for (row, servers) in [(7, vec![]), (300_001, vec!["two:2", "three:3"])] {
            let others = Others::new(servers.iter().map(|&address| address.into()));
            let own = OwnWelcome {
                tick: Tick(u64::from(row) << 20),
                entity: EntityId::new(row, 9),
                commands_epoch: 3,
                ticket: [row as u8; 16],
                resumed: row == 7,
                client: ClientRow(row),
                others: &others,
            };
            let parts = shared.parts(&own, PROTOCOL_VERSION);
            let welcome = Welcome {
                tick: own.tick,
                entity: own.entity,
                commands_epoch: own.commands_epoch,
                ticket: own.ticket,
                resumed: own.resumed,
                player_kind: config.player_kind,
                quotas: Quotas::of(&config.limits, config.spectators),
                schema: schema.clone(),
                forecast: forecast.clone(),
                // An odd row begins with the second.
                servers: servers.iter().rev().map(|&s| s.to_owned()).collect(),
                reasons: config.reasons.clone(),
                layers: layers.clone(),
                rankings: rankings.clone(),
            };
            let whole = codec::to_bytes(&welcome);
            let mut expected = vec![];
            length::put(whole.len(), &mut expected);
            expected.extend(&whole);
            assert_eq!(parts.concat(), expected);
            assert!(parts[0].len() + parts[2].len() < 80);
            long.push(parts[1].as_ptr());
            // Clients of the version before know no rankings.
            let parts = shared.parts(&own, RANKINGS_VERSION - 1).concat();
            let rest = &whole[..whole.len() - codec::to_bytes(&rankings).len()];
            let mut expected = vec![];
            length::put(rest.len(), &mut expected);
            expected.extend(rest);
            assert_eq!(parts, expected);
        }
        assert_eq!(long[0], long[1]);
    }
}
