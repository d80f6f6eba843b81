#![no_main]

use libfuzzer_sys::fuzz_target;
use shared::wire::bits::BitWriter;
use shared::wire::stream::{Item, StreamCodec};
use shared_fuzz::world_and_message;

fuzz_target!(|data: &[u8]| {
    let Some((schema, message)) = world_and_message(data) else {
        return;
    };
    let codec = StreamCodec::new(schema);
    let Ok(frame) = codec.decode(message) else {
        return;
    };
    assert!(frame.items.len() * 2 <= message.len() * 8);
    let mut writer = BitWriter::default();
    codec.begin(&mut writer, frame.tick);
    for item in &frame.items {
        match item {
            Item::Enter {
                entity,
                kind,
                own,
                values,
            } => {
                let mut row = vec![0; schema.attributes.len()];
                for &(column, value) in values {
                    row[usize::from(column)] = value;
                }
                codec.enter(&mut writer, *entity, *kind, *own, &row);
            }
            Item::Leave(slot) => codec.leave(&mut writer, *slot),
            Item::Reborn(entity) => codec.reborn(&mut writer, *entity),
            Item::Answer(answer) => codec.answer(&mut writer, answer),
            Item::Notice(notice) => codec.notice(&mut writer, notice),
            Item::Full => codec.full(&mut writer),
            Item::Lost(id) => codec.lost(&mut writer, *id),
            Item::State { slot, values } => {
                codec.state(&mut writer, *slot, values.iter().copied());
            }
        }
    }
    let mut again = vec![];
    codec.finish(&mut writer, &mut again);
    assert_eq!(codec.decode(&again[4..]), Ok(frame));
});
