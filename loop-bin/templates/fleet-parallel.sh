#!/bin/sh
# GNU parallel, here or over ssh (--sshlogin host1,host2). A task waits for stories that it depends on.
# Adjust the number of jobs. Exit code 75 asks for another try.
parallel --jobs 4 --retries 5 --joblog ralph-fleet.log \
    {{ all.command }} ::: \
{% for task in all.tasks %}    '{{ task.id }}'{% if !loop.last %} \{% endif %}
{% endfor -%}
