use anyhow::ensure;
use gpu_kernels::{Backend, CpuBackend, Frame, SlotState};
use script::builtin;
use script::census::Census;
use script::interpreter::World;
use script::logic::with_logic;
use script::standings::Standings;
use shared::world::columns::Columns;
use shared::world::logic::Text;
use shared::world::mix::Random;
use shared::{CommandKind, EntityId, Slot, Tick, WorldConfig};

/// A world between two ticks: what commands read. It is laid out as in the cpu backend.
pub struct Frozen {
    pub config: WorldConfig,
    pub tick: Tick,
    pub columns: usize,
    pub rows: Vec<i32>,
    pub states: Vec<u8>,
    pub generations: Vec<u32>,
    pub kinds: Vec<u16>,
    /// By kind: its columns, as bits.
    pub kind_columns: Vec<Columns>,
    pub census: Census,
    pub standings: Standings,
    grid: Grid,
}

/// A command that is run.
#[derive(Clone, Copy)]
pub struct GivenCommand {
    pub entity: EntityId,
    pub kind: CommandKind,
    pub sequence: u32,
    words: [i32; 2],
    len: usize,
}

impl GivenCommand {
    pub fn words(&self) -> &[i32] {
        &self.words[..self.len]
    }
}

/// The entities by square of the grid, row by row.
struct Grid {
    edge: i32,
    /// Squares per axis.
    side: usize,
    size: i32,
    /// By square: its first entity.
    starts: Vec<usize>,
    slots: Vec<u32>,
    positions: Vec<[i32; 2]>,
}

impl Frozen {
    /// A world as dense as that of the bench `fight`, with an item and a wolf for each eight
    /// players.
    pub fn new(clients: u32, seed: u64) -> anyhow::Result<Frozen> {
        let config = config(clients, seed)?;
        let mut backend = CpuBackend::new(&config, 1, None)?;
        let mut frame = Frame::new(Tick(0));
        frame.populate(&config);
        let births = backend.tick(&frame)?;
        ensure!(births.counts.births == u64::from(config.schema.world.capacity));
        let state = backend.snapshot()?;
        let columns = config.schema.attributes.len();
        let kinds = state.kinds.iter().copied().zip(0..);
        // All players are as fit as each other, so the lowest slot comes first.
        let players = kinds.clone().filter(|&(kind, _)| kind == PLAYER);
        let mut standings = Standings::new(1, state.kinds.len());
        standings.set(FITTEST.into(), players.map(|(_, slot)| slot));
        Ok(Frozen {
            tick: state.tick,
            columns,
            census: Census::of(config.schema.kinds.len(), kinds),
            standings,
            grid: Grid::new(&config, &state.rows, columns),
            rows: state.rows,
            states: state.states.iter().map(|&state| state as u8).collect(),
            generations: state.generations,
            kinds: state.kinds,
            kind_columns: config.schema.kind_columns(),
            config,
        })
    }

