//! The shape of Rust files: a module doc first, names that say something, functions and files of a readable length.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Fault, lexer};

/// Lines of code in a file, tests not counted.
const LONGEST_FILE: usize = 400;
/// Lines in a function.
const LONGEST_FUNCTION: usize = 60;
/// The same in `search`, whose promise is that a beam search is a set of small functions.
const LONGEST_FUNCTION_OF_SEARCH: usize = 40;
/// Names under which anything could lie.
const EMPTY_NAMES: [&str; 8] = ["common", "helper", "helpers", "misc", "type", "types", "util", "utils"];

/// What is wrong with the Rust files among `files`.
///
/// # Errors
/// When one cannot be read.
pub(super) fn faults(root: &Path, files: &[impl AsRef<Path>]) -> Result<Vec<Fault>> {
    let mut faults = Vec::new();
    for file in files.iter().map(AsRef::as_ref).filter(|file| file.extension().is_some_and(|name| name == "rs")) {
        let text = fs::read_to_string(root.join(file)).with_context(|| format!("cannot read {}", file.display()))?;
        faults.extend(faults_of_name(file));
        faults.extend(faults_of_text(file, &text));
    }
    Ok(faults)
}

fn faults_of_name(file: &Path) -> Option<Fault> {
    let name = file.with_extension("");
    let empty = name.iter().find_map(|part| EMPTY_NAMES.into_iter().find(|name| part == *name))?;
    Some(Fault::in_file(file, format!("the name `{empty}` says nothing: name the concept")))
}

fn faults_of_text(file: &Path, text: &str) -> Vec<Fault> {
    let mut faults = Vec::new();
    if !text.trim_start().starts_with("//!") {
        faults.push(Fault::in_file(file, "has no module doc (`//!`) at its top"));
    }
    if !is_test(file) {
        let code = lexer::without_test_modules(&lexer::code_of(text));
        faults.extend(fault_of_length(file, text, &code));
        faults.extend(faults_of_functions(file, &code));
    }
    faults
}

fn is_test(file: &Path) -> bool {
    file.file_stem().is_some_and(|name| name == "tests") || file.iter().any(|part| part == "tests" || part == "benches")
}

/// A file is as long as its text without test modules, comments included: they are read, too.
fn fault_of_length(file: &Path, text: &str, code: &str) -> Option<Fault> {
    let last = code.lines().zip(text.lines()).map(|(code, text)| (code.trim(), text.trim()));
    let lines = last.filter(|(code, text)| !code.is_empty() || text.starts_with("//")).count();
    (lines > LONGEST_FILE).then(|| Fault::in_file(file, format!("{lines} lines, {LONGEST_FILE} at most")))
}

fn faults_of_functions(file: &Path, code: &str) -> Vec<Fault> {
    let limit = if file.starts_with("crates/search") { LONGEST_FUNCTION_OF_SEARCH } else { LONGEST_FUNCTION };
    let long = lexer::functions(code).into_iter().filter(|function| function.lines > limit);
    long.map(|function| {
        Fault::at_line(
            file,
            function.line,
            format!("`{}` has {} lines, {limit} at most", function.name, function.lines),
        )
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(file: &str, text: &str) -> Vec<String> {
        faults_of_text(Path::new(file), text).into_iter().map(|fault| fault.message).collect()
    }

    fn function_of(lines: usize) -> String {
        format!("//! Doc.\nfn long() {{\n{}}}\n", "    step();\n".repeat(lines - 2))
    }

    #[test]
    fn a_file_begins_with_its_module_doc() {
        assert!(messages("crates/a/src/lib.rs", "//! Doc.\n").is_empty());
        assert_eq!(messages("crates/a/src/lib.rs", "/// Doc.\nstruct A;\n"), ["has no module doc (`//!`) at its top"]);
    }

    #[test]
    fn a_name_that_says_nothing_is_a_fault_as_file_and_as_folder() {
        assert!(faults_of_name(Path::new("crates/a/src/utils.rs")).is_some());
        assert!(faults_of_name(Path::new("crates/a/tests/common/mod.rs")).is_some());
        assert!(faults_of_name(Path::new("crates/a/src/vocab.rs")).is_none());
        assert!(faults_of_name(Path::new("crates/a/src/commons.rs")).is_none());
    }

    #[test]
    fn a_function_may_have_sixty_lines_and_forty_in_search() {
        assert!(messages("crates/text/src/a.rs", &function_of(60)).is_empty());
        assert_eq!(messages("crates/text/src/a.rs", &function_of(61)), ["`long` has 61 lines, 60 at most"]);
        assert_eq!(messages("crates/search/src/a.rs", &function_of(41)), ["`long` has 41 lines, 40 at most"]);
    }

    #[test]
    fn tests_may_be_long() {
        assert!(messages("crates/search/tests/a.rs", &function_of(100)).is_empty());
    }

    #[test]
    fn a_file_may_have_four_hundred_lines_beside_its_tests() {
        let test = "#[cfg(test)]\nmod tests {\n".to_owned() + &"    use a;\n".repeat(300) + "}\n";
        let text = |lines: usize| "//! Doc.\n".to_owned() + &"use a;\n".repeat(lines - 1) + &test;
        assert!(messages("crates/a/src/a.rs", &text(400)).is_empty());
        assert_eq!(messages("crates/a/src/a.rs", &text(401)), ["401 lines, 400 at most"]);
    }
}
