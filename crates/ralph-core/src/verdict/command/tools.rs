//! Programs that are known not to run tests: those that show text, and others.

use super::purpose::Purpose;

// The lists, from `lists.toml`.
include!(concat!(env!("OUT_DIR"), "/tools.rs"));

/// Classifies programs that never run tests themselves, whatever their arguments.
pub(super) fn of_tool(name: &str, args: &[&str]) -> Option<Purpose> {
    match name {
        // The output shows what a container or another machine runs.
        "docker" | "podman" | "docker-compose" => {
            let runs = args.iter().any(|arg| matches!(*arg, "run" | "exec" | "up" | "start"));
            Some(if runs { Purpose::May } else { Purpose::Shows })
        }
        "ssh" => Some(Purpose::May),
        "configure" if args.len() < 40 => Some(Purpose::Other),
        name if SHOWING.contains(&name) => Some(Purpose::Shows),
        name if OTHERS.contains(&name) => Some(Purpose::Other),
        _ => None,
    }
}

pub(super) fn is_build_tool(name: &str) -> bool {
    BUILD_TOOLS.contains(&name)
}
