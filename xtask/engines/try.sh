#!/usr/bin/env bash
# Runs the jobs that `ralph-loop fleet` prints with real engines on this machine, while tasks are killed, and checks
# that each story lands once and the report is complete. Also validates the files for Kubernetes and CI.
# usage: try.sh FOLDER-WITH-BINARIES; needs slurm-wlm, munge, parallel, openssh-server, python3-venv, and root.
set -euo pipefail
PATH=$(realpath "$1"):/usr/sbin:$PATH
work=$(mktemp -d /tmp/engines.XXXX)
chmod 755 "$work"
pids=()
trap 'kill "${pids[@]}" 2>/dev/null || true; rm -rf "$work"' EXIT
export PATH HOME=$work/home SLURM_CONF=$work/slurm.conf RALPH_UNGUARDED=1
mkdir -p "$HOME/.parallel" && touch "$HOME/.parallel/will-cite"
git config --global user.email me@example.com && git config --global user.name Me
git config --global init.defaultBranch main

# A server with so many stories; every fourth depends on the one before, and US-013 fails its checks.
serve() { # name, stories, seconds of an agent
    project=$work/$1 server=$work/$1.git
    git init --quiet --bare "$server" && git clone --quiet "$server" "$project" 2>/dev/null && cd "$project"
    mkdir -p .ralph/PRD-1
    for n in $(seq "$2"); do
        behind=$([ $((n % 4)) != 0 ] || printf ' (depends: US-%03d)' $((n - 1)))
        printf -- '- [ ] US-%03d: Story %s%s\n' "$n" "$n" "$behind"
    done >.ralph/PRD-1/plan.md
    cat >.ralph/config.toml <<END
[verify]
commands = ["sleep 0.1; test ! -e bad"]
[limits]
attempts_per_story = 2
[agent]
command = "cat >/dev/null; s=\$(cat \$RALPH_STORY_FILE); sleep $3; [ \$s != US-013 ] || echo bad >bad; echo \$\$ >w-\$s"
END
    git add -A && git commit --quiet --message first && git push --quiet origin main
}

# Each story has landed once, but for the blocked one, and the report names the commit of each.
check() { # stories, blocked
    local landed report commit
    landed=$(git -C "$server" log --format=%s --grep=^Ralph-Story main | sort | uniq -c | awk '$1 == 1' | wc -l)
    [ "$landed" = $(($1 - $2)) ] || { git -C "$server" log --oneline main; echo "landed: $landed"; exit 1; }
    [ "$(git -C "$server" show main:.ralph/PRD-1/plan.md | grep -c '\[x\]')" = "$landed" ]
    report=$(ralph-loop report --markdown --fleet "$server")
    for commit in $(git -C "$server" log --format=%h --abbrev=8 --grep=^Ralph-Story main); do
        grep -q "$commit" <<<"$report" || { echo "$report"; echo "not in the report: $commit"; exit 1; }
    done
    git -C "$server" fsck --full --no-dangling
    echo "$(basename "$server"): $landed of $1 stories landed once, all in the report"
}

# Sends a signal to any process of a task.
hit() { # signal
    pgrep -f "^[^ ]*ralph-loop --fleet $server" | shuf -n 1 | xargs --no-run-if-empty kill -s "$1" 2>/dev/null || true
}

echo "the same story started twice"
serve twice 50 0
sed -i 's/ (depends.*//' .ralph/PRD-1/plan.md && git commit --quiet --all --message plan && git push --quiet
sed -i 's/US-013/none/' .ralph/config.toml && git commit --quiet --all --message agent && git push --quiet
for n in $(seq -f 'US-%03g' 50); do
    ralph-loop --fleet "$server" --story "$n" >"$work/log" 2>&1 & other=$!
    ralph-loop --fleet "$server" --story "$n" >"$work/log.2" 2>&1 && wait $other
done
[ "$(git -C "$server" log --format=%s --grep=^Ralph-Story main | sort -u | wc -l)" = 50 ]
[ "$(git -C "$server" log --format=%s --grep=^Ralph-Story main | wc -l)" = 50 ]

