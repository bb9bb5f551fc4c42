//! `cargo xtask demo`: from a fresh checkout to the first translations.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Stdio};

use anyhow::{Context, Result, ensure};

use crate::workspace::Workspace;
use crate::{Verdict, tool};

const BUILT_IN_MODEL: &str = "crates/translate/default-model";

const SENTENCES: [&str; 6] = [
    "Good morning! Did you sleep well?",
    "Where is the nearest train station?",
    "My sister bought a red bicycle yesterday.",
    "The children are playing in the garden.",
    "I would like a cup of coffee, please.",
    "We have to wait until the rain stops.",
];

const NEXT: &str = "\
What to try next:
  cargo install --path crates/translate     put `translate` on your path
  echo 'It works.' | translate              one line in, one line out
  translate notes.en -o notes.de            a whole file
  translate --nbest 4 --scores notes.en     the other readings";

/// Builds `translate` and lets the built-in model translate a few sentences.
///
/// # Errors
/// When there is no built-in model, a tool is missing, or the program does not build or run.
pub(crate) fn run(workspace: &Workspace) -> Result<Verdict> {
    ensure!(
        workspace.root().join(BUILT_IN_MODEL).join("config.json").is_file(),
        "this checkout has no built-in model ({BUILT_IN_MODEL}); train one from recipes/ and call `translate --model DIR`"
    );
    tool::ensure_build_tools()?;
    let programs = workspace.build_release(&["--locked", "--package", "umlaut-translate"])?;
    let translations = translate(&programs.join("translate"))?;
    println!("\n{}\n{NEXT}", side_by_side(&SENTENCES, &translations));
    Ok(Verdict::Good)
}

fn translate(program: &Path) -> Result<Vec<String>> {
    let mut child = Command::new(program)
        .arg("--quiet")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .with_context(|| format!("cannot start {}", program.display()))?;
    // The sentences fit into any pipe, so writing them all before reading cannot block. Dropping the pipe ends it.
    child.stdin.take().context("translate has no input")?.write_all((SENTENCES.join("\n") + "\n").as_bytes())?;
    let output = child.wait_with_output()?;
    ensure!(output.status.success(), "translate failed ({})", output.status);
    let text = String::from_utf8(output.stdout).context("translate wrote something that is not UTF-8")?;
    let lines: Vec<String> = text.lines().map(str::to_owned).collect();
    ensure!(lines.len() == SENTENCES.len(), "{} lines went in, {} came out", SENTENCES.len(), lines.len());
    Ok(lines)
}

fn side_by_side(sources: &[&str], translations: &[String]) -> String {
    let width = sources.iter().map(|source| source.chars().count()).max().unwrap_or(0);
    let pairs = sources.iter().zip(translations);
    let lines: Vec<String> = pairs.map(|(source, translation)| format!("  {source:width$}  {translation}")).collect();
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn translations_stand_in_one_column() {
        let translations = ["Hallo.".to_owned(), "Tschüs.".to_owned()];
        assert_eq!(side_by_side(&["Hi.", "Bye now."], &translations), "  Hi.       Hallo.\n  Bye now.  Tschüs.\n");
    }

    #[test]
    fn without_a_built_in_model_the_demo_says_so_in_one_line() {
        let folder = tempfile::tempdir().unwrap();
        let error = run(&Workspace::at(folder.path())).unwrap_err().to_string();
        assert!(error.contains("no built-in model") && !error.contains('\n'), "{error}");
    }
}
