//! Finds the program that a wrapper starts: `npx`, `poetry run`, `docker compose exec web` and the
//! like. Shell constructs are the shell reader's matter, not this file's.

use super::names::is_listed;

/// A program that starts another one.
struct Wrapper {
    program: &'static str,
    /// Words that must follow for it to be a wrapper.
    sub: &'static [&'static str],
    /// How many arguments of its own stand before the other program: a duration, a container.
    own: usize,
}

const fn wrapper(program: &'static str, sub: &'static [&'static str], own: usize) -> Wrapper {
    Wrapper { program, sub, own }
}

const WRAPPERS: &[Wrapper] = &[
    wrapper("sudo", &[], 0),
    wrapper("doas", &[], 0),
    wrapper("env", &[], 0),
    wrapper("command", &[], 0),
    wrapper("exec", &[], 0),
    wrapper("time", &[], 0),
    wrapper("nice", &[], 0),
    wrapper("ionice", &[], 0),
    wrapper("stdbuf", &[], 0),
    wrapper("unbuffer", &[], 0),
    wrapper("chronic", &[], 0),
    wrapper("nohup", &[], 0),
    wrapper("setsid", &[], 0),
    wrapper("xvfb-run", &[], 0),
    wrapper("timeout", &[], 1),
    wrapper("gtimeout", &[], 1),
    wrapper("xargs", &[], 0),
    wrapper("valgrind", &[], 0),
    wrapper("strace", &[], 0),
    wrapper("npx", &[], 0),
    wrapper("pnpx", &[], 0),
    wrapper("bunx", &[], 0),
    wrapper("npm", &["exec"], 0),
    wrapper("npm", &["x"], 0),
    wrapper("pnpm", &["exec"], 0),
    wrapper("pnpm", &["dlx"], 0),
    wrapper("yarn", &["exec"], 0),
    wrapper("yarn", &["dlx"], 0),
    wrapper("bun", &["x"], 0),
    wrapper("cross-env", &[], 0),
    wrapper("dotenv", &[], 0),
    wrapper("dotenvx", &["run"], 0),
    wrapper("env-cmd", &[], 0),
    wrapper("doppler", &["run"], 0),
    wrapper("op", &["run"], 0),
    wrapper("infisical", &["run"], 0),
    wrapper("c8", &[], 0),
    wrapper("nyc", &[], 0),
    wrapper("start-server-and-test", &[], 2),
    wrapper("poetry", &["run"], 0),
    wrapper("uv", &["run"], 0),
    wrapper("uvx", &[], 0),
    wrapper("pipx", &["run"], 0),
    wrapper("pipenv", &["run"], 0),
    wrapper("pdm", &["run"], 0),
    wrapper("rye", &["run"], 0),
    wrapper("pixi", &["run"], 0),
    wrapper("conda", &["run"], 0),
    wrapper("mamba", &["run"], 0),
    wrapper("micromamba", &["run"], 0),
    wrapper("coverage", &["run"], 0),
    wrapper("bundle", &["exec"], 0),
    wrapper("rbenv", &["exec"], 0),
    wrapper("asdf", &["exec"], 0),
    wrapper("mise", &["exec"], 0),
    wrapper("mise", &["x"], 0),
    wrapper("direnv", &["exec"], 1),
    wrapper("devbox", &["run"], 0),
    wrapper("nix", &["develop"], 0),
    wrapper("spring", &[], 0),
    wrapper("opam", &["exec"], 0),
    wrapper("stack", &["exec"], 0),
    wrapper("cabal", &["exec"], 0),
    wrapper("fvm", &[], 0),
    wrapper("docker", &["compose", "exec"], 1),
    wrapper("docker", &["compose", "run"], 1),
    wrapper("docker-compose", &["exec"], 1),
    wrapper("docker-compose", &["run"], 1),
    wrapper("podman-compose", &["exec"], 1),
    wrapper("docker", &["exec"], 1),
    wrapper("docker", &["run"], 1),
    wrapper("docker", &["container", "exec"], 1),
    wrapper("podman", &["exec"], 1),
    wrapper("podman", &["run"], 1),
    wrapper("kubectl", &["exec"], 1),
    wrapper("ddev", &["exec"], 0),
    wrapper("lando", &[], 0),
    wrapper("vagrant", &["ssh", "-c"], 0),
    wrapper("heroku", &["run"], 0),
    wrapper("fly", &["ssh", "console", "-C"], 0),
];

/// Options of wrappers that take the next word as their value.
const WITH_VALUE: &str = "\
    -u --user -n --name -e --env -w --workdir -v --volume -f --file -p --project --project-name \
    --with --extra --group --python --package --directory --env-file -k -s -P -I -L --network \
    --entrypoint --profile --index -c --rcfile --source --include --omit --data-file --context \
    --namespace --reporter -r --only --platform --mount --max-args -a";

/// The innermost program and its arguments.
pub(crate) fn unwrap<'a>(program: &'a str, args: &'a [&'a str]) -> (&'a str, &'a [&'a str]) {
    let (mut program, mut args) = (program, args);
    // Wrappers are rarely nested more than three deep; the bound guards against nonsense.
    for _ in 0..8 {
        match unwrap_once(base_name(program), args) {
            Some((inner, rest)) => (program, args) = (inner, rest),
            None => break,
        }
    }
    (program, args)
}

fn unwrap_once<'a>(program: &str, args: &'a [&'a str]) -> Option<(&'a str, &'a [&'a str])> {
    WRAPPERS.iter().filter(|wrapper| wrapper.program == program).find_map(|wrapper| {
        let mut rest = args;
        for word in wrapper.sub {
            rest = if word.starts_with('-') { rest } else { skip_options(rest) };
            let (first, behind) = rest.split_first()?;
            if first != word {
                return None;
            }
            rest = behind;
        }
        for _ in 0..wrapper.own {
            rest = skip_options(rest).split_first()?.1;
        }
        // `coverage run -m pytest` starts a module of Python.
        if program == "coverage" {
            return Some(("python", rest));
        }
        let (inner, behind) = skip_options(rest).split_first()?;
        Some((*inner, behind))
    })
}

