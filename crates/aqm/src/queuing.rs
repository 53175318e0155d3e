//! What an algorithm fills, and how packets are queued there.

use crate::classifier::Rule;
use crate::{Amount, Aqm, DualClass, Ecn};
use alloc::vec::Vec;
use sojourn_units::{Overhead, Probability, Rate, Time};

/// No limit.
pub(crate) const NO_LIMIT: Amount = Amount::Packets(u32::MAX);

/// What an algorithm fills, as its line in the registry says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Fills {
    /// One queue, first in, first out.
    OneQueue,
    /// A queue for each flow.
    FlowQueues(FlowQueuing),
    /// Two queues, one of them for scalable senders.
    DualQueues(DualQueuing),
    /// The queues of CAKE.
    CakeQueues(CakeQueuing),
}

/// How flows are assigned to queues and how queues are served.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct FlowQueuing {
    /// Number of queues, above zero; flows with the same hash share a queue (rfc8290#5.2.6).
    pub queues: u32,
    /// Bytes that a queue may send in a round, above zero (rfc8290#5.2.4).
    pub quantum: u32,
    /// Seed of the hash, so that flows that share a queue at one router do not share one at the next.
    pub perturbation: u32,
    /// What happens where all queues together hold too much.
    pub overflow: Overflow,
    /// Whether the algorithm sees the backlog of all queues together where a packet departs, instead of that of the packet's own queue.
    pub shows_all: bool,
}

/// What is dropped where all queues together hold too much.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Overflow {
    /// The arriving packet.
    Arrival,
    /// The packet at the head of the longest queue (rfc8290#4.1.3).
    HeadOfLongest,
    /// From the head of the longest queue half of its bytes, but at most [`BATCH`] packets (Linux `fq_codel_drop`).
    HalfOfLongest,
}

impl FlowQueuing {
    /// The queue of the flow with this hash ([`FlowHashes::of`]).
    #[inline]
    pub fn queue_of(&self, hash: u32) -> u32 {
        // The finalizer of MurmurHash3: every bit moves every bit of the result.
        let mut hash = hash ^ self.perturbation;
        hash = (hash ^ (hash >> 16)).wrapping_mul(0x85eb_ca6b);
        hash = (hash ^ (hash >> 13)).wrapping_mul(0xc2b2_ae35);
        hash ^= hash >> 16;
        ((u64::from(hash) * u64::from(self.queues.max(1))) >> 32) as u32
    }
}

/// What a queue for each flow asks of an algorithm that fills it.
pub trait FlowAqm: Aqm {
    /// The turn of this queue came at `now` and it was empty; returns whether it has nothing more to forget.
    fn on_empty(&mut self, queue: u32, now: Time) -> bool {
        let _ = (queue, now);
        true
    }
}

/// Fewer full packets than this are a short queue (Linux `must_drop`).
const FEW_PACKETS: u64 = 2;

/// How two queues share a link.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct DualQueuing {
    /// The percentage of the bytes that the classic queue sends while packets wait in both, 0 to 100.
    pub classic_share: u32,
    /// The size of a full packet in bytes: that much the other queue is ahead at first.
    pub packet: u32,
    /// The bits of the ECN field of which a packet of the low-latency queue has one (Linux `ecn_mask`).
    pub ecn_mask: u8,
    /// Whether the law is told the length of the low-latency queue ([`DualAqm::on_low_latency`]).
    pub tells_length: bool,
}

impl DualQueuing {
    /// Packets of scalable senders, ECT(1) and CE, are in the low-latency queue (rfc9331#5.1).
    pub const L4S: u8 = 1;

    /// Whether a packet with this ECN field belongs to the low-latency queue, whatever filters say.
    #[inline]
    pub fn is_l4s(&self, ecn: Ecn) -> bool {
        ecn.bits() & self.ecn_mask != 0
    }

    /// Whether so few bytes wait in both queues that none of their packets is to be signaled (Linux `must_drop`).
    #[inline]
    pub fn is_short(&self, backlog_bytes: u64) -> bool {
        backlog_bytes < FEW_PACKETS * u64::from(self.packet)
    }

    /// The names of the two queues, in the order of [`Qdisc::subqueues`](crate::Qdisc::subqueues).
    pub const NAMES: [&str; 2] = ["low-latency", "classic"];
}

