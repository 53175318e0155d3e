//! What an algorithm needs from its host.

use sojourn_units::Time;

/// What the host must supply for an algorithm to work.
/// A host that cannot supply it reports an error before the run.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Needs {
    /// The algorithm sees every departure.
    /// [`Aqm::on_dequeue`] is called only with this or [`Needs::head_drop`].
    pub departures: bool,
    /// The departure verdict is applied: the algorithm may drop or mark at the head.
    /// The time at which a packet departs is then unknown when it arrives.
    pub head_drop: bool,
    /// [`Aqm::on_enqueue`] passes each packet and does nothing else, so it need not be called.
    pub no_arrivals: bool,
    /// The algorithm inspects waiting packets (`CHOKe` draws one): the queue must hold them.
    pub waiting_packets: bool,
    /// [`PacketView::rtt_hint_ms`] is filled.
    pub rtt_hints: bool,
    /// [`Aqm::on_flows`] is called with the number of active flows.
    pub flow_count: bool,
    /// The time of the first update, if that is not one interval after the start.
    pub first_update: Option<Time>,
}

impl Needs {
    /// The needs of both together.
    #[must_use]
    pub fn and(self, other: Needs) -> Needs {
        Needs {
            departures: self.departures || other.departures,
            head_drop: self.head_drop || other.head_drop,
            no_arrivals: self.no_arrivals && other.no_arrivals,
            waiting_packets: self.waiting_packets || other.waiting_packets,
            rtt_hints: self.rtt_hints || other.rtt_hints,
            flow_count: self.flow_count || other.flow_count,
            first_update: self.first_update.or(other.first_update),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_need_what_either_needs() {
        let some = Needs { departures: true, waiting_packets: true, ..Needs::default() };
        let first_update = Some(Time::ZERO);
        let others = Needs { head_drop: true, no_arrivals: true, rtt_hints: true, flow_count: true, first_update, ..Needs::default() };
        let (no_arrivals, waiting_packets) = (false, true);
        let all =
            Needs { departures: true, head_drop: true, no_arrivals, waiting_packets, rtt_hints: true, flow_count: true, first_update };
        assert_eq!([some.and(others), others.and(some), some.and(some)], [all, all, some]);
    }
}
