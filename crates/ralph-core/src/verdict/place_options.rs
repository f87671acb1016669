//! Which options of which programs say where they work.

/// Programs, and the options of theirs that name the place where they work, or a file in it.
pub(super) const OPTIONS: &[(&[&str], &[&str])] = &[
    (&["npm", "npx", "cnpm"], &["--prefix", "-C"]),
    (&["pnpm", "pnpx"], &["-C", "--dir"]),
    (&["yarn", "bun", "bunx"], &["--cwd"]),
    (&["jest"], &["--rootDir"]),
    (&["vitest"], &["--root", "-r"]),
    (&["cargo"], &["-C", "--manifest-path"]),
    (&["go", "git", "gotestsum"], &["-C"]),
    (&["make", "ninja", "samu", "meson", "rake", "scons"], &["-C", "--directory"]),
    (&["ctest"], &["--test-dir"]),
    (&["pytest"], &["--rootdir"]),
    (&["tox"], &["--root", "--workdir"]),
    (&["mvn"], &["-f", "--file"]),
    (&["gradle"], &["-p", "--project-dir"]),
    (&["uv"], &["--directory"]),
    (&["poetry"], &["-C", "--directory", "-P", "--project"]),
    (&["pdm"], &["-p", "--project"]),
    (&["conda", "mamba", "micromamba"], &["--cwd"]),
    (&["composer"], &["-d", "--working-dir"]),
    (&["just"], &["-d", "--working-directory"]),
    (&["task", "go-task"], &["-d", "--dir"]),
    (&["mise"], &["-C", "--cd"]),
    (&["swift"], &["--package-path"]),
    (&["dune"], &["--root"]),
    (&["forge"], &["--root"]),
    (&["env"], &["-C", "--chdir"]),
    (&["sudo"], &["-D", "--chdir"]),
    (&["systemd-run"], &["--working-directory"]),
];

/// Programs that run the command behind them in a container, on another machine or in a new root:
/// no path there says anything about this machine.
pub(super) const ELSEWHERE: &[&str] = &[
    "docker",
    "docker-compose",
    "podman",
    "podman-compose",
    "nerdctl",
    "kubectl",
    "ssh",
    "vagrant",
    "heroku",
    "fly",
    "chroot",
    "wsl",
    "distrobox",
    "toolbox",
    "ddev",
    "lando",
];
