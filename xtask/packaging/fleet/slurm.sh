#!/bin/sh
#SBATCH --job-name=ralph
#SBATCH --array=1-4
#SBATCH --cpus-per-task=1
#SBATCH --time=08:00:00
# A fleet as an array job: each task is a machine.
#   sbatch slurm.sh REPOSITORY BRANCH [ARGUMENTS OF RALPH-LOOP]
# Submit it from the folder with machine.sh, which every node must see.
set -eu

export TMPDIR="${SLURM_TMPDIR:-${TMPDIR:-/tmp}}"
# A step, not a part of this script: steps are asked to end before they are killed.
exec srun "$SLURM_SUBMIT_DIR/machine.sh" "$@"
