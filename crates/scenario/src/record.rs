//! The record of a run: every measure with its name, its unit and one sentence. `report.rs` of `sojourn-lab` computes them; the
//! JSON Schema, `sojourn list measures`, the tables of `docs/measurements.md` and the labels of tables and plots come from here.
//!
//! Statistics count from the end of the warm-up to the end of the run: the window. What was never seen is null. On a field,
//! `unit` is its unit, `label` is what tables and plots call it if not its name, `better` is "higher" or "lower" where users
//! of a network want the one or the other, and `error` is how far it may be off, as a share of its value. No number is negative.
//! `maximum` is the most that a field can be, if that is the same in all runs: confidence intervals end there.

pub use crate::host::Host;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All that one run gives.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// The scenario's name.
    pub scenario: String,
    /// The seed of all named random streams.
    pub seed: u64,
    /// Length of the run.
    #[schemars(extend("unit" = "s"))]
    pub duration_s: f64,
    /// Start of the window.
    #[schemars(extend("unit" = "s"))]
    pub warmup_s: f64,
    /// A sum of hashes, one for each packet delivered (time, flow, sequence number, flags), so it does not depend on the order of
    /// the packets: equal for the same scenario, seed and engine, on any machine.
    #[schemars(extend("unit" = "hexadecimal"))]
    pub fingerprint: String,
    /// What ran it; absent where that is the simulator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub host: Option<Host>,
    /// Every link of the scenario. The flows' own links (`access`, `egress`) are left out.
    pub links: Vec<Link>,
    /// Every flow, in the order of the file. A session (`web`, `transfers`) is one flow: the sum of its connections.
    pub flows: Vec<Flow>,
    /// Every group of flows.
    pub groups: Vec<Group>,
    /// All flows together.
    pub total: Total,
    /// What became of every packet, from time 0 and over every link. A run where a packet is missing is an error and gives no
    /// record.
    pub audit: Audit,
    /// The traces that the scenario asks for.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(skip)]
    pub series: BTreeMap<String, Series>,
}

/// Columns of equal length by name; `t` is the time in seconds.
pub type Series = BTreeMap<String, Vec<f64>>;

/// What happened at a link.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// `name` of the file, or else `from->to`; the reverse link of a duplex link is `<name>:back`.
    pub name: String,
    /// Its rate at time 0, with a trace the mean rate of that; null for a link that only delays.
    #[schemars(extend("unit" = "bit/s"))]
    pub rate_bps: Option<u64>,
    /// SHA-256 of the rows of its trace: the content that the run used. Only links with a trace have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "hexadecimal"))]
    pub trace_sha256: Option<String>,
    /// Time spent sending over the window's length, with what the link layer adds to packets. A packet that is being sent at either end of the window counts in part. With a
    /// trace: the bits sent over those that the trace could carry in the window. Null without a rate.
    #[schemars(extend("unit" = "0..1", "maximum" = 1, "better" = "higher"))]
    pub utilization: Option<f64>,
    /// Bits of packets sent in the window, over its length: at most the link's rate. What the link layer adds does not count. Of a packet that is being sent at either end of the window,
    /// those sent within it. Without a rate, all bits of the packets that arrived.
    #[schemars(extend("unit" = "bit/s", "better" = "higher"))]
    pub throughput_bps: f64,
    /// Packets that came to the link in the window, dropped ones included.
    #[schemars(extend("unit" = "packets"))]
    pub arrived: u64,
    /// Packets whose transmission ended in the window.
    #[schemars(extend("unit" = "packets"))]
    pub departed: u64,
    /// Packets that got a congestion mark (CE) here in the window.
    #[schemars(extend("unit" = "packets"))]
    pub marked: u64,
    /// Packets dropped in the window, by cause.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub dropped: Dropped,
    /// Packets dropped in the window: the sum over all causes.
    #[schemars(extend("unit" = "packets", "label" = "dropped", "better" = "lower"))]
    pub dropped_total: u64,
    /// The part of the packets that the link lost: of those that came to its queue in the window, the part that was dropped there. Of a
    /// link with impairments, what they and the queue lost together, each of what came to it. Null if nothing arrived.
    #[schemars(extend("unit" = "0..1", "maximum" = 1, "better" = "lower"))]
    pub loss_ratio: Option<f64>,
    /// Packets waiting, over time. The packet being sent has left the queue.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub queue: Level,
    /// Bytes waiting, over time.
    #[schemars(extend("unit" = "bytes", "label" = "queue", "better" = "lower"))]
    pub queue_bytes: Level,
    /// Time from arrival to the start of transmission (sojourn time in the queue), over packets that arrived in the window and were
    /// sent. A packet that finds the link idle waited 0. Null if there was none.
    #[schemars(extend("unit" = "ms", "better" = "lower"))]
    pub wait_ms: Option<Wait>,
    /// What each impairment of the link did, in the order of the file; only links with impairments have this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub impairments: Vec<Impairment>,
    /// The part of the window that the link's turns on its medium took, with their overhead; only links that share a medium have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "0..1", "maximum" = 1))]
    pub airtime: Option<f64>,
    /// Turns of the link on its medium that began in the window; only links that share a medium have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "turns"))]
    pub turns: Option<u64>,
    /// What each class of the link did, in the order of the file; only links with classes have this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
    /// What the two queues of `dualpi2` or `dualq` did, `low-latency` and `classic`, or the tins of `cake`, `best-effort`, `bulk`, `video` and
    /// `voice`, if it has several; only links with these have this field. A packet's queue is decided as it arrives.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<Class>,
    /// Mean of the discipline's probability, over the packets that it let in (not over time), as each met it. Null if none was let
    /// in, and for a discipline that has no probability, such as DropTail and CoDel.
    #[schemars(extend("unit" = "0..1", "maximum" = 1, "label" = "mean probability"))]
    pub probability_mean: Option<f64>,
}

