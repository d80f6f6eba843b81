//! One GPU with its streams, modules and its allocation.

use std::ffi::{CStr, CString};
use std::ptr;

use cust::sys;

use super::driver::{Context, check, context};
use crate::Plain;
use crate::error::{DriverError, NoDevice};
use crate::layout::Pointer;

/// Properties of a GPU, as the driver reports them.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GpuInfo {
    pub name: String,
    /// The CUDA version that the driver supports, such as 13.0.
    pub cuda: (u32, u32),
    pub memory_free: u64,
    pub memory_total: u64,
    pub multiprocessors: u32,
}

/// Prebuilt kernels.
#[derive(Clone, Copy, Debug)]
pub struct Module {
    pub fatbin: &'static [u8],
    /// The hash of the sources, from the manifest beside the fatbin.
    pub sources_hash: &'static str,
}

/// The name of a layout hash in a module, and the function for the expected value.
pub type Layout = (&'static str, fn() -> u64);

/// One GPU: one stream each for work, uploads and downloads, the kernels, and one allocation.
///
/// It is shared by everything that uses it, such as [`HostBuffer`](super::HostBuffer)s, and
/// closed with the last user.
pub struct Device {
    context: Context,
    /// The module, then the library.
    modules: Vec<sys::CUmodule>,
    streams: [sys::CUstream; 3],
    multiprocessors: u32,
    /// The one allocation's address; its size is `bytes`.
    memory: u64,
    bytes: u64,
}

// SAFETY: the driver's handles may be used from any thread once the context is
// current there; where it isn't, calls fail.
unsafe impl Send for Device {}
// SAFETY: the driver's calls may be made from several threads at a time.
unsafe impl Sync for Device {}

/// One of the device's streams.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Lane {
    Work,
    Uploads,
    Downloads,
}

/// An event in a stream.
pub struct Event {
    handle: sys::CUevent,
    context: Context,
}

// SAFETY: see `Device`.
unsafe impl Send for Event {}
// SAFETY: see `Device`.
unsafe impl Sync for Event {}

impl Device {
    /// Opens the GPU with this number and loads the kernels, which must have been built from our
    /// sources and with these layouts: the names of their hashes in the module, and the expected
    /// values.
    pub fn open(ordinal: u32, module: &Module, layouts: &[Layout]) -> Result<Device, NoDevice> {
        let context = context(ordinal)?;
        let mut device = Device {
            context,
            modules: vec![],
            streams: [ptr::null_mut(); 3],
            multiprocessors: 0,
            memory: 0,
            bytes: 0,
        };
        device.enter()?;
        for (module, layouts) in [(module, layouts), (&LIBRARY, &[])] {
            device.load(module, layouts)?;
        }
        for stream in &mut device.streams {
            // SAFETY: the handle is written by the call.
            check("cuStreamCreate", unsafe {
                sys::cuStreamCreate(stream, NON_BLOCKING)
            })?;
        }
        device.multiprocessors = device.multiprocessor_count()?;
        Ok(device)
    }

    /// Loads the kernels, and checks that they were built from our sources and layouts.
    fn load(&mut self, module: &Module, layouts: &[Layout]) -> Result<(), NoDevice> {
        let mut handle = ptr::null_mut();
        // SAFETY: the image outlives the call, which writes the handle.
        check("cuModuleLoadData", unsafe {
            sys::cuModuleLoadData(&mut handle, module.fatbin.as_ptr().cast())
        })
        .map_err(|error| NoDevice::Kernels(error.to_string()))?;
        self.modules.push(handle);
        let built = format!("{:016x}", read_global(handle, "sources_hash")?);
        let expected = module.sources_hash.trim_ascii_end();
        if expected != built {
            return Err(NoDevice::Kernels(format!(
                "they were built from sources {built}, the manifest names {expected}; rebuild them"
            )));
        }
        for (name, expected) in layouts {
            let (found, expected) = (read_global(handle, name)?, expected());
            if found != expected {
                return Err(NoDevice::Kernels(format!(
                    "their {name} is {found:016x}, not {expected:016x}; rebuild them"
                )));
            }
        }
        Ok(())
    }

    /// Allocates the device's only memory.
    ///
    /// # Panics
    /// Panics if it is already allocated.
    pub fn allocate(&mut self, bytes: u64) -> Result<u64, DriverError> {
        assert!(self.memory == 0, "a device has one allocation");
        self.enter()?;
        // SAFETY: the driver writes the address, and allocates at least this many bytes.
        check("cuMemAlloc", unsafe {
            sys::cuMemAlloc_v2(&mut self.memory, bytes.max(1) as usize)
        })?;
        self.bytes = bytes.max(1);
        Ok(self.memory)
    }

