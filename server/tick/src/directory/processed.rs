//! The numbers of clients' commands that the world has processed. A client that comes back sends
//! the later ones again, and none runs twice: the connection before may still have brought some.

use gpu_kernels::Batch;
use gpu_kernels::tick::frame::Command;
use shared::{ClientRow, EntityId, WorldConfig};

pub struct ProcessedCommands {
    /// By row.
    rows: Vec<Numbers>,
    /// By slot: the client whose entity was born there last.
    owners: Vec<Option<ClientRow>>,
}

/// Of a client.
#[derive(Clone, Copy)]
struct Numbers {
    entity: EntityId,
    /// A session's commands run in the order of their numbers.
    newest: u32,
    /// Whether that is known: a server that has started again does not know what ran before.
    is_known: bool,
    /// The client continues with these numbers where it comes back.
    continues: bool,
    /// It will once it has read the welcome, which may be lost: by that its numbers begin anew.
    will_continue: bool,
    /// This session continues with the numbers of one before.
    has_continued: bool,
}

impl Numbers {
    const UNKNOWN: Numbers = Numbers {
        entity: EntityId::NONE,
        newest: 0,
        is_known: false,
        continues: false,
        will_continue: false,
        has_continued: false,
    };
}

/// How a session begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// As a client that the world does not know.
    Join,
    /// With the ticket of the session before.
    Resume,
    /// With the account of the session before, whose commands are another program's.
    Replace,
}

impl ProcessedCommands {
    pub fn new(config: &WorldConfig) -> ProcessedCommands {
        ProcessedCommands {
            rows: vec![Numbers::UNKNOWN; config.limits.clients as usize],
            owners: vec![None; config.schema.world.capacity as usize],
        }
    }

    /// A session begins. `continues`: its client continues with the numbers of the one before.
    pub fn begin(&mut self, client: ClientRow, how: Begin, continues: bool) {
        let Some(numbers) = self.rows.get_mut(client.index()) else {
            return;
        };
        let before = *numbers;
        let has_continued = match how {
            Begin::Join => false,
            Begin::Resume => continues && before.continues,
            Begin::Replace => continues && before.is_known,
        };
        let is_first = how == Begin::Join;
        *numbers = Numbers {
            entity: match how {
                Begin::Join => EntityId::NONE,
                Begin::Resume | Begin::Replace => before.entity,
            },
            newest: if has_continued { before.newest } else { 0 },
            is_known: true,
            continues: continues && (has_continued || is_first),
            will_continue: continues,
            has_continued,
        };
    }

    /// The client has read its welcome.
    pub fn confirm(&mut self, client: ClientRow) {
        if let Some(numbers) = self.rows.get_mut(client.index()) {
            numbers.continues = numbers.will_continue;
        }
    }

    /// The client has another entity.
    pub fn own(&mut self, client: ClientRow, entity: EntityId) {
        let owner = self.owners.get_mut(entity.slot.index());
        let numbers = self.rows.get_mut(client.index());
        if let (Some(owner), Some(numbers)) = (owner, numbers) {
            *owner = Some(client);
            numbers.entity = entity;
        }
    }

    /// The client that acts as an entity.
    pub fn owner(&self, entity: EntityId) -> Option<ClientRow> {
        let client = self.owners.get(entity.slot.index()).copied().flatten()?;
        let numbers = self.rows.get(client.index())?;
        (numbers.entity == entity).then_some(client)
    }

    /// The number after which a session's commands begin, if it continues with those of one before.
    pub fn through(&self, client: ClientRow) -> Option<u32> {
        let numbers = self.rows.get(client.index())?;
        numbers.has_continued.then_some(numbers.newest)
    }

    /// Notes the commands of a tick, and drops those that have run already, and those of clients that
    /// have left. Returns their number.
    pub fn note(&mut self, commands: &mut Batch) -> u64 {
        let mut repeated = vec![];
        for (place, (command, _)) in (0..).zip(commands.iter()) {
            if self.is_over(command) {
                repeated.push(place);
            }
        }
        if !repeated.is_empty() {
            commands.remove(&repeated);
        }
        repeated.len() as u64
    }

    fn is_over(&mut self, command: &Command) -> bool {
        let owner = self.owners.get(command.entity.slot.index());
        let owner = owner.copied().flatten();
        let Some(numbers) = owner.and_then(|client| self.rows.get_mut(client.index())) else {
            return false;
        };
        if numbers.entity != command.entity {
            return true;
        }
        if numbers.will_continue && !numbers.continues {
            // Of a session before the one whose welcome is on its way.
            return false;
        }
        if is_newer(command.sequence, numbers.newest) {
            numbers.newest = command.sequence;
            return false;
        }
        numbers.continues
    }
}

/// Numbers wrap.
fn is_newer(a: u32, b: u32) -> bool {
    a.wrapping_sub(b).cast_signed() > 0
}

