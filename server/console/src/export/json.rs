//! A line of JSON for each entity.

use std::io::{self, Write};

use durability::characters::names::value_of;
use serde_json::{Map, Value, json};
use shared::world::words::TextHandle;
use shared::{Attribute, AttributeType, Content};

use super::{Entities, Entity};

/// Writes all entities. An attribute that an entity lacks is not in its line.
pub fn write(entities: &Entities<'_>, to: &mut impl Write) -> io::Result<()> {
    for entity in entities.iter() {
        serde_json::to_writer(&mut *to, &line(entities, &entity))?;
        to.write_all(b"\n")?;
    }
    to.flush()
}

fn line(entities: &Entities<'_>, entity: &Entity<'_>) -> Value {
    let schema = &entities.world.schema;
    let value = |(column, attribute)| {
        let attribute: &Attribute = attribute;
        let words = entity.words(column)?;
        let value = match attribute.ty.content() {
            Content::Text => json!(entities.text(TextHandle(words[0]))),
            Content::Value | Content::Entity => value_of(entities.world, attribute, words),
        };
        let is_whole = attribute.ty != AttributeType::High;
        is_whole.then(|| (attribute.name.clone(), value))
    };
    let attributes: Map<String, Value> = (0..).zip(&schema.attributes).filter_map(value).collect();
    let mut line = json!({
        "tick": entities.tick,
        "slot": entity.id.slot.0,
        "generation": entity.id.generation,
        "reference": entity.id.reference().0,
        "kind": entity.kind.name,
        "attributes": attributes,
    });
    if let Some(account) = entity.person.and_then(|person| person.account.as_ref()) {
        line["account"] = json!(account);
    }
    if let Some(name) = entity.person.and_then(|person| person.name.as_deref()) {
        line["name"] = json!(name);
    }
    line
}
