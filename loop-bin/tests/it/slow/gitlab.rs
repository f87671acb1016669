//! Merge requests and issues of GitLab, with a fake `glab` that accepts only the flags of the real
//! one and prints the same messages.

use crate::forge::run;
use crate::github::{on_server, project_on};
use crate::stage::{ONE, Stage, TWO};

/// Records each call on a line, and the description that was passed.
const GLAB: &str = r##"#!/bin/sh
[ "$1" != --version ] || exit 0
printf '%s|' "$@" | tr '\n' ' ' >>"$AGENT_NOTES/glab"; echo >>"$AGENT_NOTES/glab"
# As it does once a day.
echo 'A new version of glab has been released: https://gitlab.com/gitlab-org/cli/-/releases/v9' >&2
command="$1 $2"; shift 2
address=https://gitlab.test/o/r/-/merge_requests/5
case "$command" in
'mr create'|'mr update')
    [ "$command" = 'mr create' ] || { [ "$1" = 5 ] || exit 1; shift; }
    while [ $# -gt 0 ]; do case "$1" in
        --yes|--draft) shift;;
        --source-branch) source=$2; shift 2;;
        --title) shift 2;;
        --description) printf '%s' "$2" >"$AGENT_NOTES/body"; shift 2;;
        *) echo "Unknown flag: $1" >&2; exit 1;;
    esac; done
    if [ "$command" = 'mr create' ] && [ -e "$AGENT_NOTES/opened-${source##*/}" ]; then
        echo 'POST https://gitlab.test/api/v4/projects/o%2Fr/merge_requests: 409 {message: [Another open merge request already exists for this source branch: !5]}' >&2
        exit 1
    fi
    echo "Creating merge request for $source into main in o/r" >&2
    [ -z "$source" ] || : >"$AGENT_NOTES/opened-${source##*/}"; echo "$address";;
'mr list') [ "$1" = --source-branch ] && [ "$3 $4 $5" = '--all --output json' ] || exit 1
    [ -e "$AGENT_NOTES/opened-${2##*/}" ] || { echo '[]'; exit; }
    echo '[{"iid":5,"state":"opened","title":"x","web_url":"'$address'"}]';;
'mr view') [ "$*" = '5 --output json' ] && echo '{"id":900,"iid":5,"title":"x","description":"y","web_url":"'$address'"}';;
'api --method')
    [ -e "$AGENT_NOTES/looked-at" ] || { : >"$AGENT_NOTES/looked-at"; echo 'glab: 405 Method Not Allowed (HTTP 405)' >&2; exit 1; };;
'issue list')
    case "$*" in *'--page 1 '*) cat "$AGENT_NOTES/issues";; *) cat "$AGENT_NOTES/issues-2";; esac;;
*) exit 1;;
esac
"##;

/// A project whose remote is on GitLab, with the fake `glab` on the PATH.
fn on_gitlab(plan: &str) -> Stage {
    let stage = project_on("gitlab.test", plan);
    stage.repo.scratch().script("bin/glab", GLAB);
    stage
}

#[test]
fn glab_opens_a_merge_request_and_updates_it() {
    let stage = on_gitlab(TWO);
    let args = ["--pr", "run", "--branch", "ralph/{plan}", "--max-iterations", "1"];
    let address = "https://gitlab.test/o/r/-/merge_requests/5\n";
    run(&stage, &args).says(&format!("pull request: {address}"));
    let landed = stage.repo.git(["rev-parse", "ralph/prd-1"]);
    assert_eq!(on_server(&stage, "ralph/prd-1"), landed);
    let create = "mr|create|--yes|--source-branch|ralph/prd-1|--title|First|--description|## ";
    assert!(stage.note("glab").contains(create), "{}", stage.note("glab"));
    assert!(stage.note("body").contains("US-001"));
    // The second story updates it, and so does `--draft`: GitLab marks a draft in the title.
    run(&stage, &args).ended(0).says(&format!("pull request: {address}"));
    let ran = run(&stage, &["pr", "--draft"]);
    assert_eq!(ran.ended(0).out, address);
    let called = stage.note("glab");
    let update = "\nmr|update|5|--title|2 stories of PRD-1|--description|## ";
    let updates: Vec<&str> = called.lines().filter(|line| line.starts_with("mr|update")).collect();
    assert!(called.contains(update), "{called}");
    let drafts: Vec<_> = updates.iter().map(|it| it.contains("|--draft|")).collect();
    assert_eq!(drafts, [false, true]);
    assert!(stage.note("body").starts_with("## 2 stories done"), "{}", stage.note("body"));
}

