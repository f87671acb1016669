//! How many workers `--workers auto` means.

use ralph_project::config::Workers;

/// What one worker needs: a client with its language servers, a build, the tests.
const MEMORY_OF_ONE: u64 = 2 << 30;

/// How many workers there are to be on a machine with so many processors and so much free memory, where
/// a story takes so long and its checks so long: one lands at a time, so more would only wait.
pub(crate) fn worker_count(
    wanted: Workers,
    (processors, memory): (u64, Option<u64>),
    story_s: Option<f64>,
    checks_s: f64,
) -> u64 {
    if let Workers::Number(number) = wanted {
        return number;
    }
    let by_memory = memory.map_or(u64::MAX, |free| free / MEMORY_OF_ONE);
    let by_checks = match story_s {
        Some(story) if checks_s > 0.0 => (story / checks_s).ceil() as u64 + 1,
        _ => u64::MAX,
    };
    processors.min(by_memory).min(by_checks).max(1)
}

/// The processors and the free memory of this machine, or of the part of it that we may use; where the
/// second is not told, it is not a bound.
pub(crate) fn machine() -> (u64, Option<u64>) {
    let processors = std::thread::available_parallelism().map_or(1, |count| count.get() as u64);
    (processors, client::linux::free_memory())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn auto_is_bounded_by_the_machine_and_by_what_lands_one_at_a_time() {
        let auto = |machine, story, checks| worker_count(Workers::Auto, machine, story, checks);
        let gib = |count: u64| Some(count << 30);
        assert_eq!(auto((8, gib(64)), None, 0.0), 8);
        assert_eq!(auto((8, gib(7)), None, 0.0), 3);
        assert_eq!(auto((8, gib(1)), None, 0.0), 1);
        assert_eq!(auto((8, None), Some(600.0), 300.0), 3);
        assert_eq!(auto((8, None), Some(10.0), 300.0), 2);
        assert_eq!(worker_count(Workers::Number(5), (1, gib(1)), Some(1.0), 9.0), 5);
    }
}
