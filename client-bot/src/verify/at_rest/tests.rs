//! A spectator, and a bot whose entity stands farther from the spectator's point than the radius
//! of the area of interest, and nearer than that along each axis but one.

use std::num::NonZeroUsize;
use std::sync::atomic::Ordering::Relaxed;

use client_core::Session;
use shared::wire::bits::BitWriter;
use shared::wire::control::{Quotas, Welcome};
use shared::wire::stream::StreamCodec;
use shared::{Course, Schema};

use super::super::{BotRecord, Spot};
use super::*;

const PLAYER: EntityId = EntityId::new(0, 1);
const UNIT: i32 = 4096;
const PLAYER_AT: [i32; 3] = [0, 19 * UNIT, 0];
const POINT: [i32; 3] = [19 * UNIT, 5 * UNIT, 0];

#[test]
fn a_spectator_sees_no_farther_than_its_radius() {
    let text = "[world]\nsize = [100, 100]\naoi = 10";
    assert_eq!(errors(text, true), 1);
    assert_eq!(errors(text, false), 0);
}

#[test]
fn a_spectator_sees_nobody_who_is_hidden() {
    let errors = |veil: i32, is_seen: bool| {
        let text = format!(
            "[world]\nsize = [100, 100]\naoi = 10\n[visibility]\nhides = \"veil\"\n\
             [[kind]]\nname = \"player\"\nattributes = [\
             {{ name = \"veil\", type = \"i32\", default = {veil}, audience = \"state\" }}]"
        );
        errors_at(&text, is_seen, PLAYER_AT)
    };
    assert_eq!(errors(2, true), 1);
    assert_eq!(errors(2, false), 0);
    assert_eq!(errors(0, true), 0);
}

/// The errors in a world where the spectator sees the player, or does not.
fn errors(text: &str, is_seen: bool) -> u64 {
    errors_at(text, is_seen, POINT)
}

fn errors_at(text: &str, is_seen: bool, place: [i32; 3]) -> u64 {
    let schema = world_file::parse(text, "a test's world").unwrap().schema;
    let history = History::new(&schema, 0, 2, NonZeroUsize::MIN).hiding(schema.visibility);
    let spot = Spot {
        place,
        radius: history.sight.radius(),
    };
    let player = view(&schema, 0, PLAYER, true, None);
    let spectator = view(&schema, 1, EntityId::NONE, is_seen, Some(spot));
    check_at_rest(&history, &schema, &[player, spectator]);
    history.findings.errors.load(Relaxed)
}

/// A bot's final state long after it received the player, if it did.
fn view(
    schema: &Schema,
    bot: usize,
    entity: EntityId,
    is_received: bool,
    spot: Option<Spot>,
) -> FinalView {
    let welcome = Welcome {
        tick: Tick(0),
        entity,
        commands_epoch: 1,
        ticket: [1; 16],
        resumed: false,
        processed: None,
        player_kind: 0,
        quotas: Quotas::default(),
        schema: schema.clone(),
        forecast: vec![],
        servers: vec![],
        reasons: vec![],
        layers: vec![],
        doors: vec![],
        rankings: vec![],
        planes: Default::default(),
        editable: vec![],
    };
    let mut session = Session::new(&welcome).unwrap();
    if is_received {
        let stream = StreamCodec::new(schema);
        let (mut writer, mut bytes) = (BitWriter::default(), vec![]);
        let course = Course {
            tick: Tick(1),
            position: PLAYER_AT,
            velocity: [0; 3],
        };
        let row = schema.default_row(0);
        stream.begin(&mut writer, Tick(1));
        stream.enter(&mut writer, PLAYER, 0, entity == PLAYER, &course, &row);
        stream.finish(&mut writer, &mut bytes);
        session.handle_stream(&bytes, &mut ()).unwrap();
    }
    FinalView {
        bot,
        entity,
        is_dead: false,
        newest: Tick(1000),
        entities: session.view().entities().clone(),
        things: session.view().things().clone(),
        possessions: vec![],
        texts: vec![],
        members: vec![],
        touched: vec![],
        regions: vec![],
        spot,
        record: BotRecord::default(),
    }
}
