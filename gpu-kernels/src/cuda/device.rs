//! The CUDA driver, behind a small safe face: the only code that calls it.
//!
//! A device buffer is an address inside the one allocation that [`Device`] owns,
//! so addresses stay good as long as the device does.
#![allow(unsafe_code)]

use std::ffi::{CStr, CString, c_void};
use std::ptr;
use std::sync::OnceLock;

use cust::sys;
use thiserror::Error;

use super::layout::{Pointer, SIZES};

/// A driver call that failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{call}: {code}")]
pub struct DriverError {
    pub call: &'static str,
    pub code: String,
}

/// Why there is no device to use.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoDevice {
    #[error("no CUDA driver: libcuda.so.1 cannot be loaded")]
    NoDriver,
    #[error("the CUDA driver finds no GPU")]
    NoGpu,
    #[error("the GPU cannot run the kernels: {0}")]
    Kernels(String),
    #[error("the CUDA driver fails: {0}")]
    Driver(#[from] DriverError),
}

/// What the driver says of a GPU.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuInfo {
    pub name: String,
    /// The CUDA version that the driver knows, as in 13.0.
    pub cuda: (u32, u32),
    pub memory_free: u64,
    pub memory_total: u64,
}

unsafe extern "C" {
    fn myriad_cuda_load() -> i32;
}

/// The first GPU, with a stream for work, one for downloads, and the kernels.
pub struct Device {
    context: sys::CUcontext,
    module: sys::CUmodule,
    work: sys::CUstream,
    uploads: sys::CUstream,
    downloads: sys::CUstream,
    /// The one allocation, and its bytes.
    memory: Pointer,
    bytes: u64,
}

// SAFETY: the driver's handles may be used from any thread once the context is
// current there, which every method sees to.
unsafe impl Send for Device {}

/// Which of the device's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Work,
    Uploads,
    Downloads,
}

/// A kernel by name.
#[derive(Clone, Copy, Debug)]
pub struct Kernel(sys::CUfunction);

// SAFETY: a function handle is a name for code in the module.
unsafe impl Send for Kernel {}

/// A mark in a stream.
pub struct Event(sys::CUevent);

// SAFETY: see `Device`.
unsafe impl Send for Event {}

/// How a kernel is launched.
#[derive(Clone, Copy, Debug)]
pub struct Grid {
    pub blocks: u32,
    pub threads: u32,
    pub shared_bytes: u32,
}

fn check(call: &'static str, result: sys::CUresult) -> Result<(), DriverError> {
    if result == sys::CUresult::CUDA_SUCCESS {
        return Ok(());
    }
    let mut name = ptr::null();
    // SAFETY: the driver writes the address of a constant string, or leaves null.
    let code = unsafe {
        let _ = sys::cuGetErrorName(result, &mut name);
        if name.is_null() {
            format!("error {}", result as u32)
        } else {
            CStr::from_ptr(name).to_string_lossy().into_owned()
        }
    };
    Err(DriverError { call, code })
}

/// The first GPU's primary context, kept for as long as the process lives: making
/// one takes most of a second.
struct Context(sys::CUcontext);

// SAFETY: the driver's contexts may be used from any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// Loads the driver and opens the first GPU, once.
fn context() -> Result<&'static Context, NoDevice> {
    static LOADED: OnceLock<Result<Context, NoDevice>> = OnceLock::new();
    LOADED
        .get_or_init(|| {
            // SAFETY: fills our own table of entry points; done once.
            if unsafe { myriad_cuda_load() } == 0 {
                return Err(NoDevice::NoDriver);
            }
            // SAFETY: plain calls into the driver.
            unsafe {
                check("cuInit", sys::cuInit(0)).map_err(|_| NoDevice::NoGpu)?;
                let mut count = 0;
                check("cuDeviceGetCount", sys::cuDeviceGetCount(&mut count))?;
                if count == 0 {
                    return Err(NoDevice::NoGpu);
                }
                let mut device = 0;
                check("cuDeviceGet", sys::cuDeviceGet(&mut device, 0))?;
                let mut context = ptr::null_mut();
                check(
                    "cuDevicePrimaryCtxRetain",
                    sys::cuDevicePrimaryCtxRetain(&mut context, device),
                )?;
                Ok(Context(context))
            }
        })
        .as_ref()
        .map_err(Clone::clone)
}