    /// Makes the device's context current on this thread. Every thread calls this before it
    /// uses the device.
    pub fn enter(&self) -> Result<(), DriverError> {
        self.context.enter()
    }

    pub fn info(&self) -> Result<GpuInfo, DriverError> {
        self.enter()?;
        let mut name = [0; 256];
        let mut version = 0;
        let (mut free, mut total) = (0, 0);
        // SAFETY: the buffer has the given length, and each number is
        // written by its call.
        let name = unsafe {
            check(
                "cuDeviceGetName",
                sys::cuDeviceGetName(name.as_mut_ptr(), 256, self.context.device),
            )?;
            check("cuDriverGetVersion", sys::cuDriverGetVersion(&mut version))?;
            check("cuMemGetInfo", sys::cuMemGetInfo_v2(&mut free, &mut total))?;
            CStr::from_ptr(name.as_ptr()).to_string_lossy().into_owned()
        };
        Ok(GpuInfo {
            name,
            cuda: (version as u32 / 1000, version as u32 % 1000 / 10),
            memory_free: free as u64,
            memory_total: total as u64,
            multiprocessors: self.multiprocessors,
        })
    }

    /// The number of multiprocessors.
    pub fn multiprocessors(&self) -> u32 {
        self.multiprocessors
    }

    /// The inputs of machine code besides its text: the GPU's architecture, and the
    /// version of the driver that compiles.
    pub fn target(&self) -> Result<String, DriverError> {
        use sys::CUdevice_attribute as Attribute;
        let major = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR)?;
        let minor = self.attribute(Attribute::CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MINOR)?;
        let mut version = 0;
        // SAFETY: the number is written by the call.
        check("cuDriverGetVersion", unsafe {
            sys::cuDriverGetVersion(&mut version)
        })?;
        Ok(format!("sm_{major}{minor}, driver {version}"))
    }

    fn multiprocessor_count(&self) -> Result<u32, DriverError> {
        self.attribute(sys::CUdevice_attribute::CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT)
    }

    fn attribute(&self, attribute: sys::CUdevice_attribute) -> Result<u32, DriverError> {
        let mut value = 0;
        // SAFETY: the number is written by the call.
        check("cuDeviceGetAttribute", unsafe {
            sys::cuDeviceGetAttribute(&mut value, attribute, self.context.device)
        })?;
        Ok(value as u32)
    }

    /// The function with this name, from the module or else from the library.
    pub(super) fn function(
        &self,
        is_library: bool,
        name: &str,
    ) -> Result<sys::CUfunction, DriverError> {
        let module = self.modules[usize::from(is_library)];
        let name = c_name(name);
        let mut function = ptr::null_mut();
        // SAFETY: the handle is written before it is used.
        check("cuModuleGetFunction", unsafe {
            sys::cuModuleGetFunction(&mut function, module, name.as_ptr())
        })?;
        Ok(function)
    }

    /// Sets all bytes of `n` values, on the work lane.
    pub fn fill<T: Plain>(&self, start: Pointer<T>, n: u64, byte: u8) -> Result<(), DriverError> {
        let bytes = n * size_of::<T>() as u64;
        if bytes == 0 {
            return Ok(());
        }
        self.check_range(start.0, bytes);
        // SAFETY: the range is inside our allocation.
        check("cuMemsetD8Async", unsafe {
            sys::cuMemsetD8Async(start.0, byte, bytes as usize, self.stream(Lane::Work))
        })
    }

    /// Copies `n` values from one place on the device to another, on the work lane.
    pub fn copy<T: Plain>(
        &self,
        to: Pointer<T>,
        from: Pointer<T>,
        n: u64,
    ) -> Result<(), DriverError> {
        let bytes = n * size_of::<T>() as u64;
        if bytes == 0 {
            return Ok(());
        }
        self.check_range(to.0, bytes);
        self.check_range(from.0, bytes);
        // SAFETY: both ranges are inside our allocation.
        check("cuMemcpyDtoDAsync", unsafe {
            sys::cuMemcpyDtoDAsync_v2(to.0, from.0, bytes as usize, self.stream(Lane::Work))
        })
    }

    /// Waits until a lane has finished all its work.
    pub fn synchronize(&self, lane: Lane) -> Result<(), DriverError> {
        // SAFETY: the stream lives as long as the device.
        check("cuStreamSynchronize", unsafe {
            sys::cuStreamSynchronize(self.stream(lane))
        })
    }

    /// The error with which earlier work has failed, if it is known by now; waits for nothing.
    pub fn check(&self) -> Result<(), DriverError> {
        self.enter()?;
        // SAFETY: the stream lives as long as the device.
        match unsafe { sys::cuStreamQuery(self.stream(Lane::Work)) } {
            sys::CUresult::CUDA_ERROR_NOT_READY => Ok(()),
            result => check("cuStreamQuery", result),
        }
    }

    pub fn event(&self) -> Result<Event, DriverError> {
        let mut handle = ptr::null_mut();
        // SAFETY: the handle is written before it is used.
        check("cuEventCreate", unsafe {
            sys::cuEventCreate(&mut handle, 0)
        })?;
        let context = self.context;
        Ok(Event { handle, context })
    }

    pub fn record(&self, lane: Lane, event: &Event) -> Result<(), DriverError> {
        // SAFETY: both handles are live.
        check("cuEventRecord", unsafe {
            sys::cuEventRecord(event.handle, self.stream(lane))
        })
    }

    /// Lets a lane wait for an event of another lane.
    pub fn follow(&self, lane: Lane, event: &Event) -> Result<(), DriverError> {
        // SAFETY: both handles are live.
        check("cuStreamWaitEvent", unsafe {
            sys::cuStreamWaitEvent(self.stream(lane), event.handle, 0)
        })
    }

    /// The milliseconds between two events that have both passed.
    pub fn elapsed_ms(&self, from: &Event, to: &Event) -> Result<f32, DriverError> {
        let mut ms = 0.0;
        // SAFETY: both handles are live.
        check("cuEventElapsedTime", unsafe {
            sys::cuEventElapsedTime(&mut ms, from.handle, to.handle)
        })?;
        Ok(ms)
    }

    pub(super) fn context(&self) -> Context {
        self.context
    }

    pub(super) fn stream(&self, lane: Lane) -> sys::CUstream {
        self.streams[lane as usize]
    }

    pub(super) fn check_range(&self, start: u64, bytes: u64) {
        let inside = start >= self.memory && start + bytes <= self.memory + self.bytes;
        assert!(inside, "a copy outside the device's allocation");
    }
}

