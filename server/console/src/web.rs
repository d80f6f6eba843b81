//! Pages for browsers: the page to play, the dashboard and the replay.
//!
//! | module | holds |
//! | --- | --- |
//! | [`page`] | the files of the page to play, and where its connection goes |
//! | [`root`] | the files of a custom page |
//! | [`dashboard`] | the server's health, its world and its clients, for operators |
//! | [`site`] | both at one address |
//! | [`replay`] | a recording, tick by tick |

pub mod dashboard;
pub mod page;
pub mod replay;
pub mod root;
pub mod site;
