//! What clients are sent to predict with: what is in it, and that nothing else can be run.

use script::arith::Random;
use script::interpreter::{Effects, Interpreter, Invocation, Outgoing, Space, World};
use script::ir::Inst;
use script::logic::with_logic;
use script::{Forecast, Logic};
use shared::world::logic::Text;
use shared::{EntityId, Slot, Tick, WorldConfig};

/// Commands of each sort that clients can't predict, and one that they can.
const WORLD: &str = "
    [world]
    size = [100, 100]

    [[kind]]
    name = 'player'
    attributes = [
        { name = 'hp', type = 'i32', max = 100, default = 100, audience = 'state' },
        { name = 'luck', type = 'i32', max = 100, audience = 'hidden' },
        { name = 'vx', type = 'fixed', merge = 'last', audience = 'private' },
        { name = 'vy', type = 'fixed', merge = 'last', audience = 'private' },
    ]

    [logic]
    builtin = ['move', 'roam', 'strike', 'blast', 'steer', 'harvest']

    [[every]]
    kind = 'player'
    ticks = 2
    command = 'drift'
";

fn world(text: &str) -> (WorldConfig, Forecast) {
    let config = world_file::parse(text, "a test's world").expect("a valid world");
    let logic = Logic::of(&config).expect("valid scripts");
    let forecast = Forecast::of(&config, &logic);
    (config, forecast)
}

fn names(config: &WorldConfig, forecast: &Forecast) -> Vec<String> {
    let kinds = forecast.commands.iter().map(|c| c.kind);
    let schemas = kinds.filter_map(|kind| config.schema.command(kind));
    schemas.map(|schema| schema.name.clone()).collect()
}

#[test]
fn clients_get_what_they_can_foresee_and_no_more() {
    let (config, forecast) = world(WORLD);
    // `roam` is given by rules only, `drift` by a rule of the players' kind.
    let expected = ["move", "strike", "blast", "steer", "drift"];
    assert_eq!(names(&config, &forecast), expected);
    assert_eq!(forecast.rules.len(), 1);
    let insts = forecast.commands.iter().flat_map(|c| &c.code.insts);
    let is_silent = |inst: &Inst| !matches!(inst, Inst::Notify(_) | Inst::After(_));
    assert!(insts.clone().all(is_silent));
    assert!(insts.count() > 20);
}

#[test]
fn commands_that_draw_or_name_what_is_hidden_are_left_out() {
    let hidden = WORLD.replace("audience = 'private'", "audience = 'hidden'");
    let roaming = "[[every]]\nkind = 'player'\nticks = 1\ncommand = 'roam'";
    let (config, forecast) = world(&format!("{hidden}\n{roaming}"));
    assert_eq!(names(&config, &forecast), ["move", "strike", "blast"]);
    assert_eq!(forecast.rules, []);
}

#[test]
fn commands_that_follow_fields_are_left_out() {
    let field = "[[layer]]\nname = 'blocked'\ncell = 64\ndrawing = '''\n..\n..\n'''\n\
                 [[field]]\nname = 'home'\nkind = 'player'\nrefresh_ticks = 5";
    let (config, _) = world(&format!("{WORLD}\n{field}"));
    let mut logic = config.logic.clone();
    let text = "#[command(clients)] fn walk(me: Entity) { me.position += point(1.0, 0.0); }\n\
                #[command(clients)]\n\
                fn go(me: Entity) { me.position += toward(me, \"home\", 1.0); }";
    logic.texts.push(Text::new("walk.rs", text));
    let config = with_logic(&config, &logic).expect("valid scripts");
    let forecast = Forecast::of(&config, &Logic::of(&config).expect("valid scripts"));
    let names = names(&config, &forecast);
    assert!(names.contains(&"walk".to_owned()), "{names:?}");
    assert!(!names.contains(&"go".to_owned()), "{names:?}");
}

