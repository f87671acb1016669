//! The forge, by way of the user's own `gh` or `glab`. Tokens stay with those programs.

pub(crate) mod pull_request;

use std::io::Write;
use std::process::Stdio;
use std::sync::atomic::Ordering;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread::Builder;
use std::time::{Duration, Instant};

use camino::Utf8Path;
use ralph_base::supervised::{self, Door, INTERRUPTS};
use ralph_core::git::Git;
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::exit::Failure;

/// How often, and how long, a forge is asked to merge a pull request that it is still examining.
const TRIES: usize = 5;
const BETWEEN_TRIES: Duration = Duration::from_secs(3);

/// Time limit of the forge's program, so that a prompt or a slow server cannot hold up the run.
const PATIENCE: Duration = Duration::from_secs(120);

/// How often signals are checked while waiting.
const PULSE: Duration = Duration::from_millis(100);

/// The most issues to ask for; a GitHub search finds no more.
pub(crate) const MOST_ISSUES: usize = 1_000;

/// How many of them GitLab returns per page.
const PAGE: usize = 100;

/// A forge's program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forge {
    GitHub,
    GitLab,
}

/// An open issue, or the same fields of a merge request.
#[derive(Debug, Deserialize)]
pub(crate) struct Issue {
    #[serde(alias = "iid")]
    pub(crate) number: u64,
    pub(crate) title: String,
    #[serde(default, alias = "description")]
    pub(crate) body: Option<String>,
    #[serde(alias = "web_url")]
    pub(crate) url: String,
}

/// The content of a pull request.
pub(crate) struct PullRequest<'a> {
    pub(crate) branch: &'a str,
    pub(crate) title: &'a str,
    pub(crate) body: &'a str,
    pub(crate) is_draft: bool,
    /// Whether an existing pull request's text is replaced.
    pub(crate) replaces: bool,
}

/// An existing pull request.
#[derive(Debug, Deserialize)]
pub(crate) struct Request {
    /// `OPEN`, `CLOSED` or `MERGED`; spelling and case depend on the forge.
    pub(crate) state: String,
    #[serde(alias = "url", alias = "web_url")]
    pub(crate) address: String,
    /// The checks on the forge (GitHub only).
    #[serde(default, rename = "statusCheckRollup")]
    checks: Option<Vec<ForgeCheck>>,
    /// Why it cannot be merged (GitLab only).
    #[serde(default)]
    detailed_merge_status: String,
}

/// A check on the forge; its result is in one of the two fields.
#[derive(Debug, Deserialize)]
struct ForgeCheck {
    #[serde(default)]
    conclusion: Option<String>,
    #[serde(default)]
    state: Option<String>,
}

impl Request {
    /// Whether checks failed on the forge.
    pub(crate) fn is_red(&self) -> bool {
        const RED: [&str; 5] =
            ["FAILURE", "ERROR", "TIMED_OUT", "STARTUP_FAILURE", "ACTION_REQUIRED"];
        let is_red =
            |said: &Option<String>| said.as_deref().is_some_and(|said| RED.contains(&said));
        let mut checks = self.checks.iter().flatten();
        checks.any(|check| is_red(&check.conclusion) || is_red(&check.state))
            || self.detailed_merge_status == "ci_must_pass"
    }
}

impl Forge {
    /// The forge of the remote's host; if its name is neither, the one whose program is installed.
    pub(crate) fn of(url: &str, root: &Utf8Path) -> Result<Self, Failure> {
        let host = host_of(url);
        let (forges, need) = if host.contains("gitlab") {
            (&[Self::GitLab][..], "`glab`, which is not installed; install it")
        } else if host.contains("github") {
            (&[Self::GitHub][..], "`gh`, which is not installed; install it")
        } else {
            let both = &[Self::GitHub, Self::GitLab][..];
            (both, "`gh` or `glab`, and neither is installed; install one")
        };
        let is_there = |forge: &Self| forge.run(root, &["--version"], "").is_ok();
        forges.iter().copied().find(is_there).ok_or_else(|| {
            Failure::because(format!("pull requests and issues need {need} and log in with it"))
        })
    }

