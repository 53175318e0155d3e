//! A controller under a transport that reports packets, such as a QUIC stack.
//!
//! The transport detects losses and acknowledgments. The driver turns them into the calls of a [`CongestionController`]: rounds, recovery,
//! samples of the delivery rate. It counts bytes, and its times are the transport's. A packet is known by the time at which it was sent.

mod flight;

use crate::{
    Ack, AnyController, CcConfig, CongestionController, CongestionEvent, Entry, Event, Feedback, LossState, Needs, ParamError, REGISTRY,
    Signal, Start,
};
use flight::{Batch, Flight, Sent};
use sojourn_units::{Duration, Stream, Time};

/// The variable that is a controller's estimate of the bandwidth.
/// Its unit is segments per second.
const BANDWIDTH: &str = "max_bw";
/// Round trips after which a packet in flight is forgotten.
const FORGOTTEN: u64 = 8;

/// The controllers that a [`Driver`] runs.
/// The registry has more: those that a caller or a Linux kernel supplies.
pub fn drivable() -> impl Iterator<Item = &'static Entry> {
    REGISTRY.iter().filter(|entry| !matches!((entry.default)(), CcConfig::External(_) | CcConfig::Linux(_)))
}

/// Round-trip times of a transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct RoundTrip {
    /// That of the newest acknowledged packet, if the ACK provides a sample.
    pub latest: Option<Duration>,
    /// The smoothed one; zero before the first sample.
    pub smoothed: Duration,
    /// The smallest one; zero before the first sample.
    pub least: Duration,
}

/// The pacing that a controller wants.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pace {
    /// Bytes per second.
    pub rate: u64,
    /// Bytes that may be sent back to back.
    pub quantum: u64,
}

/// A controller of the registry under a transport that reports packets.
///
/// ```
/// use sojourn_cc::{Driver, RoundTrip, REGISTRY};
/// use sojourn_units::{Duration, Time};
///
/// let cubic = REGISTRY.iter().find(|entry| entry.name == "cubic").unwrap();
/// let mut driver = Driver::new(&(cubic.default)(), 1200, 12_000).unwrap();
/// let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
///
/// // Ten packets leave and are acknowledged after 50 ms: slow start doubles the window.
/// (0..10).for_each(|n| driver.on_sent(at(n), 1200));
/// (0..10).for_each(|n| driver.on_ack(at(60), at(n), 1200));
/// let rtt = Duration::from_millis(50);
/// driver.on_acks_end(at(60), RoundTrip { latest: Some(rtt), smoothed: rtt, least: rtt }, 0, false);
/// assert_eq!(driver.window(), 24_000);
///
/// // A loss reduces it to 0.7.
/// driver.on_sent(at(61), 1200);
/// driver.on_lost(at(130), at(61), 1200);
/// assert_eq!(driver.window(), 16_800);
/// ```
#[derive(Clone, Debug)]
pub struct Driver {
    name: &'static str,
    controller: AnyController,
    /// The controller before the last reduction, if that may be undone.
    before: Option<AnyController>,
    /// Bytes of a full packet, which is the controller's segment.
    packet: f64,
    flight: Flight,
    batch: Batch,
    rtt: RoundTrip,
    /// Packets sent until this time belong to the last reduction.
    recovery: Option<Time>,
    /// Whether the last reduction was persistent congestion.
    after_timeout: bool,
    last_sent: Option<Time>,
}

impl Driver {
    /// A controller at the start of a connection.
    /// `packet` is the size of a full packet and `window` the initial window, both in bytes.
    ///
    /// # Errors
    /// A parameter of the controller is out of range.
    pub fn new(config: &CcConfig, packet: u64, window: u64) -> Result<Driver, ParamError> {
        let packet = packet.max(1) as f64;
        let start = Start { pacing: true, ecn: Feedback::CountsIfAsked, ..Start::new(window as f64 / packet, f64::INFINITY) };
        let controller = config.build(start)?;
        Ok(Driver {
            name: config.name(),
            controller,
            before: None,
            packet,
            flight: Flight::default(),
            batch: Batch::default(),
            rtt: RoundTrip::default(),
            recovery: None,
            after_timeout: false,
            last_sent: None,
        })
    }

    /// Draws the random choices of the controller from this stream.
    pub fn use_random(&mut self, random: Stream) {
        self.controller.on_event(&Event::Random(random));
    }

    /// The controller's requirements, such as counted marks.
    pub fn needs(&self) -> Needs {
        self.controller.needs()
    }

