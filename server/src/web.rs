//! The page for browsers.
//!
//! | module | holds |
//! | --- | --- |
//! | [`page`] | the files of the page, and where its connection goes |

pub mod page;
