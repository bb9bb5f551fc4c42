//! `cargo xtask check`: the whole of CI, in CI's order.
//!
//! Every step builds with the `dev` profile: clippy and the docs share the dependencies' metadata, and the tests run
//! optimised enough for numerics without a second build of the dependencies.

use std::time::{Duration, Instant};

use anyhow::{Context, Result};

use crate::workspace::Workspace;
use crate::{Verdict, tidy, tool};

/// A call of cargo that must succeed.
struct Step {
    name: &'static str,
    arguments: &'static [&'static str],
    variables: &'static [(&'static str, &'static str)],
}

const STEPS: [Step; 4] = [
    Step { name: "format", arguments: &["fmt", "--all", "--check"], variables: &[] },
    Step {
        name: "clippy",
        arguments: &["clippy", "--workspace", "--all-targets", "--locked", "--", "-D", "warnings"],
        variables: &[],
    },
    Step { name: "test", arguments: &["test", "--workspace", "--locked"], variables: &[] },
    Step {
        name: "doc",
        arguments: &["doc", "--workspace", "--no-deps", "--locked"],
        variables: &[("RUSTDOCFLAGS", "-D warnings")],
    },
];

/// Runs every step up to the first that fails.
///
/// # Errors
/// When a tool is missing or cargo cannot be called.
pub(crate) fn run(workspace: &Workspace) -> Result<Verdict> {
    let started = Instant::now();
    timed("tools", || {
        tool::ensure_components()?;
        tool::ensure_build_tools()?;
        Ok(Verdict::Good)
    })?;
    for step in &STEPS {
        if timed(step.name, || call(workspace, step))? == Verdict::Faulty {
            return Ok(stopped(step.name));
        }
    }
    if timed("tidy", || tidy::run(workspace))? == Verdict::Faulty {
        return Ok(stopped("tidy"));
    }
    println!("check: all {} steps passed in {}", STEPS.len() + 2, in_words(started.elapsed()));
    Ok(Verdict::Good)
}

fn stopped(name: &str) -> Verdict {
    println!("check: FAILED at {name}");
    Verdict::Faulty
}

fn timed(name: &str, step: impl FnOnce() -> Result<Verdict>) -> Result<Verdict> {
    println!("check: {name}");
    let started = Instant::now();
    let verdict = step().with_context(|| format!("check: {name}"))?;
    println!("check: {name} took {}", in_words(started.elapsed()));
    Ok(verdict)
}

fn call(workspace: &Workspace, step: &Step) -> Result<Verdict> {
    let mut command = workspace.cargo(step.arguments);
    let status = command.envs(step.variables.iter().copied()).status().context("cannot call cargo")?;
    Ok(if status.success() { Verdict::Good } else { Verdict::Faulty })
}

fn in_words(time: Duration) -> String {
    match time.as_secs() {
        0..60 => format!("{:.1} s", time.as_secs_f64()),
        seconds => format!("{} min {:02} s", seconds / 60, seconds % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_told_in_minutes_from_one_minute_on() {
        assert_eq!(in_words(Duration::from_millis(59_940)), "59.9 s");
        assert_eq!(in_words(Duration::from_secs(125)), "2 min 05 s");
    }

    #[test]
    fn ci_runs_format_clippy_tests_and_docs_in_this_order() {
        assert_eq!(STEPS.map(|step| step.arguments[0]), ["fmt", "clippy", "test", "doc"]);
    }
}
