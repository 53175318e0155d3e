//! What is written down of a link beyond its statistics, where that is asked for.

use super::Link;
use crate::packet::Packet;
use crate::trace::{PacketWait, QueueTrace, ThroughputTrace, WaitTrace};
use alloc::boxed::Box;
use sojourn_units::{Duration, Time};

impl<P: Packet> Link<P> {
    /// Samples the queue at 0, `every`, 2 `every`, ...
    pub fn trace_queue(&mut self, every: Duration) {
        self.meter.queue_trace = Some(Box::new(QueueTrace::new(every)));
        self.start_trace();
    }

    /// Stores how much is sent in each step of `every`.
    pub fn trace_throughput(&mut self, every: Duration) {
        self.meter.packets.get_or_insert_default().throughput = Some(ThroughputTrace::new(every));
        self.start_trace();
    }

    fn start_trace(&mut self) {
        self.meter.plan_sample();
        self.is_due(Time::ZERO);
    }

    /// Stores the waits of the first packet and every `one_in`-th after it, in the order in which transmissions start.
    pub fn trace_waits(&mut self, one_in: u32) {
        self.meter.packets.get_or_insert_default().waits = Some(WaitTrace::new(one_in));
    }

    /// Shows the observer each packet that arrives ([`LinkObserver::on_arrival`](crate::LinkObserver::on_arrival)). Nothing else changes.
    ///
    /// # Panics
    /// If packets have come to it.
    pub fn watch(&mut self) {
        (self.watched, self.passes) = (true, false);
        // The observer is told of departures in the order of time.
        self.depart_by_events();
    }

    /// Whether the observer sees each packet that arrives.
    #[inline]
    pub(crate) fn is_watched(&self) -> bool {
        self.watched
    }

    /// The samples of the queue, where it is traced.
    pub fn traced_queue(&self) -> Option<&QueueTrace> {
        self.meter.queue_trace.as_deref()
    }

    /// What was sent in each step, where that is traced.
    pub fn traced_throughput(&self) -> Option<&ThroughputTrace> {
        self.meter.throughput_trace()
    }

    /// The waits that were stored. Packets that wait at the end of the run are not among them.
    pub fn traced_waits(&self) -> &[PacketWait] {
        self.meter.packets.as_ref().and_then(|traces| traces.waits.as_ref()).map_or(&[], |trace| &trace.packets)
    }

    /// Bytes of memory held by its traces.
    pub fn traced_memory(&self) -> usize {
        let queue = self.meter.queue_trace.as_ref().map_or(0, |trace| 5 * trace.t.capacity() * size_of::<f64>());
        let throughput = self.meter.throughput_trace().map_or(0, |trace| 2 * trace.t.capacity() * size_of::<f64>());
        queue + throughput + size_of_val(self.traced_waits())
    }
}
