//! Servers that break off, lie, are slow or are not there.

use std::fs;

use crate::kitchen::{DEV, EUROPARL, Kitchen, archive, assert_same, lines};
use crate::server::{Answer, Request};

fn ranges(requests: &[Request], file: &str) -> Vec<Option<String>> {
    requests.iter().filter(|request| request.file == file).map(|request| request.range.clone()).collect()
}

#[test]
fn a_download_that_is_cut_goes_on_where_it_stopped() {
    let kitchen = Kitchen::new();
    kitchen.prepare("smooth", &[]);
    kitchen.server.requests();
    kitchen.server.answer(EUROPARL, &[Answer::Cut(5000), Answer::Cut(0), Answer::Cut(2000), Answer::NoLength(100)]);
    let said = kitchen.prepare("rough", &[]);
    let requests = kitchen.server.requests();
    let expected = [None, Some("bytes=5000-"), Some("bytes=5000-"), Some("bytes=7000-"), Some("bytes=7100-")];
    assert_eq!(ranges(&requests, EUROPARL), expected.map(|range| range.map(str::to_owned)), "{said}");
    let resumed = requests.iter().filter(|request| request.range.is_some());
    assert!(resumed.map(|request| request.if_range.as_deref()).all(|version| version == Some("\"first\"")));
    assert!(said.contains("cut off after 5000 of"), "{said}");
    assert_same(&kitchen.result("rough"), &kitchen.result("smooth"));
}

#[test]
fn a_server_that_knows_no_ranges_sends_everything_again() {
    let kitchen = Kitchen::new();
    kitchen.prepare("smooth", &[]);
    kitchen.server.answer(EUROPARL, &[Answer::Cut(5000), Answer::NoRange]);
    kitchen.prepare("rough", &[]);
    assert_same(&kitchen.result("rough"), &kitchen.result("smooth"));
}

#[test]
fn a_file_that_changed_in_between_is_fetched_anew_though_no_checksum_is_known() {
    let kitchen = Kitchen::new();
    let described = kitchen.description();
    let unknown = described.lines().filter(|line| !line.starts_with("sha256") && !line.starts_with("bytes"));
    kitchen.describe(&unknown.collect::<Vec<_>>().join("\n"));
    kitchen.server.answer(EUROPARL, &[Answer::Cut(5000), Answer::Status(404)]);
    let reason = kitchen.fail("data", &[]);
    assert!(reason.contains("answers 404"), "{reason}");
    assert_eq!(fs::read(kitchen.path(format!("data/toy/archives/{EUROPARL}.part"))).unwrap().len(), 5000);
    let (en, de) = (lines(5, ["a"; 8], 700), lines(5, ["b"; 8], 700));
    let members = [("training/europarl-v7.de-en.en", en.as_bytes()), ("training/europarl-v7.de-en.de", de.as_bytes())];
    let other = archive(&members);
    assert!(other.len() > 5000);
    kitchen.server.put(EUROPARL, &other, Some("second"));
    kitchen.server.requests();
    let said = kitchen.prepare("data", &[]);
    assert_eq!(ranges(&kitchen.server.requests(), EUROPARL), [Some("bytes=5000-".to_owned())]);
    let file = kitchen.path("data/toy/archives").join(EUROPARL);
    assert!(fs::read(&file).unwrap() == other);
    // The checksum that was found is held on to.
    assert!(said.contains("no checksum was known") && said.contains("SHA256SUMS"), "{said}");
    fs::write(&file, "mine").unwrap();
    fs::remove_file(kitchen.path("data/toy/text/europarl.en")).unwrap();
    let said = kitchen.prepare("data", &[]);
    assert!(said.contains("it is now called") && fs::read(&file).unwrap() == other, "{said}");
}

#[test]
fn without_version_and_checksum_nothing_is_pieced_together() {
    let kitchen = Kitchen::new();
    let described = kitchen.description();
    let unknown = described.lines().filter(|line| !line.starts_with("sha256"));
    kitchen.describe(&unknown.collect::<Vec<_>>().join("\n"));
    kitchen.server.put(EUROPARL, &kitchen.archives[EUROPARL], None);
    kitchen.server.answer(EUROPARL, &[Answer::Cut(5000)]);
    kitchen.prepare("data", &[]);
    assert_eq!(ranges(&kitchen.server.requests(), EUROPARL), [None, None]);
}

