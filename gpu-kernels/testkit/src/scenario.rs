//! Fixed worlds that play the same way each time from a seed: for golden hashes, and for
//! the same load elsewhere.

use std::collections::{BTreeMap, VecDeque};

use gpu_kernels::{Birth, Frame, Observer, ObserverChange, Target};
use script::builtin;
use shared::{ClientRow, CommandKind, EntityId, InterestMode, Tick, WorldConfig};

use crate::dice::Dice;
use crate::rules::Rules;

/// A fixed world and its events.
pub struct Scenario {
    /// The name of the function that made it.
    pub name: &'static str,
    /// The world's rules and limits.
    pub config: WorldConfig,
    rules: Rules,
    /// The number of ticks for its golden hash.
    pub ticks: u32,
    /// Clients, each with an observer that follows the entity in its row's slot.
    clients: u32,
    play: Play,
    dice: Dice,
    tick: Tick,
    /// Living entities by slot, with their kinds.
    alive: BTreeMap<u32, (EntityId, u16)>,
    /// Dead entities by the tick of their death.
    dead: VecDeque<(Tick, EntityId)>,
}

/// Adds the scenario's own commands to a frame.
type Play = fn(&mut Scenario, &mut Frame);

impl Scenario {
    fn new(name: &'static str, ticks: u32, clients: u32, file: &str, play: Play) -> Scenario {
        let config = world_file::parse(file, name).unwrap_or_else(|error| panic!("{error}"));
        Scenario {
            dice: Dice::new(config.seed),
            name,
            ticks,
            clients,
            play,
            rules: Rules::of(&config),
            config,
            tick: Tick(0),
            alive: BTreeMap::new(),
            dead: VecDeque::new(),
        }
    }

    /// The next frame. The output of its tick must be shown to [`Scenario::observe`] before
    /// the frame after it is made.
    pub fn frame(&mut self) -> Frame {
        let mut frame = Frame::default();
        self.fill(&mut frame);
        frame
    }

    /// Like [`Scenario::frame`], but reuses a frame's memory.
    pub fn fill(&mut self, frame: &mut Frame) {
        frame.reset(self.tick);
        if self.tick.0 == 0 {
            frame.populate(&self.config);
            self.watch(frame);
        } else {
            (self.play)(self, frame);
        }
        frame.order(self.config.seed);
    }

    /// Records the births and deaths of the tick whose frame was made last.
    pub fn observe(&mut self, births: &[Birth], deaths: &[EntityId]) {
        for birth in births {
            if let Some(entity) = birth.entity {
                self.alive.insert(entity.slot.0, (entity, birth.kind));
            }
        }
        for death in deaths {
            self.alive.remove(&death.slot.0);
            self.dead.push_back((self.tick, *death));
        }
        self.tick = self.tick.next();
    }

    fn watch(&self, frame: &mut Frame) {
        for client in 0..self.clients {
            frame.observers.push(ObserverChange {
                client: ClientRow(client),
                index: 0,
                observer: Some(Observer {
                    target: Target::Entity(EntityId::new(client, 1)),
                    radius: self.config.schema.world.aoi.raw(),
                }),
            });
        }
    }

    fn everyone(&self) -> Vec<EntityId> {
        self.alive.values().map(|&(entity, _)| entity).collect()
    }

    fn of_kind(&self, wanted: u16) -> Vec<EntityId> {
        let all = self.alive.values();
        all.filter(|&&(_, kind)| kind == wanted)
            .map(|&(entity, _)| entity)
            .collect()
    }

    fn walk(&mut self, frame: &mut Frame, entity: EntityId) {
        let speed = self.rules.move_speed_max.raw();
        let words: Vec<i32> = (0..self.config.dimensions())
            .map(|_| self.dice.within(-speed..=speed))
            .collect();
        frame.push(entity, 0, builtin::MOVE, &words);
    }
}

/// All entities walk about on a wide plain.
pub fn wander(entities: u32, clients: u32) -> Scenario {
    let side = f64::from(entities).sqrt() * 20.0;
    let file = format!(
        "[world]\nsize = [{side:?}, {side:?}]\naoi = 50.0\ncapacity = {entities}\n\
         visible_max = 24\nseed = 11\n[[kind]]\nname = \"walker\"\npopulation = {entities}\n"
    );
    Scenario::new("wander", 100, clients, &file, |scenario, frame| {
        for entity in scenario.everyone() {
            scenario.walk(frame, entity);
        }
    })
}

