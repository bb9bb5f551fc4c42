//! The signature that stands beside every score: all that can move the figure, in sacreBLEU's notation.

use std::fmt;

use serde::{Serialize, Serializer};

use crate::resample::Resampling;

/// Which implementation made the figure: ours, not sacreBLEU.
const VERSION: &str = concat!("umlaut-", env!("CARGO_PKG_VERSION"));

/// `key:value` pairs joined by `|`, the same keys in the same order as sacreBLEU 2.6.0's, for example
/// `nrefs:1|case:mixed|eff:no|tok:13a|smooth:exp|version:umlaut-0.1.0`.
///
/// One key is ours: `compound:split`, present where compounds were split.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Signature {
    fields: Vec<(&'static str, String)>,
}

impl Signature {
    /// A signature for `references` reference streams.
    pub(crate) fn new(references: usize) -> Self {
        Self { fields: vec![("nrefs", references.to_string())] }
    }

    /// With another pair after the present ones.
    pub(crate) fn with(mut self, key: &'static str, value: impl fmt::Display) -> Self {
        self.fields.push((key, value.to_string()));
        self
    }

    /// With the number of samples under `key`, and with the seed: `nrefs:1|bs:1000|ar:10000|seed:12345|...`.
    pub(crate) fn resampled(mut self, key: &'static str, resampling: Resampling) -> Self {
        let samples = (key, resampling.samples.to_string());
        match self.fields.iter().position(|&(name, _)| name == "seed") {
            None => drop(self.fields.splice(1..1, [samples, ("seed", resampling.seed.to_string())])),
            Some(seed) if !self.fields.contains(&samples) => self.fields.insert(seed, samples),
            Some(_) => {}
        }
        self
    }
}

impl fmt::Display for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (key, value) in &self.fields {
            write!(f, "{key}:{value}|")?;
        }
        write!(f, "version:{VERSION}")
    }
}

impl Serialize for Signature {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::PairedTest;

    #[test]
    fn an_interval_and_a_test_are_named_once_each_before_the_seed() {
        let bootstrap = PairedTest::Bootstrap.resampling(None, 7);
        let interval = Signature::new(1).with("case", "lc").resampled("bs", bootstrap);
        let expected = format!("nrefs:1|bs:1000|seed:7|case:lc|version:{VERSION}");
        assert_eq!(interval.to_string(), expected);
        assert_eq!(interval.clone().resampled("bs", bootstrap).to_string(), expected);
        let both = interval.resampled("ar", PairedTest::ApproximateRandomization.resampling(None, 7));
        assert_eq!(both.to_string(), format!("nrefs:1|bs:1000|ar:10000|seed:7|case:lc|version:{VERSION}"));
    }
}
