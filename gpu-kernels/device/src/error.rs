//! Why there is no device to use, and what failed on one.

use thiserror::Error;

/// A call of the CUDA driver that failed.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("{call}: {code}")]
pub struct DriverError {
    pub call: &'static str,
    pub code: String,
}

impl DriverError {
    /// Another device has failed, for which this one would wait.
    pub fn of_another() -> DriverError {
        DriverError {
            call: OF_ANOTHER,
            code: "it has failed".to_owned(),
        }
    }

    pub fn is_of_another(&self) -> bool {
        self.call == OF_ANOTHER
    }
}

const OF_ANOTHER: &str = "the wait for another GPU";

/// Why the driver can't compile a text.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompileError {
    #[error("{0}")]
    Text(String),
    #[error("there is a zero in the text")]
    Zero,
    #[error(transparent)]
    Driver(#[from] DriverError),
}

/// Why there is no device to use.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoDevice {
    #[error("no CUDA driver: libcuda.so.1 cannot be loaded")]
    NoDriver,
    #[error("the CUDA driver finds no GPU")]
    NoGpu,
    #[error("there is no GPU {ordinal}; expected 0 to {last}")]
    NoSuchGpu { ordinal: u32, last: u32 },
    #[error("the GPU cannot run the kernels: {0}")]
    Kernels(String),
    #[error("the CUDA driver fails: {0}")]
    Driver(#[from] DriverError),
}
