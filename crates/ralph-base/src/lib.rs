//! The base of all other crates: the state files and how they are written atomically, the
//! environment variables that we read, and supervised child processes.
//!
//! | module | what it answers |
//! | --- | --- |
//! | [`mod@env`] | which variables do we read? |
//! | [`fault`] | where can a test kill a process, to prove that nothing is lost? |
//! | [`linux`] | what does Linux reveal about processes? |
//! | [`lines`] | where do the lines of a file begin and end? |
//! | [`listing`] | how does a message list many files in one line? |
//! | [`secrets`] | how are secrets masked before text is stored? |
//! | [`state`] | which files are on disk, and how are they written atomically? |
//! | [`texts`] | how is a field read that holds a string or a list of strings? |

pub mod env;
pub mod fault;
pub mod json_members;
pub mod lines;
pub mod linux;
pub mod listing;
pub mod names;
pub mod secrets;
pub mod state;
pub mod supervised;
pub mod texts;