    /// The congestion window in bytes, at least two packets.
    pub fn window(&self) -> u64 {
        libm::round(self.controller.cwnd().max(2.0) * self.packet) as u64
    }

    /// The slow start threshold in bytes; `None` before the first reduction.
    pub fn ssthresh(&self) -> Option<u64> {
        let ssthresh = self.controller.ssthresh();
        ssthresh.is_finite().then(|| libm::round(ssthresh * self.packet) as u64)
    }

    /// The pacing that the controller wants; `None` leaves it to the transport.
    pub fn pace(&self) -> Option<Pace> {
        let pacing = self.controller.pacing()?;
        let bytes = |segments: f64| (segments * self.packet).clamp(1.0, u64::MAX as f64) as u64;
        Some(Pace { rate: bytes(pacing.rate), quantum: bytes(pacing.quantum()) })
    }

    /// The bandwidth that the controller estimates, in bytes per second.
    /// It is `None` if it estimates none.
    pub fn bandwidth(&self) -> Option<u64> {
        let variables = REGISTRY.iter().find(|entry| entry.name == self.name).map(|entry| (entry.variables)())?;
        let at = variables.iter().position(|about| about.name == BANDWIDTH)?;
        let segments = self.controller.values()[at];
        (segments > 0.0).then_some((segments * self.packet) as u64)
    }

    /// The size of a full packet changes. The window in bytes stays.
    /// Controllers that estimate a bandwidth keep the old size as their unit.
    pub fn set_packet_size(&mut self, bytes: u64) {
        if bytes > 0 && !self.controller.needs().rate_samples {
            let window = self.controller.cwnd() * self.packet;
            self.packet = bytes as f64;
            self.controller.set_cwnd(window / self.packet);
        }
    }

    /// A packet that counts as in flight is sent.
    pub fn on_sent(&mut self, now: Time, bytes: u64) {
        if self.flight.bytes() == 0 {
            let app_limited = self.flight.is_app_limited();
            self.controller.on_event(&match (self.controller.needs().rate_samples, self.last_sent) {
                (true, _) => Event::FlightStart { now, srtt: self.rtt.smoothed, app_limited },
                (false, last) => Event::IdleEnd { now, idle: now.since(last.unwrap_or(now)), srtt: self.rtt.smoothed },
            });
        }
        self.flight.send(now, bytes);
        self.last_sent = Some(now);
    }

    /// The packet of this size that was sent at `sent` is acknowledged.
    /// [`Driver::on_acks_end`] follows.
    pub fn on_ack(&mut self, now: Time, sent: Time, bytes: u64) {
        self.batch.prior_in_flight = self.batch.prior_in_flight.max(self.flight.bytes());
        if let Some(packet) = self.flight.take(sent, bytes) {
            self.flight.deliver(now, &packet);
            self.batch.add(packet);
        }
    }

    /// `bytes` bytes are acknowledged: the packet sent at `newest`, and the oldest in flight.
    /// This is for transports that report a sum. Losses that the ACK shows come before it, [`Driver::on_acks_end`] after it.
    pub fn on_ack_until(&mut self, now: Time, newest: Time, bytes: u64) {
        let mut left = bytes;
        while let Some([oldest, latest]) = self.flight.ends_until(newest).filter(|_| left > 0) {
            let packet = if left == bytes { latest } else { oldest };
            self.on_ack(now, packet.at, packet.bytes);
            left = left.saturating_sub(packet.bytes);
        }
    }

    /// Nothing is in flight.
    /// Packets that were neither acknowledged nor lost are forgotten.
    pub fn on_empty(&mut self) {
        self.flight.forget_until(Time::NEVER);
    }

