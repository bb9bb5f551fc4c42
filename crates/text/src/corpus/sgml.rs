//! Test sets in SGML, as the shared tasks of WMT publish them: `<doc docid="...">` with `<seg id="1">text</seg>`.

use std::fmt;

/// A segment of a test set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// The document it is in; empty where none is named.
    pub document: String,
    /// Its number in the document, as written.
    pub id: String,
    /// Its text: character references decoded, runs of white space one space.
    pub text: String,
}

/// Why a text is not such a test set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SgmlError {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong there.
    pub reason: &'static str,
}

impl fmt::Display for SgmlError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.reason)
    }
}

impl std::error::Error for SgmlError {}

/// The segments in order, empty ones included. Everything that is neither document nor segment is passed over.
///
/// # Errors
/// With the line of a tag or segment that does not end.
pub fn segments(text: &str) -> Result<Vec<Segment>, SgmlError> {
    let (mut segments, mut document, mut at) = (Vec::new(), String::new(), 0);
    let fault = |at: usize, reason| SgmlError { line: 1 + text[..at].matches('\n').count(), reason };
    while let Some(start) = text[at..].find('<').map(|offset| at + offset) {
        let end = text[start..].find('>').ok_or_else(|| fault(start, "a tag does not end"))? + start;
        let tag = &text[start + 1..end];
        at = end + 1;
        if is_named(tag, "doc") {
            attribute(tag, "docid").unwrap_or_default().clone_into(&mut document);
        } else if is_named(tag, "seg") {
            let length = find_end(&text[at..]).ok_or_else(|| fault(start, "a segment does not end"))?;
            let id = attribute(tag, "id").unwrap_or_default().to_owned();
            segments.push(Segment { document: document.clone(), id, text: plain(&text[at..at + length]) });
            at += length;
        }
    }
    Ok(segments)
}

/// Where the text of a segment ends. Another segment that begins before is no part of it.
fn find_end(text: &str) -> Option<usize> {
    let tag = |start: usize, name: &str| {
        text.get(start..start + name.len()).is_some_and(|found| found.eq_ignore_ascii_case(name))
    };
    let start =
        text.match_indices('<').map(|(start, _)| start).find(|&start| tag(start, "</seg") || tag(start, "<seg"))?;
    tag(start, "</seg").then_some(start)
}

fn is_named(tag: &str, name: &str) -> bool {
    tag.split(|c: char| c.is_whitespace()).next().is_some_and(|found| found.eq_ignore_ascii_case(name))
}

/// The value of an attribute in double quotes.
fn attribute<'a>(tag: &'a str, name: &str) -> Option<&'a str> {
    let mut parts = tag.split('"');
    while let (Some(before), Some(value)) = (parts.next(), parts.next()) {
        let key = before.trim_end().strip_suffix('=')?.trim_end();
        if key.rsplit(char::is_whitespace).next().is_some_and(|found| found.eq_ignore_ascii_case(name)) {
            return Some(value);
        }
    }
    None
}

/// Character references decoded and runs of white space made one space, none at either end.
fn plain(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find('&') {
        plain.push_str(&rest[..start]);
        rest = &rest[start..];
        let reference = rest.find(';').and_then(|end| Some((character(&rest[1..end])?, end + 1)));
        let (c, length) = reference.unwrap_or(('&', 1));
        plain.push(c);
        rest = &rest[length..];
    }
    plain.push_str(rest);
    plain.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// The character of a reference such as `amp` or `#228`; one that is not known stays as it is.
fn character(name: &str) -> Option<char> {
    match name {
        "amp" => Some('&'),
        "lt" => Some('<'),
        "gt" => Some('>'),
        "quot" => Some('"'),
        "apos" => Some('\''),
        _ => {
            let number = name.strip_prefix('#')?;
            let code = match number.strip_prefix(['x', 'X']) {
                Some(digits) => u32::from_str_radix(digits, 16),
                None => number.parse(),
            };
            char::from_u32(code.ok()?)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(sgml: &str) -> Vec<String> {
        segments(sgml).unwrap().into_iter().map(|segment| segment.text).collect()
    }

    #[test]
    fn segments_are_read_with_their_document_and_number() {
        let sgml = "<srcset setid=\"news\" srclang=\"any\">\n<doc sysid=\"ref\" docid=\"a.1\" genre=\"news\">\n<hl>\n\
                    <seg id=\"1\">Head.</seg>\n</hl>\n<p>\n<seg id=\"2\"> Two\n lines. </seg>\n</p>\n</doc>\n\
                    <DOC docid=\"b\">\n<SEG ID=\"1\"></SEG></DOC></srcset>";
        let found = segments(sgml).unwrap();
        let places: Vec<_> = found.iter().map(|segment| (segment.document.as_str(), segment.id.as_str())).collect();
        assert_eq!(places, [("a.1", "1"), ("a.1", "2"), ("b", "1")]);
        assert_eq!(texts(sgml), ["Head.", "Two lines.", ""]);
    }

    #[test]
    fn references_are_decoded_once_and_a_bare_ampersand_stays() {
        let sgml = "<seg id=\"1\">&lt;b&gt; &amp;amp; &quot;&#228;&#xE4;&apos; AT&T; R&D &bogus; &</seg>";
        assert_eq!(texts(sgml), ["<b> &amp; \"ää' AT&T; R&D &bogus; &"]);
    }

    #[test]
    fn a_segment_without_end_is_named_by_its_line() {
        let error = segments("<doc docid=\"a\">\n<seg id=\"1\">One\n<seg id=\"2\">Two</seg>").unwrap_err();
        assert_eq!(error, SgmlError { line: 2, reason: "a segment does not end" });
        assert_eq!(segments("<seg id=\"1\">a</seg>\n\n<doc").unwrap_err().line, 3);
    }
}
