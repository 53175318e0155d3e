//! The record of a run: every measure with its name, its unit and one sentence.
//! `report.rs` of `sojourn-lab` computes them. The JSON Schema, `sojourn list measures`, the tables of `docs/measurements.md` and the
//! labels of tables and plots are generated from this file.
//!
//! Statistics count from the end of the warm-up to the end of the run: the window. A value without data is null. Attributes of a field:
//! `unit` is its unit; `label` is its label in tables and plots if that is not its name; `better` is "higher" or "lower" if users of a
//! network prefer one; `error` is its largest relative error; `maximum` is its upper bound if that is the same in all runs. Confidence
//! intervals are limited to it. No number is negative.

pub use crate::host::{Host, Pace};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// The complete record of one run.
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
    /// A sum of one hash per delivered packet (time, flow, sequence number, flags).
    /// It is equal for the same scenario, seed and engine on any machine.
    #[schemars(extend("unit" = "hexadecimal"))]
    pub fingerprint: String,
    /// The kernel that ran it; absent for the simulator.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(skip)]
    pub host: Option<Host>,
    /// Every link of the scenario, without the flows' own links (`access`, `egress`).
    pub links: Vec<Link>,
    /// Every flow, in file order.
    /// A session (`web`, `transfers`) is one flow: the sum of its connections.
    pub flows: Vec<Flow>,
    /// Every group of flows.
    pub groups: Vec<Group>,
    /// The sum over all flows.
    pub total: Total,
    /// The fate of every packet on every link since time 0.
    /// If a packet is unaccounted for, the run fails without a record.
    pub audit: Audit,
    /// The time series that the scenario traces.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    #[schemars(skip)]
    pub series: BTreeMap<String, Series>,
}

/// Columns of equal length by name; `t` is the time in seconds.
pub type Series = BTreeMap<String, Vec<f64>>;

/// The results of a link.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// The link's `name`, by default `from->to`.
    /// The reverse link of a duplex link is `<name>:back`.
    pub name: String,
    /// Its rate at time 0, or the mean rate of its trace; null for a pure delay.
    #[schemars(extend("unit" = "bit/s"))]
    pub rate_bps: Option<u64>,
    /// SHA-256 of the trace's rows as used by the run; only links with a trace have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "hexadecimal"))]
    pub trace_sha256: Option<String>,
    /// Share of the window in which the link was transmitting, link-layer overhead included.
    /// A packet in transmission at either end of the window counts in part. With a trace: bits sent divided by the trace's capacity in the
    /// window. Null without a rate.
    #[schemars(extend("unit" = "0..1", "maximum" = 1, "better" = "higher"))]
    pub utilization: Option<f64>,
    /// Bits sent in the window divided by its length, without link-layer overhead.
    /// It is at most the link's rate. A packet in transmission at either end of the window counts in part. Without a rate: the bits of
    /// arriving packets.
    #[schemars(extend("unit" = "bit/s", "better" = "higher"))]
    pub throughput_bps: f64,
    /// Packets that arrived at the link in the window, including dropped ones.
    #[schemars(extend("unit" = "packets"))]
    pub arrived: u64,
    /// Packets whose transmission ended in the window.
    #[schemars(extend("unit" = "packets"))]
    pub departed: u64,
    /// Packets that this link marked (CE) in the window.
    #[schemars(extend("unit" = "packets"))]
    pub marked: u64,
    /// Packets dropped in the window, by cause.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub dropped: Dropped,
    /// Packets dropped in the window: the sum over all causes.
    #[schemars(extend("unit" = "packets", "label" = "dropped", "better" = "lower"))]
    pub dropped_total: u64,
    /// Packets dropped by the queue divided by packets offered to it in the window.
    /// With impairments: their combined loss ratio with the queue. Null if no packet arrived.
    #[schemars(extend("unit" = "0..1", "maximum" = 1, "better" = "lower"))]
    pub loss_ratio: Option<f64>,
    /// Backlog in packets over time, without the packet in transmission.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub queue: Level,
    /// Backlog in bytes over time.
    #[schemars(extend("unit" = "bytes", "label" = "queue", "better" = "lower"))]
    pub queue_bytes: Level,
    /// Sojourn time: from arrival to the start of transmission.
    /// It covers packets that arrived in the window and were sent. It is 0 for a packet that finds the link idle. Null without packets.
    #[schemars(extend("unit" = "ms", "better" = "lower"))]
    pub wait_ms: Option<Wait>,
    /// Counters of each impairment, in file order; only links with impairments have this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub impairments: Vec<Impairment>,
    /// Share of the window used by the link's turns on its medium, overhead included.
    /// Only links that share a medium have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "0..1", "maximum" = 1))]
    pub airtime: Option<f64>,
    /// Turns of the link on its medium that began in the window.
    /// Only links that share a medium have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("unit" = "turns"))]
    pub turns: Option<u64>,
    /// Results of each class, in file order; only links with classes have this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<Class>,
    /// Results of each queue of the discipline; only links with several queues have this field.
    /// The queues are `low-latency` and `classic` of `dualpi2` or `dualq`, or the tins `best-effort`, `bulk`, `video` and `voice` of
    /// `cake`. A packet is assigned to a queue on arrival.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<Class>,
    /// Mean of the discipline's probability over accepted packets (not over time).
    /// Null if none was accepted, or for a discipline without a probability, such as DropTail and CoDel.
    #[schemars(extend("unit" = "0..1", "maximum" = 1, "label" = "mean probability"))]
    pub probability_mean: Option<f64>,
}

