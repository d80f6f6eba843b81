//! Kernels that are written while the program runs: compiling their text, and loading and
//! unloading the machine code.

use std::ffi::{CStr, CString, c_void};
use std::ptr;

use cust::sys;
use cust::sys::CUjit_option::{CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES};

use super::device::{Device, c_name};
use super::driver::{Context, check};
use super::launch::Kernel;
use crate::error::{CompileError, DriverError};

/// Kernels in machine code, for GPUs of one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MachineCode(Vec<u8>);

/// Machine code on the GPU. When it is dropped, it waits until the GPU is idle.
pub struct Loaded {
    handle: sys::CUmodule,
    context: Context,
}

// SAFETY: see `Device`.
unsafe impl Send for Loaded {}
// SAFETY: see `Device`.
unsafe impl Sync for Loaded {}

impl Device {
    /// Compiles PTX for this GPU. Any thread may call this, and meanwhile others may use the
    /// device: only what the linker does alone takes long, and it locks nothing. (Loading PTX
    /// as a module would compile it under the driver's lock.)
    pub fn compile(&self, ptx: &str) -> Result<MachineCode, CompileError> {
        let Ok(text) = CString::new(ptx) else {
            return Err(CompileError::Zero);
        };
        self.enter()?;
        let mut log = [0u8; LOG_BYTES];
        compile(&text, &mut log).map_err(|error| {
            let log = CStr::from_bytes_until_nul(&log).unwrap_or_default();
            let log = log.to_string_lossy().trim_end().to_owned();
            match log.is_empty() {
                true => CompileError::Driver(error),
                false => CompileError::Text(log),
            }
        })
    }

    /// Puts machine code onto the GPU, next to what is there.
    pub fn load_code(&self, code: &MachineCode) -> Result<Loaded, DriverError> {
        self.enter()?;
        let mut handle = ptr::null_mut();
        // SAFETY: the image is the driver's own, and outlives the call, which writes the
        // handle.
        check("cuModuleLoadData", unsafe {
            sys::cuModuleLoadData(&mut handle, code.0.as_ptr().cast())
        })?;
        let context = self.context();
        Ok(Loaded { handle, context })
    }
}

impl MachineCode {
    /// Bytes to keep beyond this process: a checksum, then the code.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = checksum(&self.0).to_le_bytes().to_vec();
        bytes.extend_from_slice(&self.0);
        bytes
    }

    /// The bytes of [`MachineCode::to_bytes`]; `None` if the bytes are damaged. The driver reads
    /// up to the length in the code itself, so code that was cut off must not reach it.
    pub fn from_bytes(bytes: &[u8]) -> Option<MachineCode> {
        let (sum, code) = bytes.split_first_chunk()?;
        let is_whole = u64::from_le_bytes(*sum) == checksum(code) && !code.is_empty();
        is_whole.then(|| MachineCode(code.to_vec()))
    }
}

/// FNV-1a.
fn checksum(code: &[u8]) -> u64 {
    code.iter().fold(0xcbf2_9ce4_8422_2325, |hash, &byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

impl Loaded {
    /// The kernel with this name. It must not be launched once this is dropped.
    pub fn kernel(&self, name: &str) -> Result<Kernel, DriverError> {
        self.context.enter()?;
        let name = c_name(name);
        let mut function = ptr::null_mut();
        // SAFETY: the handle is written before it is used.
        check("cuModuleGetFunction", unsafe {
            sys::cuModuleGetFunction(&mut function, self.handle, name.as_ptr())
        })?;
        Ok(Kernel::new(function))
    }
}

impl Drop for Loaded {
    fn drop(&mut self) {
        let _ = self.context.enter();
        // SAFETY: nothing uses the handle after this: all work of the device is awaited
        // first, and what is launched later is the caller's promise.
        unsafe {
            let _ = sys::cuCtxSynchronize();
            let _ = sys::cuModuleUnload(self.handle);
        }
    }
}

/// `log` has the message of an error in the text.
fn compile(text: &CStr, log: &mut [u8]) -> Result<MachineCode, DriverError> {
    let mut options = [CU_JIT_ERROR_LOG_BUFFER, CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES];
    let bytes = log.len() - 1;
    let mut values: [*mut c_void; 2] =
        [log.as_mut_ptr().cast(), ptr::without_provenance_mut(bytes)];
    let mut state = ptr::null_mut();
    // SAFETY: options, values and log outlive the state, which the call writes. The last
    // byte of the log stays 0.
    check("cuLinkCreate", unsafe {
        sys::cuLinkCreate_v2(
            options.len() as u32,
            options.as_mut_ptr(),
            values.as_mut_ptr(),
            &mut state,
        )
    })?;
    let link = Link(state);
    let text = text.to_bytes_with_nul();
    let (mut image, mut bytes) = (ptr::null_mut(), 0);
    // SAFETY: the state is live; the driver copies the text, and writes the image's address
    // and size.
    unsafe {
        check(
            "cuLinkAddData",
            sys::cuLinkAddData_v2(
                link.0,
                sys::CUjitInputType::CU_JIT_INPUT_PTX,
                text.as_ptr().cast_mut().cast(),
                text.len(),
                c"text".as_ptr(),
                0,
                ptr::null_mut(),
                ptr::null_mut(),
            ),
        )?;
        check(
            "cuLinkComplete",
            sys::cuLinkComplete(link.0, &mut image, &mut bytes),
        )?;
    }
    // SAFETY: the image has the driver's length, and lives as long as the state.
    let image = unsafe { std::slice::from_raw_parts(image.cast::<u8>(), bytes) };
    Ok(MachineCode(image.to_vec()))
}

/// A linker's state.
struct Link(sys::CUlinkState);

impl Drop for Link {
    fn drop(&mut self) {
        // SAFETY: nothing uses the state after this.
        unsafe {
            let _ = sys::cuLinkDestroy(self.0);
        }
    }
}

/// Enough for the first errors.
const LOG_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn damaged_code_is_not_taken() {
        let code = MachineCode((0..200).collect());
        let bytes = code.to_bytes();
        assert_eq!(MachineCode::from_bytes(&bytes), Some(code));
        for len in 0..bytes.len() {
            assert_eq!(MachineCode::from_bytes(&bytes[..len]), None, "{len} bytes");
        }
        for place in 0..bytes.len() {
            let mut damaged = bytes.clone();
            damaged[place] ^= 0x10;
            assert_eq!(MachineCode::from_bytes(&damaged), None, "byte {place}");
        }
    }
}
