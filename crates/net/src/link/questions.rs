//! Queries and notifications of a link by the network and its host, besides packets.

use super::ahead::Ahead;
use super::buffered::Buffered;
use super::link::Link;
use super::meter::Meter;
use super::queue::Queue;
use super::stats::LinkStats;
use super::transmitter::sends_apart;
use crate::contention::Order;
use crate::medium::Turn;
use crate::observer::LinkObserver;
use crate::packet::Packet;
use crate::trace::{PacketWait, QueueTrace, ThroughputTrace, WaitTrace};
use alloc::boxed::Box;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use sojourn_aqm::{ArrivingAck, HostDecision, Qdisc};
use sojourn_units::{Duration, Memory, Rate, Time, memory_of};

impl<P: Packet> Link<P> {
    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its rate at the start; `None` for a pure delay.
    pub fn first_rate(&self) -> Option<Rate> {
        self.transmitter.first_rate()
    }

    /// Its rate now; `None` for a pure delay.
    pub fn rate(&self) -> Option<Rate> {
        self.transmitter.rate()
    }

    /// The share of the window in which it sends, 0 to 1.
    /// With a trace it is the share of the trace's capacity that it sends; `None` for a capacity of 0.
    pub fn utilization(&self) -> Option<f64> {
        match self.traced_capacity() {
            None => {
                Some(self.meter.stats.busy_attoseconds() as f64 / (u128::from(self.meter.window.span().as_nanos()) * 1_000_000_000) as f64)
            }
            Some(capacity) => (capacity > 0.0).then(|| self.meter.stats.bits_on_link() / capacity),
        }
    }

    /// Bits that its trace could carry in the window; `None` without a trace.
    pub fn traced_capacity(&self) -> Option<f64> {
        self.transmitter.traced_capacity(self.meter.window)
    }

    /// Its statistics; complete after the end of the run.
    pub fn stats(&self) -> &LinkStats {
        &self.meter.stats
    }

    /// Ends the window of statistics at `end` instead.
    pub(crate) fn end_at(&mut self, end: Time) {
        self.meter.window.until = end;
    }

    /// Whether it buffers packets, has its own events, and may decide after an arrival.
    pub fn is_buffered(&self) -> bool {
        matches!(self.queue, Queue::Buffered(_) | Queue::Ahead(_)) && !self.is_pure_delay()
    }

    /// Whether its queue holds packets until their departure.
    #[inline]
    pub(crate) fn holds_packets(&self) -> bool {
        matches!(self.queue, Queue::Buffered(_)) && !self.is_pure_delay()
    }

    /// Lets it run behind the network's time by its delay.
    /// It does so only if it holds packets and nothing else depends on its state.
    pub(crate) fn run_behind(&mut self) {
        let is_exact = !self.transmitter.is_steady() || self.counts_flows() || self.reads_headers();
        if let Queue::Buffered(queue) = &mut self.queue
            && !(is_exact || queue.takes_turns || queue.qdisc.shapes())
        {
            queue.lag = self.transmitter.delay;
        }
    }

    /// Keeps it at the network's time from now on. No packet may have arrived.
    pub(crate) fn keep_up(&mut self) {
        if let Queue::Buffered(queue) = &mut self.queue {
            queue.lag = Duration::ZERO;
        }
    }

    /// Whether packets must arrive in the order of time with all other events.
    /// It buffers them, receives the number of active flows at certain times, or its router reads the reverse direction.
    pub(crate) fn needs_order(&self) -> bool {
        self.is_buffered() || self.counts_flows() || self.reads_headers()
    }

    /// Whether its discipline uses the number of active flows.
    #[inline]
    pub fn counts_flows(&self) -> bool {
        self.updates.counts_flows()
    }

    /// Whether it is a pure delay.
    /// Without a rate there is no queue, and no order among its users.
    pub(crate) fn is_pure_delay(&self) -> bool {
        self.transmitter.serializer.is_none()
    }

    /// The order in which packets of `least` bytes or more leave it.
    pub(crate) fn order(&self, least: u32) -> Order {
        let transmitter = &self.transmitter;
        match transmitter.first_rate() {
            None if transmitter.is_steady() => Order::Delayed(transmitter.delay),
            None => Order::Changed,
            Some(rate) => Order::OfArrival { apart: transmitter.is_steady() && sends_apart(rate, least) },
        }
    }

    /// The number of buffered packets: they wait or are being sent.
    pub(crate) fn buffered_packets(&self) -> u64 {
        self.queue.held()
    }

    /// Checks at the end of a run that it never exceeded its rate and that its queue balances.
    pub(crate) fn check(&self) -> Result<(), String> {
        let (stats, span) = (&self.meter.stats, self.meter.window.span());
        if !self.transmitter.allows(stats.nanobits_on_link(), self.meter.window) {
            return Err(format!("link {}: sent more than its rate allows, {} bits in {span}", self.name, stats.bits_on_link()));
        }
        if self.queue.balances() { Ok(()) } else { Err(format!("link {}: its queue does not balance", self.name)) }
    }

