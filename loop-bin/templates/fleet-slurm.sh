#!/bin/sh
# One Slurm job for each open story, behind those that it depends on. Run it where `sbatch` is.
# Adjust time, memory and partition. Exit code 75 asks for another try, so the job requeues itself.
set -eu
submit() { # story, dependencies
    sbatch --parsable --job-name="ralph-$1" --requeue --open-mode=append --kill-on-invalid-dep=yes \
        --time=08:00:00 --cpus-per-task=2 --mem=4G --signal=TERM@120 $2 --wrap="
{{ all.command }} '$1' && exit 0 || code=\$?
if [ \$code = 75 ]; then scontrol requeue \$SLURM_JOB_ID; fi
exit \$code"
}
{% for task in all.tasks %}job_{{ task.name.replace('-', "_") }}=$(submit '{{ task.id }}' "{% if !task.after.is_empty() %}--dependency=afterok{% for name in task.after %}:$job_{{ name.replace('-', "_") }}{% endfor %}{% endif %}")
{% endfor -%}
