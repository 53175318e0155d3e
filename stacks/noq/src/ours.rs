//! Controllers of the registry in noq-proto.

use crate::choice::Choice;
use crate::controller::Running;
use noq_proto::RttEstimator;
use noq_proto::congestion::{Controller, ControllerFactory, ControllerMetrics};
use std::any::Any;
use std::sync::Arc;
use std::time::Instant;

/// noq-proto obeys the controller's pace and quantum. It tells of marks once a round trip, and does not count them.
#[derive(Clone, Debug)]
struct Ours(Running);

impl ControllerFactory for Choice {
    fn build(self: Arc<Self>, now: Instant, mtu: u16) -> Box<dyn Controller> {
        Box::new(Ours(self.begin(now, mtu)))
    }
}

impl Controller for Ours {
    fn on_sent(&mut self, now: Instant, bytes: u64, _: u64) {
        self.0.sent(now, bytes);
    }

    fn on_ack(&mut self, now: Instant, sent: Instant, bytes: u64, _: u64, _: bool, rtt: &RttEstimator) {
        self.0.acked(now, sent, bytes, [rtt.get(), rtt.min()]);
    }

    fn on_end_acks(&mut self, now: Instant, in_flight: u64, app_limited: bool, _: Option<u64>) {
        self.0.acks_end(now, in_flight, app_limited);
    }

    fn on_congestion_event(&mut self, now: Instant, sent: Instant, persistent: bool, _: bool, lost_bytes: u64, _: u64) {
        self.0.congestion(now, sent, persistent, lost_bytes);
    }

    fn on_spurious_congestion_event(&mut self) {
        self.0.driver.on_spurious_loss();
    }

    fn on_mtu_update(&mut self, mtu: u16) {
        self.0.driver.set_packet_size(mtu.into());
    }

    fn window(&self) -> u64 {
        self.0.driver.window()
    }

    fn metrics(&self) -> ControllerMetrics {
        let pace = self.0.driver.pace();
        let mut metrics = ControllerMetrics::default();
        metrics.congestion_window = self.window();
        metrics.ssthresh = self.0.driver.ssthresh();
        metrics.pacing_rate = pace.map(|pace| pace.rate);
        metrics.bandwidth_estimate = self.0.driver.bandwidth().map(|bytes| 8 * bytes);
        metrics.send_quantum = pace.map(|pace| pace.quantum);
        metrics
    }

    fn clone_box(&self) -> Box<dyn Controller> {
        Box::new(self.clone())
    }

    fn initial_window(&self) -> u64 {
        self.0.initial
    }

    fn into_any(self: Box<Self>) -> Box<dyn Any> {
        self
    }
}
