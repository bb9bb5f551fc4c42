//! Just enough of Rust's grammar to tell code from comments and literals, and to see where functions begin and end.

/// A function with a body.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Function {
    pub(super) name: String,
    /// The line of its `fn`, from 1.
    pub(super) line: usize,
    /// From its `fn` to its last brace.
    pub(super) lines: usize,
}

/// `text` with comments and the insides of literals replaced by spaces, line breaks kept.
pub(super) fn code_of(text: &str) -> String {
    let bytes = text.as_bytes();
    let mut code = Vec::with_capacity(bytes.len());
    while code.len() < bytes.len() {
        let start = code.len();
        let is_inside_a_word = start > 0 && is_word(bytes[start - 1]);
        match length_of_opaque(&bytes[start..], is_inside_a_word) {
            0 => code.push(bytes[start]),
            length => code.extend(bytes[start..start + length].iter().map(|byte| blank(*byte))),
        }
    }
    // Whole characters were kept or blanked, so this replaces nothing.
    String::from_utf8_lossy(&code).into_owned()
}

fn blank(byte: u8) -> u8 {
    if byte == b'\n' { byte } else { b' ' }
}

/// The length of the comment or literal that `rest` begins with, or 0.
fn length_of_opaque(rest: &[u8], is_inside_a_word: bool) -> usize {
    match rest {
        [b'/', b'/', ..] => rest.iter().position(|byte| *byte == b'\n').unwrap_or(rest.len()),
        [b'/', b'*', ..] => length_of_block_comment(rest),
        [b'"', ..] => length_to_quote(rest, b'"'),
        [b'r', b'"' | b'#', ..] if !is_inside_a_word => length_of_raw_string(rest, 1),
        [b'b' | b'c', b'r', b'"' | b'#', ..] if !is_inside_a_word => length_of_raw_string(rest, 2),
        [b'\'', ..] => length_of_character(rest),
        _ => 0,
    }
}

