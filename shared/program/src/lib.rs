//! Output of programs, signals that end them, files that people give them, texts of others.
//!
//! | module | holds |
//! | --- | --- |
//! | [`given`] | files that a person gives to a program |
//! | [`printable`] | text of others, for terminals and logs |
//! | [`within`] | a deadline for what has none |
//! | `console` | output of programs; with the feature `console` |
//! | `signals` | what ends them; with the feature `console` |

#![forbid(unsafe_code)]

#[cfg(feature = "console")]
pub mod console;
pub mod given;
pub mod printable;
#[cfg(feature = "console")]
pub mod signals;
pub mod within;
