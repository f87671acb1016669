#!/bin/sh
# Runs before each iteration.
# Gets: RALPH_WORKER, RALPH_ITERATION, RALPH_STORY, RALPH_LAST_EXIT_CODE, RALPH_LAST_DURATION, RALPH_COMMITS_MADE.
# Every script gets: RALPH_MODE, RALPH_MAX_ITERATIONS, RALPH_PROJECT_DIR, RALPH_LOG_DIR, RALPH_STARTED_AT.
# Exit 0: go on; 1: skip this iteration; 2: stop the loop; 3 and above: an error is logged, and the loop goes on.
#
# Stop at six in the morning:
#   [ "$(date +%H)" -lt 6 ] || exit 2
#
# Work only at night; `skip = "wait"` in `[hooks]` asks again later:
#   [ "$(date +%H)" -lt 6 ] || exit 1
#
# Stop after ten commits, to look at them:
#   [ "$RALPH_COMMITS_MADE" -lt 10 ] || exit 2
exit 0
