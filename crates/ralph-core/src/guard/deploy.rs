//! `deploy`: what changes clusters, clouds and hosted services.

use super::act::Act;
use super::publish::is_here;
use super::table::{Row, listed};
use shell_reader::values;

const INSTEAD: &str = "leave it to the user: `ralph-loop request-merge --summary \"…\"`; `plan`, \
                       `preview`, `diff` and `--dry-run` show what it would do";
const CLUSTER: &str = "name a local cluster on the command itself (`--context kind-…`; for helm \
                       `--kube-context`), use `--dry-run=client`, or leave it to the user: \
                       `ralph-loop request-merge --summary \"…\"`";

/// A call that is harmless where it only shows what it would do.
const fn row(programs: &'static str, words: &'static str) -> Row {
    [programs, words, "", "--dry-run", "", INSTEAD]
}

const DEPLOYS: &[Row] = &[
    row("terraform|tofu|terragrunt", "apply|destroy|import|taint|untaint|force-unlock"),
    row("terraform|tofu|terragrunt", "state rm|mv|push|replace-provider"),
    row("terraform|tofu|terragrunt", "workspace delete"),
    row("terragrunt", "run-all|run apply|destroy"),
    row("pulumi", "up|update|destroy|import|refresh|cancel"),
    row("pulumi", "stack rm"),
    row("cdk|serverless|sls|sam|copilot", "deploy|destroy|remove|delete"),
    row("fly|flyctl", "deploy|destroy|launch"),
    row("fly|flyctl", "apps|machine|machines|volumes destroy"),
    row("vercel", "deploy|promote|rollback|remove|rm"),
    row("netlify|firebase|eb", "deploy|terminate"),
    row("railway", "up|down"),
    row("wrangler", "deploy|publish|delete|rollback"),
    row("wrangler", "pages deploy|publish"),
    row("eksctl", "create|delete|upgrade|scale"),
    row("gsutil", "rm|rb"),
    row("bq", "rm"),
];

const CLUSTERS: &[Row] = &[
    [
        "kubectl|oc",
        "delete|apply|create|replace|patch|edit|scale|autoscale|set|drain|cordon|uncordon|taint|run|\
         expose|label|annotate",
        "",
        "--dry-run",
        "",
        CLUSTER,
    ],
    ["kubectl|oc", "rollout restart|undo|pause|resume", "", "--dry-run", "", CLUSTER],
    ["helm", "install|upgrade|uninstall|delete|rollback", "", "--dry-run", "", CLUSTER],
];

/// How clusters on this machine are called.
const LOCAL: [&str; 10] = [
    "kind-",
    "k3d-",
    "minikube",
    "docker-desktop",
    "docker-for-desktop",
    "rancher-desktop",
    "orbstack",
    "colima",
    "microk8s",
    "localhost",
];

/// The programs that the rule is about. Every command comes by here, and nearly all are others.
#[rustfmt::skip]
const PROGRAMS: [&str; 26] = [
    "aws", "az", "bq", "cdk", "copilot", "eb", "eksctl", "firebase",
    "fly", "flyctl", "gcloud", "gsutil", "helm", "kubectl", "netlify", "oc",
    "pulumi", "railway", "sam", "serverless", "sls", "terraform", "terragrunt", "tofu",
    "vercel", "wrangler",
];

/// What to do instead of deploying.
pub(super) fn instead_of_deploying(act: &Act) -> Option<String> {
    if !PROGRAMS.contains(&act.name) {
        return None;
    }
    if let Some(found) = listed(CLUSTERS, act) {
        return (!is_local_cluster(act)).then_some(found);
    }
    listed(DEPLOYS, act).or_else(|| changes_cloud(act).then(|| INSTEAD.to_owned()))
}

fn is_local_cluster(act: &Act) -> bool {
    let names = values(&act.command.args, "--context --kube-context", "-n --namespace");
    let addresses = values(&act.command.args, "--server --kube-apiserver -s", "-n --namespace");
    names.iter().any(|name| LOCAL.iter().any(|local| name.text().starts_with(local)))
        || addresses.iter().any(|address| is_here(address.text()))
}

/// `aws ec2 terminate-instances`, `gcloud compute instances delete`, `az group delete`, `vercel`.
fn changes_cloud(act: &Act) -> bool {
    if !matches!(act.name, "aws" | "gcloud" | "az" | "vercel") {
        return false;
    }
    let words = act.leading_words();
    let changes = match (act.name, words.as_slice()) {
        ("vercel", words) => words.is_empty() && !act.has("--version -v"),
        ("aws", ["s3", verb, ..]) => {
            matches!(*verb, "rm" | "rb") || *verb == "sync" && act.has("--delete")
        }
        ("aws", ["cloudformation", "deploy" | "execute-change-set", ..]) => true,
        ("aws", [_, verb, ..]) => destroys(verb),
        ("gcloud", ["storage", "rm", ..]) => true,
        // The verb comes behind as many groups as there are.
        ("gcloud" | "az", [_, rest @ ..]) => {
            rest.iter().take(4).any(|word| destroys(word) || *word == "deploy")
        }
        _ => false,
    };
    let only_looks = act.has("--help --dry-run --dryrun")
        || words.contains(&"help")
        || act.args().any(|arg| arg == "-h");
    changes && !only_looks && !act.args().any(is_here)
}

fn destroys(word: &str) -> bool {
    let verb = word.split('-').next().unwrap_or(word);
    matches!(verb, "delete" | "destroy" | "terminate" | "purge" | "deregister" | "remove")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_program_of_the_rows_is_listed() {
        let rows = DEPLOYS.iter().chain(CLUSTERS);
        let mut named = rows.flat_map(|[programs, ..]| programs.split('|'));
        assert_eq!(named.find(|program| !PROGRAMS.contains(program)), None);
    }
}
