//! Who a client is: from the token of a hello to an account and a name. Without I/O and
//! without a clock, but for [`moment`].
//!
//! | module | holds |
//! | --- | --- |
//! | [`identity`] | accounts, and what is known of a client |
//! | [`authenticator`] | what a server asks of a token; why one is rejected |
//! | [`shared_word`] | no token, or one word for all |
//! | [`signed`] | signed tokens of Myriad's own, which expire |
//! | [`jwt`] | JSON web tokens, as identity providers issue them, where the feature `jwt` is on |
//! | [`moment`] | now, by the steady clock and as a date |
//! | [`network`] | addresses of one owner, and ranges of them |
//! | [`names`] | which names are taken, and which count as the same |
//! | [`bans`] | accounts and networks that stay out for a time |
//! | [`guesses`] | how often a network may show a wrong token |
//! | [`guard`] | all that stands between a hello and the world |
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
pub mod shared_word;
pub mod signed;
