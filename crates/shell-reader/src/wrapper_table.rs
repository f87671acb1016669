//! Which programs run the command written behind them.
//!
//! Adding one is adding a row: its name, the subcommands that make it a wrapper, the options that
//! take a value, and how many words of its own come before the command.

/// How a program runs the command behind it.
pub(super) struct Wrapper {
    /// The programs that do it in this way. Blanks separate words here and below.
    pub(super) names: &'static str,
    /// One of these must come first; empty if none is needed.
    pub(super) subcommands: &'static str,
    /// Options followed by a value of their own; named twice if two values follow.
    pub(super) values: &'static str,
    /// Words between the options and the command, such as the time of `timeout`.
    pub(super) operands: usize,
    /// How the words that are left become a command.
    pub(super) style: Style,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Style {
    /// They are the command.
    Words,
    /// They are joined and given to a shell.
    Text,
    /// Each of them is given to a shell.
    Texts,
}

const fn row(names: &'static str, values: &'static str, operands: usize) -> Wrapper {
    Wrapper { names, subcommands: "", values, operands, style: Style::Words }
}

const fn tool(
    names: &'static str,
    subcommands: &'static str,
    values: &'static str,
    operands: usize,
) -> Wrapper {
    Wrapper { subcommands, ..row(names, values, operands) }
}

const fn text(names: &'static str, values: &'static str, operands: usize) -> Wrapper {
    Wrapper { style: Style::Text, ..row(names, values, operands) }
}

const fn texts(names: &'static str, values: &'static str) -> Wrapper {
    Wrapper { style: Style::Texts, ..row(names, values, 0) }
}

const CONTAINER: &str = "-e --env --env-file -u --user -w --workdir -v --volume --name -p --publish --network --mount --entrypoint -l --label --platform -m --memory --cpus --index -f --file --add-host -h --hostname --profile --project-name";

pub(super) const WRAPPERS: &[Wrapper] = &[
    row("sudo", "-u -g -h -p -C -D -R -r -t -T -U --user --group --chdir", 0),
    row("env", "-u -C --unset --chdir", 0),
    row("timeout gtimeout", "-k -s --kill-after --signal", 1),
    row(
        "nohup setsid command builtin noglob nocorrect valgrind chronic \
         unbuffer rlwrap firejail spawn prlimit busybox toybox \
         cross-env cross-env-shell entr pnpx spring fvm lando shx",
        "",
        0,
    ),
    row("taskset faketime cmd gosu su-exec", "", 1),
    row("direnv", "", 2),
    row("doas", "-u -C", 0),
    row("nice", "-n --adjustment", 0),
    row("ionice", "-c -n -p --class --classdata", 0),
    row("chrt", "-T -P -D", 1),
    row("stdbuf", "-i -o -e --input --output --error", 0),
    row("time gtime", "-f -o --format --output", 0),
    row("exec", "-a", 0),
    row("strace", "-e -o -p -s -u -E -P -I -O -S -a -b -X", 0),
    row("ltrace", "-e -o -p -s -u -l -n -a", 0),
    row("ssh-agent", "-a -t", 0),
    row("xvfb-run", "-e -f -n -p -s -w --error-file --auth-file --server-num --server-args", 0),
    row("dbus-run-session", "--config-file --dbus-daemon", 0),
    row(
        "systemd-run",
        "-p --property -u --unit -E --setenv --slice -M --uid --gid --working-directory --description",
        0,
    ),
    row("caffeinate", "-t -w", 0),
    row("fakeroot", "-l -s -i -b --lib --faked", 0),
    row("proxychains proxychains4", "-f", 0),
    row(
        "bwrap",
        "--bind --bind --ro-bind --ro-bind --dev-bind --dev-bind --bind-try --bind-try --ro-bind-try --ro-bind-try --symlink --symlink --setenv --setenv --dev --proc --tmpfs --dir --chdir --unsetenv --hostname --uid --gid --cap-add --cap-drop",
        0,
    ),
    row("tini", "-p -e", 0),
    row("dumb-init", "-r --rewrite", 0),
    row(
        "numactl",
        "-N -m -i -C -p --cpunodebind --membind --interleave --physcpubind --preferred",
        0,
    ),
    row("unshare", "-S -G -R -w --root --wd", 0),
    row("chroot", "--userspec --groups", 1),
    row("flock", "-w -E --wait --timeout --conflict-exit-code", 1),
    row("runuser", "-u -g -G --user", 0),
    row("dotenv", "-f -e -c -v --file", 0),
    row("dotenvx", "-f --env-file", 1),
    row("env-cmd", "-f --file -e --environments -r --rc-file", 0),
    row("op", "--env-file", 1),
    row("doppler", "-p -c --project --config", 1),
    row("retry", "-t -d -n --times --delay --tries", 0),
    row("nodemon", "-w --watch -e --ext", 0),
    row("npx bunx", "-p --package", 0),
    row("uvx", "--from --with -p --python", 0),
    row("pipx", "--spec", 1),
    row("c8 nyc", "-r --reporter -x --exclude -n --include", 0),
    tool("pnpm", "exec dlx", "-C --filter -F --dir", 0),
    tool("yarn", "exec dlx", "--cwd", 0),
    tool("npm", "exec x", "-w --workspace --prefix -p --package", 0),
    tool("bun", "x", "--cwd", 0),
    tool("poetry", "run", "-C -P --directory --project", 0),
    tool(
        "uv",
        "run",
        "--with -p --python --extra --group --package --directory --project --env-file --only-group --with-requirements --index",
        0,
    ),
    tool("pipenv rye devbox heroku infisical honcho foreman", "run", "-e --env", 0),
    tool("asdf rbenv pyenv stack cabal dune ddev", "exec", "", 0),
    tool("cmake", "-E", "", 0),
    tool("pdm", "run", "-p --project", 0),
    tool("hatch", "run", "-e --env", 0),
    tool("pixi", "run", "-e --environment --manifest-path", 0),
    tool("conda mamba micromamba", "run", "-n -p --name --prefix --cwd", 0),
    tool("bundle", "exec", "--gemfile", 0),
    tool("mise", "exec x", "-C --cd", 0),
    tool("volta", "run", "--node --npm", 0),
    tool("nvm", "exec run", "", 1),
    tool("fnm", "exec", "--using", 0),
    tool("rustup", "run", "", 1),
    tool("opam", "exec", "--switch", 0),
    tool("docker podman nerdctl docker-compose podman-compose", "exec run", CONTAINER, 1),
    tool("kubectl", "exec", "-n -c --namespace --container", 1),
    tool("lerna", "exec", "--scope --concurrency", 0),
    texts(
        "hyperfine",
        "-w -r -m -M -n -p -c -s --warmup --runs --prepare --cleanup --setup --export-json",
    ),
    texts("concurrently", "-n -c --names"),
    text("watchexec", "-e -w -i -d --exts --watch --ignore --debounce", 0),
    text("watch", "-n --interval", 0),
    text("ssh", "-p -i -l -o -F -J -L -R -D -W -b -c -e -m -E -S", 1),
];

/// Programs with options whose value is shell text, with `;` between.
pub(super) const TEXT_OPTIONS: &str = "\
    entr -s;nodemon -x --exec;chokidar -c --command;vagrant -c --command;fly -C \
    --command;repo -c;pwsh -Command -command -c;powershell -Command -command -c;su -c \
    --command --session-command;script -c --command;flock -c --command;runuser -c \
    --command;sg -c;env -S --split-string;cargo -s --shell;expect -c;nix-shell --run \
    --command;npx -c --call;npm -c --call;nix -c --command";
