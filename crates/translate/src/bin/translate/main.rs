//! The program `translate`: text on standard input or in files, its translation on standard output.

mod args;
mod input;
mod output;
mod report;

use std::io::{self, IsTerminal};
use std::process::ExitCode;

use anyhow::Context;
use clap::Parser;
use umlaut_translate::{Answer, TranslateError, Translator};

use args::Args;
use input::Input;
use output::Output;
use report::{Report, say};

fn main() -> ExitCode {
    let args = Args::parse();
    match run(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::from(1),
        Err(error) => fail(&error),
    }
}

/// Whether all input could be read.
fn run(args: &Args) -> anyhow::Result<bool> {
    let inputs = Input::open_all(&args.inputs)?;
    let options = args.options(inputs.iter().any(|input| input.is_terminal));
    let translator = match &args.model {
        Some(folder) => Translator::open(folder, options).with_context(|| folder.display().to_string())?,
        None => Translator::builtin(options)?,
    };
    let mut output = Output::create(args.output.as_deref())?;
    let mut report = Report::new(args.quiet, args.output.is_none() && io::stdout().is_terminal());
    if let Err(error) = translate_all(&translator, inputs, args, &mut output, &mut report) {
        if let Some(part) = output.abandon() {
            say(&format!("translate: unfinished work is in {}\n", part.display()));
        }
        return Err(error);
    }
    output.finish()?;
    Ok(report.finish())
}

fn translate_all(
    translator: &Translator,
    inputs: Vec<Input>,
    args: &Args,
    output: &mut Output,
    report: &mut Report,
) -> anyhow::Result<()> {
    for Input { name, reader, .. } in inputs {
        let watch = |answer: Answer<'_>| report.answer(name.as_deref(), &answer);
        let translated = translator.translate_stream(reader, &mut *output, args.format(), watch);
        translated.with_context(|| name.clone().unwrap_or_else(|| "standard input".to_owned()))?;
    }
    Ok(())
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
