//! The state of a connection, from the events of s2n-quic.

use s2n_quic::provider::event::{ConnectionInfo, ConnectionMeta, Subscriber, events};
use sojourn_harness::State;
use std::sync::{Arc, Mutex, PoisonError};

/// The state of an end, shared with the subscriber to its events.
#[derive(Clone, Default)]
pub struct Observer(Arc<Mutex<State>>);

impl Observer {
    /// The state after the last event.
    pub fn state(&self) -> State {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut State)) {
        change(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner));
    }
}

impl Subscriber for Observer {
    /// Whether an ACK has arrived. Before it, the RTT of the metrics is a default.
    type ConnectionContext = bool;

    fn create_connection_context(&mut self, _: &ConnectionMeta, _: &ConnectionInfo) -> bool {
        self.change(|state| (state.lost, state.congestion_events) = (Some(0), Some(0)));
        false
    }

    fn on_ack_range_received(&mut self, acked: &mut bool, _: &ConnectionMeta, _: &events::AckRangeReceived) {
        *acked = true;
    }

    fn on_recovery_metrics(&mut self, acked: &mut bool, _: &ConnectionMeta, event: &events::RecoveryMetrics<'_>) {
        self.change(|state| {
            state.window = Some(event.congestion_window.into());
            state.rtt = acked.then_some(event.latest_rtt);
        });
    }

    fn on_pacing_rate_updated(&mut self, _: &mut bool, _: &ConnectionMeta, event: &events::PacingRateUpdated) {
        self.change(|state| state.pacing_rate = Some(8 * event.bytes_per_second));
    }

    fn on_packet_lost(&mut self, _: &mut bool, _: &ConnectionMeta, event: &events::PacketLost<'_>) {
        if !event.is_mtu_probe {
            self.change(|state| state.lost = state.lost.map(|lost| lost + 1));
        }
    }

    fn on_congestion(&mut self, _: &mut bool, _: &ConnectionMeta, _: &events::Congestion<'_>) {
        self.change(|state| state.congestion_events = state.congestion_events.map(|events| events + 1));
    }
}
