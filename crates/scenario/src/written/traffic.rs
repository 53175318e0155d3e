//! What a flow sends. The table's `kind` chooses which keys it has.

use super::chosen::{Chosen, chosen, unless_named};
use schemars::{JsonSchema, Schema};
use serde::{Deserialize, Deserializer, Serialize};
use sojourn_units::{Bytes, Duration, Rate};

/// What a flow sends.
#[derive(Clone, PartialEq, Debug, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "lowercase")]
#[schemars(transform = bulk_unless_named)]
pub enum Traffic {
    /// One TCP connection with all the data at once.
    Bulk(Bulk),
    /// UDP packets at a constant rate.
    Cbr(Cbr),
    /// UDP packets at exponential gaps.
    Poisson(Poisson),
    /// A constant rate that comes and goes.
    OnOff(OnOff),
    /// Pages of objects, one TCP connection each object.
    Web(Web),
    /// Poisson arrivals of TCP transfers.
    Transfers(Transfers),
    /// UDP packets that come back, each a sample of the round trip.
    Ping(Ping),
}

impl Default for Traffic {
    fn default() -> Self {
        Traffic::Bulk(Bulk::default())
    }
}

fn bulk_unless_named(schema: &mut Schema) {
    unless_named(schema, "kind", "bulk");
}

const KINDS: &[&str] = &["bulk", "cbr", "poisson", "onoff", "web", "transfers", "ping"];

impl Traffic {
    /// The kind as scenario files name it.
    pub fn kind(&self) -> &'static str {
        match self {
            Traffic::Bulk(_) => KINDS[0],
            Traffic::Cbr(_) => KINDS[1],
            Traffic::Poisson(_) => KINDS[2],
            Traffic::OnOff(_) => KINDS[3],
            Traffic::Web(_) => KINDS[4],
            Traffic::Transfers(_) => KINDS[5],
            Traffic::Ping(_) => KINDS[6],
        }
    }

    /// Whether it runs over TCP.
    pub fn is_tcp(&self) -> bool {
        match self {
            Traffic::Cbr(_) | Traffic::Poisson(_) | Traffic::Ping(_) => false,
            Traffic::OnOff(onoff) => onoff.transport == Transport::Tcp,
            Traffic::Bulk(_) | Traffic::Web(_) | Traffic::Transfers(_) => true,
        }
    }

    /// Whether something of it travels on the way back.
    pub fn comes_back(&self) -> bool {
        self.is_tcp() || matches!(self, Traffic::Ping(_))
    }
}

impl<'de> Deserialize<'de> for Traffic {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Chosen { name, mut rest } = chosen(deserializer, "kind", Some("bulk"))?;
        match name.as_str() {
            "bulk" => rest.read().map(Traffic::Bulk),
            "cbr" => rest.read().map(Traffic::Cbr),
            "poisson" => rest.read().map(Traffic::Poisson),
            "onoff" => rest.read().map(Traffic::OnOff),
            "web" => rest.read().map(Traffic::Web),
            "transfers" => rest.read().map(Traffic::Transfers),
            "ping" => rest.read().map(Traffic::Ping),
            other => Err(rest.unknown(other, KINDS)),
        }
    }
}

/// One TCP connection with all the data at once.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Bulk {
    /// Bytes to send, then the connection closes; absent: without end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<Bytes>,
}

/// UDP packets at a constant rate.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Cbr {
    /// The rate on the wire.
    pub rate: Rate,
    /// Size of a packet on the wire; default "1000 B".
    #[serde(default = "kilobyte")]
    pub size: Bytes,
    /// How much a gap varies, as a part of the mean gap: uniform on gap * (1 - jitter/2 .. 1 + jitter/2); 0 to 1, default 0.
    #[serde(default)]
    pub jitter: f64,
}

/// UDP packets that come back, each a sample of the round trip.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ping {
    /// Time between packets; default "200 ms".
    #[serde(default = "fifth_of_a_second")]
    pub every: Duration,
    /// Size of a packet on the wire, there and back; default "64 B".
    #[serde(default = "small")]
    pub size: Bytes,
}

fn fifth_of_a_second() -> Duration {
    Duration::from_millis(200)
}

fn small() -> Bytes {
    Bytes(64)
}

/// UDP packets at exponential gaps: a Poisson process.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Poisson {
    /// The mean rate on the wire.
    pub rate: Rate,
    /// Mean size of a packet on the wire; default "1000 B".
    #[serde(default = "kilobyte")]
    pub size: Bytes,
    /// Whether sizes are all the same or exponential, in whole bytes; default "constant".
    #[serde(default)]
    pub sizes: Sizes,
}

/// How packet sizes vary.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Sizes {
    /// Not at all.
    #[default]
    Constant,
    /// Exponentially.
    Exponential,
}

/// A constant rate that comes and goes.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OnOff {
    /// The rate on the wire while on.
    pub rate: Rate,
    /// Size of a packet on the wire, over TCP of what is handed over at once; default "1000 B".
    #[serde(default = "kilobyte")]
    pub size: Bytes,
    /// Mean time on.
    pub on: Duration,
    /// Mean time off.
    pub off: Duration,
    /// Absent: times are exponential; present: Pareto with this shape, above 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shape: Option<f64>,
    /// UDP or TCP; default "udp".
    #[serde(default)]
    pub transport: Transport,
}

/// What carries a source's data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Transport {
    /// Packets without feedback.
    #[default]
    Udp,
    /// A connection.
    Tcp,
}

/// Pages of objects, one TCP connection each object.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Web {
    /// Mean time between pages, exponential.
    pub page_gap: Duration,
    /// Objects a page; default 1.
    #[serde(default = "one")]
    pub objects: u32,
    /// Mean time between objects of a page, exponential; default "0 s".
    #[serde(default)]
    pub object_gap: Duration,
    /// Mean size of an object, in full segments.
    pub object_mean: f64,
    /// Shape of an object's size (Pareto II), above 1.
    pub object_shape: f64,
    /// Bytes of the request that goes ahead of each object on a connection of its own; default "0 B": none.
    #[serde(default)]
    pub request: Bytes,
    /// Pages in all; absent: without end.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub pages: Option<u32>,
    /// What starts the gap before the next page; default "closed".
    #[serde(default)]
    pub r#loop: Loop,
}

/// What starts the gap before the next page.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Loop {
    /// The page before started: pages come by the clock.
    Open,
    /// The page before is complete, as in ns-2's `WebTraf`.
    #[default]
    Closed,
}

/// Poisson arrivals of TCP transfers.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Transfers {
    /// Mean time between arrivals, exponential.
    pub every: Duration,
    /// Mean size.
    pub size_mean: Bytes,
    /// Absent: sizes are exponential; present: Pareto with this shape, above 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub size_shape: Option<f64>,
}

fn kilobyte() -> Bytes {
    Bytes(1000)
}

fn one() -> u32 {
    1
}
