//! Loading the driver, and one context per GPU.

use std::ffi::CStr;
use std::ptr;
use std::sync::{Mutex, OnceLock};

use cust::sys;

use crate::error::{DriverError, NoDevice};

unsafe extern "C" {
    fn myriad_cuda_load() -> i32;
}

/// Converts a driver's result.
pub fn check(call: &'static str, result: sys::CUresult) -> Result<(), DriverError> {
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

/// A GPU's primary context.
#[derive(Clone, Copy)]
pub struct Context {
    pub handle: sys::CUcontext,
    pub device: sys::CUdevice,
}

// SAFETY: the driver's contexts may be used from any thread.
unsafe impl Send for Context {}
// SAFETY: as above.
unsafe impl Sync for Context {}

/// The context of the GPU with this number. It is created once and kept until the process
/// ends: creating one takes most of a second.
pub fn context(ordinal: u32) -> Result<Context, NoDevice> {
    static MADE: Mutex<Vec<(u32, Context)>> = Mutex::new(vec![]);
    let count = count()?;
    if ordinal >= count {
        let last = count - 1;
        return Err(NoDevice::NoSuchGpu { ordinal, last });
    }
    let mut made = MADE.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((_, context)) = made.iter().find(|(number, _)| *number == ordinal) {
        return Ok(*context);
    }
    let context = retain(ordinal)?;
    made.push((ordinal, context));
    Ok(context)
}

/// Whether the driver is loaded.
pub fn is_loaded() -> bool {
    matches!(COUNT.get(), Some(Ok(_)))
}

static COUNT: OnceLock<Result<u32, NoDevice>> = OnceLock::new();

/// The number of GPUs, at least one.
pub fn count() -> Result<u32, NoDevice> {
    let load = || {
        // SAFETY: fills our own table of entry points; done once.
        if unsafe { myriad_cuda_load() } == 0 {
            return Err(NoDevice::NoDriver);
        }
        let mut count = 0;
        // SAFETY: plain calls into the driver.
        unsafe {
            check("cuInit", sys::cuInit(0)).map_err(|_| NoDevice::NoGpu)?;
            check("cuDeviceGetCount", sys::cuDeviceGetCount(&mut count))?;
        }
        match count {
            ..=0 => Err(NoDevice::NoGpu),
            count => Ok(count as u32),
        }
    };
    COUNT.get_or_init(load).clone()
}

fn retain(ordinal: u32) -> Result<Context, DriverError> {
    let (mut device, mut handle) = (0, ptr::null_mut());
    // SAFETY: each handle is written by the call before it is used.
    unsafe {
        check("cuDeviceGet", sys::cuDeviceGet(&mut device, ordinal as i32))?;
        check(
            "cuDevicePrimaryCtxRetain",
            sys::cuDevicePrimaryCtxRetain(&mut handle, device),
        )?;
    }
    Ok(Context { handle, device })
}
