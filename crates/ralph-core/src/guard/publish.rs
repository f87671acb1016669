//! `publish` and `publish-image`: packages, releases and images that others can download.

use super::act::Act;
use super::table::{Row, listed};

const INSTEAD: &str = "leave publishing to the user: `ralph-loop request-merge --summary \"…\"`; \
                       `--dry-run` or a registry on this machine shows whether it would work";

/// A call that is harmless with `--dry-run`.
const fn row(programs: &'static str, words: &'static str) -> Row {
    [programs, words, "", "--dry-run", "", INSTEAD]
}

/// The same, if one of these options is given.
const fn row_with(programs: &'static str, words: &'static str, options: &'static str) -> Row {
    [programs, words, options, "--dry-run", "", INSTEAD]
}

const PUBLISHES: &[Row] = &[
    row("npm|pnpm|yarn|bun|cnpm", "publish|unpublish|deprecate"),
    row("npm|pnpm", "dist-tag add|rm"),
    row("yarn", "npm publish"),
    row("yarn", "workspace * publish"),
    row("yarn", "workspace * npm publish"),
    row("yarn", "workspaces foreach npm publish"),
    row("lerna|changeset|jsr|deno|vsce|ovsx|poetry|uv|hatch|flit|pdm|rye|opam", "publish"),
    row("nx", "release publish"),
    ["semantic-release|release-it", "", "", "--dry-run -d", "", INSTEAD],
    ["np", "", "", "--preview", "", INSTEAD],
    row("cargo", "publish|yank"),
    row("cargo", "workspaces|ws publish"),
    row_with("cargo", "release", "--execute -x"),
    row("twine|anaconda|conan|luarocks|cabal|stack", "upload"),
    row("snapcraft", "upload|push|release"),
    row("maturin", "publish|upload"),
    row("gem", "push|yank"),
    row("rake", "release"),
    row("dotnet", "nuget push|delete"),
    row("nuget", "push|delete"),
    row("mix", "hex.publish|hex.retire"),
    row("dart|flutter", "pub publish"),
    row("pod", "trunk|repo push"),
    ["goreleaser", "release", "", "--snapshot --skip --skip-publish", "", INSTEAD],
    row("gh", "release create|upload|edit|delete|delete-asset"),
    row("glab", "release create|upload|delete"),
];

const PUSHES_IMAGES: &[Row] = &[
    row("docker|podman|nerdctl|buildah|docker-compose|podman-compose|helm|oras", "push"),
    row("docker|podman|nerdctl", "image|manifest|compose|plugin push"),
    row_with("docker|podman|nerdctl|docker-compose", "build", "--push"),
    row_with("docker|podman|nerdctl", "buildx|compose|image build|bake", "--push"),
    row("skopeo", "copy|sync"),
    row("crane", "push|copy|cp"),
];

/// Programs that are given tasks by name, in any order.
const BUILDERS: [&str; 5] = ["mvn", "mvnw", "gradle", "gradlew", "sbt"];

/// The programs that each rule is about. Every command comes by here, and nearly all are others.
#[rustfmt::skip]
const PUBLISHERS: [&str; 48] = [
    "anaconda", "bun", "cabal", "cargo", "changeset", "cnpm", "conan", "dart",
    "deno", "dotnet", "flit", "flutter", "gem", "gh", "glab", "goreleaser",
    "gradle", "gradlew", "hatch", "jsr", "lerna", "luarocks", "maturin", "mix",
    "mvn", "mvnw", "np", "npm", "nuget", "nx", "opam", "ovsx",
    "pdm", "pnpm", "pod", "poetry", "rake", "release-it", "rye", "sbt",
    "semantic-release", "setup.py", "snapcraft", "stack", "twine", "uv", "vsce", "yarn",
];
#[rustfmt::skip]
const IMAGE_PUSHERS: [&str; 10] = [
    "buildah", "crane", "docker", "docker-compose", "helm", "nerdctl", "oras", "podman",
    "podman-compose", "skopeo",
];

/// What to do instead of publishing a package or a release.
pub(super) fn instead_of_publishing(act: &Act) -> Option<String> {
    if !PUBLISHERS.contains(&act.asked().0) {
        return None;
    }
    let found =
        listed(PUBLISHES, act).or_else(|| builds_and_publishes(act).then(|| INSTEAD.to_owned()))?;
    (!stays_here(act)).then_some(found)
}

