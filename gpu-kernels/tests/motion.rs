//! Movement is sent as courses: nothing is sent for an entity on its course, and clients still know
//! where everyone is.

use gpu_kernels::{Backend, Frame, Observer, ObserverChange, Target, TickOutput};
use script::builtin;
use shared::{ClientRow, Course, EntityId, Tick, WorldConfig};
use testkit::backends::{backends, starters};
use testkit::dice::Dice;
use testkit::oracle::Oracle;
use testkit::world::Play;

#[test]
fn who_goes_on_is_told_twice_and_once_more_when_it_stops() {
    let mut lone = Lone::new("", "");
    assert_eq!(lone.step(100, -7), Some([0, 0]));
    assert_eq!(lone.step(100, -7), Some([100, -7]));
    for _ in 0..20 {
        assert_eq!(lone.step(100, -7), None);
    }
    // Nothing updates its position, and yet it departs from its course.
    assert_eq!(lone.rest(), Some([0, 0]));
    assert_eq!(lone.rest(), None);
}

#[test]
fn who_never_goes_twice_the_same_way_is_told_of_each_step_and_no_more() {
    let mut lone = Lone::new("", "");
    for tick in 0..40 {
        match tick % 2 {
            0 => assert_eq!(lone.step(500, 0), Some([0, 0]), "tick {tick}"),
            _ => assert_eq!(lone.rest(), None, "tick {tick}"),
        }
    }
    for step in 1..40 {
        assert_eq!(lone.step(step, 2), Some([0, 0]), "step {step}");
    }
}

#[test]
fn a_course_ends_at_the_edge_of_the_world_without_a_word() {
    let mut lone = Lone::new("", "");
    // 50 units are 25 steps of 2 units.
    assert_eq!(lone.step(2 * UNIT, 0), Some([0, 0]));
    assert_eq!(lone.step(2 * UNIT, 0), Some([2 * UNIT, 0]));
    for step in 2..40 {
        assert_eq!(lone.step(2 * UNIT, 0), None, "step {step}");
    }
    // It rests there, as clients think.
    assert_eq!(lone.rest(), None);
    assert_eq!(lone.step(-UNIT, 0), Some([0, 0]));
}

#[test]
fn a_step_that_the_entity_declares_is_a_course_at_once() {
    let kinds = "[[kind]]\nname = \"boat\"\nattributes = [\
                 { name = \"vx\", type = \"fixed\", default = 1.5, audience = \"hidden\" },\
                 { name = \"vy\", type = \"fixed\", audience = \"hidden\" }]";
    let mut lone = Lone::new("velocity = [\"vx\", \"vy\"]", kinds);
    let declared = 3 * UNIT / 2;
    assert_eq!(lone.step(declared, 0), Some([declared, 0]));
    assert_eq!(lone.step(declared, 0), None);
    assert_eq!(lone.step(declared, 1), Some([0, 0]));
    assert_eq!(lone.step(declared, 0), Some([declared, 0]));
}

#[test]
fn what_is_too_fast_for_a_course_is_told_step_by_step() {
    let config = world(
        "[world]\nsize = [262143, 262143]\ncapacity = 4\n[limits]\nclients = 1\n\
         [commands]\nmove.speed_max = 1000",
    );
    const FASTEST: i32 = (1 << 19) - 1;
    for (label, mut backend) in backends(&config) {
        let mut frame = Frame::new(Tick(0));
        frame.spawn_at(0, 0, &[0, 0]);
        backend.tick(&frame).unwrap();
        let steps = [
            (FASTEST + 1, 0),
            (FASTEST + 1, 0),
            (FASTEST, 0),
            (FASTEST, FASTEST),
        ];
        for (tick, (step, expected)) in (1..).zip(steps) {
            let mut frame = Frame::new(Tick(tick));
            frame.push(LONE, tick as u32, builtin::MOVE, &[0, step]);
            let output = backend.tick(&frame).unwrap();
            let sent: Vec<_> = output.courses.iter().collect();
            let expected = [0, expected];
            assert_eq!(sent, [(LONE.slot, &expected[..])], "{label}, tick {tick}");
        }
    }
}