    /// The time at which its transmitter is free: later packets leave later.
    #[inline(always)]
    pub(crate) fn free_at(&self) -> Time {
        self.transmitter.free_at
    }

    /// Its propagation delay now.
    pub(crate) fn delay(&self) -> Duration {
        self.transmitter.delay
    }

    /// Whether packets may pass it ahead of the network's time, if they come in order.
    /// None may leave it in the nanosecond of its arrival. No packet has less than `least` bytes.
    pub(crate) fn takes_early(&self, least: u32) -> bool {
        !self.needs_order() && self.transmitter.takes_time(least)
    }

    /// Whether departures are known at arrivals, and are in order.
    /// None may leave it in the nanosecond of its arrival. No packet has less than `least` bytes.
    pub(crate) fn foresees_arrivals(&self, least: u32) -> bool {
        !self.is_buffered() && !self.is_pure_delay() && self.transmitter.takes_time(least)
    }

    /// Whether the router before it reads headers.
    pub(crate) fn reads_headers(&self) -> bool {
        self.updates.router.is_some()
    }

    /// A packet returns past the router before this link at `time`, in order.
    /// `now` is the network's time.
    pub(crate) fn note_ack(&mut self, now: Time, time: Time, packet: &P) {
        if let Some(router) = &mut self.updates.router {
            router.note_ack(now, time, packet);
        }
    }

    /// Draws from now on as this link does in another run, if it has not drawn yet.
    /// See [`sojourn_units::Stream::adopt`].
    pub(crate) fn adopt_stream(&mut self, start: &Self, other: &Self) -> bool {
        self.queue.adopt_stream(&start.queue, &other.queue)
    }

    /// Whether its queue classifies by the groups of flows.
    pub(crate) fn knows_groups(&self) -> bool {
        matches!(&self.queue, Queue::Buffered(queue) if queue.qdisc.knows_groups())
    }

    /// Whether it has an ACK filter.
    #[inline]
    pub fn filters_acks(&self) -> bool {
        matches!(&self.queue, Queue::Buffered(queue) if queue.filters_acks)
    }

    /// Searches for a waiting ACK that the next packet makes redundant.
    /// The packet will be offered at this position of its route.
    #[cold]
    pub(crate) fn compare_acks(&mut self, place: u32, packet: &P, observer: &impl LinkObserver<P>) {
        if let (Queue::Buffered(queue), Some(header)) = (&mut self.queue, observer.ack_header(packet)) {
            let ack = ArrivingAck { flow: packet.flow(), place, ecn: packet.ecn(), header };
            queue.qdisc.compare_acks(&ack, &|waiting| observer.ack_header(&waiting.packet));
        }
    }

    /// Whether its queue or its router uses the hashes of flows.
    pub(crate) fn hashes_flows(&self) -> bool {
        self.updates.router.is_some() || matches!(&self.queue, Queue::Buffered(queue) if queue.qdisc.hashes_flows())
    }

    /// Sets the hash of a flow.
    pub(crate) fn set_hash(&mut self, flow: u32, hash: u64) {
        if let Some(router) = &mut self.updates.router {
            router.set_hash(flow, hash);
        }
        if let Queue::Buffered(queue) = &mut self.queue {
            queue.qdisc.set_hash(flow, hash);
        }
    }

    /// Registers a position on a route at which packets of this group arrive.
    pub(crate) fn add_place(&mut self, place: u32, group: u32) {
        if let Queue::Buffered(queue) = &mut self.queue {
            queue.qdisc.add_place(place, group);
        }
    }

    /// The host's decisions about packets in its queue since the last call, in order.
    pub fn take_host_decisions(&mut self) -> Vec<HostDecision> {
        if let Queue::Buffered(queue) = &mut self.queue { queue.qdisc.take_host_decisions() } else { Vec::new() }
    }

    /// Whether it sends only in its turns.
    #[inline]
    pub(crate) fn takes_turns(&self) -> bool {
        matches!(&self.queue, Queue::Buffered(queue) if queue.takes_turns)
    }

    /// Whether packets wait.
    pub(crate) fn has_waiting(&self) -> bool {
        matches!(&self.queue, Queue::Buffered(queue) if queue.qdisc.packets() > 0)
    }

    /// Whether something besides its turns may hold packets back.
    pub(crate) fn may_hold_back(&self) -> bool {
        matches!(&self.queue, Queue::Buffered(queue) if queue.qdisc.may_hold_back())
    }

    /// Whether a packet is being sent.
    pub(crate) fn is_sending(&self) -> bool {
        matches!(&self.queue, Queue::Buffered(queue) if queue.is_sending())
    }

    /// Ends its turn at `until`.
    pub(crate) fn end_turn(&mut self, turn: Turn, until: Time) {
        let Meter { stats, window, .. } = &mut self.meter;
        stats.turns.get_or_insert_default().add(turn, until, *window);
    }

    /// Samples the queue at 0, `every`, 2 `every`, ...
    pub fn trace_queue(&mut self, every: Duration) {
        self.meter.queue_trace = Some(Box::new(QueueTrace::new(every)));
        self.start_trace();
    }