/// The results of a class or a queue of a link in the window.
/// Fields have the same meaning as those of a link.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Class {
    /// Its name.
    pub name: String,
    /// Bits of packets whose transmission ended in the window, divided by the window's length.
    #[schemars(extend("unit" = "bit/s", "better" = "higher"))]
    pub throughput_bps: f64,
    /// Its packets that arrived at the link, including dropped ones.
    #[schemars(extend("unit" = "packets"))]
    pub arrived: u64,
    /// Its packets whose transmission ended in the window.
    #[schemars(extend("unit" = "packets"))]
    pub departed: u64,
    /// Its packets that this link marked (CE).
    #[schemars(extend("unit" = "packets"))]
    pub marked: u64,
    /// Its packets dropped, by cause.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub dropped: ClassDropped,
    /// Its packets dropped: the sum over all causes.
    #[schemars(extend("unit" = "packets", "label" = "dropped", "better" = "lower"))]
    pub dropped_total: u64,
    /// Its backlog in packets over time.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub queue: Level,
    /// Its backlog in bytes over time.
    #[schemars(extend("unit" = "bytes", "label" = "queue", "better" = "lower"))]
    pub queue_bytes: Level,
    /// Sojourn time of its packets that arrived in the window and were sent.
    /// Null without packets.
    #[schemars(extend("unit" = "ms", "better" = "lower"))]
    pub wait_ms: Option<Wait>,
    /// Results of the two queues of its `dualpi2` or `dualq`, as `queues` of a link.
    /// Only classes with these have this field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub queues: Vec<Class>,
}

/// Packets of a class dropped, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ClassDropped {
    /// By the discipline, as a congestion signal to a packet that is not ECN-capable.
    pub early: u64,
    /// By the discipline, even if the packet is ECN-capable.
    pub forced: u64,
    /// Because the queue was full.
    pub tail: u64,
    /// ACKs made redundant by a newer one; only classes with an ACK filter have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_filter: Option<u64>,
}

/// Packets dropped, by cause.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Dropped {
    /// By the discipline, as a congestion signal to a packet that is not ECN-capable.
    pub early: u64,
    /// By the discipline, even if the packet is ECN-capable (RED above its upper threshold).
    pub forced: u64,
    /// Because the queue was full.
    pub tail: u64,
    /// ACKs made redundant by a newer one; only links with an ACK filter have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ack_filter: Option<u64>,
    /// By an impairment of the link, such as random loss.
    /// Only links with impairments have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub impaired: Option<u64>,
}

/// The counters of an impairment in the window.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Impairment {
    /// Its kind.
    pub kind: String,
    /// Its place on the link.
    pub place: sojourn_link::Place,
    /// Packets that passed through it.
    #[schemars(extend("unit" = "packets"))]
    pub met: u64,
    /// Packets that it dropped.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub dropped: u64,
    /// Packets with bit errors from it.
    /// Their receivers discard them, and `dropped` of their flows counts them.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub corrupted: u64,
    /// Copies that it made.
    #[schemars(extend("unit" = "packets"))]
    pub duplicated: u64,
    /// Packets that it delayed.
    #[schemars(extend("unit" = "packets"))]
    pub delayed: u64,
    /// Packets from which it stripped an option; only a `tcp-option` has this field.
    #[schemars(extend("unit" = "packets"))]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub stripped: Option<u64>,
}

/// Statistics of a quantity over time. They are exact, because the integrals are integers.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Mean over time.
    pub mean: f64,
    /// Standard deviation over time.
    pub sd: f64,
    /// Maximum.
    pub max: f64,
}

/// The largest relative error of a quantile of waits or round-trip times.
/// Such quantiles come from a histogram.
pub const QUANTILE_ERROR: f64 = 1.0 / 64.0;

/// The distribution of waits.
/// Quantiles come from a histogram with 32 steps an octave: see [`QUANTILE_ERROR`].
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

