//! The library of paths: access links with the statistics of their sources.
//!
//! Each path is a file of `library/` and a line of the registry. A path has a constant rate, or a random process with the distribution
//! and memory of measured rates. The files contain figures computed from measurements, or stated by documents, and no part of the
//! measurements.

use super::Impairment;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};
use sojourn_link::process::{Handover, Memory, Outages, Process, Quantity};
use sojourn_units::{AnyOverhead, Duration, Rate};
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

macro_rules! registry {
    ($($name:literal,)*) => {
        /// The names of all paths, in the order of the registry.
        pub const NAMES: &[&str] = &[$($name,)*];

        const FILES: &[&str] = &[$(include_str!(concat!("../../library/", $name, ".toml")),)*];
    };
}

registry! {
    "5g-ireland-driving-2020",
    "5g-ireland-static-2020",
    "5g-mmwave-walking-2021",
    "docsis-31-up",
    "geo-2020",
    "geo-2020-up",
    "lte-att-2016",
    "lte-nyc-2019",
    "lte-verizon-2012",
    "lte-verizon-2012-up",
    "policed-2015",
    "starlink-2025",
    "starlink-driving-2024",
    "starlink-driving-2024-up",
    "transcontinental",
    "transpacific",
    "wifi-campus-2021",
    "wifi-latency-2016",
    "wifi-office-2022",
    "wifi-restaurant-2022",
}

/// All paths, in the order of the registry.
pub static PATHS: LazyLock<Vec<Path>> = LazyLock::new(|| {
    let read = |(name, text): (&&str, &&str)| toml::from_str(text).map_err(|error| format!("library/{name}.toml: {error}"));
    NAMES.iter().zip(FILES).map(read).collect::<Result<_, _>>().unwrap_or_else(|error| unreachable!("a test reads every file: {error}"))
});

/// The name of a path of the library.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize)]
#[serde(transparent)]
pub struct PathName(&'static str);

impl PathName {
    /// The path of this name.
    pub fn path(self) -> &'static Path {
        let at = NAMES.iter().position(|name| *name == self.0);
        at.map_or_else(|| unreachable!("a name is one of the registry"), |at| &PATHS[at])
    }
}

impl<'de> Deserialize<'de> for PathName {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let given = Cow::<str>::deserialize(deserializer)?;
        let known = NAMES.iter().find(|name| **name == given);
        known.map(|name| PathName(name)).ok_or_else(|| de::Error::unknown_variant(&given, NAMES))
    }
}

impl JsonSchema for PathName {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("PathName")
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({ "type": "string", "enum": NAMES, "description": "A path of the library: sojourn list paths." })
    }
}

/// An access link: the statistics of its source, and a model that has them.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Path {
    /// One sentence that describes it.
    pub summary: String,
    /// Its round-trip time without load, in ms.
    /// The link's delay is half of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_ms: Option<f64>,
    /// Where its figures come from.
    pub source: Source,
    /// The figures of its source.
    pub statistics: Statistics,
    /// The memory of its rate, if the rate varies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate: Option<Model>,
    /// The memory of its delay, if the delay varies.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay: Option<Model>,
    /// Its link-layer overhead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub overhead: Option<AnyOverhead>,
    /// Its impairments in order.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub impairments: Vec<Impairment>,
}

/// The source of a path's figures.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Source {
    /// The key of the work in `docs/references.md`.
    pub work: String,
    /// The part of the data set or document.
    pub data: String,
    /// The license of the data or document.
    pub license: String,
    /// How its figures were measured or chosen.
    pub measured: String,
    /// The length of the measurements; none for documents.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub seconds: Option<f64>,
}

