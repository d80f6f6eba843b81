//! The shipped texts have no warnings, and warnings of a world's own names have their place.

use script::lint;
use shared::WorldConfig;
use shared::world::logic::{LogicConfig, Text};

use crate::common;

fn names(config: &WorldConfig) -> Vec<String> {
    let warnings = lint::warnings(config);
    let name = |w: &lint::Warning| format!("{} {}", w.diagnostic.file, w.name);
    warnings.iter().map(name).collect()
}

#[test]
fn built_in_texts_have_no_warnings_of_their_own() {
    let texts = script::builtin::names().filter_map(script::builtin::text);
    let own = texts.map(|text| Text {
        is_builtin: false,
        ..text
    });
    let mut config = common::world_of("");
    config.logic = LogicConfig {
        texts: own.collect(),
        ..LogicConfig::default()
    };
    let logic = script::Logic::compile(&config.schema, &config.logic).unwrap();
    let commands = logic.commands.into_iter().map(|c| c.schema);
    config
        .schema
        .commands
        .retain(|c| c.kind <= shared::CommandKind::DESPAWN);
    config.schema.commands.extend(commands);
    // Which of their commands a world gives is not theirs to say.
    let mut found = names(&config);
    found.retain(|name| !name.ends_with("idle_rules") && !name.ends_with("unused_commands"));
    assert_eq!(found, [""; 0]);
}

#[test]
fn the_example_worlds_have_no_warnings() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../server/worlds");
    let mut worlds = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|ending| ending != "toml") {
            continue;
        }
        worlds += 1;
        let checked = world_file::Reader::default().load(&path).unwrap();
        assert!(checked.warnings.is_empty(), "{:?}", checked.warnings);
        let warnings = lint::warnings(&checked.config);
        let drawn =
            script::diagnostic::draw_warnings(&warnings, &checked.config.logic.texts, false);
        assert!(warnings.is_empty(), "{}:\n{drawn}", path.display());
    }
    assert!(worlds >= 4, "{worlds}");
}

#[test]
fn a_rule_that_the_world_file_does_not_give_is_named() {
    let text = "#[command(rules)] fn grow(me: Entity) { me.hp += 1; }\n\
                #[command(rules)] fn wilt(me: Entity) { me.hp -= 1; }";
    let folder = std::env::temp_dir().join(format!("myriad-idle-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("herbs.rs"), text).unwrap();
    let world = "
        [[kind]]
        name = 'herb'
        attributes = [
            { name = 'hp', type = 'i32', audience = 'state' },
            { name = 'age', type = 'i32', audience = 'hidden' },
            { name = 'luck', type = 'i32', audience = 'hidden', allow = ['unused_attributes'] },
        ]
        [[every]]
        kind = 'herb'
        ticks = 10
        command = 'grow'
    ";
    let reader = world_file::Reader {
        folder: Some(folder.clone()),
        ..Default::default()
    };
    let checked = reader.parse(world, "w.toml").unwrap();
    std::fs::remove_dir_all(folder).unwrap();
    assert_eq!(names(&checked.config), ["herbs.rs idle_rules"]);
    let [unused] = &checked.warnings[..] else {
        panic!("{:?}", checked.warnings);
    };
    assert_eq!(unused.key, "kind.herb.attributes.age");
    assert!(unused.message.contains("nothing reads `age`"), "{unused}");
}
