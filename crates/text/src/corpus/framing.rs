//! What belongs to a line and what to its file: line ends, the byte-order mark, markup.

const BYTE_ORDER_MARK: &[u8] = b"\xEF\xBB\xBF";

/// How the first line of a test set in SGML or XML starts.
const MARKUP: [&str; 7] = ["<srcset", "<refset", "<tstset", "<mteval", "<?xml", "<!doctype", "<dataset"];

/// Drops LF, and CR before it.
pub fn strip_end(bytes: &mut Vec<u8>) {
    for end in [b"\n", b"\r"] {
        if bytes.ends_with(end) {
            bytes.pop();
        }
    }
}

/// Drops the byte-order mark of a text's first line.
///
/// # Errors
/// The tag that gives the text away as SGML or XML.
pub fn strip_start(bytes: &mut Vec<u8>) -> Result<(), &'static str> {
    if bytes.starts_with(BYTE_ORDER_MARK) {
        bytes.drain(..BYTE_ORDER_MARK.len());
    }
    let line = bytes.trim_ascii_start();
    let begins = |tag: &&str| line.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag.as_bytes()));
    MARKUP.into_iter().find(begins).map_or(Ok(()), Err)
}
