#!/bin/sh
# Runs after each iteration.
# Gets: RALPH_WORKER, RALPH_ITERATION, RALPH_STORY, RALPH_EXIT_CODE, RALPH_DURATION, RALPH_OUTCOME.
# Every script gets: RALPH_MODE, RALPH_MAX_ITERATIONS, RALPH_PROJECT_DIR, RALPH_LOG_DIR, RALPH_STARTED_AT.
# Exit 0: go on; 1: warn; 2: stop the loop; 3 and above: an error is logged, and the loop goes on.
#
# Tell yourself about each story:
#   notify "$RALPH_STORY: $RALPH_OUTCOME after $RALPH_DURATION s"
#
# Keep what each iteration took:
#   echo "$RALPH_STORY,$RALPH_OUTCOME,$RALPH_DURATION" >> "$RALPH_LOG_DIR/iterations.csv"
exit 0