#[test]
fn a_wrong_checksum_is_told_with_both_sums_and_the_next_call_starts_clean() {
    let kitchen = Kitchen::new();
    let good = kitchen.archives[EUROPARL].clone();
    let mut bad = good.clone();
    bad[9000] ^= 1;
    kitchen.server.put(EUROPARL, &bad, Some("first"));
    let reason = kitchen.fail("data", &[]);
    let sums = [crate::kitchen::sum(&bad), crate::kitchen::sum(&good)];
    assert!(sums.iter().all(|sum| reason.contains(sum)) && reason.contains(EUROPARL), "{reason}");
    let left = fs::read_dir(kitchen.path("data/toy/archives")).unwrap();
    let left: Vec<_> = left.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    assert!(!left.iter().any(|name| name.starts_with(EUROPARL)), "{left:?}");
    kitchen.server.put(EUROPARL, &good, Some("first"));
    kitchen.prepare("data", &[]);
    kitchen.prepare("smooth", &[]);
    assert_same(&kitchen.result("data"), &kitchen.result("smooth"));
}

#[test]
fn pieces_of_two_files_are_found_out_and_fetched_again() {
    let kitchen = Kitchen::new();
    let good = kitchen.archives[EUROPARL].clone();
    let bad: Vec<u8> = good.iter().map(|byte| byte ^ 1).collect();
    // The same version, so that the server lets the download go on.
    kitchen.server.put(EUROPARL, &bad, Some("first"));
    kitchen.server.answer(EUROPARL, &[Answer::Cut(5000), Answer::Status(404)]);
    kitchen.fail("data", &[]);
    kitchen.server.put(EUROPARL, &good, Some("first"));
    kitchen.server.requests();
    kitchen.prepare("data", &[]);
    assert_eq!(ranges(&kitchen.server.requests(), EUROPARL), [Some("bytes=5000-".to_owned()), None]);
}

#[test]
fn a_source_that_has_it_not_or_wrong_makes_way_for_the_next() {
    let kitchen = Kitchen::new();
    let other = crate::server::Server::start();
    other.put(DEV, b"<html>Moved</html>", None);
    other.put(EUROPARL, &kitchen.archives[EUROPARL], None);
    other.answer(EUROPARL, &[Answer::Status(503), Answer::Status(429)]);
    let said = kitchen.prepare("data", &["--mirror", "no/such/folder", "--mirror", &other.address()]);
    assert_eq!(ranges(&other.requests(), EUROPARL).len(), 3);
    assert_eq!(ranges(&kitchen.server.requests(), EUROPARL).len(), 0);
    assert!(said.contains("it has 18 bytes there"), "{said}");
    assert!(said.contains("the server answers 503") && said.contains("no/such/folder"), "{said}");
    kitchen.prepare("smooth", &["--quiet"]);
    assert_same(&kitchen.result("data"), &kitchen.result("smooth"));
}

#[test]
fn a_folder_may_be_the_mirror_and_no_server_is_asked() {
    let kitchen = Kitchen::new();
    kitchen.prepare("smooth", &[]);
    kitchen.server.requests();
    let here = kitchen.path("smooth/toy/archives");
    for (data, prefix) in [("path", here.display().to_string()), ("url", format!("file://{}", here.display()))] {
        let said = kitchen.prepare(data, &["--mirror", &prefix]);
        assert!(kitchen.server.requests().is_empty(), "{said}");
        assert_same(&kitchen.result(data), &kitchen.result("smooth"));
    }
}

#[test]
fn slow_bytes_are_waited_for_and_silence_is_not() {
    let kitchen = Kitchen::new();
    kitchen.prepare("smooth", &[]);
    kitchen.server.answer(EUROPARL, &[Answer::Slow]);
    kitchen.server.answer(DEV, &[Answer::Silent(100)]);
    kitchen.server.requests();
    kitchen.prepare("rough", &["--timeout", "1"]);
    let requests = kitchen.server.requests();
    assert_eq!(ranges(&requests, EUROPARL), [None]);
    assert_eq!(ranges(&requests, DEV), [None, Some("bytes=100-".to_owned())]);
    assert_same(&kitchen.result("rough"), &kitchen.result("smooth"));
}

#[test]
fn a_body_that_ends_too_early_is_told_with_its_size_and_the_retries_end() {
    let kitchen = Kitchen::new();
    kitchen.server.answer(DEV, &[Answer::Short(200)]);
    let reason = kitchen.fail("short", &[]);
    assert!(reason.contains("it has 200 bytes there"), "{reason}");
    kitchen.server.answer(DEV, &[Answer::Cut(0); 3]);
    let reason = kitchen.fail("never", &["--retries", "2"]);
    assert!(reason.contains("given up after 3 failures in a row") && reason.contains("--mirror"), "{reason}");
}