/// What a class of a link, or one of two queues, did in the window. Its fields mean what those of a link mean.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Bytes of its packets whose transmission ended in the window, times 8, over the window's length.
    #[schemars(extend("unit" = "bit/s", "better" = "higher"))]
    pub throughput_bps: f64,
    /// Its packets that came to the link, dropped ones included.
    #[schemars(extend("unit" = "packets"))]
    pub arrived: u64,
    /// Its packets whose transmission ended in the window.
    #[schemars(extend("unit" = "packets"))]
    pub departed: u64,
    /// Its packets that got a congestion mark (CE) here.
    #[schemars(extend("unit" = "packets"))]
    pub marked: u64,
    /// Its packets dropped, by cause.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub dropped: ClassDropped,
    /// Its packets dropped: the sum over all causes.
    #[schemars(extend("unit" = "packets", "label" = "dropped", "better" = "lower"))]
    pub dropped_total: u64,
    /// Its packets waiting, over time.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub queue: Level,
    /// Their bytes, over time.
    #[schemars(extend("unit" = "bytes", "label" = "queue", "better" = "lower"))]
    pub queue_bytes: Level,
    /// Time from arrival to the start of transmission of its packets that arrived in the window and were sent. Null if there was none.
    #[schemars(extend("unit" = "ms", "better" = "lower"))]
    pub wait_ms: Option<Wait>,
    /// What the two queues of its `dualpi2` or `dualq` did, as `queues` of a link; only classes with these have this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<Class>,
}

/// Packets of a class dropped, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassDropped {
    /// By the discipline, to signal congestion where a mark was not possible.
    pub early: u64,
    /// By the discipline, whatever the packet could carry.
    pub forced: u64,
    /// Because the queue was full.
    pub tail: u64,
    /// ACKs that a newer one made useless; only classes with an ACK filter have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_filter: Option<u64>,
}

/// Packets dropped, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dropped {
    /// By the discipline, to signal congestion where a mark was not possible.
    pub early: u64,
    /// By the discipline, whatever the packet could carry (RED above its upper threshold).
    pub forced: u64,
    /// Because the queue was full.
    pub tail: u64,
    /// ACKs that a newer one made useless; only links with an ACK filter have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_filter: Option<u64>,
    /// By an impairment of the link, such as random loss; only links with impairments have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impaired: Option<u64>,
}