/// All entities drift, and turn, stop or stumble now and then.
pub fn stroll(entities: u32, clients: u32) -> Scenario {
    let side = f64::from(entities).sqrt() * 20.0;
    let file = format!(
        "[world]\nsize = [{side:?}, {side:?}]\naoi = 50.0\ncapacity = {entities}\n\
         visible_max = 24\nseed = 15\nvelocity = [\"vx\", \"vy\"]\n\
         [logic]\nbuiltin = [\"move\", \"steer\"]\n\
         [[kind]]\nname = \"walker\"\npopulation = {entities}\nattributes = [\
         {{ name = \"vx\", type = \"fixed\", merge = \"last\", audience = \"hidden\" }}, \
         {{ name = \"vy\", type = \"fixed\", merge = \"last\", audience = \"hidden\" }}]\n\
         [[every]]\nkind = \"walker\"\nticks = 1\ncommand = \"drift\"\n"
    );
    Scenario::new("stroll", 60, clients, &file, |scenario, frame| {
        for entity in scenario.everyone() {
            if scenario.dice.once_in(20) {
                let speed = scenario.rules.move_speed_max.raw();
                let mut turn = || scenario.dice.within(-speed..=speed);
                let words = [turn(), turn()];
                let words = if words[0] % 4 == 0 { [0, 0] } else { words };
                let steer = scenario.config.schema.command_named("steer");
                frame.push(entity, 0, steer.expect("it is built in").kind, &words);
            } else if scenario.dice.once_in(50) {
                scenario.walk(frame, entity);
            }
        }
    })
}

/// All entities are in a few buckets, and clients remember nothing.
pub fn crowd(entities: u32, clients: u32) -> Scenario {
    let file = format!(
        "[world]\nsize = [70.5, 45.0]\naoi = 15.0\ncapacity = {entities}\nvisible_max = 0\n\
         seed = 12\n[limits]\ndeliveries_per_tick = {}\n\
         [[kind]]\nname = \"walker\"\npopulation = {entities}\n",
        u64::from(clients) * u64::from(entities) / 3,
    );
    let mut scenario = Scenario::new("crowd", 30, clients, &file, |scenario, frame| {
        for entity in scenario.everyone() {
            if !scenario.dice.once_in(3) {
                scenario.walk(frame, entity);
            }
        }
    });
    scenario.config.interest = InterestMode::Buckets;
    scenario
}

/// Soldiers stand close and strike, blast and heal each other.
pub fn fight(entities: u32, clients: u32) -> Scenario {
    let side = f64::from(entities).sqrt() * 4.0;
    let file = format!(
        "[world]\nsize = [{side:?}, {side:?}]\naoi = 20.0\ncapacity = {entities}\n\
         visible_max = 40\nseed = 13\n[[kind]]\nname = \"soldier\"\npopulation = {entities}\n\
         attributes = [{{ name = \"hp\", type = \"i32\", min = 0, max = 100, default = 100, \
         audience = \"state\" }}]\n"
    );
    Scenario::new("fight", 40, clients, &file, |scenario, frame| {
        let everyone = scenario.everyone();
        for &entity in &everyone {
            let target = scenario.dice.pick(&everyone).reference().0;
            match scenario.dice.below(6) {
                0 => frame.push(entity, 0, builtin::STRIKE, &[target]),
                1 => frame.push(entity, 0, builtin::HEAL, &[target]),
                2 => {
                    let [width, depth, _] = scenario.config.size_raw();
                    let x = scenario.dice.within(0..=width);
                    let y = scenario.dice.within(0..=depth);
                    frame.push(entity, 0, builtin::BLAST, &[x, y]);
                }
                3 => scenario.walk(frame, entity),
                _ => {}
            }
        }
    })
}

/// Walkers, and npcs that roam by themselves, in three dimensions.
pub fn space(entities: u32, clients: u32) -> Scenario {
    let each = entities / 2;
    let file = format!(
        "[world]\nsize = [150.0, 120.0, 90.0]\naoi = 25.0\ncapacity = {entities}\n\
         visible_max = 16\nseed = 14\n\
         [[kind]]\nname = \"walker\"\npopulation = {each}\n\
         [[kind]]\nname = \"npc\"\npopulation = {each}\n\
         [[every]]\nkind = \"npc\"\nticks = 3\ncommand = \"roam\"\n"
    );
    let mut scenario = Scenario::new("space", 60, clients, &file, |scenario, frame| {
        for entity in scenario.of_kind(0) {
            scenario.walk(frame, entity);
        }
    });
    scenario.config.interest = InterestMode::Buckets;
    scenario
}

