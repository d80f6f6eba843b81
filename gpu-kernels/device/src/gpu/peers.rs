//! Several devices of one process: one waits for another, copies from it, and signals the
//! others a number. Where GPUs can't reach each other's memory, the driver copies by way of
//! the host.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use cust::sys;

use super::device::{Device, Event, Lane};
use super::driver::check;
use super::memory::HostBuffer;
use crate::Plain;
use crate::error::DriverError;
use crate::layout::Pointer;

impl Device {
    /// Lets copies from these devices go over the direct link, where there is one.
    pub fn link(&self, others: &[Arc<Device>]) -> Result<(), DriverError> {
        self.enter()?;
        for other in others {
            let mut is_possible = 0;
            // SAFETY: the number is written by the call, both devices are open.
            check("cuDeviceCanAccessPeer", unsafe {
                sys::cuDeviceCanAccessPeer(
                    &mut is_possible,
                    self.context().device,
                    other.context().device,
                )
            })?;
            if is_possible == 0 {
                continue;
            }
            // SAFETY: contexts live as long as the process. An error means that the link is
            // in use already, or can't be: copies work without.
            let _ = unsafe { sys::cuCtxEnablePeerAccess(other.context().handle, 0) };
        }
        Ok(())
    }

    /// Lets the work lane wait for all that was submitted to another device's work lane so
    /// far. This device is entered afterwards.
    pub fn wait_for(&self, other: &Device) -> Result<(), DriverError> {
        other.enter()?;
        let passed = other.event()?;
        other.record(Lane::Work, &passed)?;
        self.enter()?;
        self.follow(Lane::Work, &passed)
    }

    /// Copies `n` values from another device's memory, on a lane of this device.
    pub fn copy_from<T: Plain>(
        &self,
        lane: Lane,
        to: Pointer<T>,
        other: &Device,
        from: Pointer<T>,
        n: u64,
    ) -> Result<(), DriverError> {
        let bytes = n * size_of::<T>() as u64;
        if bytes == 0 {
            return Ok(());
        }
        self.check_range(to.0, bytes);
        other.check_range(from.0, bytes);
        // SAFETY: each range is inside its device's allocation.
        check("cuMemcpyPeerAsync", unsafe {
            sys::cuMemcpyPeerAsync(
                to.0,
                self.context().handle,
                from.0,
                other.context().handle,
                bytes as usize,
                self.stream(lane),
            )
        })
    }
}

/// A point that each of several devices passes once in every round, for the others to wait
/// for. Each device has a thread of its own. Rounds count from 1.
pub struct Rounds {
    passed: Vec<Event>,
    turns: Turns,
}

impl Rounds {
    pub fn new(devices: &[Arc<Device>]) -> Result<Rounds, DriverError> {
        let event = |device: &Arc<Device>| {
            device.enter()?;
            device.event()
        };
        Ok(Rounds {
            passed: devices.iter().map(event).collect::<Result<_, _>>()?,
            turns: Turns::new(devices.len()),
        })
    }

    /// Device number `i` passes when its lane has done what was submitted so far.
    pub fn pass(
        &self,
        i: usize,
        device: &Device,
        lane: Lane,
        round: u64,
    ) -> Result<(), DriverError> {
        device.record(lane, &self.passed[i])?;
        self.turns.pass(i, round);
        Ok(())
    }

    /// No thread has to wait for device number `i` to submit that it passes. Every thread calls
    /// this in every round, also after an error, or others would wait for ever.
    pub fn end(&self, i: usize, round: u64) {
        self.turns.end(i, round);
    }

    /// Lets a device's lane wait until device number `i` has passed. Fails if that one never
    /// will: there is nothing to continue with.
    pub fn follow(
        &self,
        i: usize,
        device: &Device,
        lane: Lane,
        round: u64,
    ) -> Result<(), DriverError> {
        // An event counts only if it was recorded before.
        match self.turns.wait(i, round) {
            true => device.follow(lane, &self.passed[i]),
            false => Err(DriverError::of_another()),
        }
    }
}

/// By thread: the last round in which it has passed, or has ended without; as twice the round,
/// one more if it has passed.
struct Turns(Vec<AtomicU64>);

impl Turns {
    fn new(threads: usize) -> Turns {
        Turns((0..threads).map(|_| AtomicU64::new(0)).collect())
    }

