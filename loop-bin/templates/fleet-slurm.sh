#!/bin/sh
# One Slurm job for each open story, after those that it depends on. Run it where `sbatch` is.
# Adjust time, memory and partition. A task that has to try later (75), was out of time (143) or killed (137) is queued
# again.
set -eu
submit() { # story, dependencies
    sbatch --parsable --job-name="ralph-$1" --requeue --open-mode=append --kill-on-invalid-dep=yes \
        --time=08:00:00 --cpus-per-task=2 --mem=4G --signal=TERM@120 $2 --wrap="
srun {{ command }} '$1' && exit 0 || code=\$?
case \$code in 75 | 137 | 143) [ \${SLURM_RESTART_COUNT:-0} -gt 50 ] || scontrol requeue \$SLURM_JOB_ID ;; esac
exit \$code"
}
{% for (id, name, after) in tasks %}{{ name.replace('-', "_") }}=$(submit '{{ id }}' "{% if !after.is_empty() %}--dependency=afterok{% for other in after %}:${{ other.replace('-', "_") }}{% endfor %}{% endif %}")
{% endfor -%}
