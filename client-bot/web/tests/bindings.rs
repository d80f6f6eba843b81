//! A page with the bindings of a world gets its changes by their names, and leaves another world.

use client_core::Outline;
use client_web::client::Client;
use serde_json::{Value, json};
use shared::wire::bits::BitWriter;
use shared::wire::control::{Quotas, Welcome};
use shared::wire::stream::StreamCodec;
use shared::wire::{codec, length};
use shared::{Course, EntityId, Schema, Tick};

const OWN: EntityId = EntityId::new(5, 1);

fn hand_in(client: &mut Client, bytes: &[u8]) {
    client.room(bytes.len()).copy_from_slice(bytes);
}

fn happened(client: &mut Client) -> Vec<Value> {
    let length = client.poll(1.0);
    match length {
        0 => vec![],
        length => serde_json::from_slice(&client.output()[..length]).expect("JSON"),
    }
}

/// A page that was made for a world, and is welcomed to one.
fn welcomed(made_for: &Schema, schema: &Schema) -> Client {
    let mut client = Client::default();
    hand_in(
        &mut client,
        Outline::of(made_for).bindings("plain", "ts").as_bytes(),
    );
    client.bind();
    hand_in(&mut client, b"");
    client.begin(false, 1.0);
    assert_eq!(client.next_step(0.0), 1, "it connects");
    client.opened();
    client.give_stream();
    let body = codec::to_bytes(&Welcome {
        tick: Tick(10),
        entity: OWN,
        commands_epoch: 1,
        ticket: [7; 16],
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
    });
    let mut bytes = vec![];
    length::put(body.len(), &mut bytes);
    bytes.extend(body);
    hand_in(&mut client, &bytes);
    assert_eq!(client.take_stream(1.0), 0, "it reads the welcome");
    client
}

fn frame(schema: &Schema, tick: u64, write: impl Fn(&StreamCodec, &mut BitWriter)) -> Vec<u8> {
    let stream = StreamCodec::new(schema);
    let (mut writer, mut bytes) = (BitWriter::default(), vec![]);
    stream.begin(&mut writer, Tick(tick));
    write(&stream, &mut writer);
    stream.finish(&mut writer, &mut bytes);
    bytes
}

#[test]
fn a_page_with_bindings_gets_changes_by_their_names() {
    let schema = world_file::default().schema.for_clients();
    let mut client = welcomed(&schema, &schema);
    let hp = u16::try_from(schema.column("hp").expect("an attribute")).expect("a column");
    let enter = frame(&schema, 11, |stream, writer| {
        let course = Course::default();
        stream.enter(writer, OWN, 0, true, &course, &[0, 0, 100]);
    });
    let state = frame(&schema, 12, |stream, writer| {
        stream.state(writer, OWN.slot, [(hp, 70)].into_iter());
    });
    for bytes in [enter, state] {
        hand_in(&mut client, &bytes);
        assert_eq!(client.take_stream(1.0), 0);
    }
    let events = happened(&mut client);
    let changed = events.iter().find(|event| event["type"] == "changed");
    let changed = changed.expect("a change");
    assert_eq!(changed["attribute"], "hp");
    assert_eq!(changed["values"], json!([100, 70]));
    assert_eq!(changed["slot"], 5);
}

#[test]
fn a_page_leaves_a_world_that_lacks_what_its_bindings_name() {
    let schema = world_file::default().schema.for_clients();
    let mut older = schema.clone();
    let hp = older.column("hp").expect("an attribute");
    older.attributes[hp].name = "life".to_owned();
    let mut client = welcomed(&older, &schema);
    let events = happened(&mut client);
    let [lost] = &events[..] else {
        panic!("{events:?}");
    };
    assert_eq!(
        (&lost["type"], &lost["code"]),
        (&json!("lost"), &json!("schema_mismatch"))
    );
    let text = lost["text"].as_str().expect("text");
    let expected = "attribute `player.life` is now called `player.hp`";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("`myriad bindings --lang ts`"), "{text}");
    assert_eq!(client.next_step(1.0), 2, "it closes the connection");
}