    /// Commands of one kind, one from each player, or from each wolf; of all kinds that
    /// players give, in the shares of a fight, for `None`.
    pub fn commands(&self, kind: Option<CommandKind>) -> Vec<GivenCommand> {
        let mut commands = vec![];
        let mut near = vec![];
        for slot in (0..self.kinds.len() as u32).map(Slot) {
            let entity = EntityId {
                slot,
                generation: self.generations[slot.index()],
            };
            let mut random = Random::new(self.config.seed, Tick(9), entity);
            let is_wolf = self.kinds[slot.index()] == WOLF;
            let own = [builtin::ROAM, builtin::MOVE];
            let chosen = match (kind, self.kinds[slot.index()]) {
                (None, WOLF) => &own[..1],
                (None, PLAYER) => &[builtin::MOVE, Self::deed(&mut random)],
                (Some(kind), PLAYER) if kind != builtin::ROAM => &[kind],
                (Some(builtin::ROAM), _) if is_wolf => &own[..1],
                _ => continue,
            };
            for (sequence, &kind) in (0..).zip(chosen) {
                near.clear();
                let mut target = |of_kind: fn(u16) -> bool| {
                    let aoi = self.config.schema.world.aoi.raw();
                    self.near(self.position(slot), aoi, &mut near);
                    near.retain(|&other| other != slot.0 && of_kind(self.kinds[other as usize]));
                    let found = near.get(random.below(near.len().max(1) as u32) as usize);
                    let found = found.map_or(slot, |&other| Slot(other));
                    let generation = self.generations[found.index()];
                    EntityId {
                        slot: found,
                        generation,
                    }
                    .reference()
                    .0
                };
                let (words, len) = match kind {
                    builtin::STRIKE => ([target(|kind| kind != ITEM), 0], 1),
                    builtin::PICK => ([target(|kind| kind == ITEM), 0], 1),
                    builtin::HEAL => ([entity.reference().0, 0], 1),
                    builtin::ROAM => ([0, 0], 0),
                    kind if self.asking().contains(&kind) => ([0, 0], 0),
                    builtin::BLAST => ([self.position(slot)[0], self.position(slot)[1]], 2),
                    _ => ([random.around_zero(8192), random.around_zero(8192)], 2),
                };
                commands.push(GivenCommand {
                    entity,
                    kind,
                    sequence,
                    words,
                    len,
                });
            }
        }
        commands
    }

    /// The number of a command.
    pub fn number_of(&self, name: &str) -> CommandKind {
        let command = self.config.schema.command_named(name);
        command.expect("the world has it").kind
    }

    /// The commands that ask all over the world, as [`ASKING`] has them.
    pub fn asking(&self) -> [CommandKind; 5] {
        ["tally", "hail", "rally", "place", "crown"].map(|name| self.number_of(name))
    }

    /// A player's commands besides moving.
    fn deed(random: &mut Random) -> CommandKind {
        match random.below(6) {
            0..3 => builtin::STRIKE,
            3 => builtin::HEAL,
            4 => builtin::BLAST,
            _ => builtin::PICK,
        }
    }

    pub fn position(&self, slot: Slot) -> [i32; 3] {
        let row = &self.rows[slot.index() * self.columns..];
        [row[0], row[1], 0]
    }

    /// Calls `visit` for each entity within `radius` of a point, in index order.
    pub fn within(&self, center: [i32; 3], radius: i32, mut visit: impl FnMut(Slot)) {
        let grid = &self.grid;
        let square = |at: i32| (at.clamp(0, grid.size - 1) / grid.edge) as usize;
        let span = |axis: usize| {
            let low = square(center[axis].saturating_sub(radius));
            low..square(center[axis].saturating_add(radius)) + 1
        };
        let (columns, most) = (span(0), i64::from(radius) * i64::from(radius));
        for y in span(1) {
            let row = y * grid.side;
            let places = grid.starts[row + columns.start]..grid.starts[row + columns.end];
            for i in places {
                let [x, y] = grid.positions[i];
                let (dx, dy) = (i64::from(x - center[0]), i64::from(y - center[1]));
                if dx * dx + dy * dy <= most {
                    visit(Slot(grid.slots[i]));
                }
            }
        }
    }
}

impl World for Frozen {
    fn attribute(&self, slot: Slot, column: usize) -> i32 {
        self.rows[slot.index() * self.columns + column]
    }

    fn generation(&self, slot: Slot) -> Option<u32> {
        let is_live = self.states.get(slot.index()) == Some(&(SlotState::Live as u8));
        is_live.then(|| self.generations[slot.index()])
    }

    fn kind(&self, slot: Slot) -> u16 {
        self.kinds[slot.index()]
    }

    fn has(&self, slot: Slot, column: usize) -> bool {
        self.kind_columns[usize::from(self.kind(slot))].has(column)
    }

    fn census(&self) -> Option<&Census> {
        Some(&self.census)
    }

    fn standings(&self) -> Option<&Standings> {
        Some(&self.standings)
    }