    fn pass(&self, i: usize, round: u64) {
        self.0[i].store(2 * round + 1, Ordering::Release);
    }

    fn end(&self, i: usize, round: u64) {
        self.0[i].fetch_max(2 * round, Ordering::Release);
    }

    /// Waits for thread number `i`. False if it has not passed.
    fn wait(&self, i: usize, round: u64) -> bool {
        loop {
            let turn = self.0[i].load(Ordering::Acquire);
            if turn >= 2 * round {
                return turn > 2 * round;
            }
            std::thread::yield_now();
        }
    }
}

/// One number of each device, by way of page-locked memory: a device's work lane puts its
/// number, and those of later devices get it, once in every round.
pub struct Exchange {
    numbers: HostBuffer<u64>,
    put: Rounds,
    devices: Vec<Arc<Device>>,
}

impl Exchange {
    pub fn new(devices: &[Arc<Device>]) -> Result<Exchange, DriverError> {
        Ok(Exchange {
            numbers: HostBuffer::new(&devices[0], devices.len())?,
            put: Rounds::new(devices)?,
            devices: devices.to_vec(),
        })
    }

    /// Submits that device number `i` puts its number.
    pub fn put(&self, i: usize, from: Pointer<u64>, round: u64) -> Result<(), DriverError> {
        let device = &self.devices[i];
        device.check_range(from.0, size_of::<u64>() as u64);
        let to = self.numbers.address().at(i as u64);
        // SAFETY: the source is inside the device's allocation. The target is ours, has a
        // place for each device, is not read by the host, and outlives the copy: `drop`
        // waits for all devices.
        check("cuMemcpyDtoHAsync", unsafe {
            sys::cuMemcpyDtoHAsync_v2(
                to.0 as *mut _,
                from.0,
                size_of::<u64>(),
                device.stream(Lane::Work),
            )
        })?;
        self.put.pass(i, device, Lane::Work, round)
    }

    /// As [`Rounds::end`].
    pub fn end(&self, i: usize, round: u64) {
        self.put.end(i, round);
    }

    /// Submits that device number `i` gets the numbers of all devices before it.
    pub fn get(&self, i: usize, to: Pointer<u64>, round: u64) -> Result<(), DriverError> {
        let device = &self.devices[i];
        for other in 0..i {
            self.put.follow(other, device, Lane::Work, round)?;
        }
        let bytes = i * size_of::<u64>();
        if bytes == 0 {
            return Ok(());
        }
        device.check_range(to.0, bytes as u64);
        // SAFETY: the target is inside the device's allocation, the source has a place for
        // each device and outlives the copy.
        check("cuMemcpyHtoDAsync", unsafe {
            sys::cuMemcpyHtoDAsync_v2(
                to.0,
                self.numbers.address().0 as *const _,
                bytes,
                device.stream(Lane::Work),
            )
        })
    }
}

impl Drop for Exchange {
    fn drop(&mut self) {
        for device in &self.devices {
            let _ = device.enter();
            let _ = device.synchronize(Lane::Work);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::Crew;

    /// Ends its thread's turns however the work of the thread ends, as a part of a tick does.
    struct Ends<'a>(&'a [Turns; 2], usize, u64);

    impl Drop for Ends<'_> {
        fn drop(&mut self) {
            self.0.iter().for_each(|turns| turns.end(self.1, self.2));
        }
    }

    #[test]
    fn nobody_waits_for_a_thread_that_fails_and_nobody_goes_on_without_what_it_gives() {
        let mut crew = Crew::new(2).unwrap();
        let turns = [Turns::new(3), Turns::new(3)];
        let mut round = 0;
        // Before each of two meetings, and not at all.
        for fails_before in 0..3 {
            for failing in 0..3 {
                round += 1;
                let reached = crew.run(vec![0, 1, 2], |i| {
                    let _ends = Ends(&turns, i, round);
                    for (meeting, turns) in turns.iter().enumerate() {
                        if (i, meeting) == (failing, fails_before) {
                            return meeting;
                        }
                        turns.pass(i, round);
                        // All are awaited, also where one is known to fail.
                        let passed = [0, 1, 2].map(|other| turns.wait(other, round));
                        if passed.contains(&false) {
                            return meeting;
                        }
                    }
                    2
                });
                assert_eq!(
                    reached, [fails_before; 3],
                    "{failing} before {fails_before}"
                );
            }
        }
    }
}
