//! The TCP options a scenario may set; what is absent takes its value from the profile.

use super::Control;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::de::{Error, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use sojourn_units::{Amount, Bytes, Duration, Rate, parse_duration};
use std::borrow::Cow;
use std::fmt;

/// Options of a TCP flow. Every field is optional: a flow's own come first, then the scenario's, then the profile's.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
pub struct Tcp {
    /// Where every field below gets its default; default "rfc".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<Profile>,
    /// The window law.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub control: Option<Control>,
    /// How losses are repaired.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub recovery: Option<Recovery>,
    /// Payload of a full segment.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mss: Option<Bytes>,
    /// Added to every packet; an ACK is a header, and a SACK option if it has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub header: Option<Bytes>,
    /// Receive window: full segments or bytes of payload.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub window: Option<Amount>,
    /// Whether and how long ACKs are delayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delayed_ack: Option<Switched>,
    /// Full segments per ACK where ACKs are delayed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ack_every: Option<u32>,
    /// Whether data packets can carry congestion marks.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ecn: Option<bool>,
    /// The least retransmission timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub min_rto: Option<Duration>,
    /// The greatest retransmission timeout, backed off.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_rto: Option<Duration>,
    /// Added to every retransmission timeout.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rto_slop: Option<Duration>,
    /// Appropriate byte counting: segments that an ACK may count for in slow start; 0 counts ACKs (RFC 3465).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub abc: Option<u32>,
    /// Whether the window is bounded by the measured bandwidth-delay product (FreeBSD's inflight limit).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub inflight_limit: Option<bool>,
    /// The retransmission timeout before the first RTT sample.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_rto: Option<Duration>,
    /// The clock's granularity in RTT samples and timeouts; "0 s" is exact.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub tick: Option<Duration>,
    /// cwnd at the start, in segments.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_window: Option<u32>,
    /// Whether the first two duplicate ACKs send new data (RFC 3042).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limited_transmit: Option<bool>,
    /// What comes before the first data.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub handshake: Option<Handshake>,
    /// Whether every ACK gives an RTT sample (RFC 7323).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub timestamps: Option<bool>,
    /// Duplicate ACKs that mean a loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dupack_threshold: Option<u32>,
    /// ssthresh at the start: segments or bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub initial_ssthresh: Option<Amount>,
    /// How fast the receiving application reads; absent: at once.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reader: Option<Rate>,
    /// Whether the window falls back to the initial one after an idle time (RFC 5681 section 4.1).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub restart_after_idle: Option<bool>,
    /// How far the receiver's clock is ahead of the sender's; for controllers that read one-way delays.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_offset: Option<Duration>,
    /// How much faster the receiver's clock runs than the sender's, in parts per million, -1000 to 1000.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub clock_skew_ppm: Option<f64>,
    /// What data packets tell queues of the round-trip time: the smoothed one (`true`), nothing (`false`), or this time
    /// whatever the truth.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub rtt_hint: Option<Switched>,
}

impl Tcp {
    /// These options, and where they are silent those of `defaults`.
    #[must_use]
    pub fn over(&self, defaults: &Tcp) -> Tcp {
        macro_rules! merge {
            ($($field:ident),*) => { Tcp { $($field: self.$field.clone().or_else(|| defaults.$field.clone()),)* } };
        }
        merge!(
            profile,
            control,
            recovery,
            mss,
            header,
            window,
            delayed_ack,
            ack_every,
            ecn,
            min_rto,
            max_rto,
            rto_slop,
            abc,
            inflight_limit,
            initial_rto,
            tick,
            initial_window,
            limited_transmit,
            handshake,
            timestamps,
            dupack_threshold,
            initial_ssthresh,
            reader,
            restart_after_idle,
            clock_offset,
            clock_skew_ppm,
            rtt_hint
        )
    }
}

/// A set of defaults: the habits of a stack.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Profile {
    /// What the RFCs say.
    #[default]
    Rfc,
    /// ns-2.35's one-way TCP agents.
    Ns2,
    /// ns-2.35's TCP-Linux agent.
    #[serde(rename = "ns2-linux")]
    Ns2Linux,
    /// Linux.
    Linux,
    /// FreeBSD 5.3.
    Freebsd,
}

/// How losses are repaired.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Recovery {
    /// Fast retransmit and fast recovery that ends with the first new ACK (RFC 5681).
    Reno,
    /// Recovery that lasts through partial ACKs (RFC 6582).
    Newreno,
    /// Recovery by selective acknowledgements (RFC 6675).
    Sack,
}

/// What comes before the first data.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Handshake {
    /// Nothing: data at once.
    None,
    /// A SYN and its ACK, as ns-2's one-way agents.
    Oneway,
    /// SYN, SYN-ACK, ACK.
    Threeway,
}

/// Something that is off (`false`), on (`true`), or on with a time of its own: delayed ACKs, RTT hints.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Switched {
    /// ACKs: every segment at once. Hints: none.
    Off,
    /// ACKs: delayed by the profile's time. Hints: the smoothed RTT.
    On,
    /// ACKs: delayed by this time. Hints: this RTT, whatever the truth.
    Time(Duration),
}

impl JsonSchema for Switched {
    fn schema_name() -> Cow<'static, str> {
        Cow::Borrowed("Switched")
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        json_schema!({ "anyOf": [{ "type": "boolean" }, generator.subschema_for::<Duration>()] })
    }
}

impl Serialize for Switched {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Switched::Off => serializer.serialize_bool(false),
            Switched::On => serializer.serialize_bool(true),
            Switched::Time(time) => time.serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Switched {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct FlagOrTime;
        impl Visitor<'_> for FlagOrTime {
            type Value = Switched;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("true, false or a time such as \"100 ms\"")
            }
            fn visit_bool<E: Error>(self, on: bool) -> Result<Switched, E> {
                Ok(if on { Switched::On } else { Switched::Off })
            }
            fn visit_str<E: Error>(self, text: &str) -> Result<Switched, E> {
                parse_duration(text).map(Switched::Time).map_err(E::custom)
            }
        }
        deserializer.deserialize_any(FlagOrTime)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_flows_own_options_come_before_the_scenarios() {
        let common = Tcp { mss: Some(Bytes(1000)), ecn: Some(false), ..Tcp::default() };
        let own = Tcp { ecn: Some(true), profile: Some(Profile::Linux), ..Tcp::default() };
        let merged = own.over(&common);
        assert_eq!(merged, Tcp { mss: Some(Bytes(1000)), ecn: Some(true), profile: Some(Profile::Linux), ..Tcp::default() });
    }
}
