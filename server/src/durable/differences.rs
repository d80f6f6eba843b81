//! What a world file says otherwise than the world that is kept, value by value.

use serde_json::{Map, Value};
use shared::WorldConfig;

/// The differences, each as a line with a path: `schema.kinds.player.hp.default: 100, now 90`.
/// Scripts, with the commands and notifications that they declare, and the rate of ticks may
/// differ. Numbers are as the engine has them: those of a fixed-point type in 4096ths.
pub fn between(kept: &WorldConfig, given: &WorldConfig) -> Vec<String> {
    let mut given = given.clone();
    if given.schema.world.tick_hz != kept.schema.world.tick_hz {
        given.schema.world.tick_hz = kept.schema.world.tick_hz;
        // These follow from the rate; the world goes on with those that it has.
        given.limits.input_ticks_max = kept.limits.input_ticks_max;
        given.limits.late_ticks_max = kept.limits.late_ticks_max;
    }
    given.schema.commands.clone_from(&kept.schema.commands);
    let notifications = &kept.schema.notifications;
    given.schema.notifications.clone_from(notifications);
    let (constants, budget) = (given.logic.constants, given.logic.budget);
    given.logic = kept.logic.clone();
    (given.logic.constants, given.logic.budget) = (constants, budget);
    let columns = kept.schema.attributes.iter();
    let kinds = kept.schema.kinds.iter();
    let mut walk = Walk {
        columns: columns.map(|attribute| attribute.name.as_str()).collect(),
        kinds: kinds.map(|kind| kind.name.as_str()).collect(),
        found: vec![],
    };
    // Worlds are written as JSON elsewhere, too.
    let value = |world| serde_json::to_value(world).unwrap_or_default();
    walk.compare("", &value(kept), &value(&given));
    if walk.found.is_empty() && *kept != given {
        walk.found.push("a value that has no name".to_owned());
    }
    walk.found
}

struct Walk<'a> {
    /// The names of attributes, by column, and of kinds.
    columns: Vec<&'a str>,
    kinds: Vec<&'a str>,
    found: Vec<String>,
}

impl Walk<'_> {
    fn compare(&mut self, path: &str, kept: &Value, given: &Value) {
        match (kept, given) {
            _ if kept == given => {}
            (Value::Object(kept), Value::Object(given)) => self.compare_fields(path, kept, given),
            (Value::Array(kept), Value::Array(given)) => {
                let [kept, given] = [kept, given].map(|items| self.by_name(path, items));
                self.compare_fields(path, &kept, &given);
            }
            _ => self.found.push(format!("{path}: {kept}, now {given}")),
        }
    }

    fn compare_fields(
        &mut self,
        path: &str,
        kept: &Map<String, Value>,
        given: &Map<String, Value>,
    ) {
        let within = |name: &str| match path {
            "" => name.to_owned(),
            _ => format!("{path}.{name}"),
        };
        for (name, value) in kept {
            match given.get(name) {
                Some(given) => self.compare(&within(name), value, given),
                None => self.found.push(format!("{} is missing", within(name))),
            }
        }
        for name in given.keys().filter(|name| !kept.contains_key(*name)) {
            self.found.push(format!("{} is new", within(name)));
        }
    }

    /// The items of a list, each with its own name, that of its attribute or kind, or else its
    /// number.
    fn by_name(&self, path: &str, items: &[Value]) -> Map<String, Value> {
        let is_by_kind = BY_KIND.contains(&path) && items.len() == self.kinds.len();
        let name = |(number, item): (usize, &Value)| {
            let own = item.get("name").and_then(Value::as_str);
            let column = item.get("column").and_then(Value::as_u64);
            let column = column.and_then(|column| self.columns.get(usize::try_from(column).ok()?));
            let kind = self.kinds.get(number).filter(|_| is_by_kind);
            let name = own.or(column.copied()).or(kind.copied());
            let name = name.map_or_else(|| number.to_string(), str::to_owned);
            (name, item.clone())
        };
        items.iter().enumerate().map(name).collect()
    }
}

/// Lists with an item for each kind.
const BY_KIND: [&str; 5] = ["populations", "spawns", "initials", "born", "falls"];

#[cfg(test)]
mod tests {
    use super::*;

    const WORLD: &str = "
        [world]
        size = [200, 200]
        aoi = 20
        capacity = 64
        tick_hz = 20

        [[kind]]
        name = 'player'
        attributes = [
            { name = 'hp', type = 'i32', default = 100, min = 0, max = 100, audience = 'state' },
            { name = 'mana', type = 'i32', audience = 'state' },
        ]

        [[kind]]
        name = 'item'
        population = 6
    ";

    fn found(change: &[(&str, &str)]) -> Vec<String> {
        let world = |text: &str| script::world::parse(text, "a test's world").unwrap();
        let mut text = WORLD.to_owned();
        for (from, to) in change {
            assert!(text.contains(from), "{from}");
            text = text.replace(from, to);
        }
        between(&world(WORLD), &world(&text))
    }

    #[test]
    fn what_a_world_file_changes_is_named() {
        assert_eq!(
            found(&[("default = 100", "default = 90")]),
            ["schema.kinds.player.attributes.hp.default: 100, now 90"]
        );
        // Some limits follow from it.
        let changed = found(&[("capacity = 64", "capacity = 65")]);
        let expected = "schema.world.capacity: 64, now 65";
        assert!(changed.contains(&expected.to_owned()), "{changed:?}");
        assert_eq!(
            found(&[("population = 6", "population = 7")]),
            ["populations.item: 6, now 7"]
        );
    }

    #[test]
    fn attributes_and_kinds_that_come_and_go_are_named() {
        let changed = found(&[("'mana'", "'rage'"), ("'item'", "'chest'")]);
        for expected in [
            "schema.attributes.mana is missing",
            "schema.attributes.rage is new",
            "schema.kinds.item is missing",
            "schema.kinds.chest is new",
        ] {
            assert!(changed.contains(&expected.to_owned()), "{changed:?}");
        }
    }

    #[test]
    fn the_rate_of_ticks_and_the_scripts_may_change() {
        let logic = "[logic]\nbuiltin = ['move']\n[world]";
        let changes = [("tick_hz = 20", "tick_hz = 30"), ("[world]", logic)];
        assert_eq!(found(&changes), [""; 0]);
    }
}
