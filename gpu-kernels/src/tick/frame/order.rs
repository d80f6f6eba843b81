use device::HostVec;
use device::cpu::{RadixSorter, Workers};
use rayon::prelude::*;
use shared::Tick;
use shared::world::mix::order_key;

use super::{Command, Commands, Frame};

/// Orders the commands of frames on several threads; see [`Frame::order`]. Commands are
/// spread over ranges of their keys, and each range is sorted by itself.
pub struct CommandOrder {
    /// By command: its key and its place.
    keys: Vec<(u64, u32)>,
    radix: RadixSorter<(u64, u32)>,
    /// The memory of the commands of the frame before.
    spare: HostVec<Command>,
}

impl CommandOrder {
    pub fn new() -> CommandOrder {
        CommandOrder {
            keys: vec![],
            radix: RadixSorter::new(0),
            spare: HostVec::new(),
        }
    }

    /// As [`Frame::order`].
    pub fn order(&mut self, workers: &Workers, frame: &mut Frame, seed: u64) {
        match workers.pool_for(frame.commands.len()) {
            Some(pool) => pool.install(|| {
                self.sort(workers, &frame.commands, seed, frame.tick);
                let Commands { items, .. } = &frame.commands;
                self.spare.clear();
                let sorted = self.keys[..items.len()].par_iter().with_min_len(GRAIN);
                self.spare
                    .extend_on_threads(sorted.map(|&(_, place)| items[place as usize]));
            }),
            None => return frame.order(seed),
        }
        std::mem::swap(&mut frame.commands.items, &mut self.spare);
        frame.order_after(seed);
    }

    /// Sorts the keys of all commands; equal ones by sequence and arrival.
    fn sort(&mut self, workers: &Workers, commands: &[Command], seed: u64, tick: Tick) {
        let n = commands.len();
        let key = |(place, command): (usize, &Command)| {
            (order_key(seed, tick, command.entity), place as u32)
        };
        self.keys.clear();
        self.keys
            .par_extend(commands.par_iter().enumerate().with_min_len(GRAIN).map(key));
        let bits = (n / RANGE).max(2).ilog2().min(RANGES_BITS_MAX);
        let shift = u64::BITS - bits;
        self.radix
            .sort(workers, &mut self.keys, n, shift..u64::BITS);
        let range = |key: &(u64, u32)| key.0 >> shift;
        let tasks = cut(&mut self.keys[..n], workers.parts(n), range);
        workers.run(tasks, |keys| {
            for keys in keys.chunk_by_mut(|a, b| range(a) == range(b)) {
                keys.sort_unstable_by(|a, b| {
                    let rest =
                        |&(_, place): &(u64, u32)| (commands[place as usize].sequence, place);
                    a.0.cmp(&b.0).then_with(|| rest(a).cmp(&rest(b)))
                });
            }
        });
    }
}

impl Default for CommandOrder {
    fn default() -> CommandOrder {
        CommandOrder::new()
    }
}

/// Cuts a list into about `parts` even parts, none of them inside a range.
fn cut<T>(mut list: &mut [T], parts: usize, range: impl Fn(&T) -> u64) -> Vec<&mut [T]> {
    let most = list.len().div_ceil(parts.max(1)).max(1);
    let mut cuts = Vec::with_capacity(parts + 1);
    while list.len() > most {
        let last = range(&list[most - 1]);
        let end = list.partition_point(|item| range(item) <= last);
        let (part, rest) = list.split_at_mut(end);
        cuts.push(part);
        list = rest;
    }
    cuts.push(list);
    cuts
}

/// About the number of commands that are sorted together: few enough for a core's cache.
const RANGE: usize = 1024;
const RANGES_BITS_MAX: u32 = 10;
/// The number of commands that take a thread some microseconds.
const GRAIN: usize = 2048;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use shared::{CommandKind, EntityId};

    use super::*;

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(24))]

        #[test]
        fn the_order_does_not_depend_on_the_number_of_threads(
            commands in prop::collection::vec((0u32..3000, 0u32..4), 0..50_000),
            tick in 0u64..5,
            threads in 2usize..5,
        ) {
            let mut frame = Frame::new(Tick(tick));
            for (place, &(slot, sequence)) in commands.iter().enumerate() {
                // Many are of the same few entities, and the arguments distinguish equal ones.
                let entity = EntityId::new(slot.saturating_sub(2000), 1);
                frame.push(entity, sequence, CommandKind(3), &[place as i32]);
            }
            let workers = Workers::new(threads).unwrap();
            let mut order = CommandOrder::new();
            // The second time, its memory is in use.
            for _ in 0..2 {
                let mut expected = frame.clone();
                expected.order(7);
                let mut ordered = frame.clone();
                order.order(&workers, &mut ordered, 7);
                prop_assert_eq!(&ordered, &expected);
                prop_assert_eq!(ordered.commands.survey(), expected.commands.survey());
            }
        }
    }
}