#[test]
fn a_field_is_named_by_its_text() {
    let problem = |field: &str, call: &str| {
        let layer = "[[layer]]\nname = 'blocked'\ncell = 64\ndrawing = '''\n..\n..\n'''";
        let (config, _) = world(&format!("{WORLD}\n{layer}\n{field}"));
        let mut logic = config.logic.clone();
        let text = format!("#[command(clients)] fn go(me: Entity) {{ me.position += {call}; }}");
        logic.texts.push(Text::new("go.rs", text));
        let problems = with_logic(&config, &logic).map(|_| ()).unwrap_err();
        problems[0].to_string()
    };
    let field = "[[field]]\nname = 'home'\nkind = 'player'\nrefresh_ticks = 5";
    for (field, call, expected) in [
        (field, "toward(me, \"hone\", 1.0)", "did you mean \"home\"?"),
        (
            field,
            "toward(me, \"tavern\", 1.0)",
            "expected one of `home`",
        ),
        (
            field,
            "toward(me, me.hp, 1.0)",
            "a field is named by a text",
        ),
        (
            field,
            "toward(me, \"home\")",
            "toward(place, \"field\", distance)",
        ),
        (
            "",
            "toward(me, \"home\", 1.0)",
            "a world file declares one: `[[field]]`",
        ),
    ] {
        let found = problem(field, call);
        assert!(found.contains(expected), "{call}: {found}");
    }
}

#[test]
fn a_forecast_arrives_as_it_was_sent() {
    let (config, forecast) = world(WORLD);
    let bytes = forecast.to_bytes();
    let schema = config.schema.for_clients();
    assert_eq!(Forecast::from_bytes(&bytes, &schema), Ok(forecast));
    let empty = Forecast::from_bytes(&[], &schema);
    assert_eq!(empty, Ok(Forecast::default()));
}

/// Bytes that were changed on the way are rejected, or give something that can be run.
#[test]
fn whatever_arrives_is_rejected_or_can_be_run() {
    let (config, forecast) = world(WORLD);
    let bytes = forecast.to_bytes();
    let schema = config.schema.for_clients();
    let space = Space {
        dimensions: 2,
        size: [100 << 12, 100 << 12, 1],
        budget: forecast.budget,
    };
    let (mut dice, mut run, mut rejected) = (Dice(3), 0, 0);
    for round in 0..4000 {
        let mut changed = bytes.clone();
        for _ in 0..=dice.below(3) {
            let at = dice.below(changed.len());
            changed[at] = dice.below(256) as u8;
        }
        let Ok(forecast) = Forecast::from_bytes(&changed, &schema) else {
            rejected += 1;
            continue;
        };
        for command in &forecast.commands {
            let words: Vec<i32> = (0..command.word_count).map(|_| dice.any()).collect();
            let invocation = Invocation {
                tick: Tick(round),
                entity: EntityId::new(1, 1),
                words: &words,
                random: Random::from_key(0),
            };
            // Jumps may lead in circles, which only the bound ends.
            let _ = Interpreter::default().run_bounded(
                &command.code,
                &space,
                &Anything(dice.any()),
                &invocation,
                &mut Nothing,
                2000,
            );
            run += 1;
        }
    }
    assert!(
        run > 1000 && rejected > 500,
        "{run} run, {rejected} rejected"
    );
}

/// A world in which every slot has the same.
struct Anything(i32);

impl World for Anything {
    fn attribute(&self, _: Slot, column: usize) -> i32 {
        assert!(column < 6, "a column of the schema");
        self.0
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        (!slot.0.is_multiple_of(3)).then_some(1)
    }

    fn kind(&self, _: Slot) -> u16 {
        0
    }

    fn has(&self, slot: Slot, _: usize) -> bool {
        !slot.0.is_multiple_of(3)
    }

    fn near(&self, _: [i32; 3], _: i32, slots: &mut Vec<u32>) {
        slots.extend([1, 2, 4]);
    }
}

struct Nothing;

impl Outgoing for Nothing {
    fn after(&mut self, _: u32, _: EntityId, _: u16, _: &[i32]) {
        panic!("a forecast schedules nothing");
    }

    fn notify(&mut self, _: u16, _: EntityId, _: Option<([i32; 3], i32)>, _: &[i32]) {
        panic!("a forecast tells nothing");
    }
}

impl Effects for Nothing {
    fn update(&mut self, _: Slot, column: u16, _: i32) {
        assert!(column < 6, "a column of the schema");
    }
}

/// Small random numbers by a seed.
struct Dice(u64);

impl Dice {
    fn any(&mut self) -> i32 {
        self.0 = shared::world::mix::mix(self.0, 1);
        (self.0 >> 32) as i32
    }

    fn below(&mut self, bound: usize) -> usize {
        self.any() as u32 as usize % bound
    }
}
