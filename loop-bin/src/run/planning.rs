//! Planning: the agent writes or refreshes the plan in the copy. Nothing else of what it does is kept
//! but as an attempt, and the user's plan changes only when all went well.

use std::time::{Duration, Instant};

use ralph_core::env::Env;
use ralph_core::plan::{self, Plan, Planned, progress};
use ralph_core::project_plan;
use ralph_core::prompt::{self, Template, Values};
use ralph_core::state::{self, StateDir};

use super::allowance::Allowance;
use super::context::{Context, OURS};
use super::decide::{Finish, Spent, Wish, WorkEnd};
use super::iteration::{Judged, judge, receipt};
use super::record::RunRecord;
use super::start::{Preflight, client_options, run_name, take_lock};
use crate::agent::{self, AgentCommand, Supervision, supervise};
use crate::exit::{Failure, Success};
use crate::landing;
use crate::saved::{self, Account};
use crate::signals::Interrupts;
use crate::terminal::{Glimpse, View, clock, counted};
use crate::workspace::{Start, Workspace};
use crate::{here, terminal};

/// Stands for the story, in logs, scripts and receipts.
const NAME: &str = "planning";

/// How many entries of the progress the prompt holds.
const ENTRIES: usize = 10;

/// Runs it.
pub(super) fn run(env: &Env, preflight: Preflight) -> Result<Success, Failure> {
    let Preflight { project, config, run_dir, plan, flags, mut workspace, target, .. } = preflight;
    let path = match &plan {
        Some(plan) => plan.path().to_owned(),
        None => {
            // What was typed is meant from the folder in which that was typed.
            let is_typed = flags.iter().any(|flag| flag.key == "loop.plan");
            let from = if is_typed { here::folder()? } else { project.root().to_owned() };
            project_plan::to_write(&project, &config, &from)
        }
    };
    project.own_state().prepare()?;
    let lock = take_lock(&run_dir, OURS)?;
    agent::adopt_orphans();
    let context = Context {
        view: View::new(env, config.run.json_events),
        interrupts: Interrupts::listen()?,
        run: run_name(),
        started_at: state::now(),
        earlier: Duration::ZERO,
        begun: Instant::now(),
        path: env.get("PATH").unwrap_or_default(),
        options: client_options(env, &project, &config),
        plan: path,
        flags,
        project,
        config,
        run_dir,
    };
    context.note(
        None,
        &state::Event::LoopStarted { mode: NAME.to_owned(), plan: context.plan.to_string() },
    );
    let shown = context.plan.strip_prefix(context.project.root()).unwrap_or(&context.plan);
    context.view.line(format!("planning: {shown}"));
    if !context.project.root().join(&context.config.run.specs).exists() {
        let specs = &context.config.run.specs;
        context
            .view
            .warn(format!("there is no folder {specs}; the agent plans from the code alone"));
    }
    let tip = target.tip()?;
    let branch = target.current_branch();
    let start = Start { tip: tip.as_deref(), branch: &branch };
    let mut spent = Spent::default();
    let finish = match context.run_started_script()? {
        Wish::Stop => Finish::HookAbort,
        _ => match context.script("next_iteration", vec![("ITERATION", "1".to_owned())])? {
            Wish::Stop => Finish::HookAbort,
            Wish::Skip => Finish::NoChanges,
            Wish::GoOn => plan_once(&context, &mut workspace, start, &mut spent)?,
        },
    };
    end(&context, &finish, spent)?;
    drop(lock);
    let finish = context.interrupts.signal().map(Finish::Manual).unwrap_or(finish);
    Ok(Success::Loop { finish, incomplete: false })
}