/// Many persons pick few things up and put them down.
pub fn market(entities: u32, clients: u32) -> Scenario {
    let (people, things) = (entities * 3 / 4, entities / 4);
    let file = format!(
        "[world]\nsize = [40.0, 40.0]\naoi = 12.0\ncapacity = {entities}\nvisible_max = 32\n\
         seed = 15\n[[kind]]\nname = \"person\"\npopulation = {people}\n\
         [[kind]]\nname = \"thing\"\npopulation = {things}\nattributes = [{{ name = \"owner\", \
         type = \"entity\", merge = \"first\", audience = \"state\", tells_owner = true }}]\n"
    );
    Scenario::new("market", 50, clients, &file, |scenario, frame| {
        let things = scenario.of_kind(1);
        for entity in scenario.of_kind(0) {
            let thing = scenario.dice.pick(&things).reference().0;
            frame.push(entity, 0, builtin::PICK, &[thing]);
            if scenario.dice.once_in(4) {
                scenario.walk(frame, entity);
            }
        }
    })
}

/// Soldiers blast among wolves: embers burn on, and fallen wolves respawn.
pub fn embers(entities: u32, clients: u32) -> Scenario {
    let side = f64::from(entities).sqrt() * 5.0;
    let (soldiers, wolves) = (entities / 4, entities / 2);
    let hp = "{ name = \"hp\", type = \"i32\", min = 0, max = 30, default = 20, \
              audience = \"state\" }";
    let wolf_hp = hp.replace("min = 0", "min = 0, falls_at = 0");
    let file = format!(
        "[world]\nsize = [{side:?}, {side:?}]\naoi = 20.0\ncapacity = {entities}\n\
         visible_max = 40\nseed = 17\n[limits]\ntimed_commands = {soldiers}\n\
         [commands]\nblast = {{ reach = 30, radius = 6, damage = 2, ember_ticks = 3 }}\n\
         [[kind]]\nname = \"soldier\"\npopulation = {soldiers}\nattributes = [{hp}]\n\
         [[kind]]\nname = \"wolf\"\npopulation = {wolves}\nrespawn_ticks = 4\n\
         attributes = [{wolf_hp}]\n\
         [[every]]\nkind = \"wolf\"\nticks = 3\ncommand = \"roam\"\n"
    );
    Scenario::new("embers", 60, clients, &file, |scenario, frame| {
        for entity in scenario.of_kind(0) {
            let [width, depth, _] = scenario.config.size_raw();
            let (x, y) = (
                scenario.dice.below(width as usize),
                scenario.dice.below(depth as usize),
            );
            let words = [x as i32, y as i32];
            match scenario.dice.below(4) {
                0 => frame.push(entity, 0, builtin::BLAST, &words),
                1 => scenario.walk(frame, entity),
                _ => {}
            }
            if scenario.dice.once_in(50) {
                // Embers and births that the server schedules.
                let ticks = 1 + scenario.dice.below(5) as u32;
                let words = [x as i32, y as i32, 2];
                frame.push_after(ticks, EntityId::NONE, 0, builtin::BURN, &words);
                frame.push_after(ticks, EntityId::NONE, 1, CommandKind::SPAWN, &[1, 7]);
            }
        }
        while let Some(&(died, entity)) = scenario.dead.front() {
            if scenario.tick.0 < died.0 + 3 {
                break;
            }
            frame.release.push(entity.slot);
            scenario.dead.pop_front();
        }
    })
}

/// Births, deaths, and slots that are used again.
pub fn generations(entities: u32, clients: u32) -> Scenario {
    let file = format!(
        "[world]\nsize = [100.0, 100.0]\naoi = 30.0\ncapacity = {entities}\nvisible_max = 20\n\
         seed = 16\n[[kind]]\nname = \"mayfly\"\npopulation = {}\n\
         [[every]]\nkind = \"mayfly\"\nticks = 2\ncommand = \"roam\"\n",
        entities / 2,
    );
    Scenario::new("generations", 100, clients, &file, |scenario, frame| {
        for entity in scenario.everyone() {
            if scenario.dice.once_in(20) {
                frame.push(entity, 0, CommandKind::DESPAWN, &[]);
            }
        }
        for token in 0..scenario.dice.below(20) as u32 {
            frame.spawn(0, token);
        }
        while let Some(&(died, entity)) = scenario.dead.front() {
            if scenario.tick.0 < died.0 + 3 {
                break;
            }
            frame.release.push(entity.slot);
            scenario.dead.pop_front();
            // The observer of the dead entity follows the next one born in its slot.
            let next = EntityId::new(entity.slot.0, entity.generation + 1);
            if entity.slot.0 < scenario.clients {
                frame.observers.push(ObserverChange {
                    client: ClientRow(entity.slot.0),
                    index: 0,
                    observer: Some(Observer {
                        target: Target::Entity(next),
                        radius: scenario.config.schema.world.aoi.raw(),
                    }),
                });
            }
        }
    })
}