/// What an impairment of a link did in the window.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Impairment {
    /// Its kind.
    pub kind: String,
    /// Where packets meet it.
    pub place: sojourn_link::Place,
    /// Packets that came to it.
    #[schemars(extend("unit" = "packets"))]
    pub met: u64,
    /// Packets that it dropped.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub dropped: u64,
    /// Packets that it gave bit errors: their receivers discard them, and they count in `dropped` of their flows.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub corrupted: u64,
    /// Copies that it made.
    #[schemars(extend("unit" = "packets"))]
    pub duplicated: u64,
    /// Packets that it delayed.
    #[schemars(extend("unit" = "packets"))]
    pub delayed: u64,
    /// Packets that it took an option out of; only a `tcp-option` has this field.
    #[schemars(extend("unit" = "packets"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripped: Option<u64>,
}

/// A quantity over time: integrals in whole numbers, so they are exact.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Mean over time.
    pub mean: f64,
    /// Standard deviation over time.
    pub sd: f64,
    /// Most at once.
    pub max: f64,
}

/// How far a quantile of waits or round-trip times may be off, as a share of its value: they come from a histogram.
pub const QUANTILE_ERROR: f64 = 1.0 / 64.0;

/// The distribution of waits. Quantiles come from a histogram with 32 steps an octave: see [`QUANTILE_ERROR`].
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Median.
    #[schemars(extend("error" = QUANTILE_ERROR))]
    pub p50: f64,
    /// 90 % quantile.
    #[schemars(extend("error" = QUANTILE_ERROR))]
    pub p90: f64,
    /// 95 % quantile.
    #[schemars(extend("error" = QUANTILE_ERROR))]
    pub p95: f64,
    /// 99 % quantile.
    #[schemars(extend("error" = QUANTILE_ERROR))]
    pub p99: f64,
    /// Longest, exact.
    pub max: f64,
}

/// What a flow did.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// `group/0`, `group/1`, ...
    pub name: String,
    /// Its group.
    pub group: String,
    /// Bytes on the wire that reached the receiver, headers and retransmissions included, times 8, over the window's length. A packet
    /// counts as a whole when it arrives, so a short window can have more than the path's rate, by less than one packet.
    #[schemars(extend("unit" = "bit/s", "better" = "higher"))]
    pub throughput_bps: f64,
    /// Bytes of payload that arrived in the window and that the receiver could read, in order and once (over UDP: all that
    /// arrived), times 8, over the window's length.
    #[schemars(extend("unit" = "bit/s", "better" = "higher"))]
    pub goodput_bps: f64,
    /// Data packets sent, retransmissions included.
    #[schemars(extend("unit" = "packets"))]
    pub sent: u64,
    /// Data packets sent again.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub retransmitted: u64,
    /// Packets of the flow that were dropped on any link, its own included, or discarded by their receiver because of bit errors;
    /// data and ACKs.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub dropped: u64,
    /// Data packets that arrived with a congestion mark.
    #[schemars(extend("unit" = "packets"))]
    pub marked: u64,
    /// Retransmission timeouts after the connection was open.
    #[schemars(extend("better" = "lower"))]
    pub timeouts: u64,
    /// Entries into fast recovery.
    pub fast_retransmits: u64,
    /// Round-trip samples as the sender takes them (one an ACK with timestamps, else one segment a round trip); null without a
    /// sample.
    #[schemars(extend("unit" = "ms", "label" = "RTT", "better" = "lower"))]
    pub rtt_ms: Option<Spread>,
    /// Connections whose last byte was acknowledged in the window.
    #[schemars(extend("unit" = "connections", "better" = "higher"))]
    pub completed: u64,
    /// What the controller read delays from at the end: `one-way`, or `round-trip` where it was told so or could not use the time
    /// stamps. Null where it reads none. Of a session: of the first connection that reads any.
    pub delay_source: Option<sojourn_cc::Source>,
}

/// Mean, standard deviation and range of samples.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Smallest sample.
    pub min: f64,
    /// Largest sample.
    pub max: f64,
}

/// What a group of flows did.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// How many flows it has.
    pub flows: u32,
    /// Sum over its flows.
    #[schemars(extend("unit" = "bit/s", "better" = "higher"))]
    pub throughput_bps: f64,
    /// Sum over its flows.
    #[schemars(extend("unit" = "bit/s", "better" = "higher"))]
    pub goodput_bps: f64,
    /// Jain's index of its flows' goodput, (Σx)² / (n Σx²): 1 when all are equal, 1/n when one has everything. Null if nothing
    /// arrived.
    #[schemars(extend("label" = "Jain's index", "maximum" = 1, "better" = "higher"))]
    pub jain: Option<f64>,
    /// Round-trip times of all its flows; null without a sample.
    #[schemars(extend("unit" = "ms", "label" = "RTT", "better" = "lower"))]
    pub rtt_ms: Option<Distribution>,
    /// Time from the opening of a connection (of its request, where there is one) to the acknowledgment of its last byte, over the
    /// connections completed in the window. Null if there was none.
    #[schemars(extend("unit" = "s", "better" = "lower"))]
    pub completion_s: Option<Completion>,
}

