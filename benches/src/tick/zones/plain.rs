//! The loop: entities are compared with the zones of their grid square, before and after.

use shared::WorldConfig;
use shared::world::spawn::SpawnArea;

/// The entities of a world, by slot, and its discs.
pub struct Plain {
    /// How often each entity came into a zone that is watched, and went out of one.
    pub enters: Vec<i32>,
    pub exits: Vec<i32>,
    before: Vec<[i32; 2]>,
    now: Vec<[i32; 2]>,
    edge: i32,
    fixed: Vec<Disc>,
    /// Discs that are watched: the first ones.
    watched: u32,
    /// Of the zones that entities carry.
    radius: Option<i32>,
    /// The entities that carry them: the last ones.
    carriers: std::ops::Range<usize>,
    grid: Grid,
}

#[derive(Clone, Copy)]
struct Disc {
    center: [i32; 2],
    radius: i32,
}

/// The numbers of the discs that overlap each square.
struct Grid {
    squares: usize,
    fixed: Vec<Vec<u32>>,
    /// Those of carriers, before and now.
    carried: [Vec<Vec<u32>>; 2],
}

impl Plain {
    /// The entities at these places.
    pub fn new(config: &WorldConfig, places: Vec<[i32; 2]>, watched: u32) -> Plain {
        let edge = config.size_raw()[0];
        let discs = config
            .schema
            .zones
            .iter()
            .filter_map(|zone| match zone.area {
                SpawnArea::Ball { center, radius } => {
                    let center = [center[0], center[1]];
                    Some((zone.carrier.is_some(), Disc { center, radius }))
                }
                SpawnArea::Box { .. } => None,
            });
        let (carried, fixed): (Vec<_>, Vec<_>) = discs.partition(|(is_carried, _)| *is_carried);
        let carriers = config.populations.last().copied().unwrap_or(0) as usize;
        let mut grid = Grid::new(edge);
        let fixed: Vec<Disc> = fixed.into_iter().map(|(_, disc)| disc).collect();
        for (number, disc) in (0..).zip(&fixed) {
            let squares = grid.squares;
            add(&mut grid.fixed, squares, disc, number);
        }
        Plain {
            enters: vec![0; places.len()],
            exits: vec![0; places.len()],
            before: places.clone(),
            carriers: places.len() - carriers..places.len(),
            now: places,
            edge,
            fixed,
            watched,
            radius: carried.first().map(|(_, disc)| disc.radius),
            grid,
        }
    }

    /// Lets all come into the zones in which they are; returns how many do.
    pub fn enter_all(&mut self) -> u64 {
        self.place_carried();
        let mut found = 0;
        for entity in 0..self.now.len() {
            let place = self.now[entity];
            let square = self.grid.square(place);
            let fixed = self.grid.fixed[square].iter();
            let is_in = |n: &&u32| **n < self.watched && self.fixed[**n as usize].has(place);
            let mut count = fixed.filter(is_in).count();
            for &carrier in &self.grid.carried[NOW][square] {
                count += usize::from(self.is_carried(&self.now, entity, carrier as usize));
            }
            self.enters[entity] += count as i32;
            found += count as u64;
        }
        found
    }

    /// Moves some entities.
    pub fn walk(&mut self, steps: &[(usize, [i32; 2])]) {
        self.before.clone_from(&self.now);
        for &(entity, step) in steps {
            for (along, step) in self.now[entity].iter_mut().zip(step) {
                *along = (*along + step).clamp(0, self.edge - 1);
            }
        }
    }

    /// Counts who crossed a border since they moved; returns how many did.
    pub fn cross(&mut self) -> u64 {
        self.place_carried();
        let mut found = 0;
        for entity in 0..self.now.len() {
            let [before, now] = [self.before[entity], self.now[entity]];
            let squares = [before, now].map(|place| self.grid.square(place));
            let (mut exits, mut enters) = (0, 0);
            if before != now {
                for &number in &self.grid.fixed[squares[BEFORE]] {
                    let disc = &self.fixed[number as usize];
                    let crosses = disc.has(before) && !disc.has(now);
                    exits += i32::from(crosses && number < self.watched);
                }
                for &number in &self.grid.fixed[squares[NOW]] {
                    let disc = &self.fixed[number as usize];
                    let crosses = disc.has(now) && !disc.has(before);
                    enters += i32::from(crosses && number < self.watched);
                }
            }
            let is_in = |places, carrier: &u32| self.is_carried(places, entity, *carrier as usize);
            for carrier in &self.grid.carried[BEFORE][squares[BEFORE]] {
                exits += i32::from(is_in(&self.before, carrier) && !is_in(&self.now, carrier));
            }
            for carrier in &self.grid.carried[NOW][squares[NOW]] {
                enters += i32::from(is_in(&self.now, carrier) && !is_in(&self.before, carrier));
            }
            self.enters[entity] += enters;
            self.exits[entity] += exits;
            found += (enters + exits) as u64;
        }
        found
    }

    /// Whether an entity is in the zone of a carrier.
    fn is_carried(&self, places: &[[i32; 2]], entity: usize, carrier: usize) -> bool {
        let radius = self.radius.unwrap_or(0);
        let center = places[carrier];
        entity != carrier && Disc { center, radius }.has(places[entity])
    }

    fn place_carried(&mut self) {
        self.grid.carried.swap(BEFORE, NOW);
        self.grid.carried[NOW].iter_mut().for_each(Vec::clear);
        let Some(radius) = self.radius else { return };
        for carrier in self.carriers.clone() {
            let center = self.now[carrier];
            let squares = self.grid.squares;
            let disc = Disc { center, radius };
            add(&mut self.grid.carried[NOW], squares, &disc, carrier as u32);
        }
    }
}

impl Disc {
    fn has(&self, place: [i32; 2]) -> bool {
        let along = |axis: usize| i64::from(place[axis]) - i64::from(self.center[axis]);
        along(0).pow(2) + along(1).pow(2) <= i64::from(self.radius).pow(2)
    }
}

impl Grid {
    fn new(edge: i32) -> Grid {
        let squares = (edge / SQUARE) as usize + 1;
        let lists = || vec![vec![]; squares * squares];
        Grid {
            squares,
            fixed: lists(),
            carried: [lists(), lists()],
        }
    }

    fn square(&self, place: [i32; 2]) -> usize {
        let [x, y] = place.map(|along| (along / SQUARE) as usize);
        y * self.squares + x
    }
}

fn add(lists: &mut [Vec<u32>], squares: usize, disc: &Disc, number: u32) {
    let last = squares as i32 - 1;
    let [x, y] = disc.center.map(|center| {
        let [low, high] = [center - disc.radius, center + disc.radius];
        let square = |along: i32| (along / SQUARE).clamp(0, last);
        square(low.max(0))..=square(high)
    });
    for row in y {
        for column in x.clone() {
            lists[row as usize * squares + column as usize].push(number);
        }
    }
}

const BEFORE: usize = 0;
const NOW: usize = 1;
/// The edge of a square of the grid, in raw units: as wide as a zone.
const SQUARE: i32 = 20 * 4096;
