//! Command lines that run tests, list tests, may run tests, or do none of these.

use super::*;

fn read(command: &str) -> &'static str {
    match find(&shell_reader::read(command), &[]).map(|invocation| invocation.purpose) {
        Some(Purpose::Runs(_)) => "runs",
        Some(Purpose::Lists(_)) => "lists",
        Some(_) => "may",
        None => "none",
    }
}

#[track_caller]
fn check(expected: &str, commands: &[&str]) {
    for command in commands {
        assert_eq!(read(command), expected, "{command}");
    }
}

#[test]
fn runners_are_found_behind_wrappers_folders_and_variables() {
    check(
        "runs",
        &[
            "python3.12 -W error -m pytest tests",
            "poetry run pytest",
            "uv run pytest -q",
            "uv run --with pytest pytest",
            "pipenv run python -m unittest",
            "bundle exec rspec spec/models",
            "docker-compose run --rm -e CI=1 app npm test",
            "docker run --rm -v $PWD:/app -w /app node:20 npm test",
            "kubectl exec -it pod -- pytest",
            "./gradlew :app:testDebugUnitTest --info",
            "./mvnw -B test -Dtest=CalcTest",
            "node node_modules/jest/bin/jest.js",
            "node -r ts-node/register test/calc.ts",
            "php -d memory_limit=1G tests/run.php",
            "javac -d out src/CalcTest.java && java -cp out CalcTest",
            "cd tests && ./run.sh",
            "python - <<'EOF'\nimport unittest\nunittest.main()\nEOF",
            "node_modules/.bin/mocha",
            "cargo +nightly test --workspace",
            "bash -lc \"npm test\"",
            "out=$(pytest 2>&1); echo \"$out\" | tail",
            "find . -name '*_test.py' -exec python -m pytest {} +",
            "nice -n 10 ctest -j4",
            "Rscript -e 'devtools::test()'",
        ],
    );
}

#[test]
fn scripts_and_targets_with_test_names_run_tests() {
    check(
        "runs",
        &[
            "npm t",
            "npm --prefix app test",
            "yarn workspace app test",
            "yarn jest",
            "pnpm --filter web test",
            "pnpm vitest run",
            "make -C build check",
            "make -j4 test",
            "make -j test",
            "composer test",
            "composer run-script test",
            "rake",
            "cmake --build build --target test",
            "./run_tests.sh",
            "bash scripts/run-tests.sh",
            "python tests/run.py",
            "python setup.py test",
            "invoke test",
            "cargo xtask test",
            "tox -e py311,lint",
            "pre-commit run pytest",
            "rdmd -unittest -main calc.d",
            "script/test",
            "./build.sh test-unit",
            "sh build.sh test-unit",
            "node ./bin/cake test",
            "sbt ';update ;compile ;test'",
            "escript ./rebar skip_deps=true ct -v",
            "npm run coverage:ci",
            "xvfb-maybe npm test",
            "./tools/test-build",
            "python build.py test",
            "activator test",
            "coverage run `which py.test`",
        ],
    );
}

#[test]
fn listing_and_building_tests_is_not_running_them() {
    check(
        "lists",
        &[
            "pytest --co -q",
            "./build/calc_test --gtest_list_tests",
            "ctest -N --show-only",
            "npx playwright test --list",
            "rspec --dry-run",
            "go test -c ./calc",
            "npx jest --clearCache",
            "nox -l",
        ],
    );
}

#[test]
fn ambiguous_commands_may_run_tests() {
    check(
        "may",
        &[
            "./check-all",
            "make",
            "npm run ci",
            "./build.sh",
            "mvn install",
            "gradle assemble",
            "node app.js",
            "pre-commit run --all-files",
        ],
    );
}

#[test]
fn reading_building_linting_and_help_are_not_test_runs() {
    check(
        "none",
        &[
            "git log --grep test",
            "echo 'npm test'",
            "printf 'pytest\\n'",
            "echo pytest | cat",
            "cat <<'EOF' > run.sh\nnpm test\nEOF",
            "git commit -m 'npm test' --dry-run | cat && git log",
            "which pytest",
            "pip install pytest",
            "npm install --save-dev jest",
            "npm ci",
            "cargo build --tests",
            "cargo run -- test",
            "go vet ./...",
            "npx tsc --noEmit -p tests",
            "ruff check tests",
            "[ -d tests ] && ls tests",
            "(pytest > log 2>&1 &); echo started",
            "ls tests",
            "rm -rf tests/__pycache__",
            "mkdir -p tests && touch tests/test_x.py",
            "docker logs tests",
            "python3 -c 'import pytest'",
            "node -e 'require(\"assert\")(false)'",
            "make -n test",
            "tox -e lint",
            "nox -s docs mypy",
            "cd tests",
            "test -d script",
            "promtool check rules rules.yml",
        ],
    );
}