#[test]
fn departures_within_the_tolerance_are_not_sent() {
    let mut lone = Lone::new("wire_tolerance = 0.25", "");
    assert_eq!(lone.step(1024, 0), None);
    // One more is beyond it. The two steps are alike, as far as the tolerance goes.
    assert_eq!(lone.step(1, 0), Some([1, 0]));
    assert_eq!(lone.step(4000, 0), Some([0, 0]));
    assert_eq!(lone.step(4100, 100), Some([4100, 100]));
    assert_eq!(lone.step(4600, -300), None);
    // 500 and now 600 beyond its course.
    assert_eq!(lone.step(4700, 100), Some([4700, 100]));
}

#[test]
fn a_world_without_courses_sends_each_step() {
    let config = world("[world]\nmotion = false\ncapacity = 4\n[limits]\nclients = 1");
    for (label, mut backend) in backends(&config) {
        let mut frame = Frame::new(Tick(0));
        frame.spawn_at(0, 0, &[0, 0]);
        frame.observers.push(follow());
        backend.tick(&frame).unwrap();
        for tick in 1..6 {
            let mut frame = Frame::new(Tick(tick));
            frame.push(LONE, tick as u32, builtin::MOVE, &[7, 7]);
            let output = backend.tick(&frame).unwrap();
            assert_eq!(output.courses.iter().count(), 0, "{label}");
            assert_eq!(output.deliveries.of(ClientRow(0)).len(), 1, "{label}");
        }
    }
}

#[test]
fn courses_lead_to_where_entities_are_within_the_tolerance() {
    let (mut sent, mut silent) = (0, 0);
    for seed in 0..200 {
        let mut dice = Dice::new(seed);
        let play = Play::new(&mut dice);
        let Some(motion) = &play.config.motion else {
            continue;
        };
        // The backends take turns.
        let starters = starters();
        let starter = &starters[seed as usize % starters.len()];
        let mut backend = starter.start(&play.config);
        let mut oracle = Oracle::new(&play.config);
        let mut client = Client::new(&play.config);
        for _ in 0..30 {
            let frame = play.frame(&mut dice, &oracle);
            oracle.tick(&frame);
            let output = backend.tick(&frame).expect("the frame is accepted");
            let rows = backend.snapshot().unwrap().rows;
            let place = format!("seed {seed} on {}, tick {}", starter.label, frame.tick);
            client.apply(&output, &rows);
            silent += client.check(&rows, frame.tick, motion.tolerance, &place);
            sent += output.counts.courses;
        }
    }
    assert!(sent > 500 && silent > 100, "{sent} sent, {silent} silent");
}

/// Worlds with one entity, on every backend, and a client that sees it.
struct Lone {
    worlds: Vec<(String, Box<dyn Backend>)>,
    tick: Tick,
}

const LONE: EntityId = EntityId::new(0, 1);
const UNIT: i32 = 4096;

impl Lone {
    /// The entity is born at x = 50 and y = 50.
    fn new(keys: &str, kinds: &str) -> Lone {
        let config = world(&format!(
            "[world]\nsize = [100, 100]\naoi = 100\ncapacity = 4\n{keys}\n\
             [limits]\nclients = 1\n{kinds}"
        ));
        let mut lone = Lone {
            worlds: backends(&config),
            tick: Tick(0),
        };
        lone.run(|frame| {
            frame.spawn_at(0, 0, &[50 * UNIT, 50 * UNIT]);
            frame.observers.push(follow());
        });
        lone
    }

