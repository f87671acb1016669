#!/bin/sh
# Installs a package in an empty folder of a machine without cargo, and uses it: the demo runs, the hooks
# go into a project, and the guard refuses a push.
#
#   try.sh archive|script|debian|debian-beside|npm
#
# PACKAGES is the folder with the packages; ARCHIVE, DEBIAN, NPM and NPM_FRONT name those of a machine.
# EMULATOR runs programs of another processor.
set -eu

fail() {
    echo "try.sh: $1" >&2
    exit 1
}

if command -v cargo >/dev/null; then
    fail "there is a cargo in $PATH"
fi
cd "$(mktemp -d)"
case $1 in
archive)
    mkdir local
    tar -xzf "$PACKAGES/$ARCHIVE" -C local --strip-components=1
    programs=$PWD/local/bin
    ;;
script)
    RALPH_URL=file://$PACKAGES sh "$PACKAGES/install.sh" --prefix "$PWD/local"
    programs=$PWD/local/bin
    ;;
debian)
    dpkg --install "$PACKAGES/$DEBIAN"
    programs=/usr/bin
    ;;
debian-beside)
    # On a machine that is not ours to install to: below a folder whose list of packages is empty. Git is
    # there, but not in that list.
    mkdir -p system/var/lib/dpkg/updates system/var/lib/dpkg/info system/var/lib/dpkg/triggers
    : >system/var/lib/dpkg/status
    dpkg --root "$PWD/system" --force-not-root,depends --install "$PACKAGES/$DEBIAN"
    programs=$PWD/system/usr/bin
    ;;
npm)
    mkdir app
    cd app
    npm install --offline --no-audit --no-fund "$PACKAGES/$NPM_FRONT" "$PACKAGES/$NPM"
    npx ralph-loop --version
    programs=$PWD/node_modules/.bin
    cd ..
    ;;
*) fail "there is no package of the kind $1" ;;
esac

PATH=$programs:$PATH
export PATH
for program in ralph-loop ralph-pre-tool ralph-post-tool ralph-on-stop ralph-pre-prompt; do
    [ -x "$programs/$program" ] || fail "$program is missing"
done
# shellcheck disable=SC2086  # no emulator is no word
ralph_loop() { ${EMULATOR:-} "$programs/ralph-loop" "$@"; }
ralph_loop --version
ralph_loop demo >demo.txt 2>&1 || fail "the demo failed: $(cat demo.txt)"
grep -q '3 of 3 stories done' demo.txt || fail "the demo ended otherwise: $(cat demo.txt)"
mkdir project
cd project
ralph_loop install --client-version 2.1.325
call='{"hook_event_name":"PreToolUse","session_id":"s","cwd":"%s","tool_name":"Bash","tool_input":{"command":"git push"}}'
# shellcheck disable=SC2059,SC2086  # the text above is a format; no emulator is no word
answer=$(printf "$call" "$PWD" | ${EMULATOR:-} "$PWD/.claude/hooks/ralph-pre-tool")
case $answer in
*'"deny"'*) ;;
*) fail "the guard let a push go: $answer" ;;
esac
