//! Controllers of the registry in s2n-quic.

use crate::choice::Choice;
use crate::pacer::Pacer;
use s2n_quic::provider::congestion_controller::{
    CongestionController, Endpoint, PathInfo, Publisher, RandomGenerator, RttEstimator, Timestamp,
};
use s2n_quic_core::recovery::bandwidth::Bandwidth;
use sojourn_cc::{Driver, RoundTrip};
use sojourn_units::{Duration, Time};

impl Endpoint for Choice {
    type CongestionController = Ours;

    fn new_congestion_controller(&mut self, path: PathInfo<'_>) -> Ours {
        let packet = path.max_datagram_size.into();
        let (driver, _) = self.start(packet);
        Ours {
            driver,
            packet,
            base: None,
            rtt: RoundTrip::default(),
            in_flight: 0,
            marked: 0,
            app_limited: false,
            persistent: None,
            retransmits: false,
            pacer: Pacer::default(),
        }
    }
}

/// The controller of a path. s2n-quic obeys its pace and quantum, and counts marks.
#[derive(Clone, Debug)]
pub struct Ours {
    driver: Driver,
    /// Bytes of a full packet.
    packet: u64,
    /// The time of the first packet, from which the driver counts.
    base: Option<Timestamp>,
    rtt: RoundTrip,
    in_flight: u64,
    /// Marks since the last ACK.
    marked: u64,
    /// Whether the application had no more data after the last packet.
    app_limited: bool,
    /// The last persistent congestion, of which each lost packet tells.
    persistent: Option<Time>,
    /// Whether one packet may exceed a window that a loss has just reduced (rfc9002#7.3.2).
    retransmits: bool,
    pacer: Pacer,
}

impl Ours {
    fn at(&self, time: Timestamp) -> Time {
        let since = time.saturating_duration_since(self.base.unwrap_or(time));
        Time::ZERO + since.into()
    }
}

impl CongestionController for Ours {
    /// When the packet was sent.
    type PacketInfo = Time;

    fn congestion_window(&self) -> u32 {
        u32::try_from(self.driver.window()).unwrap_or(u32::MAX)
    }

    fn bytes_in_flight(&self) -> u32 {
        u32::try_from(self.in_flight).unwrap_or(u32::MAX)
    }

    fn is_congestion_limited(&self) -> bool {
        self.in_flight + self.packet > self.driver.window()
    }

    fn requires_fast_retransmission(&self) -> bool {
        self.retransmits
    }

    fn on_packet_sent<P: Publisher>(
        &mut self,
        now: Timestamp,
        bytes: usize,
        app_limited: Option<bool>,
        rtt: &RttEstimator,
        publisher: &mut P,
    ) -> Time {
        self.base.get_or_insert(now);
        let sent = self.at(now);
        if bytes > 0 {
            let bytes = bytes as u64;
            self.driver.on_sent(sent, bytes);
            self.in_flight += bytes;
            self.retransmits = false;
            self.app_limited = app_limited.unwrap_or_else(|| !self.is_congestion_limited());
            let srtt = rtt.first_rtt_sample().map(|_| rtt.smoothed_rtt());
            if let Some(pace) = self.driver.pace().or_else(|| Pacer::pace_of_window(&self.driver, self.packet, srtt)) {
                self.pacer.sent(now, bytes, pace);
                let rate = Bandwidth::new(pace.rate, std::time::Duration::from_secs(1));
                publisher.on_pacing_rate_updated(rate, u32::try_from(pace.quantum).unwrap_or(u32::MAX), 1.into());
            }
        }
        sent
    }

    fn on_rtt_update<P: Publisher>(&mut self, _: Timestamp, _: Timestamp, rtt: &RttEstimator, _: &mut P) {
        let [latest, smoothed, least] = [rtt.latest_rtt(), rtt.smoothed_rtt(), rtt.min_rtt()].map(Duration::from);
        self.rtt = RoundTrip { latest: Some(latest), smoothed, least };
    }

    fn on_ack<P: Publisher>(
        &mut self,
        _: Timestamp,
        bytes: usize,
        newest: Time,
        _: &RttEstimator,
        _: &mut dyn RandomGenerator,
        now: Timestamp,
        _: &mut P,
    ) {
        let bytes = bytes as u64;
        self.in_flight = self.in_flight.saturating_sub(bytes);
        let now = self.at(now);
        self.driver.on_ack_until(now, newest, bytes);
        if self.in_flight == 0 {
            self.driver.on_empty();
        }
        let (rtt, marked, app_limited) = (self.rtt, std::mem::take(&mut self.marked), self.app_limited);
        self.driver.on_acks_end(now, rtt, marked, app_limited);
        self.rtt.latest = None;
    }

    fn on_packet_lost<P: Publisher>(
        &mut self,
        bytes: u32,
        sent: Time,
        persistent: bool,
        _: bool,
        _: &mut dyn RandomGenerator,
        now: Timestamp,
        _: &mut P,
    ) {
        self.in_flight = self.in_flight.saturating_sub(bytes.into());
        let now = self.at(now);
        let window = self.driver.window();
        self.driver.on_packet_lost(now, sent, bytes.into());
        self.retransmits |= self.driver.window() < window;
        if persistent && self.persistent.replace(now) != Some(now) {
            self.driver.on_persistent_congestion(now);
        }
    }

    fn on_explicit_congestion<P: Publisher>(&mut self, count: u64, _: Timestamp, _: &mut P) {
        self.marked += count;
    }

    fn on_mtu_update<P: Publisher>(&mut self, bytes: u16, _: &mut P) {
        self.packet = bytes.into();
        self.driver.set_packet_size(self.packet);
    }

    fn on_packet_discarded<P: Publisher>(&mut self, bytes: usize, _: &mut P) {
        self.in_flight = self.in_flight.saturating_sub(bytes as u64);
        if self.in_flight == 0 {
            self.driver.on_empty();
        }
    }

    fn earliest_departure_time(&self) -> Option<Timestamp> {
        self.pacer.departure()
    }

    fn send_quantum(&self) -> Option<usize> {
        self.driver.pace().and_then(|pace| usize::try_from(pace.quantum).ok())
    }
}
