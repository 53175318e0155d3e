//! The kinds of series of a record, with their columns, units and summaries.

use crate::record::Series;
use sojourn_cc::About;

/// A kind of series.
/// Its columns follow `t`, the time in seconds. Rows are in the order of `t`.
#[derive(Clone, Copy, Debug)]
pub struct SeriesKind {
    /// The first part of the name of a series.
    pub kind: &'static str,
    /// The kind of the second part of the name: a link, a flow or a group.
    pub of: &'static str,
    /// The meaning of a row and of its time `t`.
    pub row: &'static str,
    /// The columns after `t`.
    pub columns: &'static [Column],
}

/// A column of a series.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// Its name.
    pub name: &'static str,
    /// Its unit.
    pub unit: &'static str,
    /// The meaning of the column.
    pub summary: &'static str,
    /// The maximum, if it is the same in all runs. No column is negative.
    pub maximum: Option<u32>,
}

const fn column(name: &'static str, unit: &'static str, summary: &'static str) -> Column {
    Column { name, unit, summary, maximum: None }
}

/// A column with values from 0 to 1.
const fn share(name: &'static str, summary: &'static str) -> Column {
    Column { name, unit: "0..1", summary, maximum: Some(1) }
}

/// Queues of links.
pub const QUEUE: SeriesKind = SeriesKind {
    kind: "queue",
    of: "link",
    row: "a step of `every`",
    columns: &[
        column("packets", "packets", "packets waiting, after all events at that instant"),
        column("bytes", "bytes", "bytes waiting"),
        column("delay_s", "s", "the wait of a packet that arrives now, if all waiting packets are sent before it"),
        share("probability", "the discipline's probability; NaN if it has none"),
    ],
};

/// The classes, tins or subqueues of a traced queue.
pub const SUBQUEUE: SeriesKind = SeriesKind {
    kind: "subqueue",
    of: "link>/<queue",
    row: "a step of `every` for a class, a tin of CAKE, or one queue of a dual queue (`<class>/<queue>` if it is in a class)",
    columns: &[
        column("packets", "packets", "packets waiting in it"),
        column("bytes", "bytes", "bytes waiting in it"),
        column("oldest_s", "s", "the age of its oldest packet; 0 if it is empty"),
        share(
            "probability",
            "the probability with which the control law drops or marks its packets; NaN if it has none. For `low-latency` it is the coupled probability, to which marks above the threshold `step` add",
        ),
    ],
};

/// Congestion windows of flows.
pub const CWND: SeriesKind = SeriesKind {
    kind: "cwnd",
    of: "flow",
    row: "a step of `every`",
    columns: &[column("packets", "segments", "the congestion window"), column("ssthresh", "segments", "the slow-start threshold")],
};

/// Throughput of links.
pub const LINK_THROUGHPUT: SeriesKind = SeriesKind {
    kind: "throughput",
    of: "link",
    row: "a step of `every` that starts at `t`",
    columns: &[column(
        "bps",
        "bit/s",
        "bits sent in the step, divided by its length; a packet in transmission at either end counts in part",
    )],
};

/// Goodput of flows.
pub const FLOW_THROUGHPUT: SeriesKind = SeriesKind {
    kind: "throughput",
    of: "flow",
    row: "a step of `every` that starts at `t`",
    columns: &[column("bps", "bit/s", "goodput: bits that became readable for the application in the interval, divided by its length")],
};

/// Round-trip times of flows.
pub const RTT: SeriesKind =
    SeriesKind { kind: "rtt", of: "flow", row: "a sample, taken at `t`", columns: &[column("seconds", "s", "the round-trip time")] };

/// Waits of packets at links.
pub const WAIT: SeriesKind = SeriesKind {
    kind: "wait",
    of: "link",
    row: "a packet that arrived at `t` and whose transmission began in the run",
    columns: &[
        column("seconds", "s", "the time from its arrival to the start of its transmission"),
        column("bytes", "bytes", "its size on the wire"),
        column("flow", "", "its flow, as a position in `flows`"),
    ],
};