    /// Stores the throughput in each step of `every`.
    pub fn trace_throughput(&mut self, every: Duration) {
        self.meter.packets.get_or_insert_default().throughput = Some(ThroughputTrace::new(every));
        self.start_trace();
    }

    fn start_trace(&mut self) {
        self.meter.plan_sample();
        self.is_due(Time::ZERO);
    }

    /// Stores the waits of the first packet and every `one_in`-th after it.
    /// They are in the order of the starts of transmissions.
    pub fn trace_waits(&mut self, one_in: u32) {
        self.meter.packets.get_or_insert_default().waits = Some(WaitTrace::new(one_in));
    }

    /// Shows the observer each packet that arrives.
    /// See [`LinkObserver::on_arrival`](crate::LinkObserver::on_arrival). Nothing else changes.
    ///
    /// # Panics
    /// If packets have arrived at it.
    pub fn watch(&mut self) {
        self.watched = true;
        // The observer sees all packets, and departures in the order of time.
        self.take_no_shortcuts();
    }

    /// Turns off the fast paths: offers each packet to its queue.
    /// Each departure that is unknown at arrival has an event of its own.
    pub(crate) fn take_no_shortcuts(&mut self) {
        self.passes = false;
        self.keep_up();
        if let Queue::Ahead(Ahead { queue, .. }) = &self.queue {
            assert_eq!(queue.controller.counters.arrived, 0, "link {}: packets have come before it is watched", self.name);
            self.queue = Queue::Buffered(Buffered::new(Qdisc::new(queue.controller.clone()), false, self.meter.window.from));
        }
    }

    /// Whether the observer sees each packet that arrives.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.watched
    }

    /// The samples of the queue, if it is traced.
    pub fn traced_queue(&self) -> Option<&QueueTrace> {
        self.meter.queue_trace.as_deref()
    }

    /// The throughput in each step, if it is traced.
    pub fn traced_throughput(&self) -> Option<&ThroughputTrace> {
        self.meter.throughput_trace()
    }

    /// The stored waits, without packets that wait at the end of the run.
    pub fn traced_waits(&self) -> &[PacketWait] {
        self.meter.packets.as_ref().and_then(|traces| traces.waits.as_ref()).map_or(&[], |trace| &trace.packets)
    }

    /// Bytes of memory held by its traces.
    pub fn traced_memory(&self) -> usize {
        memory_of([&self.meter.queue_trace, &self.meter.packets])
    }
}

impl<P: Packet> Memory for Link<P> {
    fn memory(&self) -> usize {
        memory_of([&self.queue, &self.updates.router, &self.meter.stats.waits])
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::config::LinkConfig;
    use crate::packet::tests::Numbered;
    use crate::window::Window;
    use alloc::vec;
    use sojourn_aqm::{AqmConfig, QueueController};
    use sojourn_spec::link::{Link as PlannedLink, RateChange};
    use sojourn_units::{Amount, Stream};

    /// A link whose queue is managed by CoDel or DropTail.
    fn link(planned: PlannedLink, codel: bool) -> Link<Numbered> {
        let rate = planned.rate.unwrap();
        let config = if codel { AqmConfig::Codel(Default::default()) } else { AqmConfig::DropTail(Default::default()) };
        let aqm = config.build(&sojourn_aqm::Link { rate, delay: planned.delay, mean_packet: 1000, limit_packets: 10 }).unwrap();
        let controller = QueueController::new(aqm, Amount::Packets(10), false, Stream::named(1, "queue"));
        Link::new(LinkConfig::new(planned, controller), Window { from: Time::ZERO, until: Time::from_nanos(1_000) })
    }

    /// 1000 bytes take 1 ns at 8 Tbit/s, and less after the rate has risen to 10 Tbit/s.
    #[test]
    fn packets_leave_at_different_times_only_if_the_rate_stays() {
        let rate = Rate::from_bps(8_000_000_000_000);
        let steady = PlannedLink { rate, ..PlannedLink::default() };
        let rises = RateChange { at: Time::from_nanos(5), rate: Rate::from_bps(10_000_000_000_000).unwrap() };
        let changing = PlannedLink { rate_changes: vec![rises], ..steady.clone() };
        assert_eq!(link(steady.clone(), false).order(1000), Order::OfArrival { apart: true });
        assert_eq!(link(steady, false).order(999), Order::OfArrival { apart: false });
        assert_eq!(link(changing, false).order(1000), Order::OfArrival { apart: false });
    }

    #[test]
    fn the_audit_finds_a_packet_that_a_queue_has_lost() {
        let steady = PlannedLink { rate: Rate::from_bps(1_000_000), ..PlannedLink::default() };
        let mut ahead = link(steady, true);
        assert_eq!(ahead.check(), Ok(()));
        let Queue::Ahead(queue) = &mut ahead.queue else { unreachable!("departures of CoDel are known in advance") };
        queue.queue.controller.counters.arrived += 1;
        assert!(ahead.check().unwrap_err().ends_with("its queue does not balance"));
    }
}
