//! The queue disciplines of Linux 7.3 with the parameters that `tc` has for them.
//! Each has the number of its attribute (include/uapi/linux/pkt_sched.h).

use alloc::vec::Vec;

/// The kind of value that follows a word, and the unit in which it is sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Value {
    /// No value follows: the word itself means this number.
    Is(u32),
    /// No value follows: the word means this number, sent as one byte.
    IsByte(u8),
    /// A whole number.
    Count,
    /// A whole number of one byte.
    Byte,
    /// A size: bytes, or with `k`, `m`, `g` of 1024.
    Size,
    /// A time with its unit, in us.
    Time,
    /// A time with its unit, in whole seconds.
    Seconds,
    /// A rate, in bytes per second.
    Rate,
    /// A rate, in bytes per second, sent with 64 bits.
    Rate64,
    /// A share of 0 to 1, times 2^32.
    Share,
    /// A number times 256.
    Times256,
}

/// How the parameters are sent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Form {
    /// Each as an attribute of its own.
    Attributes,
    /// As `struct tc_fifo_qopt`.
    Fifo,
    /// As `struct tc_sfq_qopt_v1`.
    Sfq,
    /// As `struct tc_red_qopt` with a table: thresholds in bytes.
    Red,
    /// As `struct tc_choke_qopt` with a table: thresholds in packets.
    Choke,
    /// As the text of a queue of the simulator.
    Ours,
}

/// A word of a discipline.
#[derive(Debug)]
pub(super) struct Word {
    pub word: &'static str,
    /// The number of the attribute; for a field of a struct, its position.
    pub at: u16,
    pub value: Value,
}

/// A parameter that was arguments: where it goes, and its value there.
pub(super) struct Argument {
    pub word: &'static Word,
    pub value: u64,
}

/// Appends a netlink attribute: length, type and value.
/// It is padded to a multiple of four bytes.
pub(super) fn put(bytes: &mut Vec<u8>, attribute: u16, value: &[u8]) {
    bytes.extend_from_slice(&(value.len() as u16 + 4).to_ne_bytes());
    bytes.extend_from_slice(&attribute.to_ne_bytes());
    bytes.extend_from_slice(value);
    bytes.resize(bytes.len().next_multiple_of(4), 0);
}

/// A discipline.
#[derive(Debug)]
pub(super) struct Kind {
    pub name: &'static str,
    pub form: Form,
    pub words: &'static [Word],
}

const fn word(word: &'static str, at: u16, value: Value) -> Word {
    Word { word, at, value }
}

/// Fields of `red` and `choke`, in the order in which [`super::red`] takes them.
pub(super) mod field {
    pub const LIMIT: u16 = 0;
    pub const MIN: u16 = 1;
    pub const MAX: u16 = 2;
    pub const AVPKT: u16 = 3;
    pub const BURST: u16 = 4;
    pub const PROBABILITY: u16 = 5;
    pub const BANDWIDTH: u16 = 6;
    pub const FLAGS: u16 = 7;
}

use Value::{Byte, Count, Is, IsByte, Rate, Rate64, Seconds, Share, Size, Time, Times256};

/// The kernel discipline that runs our queues (`hosts/linux/kernel/discipline.c`).
pub(super) const OURS: &str = "sojourn";