    /// Runs a tick. Gives the velocity that the client is sent, if any.
    fn run(&mut self, fill: impl Fn(&mut Frame)) -> Option<[i32; 2]> {
        let mut frame = Frame::new(self.tick);
        fill(&mut frame);
        self.tick = self.tick.next();
        let mut all = vec![];
        for (label, backend) in &mut self.worlds {
            let output = backend.tick(&frame).expect("the frame is accepted");
            let courses: Vec<_> = output.courses.iter().collect();
            assert!(courses.len() <= 1, "{label}: {courses:?}");
            assert_eq!(output.counts.courses, courses.len() as u64, "{label}");
            // In the first tick, the entity enters the view.
            if frame.tick > Tick(0) {
                let deliveries = output.deliveries.of(ClientRow(0));
                assert_eq!(deliveries.len(), courses.len(), "{label}");
            }
            let sent = courses.first().map(|(slot, velocity)| {
                assert_eq!(*slot, LONE.slot, "{label}");
                [velocity[0], velocity[1]]
            });
            all.push(sent);
        }
        assert!(all.iter().all(|sent| *sent == all[0]), "{all:?}");
        all[0]
    }

    fn step(&mut self, x: i32, y: i32) -> Option<[i32; 2]> {
        self.run(|frame| frame.push(LONE, 1, builtin::MOVE, &[x, y]))
    }

    fn rest(&mut self) -> Option<[i32; 2]> {
        self.run(|_| {})
    }
}

fn follow() -> ObserverChange {
    ObserverChange {
        client: ClientRow(0),
        index: 0,
        observer: Some(Observer {
            target: Target::Entity(LONE),
            radius: 50 * UNIT,
        }),
    }
}

/// What a client that sees everything would know.
struct Client {
    columns: usize,
    dimensions: usize,
    max: [i32; 3],
    /// By slot.
    courses: Vec<Option<Course>>,
}

impl Client {
    fn new(config: &WorldConfig) -> Client {
        Client {
            columns: config.schema.attributes.len(),
            dimensions: config.dimensions(),
            max: config.schema.world.edges(),
            courses: vec![None; config.schema.world.capacity as usize],
        }
    }

    /// `rows` are those after the tick.
    fn apply(&mut self, output: &TickOutput, rows: &[i32]) {
        let newborns = output.births.iter().filter_map(|birth| birth.entity);
        for (entity, row) in newborns.zip(output.birth_rows.chunks_exact(self.columns)) {
            self.courses[entity.slot.index()] = Some(self.course(output.tick, row, &[]));
        }
        for (slot, velocity) in output.courses.iter() {
            let row = &rows[slot.index() * self.columns..];
            self.courses[slot.index()] = Some(self.course(output.tick, row, velocity));
        }
        for dead in &output.deaths {
            self.courses[dead.slot.index()] = None;
        }
    }

    fn course(&self, tick: Tick, row: &[i32], velocity: &[i32]) -> Course {
        let mut course = Course {
            tick,
            ..Course::default()
        };
        course.position[..self.dimensions].copy_from_slice(&row[..self.dimensions]);
        course.velocity[..velocity.len()].copy_from_slice(velocity);
        course
    }

    /// Compares entities with their courses. Gives the number of those that move unheard.
    fn check(&self, rows: &[i32], tick: Tick, tolerance: i32, place: &str) -> u64 {
        let mut silent = 0;
        for (slot, course) in self.courses.iter().enumerate() {
            let Some(course) = course else { continue };
            let shown = course.at(tick, &self.max);
            let row = &rows[slot * self.columns..][..self.dimensions];
            let is_near = |(a, b): (&i32, &i32)| a.abs_diff(*b) <= tolerance as u32;
            assert!(
                row.iter().zip(&shown).all(is_near),
                "{place}: slot {slot} is at {row:?}, on {course:?} it would be at {shown:?}"
            );
            silent += u64::from(course.glides() && course.tick != tick);
        }
        silent
    }
}

fn world(text: &str) -> WorldConfig {
    world_file::parse(text, "test").expect("the world file is valid")
}