/// The results of a flow.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// `group/0`, `group/1`, ...
    pub name: String,
    /// Its group.
    pub group: String,
    /// Bits on the wire that reached the receiver, divided by the window's length.
    /// Headers and retransmissions are included. A packet counts in full when it arrives, so the value can exceed the path's rate by less
    /// than one packet.
    #[schemars(extend("unit" = "bit/s", "better" = "higher"))]
    pub throughput_bps: f64,
    /// Bits of payload that the application could read, divided by the window's length.
    /// Data counts in order and once; with UDP, all data that arrived counts.
    #[schemars(extend("unit" = "bit/s", "better" = "higher"))]
    pub goodput_bps: f64,
    /// Data packets sent, including retransmissions.
    #[schemars(extend("unit" = "packets"))]
    pub sent: u64,
    /// Data packets retransmitted.
    #[schemars(extend("unit" = "packets", "better" = "lower"))]
    pub retransmitted: u64,
    /// Packets of the flow that were lost, data and ACKs.
    /// Either a link dropped them (its own links included), or the receiver discarded them because of bit errors.
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
    /// RTT samples of the sender; null without a sample.
    /// With timestamps there is one per ACK, else one per RTT.
    #[schemars(extend("unit" = "ms", "label" = "RTT", "better" = "lower"))]
    pub rtt_ms: Option<Spread>,
    /// Connections whose last byte was acknowledged in the window.
    #[schemars(extend("unit" = "connections", "better" = "higher"))]
    pub completed: u64,
    /// Source of the controller's delay samples at the end: `one-way` or `round-trip`.
    /// It is `round-trip` if configured or if timestamps were unusable. Null if it uses no delays. For a session: of its first connection
    /// that uses delays.
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

/// The results of a group of flows.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Number of flows.
    pub flows: u32,
    /// Sum over its flows.
    #[schemars(extend("unit" = "bit/s", "better" = "higher"))]
    pub throughput_bps: f64,
    /// Sum over its flows.
    #[schemars(extend("unit" = "bit/s", "better" = "higher"))]
    pub goodput_bps: f64,
    /// Jain's index of its flows' goodput, (Σx)² / (n Σx²).
    /// It is 1 if all are equal, 1/n if one flow has everything. Null if nothing arrived.
    #[schemars(extend("label" = "Jain's index", "maximum" = 1, "better" = "higher"))]
    pub jain: Option<f64>,
    /// Round-trip times of all its flows; null without a sample.
    #[schemars(extend("unit" = "ms", "label" = "RTT", "better" = "lower"))]
    pub rtt_ms: Option<Distribution>,
    /// Round trips a minute: 60 s divided by the mean of the smallest 95 % of RTT samples.
    /// As in draft-ietf-ippm-responsiveness, without TLS and HTTP. Null without a sample.
    #[schemars(extend("unit" = "RPM", "label" = "responsiveness", "better" = "higher", "error" = QUANTILE_ERROR))]
    pub responsiveness_rpm: Option<f64>,
    /// Completion time of connections that completed in the window; null without any.
    /// It runs from the opening of a connection (or of its request) to the ACK of its last byte.
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
    /// Median over all samples: a flow with more samples has more weight.
    /// Quantiles as those of waits.
    #[schemars(extend("error" = QUANTILE_ERROR))]
    pub p50: f64,
    /// 90 % quantile over all samples.
    #[schemars(extend("error" = QUANTILE_ERROR))]
    pub p90: f64,
    /// 95 % quantile over all samples.
    #[schemars(extend("error" = QUANTILE_ERROR))]
    pub p95: f64,
    /// 99 % quantile over all samples.
    #[schemars(extend("error" = QUANTILE_ERROR))]
    pub p99: f64,
    /// Smallest sample: the idle round-trip time if all queues were empty at some time.
    pub min: f64,
    /// Delay variation (rfc5481#4.2): the 99 % quantile minus the smallest sample.
    #[schemars(extend("error" = QUANTILE_ERROR))]
    pub jitter: f64,
}

/// The distribution of completion times. Quantiles are exact.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// Number of completed connections.
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

/// The results of all flows together.
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

/// The fate of every packet: sent + duplicated = delivered + dropped + in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// Packets that hosts sent, ACKs included.
    #[schemars(extend("unit" = "packets"))]
    pub sent: u64,
    /// Copies made by impairments; only runs with copies have this field.
    #[serde(default, skip_serializing_if = "is_zero")]
    #[schemars(extend("unit" = "packets"))]
    pub duplicated: u64,
    /// Packets that reached the end of their route.
    #[schemars(extend("unit" = "packets"))]
    pub delivered: u64,
    /// Packets dropped by links, or discarded by their receivers because of bit errors.
    #[schemars(extend("unit" = "packets"))]
    pub dropped: u64,
    /// Packets queued or in flight at the end.
    #[schemars(extend("unit" = "packets"))]
    pub in_flight: u64,
}

fn is_zero(number: &u64) -> bool {
    *number == 0
}

impl Audit {
    /// Whether every packet is accounted for.
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
