//! Copies between borrowed host memory and the device.
//!
//! Like [`std::thread::scope`], a scope borrows the memory that its copies use until it
//! ends. It always waits for its copies before it ends, even after an error or a panic.

use std::cell::Cell;
use std::marker::PhantomData;

use cust::sys;

use super::device::{Device, Lane};
use super::driver::check;
use crate::Plain;
use crate::error::DriverError;
use crate::layout::Pointer;

/// A scope in which copies run in parallel with the host's work.
pub struct Copies<'scope, 'env: 'scope> {
    device: &'scope Device,
    used: Cell<[bool; 3]>,
    scope: PhantomData<&'scope mut &'scope ()>,
    env: PhantomData<&'env mut &'env ()>,
}

impl Device {
    /// Runs `work`, which may start copies, and waits for all of them.
    pub fn copies<'env, T, E: From<DriverError>>(
        &self,
        work: impl for<'scope> FnOnce(&'scope Copies<'scope, 'env>) -> Result<T, E>,
    ) -> Result<T, E> {
        let copies = Copies {
            device: self,
            used: Cell::new([false; 3]),
            scope: PhantomData,
            env: PhantomData,
        };
        let waits = Waits(&copies);
        let done = work(&copies);
        std::mem::forget(waits);
        copies.wait().map_err(E::from).and(done)
    }

    /// Copies to the device, and waits for it.
    pub fn write<T: Plain>(&self, to: Pointer<T>, from: &[T]) -> Result<(), DriverError> {
        self.copies(|copies| copies.upload(Lane::Work, to, from))
    }

    /// Copies from the device, and waits for it.
    pub fn read<T: Plain>(&self, to: &mut [T], from: Pointer<T>) -> Result<(), DriverError> {
        self.copies(|copies| copies.download(Lane::Work, to, from))
    }
}

impl<'scope> Copies<'scope, '_> {
    pub fn device(&self) -> &'scope Device {
        self.device
    }

    /// Starts an upload.
    ///
    /// # Panics
    /// Panics if the target isn't inside the device's allocation.
    pub fn upload<T: Plain>(
        &'scope self,
        lane: Lane,
        to: Pointer<T>,
        from: &'scope [T],
    ) -> Result<(), DriverError> {
        if from.is_empty() {
            return Ok(());
        }
        self.device.check_range(to.0, size_of_val(from) as u64);
        self.note(lane);
        // SAFETY: the source is borrowed until the scope has waited for the lane, the
        // target is inside our allocation.
        check("cuMemcpyHtoDAsync", unsafe {
            sys::cuMemcpyHtoDAsync_v2(
                to.0,
                from.as_ptr().cast(),
                size_of_val(from),
                self.device.stream(lane),
            )
        })
    }

    /// Starts a download.
    ///
    /// # Panics
    /// Panics if the source isn't inside the device's allocation.
    pub fn download<T: Plain>(
        &'scope self,
        lane: Lane,
        to: &'scope mut [T],
        from: Pointer<T>,
    ) -> Result<(), DriverError> {
        if to.is_empty() {
            return Ok(());
        }
        self.device.check_range(from.0, size_of_val(to) as u64);
        self.note(lane);
        // SAFETY: the target is borrowed, by the copy alone, until the scope has waited
        // for the lane; any bits are values of its type. The source is inside our
        // allocation.
        check("cuMemcpyDtoHAsync", unsafe {
            let bytes = size_of_val(to);
            sys::cuMemcpyDtoHAsync_v2(
                to.as_mut_ptr().cast(),
                from.0,
                bytes,
                self.device.stream(lane),
            )
        })
    }

    /// Starts a copy from another device's memory.
    ///
    /// # Panics
    /// Panics if source or target isn't inside its device's allocation.
    pub fn gather<T: Plain>(
        &self,
        lane: Lane,
        to: Pointer<T>,
        other: &Device,
        from: Pointer<T>,
        n: u64,
    ) -> Result<(), DriverError> {
        self.note(lane);
        self.device.copy_from(lane, to, other, from, n)
    }

    fn note(&self, lane: Lane) {
        let mut used = self.used.get();
        used[lane as usize] = true;
        self.used.set(used);
    }

    fn wait(&self) -> Result<(), DriverError> {
        let lanes = [Lane::Work, Lane::Uploads, Lane::Downloads];
        let mut done = Ok(());
        for lane in lanes
            .into_iter()
            .filter(|&lane| self.used.get()[lane as usize])
        {
            // All lanes are awaited, even after an error.
            done = done.and(self.device.synchronize(lane));
        }
        done
    }
}

/// Waits for the copies if a panic leaves the scope.
struct Waits<'a, 'scope, 'env>(&'a Copies<'scope, 'env>);

impl Drop for Waits<'_, '_, '_> {
    fn drop(&mut self) {
        let _ = self.0.wait();
    }
}