/// The distribution of round-trip times of a group.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// Mean of its flows' means: every flow has the same weight.
    pub mean: f64,
    /// Standard deviation of the mixture of its flows, each with the same weight.
    pub sd: f64,
    /// Median over all samples: a flow with more samples has more weight. Quantiles as those of waits.
    #[schemars(extend("error" = QUANTILE_ERROR))]
    pub p50: f64,
    /// 90 % quantile over all samples.
    #[schemars(extend("error" = QUANTILE_ERROR))]
    pub p90: f64,
    /// 99 % quantile over all samples.
    #[schemars(extend("error" = QUANTILE_ERROR))]
    pub p99: f64,
}

/// The distribution of the times that connections took. Quantiles are exact.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// How many connections were completed.
    #[schemars(extend("unit" = "connections", "better" = "higher"))]
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90 % quantile.
    pub p90: f64,
    /// 99 % quantile.
    pub p99: f64,
}

/// What all flows did together.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Total {
    /// Sum over all flows.
    #[schemars(extend("unit" = "bit/s", "better" = "higher"))]
    pub goodput_bps: f64,
    /// Sum over all flows.
    #[schemars(extend("unit" = "bit/s", "better" = "higher"))]
    pub throughput_bps: f64,
    /// Jain's index of all flows' goodput; null if nothing arrived.
    #[schemars(extend("label" = "Jain's index", "maximum" = 1, "better" = "higher"))]
    pub jain: Option<f64>,
    /// Sum of the flows' `dropped`.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub dropped: u64,
    /// Sum of the links' `marked`.
    #[schemars(extend("unit" = "packets"))]
    pub marked: u64,
}

/// What became of every packet: sent + duplicated = delivered + dropped + in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// Packets that hosts sent, ACKs included.
    #[schemars(extend("unit" = "packets"))]
    pub sent: u64,
    /// Copies that impairments made; only runs with some have this field.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(extend("unit" = "packets"))]
    pub duplicated: u64,
    /// Packets that reached the end of their route.
    #[schemars(extend("unit" = "packets"))]
    pub delivered: u64,
    /// Packets that links dropped, and those that their receivers discarded because of bit errors.
    #[schemars(extend("unit" = "packets"))]
    pub dropped: u64,
    /// Packets waiting or in flight at the end.
    #[schemars(extend("unit" = "packets"))]
    pub in_flight: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Audit {
    /// Whether no packet is missing.
    pub fn balances(&self) -> bool {
        let sum = |parts: &[u64]| parts.iter().try_fold(0u64, |sum, &n| sum.checked_add(n));
        let here = sum(&[self.sent, self.duplicated]);
        here.is_some() && here == sum(&[self.delivered, self.dropped, self.in_flight])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_comes_back_from_json_as_it_was() {
        let mut record = Record { scenario: "x".into(), seed: 1, duration_s: 50.1, ..Record::default() };
        record.links.push(Link { name: "up".into(), utilization: Some(0.1 + 0.2), ..Link::default() });
        record.flows.push(Flow { rtt_ms: Some(Spread { mean: 1.0 / 3.0, ..Spread::default() }), ..Flow::default() });
        record.groups.push(Group::default());
        record.series.insert("cwnd/ftp/0".into(), Series::from([("t".into(), vec![0.0, 0.01])]));
        let json = serde_json::to_string(&record).unwrap();
        assert_eq!(serde_json::from_str::<Record>(&json).unwrap(), record);
    }

    #[test]
    fn a_lost_packet_is_missed() {
        let audit = Audit { sent: 9, duplicated: 1, delivered: 7, dropped: 1, in_flight: 2 };
        assert!(audit.balances());
        assert!(!Audit { delivered: 6, ..audit }.balances());
        assert!(!Audit { delivered: u64::MAX, ..audit }.balances());
    }
}