/// What to do instead of pushing an image or a chart.
pub(super) fn instead_of_pushing_images(act: &Act) -> Option<String> {
    if !IMAGE_PUSHERS.contains(&act.asked().0) {
        return None;
    }
    let found = listed(PUSHES_IMAGES, act)?;
    (!stays_here(act)).then_some(found)
}

/// `mvn clean deploy`, `./gradlew :lib:publish`, `python setup.py sdist upload`.
fn builds_and_publishes(act: &Act) -> bool {
    let publishes = |task: &str| match task.rsplit(':').next().unwrap_or(task) {
        "deploy" => act.name.starts_with("mvn"),
        "perform" => task == "release:perform",
        "publish" | "publishSigned" | "publishPlugins" => !act.name.starts_with("mvn"),
        name => name.starts_with("publish") && name.ends_with("Repository"),
    };
    if BUILDERS.contains(&act.name) {
        let rehearses = |arg: &str| matches!(arg, "-m" | "--dry-run" | "-h" | "--help");
        return !act.args().any(rehearses) && act.args().any(publishes);
    }
    act.name.starts_with("python")
        && act.asked().0 == "setup.py"
        && act.args().any(|arg| arg == "upload")
}

/// Whether it goes to a registry on this machine or into a file.
fn stays_here(act: &Act) -> bool {
    if matches!(act.name, "skopeo" | "crane") {
        // What is copied comes first, from wherever.
        let to = act.operands().last().map_or("", |to| to.text());
        return is_here(to) || is_file(act.name, to);
    }
    let given = act.command.assignments.iter().map(|(_, value)| value.text());
    act.args().chain(given).any(is_here) || act.args().any(|arg| is_file(act.name, arg))
}

/// `podman push x dir:/tmp/x`, `mvn deploy -DaltDeploymentRepository=x::file:./repo`: into a file.
fn is_file(program: &str, arg: &str) -> bool {
    const FORMS: [&str; 4] = ["dir:", "oci:", "oci-archive:", "docker-archive:"];
    match program {
        "mvn" | "mvnw" => arg.contains("::file:"),
        "podman" | "buildah" | "skopeo" | "crane" => {
            FORMS.iter().any(|form| arg.starts_with(form)) && !arg.starts_with("oci://")
        }
        _ => false,
    }
}

/// Whether a text is an address on this machine, alone or as the value of an option.
pub(super) fn is_here(text: &str) -> bool {
    let value = match text.split_once('=') {
        Some((name, value)) if !name.contains('/') => value,
        _ => text,
    };
    let address = value.split_once("://").map_or(value, |(_, address)| address);
    let address = address.split('/').next().unwrap_or(address);
    let host = address.rsplit('@').next().unwrap_or(address);
    let name = host.rsplit_once(':').map_or(host, |(name, _)| name);
    matches!(name, "localhost" | "[::1]" | "0.0.0.0" | "host.docker.internal")
        || name.ends_with(".localhost")
        || name.strip_prefix("127.").is_some_and(|rest| rest.bytes().all(is_of_address))
}

fn is_of_address(byte: u8) -> bool {
    byte == b'.' || byte.is_ascii_digit()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_of_the_rows_is_listed() {
        let named = |rows: &'static [Row]| rows.iter().flat_map(|[names, ..]| names.split('|'));
        for program in named(PUBLISHES).chain(BUILDERS) {
            assert!(PUBLISHERS.contains(&program), "{program}");
        }
        for program in named(PUSHES_IMAGES) {
            assert!(IMAGE_PUSHERS.contains(&program), "{program}");
        }
    }

    #[test]
    fn addresses_on_this_machine_are_told_from_others() {
        for here in [
            "localhost:5000/x",
            "--registry=http://localhost:4873",
            "http://127.0.0.1:4873/",
            "http://user@localhost/",
            "registry.localhost/x:1",
        ] {
            assert!(is_here(here), "{here}");
        }
        for elsewhere in
            ["ghcr.io/localhost/x", "localhost.example.com/x", "127.example.com", "x", ""]
        {
            assert!(!is_here(elsewhere), "{elsewhere}");
        }
    }
}