impl Context {
    pub(super) fn enter(&self) -> Result<(), DriverError> {
        // SAFETY: the context lives as long as the process.
        check("cuCtxSetCurrent", unsafe {
            sys::cuCtxSetCurrent(self.handle)
        })
    }
}

impl Event {
    /// Waits until all work before the event is done; returns at once if it was never recorded.
    pub fn wait(&self) -> Result<(), DriverError> {
        // SAFETY: the handle is live.
        check("cuEventSynchronize", unsafe {
            sys::cuEventSynchronize(self.handle)
        })
    }
}

impl Drop for Event {
    fn drop(&mut self) {
        let _ = self.context.enter();
        // SAFETY: nothing uses the handle after this; the driver keeps what it needs.
        unsafe {
            let _ = sys::cuEventDestroy_v2(self.handle);
        }
    }
}

impl Drop for Device {
    fn drop(&mut self) {
        let _ = self.enter();
        // SAFETY: nothing uses the handles after this. Errors here are ignored: their cause
        // was reported before.
        unsafe {
            for stream in self.streams.into_iter().filter(|stream| !stream.is_null()) {
                let _ = sys::cuStreamSynchronize(stream);
                let _ = sys::cuStreamDestroy_v2(stream);
            }
            if self.memory != 0 {
                let _ = sys::cuMemFree_v2(self.memory);
            }
            for module in &self.modules {
                let _ = sys::cuModuleUnload(*module);
            }
        }
    }
}

/// Properties of the GPU with this number.
pub fn info(ordinal: u32) -> Result<GpuInfo, NoDevice> {
    Ok(Device::open(ordinal, &LIBRARY, &[])?.info()?)
}

/// The value of a number that a module's code defines.
fn read_global(module: sys::CUmodule, name: &str) -> Result<u64, NoDevice> {
    let c_name = c_name(name);
    let (mut address, mut bytes, mut value) = (0, 0, 0u64);
    // SAFETY: the driver gives the variable's own address and size, and it is copied
    // only if it is a u64.
    unsafe {
        check(
            "cuModuleGetGlobal",
            sys::cuModuleGetGlobal_v2(&mut address, &mut bytes, module, c_name.as_ptr()),
        )?;
        if bytes != size_of::<u64>() {
            return Err(NoDevice::Kernels(format!(
                "their {name} has {bytes} bytes, not 8"
            )));
        }
        check(
            "cuMemcpyDtoH",
            sys::cuMemcpyDtoH_v2((&raw mut value).cast(), address, bytes),
        )?;
    }
    Ok(value)
}

pub(super) fn c_name(name: &str) -> CString {
    CString::new(name).expect("names of kernels hold no zeros")
}

/// The sort and the scan.
pub static LIBRARY: Module = Module {
    fatbin: include_bytes!("../../prebuilt/kernels.fatbin"),
    sources_hash: include_str!("../../prebuilt/sources.hash"),
};

const NON_BLOCKING: u32 = 1;
