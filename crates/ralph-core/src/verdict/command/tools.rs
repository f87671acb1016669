//! Programs that are known not to run tests: those that show text, and all the others.

use super::names::is_listed;
use super::purpose::Purpose;

/// Programs that show text that others wrote.
const SHOWING: &str = "\
    cat tac less more head tail grep egrep fgrep rg ag ack awk gawk mawk sed jq yq bat batcat \
    nl cut tr sort uniq diff cmp colordiff delta strings xxd od column paste gh glab journalctl \
    dmesg curl wget http zcat zgrep find tree aws gcloud az xmllint history man comm join";

/// Programs that have nothing to do with tests.
const OTHERS: &str = "\
    echo printf ls cd pushd popd pwd export set unset source . : true false test [ [[ which \
    type exit return read local declare alias wc tee touch mkdir rm rmdir cp mv ln chmod chown \
    stat file du df date sleep kill pkill killall ps top wait jobs trap basename dirname \
    realpath readlink seq yes tar zip unzip gzip ping nc ss lsof id whoami uname hostname env \
    xargs pip pip3 pipx apt apt-get brew yum dnf apk systemctl service gcc g++ clang clang++ cc \
    c++ rustc javac kotlinc ghc tsc vue-tsc swiftc as ld ar eslint prettier stylelint biome \
    mypy pyright ruff flake8 black isort pylint bandit shellcheck shfmt hadolint rubocop \
    phpstan psalm phpcs php-cs-fixer golangci-lint gofmt goimports rustfmt clang-format \
    clang-tidy cppcheck ktlint detekt checkstyle credo dialyzer webpack rollup esbuild parcel \
    next nuxt husky lcov gcov genhtml ansible ansible-playbook claude code vim nano open psql \
    mysql sqlite3 redis-cli mongosh ls-lint lldb nm objdump ldd base64 md5sum sha256sum mktemp";

/// Programs that never run tests by themselves, whatever they are given.
pub(super) fn of_tool(name: &str, args: &[&str]) -> Option<Purpose> {
    match name {
        // What a container or another machine runs shows in its output.
        "docker" | "podman" | "docker-compose" => {
            let runs = args.iter().any(|arg| matches!(*arg, "run" | "exec" | "up" | "start"));
            Some(if runs { Purpose::May } else { Purpose::Shows })
        }
        "ssh" => Some(Purpose::May),
        "configure" if args.len() < 40 => Some(Purpose::Other),
        name if is_listed(SHOWING, name) => Some(Purpose::Shows),
        name if is_listed(OTHERS, name) => Some(Purpose::Other),
        _ => None,
    }
}

/// Tools that run tests only in the ways that the table of runners knows.
const BUILD_TOOLS: &str = "\
    flutter dart mix rebar3 stack cabal dub zig crystal swift xcodebuild deno forge nx turbo lerna \
    uv conda bundle gem meson autoreconf mvn gradle sbt dotnet msbuild playwright cypress karma go \
    gleam dune opam luarocks coverage vite terraform tofu helm kubectl gdb slither cmake";

pub(super) fn is_build_tool(name: &str) -> bool {
    is_listed(BUILD_TOOLS, name)
}
