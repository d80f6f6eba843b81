//! Authentication: from the token of a hello to an account and a name. Without I/O and
//! without a clock, but for [`moment`].
//!
//! | module | holds |
//! | --- | --- |
//! | [`identity`] | accounts, and the identity of a client |
//! | [`authenticator`] | checks of tokens; why one is rejected |
//! | [`shared_word`] | no token, or one word for all |
//! | [`signed`] | signed tokens of Myriad's own, which expire |
//! | [`jwt`] | JSON web tokens, as identity providers issue them, where the feature `jwt` is on |
//! | [`moment`] | now, by the steady clock and as a date |
//! | [`network`] | addresses of one owner, and ranges of them |
//! | [`names`] | valid names, and which count as equal |
//! | [`bans`] | accounts and networks that are banned for a time |
//! | [`revocations`] | tokens that are revoked before they expire |
//! | [`guesses`] | how often a network may show a wrong token |
//! | [`guard`] | admission after the hello |
#![forbid(unsafe_code)]

pub mod authenticator;
pub mod bans;
pub mod guard;
pub mod guesses;
pub mod identity;
#[cfg_attr(not(feature = "jwt"), path = "no_jwt.rs")]
pub mod jwt;
pub mod moment;
pub mod names;
pub mod network;
pub mod revocations;
pub mod shared_word;
pub mod signed;
