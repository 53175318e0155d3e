//! The record of a run. Statistics count from the warm-up's end; what was never seen is null.

use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// All that a run says.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Record {
    /// What the scenario is called.
    pub scenario: String,
    /// The run's seed.
    pub seed: u64,
    /// How long the run was, in seconds.
    pub duration_s: f64,
    /// Where statistics begin, in seconds.
    pub warmup_s: f64,
    /// The run's fingerprint, in hexadecimal: the same for the same scenario, seed and engine.
    pub fingerprint: String,
    /// The scenario's links in its order; flows' own links are left out.
    pub links: Vec<Link>,
    /// The flows in order.
    pub flows: Vec<Flow>,
    /// The groups in order.
    pub groups: Vec<Group>,
    /// Over all flows.
    pub total: Total,
    /// Where every packet went, over the whole run.
    pub audit: Audit,
    /// Traces by name: `queue/<link>`, `cwnd/<flow>`, `throughput/<flow or link>`, `rtt/<flow>`.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub series: BTreeMap<String, Series>,
}

/// Columns of equal length by name; `t` is the time in seconds.
pub type Series = BTreeMap<String, Vec<f64>>;

/// What happened at a link.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Link {
    /// What it is called.
    pub name: String,
    /// Its rate at the start in bit/s; null without one.
    pub rate_bps: Option<u64>,
    /// The part of its time that it was sending, 0 to 1; null without a rate.
    pub utilization: Option<f64>,
    /// Bits that left, a second.
    pub throughput_bps: f64,
    /// Packets offered.
    pub arrived: u64,
    /// Packets that left.
    pub departed: u64,
    /// Packets marked.
    pub marked: u64,
    /// Packets dropped, by reason.
    pub dropped: Dropped,
    /// Packets dropped for any reason.
    pub dropped_total: u64,
    /// Packets dropped per packet offered; null if none was.
    pub loss_ratio: Option<f64>,
    /// Packets waiting, weighted by time.
    pub queue: Level,
    /// Bytes waiting, weighted by time.
    pub queue_bytes: Level,
    /// How long packets that left had waited, in milliseconds; null if none left.
    pub wait_ms: Option<Wait>,
    /// The algorithm's probability as the packets it let in met it; null if none was let in.
    pub probability_mean: Option<f64>,
}

/// Packets dropped, by reason.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Dropped {
    /// To signal congestion.
    pub early: u64,
    /// By force of the algorithm.
    pub forced: u64,
    /// The queue was full.
    pub tail: u64,
}

/// A level weighted by time.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Level {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Highest.
    pub max: f64,
}

/// The distribution of waits, in milliseconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Wait {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Median.
    pub p50: f64,
    /// 90 % waited less.
    pub p90: f64,
    /// 95 % waited less.
    pub p95: f64,
    /// 99 % waited less.
    pub p99: f64,
    /// Longest.
    pub max: f64,
}

/// What a flow did.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Flow {
    /// What it is called: `group/0`.
    pub name: String,
    /// Its group's name.
    pub group: String,
    /// Bits that arrived at the receiver, headers and repeats included, a second.
    pub throughput_bps: f64,
    /// Bits of payload that arrived for the first time and in order, a second.
    pub goodput_bps: f64,
    /// Data packets sent, repeats included.
    pub sent: u64,
    /// Data packets sent again.
    pub retransmitted: u64,
    /// Packets dropped on the way, data and ACKs.
    pub dropped: u64,
    /// Data packets marked on the way.
    pub marked: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
    /// Fast retransmits.
    pub fast_retransmits: u64,
    /// Round-trip times in milliseconds; null without a sample.
    pub rtt_ms: Option<Spread>,
    /// Connections that sent all they had.
    pub completed: u64,
    /// What the controller read delays from at the end; null where it reads none. Of a session: of the first that reads any.
    pub delay_source: Option<sojourn_cc::Source>,
}

/// Mean and extent of samples.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Spread {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Least.
    pub min: f64,
    /// Greatest.
    pub max: f64,
}

/// What a group did.
#[derive(Clone, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Group {
    /// What it is called.
    pub name: String,
    /// How many flows it has.
    pub flows: u32,
    /// Its flows' throughput together, bit/s.
    pub throughput_bps: f64,
    /// Its flows' goodput together, bit/s.
    pub goodput_bps: f64,
    /// Jain's index of its flows' goodput; null if nothing arrived.
    pub jain: Option<f64>,
    /// Round-trip times of all its flows in milliseconds; null without a sample.
    pub rtt_ms: Option<Distribution>,
    /// How long its connections took, in seconds; null if none was completed.
    pub completion_s: Option<Completion>,
}

/// The distribution of samples.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Distribution {
    /// Mean.
    pub mean: f64,
    /// Standard deviation.
    pub sd: f64,
    /// Median.
    pub p50: f64,
    /// 90 % are less.
    pub p90: f64,
    /// 99 % are less.
    pub p99: f64,
}

/// How long connections took, in seconds.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Completion {
    /// How many were completed.
    pub count: u64,
    /// Mean.
    pub mean: f64,
    /// Median.
    pub p50: f64,
    /// 90 % took less.
    pub p90: f64,
    /// 99 % took less.
    pub p99: f64,
}

/// Over all flows.
#[derive(Clone, Copy, PartialEq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Total {
    /// Goodput of all flows together, bit/s.
    pub goodput_bps: f64,
    /// Throughput of all flows together, bit/s.
    pub throughput_bps: f64,
    /// Jain's index of all flows' goodput; null if nothing arrived.
    pub jain: Option<f64>,
    /// Packets of all flows dropped on the way.
    pub dropped: u64,
    /// Packets marked at all links.
    pub marked: u64,
}

/// Where every packet went: sent = delivered + dropped + in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Audit {
    /// Packets that hosts sent.
    pub sent: u64,
    /// Packets that reached their host.
    pub delivered: u64,
    /// Packets dropped.
    pub dropped: u64,
    /// Packets under way at the end.
    pub in_flight: u64,
}

impl Audit {
    /// Whether no packet is missing.
    pub fn balances(&self) -> bool {
        [self.delivered, self.dropped, self.in_flight].iter().try_fold(0u64, |sum, &n| sum.checked_add(n)) == Some(self.sent)
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
        let audit = Audit { sent: 10, delivered: 7, dropped: 1, in_flight: 2 };
        assert!(audit.balances());
        assert!(!Audit { delivered: 6, ..audit }.balances());
        assert!(!Audit { delivered: u64::MAX, ..audit }.balances());
    }
}