    /// The prefix of its issues' ids.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::GitHub => "GH",
            Self::GitLab => "GL",
        }
    }

    /// Opens a pull request, unless the branch has one already; returns its address.
    pub(crate) fn open(
        self,
        root: &Utf8Path,
        request: &PullRequest<'_>,
    ) -> Result<String, Failure> {
        let PullRequest { branch, title, body, is_draft, replaces } = *request;
        let open = match self {
            Self::GitHub => {
                vec!["pr", "create", "--head", branch, "--title", title, "--body-file", "-"]
            }
            Self::GitLab => {
                let open = ["mr", "create", "--yes", "--source-branch", branch, "--title", title];
                [&open[..], &["--description", body]].concat()
            }
        };
        let draft = if is_draft { &["--draft"][..] } else { &[] };
        match self.run(root, &[&open, draft].concat(), body) {
            Err(failure) if failure.to_string().contains("already exists") => {
                let address = self.existing(root, &failure.to_string())?;
                if replaces {
                    self.update(root, request, &address)?;
                }
                Ok(address)
            }
            said => said.map(|said| address_in(&said)),
        }
    }

    /// The address of the pull request that exists already, from the program's error message.
    fn existing(self, root: &Utf8Path, said: &str) -> Result<String, Failure> {
        if self == Self::GitHub {
            return Ok(address_in(said));
        }
        // The message has only its number. By branch name, older ones would be found too.
        let number = said.rsplit('!').next().unwrap_or_default();
        let number = number.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
        let request: Issue = self.json(root, &["mr", "view", number, "--output", "json"])?;
        Ok(request.url)
    }

    /// Updates title and text of an existing pull request.
    fn update(
        self,
        root: &Utf8Path,
        request: &PullRequest<'_>,
        address: &str,
    ) -> Result<(), Failure> {
        let PullRequest { title, body, is_draft, .. } = *request;
        let parts: Vec<&str> = address.split('/').collect();
        if let (Self::GitLab, Some(number)) = (self, parts.last()) {
            // A title without the draft mark makes it ready.
            let draft = if is_draft { &["--draft"][..] } else { &[] };
            let args = ["mr", "update", number, "--title", title, "--description", body];
            return self.run(root, &[&args[..], draft].concat(), "").map(drop);
        }
        // Not `gh pr edit`: many versions also query classic projects, which GitHub refuses.
        let [_, _, host, owner, name, _, number, ..] = parts.as_slice() else { return Ok(()) };
        let path = format!("repos/{owner}/{name}/pulls/{number}");
        let title = format!("title={title}");
        let args = ["api", "--hostname", host, "--method", "PATCH", &path, "-f", &title];
        self.run(root, &[&args[..], &["-F", "body=@-"]].concat(), body)?;
        let undo = if is_draft { &["--undo"][..] } else { &[] };
        self.run(root, &[&["pr", "ready", address], undo].concat(), "").map(drop)
    }

    /// The newest pull request of a branch.
    pub(crate) fn request_of(
        self,
        root: &Utf8Path,
        branch: &str,
    ) -> Result<Option<Request>, Failure> {
        let args: &[&str] = match self {
            Self::GitHub => &[
                "pr",
                "list",
                "--head",
                branch,
                "--state",
                "all",
                "--limit",
                "1",
                "--json",
                "state,url,statusCheckRollup",
            ],
            Self::GitLab => &["mr", "list", "--source-branch", branch, "--all", "--output", "json"],
        };
        Ok(self.json::<Vec<Request>>(root, args)?.into_iter().next())
    }

    /// Enables auto-merge for a branch's pull request.
    pub(crate) fn merge_later(
        self,
        root: &Utf8Path,
        branch: &str,
        address: &str,
    ) -> Result<(), Failure> {
        if self == Self::GitHub {
            let merge = |how| self.run(root, &["pr", "merge", branch, "--auto", how], "").map(drop);
            // A repository may allow only one merge method.
            let merged = merge("--merge");
            let is_refused = |why: &Failure| why.to_string().contains("not allowed");
            if merged.as_ref().is_err_and(is_refused) {
                return merge("--squash").or_else(|_| merge("--rebase")).or(merged);
            }
            return merged;
        }
        // Not `glab mr merge`: that merges at once if there is no pipeline yet.
        let number = address.rsplit('/').next().unwrap_or_default();
        let path = format!("projects/:fullpath/merge_requests/{number}/merge");
        // Under both the current and the older name of the parameter.
        let how = ["-F", "auto_merge=true", "-F", "merge_when_pipeline_succeeds=true"];
        let args = [&["api", "--method", "PUT", &path], &how[..]].concat();
        // The forge refuses while it is still examining a new request.
        for _ in 1..TRIES {
            match self.run(root, &args, "") {
                Err(failure) if failure.to_string().contains("405 Method") => {
                    std::thread::sleep(BETWEEN_TRIES);
                }
                said => return said.map(drop),
            }
        }
        self.run(root, &args, "").map(drop)
    }

    /// The open issues with a label, [`MOST_ISSUES`] at most.
    pub(crate) fn issues(self, root: &Utf8Path, label: &str) -> Result<Vec<Issue>, Failure> {
        let (list, most) = (["issue", "list", "--label", label], MOST_ISSUES.to_string());
        if self == Self::GitHub {
            let how = ["--limit", &most, "--json", "number,title,body,url"];
            return self.json(root, &[list, how].concat());
        }
        let (mut issues, size): (Vec<Issue>, _) = (Vec::new(), PAGE.to_string());
        for page in 1..=MOST_ISSUES / PAGE {
            let page = page.to_string();
            let how = ["--per-page", &size, "--page", &page, "--output", "json"];
            let found: Vec<Issue> = self.json(root, &[&list[..], &how].concat())?;
            let is_last = found.len() < PAGE;
            issues.extend(found);
            if is_last {
                break;
            }
        }
        Ok(issues)
    }

    fn json<T: DeserializeOwned>(self, root: &Utf8Path, args: &[&str]) -> Result<T, Failure> {
        let said = self.run(root, args, "")?;
        serde_json::from_str(&said).map_err(|error| {
            let what = args.join(" ");
            Failure::because(format!(
                "cannot read what `{} {what}` printed: {error}",
                self.program()
            ))
        })
    }

    fn program(self) -> &'static str {
        match self {
            Self::GitHub => "gh",
            Self::GitLab => "glab",
        }
    }

    /// Runs the program in the project and returns its whole output; an error contains all that it printed.
    fn run(self, root: &Utf8Path, args: &[&str], input: &str) -> Result<String, Failure> {
        let mut command = Door::default().command(self.program());
        command.current_dir(root).args(args).env("GH_PROMPT_DISABLED", "1");
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn()?;
        let (stdin, group) = (child.stdin.take(), format!("-{}", child.id()));
        let (has_ended, end) = mpsc::channel::<()>();
        let (begun, signals) = (Instant::now(), INTERRUPTS.load(Ordering::SeqCst));
        let is_over = || begun.elapsed() > PATIENCE || INTERRUPTS.load(Ordering::SeqCst) > signals;
        let output = std::thread::scope(|scope| {
            // A program need not read its input.
            let write = || stdin.map(|mut stdin| stdin.write_all(input.as_bytes()));
            Builder::new().spawn_scoped(scope, write)?;
            Builder::new().spawn_scoped(scope, move || {
                while end.recv_timeout(PULSE) == Err(RecvTimeoutError::Timeout) {
                    if is_over() {
                        supervised::signal("KILL", &[group]);
                        return;
                    }
                }
            })?;
            let output = child.wait_with_output();
            drop(has_ended);
            output
        })?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(said);
        }
        let mut why = String::from_utf8_lossy(&output.stderr).into_owned();
        if output.status.code().is_none() {
            why.push_str(
                "it was stopped, because it did not answer within two minutes or the run was interrupted",
            );
        }
        let what = args.first().copied().unwrap_or_default();
        let all = format!("{said}{why}");
        Err(Failure::because(format!("`{} {what}` failed: {}", self.program(), all.trim())))
    }
}

