#!/bin/sh
# Unpacks an archive of the programs in the current folder, on a machine without cargo, and uses them:
# the demo runs, the hooks go into a project, and the guard asks about a push.
#
#   try.sh ARCHIVE
set -eu

fail() {
    echo "try.sh: $1" >&2
    exit 1
}

if command -v cargo >/dev/null; then
    fail "there is a cargo in $PATH"
fi
mkdir programs
tar -xzf "$1" -C programs
PATH=$PWD/programs:$PATH
export PATH
for program in ralph-loop ralph-pre-tool ralph-post-tool ralph-on-stop ralph-pre-prompt; do
    [ -x "programs/$program" ] || fail "$program is missing"
done
ralph-loop --version
ralph-loop demo >demo.txt 2>&1 || fail "the demo failed: $(cat demo.txt)"
grep -q '3 of 4 stories done, 1 blocked' demo.txt || fail "the demo ended differently: $(cat demo.txt)"
mkdir project
cd project
ralph-loop install --client-version 2.1.325 >installed.txt
call='{"hook_event_name":"PreToolUse","session_id":"s","cwd":"%s","tool_name":"Bash","tool_input":{"command":"git push"}}'
# shellcheck disable=SC2059  # the text above is a format
answer=$(printf "$call" "$PWD" | .claude/hooks/ralph-pre-tool)
case $answer in
*'"ask"'*) ;;
*) fail "the guard allowed a push: $answer" ;;
esac