#[cfg(test)]
mod tests {
    use shared::CommandKind;
    use shared::wire::commands::SEQUENCE_GAP;

    use super::*;

    const CLIENT: ClientRow = ClientRow(2);

    struct World(ProcessedCommands);

    impl World {
        fn new() -> World {
            let config = world_file::parse("[limits]\nclients = 4", "test").unwrap();
            let mut numbers = ProcessedCommands::new(&config);
            numbers.begin(CLIENT, Begin::Join, true);
            numbers.own(CLIENT, entity(1));
            World(numbers)
        }

        /// The numbers of those that run.
        fn run(&mut self, commands: &[u32]) -> Vec<u32> {
            let mut batch = Batch::default();
            for &sequence in commands {
                batch.push(entity(1), sequence, CommandKind(2), &[7]);
            }
            let dropped = self.0.note(&mut batch);
            assert_eq!(dropped as usize, commands.len() - batch.len());
            assert!(batch.iter().all(|(_, words)| *words == [7]));
            batch.iter().map(|(command, _)| command.sequence).collect()
        }
    }

    fn entity(generation: u32) -> EntityId {
        EntityId::new(9, generation)
    }

    #[test]
    fn a_command_that_comes_by_two_connections_runs_once() {
        let mut world = World::new();
        assert_eq!(world.run(&[1, 2]), [1, 2]);
        assert_eq!(world.0.through(CLIENT), None);
        world.0.begin(CLIENT, Begin::Resume, true);
        assert_eq!(world.0.through(CLIENT), Some(2));
        // The old connection has brought the third, too.
        assert_eq!(world.run(&[3]), [3]);
        assert_eq!(world.run(&[3, 4]), [4]);
        assert_eq!(world.0.through(CLIENT), Some(4));
    }

    #[test]
    fn a_client_that_knows_nothing_of_numbers_that_go_on_begins_anew() {
        let mut world = World::new();
        world.run(&[1, 2]);
        world.0.begin(CLIENT, Begin::Resume, false);
        assert_eq!(world.0.through(CLIENT), None);
        assert_eq!(world.run(&[1]), [1]);
        // Of its session nothing is known when one of a newer version takes its place.
        world.0.begin(CLIENT, Begin::Resume, true);
        assert_eq!(world.0.through(CLIENT), None);
        // It has not read that, and asks again.
        world.0.begin(CLIENT, Begin::Resume, true);
        assert_eq!(world.0.through(CLIENT), None);
        assert_eq!(world.run(&[8]), [8]);
        world.0.confirm(CLIENT);
        assert_eq!(world.run(&[1]), [1]);
        world.0.begin(CLIENT, Begin::Resume, true);
        assert_eq!(world.0.through(CLIENT), Some(1));
    }

    #[test]
    fn commands_of_a_session_that_is_replaced_do_not_hold_up_those_of_the_other_program() {
        let mut world = World::new();
        world.run(&[1, 2]);
        world.0.begin(CLIENT, Begin::Replace, true);
        let first = world.0.through(CLIENT).unwrap() + SEQUENCE_GAP + 1;
        assert_eq!(world.run(&[3, 200]), [3, 200]);
        assert_eq!(world.run(&[first]), [first]);
        assert_eq!(world.run(&[201, first + 1]), [first + 1]);
    }

    #[test]
    fn a_server_that_has_started_again_lets_no_session_continue_with_numbers_that_it_does_not_know()
    {
        for how in [Begin::Resume, Begin::Replace] {
            let config = world_file::parse("[limits]\nclients = 4", "test").unwrap();
            let mut numbers = ProcessedCommands::new(&config);
            numbers.own(CLIENT, entity(1));
            numbers.begin(CLIENT, how, true);
            assert_eq!(numbers.through(CLIENT), None);
            let mut world = World(numbers);
            world.0.confirm(CLIENT);
            assert_eq!(world.run(&[1, 1]), [1]);
            world.0.begin(CLIENT, how, true);
            assert_eq!(world.0.through(CLIENT), Some(1));
        }
    }

    #[test]
    fn numbers_wrap() {
        let mut world = World::new();
        for sequence in [i32::MAX as u32, u32::MAX - 1, u32::MAX, 0, 1] {
            assert_eq!(world.run(&[sequence]), [sequence]);
        }
        assert_eq!(world.run(&[u32::MAX]), [0; 0]);
    }

    #[test]
    fn commands_of_an_entity_are_not_taken_for_those_of_the_next_one() {
        let mut world = World::new();
        world.run(&[1]);
        // Another client has the row, and waits for its birth.
        world.0.begin(CLIENT, Begin::Join, true);
        assert_eq!(world.run(&[2, 3]), [0; 0]);
        // Born in the same slot.
        world.0.own(CLIENT, entity(2));
        assert_eq!(world.run(&[4]), [0; 0]);
        world.0.begin(CLIENT, Begin::Resume, true);
        assert_eq!(world.0.through(CLIENT), Some(0));
    }
}
