#!/bin/sh
# Runs the loop over a plan in a workflow, and adds its report to the job's summary and, where there is
# a pull request, to that. The exit code is that of the loop.
#
# PLAN, AGENT and ARGS are the inputs of the action; PULL_REQUEST is a number, or empty.
set -eu

set --
[ -z "${PLAN:-}" ] || set -- "$@" --plan "$PLAN"
[ -z "${AGENT:-}" ] || set -- "$@" --agent "$AGENT"
ended=0
# shellcheck disable=SC2086  # several words, as on a command line
ralph-loop "$@" ${ARGS:-} || ended=$?

report=${RUNNER_TEMP:-/tmp}/ralph-report.md
if ralph-loop report --markdown >"$report"; then
    cat "$report" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
    if [ -n "${PULL_REQUEST:-}" ]; then
        gh pr comment "$PULL_REQUEST" --body-file "$report"
    fi
fi
echo "exit-code=$ended" >>"${GITHUB_OUTPUT:-/dev/stdout}"
exit "$ended"
