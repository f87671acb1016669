//! What a loop that runs a coding agent unattended needs to know and to do.
//!
//! Pure decisions sit in the middle: text and values in, values out, no disk and no processes.
//! Effects sit at the rim, one door for each dangerous act.
//!
//! | module | what it answers |
//! | --- | --- |
//! | [`attempt`] | what does a failing test run mean for the attempt under way? |
//! | [`checks`] | do the user's own checks pass? |
//! | [`claim`] | what does the agent itself say about its story? |
//! | [`config`] | what did the user set, in the file, by variables and by flags? |
//! | [`mod@env`] | which variables do we read? |
//! | [`fault`] | where can we be killed on purpose, to prove that nothing is lost? |
//! | [`gate`] | may the session stop, and if not, what is left to do? |
//! | [`git`] | how is a work tree saved, and returned to a saved state without losing anything? |
//! | [`guard`] | is this a command or an edit that an unattended agent must not make? |
//! | [`hook`] | what does the client send to a hook, and what does it obey? |
//! | [`install`] | which hooks does this client need registered, and how does that leave the rest alone? |
//! | [`known_files`] | has the agent seen this file in its session? |
//! | [`leftovers`] | which added lines hold a marker, a placeholder or debugging? |
//! | [`listing`] | how are many files named in one line? |
//! | [`mailbox`] | how does a hook ask the loop? |
//! | [`plan`] | which story is next, and how is it ticked without touching another byte? |
//! | [`project`] | which folder is the project, and where does its state live? |
//! | [`project_plan`] | which file is the plan that is worked on? |
//! | [`prompt`] | what is the agent told about its story? |
//! | [`secrets`] | how is a text kept without the keys in it? |
//! | [`shell`] | which programs would this command line run? |
//! | [`state`] | what is on disk, and how is it written so that nothing tears? |
//! | [`surroundings`] | what does the guard need to know about the place? |
//! | [`transcript`] | what does the end of a session's transcript say? |
//! | [`under_way`] | which attempt is under way? |
//! | [`usage_limit`] | is this text the client's message that a usage limit is reached? |
//! | [`verdict`] | did this command run tests, and how did they end? |
//! | [`weakening`] | did an attempt remove, skip or empty tests? |

pub mod attempt;
pub mod checks;
pub mod claim;
pub mod config;
pub mod env;
pub mod fault;
pub mod gate;
pub mod git;
pub mod guard;
pub mod hook;
pub mod install;
mod json_members;
pub mod known_files;
pub mod leftovers;
pub mod listing;
pub mod mailbox;
pub mod plan;
pub mod project;
pub mod project_plan;
pub mod prompt;
pub mod secrets;
pub mod shell;
pub mod state;
mod supervised;
pub mod surroundings;
pub mod transcript;
pub mod under_way;
pub mod usage_limit;
pub mod verdict;
pub mod weakening;
