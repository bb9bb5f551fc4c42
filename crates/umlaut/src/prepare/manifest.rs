//! `manifest.json`: the steps that are finished, what each was made of and what it made.
//!
//! A step has a key: the checksum of its settings and of its inputs. It is done when the manifest has its key and its
//! files are as it left them; so a run that was stopped anywhere goes on at the first step that is not, and a changed
//! setting makes anew what depends on it and nothing else. No time or path is in it: the same input gives the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::output::Output;
use super::progress::Voice;
use umlaut_ledger::checksum;

const FILE: &str = "manifest.json";
/// Goes up when a step makes other files of the same input.
const VERSION: u32 = 1;

/// The finished steps of a data set.
#[derive(Debug)]
pub(crate) struct Manifest {
    folder: PathBuf,
    content: Content,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    version: u32,
    steps: BTreeMap<String, Step>,
}

/// A finished step.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Step {
    /// What it was made of.
    pub(crate) key: String,
    /// What it made.
    pub(crate) outputs: Vec<Output>,
    /// What was counted.
    pub(crate) report: Value,
}

impl Manifest {
    /// Reads the manifest of a folder and forgets the steps whose files are gone or changed.
    pub(crate) fn open(folder: &Path, voice: Voice) -> Result<Self> {
        let path = folder.join(FILE);
        let mut content = Content { version: VERSION, steps: BTreeMap::new() };
        if path.exists() {
            let text = fs::read_to_string(&path).with_context(|| path.display().to_string())?;
            content = serde_json::from_str(&text)
                .with_context(|| format!("{} is damaged: delete it and everything is made anew", path.display()))?;
            ensure!(
                content.version == VERSION,
                "{} is of another version of this program: delete it and everything is made anew",
                path.display()
            );
        }
        content.steps.retain(|name, step| {
            let lost = step.outputs.iter().find(|output| !output.is_intact(folder));
            if let Some(output) = lost {
                voice.say(format_args!("{} is gone or changed: {name} is done again", output.file));
            }
            lost.is_none()
        });
        Ok(Self { folder: folder.to_owned(), content })
    }

    /// The step of this name, if it is done with this key.
    pub(crate) fn done(&self, name: &str, key: &str) -> Option<&Step> {
        self.content.steps.get(name).filter(|step| step.key == key)
    }

    /// Writes down that a step is done.
    pub(crate) fn record(&mut self, name: &str, step: Step) -> Result<()> {
        self.content.steps.insert(name.to_owned(), step);
        self.write()
    }

    /// Forgets the steps of which `is_wanted` knows nothing any more.
    pub(crate) fn retain(&mut self, is_wanted: impl Fn(&str) -> bool) -> Result<()> {
        let before = self.content.steps.len();
        self.content.steps.retain(|name, _| is_wanted(name));
        if self.content.steps.len() < before { self.write() } else { Ok(()) }
    }

    fn write(&self) -> Result<()> {
        let mut json = serde_json::to_vec_pretty(&self.content)?;
        json.push(b'\n');
        Output::write(&self.folder, FILE, &json)?;
        Ok(())
    }
}

/// The key of a step: its settings and the checksums of its inputs.
pub(crate) fn key(settings: &impl Serialize, inputs: &[&str]) -> Result<String> {
    Ok(checksum::of_bytes(&serde_json::to_vec(&(settings, inputs))?))
}
