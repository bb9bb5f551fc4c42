//! The translation of one shard: a file that is whole, then its manifest.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufReader, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use serde_json::Value;
use umlaut_translate::{Answer, Format, Options, Translator};

use super::Shard;
use super::checksum::{self, Tally};
use super::manifest::{self, Bytes, Manifest, Source};
use crate::args::Args;
use crate::output::Output;
use crate::report::Report;

/// A shard that is to be there.
pub(crate) struct Work {
    shard: Shard,
    input: PathBuf,
    /// The bytes of its lines.
    range: Range<u64>,
    /// The size of the input.
    size: u64,
    folder: PathBuf,
    made_with: BTreeMap<String, Value>,
    format: Format,
    command: Vec<String>,
}

impl Work {
    /// Finds out what there is to do.
    pub(crate) fn open(args: &Args, shard: Shard, options: &Options) -> Result<Self> {
        let [input] = args.inputs.as_slice() else {
            bail!("--shard takes one FILE, found {}", args.inputs.len());
        };
        let folder = args.output.clone().context("--shard needs -o DIR")?;
        let name = input.display();
        let mut file = File::open(input).with_context(|| format!("cannot open {name}"))?;
        let metadata = file.metadata().with_context(|| format!("cannot read {name}"))?;
        if !metadata.is_file() {
            bail!("--shard takes a file, which {name} is not: a part of a stream is translated without it");
        }
        let range = shard.range(&mut file).with_context(|| format!("cannot read {name}"))?;
        let made_with = manifest::made_with(&checksum::of_model(args.model.as_deref())?, options, args.format())?;
        let (size, input, format) = (metadata.len(), input.clone(), args.format());
        Ok(Self { shard, input, range, size, folder, made_with, format, command: args.command_without_shard() })
    }

    /// What is there if it was done before, whole and with the same result.
    pub(crate) fn done(&self) -> Result<Option<Manifest>> {
        let Ok(there) = Manifest::read(&self.shard.manifest(&self.folder)) else { return Ok(None) };
        let Source { file_bytes, from_byte, part, .. } = &there.source;
        let is_same = there.made_with == self.made_with
            && (*file_bytes, *from_byte, part.bytes)
                == (self.size, self.range.start, self.range.end - self.range.start);
        let is_done =
            is_same && part.sha256 == checksum::of_reader(self.source()?)? && there.has_its_output(&self.folder);
        Ok(is_done.then_some(there))
    }

    /// Translates it.
    pub(crate) fn run(self, translator: &Translator, mut report: Report) -> Result<Report> {
        fs::create_dir_all(&self.folder).with_context(|| format!("cannot make {}", self.folder.display()))?;
        let output = Output::create_among_others(self.shard.output(&self.folder))?;
        let (mut source, mut output) = (Tally::new(self.source()?), Tally::new(output));
        let title = format!("{}, shard {}", self.input.display(), self.shard);
        let watch = |answer: Answer<'_>| report.answer(Some(&title), &answer);
        let reader = BufReader::new(&mut source);
        let done = if self.shard.number == 1 {
            translator.translate_stream(reader, &mut output, self.format, watch)
        } else {
            translator.translate_from_the_midst(reader, &mut output, self.format, watch)
        };
        if let Err(error) = done {
            output.finish().0.discard();
            return Err(error).context(title);
        }
        self.keep(source, output, report.is_utf8())?;
        Ok(report)
    }

    /// Gives the files their names: the manifest last, since a shard without it is not there.
    fn keep(self, source: Tally<impl Read>, output: Tally<Output>, is_utf8: bool) -> Result<()> {
        let (read, lines, written) = (source.bytes, source.lines(), output.bytes);
        if read != self.range.end - self.range.start {
            bail!("{} became shorter while it was read: translate all its shards again", self.input.display());
        }
        let (output, output_sha256) = output.finish();
        output.finish()?;
        let manifest = Manifest {
            shard: self.shard.number,
            of: self.shard.count,
            source: Source {
                file: self.input.display().to_string(),
                file_bytes: self.size,
                from_byte: self.range.start,
                lines,
                part: Bytes { bytes: read, sha256: source.finish().1 },
            },
            output: Bytes { bytes: written, sha256: output_sha256 },
            is_utf8,
            made_with: self.made_with,
            command: self.command,
        };
        manifest.write(&self.folder)
    }

    fn source(&self) -> Result<impl Read + use<>> {
        part_of(&self.input, &self.range)
    }
}

/// The bytes of a part of a file.
pub(crate) fn part_of(path: &Path, range: &Range<u64>) -> Result<impl Read + use<>> {
    let open = || -> std::io::Result<_> {
        let mut file = File::open(path)?;
        file.seek(SeekFrom::Start(range.start))?;
        Ok(file.take(range.end - range.start))
    };
    open().with_context(|| format!("cannot read {}", path.display()))
}
