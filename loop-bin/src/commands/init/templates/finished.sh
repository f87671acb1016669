#!/bin/sh
# Runs once, at the end.
# Gets: RALPH_FINISH_TYPE, RALPH_ITERATION, RALPH_TOTAL_ITERATIONS, RALPH_TOTAL_COMMITS, RALPH_DURATION.
# Every script gets: RALPH_MODE, RALPH_MAX_ITERATIONS, RALPH_PROJECT_DIR, RALPH_LOG_DIR, RALPH_STARTED_AT.
# Exit 0: go on; 1: warn; 3 and above: an error is logged, and the loop goes on.
#
# Stop what `started` began:
#   docker compose down
#
# Tell yourself how it went:
#   notify "$RALPH_FINISH_TYPE: $RALPH_TOTAL_COMMITS commits in $RALPH_DURATION s"
exit 0
