#!/bin/sh
# Prints what of the project's git folder and of its settings no run may change.
show() { for f in "$@"; do [ ! -f "$f" ] || { echo "== $f"; cat "$f"; }; done; }
stat -c '.git is a %F' .git
[ -d .git ] || exit 0
show .git/config .git/config.worktree .git/commondir .git/gitdir .git/HEAD .git/shallow .git/objects/info/alternates
show .git/info/* .git/hooks/*
find .git/hooks .ralph/hooks ! -type d -printf '%p %y %l\n' 2>/dev/null | sort
show .ralph/config.toml .ralph/hooks/*
[ ! -e .claude ] || find .claude -type f -exec sha1sum {} +
stat -c '.ralph is a %F' .ralph
# No git here: its settings may be the agent's.
{ sed -n 's/^\([0-9a-f]\{40\}\) /\1 /p' .git/packed-refs 2>/dev/null; (cd .git && find refs -type f -exec sh -c 'echo "$(cat "$1") $1"' - {} \;); } |
    grep -v -e ' refs/ralph/' -e ' refs/notes/ralph$' -e ' refs/heads/main$' -e ' refs/heads/ralph/' | sort -k2 -u
cat .git/logs/refs/stash 2>/dev/null | sed 's/ .*\t/ /'
