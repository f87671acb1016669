#!/bin/sh
# GNU parallel, here or over ssh (--sshlogin 4/host1,4/host2). A task waits for stories that it depends on.
# Adjust the number of jobs. A task that fails is tried again; one whose story is done or blocked ends at once.
parallel --jobs 4 --retries 20 --joblog ralph-fleet.log \
    {{ command }} ::: \
{% for (id, name, after) in tasks %}    '{{ id }}'{% if !loop.last %} \{% endif %}
{% endfor -%}