    fn near(&self, center: [i32; 3], radius: i32, slots: &mut Vec<u32>) {
        self.within(center, radius, |slot| slots.push(slot.0));
    }
}

impl Grid {
    fn new(config: &WorldConfig, rows: &[i32], columns: usize) -> Grid {
        let (edge, size) = (config.schema.world.aoi.raw(), config.size_raw()[0]);
        let side = ((size - 1) / edge) as usize + 1;
        let square = |row: &[i32]| (row[1] / edge) as usize * side + (row[0] / edge) as usize;
        let mut sorted: Vec<(usize, u32)> =
            rows.chunks_exact(columns).map(square).zip(0..).collect();
        sorted.sort_unstable();
        let start = |square| sorted.partition_point(|&(own, _)| own < square);
        let position = |&(_, slot): &(usize, u32)| {
            let row = &rows[slot as usize * columns..];
            [row[0], row[1]]
        };
        Grid {
            edge,
            side,
            size,
            starts: (0..=side * side).map(start).collect(),
            slots: sorted.iter().map(|&(_, slot)| slot).collect(),
            positions: sorted.iter().map(position).collect(),
        }
    }
}

const BANNERS: u32 = 8;
const PLAYER: u16 = 0;
const ITEM: u16 = 1;
pub const WOLF: u16 = 2;
pub const BANNER: u16 = 3;
pub const WARDEN: u16 = 4;
/// The world's ranking.
pub const FITTEST: u16 = 0;

/// A command for each way to ask all over the world.
const ASKING: &str = r#"
#[command(clients)]
fn tally(me: Entity) { me.hp += count("wolf"); }

#[command(clients)]
fn hail(me: Entity) {
    let warden = the("warden");
    if exists(warden) { warden.hp += 1; }
}

#[command(clients)]
fn rally(me: Entity) {
    for it in all("banner") { it.hp += 1; }
}

#[command(clients)]
fn place(me: Entity) { me.hp += rank(me, "fittest"); }

#[command(clients)]
fn crown(me: Entity) {
    for it in top("fittest", 3) { it.hp += 1; }
}
"#;

fn config(clients: u32, seed: u64) -> anyhow::Result<WorldConfig> {
    let others = clients / 8;
    let side = (2500.0 * (f64::from(clients) / 524_288.0).sqrt()).ceil();
    let text = format!(
        r#"
        [world]
        name = "logic"
        size = [{side}, {side}]
        aoi = 10
        capacity = {capacity}
        seed = {seed}

        [limits]
        clients = 1

        [commands]
        move = {{ speed_max = 1 }}
        strike = {{ reach = 10, damage = 5 }}
        heal = {{ reach = 2, amount = 4 }}
        blast = {{ reach = 6, radius = 3, damage = 3 }}
        pick = {{ reach = 5 }}
        roam = {{ step = 1 }}

        [[kind]]
        name = "player"
        population = {clients}
        attributes = [{{ name = "hp", type = "i32", default = 100, audience = "state" }}]

        [[kind]]
        name = "item"
        population = {others}
        attributes = [{{ name = "owner", type = "entity", merge = "first", audience = "state" }}]

        [[kind]]
        name = "wolf"
        population = {others}
        attributes = [{{ name = "hp", type = "i32", default = 30, audience = "state" }}]

        [[kind]]
        name = "banner"
        population = {BANNERS}
        attributes = [{{ name = "hp", type = "i32", audience = "state" }}]

        [[kind]]
        name = "warden"
        population = 1
        attributes = [{{ name = "hp", type = "i32", audience = "state" }}]

        [[ranking]]
        name = "fittest"
        kind = "player"
        by = "hp"
        "#,
        capacity = clients + 2 * others + BANNERS + 1,
    );
    let config = world_file::parse(&text, "the frozen world")?;
    let mut logic = config.logic.clone();
    logic.texts.push(Text::new("asking.rs", ASKING));
    with_logic(&config, &logic).map_err(|problems| anyhow::anyhow!("{problems:?}"))
}
