#!/bin/sh
# Runs the loop over a plan in a workflow, and adds its report to the job's summary and, where there is
# a pull request, to that. The exit code is that of the loop.
#
# COMMAND, PLAN, AGENT and ARGS are the inputs of the action; PULL_REQUEST is a number, or empty.
# With the command `audit` it checks the receipts of the pull request's commits instead.
set -eu

report=${RUNNER_TEMP:-/tmp}/ralph-report.md
ended=0
set --
if [ "${COMMAND:-run}" = audit ]; then
    # The checkout usually has one commit and no notes.
    [ "$(git rev-parse --is-shallow-repository)" = false ] || set -- --unshallow
    base=${GITHUB_BASE_REF:-}
    git fetch --quiet "$@" origin ${base:+"+refs/heads/$base:refs/remotes/origin/$base"}
    git fetch --quiet origin '+refs/notes/ralph:refs/notes/ralph' || echo 'the remote has no receipts'
    # shellcheck disable=SC2086
    ralph-loop audit ${base:+"origin/$base..HEAD"} ${ARGS:---rerun} --markdown >"$report" || ended=$?
else
    [ -z "${PLAN:-}" ] || set -- "$@" --plan "$PLAN"
    [ -z "${AGENT:-}" ] || set -- "$@" --agent "$AGENT"
    # shellcheck disable=SC2086  # several words, as on a command line
    ralph-loop "$@" ${ARGS:-} || ended=$?
    ralph-loop report --markdown >"$report" || rm -f "$report"
fi

if [ -f "$report" ]; then
    cat "$report" >>"${GITHUB_STEP_SUMMARY:-/dev/stdout}"
    if [ -n "${PULL_REQUEST:-}" ]; then
        gh pr comment "$PULL_REQUEST" --body-file "$report"
    fi
fi
echo "exit-code=$ended" >>"${GITHUB_OUTPUT:-/dev/stdout}"
exit "$ended"
