//! Which programs run the command written behind them.
//!
//! Adding one is adding a row.

/// How a program runs the command behind it.
pub(super) struct Wrapper {
    /// One of these must come first; empty if none is needed. Blanks separate words.
    pub(super) subcommands: &'static str,
    /// Options followed by a value of their own; named twice if two values follow.
    pub(super) values: &'static str,
    /// Words between the options and the command, such as the time of `timeout`.
    pub(super) operands: usize,
    /// What is given to a shell: nothing, the words joined (`text`), or each of them (`texts`).
    pub(super) style: &'static str,
}

/// The wrapper of this name.
pub(super) fn wrapper(name: &str) -> Option<Wrapper> {
    WRAPPERS.iter().find_map(|row| {
        // As bytes, because it is asked of every command, and most are in no row.
        let names = row.as_bytes().split(|byte| *byte == b'|').next()?;
        names.split(|byte| *byte == b' ').find(|other| *other == name.as_bytes())?;
        let mut columns = row.split('|').skip(1);
        let (subcommands, values) = (columns.next()?, columns.next()?);
        let operands = columns.next()?.parse().ok()?;
        Some(Wrapper { subcommands, values, operands, style: columns.next()? })
    })
}

/// The names, subcommands, options with values, number of operands and style of each.
const WRAPPERS: &[&str] = &[
    "sudo||-u -g -h -p -C -D -R -r -t -T -U --user --group --chdir|0|",
    "env||-u -C --unset --chdir|0|",
    "timeout gtimeout||-k -s --kill-after --signal|1|",
    "nohup setsid command builtin noglob nocorrect valgrind chronic unbuffer rlwrap firejail spawn prlimit busybox toybox cross-env cross-env-shell entr pnpx spring fvm lando shx|||0|",
    "taskset faketime cmd gosu su-exec|||1|",
    "direnv|||2|",
    "doas||-u -C|0|",
    "nice||-n --adjustment|0|",
    "ionice||-c -n -p --class --classdata|0|",
    "chrt||-T -P -D|1|",
    "stdbuf||-i -o -e --input --output --error|0|",
    "time gtime||-f -o --format --output|0|",
    "exec||-a|0|",
    "strace||-e -o -p -s -u -E -P -I -O -S -a -b -X|0|",
    "ltrace||-e -o -p -s -u -l -n -a|0|",
    "ssh-agent||-a -t|0|",
    "xvfb-run||-e -f -n -p -s -w --error-file --auth-file --server-num --server-args|0|",
    "dbus-run-session||--config-file --dbus-daemon|0|",
    "systemd-run||-p --property -u --unit -E --setenv --slice -M --uid --gid --working-directory --description|0|",
    "caffeinate||-t -w|0|",
    "fakeroot||-l -s -i -b --lib --faked|0|",
    "proxychains proxychains4||-f|0|",
    "bwrap||--bind --bind --ro-bind --ro-bind --dev-bind --dev-bind --bind-try --bind-try --ro-bind-try --ro-bind-try --symlink --symlink --setenv --setenv --dev --proc --tmpfs --dir --chdir --unsetenv --hostname --uid --gid --cap-add --cap-drop|0|",
    "tini||-p -e|0|",
    "dumb-init||-r --rewrite|0|",
    "numactl||-N -m -i -C -p --cpunodebind --membind --interleave --physcpubind --preferred|0|",
    "unshare||-S -G -R -w --root --wd|0|",
    "chroot||--userspec --groups|1|",
    "flock||-w -E --wait --timeout --conflict-exit-code|1|",
    "runuser||-u -g -G --user|0|",
    "dotenv||-f -e -c -v --file|0|",
    "dotenvx||-f --env-file|1|",
    "env-cmd||-f --file -e --environments -r --rc-file|0|",
    "op||--env-file|1|",
    "doppler||-p -c --project --config|1|",
    "retry||-t -d -n --times --delay --tries|0|",
    "nodemon||-w --watch -e --ext|0|",
    "npx bunx||-p --package|0|",
    "uvx||--from --with -p --python|0|",
    "pipx||--spec|1|",
    "c8 nyc||-r --reporter -x --exclude -n --include|0|",
    "pnpm|exec dlx|-C --filter -F --dir|0|",
    "yarn|exec dlx|--cwd|0|",
    "npm|exec x|-w --workspace --prefix -p --package|0|",
    "bun|x|--cwd|0|",
    "poetry|run|-C -P --directory --project|0|",
    "uv|run|--with -p --python --extra --group --package --directory --project --env-file --only-group --with-requirements --index|0|",
    "pipenv rye devbox heroku infisical honcho foreman|run|-e --env|0|",
    "asdf rbenv pyenv stack cabal dune ddev|exec||0|",
    "cmake|-E||0|",
    "pdm|run|-p --project|0|",
    "hatch|run|-e --env|0|",
    "pixi|run|-e --environment --manifest-path|0|",
    "conda mamba micromamba|run|-n -p --name --prefix --cwd|0|",
    "bundle|exec|--gemfile|0|",
    "mise|exec x|-C --cd|0|",
    "volta|run|--node --npm|0|",
    "nvm|exec run||1|",
    "fnm|exec|--using|0|",
    "rustup|run||1|",
    "opam|exec|--switch|0|",
    "docker podman nerdctl docker-compose podman-compose|exec run|-e --env --env-file -u --user -w --workdir -v --volume --name -p --publish --network --mount --entrypoint -l --label --platform -m --memory --cpus --index -f --file --add-host -h --hostname --profile --project-name|1|",
    "kubectl|exec|-n -c --namespace --container|1|",
    "lerna|exec|--scope --concurrency|0|",
    "hyperfine||-w -r -m -M -n -p -c -s --warmup --runs --prepare --cleanup --setup --export-json|0|texts",
    "concurrently||-n -c --names|0|texts",
    "watchexec||-e -w -i -d --exts --watch --ignore --debounce|0|text",
    "watch||-n --interval|0|text",
    "ssh||-p -i -l -o -F -J -L -R -D -W -b -c -e -m -E -S|1|text",
];

/// Programs with options whose value is shell text.
pub(super) const TEXT_OPTIONS: &[&str] = &[
    "entr -s",
    "nodemon -x --exec",
    "chokidar -c --command",
    "vagrant -c --command",
    "fly -C --command",
    "repo -c",
    "pwsh -Command -command -c",
    "powershell -Command -command -c",
    "su -c --command --session-command",
    "script -c --command",
    "flock -c --command",
    "runuser -c --command",
    "sg -c",
    "env -S --split-string",
    "cargo -s --shell",
    "expect -c",
    "nix-shell --run --command",
    "npx -c --call",
    "npm -c --call",
    "nix -c --command",
];
