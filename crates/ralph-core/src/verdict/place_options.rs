//! Which options of which programs say where they work. Adding one is adding a row.

/// An option of a program that names the place where it works.
pub(super) struct PlaceOption {
    pub(super) programs: &'static str,
    /// The spellings, with a blank between them, as between the programs.
    pub(super) options: &'static str,
    /// Whether the value is, or may be, a file in that place.
    pub(super) file: bool,
}

const fn folder(programs: &'static str, options: &'static str) -> PlaceOption {
    PlaceOption { programs, options, file: false }
}

const fn file(programs: &'static str, options: &'static str) -> PlaceOption {
    PlaceOption { programs, options, file: true }
}

pub(super) const OPTIONS: &[PlaceOption] = &[
    folder("npm npx cnpm", "--prefix -C"),
    folder("pnpm pnpx", "-C --dir"),
    folder("yarn bun bunx", "--cwd"),
    folder("jest", "--rootDir"),
    folder("vitest", "--root -r"),
    folder("cargo", "-C"),
    file("cargo", "--manifest-path"),
    folder("go git gotestsum", "-C"),
    folder("make ninja samu meson rake scons", "-C"),
    folder("make", "--directory"),
    folder("ctest", "--test-dir"),
    folder("pytest", "--rootdir"),
    folder("tox", "--root --workdir"),
    file("mvn", "-f --file"),
    folder("gradle", "-p --project-dir"),
    folder("uv", "--directory"),
    folder("poetry", "-C --directory -P --project"),
    folder("pdm", "-p --project"),
    folder("conda mamba micromamba", "--cwd"),
    folder("composer", "-d --working-dir"),
    folder("just", "-d --working-directory"),
    folder("task go-task", "-d --dir"),
    folder("mise", "-C --cd"),
    folder("swift", "--package-path"),
    folder("dune", "--root"),
    folder("forge", "--root"),
    folder("env", "-C --chdir"),
    folder("sudo", "-D --chdir"),
    folder("systemd-run", "--working-directory"),
];

/// Programs that run the command behind them in a container, on another machine or in a new root:
/// no path there says anything about this machine.
pub(super) const ELSEWHERE: &str = "\
    docker docker-compose podman podman-compose nerdctl kubectl ssh vagrant heroku fly chroot wsl \
    distrobox toolbox ddev lando";
