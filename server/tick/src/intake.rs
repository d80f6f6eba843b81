//! From the shards' inboxes into the frame of a tick.

use std::time::Instant;

use device::cpu::Workers;
use frontend::inbox::{Inbox, Sample, SampledCommand, SessionChange, SharedInbox};
use gpu_kernels::{Batch, Frame};
use platform::metrics::counts::Refusals;
use shared::wire::control::Ticket;

use super::directory::Directory;
use super::requests::RequestQueue;
use super::texts::Texts;

/// The tick's ends of the inboxes.
pub struct Intake {
    /// By shard.
    inboxes: Vec<SharedInbox>,
    /// By shard: an inbox to swap in, empty between ticks but for its memory.
    spares: Vec<Inbox>,
    tickets: Box<dyn FnMut() -> Ticket + Send>,
    /// A command of the next tick is to be traced.
    pub wants_sample: bool,
    /// A sample of this tick's commands, and its shard.
    sampled: Option<(usize, Sample)>,
}

impl Intake {
    pub fn new(inboxes: Vec<SharedInbox>) -> Intake {
        Intake {
            spares: inboxes.iter().map(|_| Inbox::default()).collect(),
            inboxes,
            tickets: Box::new(random_tickets()),
            wants_sample: false,
            sampled: None,
        }
    }

    /// By shard: the newest message with input that the gathered tick has.
    pub fn messages(&self) -> Vec<u64> {
        self.spares.iter().map(|inbox| inbox.message).collect()
    }

    /// Gives tickets from another source from now on.
    pub fn set_tickets(&mut self, tickets: impl FnMut() -> Ticket + Send + 'static) {
        self.tickets = Box::new(tickets);
    }

    /// The inboxes, for another tick thread.
    pub fn into_inboxes(self) -> Vec<SharedInbox> {
        self.inboxes
    }

    /// The command that is traced of the gathered tick, which began at a time, and its shard.
    pub fn take_sampled(&mut self, begun: Instant) -> Option<(usize, SampledCommand)> {
        let (shard, sample) = self.sampled.take()?;
        Some((shard, sample.command(begun)?))
    }

    /// Takes joins, leaves, requests and commands, and returns the shards' refusals.
    pub fn gather(
        &mut self,
        workers: &Workers,
        directory: &mut Directory,
        (requests, texts): (&mut RequestQueue, &mut Texts),
        frame: &mut Frame,
    ) -> Refusals {
        let mut refusals = Refusals::default();
        // Each time another shard comes first.
        let first = frame.tick.0 % self.inboxes.len().max(1) as u64;
        let mut has_first = false;
        self.sampled = None;
        for (shard, (shared, inbox)) in self.inboxes.iter().zip(&mut self.spares).enumerate() {
            inbox.reset();
            if self.wants_sample {
                inbox.sample = Some(Sample::new(frame.tick.0));
            }
            shared.swap(inbox, frame.tick);
            let sampled = inbox.sample.filter(Sample::has_command);
            let is_first = shard as u64 >= first;
            if let Some(sampled) = sampled
                && (self.sampled.is_none() || is_first && !has_first)
            {
                self.sampled = Some((shard, sampled));
                has_first = is_first;
            }
            // Before sessions begin: they continue after these commands.
            for session in inbox.confirmed.drain(..) {
                directory.confirm((shard, session));
            }
            refusals.commands_repeated += directory.note_commands(&mut inbox.commands);
            let owner = |entity| directory.actor(entity);
            refusals.texts_foreign += texts.check(&mut inbox.commands, frame.tick, owner);
        }
        for (shard, inbox) in self.spares.iter_mut().enumerate() {
            for change in inbox.changes() {
                match change {
                    SessionChange::Join(join) => {
                        directory.join(shard, join, (self.tickets)(), frame);
                    }
                    SessionChange::Leave(leave) => directory.leave(shard, leave, frame),
                }
            }
            requests.push(directory, shard, inbox.requests.drain(..));
            refusals += inbox.refusals;
        }
        let commands: Vec<&Batch> = self.spares.iter().map(|inbox| &inbox.commands).collect();
        frame.append(workers, &commands);
        refusals
    }
}

/// Numbers that nobody can guess.
pub fn random_numbers() -> impl FnMut() -> u32 + Send {
    let mut tickets = random_tickets();
    move || {
        let [a, b, c, d, ..] = tickets();
        u32::from_le_bytes([a, b, c, d])
    }
}

/// Session tickets: unguessable, from the TLS library's generator.
fn random_tickets() -> impl FnMut() -> Ticket + Send {
    let provider = rustls::crypto::ring::default_provider();
    move || {
        let mut ticket = Ticket::default();
        // Without randomness TLS would not work either.
        provider
            .secure_random
            .fill(&mut ticket)
            .expect("the system gives random bytes");
        ticket
    }
}

#[cfg(test)]
mod tests {
    use frontend::inbox::{Join, Leave};
    use gpu_kernels::{Backend, CpuBackend};
    use shared::Tick;

    use super::*;

    #[test]
    fn clients_that_join_and_leave_within_a_tick_leave_no_entity_behind() {
        let text = "[world]\ncapacity = 8\n[limits]\nclients = 8\nresume_seconds = 1";
        let config = world_file::parse(text, "test").unwrap();
        let mut backend = CpuBackend::new(&config, 1, None).unwrap();
        let mut directory = Directory::new(&config);
        let mut requests = RequestQueue::new(&config);
        let mut texts = Texts::new(&config, || 0);
        let inbox = SharedInbox::default();
        let mut intake = Intake::new(vec![inbox.clone()]);
        let workers = Workers::new(1).unwrap();
        let mut frame = Frame::new(Tick(0));
        for session in 0..40 {
            inbox.lock().join(Join {
                session,
                ..Join::default()
            });
            let is_final = false;
            inbox.lock().leave(Leave { session, is_final });
            let requests = (&mut requests, &mut texts);
            intake.gather(&workers, &mut directory, requests, &mut frame);
            let acked_through = frame.tick;
            directory.prepare(&mut frame, acked_through);
            let output = backend.tick(&frame).unwrap();
            assert!(output.births.is_empty(), "session {session}");
            directory.settle(&output, |_| [0; 3]);
            assert_eq!(directory.live(), 0, "session {session}");
            frame.reset(output.tick.next());
        }
    }
}
