#!/bin/sh -e
# Makes the user's machine: a home folder with credentials, a project with a plan, another project and another copy,
# a folder outside of everything. Run by the user in an empty folder; `FILES` holds a secret each, `STORIES` is a number.
W=$PWD
mkdir home project outside notes s/hooks s/pids s/tty home/Documents home/.cargo home/.codex home/.claude home/work
chmod 700 home
for file in .ssh/id_rsa $FILES; do
    mkdir -p "home/${file%/*}" 2>/dev/null || true
    [ "${file%/*}" = "$file" ] && at="home/$file" || { mkdir -p "home/${file%/*}"; at="home/$file"; }
    [ ! -d "$at" ] || rmdir "$at"
    echo "S3CRET-file-$file" >"$at"
done
for file in .bashrc .profile .ssh/authorized_keys .cargo/config.toml .codex/config.toml .claude/settings.json; do
    mkdir -p "home/$(dirname "$file")"
    : >"home/$file"
done
mkdir -p home/.config/git home/.cache/ralph/other-01234567/1 home/.local/bin home/.m2/repository
: >home/.config/git/config
chmod 700 home/.cache home/.cache/ralph
printf '[user]\n\tname = User\n\temail = user@localhost\n[init]\n\tdefaultBranch = main\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n' >home/.gitconfig
export HOME="$W/home" GIT_CONFIG_NOSYSTEM=1
for place in project home/work; do
    (
        cd "$W/$place"
        git init -q --template= .
        mkdir -p .git/hooks .git/info
        mkdir -p .ralph/PRD-1 .ralph/hooks src private
        {
            printf '# Plan\n\n'
            i=1
            while [ $i -le "$STORIES" ]; do
                printf -- '- [ ] US-00%s: Make part %s\n' $i $i
                i=$((i + 1))
            done
        } >.ralph/PRD-1/plan.md
        printf '[sandbox]\nhide = ["%s/private"]\n' "$PWD" >.ralph/config.toml
        printf '# Guardrails\n' >.ralph/guardrails.md
        printf 'a\n' >a.txt
        printf 'int main(void) { return 0; }\n' >src/main.c
        printf '/v/\n/private/\n*.log\n/tmp/\n' >.gitignore
        git add -A
        git commit -q -m first
        echo S3CRET-file-private >private/notes.txt
    )
done
for hook in applypatch-msg pre-applypatch post-applypatch pre-commit prepare-commit-msg commit-msg post-commit pre-rebase \
    post-checkout post-merge pre-push post-rewrite pre-auto-gc reference-transaction post-index-change fsmonitor-watchman; do
    printf '#!/bin/sh\nexec sh "%s" "hook-%s"\n' "$W/s/payload.sh" "$hook" >"s/hooks/$hook"
    chmod +x "s/hooks/$hook"
done
chmod +x s/payload.sh
echo '* filter=evil diff=evil merge=evil' >s/attributes
printf '[alias]\n\tstatus = "!sh %s alias"\n' "$W/s/payload.sh" >s/included
mkdir s/p
: >s/p/config
sh s/plant.sh "$W/s/p" && mv s/p/config s/planted && rm -r s/p