/// What a dual queue asks of an algorithm that fills it.
pub trait DualAqm: Aqm {
    /// When the packet arrived that has waited longest, `None` if none waits. Called before each update.
    fn on_oldest(&mut self, since: Option<Time>);

    /// A packet leaves the low-latency queue, before [`Aqm::on_dequeue`] of it. Called only where [`DualQueuing::tells_length`].
    fn on_low_latency(&mut self, length: LowLatency) {
        let _ = length;
    }

    /// The present probability of a signal for packets of the low-latency queue; [`Aqm::probability`] is that of classic packets.
    fn low_latency_probability(&self) -> Option<Probability>;
}

/// A filter of a dual queue: what it takes, and what for.
#[derive(Clone, PartialEq, Eq, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct DualFilter {
    /// The packets that it takes.
    pub rule: Rule,
    /// What they are taken for.
    pub class: DualClass,
}

/// The length of the low-latency queue in packets, as one leaves it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct LowLatency {
    /// How many it found there as it arrived.
    pub found: u32,
    /// How many wait behind it.
    pub behind: u32,
}

/// How packets get to a discipline and into its queues.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Classification {
    /// The packets of its class, if it is that of a class.
    pub rule: Rule,
    /// The packets of the classes around that one, the outermost first.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub outer: Vec<Rule>,
    /// The filters of its dual queue: the first that takes a packet counts.
    #[cfg_attr(feature = "serde", serde(default, skip_serializing_if = "Vec::is_empty"))]
    pub filters: Vec<DualFilter>,
}

/// Queues of a tin, and how many of them a flow may have its own in.
pub(crate) const QUEUES: u32 = 1024;
pub(crate) const WAYS: usize = 8;

/// Mapping of DSCPs to tins.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(rename_all = "lowercase"))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Diffserv {
    /// One tin for all.
    BestEffort,
    /// Bulk, best effort, voice.
    #[default]
    Diffserv3,
    /// Bulk, best effort, video, voice.
    Diffserv4,
}

/// A tin: its name, by how many binary places it has less than the whole rate, and the DSCPs that it takes.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Share {
    name: &'static str,
    pub shift: u32,
    dscps: &'static [u8],
}

impl Diffserv {
    /// The tins, the most urgent last; the first also takes what no other does.
    pub(crate) fn shares(self) -> &'static [Share] {
        const ALL: Share = Share { name: "best-effort", shift: 0, dscps: &[] };
        const BULK: Share = Share { name: "bulk", shift: 4, dscps: &[1, 8] };
        const VIDEO: Share = Share { name: "video", shift: 1, dscps: &[4, 16, 18, 20, 22, 24, 26, 28, 30, 34, 36, 38] };
        const VOICE: Share = Share { name: "voice", shift: 2, dscps: &[32, 40, 44, 46, 48, 56] };
        match self {
            Diffserv::BestEffort => &[ALL],
            Diffserv::Diffserv3 => &[ALL, BULK, Share { dscps: &[4, 44, 46, 48, 56], ..VOICE }],
            Diffserv::Diffserv4 => &[ALL, BULK, VIDEO, VOICE],
        }
    }

    /// The names of the tins, in the order of [`Qdisc::subqueues`](crate::Qdisc::subqueues).
    pub fn names(self) -> impl Iterator<Item = &'static str> {
        self.shares().iter().map(|share| share.name)
    }

    /// How many tins there are.
    pub(crate) fn tins(self) -> usize {
        self.shares().len()
    }

    /// The tin that takes packets of this DSCP.
    pub(crate) fn tin(self, dscp: u8) -> usize {
        self.shares().iter().position(|share| share.dscps.contains(&dscp)).unwrap_or(0)
    }
}

/// How CAKE queues.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CakeQueuing {
    /// The tins.
    pub diffserv: Diffserv,
    /// Whether hosts share alike, whatever the numbers of their flows.
    pub isolates_hosts: bool,
    /// The rate at which it sends; `None`: as the link can.
    pub bandwidth: Option<Rate>,
    /// What it counts for a packet besides its size.
    pub overhead: Overhead,
}

impl CakeQueuing {
    /// The rate of a tin, if there is a shaper.
    pub(crate) fn rate_of(&self, tin: usize) -> Option<Rate> {
        self.bandwidth.and_then(|rate| Rate::from_bps((rate.as_bps() >> self.diffserv.shares()[tin].shift).max(1)))
    }
}
