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
    /// By device: the last round in which it submitted that it passes, or never will.
    submitted: Vec<AtomicU64>,
}

impl Rounds {
    pub fn new(devices: &[Arc<Device>]) -> Result<Rounds, DriverError> {
        let event = |device: &Arc<Device>| {
            device.enter()?;
            device.event()
        };
        Ok(Rounds {
            passed: devices.iter().map(event).collect::<Result<_, _>>()?,
            submitted: devices.iter().map(|_| AtomicU64::new(0)).collect(),
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
        let recorded = device.record(lane, &self.passed[i]);
        self.end(i, round);
        recorded
    }

    /// No thread has to wait for device number `i` to submit that it passes. Every thread calls
    /// this in every round, also after an error, or others would wait for ever.
    pub fn end(&self, i: usize, round: u64) {
        self.submitted[i].store(round, Ordering::Release);
    }

    /// Lets a device's lane wait until device number `i` has passed.
    pub fn follow(
        &self,
        i: usize,
        device: &Device,
        lane: Lane,
        round: u64,
    ) -> Result<(), DriverError> {
        // An event counts only if it was recorded before.
        while self.submitted[i].load(Ordering::Acquire) < round {
            std::thread::yield_now();
        }
        device.follow(lane, &self.passed[i])
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
