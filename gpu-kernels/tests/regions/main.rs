//! Region matching: every engine and every approach against all pairs.

#[path = "../common/dice.rs"]
mod dice;
mod engines;
mod field;
mod hostile;
mod named;
mod oracle;
mod random;