/// One session of the agent, and what becomes of its plan.
fn plan_once(
    context: &Context,
    workspace: &mut Workspace,
    start: Start<'_>,
    spent: &mut Spent,
) -> Result<Finish, Failure> {
    workspace.reset(start)?;
    let config = &context.config;
    workspace.carry(&config.run.specs, config.workspace.include_limit_mb)?;
    let stop = || context.interrupts.signal().is_some();
    let limit = config.workspace.setup_timeout.limit();
    workspace.set_up(&config.workspace.setup, limit, &context.run, &stop)?;
    let before = plan::read_file(&context.plan)?;
    if let Some(before) = &before {
        workspace.give(&context.plan, before)?;
    }
    context.note(Some(NAME), &state::Event::IterationStarted { iteration: 1 });
    let allowance = Allowance::of(
        &config.agent,
        &config.limits,
        context.elapsed(),
        Spent::default(),
        Spent::default(),
    );
    let run = work(context, workspace, &allowance)?;
    spent.seconds = run.duration.as_secs_f64();
    spent.tokens = run.seen.tokens;
    spent.cost_usd = run.seen.cost_usd.unwrap_or(0.0);
    let left = workspace.left(&context.plan);
    let end = judge(&Judged {
        run: Some(&run),
        claim: None,
        is_marked_blocked: false,
        open_tasks: &[],
        last_verdict: None,
        has_changed: left != before,
        allowance,
        limits: &config.limits,
        elapsed: context.elapsed(),
        quota_streak: 0,
        signal: context.interrupts.signal(),
    });
    let finish = match end {
        WorkEnd::Well => take_plan(context, before.as_deref(), left)?,
        WorkEnd::Signalled(signal) => Finish::Manual(signal),
        WorkEnd::Spent(why) | WorkEnd::StorySpent(why) => Finish::Budget(why),
        WorkEnd::Quota(_) => {
            Finish::Budget("the agent's service refused; start again later".into())
        }
        WorkEnd::Failed(why)
        | WorkEnd::TimedOut(why)
        | WorkEnd::Blocked(why)
        | WorkEnd::Partial(why)
        | WorkEnd::Unusable(why) => Finish::Error(why),
        WorkEnd::HandedOver(_) => Finish::Error("the agent's context was full".into()),
    };
    keep_rest(context, workspace, start, &finish)?;
    context.note(
        Some(NAME),
        &state::Event::IterationFinished {
            outcome: if finish == Finish::Complete { "success" } else { "failed" }.to_owned(),
            exit_code: run.exit_code(),
            duration_s: spent.seconds,
            tokens: Some(spent.tokens),
            cost_usd: run.seen.cost_usd,
        },
    );
    let vars = vec![
        ("ITERATION", "1".to_owned()),
        ("STORY", NAME.to_owned()),
        ("EXIT_CODE", run.exit_code().unwrap_or(-1).to_string()),
        ("DURATION", format!("{:.0}", spent.seconds)),
        ("OUTCOME", if finish == Finish::Complete { "success" } else { "failed" }.to_owned()),
    ];
    match context.script("post_iteration", vars)? {
        Wish::Stop => Ok(Finish::HookAbort),
        _ => Ok(finish),
    }
}

fn work(
    context: &Context,
    workspace: &mut Workspace,
    allowance: &Allowance,
) -> Result<agent::Run, Failure> {
    let budget = allowance.cost_usd.map(|(sum, _)| sum);
    let line = &context.config.agent.command;
    let command = AgentCommand {
        line: context.options.applied_to(line, budget, &context.run_dir)?,
        root: workspace.root().to_owned(),
        project: context.project.root().to_owned(),
        vars: vec![
            ("RALPH_RUN".to_owned(), context.run.clone()),
            ("RALPH_ROOT".to_owned(), context.project.root().to_string()),
            (ralph_core::env::WORKSPACE.to_owned(), workspace.root().to_string()),
            ("PLAN_PATH".to_owned(), workspace.shown_path(&context.plan).into_string()),
            ("RALPH_MODE".to_owned(), NAME.to_owned()),
        ],
    };
    let log = context.state().logs().join(format!("{}-001-{NAME}.log", context.run));
    let watch = Supervision {
        deadline: allowance.time.map(|(time, _)| time),
        silence: context.config.agent.silence.limit(),
        grace: Duration::from_secs(context.config.agent.grace.0),
        interrupts: &context.interrupts,
        log: state::open_log(&log)?,
        beat: &|| (),
    };
    let record = RunRecord {
        run: context.run.clone(),
        started_at: context.started_at.clone(),
        plan: context.plan.clone(),
        planning: true,
        ..RunRecord::new()
    };
    record.save(&context.run_dir)?;
    workspace.distrust();
    let begun = Instant::now();
    let prompt = prompt(context, workspace)?;
    let run = supervise(&command, &prompt, &watch, &mut |seen| {
        context.view.glimpse(Glimpse { story: NAME, iteration: 1 }, begun.elapsed(), seen);
    })?;
    Ok(run)
}

fn prompt(context: &Context, workspace: &Workspace) -> Result<String, Failure> {
    let progress_path = StateDir::progress_beside(&context.plan);
    let logged = progress::logged(&fs_err::read(&progress_path).unwrap_or_default());
    let (plan, progress) =
        (workspace.shown_path(&context.plan), workspace.shown_path(&progress_path));
    let values = Values {
        plan_path: plan.as_str(),
        progress_path: progress.as_str(),
        progress: &progress::last_entries(&logged, ENTRIES),
        spec_dir: &context.config.run.specs,
        ..Values::default()
    };
    Ok(Template::parse(prompt::PLANNING).map_err(Failure::usage)?.render(&values))
}

/// Takes the plan as the agent left it, or says why not.
fn take_plan(
    context: &Context,
    before: Option<&[u8]>,
    left: Option<Vec<u8>>,
) -> Result<Finish, Failure> {
    let Some(left) = left else {
        return Ok(Finish::Error(format!("the agent did not write {}", context.plan)));
    };
    let planned = match planned(context, before, left) {
        Ok(planned) => planned,
        Err(why) => return Ok(Finish::Error(format!("the agent left no usable plan: {why}"))),
    };
    if before == Some(planned.bytes.as_slice()) {
        return Ok(Finish::NoChanges);
    }
    if let Some(before) = before {
        let kept = state::keep_content_as_found(&context.plan, before, &context.state().logs())?;
        context.view.line(format!("the plan as it was is kept in {kept}"));
    }
    context.plan.parent().map_or(Ok(()), fs_err::create_dir_all)?;
    state::replace_users(&context.plan, &planned.bytes)?;
    let options = project_plan::options(&context.config);
    let open = plan::load(&context.plan, &options)?.counts().open;
    context.view.line(format!("the plan has {}", counted(open, "open story", "open stories")));
    Ok(Finish::Complete)
}

