//! What the parts of a world tell each other in a tick, and in what order.

use std::ops::Range;
use std::sync::{Arc, OnceLock};

use device::{Copies, Device, DriverError, Exchange, Lane, Plain, Pointer, Rounds};
use shared::WorldConfig;

use crate::tick::error::TickError;
use crate::tick::frame::{Frame, Survey};
use crate::tick::parts::Cuts;

/// A frame that all parts run, and what only one of them has to find out about it.
pub struct Shared<'a> {
    pub frame: &'a Frame,
    pub cuts: &'a Cuts,
    /// Of this submission, from 1: a frame that was refused leaves its tick to another.
    pub round: u64,
    checked: OnceLock<(Survey, Result<(), TickError>)>,
}

impl<'a> Shared<'a> {
    pub fn new(frame: &'a Frame, cuts: &'a Cuts, round: u64) -> Shared<'a> {
        Shared {
            frame,
            cuts,
            round,
            checked: OnceLock::new(),
        }
    }

    /// The survey of a frame that passes its checks. The first part to ask makes it.
    pub fn survey(&self, config: &WorldConfig) -> Result<Survey, TickError> {
        let (survey, checked) = self.checked.get_or_init(|| {
            let survey = self.frame.commands.survey();
            let words = self.frame.check_words(&survey);
            let after = words.and_then(|()| self.frame.check_after());
            (survey, after.and_then(|()| self.frame.check_rows(config)))
        });
        checked.clone().map(|()| *survey)
    }
}

/// The links between all parts of a world.
pub struct Links {
    devices: Vec<Arc<Device>>,
    /// By part: the address of its first buffer. Buffers have the same places in all parts.
    bases: Vec<u64>,
    /// By parity of the tick: a part has its shares of the frame.
    uploads: [Rounds; 2],
    /// By parity of the tick: the number of each part's deliveries.
    deliveries: [Exchange; 2],
}

impl Links {
    pub fn new(devices: &[Arc<Device>], bases: Vec<u64>) -> Result<Links, DriverError> {
        for device in devices {
            device.link(devices)?;
        }
        Ok(Links {
            devices: devices.to_vec(),
            bases,
            uploads: [Rounds::new(devices)?, Rounds::new(devices)?],
            deliveries: [Exchange::new(devices)?, Exchange::new(devices)?],
        })
    }
}

/// A part's end of the links in one tick. However the submission of the tick ends, others
/// do not wait for this part any more; what needs something of a part that has failed fails.
pub struct Link {
    links: Option<Arc<Links>>,
    part: usize,
    parity: usize,
    round: u64,
}

impl Link {
    /// `links` is `None` for the only part.
    pub fn new(links: Option<Arc<Links>>, part: usize, parity: usize, round: u64) -> Link {
        Link {
            links,
            part,
            parity,
            round,
        }
    }

    /// The share of a frame's `n` items that this part uploads; it gets the others' shares
    /// from them.
    pub fn share(&self, n: usize) -> Range<usize> {
        match &self.links {
            Some(links) => share_of(self.part, links.devices.len(), n),
            None => 0..n,
        }
    }

    /// Says that the uploads of this part's shares are submitted.
    pub fn uploaded(&self, device: &Device) -> Result<(), DriverError> {
        let Some(links) = &self.links else {
            return Ok(());
        };
        links.uploads[self.parity].pass(self.part, device, Lane::Uploads, self.round)
    }

    /// Copies the others' shares of `n` items.
    pub fn gather<T: Plain>(
        &self,
        copies: &Copies<'_, '_>,
        to: Pointer<T>,
        n: usize,
    ) -> Result<(), DriverError> {
        let Some(links) = &self.links else {
            return Ok(());
        };
        let (lane, uploads) = (Lane::Uploads, &links.uploads[self.parity]);
        for (other, device) in links.devices.iter().enumerate() {
            if other == self.part {
                continue;
            }
            uploads.follow(other, copies.device(), lane, self.round)?;
            let share = share_of(other, links.devices.len(), n);
            let to = to.at(share.start as u64);
            let from = Pointer::new(to.0 - links.bases[self.part] + links.bases[other]);
            copies.gather(lane, to, device, from, share.len() as u64)?;
        }
        Ok(())
    }

    /// Puts the number of this part's deliveries, which is at `own`, and gets those of all
    /// parts before it.
    pub fn exchange(&self, own: Pointer<u64>, before: Pointer<u64>) -> Result<(), DriverError> {
        let Some(links) = &self.links else {
            return Ok(());
        };
        let exchange = &links.deliveries[self.parity];
        exchange.put(self.part, own, self.round)?;
        exchange.get(self.part, before, self.round)
    }
}

impl Drop for Link {
    fn drop(&mut self) {
        if let Some(links) = &self.links {
            links.uploads[self.parity].end(self.part, self.round);
            links.deliveries[self.parity].end(self.part, self.round);
        }
    }
}

fn share_of(part: usize, parts: usize, n: usize) -> Range<usize> {
    n * part / parts..n * (part + 1) / parts
}
