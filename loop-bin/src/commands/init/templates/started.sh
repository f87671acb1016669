#!/bin/sh
# Runs once, before the first iteration.
# Gets: RALPH_PLAN_FILE, RALPH_SPEC_DIR.
# Every script gets: RALPH_MODE, RALPH_MAX_ITERATIONS, RALPH_PROJECT_DIR, RALPH_LOG_DIR, RALPH_STARTED_AT.
# Exit 0: go on; 1: warn; 2: do not start; 3 and above: an error is logged, and the loop goes on.
#
# Start what your checks need:
#   docker compose up --detach --wait database || exit 2
#
# Refuse to run on battery:
#   on_ac_power || exit 2
#
# Send yourself a message with the program in custom/:
#   notify "started on $RALPH_PLAN_FILE"
exit 0
