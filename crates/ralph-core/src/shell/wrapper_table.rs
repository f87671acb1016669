//! Which programs run the command written behind them.
//!
//! Adding one is adding a row: its name, the subcommands that make it a wrapper, the options that
//! take a value, and how many words of its own come before the command.

/// How a program runs the command behind it.
pub(super) struct Wrapper {
    pub(super) name: &'static str,
    /// One of these must come first; empty if none is needed. Blanks separate them here and below.
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

const fn row(name: &'static str, values: &'static str, operands: usize) -> Wrapper {
    Wrapper { name, subcommands: "", values, operands, style: Style::Words }
}

const fn tool(
    name: &'static str,
    subcommands: &'static str,
    values: &'static str,
    operands: usize,
) -> Wrapper {
    Wrapper { name, subcommands, values, operands, style: Style::Words }
}

const fn text(name: &'static str, values: &'static str, operands: usize) -> Wrapper {
    Wrapper { name, subcommands: "", values, operands, style: Style::Text }
}

const fn texts(name: &'static str, values: &'static str) -> Wrapper {
    Wrapper { name, subcommands: "", values, operands: 0, style: Style::Texts }
}

const CONTAINER: &str = "-e --env --env-file -u --user -w --workdir -v --volume --name -p --publish --network --mount --entrypoint -l --label --platform -m --memory --cpus --index -f --file --add-host -h --hostname";

pub(super) const WRAPPERS: &[Wrapper] = &[
    row("sudo", "-u -g -h -p -C -D -R -r -t -T -U --user --group --chdir", 0),
    row("doas", "-u -C", 0),
    row("env", "-u -C --unset --chdir", 0),
    row("timeout", "-k -s --kill-after --signal", 1),
    row("gtimeout", "-k -s --kill-after --signal", 1),
    row("nohup", "", 0),
    row("nice", "-n --adjustment", 0),
    row("ionice", "-c -n -p --class --classdata", 0),
    row("chrt", "-T -P -D", 1),
    row("taskset", "", 1),
    row("stdbuf", "-i -o -e --input --output --error", 0),
    row("setsid", "", 0),
    row("time", "-f -o --format --output", 0),
    row("gtime", "-f -o --format --output", 0),
    row("command", "", 0),
    row("builtin", "", 0),
    row("exec", "-a", 0),
    row("noglob", "", 0),
    row("nocorrect", "", 0),
    row("strace", "-e -o -p -s -u -E -P -I -O -S -a -b -X", 0),
    row("ltrace", "-e -o -p -s -u -l -n -a", 0),
    row("valgrind", "", 0),
    row("perf", "", 1),
    row("gdb", "-ex -x", 0),
    row("rr", "", 1),
    row("catchsegv", "", 0),
    row("chronic", "", 0),
    row("faketime", "", 1),
    row("eatmydata", "", 0),
    row("ssh-agent", "-a -t", 0),
    row("sem", "-j --id", 0),
    row("run-one", "", 0),
    row("tsp", "-L -N", 0),
    row("nq", "", 0),
    row("cmd", "", 1),
    row("wsl", "-d -u --cd", 0),
    row("distrobox", "", 2),
    row("toolbox", "-c", 1),
    row("zellij", "-n", 1),
    row("unbuffer", "", 0),
    row("rlwrap", "", 0),
    row("xvfb-run", "-e -f -n -p -s -w --error-file --auth-file --server-num --server-args", 0),
    row("dbus-run-session", "--config-file --dbus-daemon", 0),
    row("dbus-launch", "", 0),
    row(
        "systemd-run",
        "-p --property -u --unit -E --setenv --slice -M --uid --gid --working-directory --description",
        0,
    ),
    row("systemd-inhibit", "--what --who --why --mode", 0),
    row("caffeinate", "-t -w", 0),
    row("fakeroot", "-l -s -i -b --lib --faked", 0),
    row("proxychains", "-f", 0),
    row("proxychains4", "-f", 0),
    row("torsocks", "", 0),
    row("firejail", "", 0),
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
    row("spawn", "", 0),
    row("unshare", "-S -G -R -w --root --wd", 0),
    row("nsenter", "-t --target", 0),
    row("chroot", "--userspec --groups", 1),
    row("prlimit", "", 0),
    row("cpulimit", "-l -p -e --limit", 0),
    row("flock", "-w -E --wait --timeout --conflict-exit-code", 1),
    row("setarch", "", 1),
    row("runuser", "-u -g -G --user", 0),
    row("setpriv", "--reuid --regid --groups", 0),
    row("gosu", "", 1),
    row("su-exec", "", 1),
    row("busybox", "", 0),
    row("toybox", "", 0),
    row("dotenv", "-f -e -c --file", 0),
    row("dotenvx", "-f --env-file", 1),
    row("cross-env", "", 0),
    row("cross-env-shell", "", 0),
    row("direnv", "", 2),
    row("op", "--env-file", 1),
    row("doppler", "-p -c --project --config", 1),
    row("aws-vault", "", 2),
    row("with-contenv", "", 0),
    row("retry", "-t -d -n --times --delay --tries", 0),
    row("entr", "", 0),
    row("nodemon", "-w --watch -e --ext", 0),
    row("npx", "-p --package", 0),
    row("bunx", "-p --package", 0),
    row("pnpx", "", 0),
    row("uvx", "--from --with -p --python", 0),
    row("pipx", "--spec", 1),
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
    tool("pipenv", "run", "", 0),
    tool("pdm", "run", "-p --project", 0),
    tool("rye", "run", "", 0),
    tool("hatch", "run", "-e --env", 0),
    tool("pixi", "run", "-e --environment --manifest-path", 0),
    tool("conda", "run", "-n -p --name --prefix --cwd", 0),
    tool("mamba", "run", "-n -p", 0),
    tool("micromamba", "run", "-n -p", 0),
    tool("bundle", "exec", "--gemfile", 0),
    tool("mise", "exec x", "-C --cd", 0),
    tool("asdf", "exec", "", 0),
    tool("rbenv", "exec", "", 0),
    tool("pyenv", "exec", "", 0),
    tool("volta", "run", "--node --npm", 0),
    tool("nvm", "exec run", "", 1),
    tool("fnm", "exec", "--using", 0),
    tool("rustup", "run", "", 1),
    tool("opam", "exec", "--switch", 0),
    tool("stack", "exec", "", 0),
    tool("cabal", "exec", "", 0),
    tool("dune", "exec", "", 0),
    tool("docker", "exec run", CONTAINER, 1),
    tool("podman", "exec run", CONTAINER, 1),
    tool("nerdctl", "exec run", CONTAINER, 1),
    tool("docker-compose", "exec run", CONTAINER, 1),
    tool("kubectl", "exec", "-n -c --namespace --container", 1),
    tool("lerna", "exec", "--scope --concurrency", 0),
    tool("mr", "run", "", 0),
    tool("guix", "shell", "-m", 0),
    tool("devbox", "run", "", 0),
    tool("pueue", "add", "-g -d --group", 0),
    texts(
        "hyperfine",
        "-w -r -m -M -n -p -c -s --warmup --runs --prepare --cleanup --setup --export-json",
    ),
    texts("concurrently", "-n -c --names"),
    text("watchexec", "-e -w -i -d --exts --watch --ignore --debounce", 0),
    text("watch", "-n --interval", 0),
    text("ssh", "-p -i -l -o -F -J -L -R -D -W -b -c -e -m -E -S", 1),
];

/// Options of `su`, `script` and others whose value is shell text.
pub(super) const TEXT_OPTIONS: &[(&str, &str)] = &[
    ("entr", "-s"),
    ("nodemon", "-x --exec"),
    ("chokidar", "-c --command"),
    ("vagrant", "-c --command"),
    ("repo", "-c"),
    ("pwsh", "-Command -command -c"),
    ("powershell", "-Command -command -c"),
    ("su", "-c --command --session-command"),
    ("script", "-c --command"),
    ("flock", "-c --command"),
    ("runuser", "-c --command"),
    ("sg", "-c"),
    ("env", "-S --split-string"),
    ("cargo", "-s --shell"),
    ("expect", "-c"),
    ("nix-shell", "--run --command"),
    ("npx", "-c --call"),
    ("npm", "-c --call"),
    ("nix", "-c --command"),
];
