//! The program `translate`: text on standard input or in files, its translation on standard output.

mod args;
mod input;
mod output;
mod report;
mod shard;
mod throughput;

use std::io::{self, IsTerminal};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use anyhow::Context;
use clap::Parser;
use umlaut_translate::{Answer, Options, Scored, TranslateError, Translator};

use args::Args;
use input::Input;
use output::Output;
use report::{Report, say};
use shard::work::Work;
use shard::{Shard, join};
use throughput::Throughput;

fn main() -> ExitCode {
    let began = Instant::now();
    let args = Args::parse();
    match run(&args, began) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => fail(&error),
    }
}

/// What there is to do.
enum Task {
    Translate(Vec<Input>),
    Score { sources: Input, targets: Input },
}

/// Whether all input could be read.
fn run(args: &Args, began: Instant) -> anyhow::Result<bool> {
    if let Some(folder) = &args.join {
        return join::run(args, folder);
    }
    if let Some(shard) = args.shard {
        return translate_shard(args, shard, began);
    }
    let (task, is_interactive) = open(args)?;
    let translator = translator(args, args.options(is_interactive))?;
    let start_up = began.elapsed();
    let mut output = Output::create(args.output.as_deref())?;
    let mut report = Report::new(args.quiet, args.output.is_none() && io::stdout().is_terminal());
    let done = match task {
        Task::Translate(inputs) => translate_all(&translator, inputs, args, &mut output, &mut report),
        Task::Score { sources, targets } => score(&translator, sources, targets, args, &mut output, &mut report),
    };
    if let Err(error) = done {
        if let Some(part) = output.abandon() {
            say(&format!("translate: unfinished work is in {}\n", part.display()));
        }
        return Err(error);
    }
    output.finish()?;
    Ok(conclude(args, report, start_up, &translator))
}

fn translator(args: &Args, options: Options) -> anyhow::Result<Translator> {
    Ok(match &args.model {
        Some(folder) => Translator::open(folder, options).with_context(|| folder.display().to_string())?,
        None => Translator::builtin(options)?,
    })
}

/// Says what was done, and whether all input could be read.
fn conclude(args: &Args, report: Report, start_up: Duration, translator: &Translator) -> bool {
    let (counts, elapsed) = report.progress();
    let is_whole = report.finish();
    if args.throughput {
        say(&Throughput { counts, start_up, elapsed, options: translator.options() }.to_string());
    }
    is_whole
}

fn translate_shard(args: &Args, shard: Shard, began: Instant) -> anyhow::Result<bool> {
    let options = args.options(false);
    let work = Work::open(args, shard, &options)?;
    if let Some(done) = work.done()? {
        if !args.quiet {
            say(&format!("translate: shard {shard} is there already, with the same input, model and options\n"));
        }
        return Ok(done.is_utf8);
    }
    let translator = translator(args, options)?;
    let start_up = began.elapsed();
    let report = work.run(&translator, Report::new(args.quiet, false))?;
    Ok(conclude(args, report, start_up, &translator))
}

/// Opens all files, and says whether somebody types.
fn open(args: &Args) -> anyhow::Result<(Task, bool)> {
    if let Some(targets) = &args.score {
        let [sources, targets] = Input::open_pair(&args.inputs, targets)?;
        let is_interactive = sources.is_terminal || targets.is_terminal;
        return Ok((Task::Score { sources, targets }, is_interactive));
    }
    let inputs = Input::open_all(&args.inputs)?;
    let is_interactive = inputs.iter().any(|input| input.is_terminal);
    Ok((Task::Translate(inputs), is_interactive))
}

fn translate_all(
    translator: &Translator,
    inputs: Vec<Input>,
    args: &Args,
    output: &mut Output,
    report: &mut Report,
) -> anyhow::Result<()> {
    for input in inputs {
        let title = input.title();
        let watch = |answer: Answer<'_>| report.answer(input.name.as_deref(), &answer);
        translator.translate_stream(input.reader, &mut *output, args.format(), watch).context(title)?;
    }
    Ok(())
}

fn score(
    translator: &Translator,
    sources: Input,
    targets: Input,
    args: &Args,
    output: &mut Output,
    report: &mut Report,
) -> anyhow::Result<()> {
    let title = format!("{} with {}", sources.title(), targets.title());
    let (names, max_len) = ([sources.name.as_deref(), targets.name.as_deref()], translator.options().max_src_len);
    let watch = |scored: Scored<'_>| report.scored(names, &scored, max_len);
    translator.score_stream(sources.reader, targets.reader, output, args.score_format(), watch).context(title)
}

/// Says what went wrong in one line. Nobody reading any more is nothing wrong.
fn fail(error: &anyhow::Error) -> ExitCode {
    let cause = error.downcast_ref::<TranslateError>();
    if cause.is_some_and(TranslateError::is_closed_pipe) {
        return ExitCode::SUCCESS;
    }
    say(&format!("translate: {}\n", chain(error)));
    ExitCode::from(if cause.is_some_and(TranslateError::is_about_input) { 1 } else { 2 })
}

/// The error and its causes in one line. A cause that the message before it quotes is not said twice.
fn chain(error: &anyhow::Error) -> String {
    let mut line = error.to_string();
    for cause in error.chain().skip(1).map(ToString::to_string) {
        if !line.ends_with(&cause) {
            line = format!("{line}: {cause}");
        }
    }
    line.replace('\n', " ")
}