/// Skips options, their values and `NAME=value`.
fn skip_options<'a>(args: &'a [&'a str]) -> &'a [&'a str] {
    let mut rest = args;
    while let Some((first, behind)) = rest.split_first() {
        let assignment = first.split_once('=').is_some_and(|(name, _)| {
            !name.is_empty() && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
        });
        if !first.starts_with('-') && !assignment {
            break;
        }
        let with_value = is_listed(WITH_VALUE, first) && behind.len() > 1;
        rest = if with_value { behind.get(1..).unwrap_or_default() } else { behind };
    }
    rest
}

/// The program's name without folder, ending and version: `./gradlew` is `gradle`.
pub(crate) fn base_name(program: &str) -> &str {
    let file = program.rsplit(['/', '\\']).next().unwrap_or(program);
    let file = [".exe", ".cmd", ".bat", ".phar", ".ps1"]
        .iter()
        .find_map(|ending| file.strip_suffix(ending))
        .unwrap_or(file);
    // `npx jest@29`
    let file =
        file.split_once('@').map_or(file, |(name, _)| if name.is_empty() { file } else { name });
    match file {
        "gradlew" => "gradle",
        "mvnw" => "mvn",
        "gmake" | "bmake" | "mingw32-make" | "remake" => "make",
        "py" | "pypy" | "pypy3" => "python",
        "nodejs" => "node",
        "clj" => "clojure",
        "sbtx" => "sbt",
        _ => {
            let plain = file.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
            let versioned = ["python", "pip", "lua", "perl", "ruby", "php", "node", "pytest"];
            versioned.iter().find(|name| **name == plain).copied().unwrap_or(file)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(command: &str, expected: &str) {
        let words: Vec<&str> = command.split(' ').collect();
        let (program, args) = words.split_first().unwrap();
        let (inner, rest) = unwrap(program, args);
        let mut read = vec![base_name(inner)];
        read.extend(rest);
        assert_eq!(read.join(" "), expected, "{command}");
    }

    #[test]
    fn wrappers_give_way_to_what_they_start() {
        check("npx --yes jest@29 --ci", "jest --ci");
        check("docker compose exec -T -e CI=1 web rspec spec", "rspec spec");
        check("poetry run coverage run -m pytest -q", "python -m pytest -q");
        check("timeout -k 5 300 pytest", "pytest");
        check("env CI=1 nice -n 10 ./gradlew test", "gradle test");
        check("uv run --with pytest-xdist python3.12 -m pytest", "python -m pytest");
        check("bundle exec rspec", "rspec");
        check("npm test", "npm test");
    }
}
