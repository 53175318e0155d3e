//! What an algorithm needs from its host.

use crate::{CakeQueuing, DualQueuing, FlowQueuing};

/// What the host must supply for an algorithm to work. A host that cannot supply it refuses before the run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Needs {
    /// The algorithm sees every departure. [`Aqm::on_dequeue`] is called only with this or [`Needs::head_drop`].
    pub departures: bool,
    /// The algorithm's departure verdict counts: it may drop or mark at the head of the queue. The time at which a packet
    /// departs is then not known when it arrives.
    pub head_drop: bool,
    /// The algorithm inspects waiting packets (`CHOKe` draws one): the queue must hold them.
    pub waiting_packets: bool,
    /// [`PacketView::rtt_hint_ms`] is filled.
    pub rtt_hints: bool,
    /// [`Aqm::on_flows`] is called with the number of active flows.
    pub flow_count: bool,
    /// A queue for each flow, scheduled like this. The algorithm then sees the backlog of the departing packet's own queue, or
    /// that of all queues ([`FlowQueuing::shows_all`]).
    pub flow_queues: Option<FlowQueuing>,
    /// Two queues, one of them for scalable senders. [`Aqm::on_oldest`] is then called before each update.
    pub dual_queue: Option<DualQueuing>,
    /// The queues of CAKE. The algorithm gets the number of a packet's queue in the place of its flow.
    pub cake: Option<CakeQueuing>,
}

impl Needs {
    /// What both need together.
    #[must_use]
    pub fn and(self, other: Needs) -> Needs {
        Needs {
            departures: self.departures || other.departures,
            head_drop: self.head_drop || other.head_drop,
            waiting_packets: self.waiting_packets || other.waiting_packets,
            rtt_hints: self.rtt_hints || other.rtt_hints,
            flow_count: self.flow_count || other.flow_count,
            flow_queues: self.flow_queues.or(other.flow_queues),
            dual_queue: self.dual_queue.or(other.dual_queue),
            cake: self.cake.or(other.cake),
        }
    }
}
