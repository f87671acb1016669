//! What everything else stands on: what is on disk and how it is written so that nothing tears,
//! which variables we read, processes that are watched.
//!
//! | module | what it answers |
//! | --- | --- |
//! | [`mod@env`] | which variables do we read? |
//! | [`fault`] | where can we be killed on purpose, to prove that nothing is lost? |
//! | [`linux`] | what does only Linux tell about processes? |
//! | [`lines`] | where do the lines of a file begin and end? |
//! | [`listing`] | how are many files named in one line? |
//! | [`secrets`] | how is a text kept without the keys in it? |
//! | [`state`] | what is on disk, and how is it written so that nothing tears? |
//! | [`texts`] | how may people write a list? |

pub mod env;
pub mod fault;
pub mod json_members;
pub mod lines;
pub mod linux;
pub mod listing;
pub mod secrets;
pub mod state;
pub mod supervised;
pub mod texts;
