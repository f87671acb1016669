//! The forge, by the user's own program for it: `gh` or `glab`. Nothing here knows a token.

use camino::Utf8Path;
use ralph_base::supervised::{self, CheckEnd, Door};
use ralph_core::git::Git;
use serde::Deserialize;

use crate::exit::Failure;

/// A program for a forge.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Forge {
    GitHub,
    GitLab,
}

/// An open issue.
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

/// What a pull request says.
pub(crate) struct PullRequest<'a> {
    pub(crate) branch: &'a str,
    pub(crate) title: &'a str,
    pub(crate) body: &'a str,
    pub(crate) is_draft: bool,
    /// Whether the text of one that is there is replaced.
    pub(crate) replaces: bool,
}

impl Forge {
    /// The one whose program is installed: that of the remote's host, if both are.
    pub(crate) fn of(url: &str, root: &Utf8Path) -> Result<Self, Failure> {
        let both = [Self::GitHub, Self::GitLab];
        let usual = if url.contains("gitlab") { Self::GitLab } else { Self::GitHub };
        let is_there = |forge: &Self| forge.run(root, &["--version"], "").is_ok();
        [usual].into_iter().chain(both).find(is_there).ok_or_else(|| {
            Failure::because(
                "pull requests and issues need `gh` or `glab`, and neither is installed; \
                 install one and log in with it",
            )
        })
    }

    /// What ids of its issues begin with.
    pub(crate) fn prefix(self) -> &'static str {
        match self {
            Self::GitHub => "GH",
            Self::GitLab => "GL",
        }
    }

    /// Opens a pull request, unless the branch has one; returns its address.
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
        let (said, is_there) = match self.run(root, &[&open, draft].concat(), body) {
            Err(failure) if failure.to_string().contains("already exists") => {
                (failure.to_string(), true)
            }
            said => (said?, false),
        };
        let address = said.split_whitespace().rev().find(|word| word.starts_with("http"));
        let address = address.unwrap_or(said.trim());
        if is_there && replaces {
            self.update(root, request, address)?;
        }
        Ok(address.to_owned())
    }

    /// Gives a pull request that is there its new title and text.
    fn update(
        self,
        root: &Utf8Path,
        request: &PullRequest<'_>,
        address: &str,
    ) -> Result<(), Failure> {
        let PullRequest { branch, title, body, .. } = *request;
        if self == Self::GitLab {
            let args = ["mr", "update", branch, "--title", title, "--description", body];
            return self.run(root, &args, "").map(drop);
        }
        // Not `gh pr edit`: many versions ask for classic projects as well, which GitHub refuses.
        let parts: Vec<&str> = address.split('/').collect();
        let [_, _, host, owner, name, _, number, ..] = parts.as_slice() else { return Ok(()) };
        let path = format!("repos/{owner}/{name}/pulls/{number}");
        let title = format!("title={title}");
        let args = ["api", "--hostname", host, "--method", "PATCH", &path, "-f", &title];
        self.run(root, &[&args[..], &["-F", "body=@-"]].concat(), body).map(drop)
    }

    /// Has a pull request merged as soon as the forge's own rules allow.
    pub(crate) fn merge_later(self, root: &Utf8Path, branch: &str) -> Result<(), Failure> {
        let args: &[&str] = match self {
            Self::GitHub => &["pr", "merge", branch, "--auto", "--merge"],
            Self::GitLab => &["mr", "merge", branch, "--auto-merge", "--yes"],
        };
        self.run(root, args, "").map(drop)
    }

    /// The open issues with a label.
    pub(crate) fn issues(self, root: &Utf8Path, label: &str) -> Result<Vec<Issue>, Failure> {
        let list = ["issue", "list", "--label", label];
        let how: &[&str] = match self {
            Self::GitHub => &["--limit", "200", "--json", "number,title,body,url"],
            Self::GitLab => &["--per-page", "100", "--output", "json"],
        };
        let said = self.run(root, &[&list, how].concat(), "")?;
        let json = said.get(said.find('[').unwrap_or(0)..).unwrap_or_default();
        serde_json::from_str(json).map_err(|error| {
            Failure::because(format!("`{}` printed no list of issues: {error}", self.program()))
        })
    }

    fn program(self) -> &'static str {
        match self {
            Self::GitHub => "gh",
            Self::GitLab => "glab",
        }
    }

    /// Runs the program in the project; an error has what it said.
    fn run(self, root: &Utf8Path, args: &[&str], input: &str) -> Result<String, Failure> {
        let mut command = Door::default().command(self.program());
        command.current_dir(root).args(args).env("GH_PROMPT_DISABLED", "1");
        let (end, said) = supervised::run(command, input.as_bytes(), None, &|| false, false)?;
        if end == CheckEnd::Exited(Some(0)) {
            return Ok(said);
        }
        let [what, ..] = args else { return Ok(said) };
        Err(Failure::because(format!("`{} {what}` failed: {}", self.program(), said.trim())))
    }
}

/// The remote of a branch: its own, `origin`, or the only one; with its address.
pub(crate) fn remote_of(git: &Git, branch: &str) -> Result<(String, String), Failure> {
    let own = git.line(&["config", &format!("branch.{branch}.remote")]).unwrap_or_default();
    let listed = git.line(&["remote"])?;
    let remotes: Vec<&str> = listed.lines().collect();
    let found = [own.as_str(), "origin"].into_iter().find(|name| remotes.contains(name));
    let name = found.or(remotes.first().copied()).ok_or_else(|| {
        Failure::because("this repository has no remote; add one with `git remote add origin URL`")
    })?;
    // As it is written: the tools of a forge know it by that.
    Ok((name.to_owned(), git.line(&["config", &format!("remote.{name}.url")])?))
}

/// The branch that pull requests are merged into, as far as it is known here.
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
