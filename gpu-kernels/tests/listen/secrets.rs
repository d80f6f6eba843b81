//! A client's notices must not depend on values that it may not know: the same tick with
//! other secrets gives the same notices.

use gpu_kernels::listen::{Listeners, Notice};
use gpu_kernels::{Backend, CpuBackend, TickOutput};
use shared::world::attribute::AttributeType;
use shared::{Audience, ClientRow, EntityId, WorldConfig};

use super::direct::text;
use super::mirror::Mirror;
use super::random::predicate;
use testkit::dice::{Dice, Seed};
use testkit::oracle::Oracle;
use testkit::world::Play;

/// The client whose notices are compared.
const WATCHER: ClientRow = ClientRow(0);

#[test]
fn notices_of_a_client_do_not_depend_on_secrets_of_others() {
    let (mut total, mut of_secrets, mut altered) = (0, 0, 0);
    for seed in 0..300 {
        let _seed = Seed(seed);
        let mut dice = Dice::new(seed);
        let play = Play::new(&mut dice);
        let mut config = play.config.clone();
        if config.limits.subscriptions_per_client == 0 {
            continue;
        }
        let dimensions = config.schema.dimensions();
        for attribute in config.schema.attributes.iter_mut().skip(dimensions) {
            let is_number = [AttributeType::I32, AttributeType::Fixed].contains(&attribute.ty);
            if is_number && dice.once_in(2) {
                attribute.audience = dice.pick(&[Audience::Private, Audience::Hidden]);
            }
        }
        config.limits.client_notices_per_tick = dice.pick(&[3, 64]);
        let mut oracle = Oracle::new(&config);
        let mut backend = CpuBackend::new(&config, 1, None).unwrap();
        let mut mirror = Mirror::new(&config);
        let mut pair = [0, 1].map(|_| Listeners::new(&config, 1, None).unwrap().unwrap());
        for tick in 0..8 {
            // Those without a place, too: their changes are sent as others are.
            let alive = oracle.living();
            let own = alive.first().copied();
            let named = dice.pick(&config.schema.attributes.iter().collect::<Vec<_>>());
            let asked = match dice.once_in(2) && named.ty != AttributeType::Symbol {
                true => format!("{} > {}", named.name, dice.within(-5..=120)),
                false => text(&predicate(&mut dice, &config, &oracle)),
            };
            let client = dice.pick(&[0, 0, config.limits.clients - 1]);
            for listeners in &pair {
                let registry = listeners.registry();
                registry.set_entity(WATCHER, own);
                // Others listen too, and know their own secrets.
                for (client, &entity) in (0..config.limits.clients).zip(&alive) {
                    registry.set_entity(ClientRow(client), Some(entity));
                    let _ = registry.subscribe(ClientRow(client), u32::MAX, "true");
                }
                // Both refuse the same.
                let _ = registry.subscribe(ClientRow(client), tick, &asked);
            }
            let frame = play.frame(&mut dice, &oracle);
            oracle.tick(&frame);
            let output = backend.tick(&frame).unwrap();
            let (other, before, n) =
                with_other_secrets(&mut dice, &config, &output, &mirror, &alive);
            altered += n;
            let [a, b] = &mut pair;
            let a = all_of(a.listen(&output, &mirror));
            let b = all_of(b.listen(&other, &before));
            assert_eq!(a, b, "tick {tick}");
            total += a.len();
            let column = |notice: &Notice| match notice {
                Notice::Change { column, .. } => Some(usize::from(*column)),
                Notice::Notification(_) => None,
            };
            let columns = a.iter().filter_map(|(notice, _)| column(notice));
            of_secrets += columns
                .filter(|&c| config.schema.attributes[c].audience == Audience::Private)
                .count();
            mirror.apply(&config, &output);
        }
    }
    assert!(
        total > 1000 && of_secrets > 5 && altered > 10_000,
        "{total} {of_secrets} {altered}"
    );
}

fn all_of(notices: &gpu_kernels::listen::Notices) -> Vec<(Notice, Vec<u32>)> {
    let own = notices.of(WATCHER);
    own.map(|own| (own.notice, own.subscriptions.to_vec()))
        .collect()
}

/// The tick and the world before it with other values, and other changes, wherever the
/// watcher may not know them; and the number of altered values.
fn with_other_secrets(
    dice: &mut Dice,
    config: &WorldConfig,
    output: &TickOutput,
    mirror: &Mirror,
    alive: &[EntityId],
) -> (TickOutput, Mirror, usize) {
    let schema = &config.schema;
    // The first is the watcher's own.
    let own = alive.first().copied();
    let (mut before, mut altered) = (mirror.clone(), 0);
    let is_secret_of = |entity: EntityId, column: usize| {
        let is_number = [AttributeType::I32, AttributeType::Fixed];
        let attribute = &schema.attributes[column];
        is_number.contains(&attribute.ty)
            && match attribute.audience {
                Audience::Hidden => true,
                Audience::Private => own != Some(entity),
                _ => false,
            }
    };
    let is_secret = |slot: usize, column: usize| is_secret_of(mirror.ids[slot], column);
    for (slot, row) in before.rows.iter_mut().enumerate() {
        for (column, value) in row.iter_mut().enumerate() {
            if is_secret(slot, column) {
                *value = dice.within(-5..=120);
                altered += 1;
            }
        }
    }
    let mut other = TickOutput {
        tick: output.tick,
        notifications: output.notifications.clone(),
        births: output.births.clone(),
        birth_rows: output.birth_rows.clone(),
        ..TickOutput::default()
    };
    let born = other.births.iter().filter_map(|birth| birth.entity);
    let rows = (other.birth_rows).chunks_exact_mut(schema.attributes.len());
    for (entity, row) in born.zip(rows) {
        for (column, value) in row.iter_mut().enumerate() {
            if is_secret_of(entity, column) {
                *value = dice.within(-5..=120);
                altered += 1;
            }
        }
    }
    let changes = &mut other.changes;
    changes.offsets.push(0);
    let shared = schema.world_entity();
    for entity in alive.iter().chain(&shared) {
        let slot = entity.slot.index();
        let kind = &schema.kinds[usize::from(mirror.kinds[slot])];
        let place = output.changes.slots.binary_search(&(slot as u32));
        let range = place.map_or(0..0, |i| {
            output.changes.offsets[i] as usize..output.changes.offsets[i + 1] as usize
        });
        let mut columns: Vec<usize> = kind.attributes.iter().map(|a| a.column.into()).collect();
        columns.sort_unstable();
        let start = changes.columns.len();
        for column in columns {
            let changed = range
                .clone()
                .find(|&i| usize::from(output.changes.columns[i]) == column);
            let (value, (cause, actor)) = match (is_secret(slot, column), changed) {
                (true, _) if dice.once_in(2) => (dice.within(-5..=120), (0, 0)),
                (false, Some(i)) => {
                    let changes = &output.changes;
                    (changes.values[i], (changes.causes[i], changes.actors[i]))
                }
                _ => continue,
            };
            changes.columns.push(column as u16);
            changes.values.push(value);
            changes.causes.push(cause);
            changes.actors.push(actor);
        }
        if changes.columns.len() > start {
            changes.slots.push(slot as u32);
            changes.offsets.push(changes.columns.len() as u32);
        }
    }
    (other, before, altered)
}