/// The figures of a path's source.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Statistics {
    /// The mean rate in Mbit/s, outages and handovers included.
    pub mean_mbps: f64,
    /// The length of the windows in which rates were counted; none for a constant rate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub every_ms: Option<u64>,
    /// The coefficient of variation, outages and handovers included.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cv: Option<f64>,
    /// The lag at which the autocorrelation of the normal scores falls below 1/e.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub correlation_s: Option<f64>,
    /// The periodic change of the satellite.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handover: Option<Handover>,
    /// Periods without service.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub outages: Option<Outages>,
    /// The percentiles of the rate without outages and handovers, in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rate_mbps: Option<Percentiles>,
    /// The percentiles of the delay on top of half the round-trip time, one way, in ms.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<Percentiles>,
}

/// Values by their percentage, as `p50 = 3.1`.
pub type Percentiles = BTreeMap<String, f64>;

/// The memory of the normal scores of a quantity. The rest of the variance is white.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Model {
    /// Shares of the variance that decay with time.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<Memory>,
    /// The share of the variance that is constant between two handovers; default 0.
    #[serde(default)]
    pub slot_share: f64,
}

impl Path {
    /// Its nominal rate: the mean of its source.
    pub fn mean_rate(&self) -> Rate {
        Rate::from_bps((self.statistics.mean_mbps * 1e6) as u64).unwrap_or_else(|| unreachable!("a test reads every rate"))
    }

    /// Its propagation delay in one direction.
    pub fn propagation(&self) -> Duration {
        Duration::from_nanos((self.rtt_ms.unwrap_or_default() * 5e5) as u64)
    }

    /// The process of its rate and delay; `None` if both are constant.
    pub fn process(&self) -> Option<Process> {
        let Statistics { every_ms, handover, outages, .. } = self.statistics;
        Some(Process {
            every: Duration::from_millis(every_ms?),
            rate: quantity(self.statistics.rate_mbps.as_ref()?, self.rate.as_ref()?),
            delay: self.statistics.delay_ms.as_ref().zip(self.delay.as_ref()).map(|(values, model)| quantity(values, model)),
            outages,
            handover,
        })
    }
}

fn quantity(percentiles: &Percentiles, model: &Model) -> Quantity {
    let level = |name: &String| name.strip_prefix('p').and_then(|percentage| percentage.parse::<f64>().ok());
    let quantile = |(name, value): (&String, &f64)| (level(name).map_or(f64::NAN, |percentage| percentage / 100.0), *value);
    let mut quantiles: Vec<(f64, f64)> = percentiles.iter().map(quantile).collect();
    quantiles.sort_by(|one, other| one.0.total_cmp(&other.0));
    Quantity { quantiles, memory: model.memory.clone(), slot_share: model.slot_share }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_read_and_has_a_rate_quantiles_in_order_and_shares_below_one() {
        for (name, path) in NAMES.iter().zip(PATHS.iter()) {
            assert!(path.mean_rate() > Rate::from_bps(1000).unwrap(), "{name}");
            assert!(path.impairments.iter().all(|impairment| impairment.0.check().is_ok()), "{name}");
            let process = path.process();
            assert_eq!(process.is_some(), path.statistics.every_ms.is_some(), "{name}: a process has windows, percentiles and a memory");
            for quantity in process.iter().flat_map(|process| [Some(&process.rate), process.delay.as_ref()]).flatten() {
                let levels: Vec<f64> = quantity.quantiles.iter().map(|(level, _)| *level).collect();
                assert_eq!((levels.first(), levels.last()), (Some(&0.0), Some(&1.0)), "{name}");
                assert!(quantity.quantiles.is_sorted_by(|one, other| one.0 < other.0 && one.1 <= other.1), "{name}");
                assert!(quantity.memory.iter().map(|memory| memory.share).sum::<f64>() + quantity.slot_share <= 1.0, "{name}");
            }
        }
    }

    #[test]
    fn the_registry_names_every_file() {
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/library")).unwrap();
        let mut files: Vec<String> = folder.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        files.sort();
        let mut names: Vec<String> = NAMES.iter().map(|name| format!("{name}.toml")).collect();
        names.sort();
        assert_eq!(files, names);
    }
}