impl Device {
    /// Opens the first GPU and loads the kernels.
    pub fn open(fatbin: &[u8]) -> Result<Device, NoDevice> {
        let context = context()?.0;
        // SAFETY: each handle is written by the call before it is used, and the
        // image outlives the load.
        unsafe {
            check("cuCtxSetCurrent", sys::cuCtxSetCurrent(context))?;
            let mut module = ptr::null_mut();
            check(
                "cuModuleLoadData",
                sys::cuModuleLoadData(&mut module, fatbin.as_ptr().cast()),
            )
            .map_err(|error| NoDevice::Kernels(error.to_string()))?;
            let mut streams = [ptr::null_mut(); 3];
            for stream in &mut streams {
                check("cuStreamCreate", sys::cuStreamCreate(stream, NON_BLOCKING))?;
            }
            let device = Device {
                context,
                module,
                work: streams[0],
                uploads: streams[1],
                downloads: streams[2],
                memory: 0,
                bytes: 0,
            };
            device.check_layout()?;
            Ok(device)
        }
    }

    /// The kernels must have been built for these very structures.
    fn check_layout(&self) -> Result<(), NoDevice> {
        let mut sizes = [0u32; SIZES.len()];
        self.read_global("layout_bytes", &mut sizes)?;
        if sizes != SIZES {
            return Err(NoDevice::Kernels(format!(
                "they were built for structures of {sizes:?} bytes, not {SIZES:?}; rebuild them"
            )));
        }
        let mut built = [0u64];
        self.read_global("sources_hash", &mut built)?;
        let built = format!("{:016x}", built[0]);
        match SOURCES_HASH == built {
            true => Ok(()),
            false => Err(NoDevice::Kernels(format!(
                "they were built from sources {built}, the manifest names {SOURCES_HASH}; rebuild them"
            ))),
        }
    }

    /// Copies a variable of the module, as much as fits.
    pub fn read_global<T: Copy>(&self, name: &str, out: &mut [T]) -> Result<(), DriverError> {
        let name = CString::new(name).expect("a constant name without zeros");
        // SAFETY: the driver gives the variable's own address and size, and no
        // more than fits is copied.
        unsafe {
            let (mut address, mut bytes) = (0, 0);
            check(
                "cuModuleGetGlobal",
                sys::cuModuleGetGlobal_v2(&mut address, &mut bytes, self.module, name.as_ptr()),
            )?;
            let bytes = bytes.min(size_of_val(out));
            check(
                "cuMemcpyDtoH",
                sys::cuMemcpyDtoH_v2(out.as_mut_ptr().cast(), address, bytes),
            )
        }
    }

    /// Makes the device's context current on this thread.
    pub fn enter(&self) -> Result<(), DriverError> {
        // SAFETY: the context lives as long as the device.
        check("cuCtxSetCurrent", unsafe {
            sys::cuCtxSetCurrent(self.context)
        })
    }

    pub fn info(&self) -> Result<GpuInfo, DriverError> {
        self.enter()?;
        // SAFETY: the buffer is as long as it is said to be.
        unsafe {
            let mut name = [0; 256];
            check(
                "cuDeviceGetName",
                sys::cuDeviceGetName(name.as_mut_ptr(), 256, 0),
            )?;
            let mut version = 0;
            check("cuDriverGetVersion", sys::cuDriverGetVersion(&mut version))?;
            let (mut free, mut total) = (0, 0);
            check("cuMemGetInfo", sys::cuMemGetInfo_v2(&mut free, &mut total))?;
            Ok(GpuInfo {
                name: CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned(),
                cuda: (version as u32 / 1000, version as u32 % 1000 / 10),
                memory_free: free as u64,
                memory_total: total as u64,
            })
        }
    }

    /// Takes the device's one allocation.
    pub fn allocate(&mut self, bytes: u64) -> Result<Pointer, DriverError> {
        self.enter()?;
        // SAFETY: the address is the driver's, and no longer than asked for.
        unsafe {
            check(
                "cuMemAlloc",
                sys::cuMemAlloc_v2(&mut self.memory, bytes as usize),
            )?;
            self.bytes = bytes;
        }
        Ok(self.memory)
    }

    pub fn kernel(&self, name: &str) -> Result<Kernel, DriverError> {
        let name = CString::new(name).expect("a constant name without zeros");
        let mut function = ptr::null_mut();
        // SAFETY: the handle is written before it is used.
        check("cuModuleGetFunction", unsafe {
            sys::cuModuleGetFunction(&mut function, self.module, name.as_ptr())
        })?;
        Ok(Kernel(function))
    }

