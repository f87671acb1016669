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
            "cd app && CI=1 npx jest --ci 2>&1 | tail -20",
            "python -m pytest -x",
            "python3.12 -W error -m pytest tests",
            "poetry run pytest",
            "uv run pytest -q",
            "uv run --with pytest pytest",
            "pipenv run python -m unittest",
            "coverage run -m pytest && coverage report",
            "bundle exec rspec spec/models",
            "docker compose exec web rspec",
            "docker-compose run --rm -e CI=1 app npm test",
            "docker run --rm -v $PWD:/app -w /app node:20 npm test",
            "kubectl exec -it pod -- pytest",
            "./gradlew test",
            "./gradlew :app:testDebugUnitTest --info",
            "mvn -q verify",
            "./mvnw -B test -Dtest=CalcTest",
            "dotnet test --no-build",
            "bin/rails test",
            "php artisan test",
            "php vendor/bin/phpunit --filter x",
            "vendor/bin/pest",
            "mix test test/calc_test.exs:12",
            "bazel test //...",
            "node node_modules/jest/bin/jest.js",
            "node -r ts-node/register test/calc.ts",
            "php -d memory_limit=1G tests/run.php",
            "javac -d out src/CalcTest.java && java -cp out CalcTest",
            "cd tests && ./run.sh",
            "python - <<'EOF'\nimport unittest\nunittest.main()\nEOF",
            "node_modules/.bin/mocha",
            "timeout 60 go test ./... || true",
            "cargo +nightly test --workspace",
            "cargo nextest run -p core",
            "RUST_LOG=debug cargo t",
            "sh -c 'cd x && pytest -q'",
            "bash -lc \"npm test\"",
            "out=$(pytest 2>&1); echo \"$out\" | tail",
            "ls test/*.js | xargs npx mocha",
            "find . -name '*_test.py' -exec python -m pytest {} +",
            "xvfb-run -a npx cypress run",
            "time make check",
            "nice -n 10 ctest -j4",
            "swift test --filter Calc",
            "deno test -A",
            "julia --project -e 'using Pkg; Pkg.test()'",
            "Rscript -e 'devtools::test()'",
            "emacs -batch -l t.el -f ert-run-tests-batch-and-exit",
        ],
    );
}

#[test]
fn scripts_and_targets_with_test_names_run_tests() {
    check(
        "runs",
        &[
            "npm test",
            "npm t",
            "npm run test:unit -- --watch=false",
            "npm --prefix app test",
            "npm test --workspaces",
            "yarn test",
            "yarn -s test",
            "yarn workspace app test",
            "yarn jest",
            "pnpm -r test",
            "pnpm --filter web test",
            "pnpm vitest run",
            "bun run test",
            "make test",
            "make -C build check",
            "make -j4 test",
            "make -j test",
            "just test",
            "task test",
            "composer test",
            "composer run-script test",
            "rake",
            "rake test",
            "ninja -C b test",
            "cmake --build build --target test",
            "./run_tests.sh",
            "bash scripts/run-tests.sh",
            "sh calc_test.sh",
            "node test.js",
            "python test_calc.py",
            "python tests/run.py",
            "python setup.py test",
            "perl t/calc.t",
            "lua test.lua",
            "./build/calc_test --gtest_brief=1",
            "./t",
            "invoke test",
            "cargo xtask test",
            "tox -e py311,lint",
            "pre-commit run pytest",
            "pytest -q & wait $!",
            "rdmd -unittest -main calc.d",
        ],
    );
}

#[test]
fn listing_and_building_tests_is_not_running_them() {
    check(
        "lists",
        &[
            "pytest --collect-only",
            "pytest --co -q",
            "npx jest --listTests",
            "cargo test --no-run",
            "cargo nextest list",
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
            "git commit -m wip",
            "./build.sh",
            "mvn install",
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
            "cat jest.log",
            "tail -50 test.log",
            "grep -r FAIL .",
            "git log --grep test",
            "git diff tests/",
            "git stash && git stash pop",
            "echo 'npm test'",
            "printf 'pytest\\n'",
            "echo pytest | cat",
            "cat <<'EOF' > run.sh\nnpm test\nEOF",
            "git commit -m 'npm test' --dry-run | cat && git log",
            "pytest --version",
            "pytest --help | head",
            "npx jest --help",
            "npm test --help",
            "which pytest",
            "pip install pytest",
            "npm install --save-dev jest",
            "npm ci",
            "cargo build --tests",
            "cargo check --tests",
            "cargo clippy --all-targets",
            "cargo run -- test",
            "go build ./...",
            "go vet ./...",
            "gcc test.c -o test",
            "npx tsc --noEmit -p tests",
            "npx eslint tests",
            "ruff check tests",
            "mypy tests",
            "npm run build",
            "npm run lint",
            "npm start",
            "test -f x && echo ok",
            "[ -d tests ] && ls tests",
            "(pytest > log 2>&1 &); echo started",
            "npm test &",
            "ls tests",
            "rm -rf tests/__pycache__",
            "mkdir -p tests && touch tests/test_x.py",
            "docker build -t test .",
            "docker logs tests",
            "gh run view --log-failed",
            "curl http://localhost/test",
            "python3 -c 'import pytest'",
            "node -e 'require(\"assert\")(false)'",
            "bash -n run_tests.sh",
            "mvn compile",
            "mvn -q package -DskipTests",
            "gradle assemble",
            "make -n test",
            "tox -e lint",
            "nox -s docs mypy",
            "cd tests",
            "promtool check rules rules.yml",
        ],
    );
}
