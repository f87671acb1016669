//! The four hooks: each decides in its own module, and all share one harness.

pub mod call;
pub mod harness;
pub mod on_stop;
pub mod post_tool;
pub mod pre_prompt;
pub mod pre_tool;