    /// Launches a kernel on the work stream. The arguments must be what the
    /// kernel's parameters are, in size and order; device code checks its own
    /// bounds.
    pub fn launch(
        &self,
        kernel: Kernel,
        grid: Grid,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DriverError> {
        if grid.blocks == 0 {
            return Ok(());
        }
        // SAFETY: the driver reads each argument before it returns.
        check("cuLaunchKernel", unsafe {
            sys::cuLaunchKernel(
                kernel.0,
                grid.blocks,
                1,
                1,
                grid.threads,
                1,
                1,
                grid.shared_bytes,
                self.work,
                arguments.as_mut_ptr(),
                ptr::null_mut(),
            )
        })
    }

    /// Launches a kernel whose blocks all run at once, so that they may wait for
    /// each other: at most [`Device::resident_blocks`] of them.
    pub fn launch_cooperative(
        &self,
        kernel: Kernel,
        grid: Grid,
        arguments: &mut [*mut c_void],
    ) -> Result<(), DriverError> {
        // SAFETY: as in `launch`; the driver refuses a grid that is too large.
        check("cuLaunchCooperativeKernel", unsafe {
            sys::cuLaunchCooperativeKernel(
                kernel.0,
                grid.blocks,
                1,
                1,
                grid.threads,
                1,
                1,
                grid.shared_bytes,
                self.work,
                arguments.as_mut_ptr(),
            )
        })
    }

    /// How many blocks of so many threads the GPU runs at once.
    pub fn resident_blocks(&self, kernel: Kernel, threads: u32) -> Result<u32, DriverError> {
        let (mut blocks, mut multiprocessors) = (0, 0);
        // SAFETY: both are written by the calls.
        unsafe {
            check(
                "cuOccupancyMaxActiveBlocksPerMultiprocessor",
                sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                    &mut blocks,
                    kernel.0,
                    threads as i32,
                    0,
                ),
            )?;
            let attribute = sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT;
            check(
                "cuDeviceGetAttribute",
                sys::cuDeviceGetAttribute(&mut multiprocessors, attribute, 0),
            )?;
        }
        Ok(blocks as u32 * multiprocessors as u32)
    }

    /// Sets bytes on the work lane.
    pub fn fill(&self, start: Pointer, bytes: u64, byte: u8) -> Result<(), DriverError> {
        if bytes == 0 {
            return Ok(());
        }
        self.check_range(start, bytes);
        // SAFETY: the range is inside our allocation.
        check("cuMemsetD8Async", unsafe {
            sys::cuMemsetD8Async(start, byte, bytes as usize, self.work)
        })
    }

    /// Starts an upload; `from` must not change before the lane is past it.
    pub fn upload<T: Copy>(&self, lane: Lane, to: Pointer, from: &[T]) -> Result<(), DriverError> {
        if from.is_empty() {
            return Ok(());
        }
        self.check_range(to, size_of_val(from) as u64);
        // SAFETY: the source is a live slice, the target inside our allocation.
        check("cuMemcpyHtoDAsync", unsafe {
            sys::cuMemcpyHtoDAsync_v2(
                to,
                from.as_ptr().cast(),
                size_of_val(from),
                self.stream(lane),
            )
        })
    }

    /// Starts a download; `to` must live until the lane is past it.
    pub fn download<T: Copy>(
        &self,
        lane: Lane,
        to: &mut [T],
        from: Pointer,
    ) -> Result<(), DriverError> {
        if to.is_empty() {
            return Ok(());
        }
        self.check_range(from, size_of_val(to) as u64);
        // SAFETY: the target is a live slice of plain numbers, the source inside
        // our allocation.
        check("cuMemcpyDtoHAsync", unsafe {
            let bytes = size_of_val(to);
            sys::cuMemcpyDtoHAsync_v2(to.as_mut_ptr().cast(), from, bytes, self.stream(lane))
        })
    }

    /// Waits until a lane has done all it was given.
    pub fn synchronize(&self, lane: Lane) -> Result<(), DriverError> {
        // SAFETY: the stream lives as long as the device.
        check("cuStreamSynchronize", unsafe {
            sys::cuStreamSynchronize(self.stream(lane))
        })
    }

    pub fn event(&self) -> Result<Event, DriverError> {
        let mut event = ptr::null_mut();
        // SAFETY: the handle is written before it is used.
        check("cuEventCreate", unsafe {
            sys::cuEventCreate(&mut event, 0)
        })?;
        Ok(Event(event))
    }

    pub fn record(&self, lane: Lane, event: &Event) -> Result<(), DriverError> {
        // SAFETY: both live as long as the device.
        check("cuEventRecord", unsafe {
            sys::cuEventRecord(event.0, self.stream(lane))
        })
    }

    /// Lets a lane wait for an event of another.
    pub fn follow(&self, lane: Lane, event: &Event) -> Result<(), DriverError> {
        // SAFETY: both live as long as the device.
        check("cuStreamWaitEvent", unsafe {
            sys::cuStreamWaitEvent(self.stream(lane), event.0, 0)
        })
    }