pub(super) const KINDS: &[Kind] = &[
    Kind { name: OURS, form: Form::Ours, words: &[] },
    Kind { name: "pfifo", form: Form::Fifo, words: &[word("limit", 0, Count)] },
    Kind { name: "pfifo_head_drop", form: Form::Fifo, words: &[word("limit", 0, Count)] },
    Kind { name: "bfifo", form: Form::Fifo, words: &[word("limit", 0, Size)] },
    Kind {
        name: "sfq",
        form: Form::Sfq,
        words: &[
            word("quantum", 0, Size),
            word("perturb", 1, Seconds),
            word("limit", 2, Count),
            word("divisor", 3, Count),
            word("flows", 4, Count),
            word("depth", 5, Count),
            word("headdrop", 6, Is(1)),
        ],
    },
    Kind {
        name: "red",
        form: Form::Red,
        words: &[
            word("limit", field::LIMIT, Size),
            word("min", field::MIN, Size),
            word("max", field::MAX, Size),
            word("avpkt", field::AVPKT, Size),
            word("burst", field::BURST, Count),
            word("probability", field::PROBABILITY, Share),
            word("bandwidth", field::BANDWIDTH, Rate),
            word("ecn", field::FLAGS, Is(1)),
            word("harddrop", field::FLAGS, Is(2)),
            word("adaptive", field::FLAGS, Is(4)),
            word("nodrop", field::FLAGS, Is(8)),
        ],
    },
    Kind {
        name: "choke",
        form: Form::Choke,
        words: &[
            word("limit", field::LIMIT, Count),
            word("min", field::MIN, Count),
            word("max", field::MAX, Count),
            word("avpkt", field::AVPKT, Size),
            word("burst", field::BURST, Count),
            word("probability", field::PROBABILITY, Share),
            word("bandwidth", field::BANDWIDTH, Rate),
            word("ecn", field::FLAGS, Is(1)),
        ],
    },
    Kind {
        name: "codel",
        form: Form::Attributes,
        words: &[
            word("target", 1, Time),
            word("limit", 2, Count),
            word("interval", 3, Time),
            word("ecn", 4, Is(1)),
            word("noecn", 4, Is(0)),
            word("ce_threshold", 5, Time),
        ],
    },
    Kind {
        name: "fq",
        form: Form::Attributes,
        words: &[
            word("limit", 1, Count),
            word("flow_limit", 2, Count),
            word("quantum", 3, Size),
            word("initial_quantum", 4, Size),
            word("pacing", 5, Is(1)),
            word("nopacing", 5, Is(0)),
            word("maxrate", 7, Rate),
            word("refill_delay", 9, Time),
            word("orphan_mask", 10, Count),
            word("low_rate_threshold", 11, Rate),
            word("ce_threshold", 12, Time),
            word("horizon", 14, Time),
            word("horizon_drop", 15, IsByte(1)),
            word("horizon_cap", 15, IsByte(0)),
        ],
    },
    Kind {
        name: "fq_codel",
        form: Form::Attributes,
        words: &[
            word("target", 1, Time),
            word("limit", 2, Count),
            word("interval", 3, Time),
            word("ecn", 4, Is(1)),
            word("noecn", 4, Is(0)),
            word("flows", 5, Count),
            word("quantum", 6, Size),
            word("ce_threshold", 7, Time),
            word("drop_batch", 8, Count),
            word("memory_limit", 9, Size),
        ],
    },
    Kind {
        name: "pie",
        form: Form::Attributes,
        words: &[
            word("target", 1, Time),
            word("limit", 2, Count),
            word("tupdate", 3, Time),
            word("alpha", 4, Count),
            word("beta", 5, Count),
            word("ecn", 6, Is(1)),
            word("noecn", 6, Is(0)),
            word("bytemode", 7, Is(1)),
            word("nobytemode", 7, Is(0)),
            word("dq_rate_estimator", 8, Is(1)),
            word("no_dq_rate_estimator", 8, Is(0)),
        ],
    },
    Kind {
        name: "fq_pie",
        form: Form::Attributes,
        words: &[
            word("limit", 1, Count),
            word("flows", 2, Count),
            word("target", 3, Time),
            word("tupdate", 4, Time),
            word("alpha", 5, Count),
            word("beta", 6, Count),
            word("quantum", 7, Size),
            word("memory_limit", 8, Size),
            word("ecn_prob", 9, Count),
            word("ecn", 10, Is(1)),
            word("noecn", 10, Is(0)),
            word("bytemode", 11, Is(1)),
            word("nobytemode", 11, Is(0)),
            word("dq_rate_estimator", 12, Is(1)),
            word("no_dq_rate_estimator", 12, Is(0)),
        ],
    },
    Kind {
        name: "cake",
        form: Form::Attributes,
        words: &[
            word("bandwidth", 2, Rate64),
            word("diffserv3", 3, Is(0)),
            word("diffserv4", 3, Is(1)),
            word("diffserv8", 3, Is(2)),
            word("besteffort", 3, Is(3)),
            word("precedence", 3, Is(4)),
            word("flowblind", 5, Is(0)),
            word("srchost", 5, Is(1)),
            word("dsthost", 5, Is(2)),
            word("hosts", 5, Is(3)),
            word("flows", 5, Is(4)),
            word("dual-srchost", 5, Is(5)),
            word("dual-dsthost", 5, Is(6)),
            word("triple-isolate", 5, Is(7)),
            word("overhead", 6, Count),
            word("rtt", 7, Time),
            word("memlimit", 10, Size),
            word("wash", 13, Is(1)),
            word("nowash", 13, Is(0)),
            word("mpu", 14, Count),
            word("ingress", 15, Is(1)),
            word("egress", 15, Is(0)),
            word("no-ack-filter", 16, Is(0)),
            word("ack-filter", 16, Is(1)),
            word("ack-filter-aggressive", 16, Is(2)),
        ],
    },
    Kind {
        name: "dualpi2",
        form: Form::Attributes,
        words: &[
            word("limit", 1, Count),
            word("memlimit", 2, Size),
            word("target", 3, Time),
            word("tupdate", 4, Time),
            word("alpha", 5, Times256),
            word("beta", 6, Times256),
            word("step_packets", 7, Count),
            word("step_thresh", 8, Time),
            word("min_qlen_step", 9, Count),
            word("coupling_factor", 10, Byte),
            word("drop_on_overflow", 11, IsByte(0)),
            word("drop_on_overload", 11, IsByte(1)),
            word("drop_dequeue", 12, IsByte(0)),
            word("drop_enqueue", 12, IsByte(1)),
            word("classic_protection", 13, Byte),
            word("l4s_ect", 14, IsByte(1)),
            word("any_ect", 14, IsByte(3)),
            word("no_split_gso", 15, IsByte(0)),
            word("split_gso", 15, IsByte(1)),
        ],
    },
    Kind {
        name: "hhf",
        form: Form::Attributes,
        words: &[
            word("limit", 1, Count),
            word("quantum", 2, Size),
            word("hh_limit", 3, Count),
            word("reset_timeout", 4, Time),
            word("admit_bytes", 5, Size),
            word("evict_timeout", 6, Time),
            word("non_hh_weight", 7, Count),
        ],
    },
];