/// Drops and marks at links.
pub const SIGNALS: SeriesKind = SeriesKind {
    kind: "signals",
    of: "link",
    row: "a packet that the link dropped or marked at `t`",
    columns: &[
        column("flow", "", "its flow, as a position in `flows`"),
        column(
            "cause",
            "",
            "0: dropped early, by the discipline; 1: forced; 2: because the queue was full; 3: by an impairment; 4: marked; 5: by an ACK filter",
        ),
    ],
};

/// Completed connections of groups.
pub const COMPLETIONS: SeriesKind = SeriesKind {
    kind: "completions",
    of: "group",
    row: "a connection whose last byte was acknowledged at `t`",
    columns: &[
        column("start", "s", "the time at which it, or its request, was opened"),
        column("seconds", "s", "the time from `start` to `t`"),
        column("bytes", "bytes", "its payload"),
        column("flow", "", "its flow, as a position in `flows`"),
    ],
};

/// Congestion controllers of flows.
/// The variables of each controller follow: see [`controller_columns`].
pub const CONTROLLER: SeriesKind = SeriesKind {
    kind: "controller",
    of: "flow",
    row: "an ACK, a timer or a write that changed one of the columns",
    columns: &[
        column("cwnd", "segments", "the congestion window"),
        column("ssthresh", "segments", "the slow-start threshold; NaN while it is infinite"),
        column(
            "in_flight",
            "segments",
            "the data in flight; for controllers with rate samples, without data known to have arrived or to be lost",
        ),
        column("pacing_rate", "segments/s", "the pacing rate; NaN without pacing"),
        column("repair", "", "1 during recovery after losses detected by ACKs, 2 during recovery after a timeout, else 0"),
    ],
};

/// Segments that flows retransmit after a loss or as a probe.
pub const RETRANSMISSIONS: SeriesKind = SeriesKind {
    kind: "retransmissions",
    of: "flow",
    row: "a segment that the sender retransmits at `t`",
    columns: &[
        column("offset", "bytes", "its first byte, counted from the first of the connection"),
        column("bytes", "bytes", "its payload"),
    ],
};

/// Data segments that flows send.
pub const SEGMENTS: SeriesKind = SeriesKind {
    kind: "segments",
    of: "flow",
    row: "a data segment that the sender sends at `t`, retransmissions included",
    columns: RETRANSMISSIONS.columns,
};

/// ACKs that reach the senders of flows.
pub const ACKS: SeriesKind = SeriesKind {
    kind: "acks",
    of: "flow",
    row: "an ACK that reaches the sender at `t`, with `trace.segments`",
    columns: &[column("offset", "bytes", "the first byte that the receiver lacks, counted from the first of the connection")],
};

/// Every kind of series.
pub const SERIES: &[SeriesKind] = &[
    QUEUE,
    SUBQUEUE,
    CWND,
    LINK_THROUGHPUT,
    FLOW_THROUGHPUT,
    RTT,
    WAIT,
    SIGNALS,
    COMPLETIONS,
    CONTROLLER,
    RETRANSMISSIONS,
    SEGMENTS,
    ACKS,
];

/// The variables of all registered congestion controllers, with their controllers.
/// They are columns of [`CONTROLLER`] for flows with these controllers.
pub fn controller_columns() -> Vec<(About, Vec<&'static str>)> {
    let mut found: Vec<(About, Vec<&'static str>)> = Vec::new();
    for entry in sojourn_cc::REGISTRY {
        for about in (entry.variables)() {
            match found.iter_mut().find(|(known, _)| *known == about) {
                Some((_, of)) => of.push(entry.name),
                None => found.push((about, vec![entry.name])),
            }
        }
    }
    found
}

impl SeriesKind {
    /// The number of values in a row.
    pub fn numbers(&self) -> u64 {
        1 + self.columns.len() as u64
    }

    /// The name of the series of a link, flow or group.
    pub fn name(&self, of: &str) -> String {
        format!("{}/{of}", self.kind)
    }

    /// Builds a series from the times and one list per column.
    pub fn table(&self, t: Vec<f64>, columns: Vec<Vec<f64>>) -> Series {
        let names = std::iter::once("t").chain(self.columns.iter().map(|column| column.name));
        names.map(str::to_string).zip(std::iter::once(t).chain(columns)).collect()
    }
}
