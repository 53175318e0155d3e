//! What an algorithm sees and what it answers.

use crate::{FlowQueuing, Law};
use sojourn_units::{Bytes, Duration, ParamError, Probability, Rate, Stream, Time};

/// A packet that arrives or leaves, as far as an algorithm may look at it.
#[derive(Clone, Copy, Debug)]
pub struct Arrival {
    /// When it happens.
    pub now: Time,
    /// Size on the wire in bytes.
    pub size: u32,
    /// The flow it belongs to.
    pub flow: u32,
    /// The sender's smoothed RTT in milliseconds if it carries one; 0 means unknown.
    pub rtt_hint_ms: u16,
    /// Whether it carries payload (a pure acknowledgement does not).
    pub has_data: bool,
}

/// The queue at one instant. The packet being sent does not count: it has left the queue (as in
/// ns-2 and in a Linux qdisc).
#[derive(Clone, Copy, Debug)]
pub struct Backlog {
    /// Packets waiting.
    pub packets: u32,
    /// Bytes waiting.
    pub bytes: u64,
    /// Since when the link has nothing to send; `None` while it is sending.
    pub idle_since: Option<Time>,
}

impl Backlog {
    /// The same with one packet more, of `size` bytes.
    pub fn and(self, size: u32) -> Self {
        Backlog { packets: self.packets + 1, bytes: self.bytes + u64::from(size), ..self }
    }
}

/// What to do with a packet. The algorithm decides; [`crate::Admission`] acts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Verdict {
    /// Let it through.
    Pass,
    /// Signal congestion with it: mark it where ECN is on and the packet can carry a mark, else drop it.
    Mark,
    /// Mark it where [`Verdict::Mark`] would, else let it through.
    MarkOrPass,
    /// Let it through where [`Verdict::Mark`] would mark it, which is left to its departure; else drop it.
    PassOrDrop,
    /// Drop it, whatever it can carry.
    Drop,
    /// Drop it and the packet that waits at this position (0 is the head), both to signal congestion.
    DropBoth(u32),
    /// On arrival only: show the packet that waits at this position to [`Aqm::on_look`], which decides.
    /// Asks for [`Needs::waiting_packets`].
    Look(u32),
}

/// What a host must supply for an algorithm to work; a host that can't refuses before the run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Needs {
    /// To see every departure. [`Aqm::on_dequeue`] is called only with this or [`Needs::head_drop`].
    pub departures: bool,
    /// Its verdict on departure counts: packets can be dropped or marked at the head, so departures can't be foretold.
    pub head_drop: bool,
    /// To look at packets that wait (`CHOKe` draws one): they must be kept.
    pub waiting_packets: bool,
    /// [`Arrival::rtt_hint_ms`].
    pub rtt_hints: bool,
    /// The number of active flows, told by [`Aqm::on_flows`].
    pub flow_count: bool,
    /// A queue for each flow, scheduled as told: the algorithm then sees the backlog of the departing packet's own queue.
    pub flow_queues: Option<FlowQueuing>,
}

/// The link an algorithm is put on: what automatic parameters are derived from.
#[derive(Clone, Copy, Debug)]
pub struct Link {
    /// Its rate.
    pub rate: Rate,
    /// Its propagation delay.
    pub delay: Duration,
    /// Mean packet size in bytes, for parameters given in packets.
    pub mean_packet: u32,
    /// The queue's limit in packets (bytes / mean packet where the limit is in bytes).
    pub limit_packets: u32,
}

impl Link {
    /// The mean packet in bytes that an algorithm is to reckon with: `own` where that is given, else the link's.
    ///
    /// # Errors
    /// `own` is above 1 MB; `field` is its name.
    pub fn mean_packet_or(&self, field: &'static str, own: Bytes) -> Result<u32, ParamError> {
        match own.0 {
            0 => Ok(self.mean_packet.max(1)),
            bytes => ParamError::unless(bytes <= 1_000_000, field, &bytes, "0 B (the link's) to 1 MB").map(|()| bytes as u32),
        }
    }
}

/// An active queue management algorithm.
///
/// `clone` must copy all state: a run can be branched. Nothing here may panic.
pub trait Aqm {
    /// A packet arrives and the queue is as `backlog` says, before it is added.
    fn on_enqueue(&mut self, arrival: &Arrival, backlog: &Backlog, random: &mut Stream) -> Verdict;

    /// A packet leaves the queue for the link after waiting `sojourn`; `backlog` is what stays behind.
    fn on_dequeue(&mut self, departure: &Arrival, sojourn: Duration, backlog: &Backlog, random: &mut Stream) -> Verdict {
        let _ = (departure, sojourn, backlog, random);
        Verdict::Pass
    }

    /// The waiting packet that [`Verdict::Look`] asked for, `None` where nobody waits at that position. Another
    /// [`Verdict::Look`] shows another packet.
    fn on_look(&mut self, arrival: &Arrival, shown: Option<&Arrival>, backlog: &Backlog, random: &mut Stream) -> Verdict {
        let _ = (arrival, shown, backlog, random);
        Verdict::Pass
    }

    /// A packet was lost because the queue was full, whatever the verdict had been.
    fn on_overflow(&mut self) {}

    /// The last verdict was [`Verdict::Mark`] and the packet was dropped: ECN is off, or it can't carry a mark.
    fn on_unmarkable(&mut self) {}

    /// From `now` on so many flows are active. Called only with [`Needs::flow_count`], and before anything else that
    /// happens at that time; until then there are none.
    fn on_flows(&mut self, now: Time, active: u32) {
        let _ = (now, active);
    }

    /// The span between calls of [`Aqm::on_update`], `None` for an algorithm without a timer.
    /// Above zero. The first call comes when [`Aqm::first_update`] says so.
    fn update_interval(&self) -> Option<Duration> {
        None
    }

    /// When the first update is due: one interval after the start unless an algorithm says otherwise.
    fn first_update(&self) -> Time {
        self.update_interval().map_or(Time::NEVER, |interval| Time::ZERO + interval)
    }

    /// The timer.
    fn on_update(&mut self, now: Time, backlog: &Backlog) {
        let _ = (now, backlog);
    }

    /// What the host must supply.
    fn needs(&self) -> Needs {
        Needs::default()
    }

    /// The present probability of dropping or marking, for traces and averages.
    fn probability(&self) -> Probability {
        Probability::ZERO
    }

    /// The law behind an algorithm that is one, for models that feed it with numbers instead of packets.
    fn law(&mut self) -> Option<&mut dyn Law> {
        None
    }
}
