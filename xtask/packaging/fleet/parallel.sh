#!/bin/sh
# A fleet over ssh: each host of a list is a machine.
#   parallel.sh HOSTS REPOSITORY BRANCH [ARGUMENTS OF RALPH-LOOP]
# HOSTS is a file with a host on each line, as ssh knows them.
set -eu

hosts=$1
shift
# All hosts at once, and nothing is copied to them: the script is an argument.
machine=$(cat "$(dirname "$0")/machine.sh")
exec parallel --quote --nonall --jobs 0 --tag --line-buffer --sshloginfile "$hosts" \
    sh -c "$machine" machine.sh "$@"
