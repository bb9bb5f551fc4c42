//! What keeps the shards of a folder from being joined.

use std::fs;
use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result, bail, ensure};
use serde_json::Value;

use super::manifest::Manifest;
use super::{Shard, checksum, work};

/// The shards of a folder.
#[derive(Debug)]
pub(crate) struct Shards {
    /// Each with its manifest, if it has a readable one.
    found: Vec<(Shard, Option<Manifest>)>,
    /// How the shards were made, if not all were made alike: as most were.
    pub(crate) model: Manifest,
}

impl Shards {
    /// Reads the manifests of a folder.
    pub(crate) fn read(folder: &Path) -> Result<Self> {
        let name = folder.display();
        let mut there = Vec::new();
        for entry in fs::read_dir(folder).with_context(|| format!("cannot read {name}"))? {
            let entry = entry.with_context(|| format!("cannot read {name}"))?;
            there.extend(entry.file_name().to_str().and_then(Shard::of_manifest));
        }
        there.sort_by_key(|shard| (shard.count, shard.number));
        let (Some(first), Some(last)) = (there.first(), there.last()) else {
            bail!("{name} holds no shard: translate --shard K/N FILE -o {name} makes them");
        };
        let (count, other) = (first.count, last.count);
        ensure!(count == other, "{name} holds shards of {count} and of {other}: remove those that are not meant");
        let read = |shard: Shard| {
            let manifest = Manifest::read(&shard.manifest(folder)).ok();
            (shard, manifest.filter(|manifest| manifest.shard() == shard))
        };
        let found: Vec<_> = (1..=count).map(|number| read(Shard { number, count })).collect();
        let model = most_common(&found).with_context(|| format!("no manifest in {name} can be read"))?.clone();
        Ok(Self { found, model })
    }

    /// The shards that cannot be joined, each with the reason.
    pub(crate) fn faults(&self, folder: &Path, input: Option<&Path>) -> Result<Vec<(Shard, String)>> {
        let mut faults = Vec::new();
        let mut before: Option<&Manifest> = None;
        for (shard, manifest) in &self.found {
            let fault = match manifest {
                None => {
                    Some(if shard.manifest(folder).exists() { "its manifest cannot be read" } else { "missing" }.into())
                }
                Some(manifest) => self.fault(manifest, before, folder, input)?,
            };
            faults.extend(fault.map(|fault| (*shard, fault)));
            before = manifest.as_ref();
        }
        Ok(faults)
    }

    /// All manifests, in order; those that cannot be read are left out.
    pub(crate) fn manifests(&self) -> impl Iterator<Item = &Manifest> {
        self.found.iter().filter_map(|(_, manifest)| manifest.as_ref())
    }

    fn fault(
        &self,
        manifest: &Manifest,
        before: Option<&Manifest>,
        folder: &Path,
        input: Option<&Path>,
    ) -> Result<Option<String>> {
        let differences = differences(manifest, &self.model);
        if !differences.is_empty() {
            return Ok(Some(format!("made with {}", differences.join(", "))));
        }
        if let Some(before) = before.filter(|before| before.end() != manifest.source.from_byte) {
            return Ok(Some(format!("does not begin where shard {} ends: the input was changed", before.shard())));
        }
        if let Some(input) = input
            && !is_of(manifest, input)?
        {
            return Ok(Some(format!("its lines are not those of {}", input.display())));
        }
        Ok((!manifest.has_its_output(folder)).then(|| "its translation is missing or was changed".into()))
    }
}

/// Whether a shard was made of these bytes of the input.
fn is_of(manifest: &Manifest, input: &Path) -> Result<bool> {
    let context = || format!("cannot read {}", input.display());
    let mut file = File::open(input).with_context(context)?;
    let range = manifest.shard().range(&mut file).with_context(context)?;
    let part = work::part_of(input, &range)?;
    Ok(range == (manifest.source.from_byte..manifest.end())
        && checksum::of_reader(part).with_context(context)? == manifest.source.part.sha256)
}

/// The fields in which two shards were not made alike.
fn differences(manifest: &Manifest, model: &Manifest) -> Vec<String> {
    let mut found = Vec::new();
    let mut compare = |name: &str, here: &Value, elsewhere: &Value| {
        if here != elsewhere {
            found.push(format!("{name} {here} (elsewhere {elsewhere})"));
        }
    };
    compare("an input of bytes", &manifest.source.file_bytes.into(), &model.source.file_bytes.into());
    for name in
        manifest.made_with.keys().chain(model.made_with.keys().filter(|name| !manifest.made_with.contains_key(*name)))
    {
        let field = |manifest: &Manifest| manifest.made_with.get(name).cloned().unwrap_or_default();
        compare(name, &field(manifest), &field(model));
    }
    found
}

/// The first manifest of those that most others are like.
fn most_common(found: &[(Shard, Option<Manifest>)]) -> Option<&Manifest> {
    let mut alike: Vec<(&Manifest, usize)> = Vec::new();
    for manifest in found.iter().filter_map(|(_, manifest)| manifest.as_ref()) {
        match alike.iter_mut().find(|(first, _)| differences(manifest, first).is_empty()) {
            Some((_, count)) => *count += 1,
            None => alike.push((manifest, 1)),
        }
    }
    // The first of the greatest: `max_by_key` alone would give the last.
    alike.into_iter().rev().max_by_key(|(_, count)| *count).map(|(first, _)| first)
}