fn length_of_block_comment(rest: &[u8]) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < rest.len() {
        match rest[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a literal between two `quote`s, the first of which begins `rest`.
fn length_to_quote(rest: &[u8], quote: u8) -> usize {
    let mut at = 1;
    while at < rest.len() {
        match rest[at] {
            b'\\' => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    rest.len()
}

/// The length of a raw string whose hashes begin at `prefix`; 0 for a raw identifier.
fn length_of_raw_string(rest: &[u8], prefix: usize) -> usize {
    let hashes = rest[prefix..].iter().take_while(|byte| **byte == b'#').count();
    let open = prefix + hashes;
    if rest.get(open) != Some(&b'"') {
        return 0;
    }
    let close = [b"\"".as_slice(), &vec![b'#'; hashes]].concat();
    let inside = &rest[open + 1..];
    let end = inside.windows(close.len()).position(|window| window == close);
    end.map_or(rest.len(), |end| open + 1 + end + close.len())
}

/// The length of a character literal; 0 for a lifetime.
fn length_of_character(rest: &[u8]) -> usize {
    if rest.get(1) == Some(&b'\\') {
        return length_to_quote(rest, b'\'');
    }
    // A character takes at most four bytes; a lifetime's name is followed by no quote right after its first.
    let first = String::from_utf8_lossy(&rest[1..rest.len().min(5)]).chars().next().map_or(1, char::len_utf8);
    if rest.get(1 + first) == Some(&b'\'') { first + 2 } else { 0 }
}

/// `code` with its test modules replaced by spaces, line breaks kept.
pub(super) fn without_test_modules(code: &str) -> String {
    const MARK: &str = "#[cfg(test)]";
    let mut kept = String::with_capacity(code.len());
    let mut rest = code;
    while let Some(at) = rest.find(MARK) {
        let (before, marked) = rest.split_at(at);
        let after = marked[MARK.len()..].trim_start();
        let is_module = after.starts_with("mod ") || after.starts_with("pub(crate) mod ");
        let end = if is_module { body_end(marked).unwrap_or(MARK.len()) } else { MARK.len() };
        kept += before;
        kept.extend(marked[..end].chars().map(|char| if char == '\n' { '\n' } else { ' ' }));
        rest = &marked[end..];
    }
    kept + rest
}

/// The functions with a body in `code`, nested ones included.
pub(super) fn functions(code: &str) -> Vec<Function> {
    let mut functions = Vec::new();
    for (at, _) in code.match_indices("fn ") {
        if at > 0 && is_word(code.as_bytes()[at - 1]) {
            continue;
        }
        let name: String =
            code[at + 3..].trim_start().bytes().take_while(|byte| is_word(*byte)).map(char::from).collect();
        let Some(end) = body_end(&code[at..]) else { continue };
        let line = lines_before(&code[..at]) + 1;
        functions.push(Function { name, line, lines: lines_before(&code[at..at + end]) + 1 });
    }
    functions
}

fn lines_before(text: &str) -> usize {
    text.matches('\n').count()
}

/// Where the body of the item that begins `code` ends, or `None` when it has none.
fn body_end(code: &str) -> Option<usize> {
    let (mut braces, mut brackets) = (0_usize, 0_isize);
    for (at, byte) in code.bytes().enumerate() {
        match byte {
            b'(' | b'[' if braces == 0 => brackets += 1,
            b')' | b']' if braces == 0 => brackets -= 1,
            b';' if braces == 0 && brackets == 0 => return None,
            b'{' if brackets == 0 => braces += 1,
            b'}' if brackets == 0 && braces <= 1 => return (braces == 1).then_some(at + 1),
            b'}' if brackets == 0 => braces -= 1,
            _ => {}
        }
    }
    None
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte >= 0x80
}

#[cfg(test)]
mod tests {
    use super::*;

    fn measured(text: &str) -> Vec<(String, usize, usize)> {
        functions(&code_of(text)).into_iter().map(|function| (function.name, function.line, function.lines)).collect()
    }

    #[test]
    fn comments_and_literals_are_blank_and_lines_stay() {
        let text = "a // }\n/* { /* } */ */ b \"}\\\"{\" 'x' '\\'' r#\"}\"#\n";
        let code = code_of(text);
        assert_eq!(code.len(), text.len());
        assert_eq!(code.split_whitespace().collect::<Vec<_>>(), ["a", "b"]);
        assert_eq!(code.lines().count(), 2);
    }

    #[test]
    fn a_lifetime_is_no_character_and_a_raw_name_no_string() {
        assert_eq!(code_of("fn f<'a>(r#in: &'a str) {}"), "fn f<'a>(r#in: &'a str) {}");
        assert_eq!(code_of("'ü' x"), "     x");
    }

    #[test]
    fn an_unfinished_literal_ends_with_the_text() {
        assert_eq!(code_of("\"abc"), "    ");
        assert_eq!(code_of("\"abc\\"), "     ");
        assert_eq!(code_of("/* a"), "    ");
    }

    #[test]
    fn a_function_runs_from_its_signature_to_its_last_brace() {
        let text = "\n/// fn no(){}\nfn short() {}\n\npub fn long<'a>(\n    x: [u8; 4],\n) -> u8 {\n    if true { \"}\" } else { '}' };\n}\n";
        assert_eq!(measured(text), [("short".into(), 3, 1), ("long".into(), 5, 5)]);
    }

    #[test]
    fn a_function_without_a_body_and_a_function_pointer_do_not_count() {
        assert!(measured("trait T { fn f(&self) -> [u8; 4]; }\ntype F = fn(u8) -> u8;").is_empty());
    }

    #[test]
    fn test_modules_do_not_count() {
        let text = "fn a() {}\n#[cfg(test)]\nmod tests {\n    fn b() {}\n}\nfn c() {}\n";
        let kept = without_test_modules(&code_of(text));
        assert_eq!(functions(&kept).into_iter().map(|function| function.name).collect::<Vec<_>>(), ["a", "c"]);
        assert_eq!(kept.lines().count(), 6);
    }

    #[test]
    fn a_function_for_tests_only_still_counts() {
        let kept = without_test_modules("#[cfg(test)]\npub fn at() {}\n");
        assert_eq!(functions(&kept).len(), 1);
    }
}
