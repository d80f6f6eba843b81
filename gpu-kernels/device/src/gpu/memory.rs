//! Page-locked host memory, and downloads into it.

use std::ffi::c_void;
use std::ops::{Deref, DerefMut};
use std::ptr::{self, NonNull};
use std::sync::Arc;

use cust::sys;

use super::device::{Device, Event, Lane};
use super::driver::{check, is_loaded};
use crate::Plain;
use crate::error::DriverError;
use crate::layout::Pointer;

/// Values in page-locked memory, so that copies to them and writes of kernels run in
/// parallel with the host's work.
pub struct HostBuffer<T> {
    start: NonNull<T>,
    len: usize,
    device: Arc<Device>,
}

// SAFETY: it owns its memory, like a boxed slice.
unsafe impl<T: Send> Send for HostBuffer<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for HostBuffer<T> {}

impl<T: Plain> HostBuffer<T> {
    /// Creates `len` values whose bytes are all 0.
    pub fn new(device: &Arc<Device>, len: usize) -> Result<HostBuffer<T>, DriverError> {
        device.enter()?;
        let bytes = (len * size_of::<T>()).max(1);
        let mut start = ptr::null_mut();
        // SAFETY: the driver gives memory of the requested length, aligned to a page, and
        // all of it is written before it is read.
        unsafe {
            check(
                "cuMemHostAlloc",
                sys::cuMemHostAlloc(&mut start, bytes, PORTABLE),
            )?;
            start.cast::<u8>().write_bytes(0, bytes);
        }
        let start = NonNull::new(start.cast()).ok_or(DriverError {
            call: "cuMemHostAlloc",
            code: "no memory".to_owned(),
        })?;
        Ok(HostBuffer {
            start,
            len,
            device: device.clone(),
        })
    }

    /// The address for kernels, which is the same as the host's. They write to it over the bus.
    pub fn address(&self) -> Pointer<T> {
        Pointer::new(self.start.as_ptr() as u64)
    }
}

impl<T> Deref for HostBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: ours, filled, and no copy writes to it: a `Download` hides it meanwhile.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.len) }
    }
}

impl<T> DerefMut for HostBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: as above, and ours alone.
        unsafe { std::slice::from_raw_parts_mut(self.start.as_ptr(), self.len) }
    }
}

impl<T> Drop for HostBuffer<T> {
    fn drop(&mut self) {
        let _ = self.device.enter();
        // SAFETY: allocated by the driver, and not used after this: all work of the device
        // is awaited first.
        unsafe {
            let _ = sys::cuCtxSynchronize();
            let _ = sys::cuMemFreeHost(self.start.as_ptr().cast());
        }
    }
}

/// Page-locked memory that is filled by one download after another. It can't be read during
/// a copy, and outlives the copy.
pub struct Download<T> {
    buffer: HostBuffer<T>,
    done: Event,
    is_pending: bool,
}

impl<T: Plain> Download<T> {
    /// Creates memory for `len` values.
    pub fn new(device: &Arc<Device>, len: usize) -> Result<Download<T>, DriverError> {
        Ok(Download {
            buffer: HostBuffer::new(device, len)?,
            done: device.event()?,
            is_pending: false,
        })
    }

    /// Starts a download that fills all of it; waits for the previous download first.
    pub fn start(&mut self, lane: Lane, from: Pointer<T>) -> Result<(), DriverError> {
        self.wait()?;
        let device = self.buffer.device.clone();
        let bytes = size_of_val::<[T]>(&self.buffer);
        device.check_range(from.0, bytes as u64);
        self.is_pending = true;
        // SAFETY: the source is inside the device's allocation; the target is ours, and
        // is neither seen before `done` has passed nor freed before the device is idle.
        check("cuMemcpyDtoHAsync", unsafe {
            let to: *mut c_void = self.buffer.start.as_ptr().cast();
            sys::cuMemcpyDtoHAsync_v2(to, from.0, bytes, device.stream(lane))
        })?;
        device.record(lane, &self.done)
    }

    /// Waits for the last download, and returns the values.
    pub fn wait(&mut self) -> Result<&[T], DriverError> {
        if self.is_pending {
            self.done.wait()?;
            self.is_pending = false;
        }
        Ok(&self.buffer)
    }
}

/// A page-lock on memory owned elsewhere, until this is dropped.
#[derive(Debug)]
pub struct Pinned(usize);

impl Pinned {
    /// Locks `bytes` from `start` on. Returns `None` if they can't be locked or there is no
    /// driver.
    ///
    /// # Safety
    /// They must be one allocation, which is neither moved nor freed before the lock
    /// is dropped.
    pub unsafe fn new(start: *const c_void, bytes: usize) -> Option<Pinned> {
        if bytes == 0 || !is_loaded() {
            return None;
        }
        // SAFETY: by the caller's promise the range is a live allocation; locking it
        // changes nothing in it.
        let locked = unsafe { sys::cuMemHostRegister_v2(start.cast_mut(), bytes, PORTABLE) };
        match locked {
            sys::CUresult::CUDA_SUCCESS => Some(Pinned(start as usize)),
            _ => None,
        }
    }
}

impl Drop for Pinned {
    fn drop(&mut self) {
        // SAFETY: locked by us, and still there.
        unsafe {
            let _ = sys::cuMemHostUnregister(self.0 as *mut c_void);
        }
    }
}

/// Locked for all GPUs, not only for the one that this thread uses.
const PORTABLE: u32 = 1;