    /// Milliseconds between two events that have both passed.
    pub fn elapsed_ms(&self, from: &Event, to: &Event) -> Result<f32, DriverError> {
        let mut ms = 0.0;
        // SAFETY: plain calls with live handles.
        check("cuEventElapsedTime", unsafe {
            sys::cuEventElapsedTime(&mut ms, from.0, to.0)
        })?;
        Ok(ms)
    }

    pub fn wait(&self, event: &Event) -> Result<(), DriverError> {
        // SAFETY: as above.
        check("cuEventSynchronize", unsafe {
            sys::cuEventSynchronize(event.0)
        })
    }

    fn stream(&self, lane: Lane) -> sys::CUstream {
        match lane {
            Lane::Work => self.work,
            Lane::Uploads => self.uploads,
            Lane::Downloads => self.downloads,
        }
    }

    fn check_range(&self, start: Pointer, bytes: u64) {
        let inside = start >= self.memory && start + bytes <= self.memory + self.bytes;
        assert!(inside, "a copy outside the device's allocation");
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        // SAFETY: nothing uses the handles after this. What fails now has failed
        // before, and was reported then.
        unsafe {
            let _ = sys::cuCtxSetCurrent(self.context);
            let _ = sys::cuStreamSynchronize(self.work);
            let _ = sys::cuStreamSynchronize(self.uploads);
            let _ = sys::cuStreamSynchronize(self.downloads);
            if self.memory != 0 {
                let _ = sys::cuMemFree_v2(self.memory);
            }
            let _ = sys::cuStreamDestroy_v2(self.work);
            let _ = sys::cuStreamDestroy_v2(self.uploads);
            let _ = sys::cuStreamDestroy_v2(self.downloads);
            let _ = sys::cuModuleUnload(self.module);
        }
    }
}

/// Numbers in page-locked memory of their own, so that a copy to them doesn't make
/// the host wait.
pub struct HostBuffer<T> {
    start: *mut T,
    len: usize,
}

// SAFETY: it owns its memory, like a boxed slice.
unsafe impl<T: Send> Send for HostBuffer<T> {}

impl<T: Copy + Default> HostBuffer<T> {
    /// `len` defaults.
    pub fn new(device: &Device, len: usize) -> Result<HostBuffer<T>, DriverError> {
        device.enter()?;
        let mut start = ptr::null_mut();
        // SAFETY: the driver gives memory aligned for any number, as long as asked
        // for, which is filled before anybody sees it.
        unsafe {
            check(
                "cuMemHostAlloc",
                sys::cuMemHostAlloc(&mut start, len * size_of::<T>(), 0),
            )?;
            let start: *mut T = start.cast();
            for i in 0..len {
                start.add(i).write(T::default());
            }
            Ok(HostBuffer { start, len })
        }
    }

    /// Where kernels find it: with one address space for host and devices, at the
    /// same address. They write to it over the bus.
    pub fn address(&self) -> Pointer {
        self.start as Pointer
    }
}

impl<T> std::ops::Deref for HostBuffer<T> {
    type Target = [T];

    fn deref(&self) -> &[T] {
        // SAFETY: ours, and filled.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<T> std::ops::DerefMut for HostBuffer<T> {
    fn deref_mut(&mut self) -> &mut [T] {
        // SAFETY: ours alone, and filled.
        unsafe { std::slice::from_raw_parts_mut(self.start, self.len) }
    }
}

impl<T> Drop for HostBuffer<T> {
    fn drop(&mut self) {
        // SAFETY: taken from the driver, and not used after this.
        unsafe {
            let _ = sys::cuMemFreeHost(self.start.cast());
        }
    }
}

/// Memory that the GPU may copy to and from while the CPU does something else:
/// page-locked for as long as this lives. It doesn't own the memory.
#[derive(Debug)]
pub struct Pinned(usize);

impl Pinned {
    /// Locks the whole capacity of a buffer, which must neither move nor be freed
    /// before this is dropped. `None`: it can't be locked.
    pub fn lock<T>(buffer: &Vec<T>) -> Option<Pinned> {
        let bytes = buffer.capacity() * size_of::<T>();
        if bytes == 0 {
            return None;
        }
        let start = buffer.as_ptr() as usize;
        // SAFETY: the range is a live allocation; locking it changes nothing in it.
        let locked = unsafe { sys::cuMemHostRegister_v2(start as *mut c_void, bytes, 0) };
        match locked {
            sys::CUresult::CUDA_SUCCESS => Some(Pinned(start)),
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

const NON_BLOCKING: u32 = 1;
/// As the manifest beside the prebuilt kernels names it.
const SOURCES_HASH: &str = env!("KERNEL_SOURCES_HASH");
