//! The code that the loop and the hooks share, beyond what an embedder needs: settings, gates, the
//! current attempt, the installation.
//!
//! | module | what it answers |
//! | --- | --- |
//! | [`checks`] | do the user's own checks pass? |
//! | [`claim`] | what does the agent claim about its story? |
//! | [`client`] | is the agent Claude Code, and how does its command line take further options? |
//! | [`config`] | what did the user set, in the file, by variables and by flags? |
//! | [`dialect`] | how is this agent started, and how does it communicate with hooks? |
//! | [`failure`] | why did a command fail? |
//! | [`failed_before`] | which failures existed before the work began? |
//! | [`diagnosis`] | what did the checks before a run find? |
//! | [`gate`] | may the session stop, and if not, what is left to do? |
//! | [`install`] | which hooks does this client need, and how are they registered? |
//! | [`known_files`] | has the agent seen this file in its session? |
//! | [`leftovers`] | which added lines hold a marker, a placeholder or debugging code? |
//! | [`loop_progress`] | what does `progress.txt` beside a feature list contain? |
//! | [`mailbox`] | how does a hook ask the loop? |
//! | [`mutants`] | which small changes break this code? |
//! | [`progress`] | what was done, in which iteration? |
//! | [`project`] | which folder is the project, and where does its state live? |
//! | [`project_plan`] | which file is the plan that is worked on? |
//! | [`prompt`] | which prompt does the agent get for its story? |
//! | [`review`] | who reviews the work, and what does the answer mean? |
//! | [`strikes`] | what does a failing test run mean for the current attempt? |
//! | [`surroundings`] | which facts about a place does the guard need? |
//! | [`transcript`] | what does the end of a session's transcript show? |
//! | [`under_way`] | what is the current attempt? |
//! | [`verification`] | what was found out about finished work? |
//! | [`weakening`] | did an attempt remove, skip or empty tests? |

/// Defines a struct of strings, lists and flags, and its empty value.
macro_rules! row {
    (
        $(#[$about:meta])*
        $vis:vis $name:ident { texts: $($text:ident)*; lists: $($list:ident)*; flags: $($flag:ident)*; $($lines:ident)? }
    ) => {
        $(#[$about])*
        #[derive(Debug, PartialEq, Eq)]
        $vis struct $name {
            $($vis $text: &'static str,)*
            $($vis $list: &'static [&'static str],)*
            $($vis $flag: bool,)*
            $($vis $lines: &'static [Line],)?
        }

        impl $name {
            const EMPTY: Self =
                Self { $($text: "",)* $($list: &[],)* $($flag: false,)* $($lines: &[],)? };
        }
    };
}

pub mod checks;
pub mod claim;
pub mod client;
pub mod config;
pub mod diagnosis;
pub mod dialect;
pub mod failed_before;
pub mod failure;
pub mod gate;
pub mod install;
pub mod known_files;
pub mod leftovers;
pub mod loop_progress;
pub mod mailbox;
pub mod mutants;
pub mod progress;
pub mod project;
pub mod project_plan;
pub mod prompt;
pub mod review;
pub mod strikes;
pub mod surroundings;
pub mod transcript;
pub mod under_way;
pub mod verification;
pub mod weakening;
