//! Tries of given worlds find what makes backends differ.

use gpu_kernels::CpuBackend;
use testkit::backends::{Starter, starters};
use testkit::trial;

#[test]
fn backends_agree_on_random_commands_of_every_built_in_text() {
    let names: Vec<_> = script::builtin::names().collect();
    let attributes = ["shield", "wood", "gold", "score", "best"].map(|name| {
        let merge = if name == "best" { "max" } else { "sum" };
        format!("{{ name = '{name}', type = 'i32', merge = '{merge}', audience = 'state' }},")
    });
    let text = format!(
        "[logic]\nbuiltin = {names:?}\n[commands]\nshout.radius_max = 20\nblast.sound = 5\n\
         blast.ember_ticks = 3\n[[kind]]\nname = 'a'\nattributes = [{}\n\
         {{ name = 'hp', type = 'i32', default = 9, audience = 'state' }},\n\
         {{ name = 'ripe', type = 'bool', audience = 'state' }},\n\
         {{ name = 'owner', type = 'entity', merge = 'first', audience = 'state' }},\n\
         {{ name = 'target', type = 'entity', audience = 'state' }}]",
        attributes.concat()
    );
    let config = world_file::parse(&text, "all.toml").unwrap_or_else(|e| panic!("{e}"));
    let tried = trial::run(&config, &starters(), 5, |tried| tried.ticks == 40);
    let tried = tried.unwrap_or_else(|error| panic!("{error}"));
    assert!(tried.commands > 4000 && tried.changes > 1000, "{tried:?}");
}

#[test]
fn the_command_that_makes_a_difference_is_named() {
    let config = world_file::default();
    let right = Starter::new("right", |config| {
        Ok(Box::new(CpuBackend::new(config, 1, None)?))
    });
    // A player healed beyond full health differs.
    let wrong = Starter::new("wrong", |config| {
        let mut config = config.clone();
        let hp = config.schema.column("hp").expect("the default world's");
        config.schema.kinds[0].attributes[hp].max += 1;
        Ok(Box::new(CpuBackend::new(&config, 1, None)?))
    });
    let tried = trial::run(&config, &[right, wrong], 5, |tried| tried.ticks == 100);
    let message = tried.expect_err("they differ").to_string();
    assert!(message.contains("wrong: "), "{message}");
    assert!(message.contains("`heal` of entity "), "{message}");
}
