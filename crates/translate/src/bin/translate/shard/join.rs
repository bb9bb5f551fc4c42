//! `--join`: the shards of a folder in one file, if all are there and belong together.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::inspection::Shards;
use super::manifest::Manifest;
use crate::args::Args;
use crate::output::Output;
use crate::report::say;

/// Writes what the run without shards writes, and says whether all of the input could be read. If a shard is missing or
/// does not belong to the others nothing is written: each is named, with the command that makes it again.
pub(crate) fn run(args: &Args, folder: &Path) -> Result<bool> {
    ensure!(args.inputs.len() <= 1, "--join takes one FILE at most, found {}", args.inputs.len());
    let shards = Shards::read(folder)?;
    let faults = shards.faults(folder, args.inputs.first().map(AsRef::as_ref))?;
    if !faults.is_empty() {
        say(&format!(
            "translate: {} of {} shards in {} to make again:\n",
            faults.len(),
            shards.model.of,
            folder.display()
        ));
        for (shard, fault) in faults {
            say(&format!("translate: shard {shard}: {fault}: {}\n", shards.model.redo(shard)));
        }
        return Ok(false);
    }
    let mut output = Output::create(args.output.as_deref())?;
    let mut lines = 0;
    for manifest in shards.manifests() {
        if let Err(error) = append(manifest, folder, lines, &mut output) {
            output.abandon();
            return Err(error);
        }
        lines += manifest.source.lines;
        if !manifest.is_utf8 && !args.quiet {
            say(&format!("translate: warning: shard {}: not all of its lines were valid UTF-8\n", manifest.shard()));
        }
    }
    output.finish()?;
    Ok(shards.manifests().all(|manifest| manifest.is_utf8))
}

/// Adds a shard's translation; `lines` of input stand before it.
fn append(manifest: &Manifest, folder: &Path, lines: u64, output: &mut Output) -> Result<()> {
    let path = manifest.shard().output(folder);
    let open = File::open(&path).with_context(|| format!("cannot open {}", path.display()));
    let mut translation = BufReader::new(open?);
    let copied = if manifest.is_n_best() {
        renumber(translation, lines, output)
    } else {
        io::copy(&mut translation, output).map(|_| ())
    };
    copied.with_context(|| format!("cannot copy {}", path.display()))
}

/// Copies n-best lists, whose lines begin with the number of a line of input, counted from the shard's first.
fn renumber(lists: impl BufRead, before: u64, output: &mut impl Write) -> io::Result<()> {
    for line in lists.split(b'\n') {
        let line = line?;
        let digits = line.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let number: u64 = String::from_utf8_lossy(&line[..digits]).parse().map_err(io::Error::other)?;
        write!(output, "{}", number + before)?;
        output.write_all(&line[digits..])?;
        output.write_all(b"\n")?;
    }
    Ok(())
}
