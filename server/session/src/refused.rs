//! Commands without effect, until they are reported to the client.

use gpu_kernels::RefusedCommand;
use shared::{EntityId, Refusal};

use super::frame::FrameWriter;

/// Runs of consecutive sequence numbers.
#[derive(Default)]
pub struct Refused {
    runs: Vec<Run>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Run {
    first: u32,
    count: u32,
    reason: Refusal,
    /// The number of a reason of the world.
    because: Option<u8>,
}

impl Refused {
    /// A command had no effect. Runs beyond `RUNS_MAX` are not reported.
    pub fn note(&mut self, sequence: u32, reason: Refusal) {
        self.note_because(sequence, reason, None);
    }

    fn note_because(&mut self, sequence: u32, reason: Refusal, because: Option<u8>) {
        if let Some(last) = self.runs.last_mut()
            && (last.reason, last.because) == (reason, because)
            && last.first.wrapping_add(last.count) == sequence
            && last.count < u32::MAX
        {
            last.count += 1;
        } else if self.runs.len() < RUNS_MAX {
            self.runs.push(Run {
                first: sequence,
                count: 1,
                reason,
                because,
            });
        }
    }

    /// These had no effect in the tick.
    pub fn note_all(&mut self, refused: &[RefusedCommand]) {
        for command in refused {
            self.note_because(command.sequence, command.reason, command.because);
        }
    }

    /// Reports all to the client.
    pub fn write(&mut self, frame: &mut FrameWriter<'_>) {
        for run in self.runs.drain(..) {
            let codec = frame.codec;
            let why = (run.reason, run.because);
            codec.refused(frame.message(), run.first, run.count, why);
        }
    }
}

/// The commands of one entity, among those of all.
pub fn of_entity(refused: &[RefusedCommand], entity: EntityId) -> &[RefusedCommand] {
    let begin = refused.partition_point(|command| command.entity < entity);
    let own = refused[begin..].partition_point(|command| command.entity == entity);
    &refused[begin..begin + own]
}

/// The most runs that are reported to a client in a tick.
const RUNS_MAX: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_commands_are_reported_as_one_run() {
        let mut refused = Refused::default();
        for (sequence, reason) in [
            (u32::MAX, Refusal::OverQuota),
            (0, Refusal::OverQuota),
            (1, Refusal::OverQuota),
            (2, Refusal::TooLate),
            (4, Refusal::TooLate),
        ] {
            refused.note(sequence, reason);
        }
        let runs: Vec<_> = refused.runs.iter().map(|r| (r.first, r.count)).collect();
        assert_eq!(runs, [(u32::MAX, 3), (2, 1), (4, 1)]);
        // Those of another reason of the world are apart.
        let mut others = Refused::default();
        for (sequence, because) in [(1, None), (2, Some(0)), (3, Some(0)), (4, Some(1))] {
            others.note_because(sequence, Refusal::Idle, because);
        }
        let runs: Vec<_> = others.runs.iter().map(|r| (r.first, r.count)).collect();
        assert_eq!(runs, [(1, 1), (2, 2), (4, 1)]);
        for sequence in 0..10_000 {
            refused.note(10 + 2 * sequence, Refusal::OverQuota);
        }
        assert_eq!(refused.runs.len(), RUNS_MAX);
    }

    #[test]
    fn an_entity_has_the_commands_that_it_gave_itself() {
        let of = |slot, generation, sequence| RefusedCommand {
            entity: EntityId::new(slot, generation),
            sequence,
            reason: Refusal::Idle,
            because: None,
        };
        let all = [
            of(1, 4, 2),
            of(3, 1, 9),
            of(3, 2, 1),
            of(3, 2, 5),
            of(8, 1, 1),
        ];
        assert_eq!(of_entity(&all, EntityId::new(3, 2)), &all[2..4]);
        assert_eq!(of_entity(&all, EntityId::new(3, 3)), []);
        assert_eq!(of_entity(&[], EntityId::new(3, 2)), []);
    }
}