#[test]
fn gitlab_merges_a_story_once_its_pipeline_allows() {
    let stage = on_gitlab(ONE);
    let args = ["--pr", "story", "--wait", "1s", "--prove", "off"];
    let says =
        "US-001: https://gitlab.test/o/r/-/merge_requests/5; to be merged as soon as the forge";
    run(&stage, &args).ended(75).says(says);
    let called = stage.note("glab");
    assert!(called.contains("mr|create|--yes|--source-branch|ralph-prd-1-us-001|"), "{called}");
    // The first call fails, as long as the forge has not examined the merge request.
    let merge = "api|--method|PUT|projects/:fullpath/merge_requests/5/merge|-F|auto_merge=true|\
                 -F|merge_when_pipeline_succeeds=true|\n";
    assert_eq!(called.matches(merge).count(), 2, "{called}");
    // The merge request exists already: its text is not changed.
    run(&stage, &args).ended(75).says("1 pull request is not merged yet");
    assert!(!stage.note("glab").contains("mr|update"), "{}", stage.note("glab"));
}

#[test]
fn gitlab_issues_of_any_length_become_stories() {
    let stage = on_gitlab("- [x] US-001: First\n");
    let text = "We need it. ".repeat(10_000);
    let issues = format!(
        r#"[{{"id":900,"iid":12,"title":"Add login","description":"- [ ] a form\n{text}",
            "web_url":"https://gitlab.test/o/r/-/issues/12","state":"opened","labels":["ready"]}},
            {{"id":901,"iid":13,"title":"Fix logout","description":"","web_url":"https://gitlab.test/13"}}]"#
    );
    std::fs::write(stage.note_path("issues"), issues).unwrap();
    run(&stage, &["plan", "--from-issues", "ready"]).ended(0).says("GL-12  Add login");
    let list = "issue|list|--label|ready|--per-page|100|--page|1|--output|json|\n";
    assert!(stage.note("glab").contains(list), "{}", stage.note("glab"));
    assert!(!stage.note("glab").contains("|--page|2|"), "{}", stage.note("glab"));
    run(&stage, &["--prd", "2"]).ended(0).says("2 stories landed");
    let messages = stage.repo.git(["log", "--format=%b", "-3"]);
    assert!(messages.contains("Closes #12") && messages.contains("Closes #13"), "{messages}");
}

#[test]
fn all_pages_of_issues_are_read() {
    let stage = on_gitlab("- [x] US-001: First\n");
    let issue = |number| {
        format!(r#"{{"iid":{number},"title":"T","web_url":"https://gitlab.test/{number}"}}"#)
    };
    let page = |numbers: std::ops::RangeInclusive<u64>| {
        format!("[{}]", numbers.map(issue).collect::<Vec<_>>().join(","))
    };
    std::fs::write(stage.note_path("issues"), page(1..=100)).unwrap();
    std::fs::write(stage.note_path("issues-2"), page(101..=102)).unwrap();
    let ran = run(&stage, &["plan", "--from-issues", "ready"]);
    ran.ended(0).says("GL-1  T").says("GL-102  T");
    assert!(!stage.note("glab").contains("|--page|3|"), "{}", stage.note("glab"));
}
