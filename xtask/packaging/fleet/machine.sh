#!/bin/sh
# One machine of a fleet: clones a repository into a folder of its own and works there until the plan is
# done.
#   machine.sh REPOSITORY BRANCH [ARGUMENTS OF RALPH-LOOP]
set -eu

repository=$1 branch=$2
shift 2
folder=$(mktemp -d "${TMPDIR:-/tmp}/ralph-XXXXXX")
trap 'rm -rf "$folder"' EXIT
# The loop ends by itself when it is asked to, and gives its story back; until then its folder stays.
trap : HUP INT TERM
# Not in a home that machines share, in which folders of the same name would meet.
export XDG_CACHE_HOME="$folder/cache"
git clone --quiet --branch "$branch" "$repository" "$folder/clone"
cd "$folder/clone"
ralph-loop --fleet origin "$@"