/// The plan that the agent wrote, with its ticks ignored and what was done before restored.
fn planned(context: &Context, before: Option<&[u8]>, left: Vec<u8>) -> Result<Planned, String> {
    let options = project_plan::options(&context.config);
    let parse = |bytes: Vec<u8>| Plan::parse(&context.plan, bytes, &options);
    let before = before.and_then(|before| parse(before.to_vec()).ok());
    let after = parse(left).map_err(|error| error.to_string())?;
    let planned = plan::planned(before.as_ref(), &after);
    if !planned.lost.is_empty() {
        let stories = planned.lost.join(", ");
        return Err(format!("it removed {stories}, done before, and they fit nowhere in it"));
    }
    parse(planned.bytes.clone()).map_err(|error| error.to_string())?;
    let told = [
        (&planned.unticked, "ticked", " while planning, with nothing checked; ignored"),
        (&planned.ticked_again, "reopened", ", done before and no different now; ticked again"),
        (&planned.grown, "changed", ", done before; open again for what is new in them"),
        (&planned.put_back, "removed", ", done before; restored"),
        (&planned.removed, "removed", ", not done before; the plan is without"),
    ];
    let tell = |(stories, did, what): (&Vec<String>, &str, &str)| {
        (!stories.is_empty()).then(|| format!("{did} {}{what}", stories.join(", ")))
    };
    let findings: Vec<String> = told.into_iter().filter_map(tell).collect();
    findings.iter().for_each(|what| context.view.warn(format!("the agent {what}")));
    if !findings.is_empty() {
        context.note(Some(NAME), &state::Event::PlanRepaired { findings });
    }
    Ok(planned)
}

/// Whatever else the agent did is kept as an attempt and nowhere else.
fn keep_rest(
    context: &Context,
    workspace: &mut Workspace,
    start: Start<'_>,
    finish: &Finish,
) -> Result<(), Failure> {
    let ours: Vec<std::path::PathBuf> = match finish {
        Finish::Complete => {
            workspace.below_top(&context.plan).into_iter().map(Into::into).collect()
        }
        // A draft that was not taken is worth keeping.
        _ => Vec::new(),
    };
    let staged = workspace.stage_with_state(start, &ours)?;
    if staged.files.is_empty() {
        return Ok(());
    }
    let git = workspace.source().git();
    let number = saved::next_number(&git, NAME)?;
    let why = format!("what planning left: {}", finish.word());
    let account = Account {
        story: NAME,
        number,
        outcome: "failed",
        why: &why,
        run: &context.run,
        ..Account::default()
    };
    let parents: Vec<&str> = start.tip.into_iter().collect();
    let commit =
        landing::commit_tree(&workspace.git(), &staged.tree, &parents, &account.message())?;
    landing::verify(&workspace.source().top, &commit, start.tip)?;
    git.run(&["update-ref", &saved::name_of(NAME, number), &commit])?;
    context.view.line(format!(
        "{NAME}: everything else that the agent left is kept; `ralph-loop attempts {NAME}/{number}` \
         shows it"
    ));
    if workspace.is_in_place() {
        workspace.reset(start)?;
    }
    Ok(())
}

fn end(context: &Context, finish: &Finish, spent: Spent) -> Result<(), Failure> {
    let vars = vec![
        ("ITERATION", "1".to_owned()),
        ("FINISH_TYPE", finish.word().to_owned()),
        ("TOTAL_ITERATIONS", "1".to_owned()),
        ("TOTAL_COMMITS", "0".to_owned()),
        ("DURATION", context.elapsed().as_secs().to_string()),
        ("REASON", finish.reason().unwrap_or_default()),
    ];
    context.script("finished", vars)?;
    agent::Descendants::all().end(Duration::from_secs(2), &|| context.interrupts.count() > 1);
    context.note(None, &finish.told());
    RunRecord {
        run: context.run.clone(),
        started_at: context.started_at.clone(),
        plan: context.plan.clone(),
        planning: true,
        finish: Some(finish.word().to_owned()),
        ..RunRecord::new()
    }
    .save(&context.run_dir)?;
    if let Finish::Error(why) = finish {
        terminal::complain(&std::io::Error::other(why.clone()));
    }
    let most = context.config.limits.max_cost_usd;
    if most > 0.0 && spent.cost_usd > most {
        context.view.warn(format!("budget exceeded: spent ${:.2} of ${most:.2}", spent.cost_usd));
    }
    context.view.line(format!(
        "finished ({}): planning, {} in all; {}",
        finish.word(),
        clock(context.elapsed()),
        receipt(spent)
    ));
    context.view.close();
    Ok(())
}