echo "files for Kubernetes and CI"
python3 -m venv "$work/venv" && "$work/venv/bin/pip" install --quiet check-jsonschema kubernetes-validate
serve files 6 0
for engine in kubernetes github-actions gitlab-ci; do ralph-loop fleet $engine >"$work/$engine.yaml"; done
"$work/venv/bin/check-jsonschema" --builtin-schema vendor.github-workflows "$work/github-actions.yaml"
"$work/venv/bin/check-jsonschema" --builtin-schema vendor.gitlab-ci --data-transform gitlab-ci "$work/gitlab-ci.yaml"
"$work/venv/bin/kubernetes-validate" --strict "$work/kubernetes.yaml"
line() { # expression on the file `job`
    "$work/venv/bin/python" -c "import sys, yaml; job = yaml.safe_load(open(sys.argv[1])); print($2)" "$work/$1.yaml"
}
container=$(line kubernetes 'job["spec"]["template"]["spec"]["containers"][0]["args"][0]')
for index in 0 1; do JOB_COMPLETION_INDEX=$index sh -c "$container"; done
sh -ec "$(line github-actions 'job["jobs"]["ralph-us-003"]["steps"][1]["run"]')"
sh -ec "$(line gitlab-ci 'job["ralph-us-004"]["script"][0]')"
sh -ec "$(line gitlab-ci 'job["ralph-us-005"]["script"][0]')"
JOB_COMPLETION_INDEX=5 sh -c "$container"
check 6 0

echo "GNU parallel over ssh"
mkdir -p /run/sshd && ssh-keygen -q -t ed25519 -N '' -f "$work/host" && ssh-keygen -q -t ed25519 -N '' -f "$work/key"
/usr/sbin/sshd -D -p 2299 -h "$work/host" -o ListenAddress=127.0.0.1 -o StrictModes=no -o PermitRootLogin=yes \
    -o AuthorizedKeysFile="$work/key.pub" -o PidFile=none & pids+=($!)
sleep 1
export PARALLEL_SSH="ssh -p 2299 -i $work/key -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o LogLevel=ERROR"
export PARALLEL="--sshlogin 4/root@127.0.0.1 --env HOME --env PATH --env RALPH_UNGUARDED"
serve parallel 24 3
ralph-loop fleet parallel >"$work/job.sh" && cd "$work" && sh job.sh >parallel.out 2>&1 & job=$!
while kill -0 $job 2>/dev/null; do
    sleep $((RANDOM % 4 + 2))
    hit "$(shuf -n 1 -e KILL TERM)"
done
check 24 1

echo "Slurm"
mkdir "$work/munge" && head -c 128 /dev/urandom >"$work/munge/key" && chmod 600 "$work/munge/key"
munged --foreground --force --key-file="$work/munge/key" --socket="$work/munge/socket" --pid-file="$work/munge/pid" \
    --log-file="$work/munge/log" --seed-file="$work/munge/seed" & pids+=($!)
# A requeued task waits until the credentials of its first start expire; by default that takes two minutes.
cat >"$SLURM_CONF" <<END
ClusterName=one
SlurmctldHost=$(hostname -s)(127.0.0.1)
AuthInfo=socket=$work/munge/socket,cred_expire=5
SlurmUser=root
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
ProctrackType=proctrack/pgid
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SlurmdParameters=config_overrides
SchedulerParameters=bf_interval=2,sched_min_interval=0
KillWait=5
NodeName=$(hostname -s) NodeAddr=127.0.0.1 CPUs=8 RealMemory=32000
PartitionName=main Nodes=ALL Default=YES
END
slurmctld -D >"$work/slurmctld.log" 2>&1 & pids+=($!)
sleep 2
slurmd -D >"$work/slurmd.log" 2>&1 & pids+=($!)
sleep 3
serve slurm 24 3
ralph-loop fleet slurm >"$work/job.sh" && mkdir "$work/out" && cd "$work/out" && sh ../job.sh
while [ -n "$(squeue --noheader)" ]; do sleep 1; done & job=$!
for _ in $(seq 30); do
    sleep $((RANDOM % 4 + 2))
    kill -0 $job 2>/dev/null || break
    id=$(squeue --noheader --states=R --format=%i | shuf -n 1)
    case $((RANDOM % 3)) in
        0) scancel --signal=TERM "$id" ;;
        1) scontrol requeue "$id" ;;
        2) hit KILL ;;
    esac 2>/dev/null || true
done
wait $job
check 24 1
