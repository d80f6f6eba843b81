//! Kernels, their arguments, and launches.

use std::ffi::c_void;
use std::ptr;

use cust::sys;

use super::device::{Device, Lane};
use super::driver::check;
use crate::Plain;
use crate::error::DriverError;

/// A kernel of a module.
#[derive(Clone, Copy, Debug)]
pub struct Kernel(sys::CUfunction);

// SAFETY: a function handle is a name for code in the module.
unsafe impl Send for Kernel {}
// SAFETY: as above.
unsafe impl Sync for Kernel {}

/// The launch dimensions of a kernel.
#[derive(Clone, Copy, Debug, Default)]
pub struct Grid {
    pub blocks: u32,
    pub threads: u32,
    pub shared_bytes: u32,
}

impl Grid {
    /// This many blocks of this many threads each.
    pub const fn blocks(blocks: u32, threads: u32) -> Grid {
        Grid {
            blocks,
            threads,
            shared_bytes: 0,
        }
    }

    /// One thread per item; no blocks without items.
    pub const fn items(items: u64, threads: u32) -> Grid {
        Grid::blocks(items.div_ceil(threads as u64) as u32, threads)
    }
}

/// A kernel's arguments: a tuple of plain values.
pub trait Operands {
    /// Passes on the address of each argument, in order.
    fn addresses(&self, push: impl FnMut(*mut c_void));
}

macro_rules! operands {
    ($($name:ident),*) => {
        impl<$($name: Plain),*> Operands for ($($name,)*) {
            fn addresses(&self, mut push: impl FnMut(*mut c_void)) {
                #[allow(non_snake_case)]
                let ($($name,)*) = self;
                $( push((&raw const *$name).cast_mut().cast()); )*
            }
        }
    };
}

operands!(A);
operands!(A, B);
operands!(A, B, C);
operands!(A, B, C, D);
operands!(A, B, C, D, E);
operands!(A, B, C, D, E, F);
operands!(A, B, C, D, E, F, G);
operands!(A, B, C, D, E, F, G, H);
operands!(A, B, C, D, E, F, G, H, I);
operands!(A, B, C, D, E, F, G, H, I, J);

impl Kernel {
    pub(super) fn new(function: sys::CUfunction) -> Kernel {
        Kernel(function)
    }
}

impl Device {
    /// The kernel with this name, from the module.
    pub fn kernel(&self, name: &str) -> Result<Kernel, DriverError> {
        self.function(false, name).map(Kernel)
    }

    /// The kernel with this name, from this crate's library.
    pub(super) fn library_kernel(&self, name: &str) -> Result<Kernel, DriverError> {
        self.function(true, name).map(Kernel)
    }

    /// Launches a kernel on the work lane; does nothing without blocks.
    ///
    /// # Safety
    /// The kernel's code must still be loaded. Its parameters must have the operands'
    /// types, in order; it may have fewer. With these operands it must access no memory
    /// but the device's allocation and [`HostBuffer`](super::HostBuffer)s that the host
    /// leaves alone until the lane has passed the launch.
    pub unsafe fn launch(
        &self,
        kernel: Kernel,
        grid: Grid,
        operands: &impl Operands,
    ) -> Result<(), DriverError> {
        if grid.blocks == 0 {
            return Ok(());
        }
        let mut addresses = Addresses::of(operands);
        // SAFETY: the driver reads each operand before it returns; what the kernel does
        // is the caller's promise.
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
                self.stream(Lane::Work),
                addresses.0.as_mut_ptr(),
                ptr::null_mut(),
            )
        })
    }

    /// Launches a kernel whose blocks all run at once, so that they may wait for each
    /// other. There are at most [`Device::resident_blocks`].
    ///
    /// # Safety
    /// Same as [`Device::launch`].
    pub unsafe fn launch_cooperative(
        &self,
        kernel: Kernel,
        grid: Grid,
        operands: &impl Operands,
    ) -> Result<(), DriverError> {
        let mut addresses = Addresses::of(operands);
        // SAFETY: as in `launch`; the driver rejects a grid that is too large.
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
                self.stream(Lane::Work),
                addresses.0.as_mut_ptr(),
            )
        })
    }

    /// The maximum number of blocks with this many threads that the GPU runs at once.
    pub fn resident_blocks(&self, kernel: Kernel, threads: u32) -> Result<u32, DriverError> {
        let mut blocks = 0;
        // SAFETY: the number is written by the call.
        check("cuOccupancyMaxActiveBlocksPerMultiprocessor", unsafe {
            sys::cuOccupancyMaxActiveBlocksPerMultiprocessor(
                &mut blocks,
                kernel.0,
                threads as i32,
                0,
            )
        })?;
        Ok(blocks as u32 * self.multiprocessors())
    }
}

/// The addresses of a launch's operands; no launch has more than the longest tuple.
struct Addresses([*mut c_void; OPERANDS_MAX]);

impl Addresses {
    fn of(operands: &impl Operands) -> Addresses {
        let mut addresses = [ptr::null_mut(); OPERANDS_MAX];
        let mut n = 0;
        operands.addresses(|address| {
            addresses[n] = address;
            n += 1;
        });
        Addresses(addresses)
    }
}

const OPERANDS_MAX: usize = 10;

/// Declares a structure of kernels that are loaded by name.
///
/// ```ignore
/// device::kernels! {
///     /// The kernels of the index stage.
///     pub struct IndexKernels { count: "index_count", collect: "index_collect" }
/// }
/// let kernels = IndexKernels::load(&device)?;
/// ```
#[macro_export]
macro_rules! kernels {
    ($(#[$docs:meta])* $vis:vis struct $name:ident { $($kernels:tt)* }) => {
        $crate::kernels!(@find kernel, $(#[$docs])* $vis struct $name { $($kernels)* });
    };
    (@find $find:ident,
     $(#[$docs:meta])* $vis:vis struct $name:ident { $($field:ident : $kernel:literal),* $(,)? }
    ) => {
        $(#[$docs])*
        #[derive(Clone, Copy, Debug)]
        $vis struct $name {
            $( $vis $field: $crate::Kernel, )*
        }

        impl $name {
            $vis fn load(device: &$crate::Device) -> Result<$name, $crate::DriverError> {
                Ok($name {
                    $( $field: device.$find($kernel)?, )*
                })
            }
        }
    };
}
