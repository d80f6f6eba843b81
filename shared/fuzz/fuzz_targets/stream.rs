#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::{Course, Tick};
use shared::wire::length;
use shared::wire::bits::BitWriter;
use shared::wire::stream::{Message, StreamCodec};
use shared_fuzz::world_and_message;

fuzz_target!(|data: &[u8]| {
    let Some((schema, bytes)) = world_and_message(data) else {
        return;
    };
    let codec = StreamCodec::new(schema);
    let Ok(frame) = codec.decode(bytes, Tick(0)) else {
        return;
    };
    assert!(frame.messages.len() * 2 <= bytes.len() * 8);
    let mut writer = BitWriter::default();
    codec.begin(&mut writer, frame.tick);
    for message in &frame.messages {
        match message {
            Message::Enter {
                entity,
                kind,
                own,
                values,
                velocity,
            } => {
                let mut course = Course {
                    velocity: *velocity,
                    ..Course::default()
                };
                let mut row = vec![0; schema.attributes.len()];
                for &(column, value) in values {
                    row[usize::from(column)] = value;
                }
                let dimensions = schema.dimensions();
                course.position[..dimensions].copy_from_slice(&row[..dimensions]);
                codec.enter(&mut writer, *entity, *kind, *own, &course, &row);
            }
            Message::Leave(slot) => codec.leave(&mut writer, *slot),
            Message::Reborn(entity) => codec.reborn(&mut writer, *entity),
            Message::Answer(answer) => codec.answer(&mut writer, answer),
            Message::Notice(notice) => codec.notice(&mut writer, notice),
            Message::Full => codec.full(&mut writer),
            Message::Lost(id) => codec.lost(&mut writer, *id),
            Message::Name { slot, name } => codec.name(&mut writer, *slot, name),
            Message::Talk(talk) => codec.talk(&mut writer, talk),
            Message::Interface(interface) => codec.interface(&mut writer, interface),
            Message::State { slot, values } => {
                codec.state(&mut writer, *slot, values.iter().copied());
            }
        }
    }
    let mut again = vec![];
    codec.finish(&mut writer, &mut again);
    let (_, again) = length::split(&again, again.len()).unwrap().unwrap();
    assert_eq!(codec.decode(again, Tick(0)), Ok(frame));
});