/// The last address in a program's output, or else all of it.
fn address_in(said: &str) -> String {
    let address = said.split_whitespace().rev().find(|word| word.starts_with("http"));
    address.unwrap_or(said.trim()).to_owned()
}

/// The host in a remote's address; empty for a path.
fn host_of(url: &str) -> &str {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    let place = rest.split('/').next().unwrap_or_default();
    let place = place.rsplit('@').next().unwrap_or_default();
    place.split(':').next().unwrap_or_default()
}

/// The remote of a branch with its address: the branch's own, `origin`, or the only one.
pub(crate) fn remote_of(git: &Git, branch: &str) -> Result<(String, String), Failure> {
    let own = git.line(&["config", &format!("branch.{branch}.remote")]).unwrap_or_default();
    let listed = git.line(&["remote"])?;
    let remotes: Vec<&str> = listed.lines().collect();
    let found = [own.as_str(), "origin"].into_iter().find(|name| remotes.contains(name));
    let name = found.or(remotes.first().copied()).ok_or_else(|| {
        Failure::because("this repository has no remote; add one with `git remote add origin URL`")
    })?;
    // Not expanded by `insteadOf`: the forge's tools compare the configured address.
    Ok((name.to_owned(), git.line(&["config", &format!("remote.{name}.url")])?))
}

/// The remote of a branch, and its forge.
pub(crate) fn find_forge(
    root: &Utf8Path,
    git: &Git,
    branch: &str,
) -> Result<(String, Forge), Failure> {
    let (remote, url) = remote_of(git, branch)?;
    Ok((remote, Forge::of(&url, root)?))
}

/// The branch that pull requests are merged into, as far as the local repository knows.
pub(crate) fn default_branch(git: &Git, remote: &str) -> String {
    let name = git.line(&["symbolic-ref", "--short", &format!("refs/remotes/{remote}/HEAD")]);
    let name =
        name.ok().and_then(|name| Some(name.strip_prefix(&format!("{remote}/"))?.to_owned()));
    let is_there = |name: &&str| {
        git.run(&["rev-parse", "--quiet", "--verify", &format!("refs/remotes/{remote}/{name}")])
            .is_ok()
    };
    name.or_else(|| ["main", "master"].iter().copied().find(is_there).map(str::to_owned))
        .unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_host_of_a_remote_is_parsed_from_its_url() {
        for (url, host) in [
            ("git@github.com:o/gitlab-tools.git", "github.com"),
            ("https://me:secret@gitlab.example.org:8443/o/r.git", "gitlab.example.org"),
            ("ssh://git@gitlab.com/o/r", "gitlab.com"),
            ("/srv/gitlab/r.git", ""),
        ] {
            assert_eq!(host_of(url), host);
        }
    }
}