    /// All packets that an ACK acknowledges were reported.
    /// `marked` of them are newly reported as marked, if the transport counts marks. Controllers that do not count them take them for
    /// one mark. `app_limited` says that the application and not the window limited the sender.
    pub fn on_acks_end(&mut self, now: Time, rtt: RoundTrip, marked: u64, app_limited: bool) {
        let batch = core::mem::take(&mut self.batch);
        let Some(newest) = batch.newest else { return };
        // Lost probes of the path's MTU are not reported.
        self.flight.forget_until(Time::ZERO + newest.at.since(Time::ZERO + rtt.smoothed * FORGOTTEN));
        // A sample has the state before the ACK, and the window grows by the one after it.
        let state = match (self.recovery.is_some(), self.after_timeout) {
            (true, true) => LossState::Timeout,
            (true, false) => LossState::Recovery,
            _ => LossState::Open,
        };
        if self.recovery.is_some_and(|until| newest.at > until) {
            self.recovery = None;
            self.controller.on_event(&Event::ReductionEnd);
            self.after_timeout = false;
        }
        let needs = self.controller.needs();
        // A mark reduces the window before the ACK can let it grow (rfc9002#A.7).
        if marked > 0 && !Feedback::CountsIfAsked.counts_for(needs.ecn) {
            self.reduce(now, newest.at, Signal::Mark);
        }
        let in_recovery = self.recovery.is_some();
        if app_limited || needs.limits_samples {
            self.flight.limit();
        }
        if needs.rate_samples {
            let mut sample = self.flight.sample(now, &batch, (self.packet, rtt.least));
            sample.rtt = rtt.latest;
            sample.srtt = self.rtt.smoothed;
            sample.is_cwnd_limited = !app_limited;
            sample.state = state;
            sample.marked = marked as f64;
            self.controller.on_sample(&sample);
        }
        self.rtt = rtt;
        let acked = batch.bytes as f64 / self.packet;
        self.controller.on_ack(&Ack {
            now,
            acked,
            advanced: acked,
            rtt: rtt.latest,
            srtt: rtt.smoothed,
            rtt_min: rtt.least,
            one_way_delay: None,
            in_flight: batch.prior_in_flight as f64 / self.packet,
            cwnd_limited: !app_limited,
            in_recovery,
            after_timeout: self.after_timeout,
            open: !in_recovery && marked == 0,
            abc_limit: f64::INFINITY,
            snd_una: self.flight.first_byte(),
            snd_max: self.flight.sent_bytes(),
            marked: marked as f64,
        });
    }

    /// Packets of `bytes` bytes in all are lost; the newest of them was sent at `sent`.
    /// Older ones in flight are lost first.
    /// The window is reduced once for all losses of a round trip.
    pub fn on_lost(&mut self, now: Time, sent: Time, bytes: u64) {
        let mut left = bytes;
        while left > 0 {
            let Some(lost) = self.flight.lose_until(sent) else { break };
            left = left.saturating_sub(lost.0.bytes);
            self.lose(now, lost);
        }
        self.reduce(now, sent, Signal::Loss);
    }

    /// The packet of this size that was sent at `sent` is lost.
    /// This is for transports that report each lost packet.
    pub fn on_packet_lost(&mut self, now: Time, sent: Time, bytes: u64) {
        if let Some(lost) = self.flight.lose(sent, bytes) {
            self.lose(now, lost);
        }
        self.reduce(now, sent, Signal::Loss);
    }

    /// A mark is reported, of a packet sent at `sent`, by a transport that does not count marks.
    pub fn on_mark(&mut self, now: Time, sent: Time) {
        self.reduce(now, sent, Signal::Mark);
    }

    /// All packets over a long time were lost (rfc9002#7.6). Losses are reported before.
    /// The window is then two packets, or what a controller with a model of the path wants.
    pub fn on_persistent_congestion(&mut self, now: Time) {
        if let Some(before) = self.before.take() {
            self.controller = before;
        }
        self.recovery = Some(now);
        self.after_timeout = true;
        self.controller.on_rto(now, self.controller.cwnd());
        let has_model = self.controller.needs().rate_samples;
        let in_flight = if has_model { self.flight.bytes() as f64 / self.packet } else { 1.0 };
        self.controller.on_event(&Event::RtoRestart { in_flight });
    }

    /// The losses that caused the last reduction were spurious: the packets arrived late.
    pub fn on_spurious_loss(&mut self) {
        match self.before.take() {
            Some(_) if self.controller.needs().rate_samples => self.controller.on_event(&Event::SpuriousRecovery),
            Some(before) => (self.controller, self.recovery) = (before, None),
            None => {}
        }
    }

    fn lose(&mut self, now: Time, (packet, contiguous): (Sent, bool)) {
        if self.controller.needs().rate_samples {
            self.controller.on_lost(&self.flight.lost_segment(now, &packet, (self.packet, contiguous)));
        }
    }

    fn reduce(&mut self, now: Time, sent: Time, signal: Signal) {
        if self.recovery.is_some_and(|until| sent <= until) {
            return;
        }
        self.before = Some(self.controller.clone());
        self.recovery = Some(now);
        self.after_timeout = false;
        self.controller.on_congestion(&CongestionEvent { now, window: self.controller.cwnd(), signal });
    }
}
