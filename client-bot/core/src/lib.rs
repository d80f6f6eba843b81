//! A Myriad client without I/O and without a clock.
#![forbid(unsafe_code)]

pub mod view;

pub use view::View;
