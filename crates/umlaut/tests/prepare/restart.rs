//! Programs that are killed, disks that are full, files that go and settings that change: the bytes are the same.

use std::fs;
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, SystemTime};

use crate::kitchen::{CRAWL, DEV, EUROPARL, Kitchen, assert_same};
use crate::server::Answer;

fn changed(kitchen: &Kitchen, file: &str) -> SystemTime {
    fs::metadata(kitchen.path("data/toy").join(file)).unwrap().modified().unwrap()
}

#[test]
fn a_second_call_asks_no_server_and_writes_nothing() {
    let kitchen = Kitchen::new();
    kitchen.prepare("data", &[]);
    kitchen.server.requests();
    let before = kitchen.result("data");
    let times = ["vocab.model", "manifest.json", "shards/00001.ids"].map(|file| changed(&kitchen, file));
    // Archives are no longer needed.
    for name in [EUROPARL, CRAWL, DEV] {
        fs::remove_file(kitchen.path("data/toy/archives").join(name)).unwrap();
    }
    kitchen.prepare("data", &[]);
    assert!(kitchen.server.requests().is_empty());
    assert_eq!(["vocab.model", "manifest.json", "shards/00001.ids"].map(|file| changed(&kitchen, file)), times);
    let kept = before.into_iter().filter(|(path, _)| path.extension().is_none_or(|end| end != "tgz")).collect();
    assert_same(&kitchen.result("data"), &kept);
}

#[test]
fn killed_at_many_moments_it_ends_with_the_bytes_of_a_run_that_never_stopped() {
    let kitchen = Kitchen::new();
    kitchen.prepare("whole", &[]);
    let mut kills = 0;
    // From before the first request to the last shard; after enough kills it may finish.
    loop {
        for name in [EUROPARL, CRAWL] {
            kitchen.server.answer(name, &[Answer::Slow]);
        }
        let mut child = kitchen.command("parts", &["--quiet"]).stdout(Stdio::null()).spawn().unwrap();
        let patience = if kills < 25 { 10 + kills * 37 % 290 } else { 600_000 };
        let mut status = None;
        for _ in 0..patience {
            status = child.try_wait().unwrap();
            if status.is_some() {
                break;
            }
            sleep(Duration::from_millis(1));
        }
        if let Some(status) = status {
            assert!(status.success(), "a run failed after {kills} kills");
            break;
        }
        child.kill().unwrap();
        child.wait().unwrap();
        kills += 1;
    }
    assert!(kills > 3, "only {kills} kills");
    assert_same(&kitchen.result("parts"), &kitchen.result("whole"));
}

#[test]
#[cfg(unix)]
fn a_full_disk_is_told_and_the_next_call_goes_on() {
    let kitchen = Kitchen::new();
    kitchen.prepare("whole", &[]);
    let program = kitchen.command("data", &[]);
    // No file may have more than 8 or 16 KiB, by the shell; the write then fails as one on a full disk does.
    let mut small = Command::new("sh");
    small.args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$0\" \"$@\""]).arg(program.get_program());
    small.args(program.get_args()).current_dir(kitchen.dir.path()).stdin(Stdio::null());
    kitchen.server.requests();
    let output = small.output().unwrap();
    let reason = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(2), "{reason}");
    assert!(reason.contains("no room is left") && reason.contains(".tgz.part"), "{reason}");
    kitchen.server.requests();
    kitchen.prepare("data", &[]);
    let resumed = kitchen.server.requests().into_iter().filter_map(|request| request.range).collect::<Vec<_>>();
    assert_eq!(resumed.len(), 1, "{resumed:?}");
    assert_same(&kitchen.result("data"), &kitchen.result("whole"));
}

#[test]
fn a_setting_makes_anew_what_depends_on_it_and_nothing_else() {
    let kitchen = Kitchen::new();
    kitchen.prepare("data", &[]);
    let (vocab, text) = (changed(&kitchen, "vocab.model"), changed(&kitchen, "text/europarl.en"));
    let shard = fs::read(kitchen.path("data/toy/shards/00000.ids")).unwrap();
    kitchen.describe(&kitchen.description().replace("shard_pairs = 500", "shard_pairs = 900"));
    kitchen.server.requests();
    kitchen.prepare("data", &[]);
    assert!(kitchen.server.requests().is_empty());
    assert_eq!((changed(&kitchen, "vocab.model"), changed(&kitchen, "text/europarl.en")), (vocab, text));
    assert!(fs::read(kitchen.path("data/toy/shards/00000.ids")).unwrap() != shard);
    kitchen.prepare("fresh", &[]);
    assert_same(&kitchen.result("data"), &kitchen.result("fresh"));
    kitchen.describe(&kitchen.description().replace("size = 400", "size = 380"));
    kitchen.prepare("data", &[]);
    assert_eq!(changed(&kitchen, "text/europarl.en"), text);
    assert!(changed(&kitchen, "vocab.model") > vocab);
}

#[test]
fn what_is_gone_or_damaged_is_made_again() {
    let kitchen = Kitchen::new();
    kitchen.prepare("data", &[]);
    let whole = kitchen.result("data");
    let path = |name: &str| kitchen.path("data/toy").join(name);
    let mut bytes = fs::read(path("shards/00001.ids")).unwrap();
    bytes[300] ^= 1;
    fs::write(path("shards/00001.ids"), bytes).unwrap();
    fs::remove_file(path("text/crawl.de")).unwrap();
    fs::write(path("test.en"), "").unwrap();
    fs::write(path("shards/00002.ids.part"), "half").unwrap();
    let said = kitchen.prepare("data", &[]);
    assert!(said.contains("text/crawl.de is gone or changed"), "{said}");
    assert_same(&kitchen.result("data"), &whole);
}

#[test]
fn two_programs_do_not_prepare_in_one_folder() {
    let kitchen = Kitchen::new();
    kitchen.server.answer(EUROPARL, &[Answer::Silent(10)]);
    let mut first = kitchen.command("data", &["--quiet"]).stdout(Stdio::null()).spawn().unwrap();
    while !kitchen.server.requests().iter().any(|request| request.file == EUROPARL) {
        sleep(Duration::from_millis(5));
    }
    let reason = kitchen.fail("data", &[]);
    first.kill().unwrap();
    first.wait().unwrap();
    assert!(reason.contains("another program prepares data here"), "{reason}");
}
