//! Region matching: every engine and every approach against all pairs.

mod engines;
mod field;
mod hostile;
mod named;
mod oracle;
mod random;
