//! Senders with a planted fault each. The replay names the fault, and finds none in a sender without one.

use proptest::prelude::*;
use sojourn_cc::{Ack, AnyController, CongestionController, CongestionEvent, Event as EndpointEvent, REGISTRY, Signal, Start, Window};
use sojourn_judge::{Acked, Action, Cause, Event, Judgement, Limit, Subject, Transport, controllers, judge};
use sojourn_units::{Duration, Time};

const MSS: u32 = 1200;
/// Slow start ends here, in packets.
const SSTHRESH: f64 = 200.0;

/// What happens after a number of ACKs.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Then {
    Loss,
    /// A second loss of the same round trip.
    LossAgain,
    Persistent,
    /// From here on the application limits the sender.
    AppLimited,
}

/// A sender over a path with a constant RTT, whose packets each have an ACK.
struct Sender {
    controller: AnyController,
    fault: Option<Cause>,
    rtt: Duration,
    now: Time,
    recovery_start: Option<Time>,
    w_max: f64,
    count: f64,
    acked: u64,
    limit: Limit,
    log: Vec<Event>,
}

impl Sender {
    fn new(name: &str, fault: Option<Cause>, rtt: Duration) -> Sender {
        let entry = REGISTRY.iter().find(|entry| entry.name == name).unwrap();
        let controller = (entry.default)().build(Start::new(10.0, SSTHRESH)).unwrap();
        let mut sender = Sender {
            controller,
            fault,
            rtt,
            now: Time::ZERO,
            recovery_start: None,
            w_max: 0.0,
            count: 0.0,
            acked: 0,
            limit: Limit::Window,
            log: Vec::new(),
        };
        sender.report();
        sender
    }

    fn has(&self, fault: Cause) -> bool {
        self.fault == Some(fault)
    }

    fn add(&mut self, action: Action) {
        self.log.push(Event { at: self.now, action });
    }

    /// Reports whole bytes, as stacks do.
    fn report(&mut self) {
        let Window { cwnd, ssthresh } = self.controller.window();
        let bytes = |segments: f64| (segments * f64::from(MSS)) as u64;
        self.add(Action::Window { cwnd: bytes(cwnd), ssthresh: ssthresh.is_finite().then(|| bytes(ssthresh)) });
    }

    fn ack_of(&self, acked: f64) -> Ack {
        let (rtt, in_flight) = (self.rtt, self.controller.cwnd());
        Ack {
            now: self.now,
            acked,
            advanced: acked,
            rtt: Some(rtt),
            srtt: rtt,
            rtt_min: rtt,
            in_flight,
            abc_limit: f64::INFINITY,
            snd_una: self.acked,
            snd_max: self.acked + ((in_flight - acked) * f64::from(MSS)) as u64,
            ..Ack::ONE
        }
    }

    /// Handles the ACK of some packets.
    fn ack(&mut self, packets: u32) {
        self.now += self.rtt.mul_f64(f64::from(packets) / self.controller.cwnd());
        let sent = Time::from_nanos(self.now.as_nanos().saturating_sub(self.rtt.as_nanos()));
        let in_recovery = self.recovery_start.is_some_and(|start| sent <= start) && !self.has(Cause::RecoveryGrowth);
        let cwnd_limited = self.limit != Limit::Application || self.has(Cause::AppLimitedGrowth);
        let (rtt, bytes) = (self.rtt, u64::from(packets * MSS));
        let in_flight = (self.controller.cwnd() * f64::from(MSS)) as u64;
        let acked =
            Acked { bytes, sent: Some(sent), rtt: Some(rtt), srtt: rtt, rtt_min: rtt, in_flight, limit: self.limit, after_timeout: false };
        self.add(Action::Acked(acked));
        self.acked += bytes;
        let counted = if self.has(Cause::AcksCounted) { 1.0 } else { f64::from(packets) };
        let before = self.controller.window();
        self.controller.on_ack(&Ack { in_recovery, open: !in_recovery, cwnd_limited, ..self.ack_of(counted) });
        if self.has(Cause::LostIncrements) && before.cwnd >= before.ssthresh {
            self.count += self.controller.cwnd() - before.cwnd;
            let grows = self.count >= 1.0;
            self.count = if grows { 0.0 } else { self.count };
            self.controller.set_cwnd(before.cwnd + f64::from(u8::from(grows)));
        }
        self.report();
    }

    fn set(&mut self, kept: f64) {
        self.controller.on_event(&EndpointEvent::IdleRestart(Window { cwnd: kept, ssthresh: kept }));
    }

    fn lose(&mut self) {
        let before = self.controller.cwnd();
        self.add(Action::Lost { sent: Some(self.now), persistent: false, in_flight: None });
        self.controller.on_congestion(&CongestionEvent { now: self.now, window: before, signal: Signal::Loss });
        match self.fault {
            Some(Cause::FastConvergence) if before < self.w_max => self.set(before * 0.595),
            Some(Cause::OtherFactor) => self.set(before * 0.85),
            Some(Cause::NoReduction) => self.set(before),
            _ => {}
        }
        if self.has(Cause::KOfWMax) {
            // K of 0.3 W_max, which differs from that of W_max - cwnd after fast convergence only.
            let (ack, window) = (self.ack_of(0.0), self.controller.window());
            let w_max = if before < self.w_max { before * 0.85 } else { before };
            self.set(0.7 * w_max);
            self.controller.on_ack(&ack);
            self.controller.on_event(&EndpointEvent::Undo(window));
        }
        self.w_max = before;
        self.recovery_start = Some(self.now);
        self.report();
        if self.has(Cause::EarlyEpoch) {
            let ack = self.ack_of(0.0);
            self.controller.on_ack(&ack);
        }
    }

    fn lose_again(&mut self) {
        if self.recovery_start.is_none() {
            return;
        }
        self.add(Action::Lost { sent: self.recovery_start, persistent: false, in_flight: None });
        if self.has(Cause::ReducedAgain) {
            let window = self.controller.cwnd();
            self.controller.on_congestion(&CongestionEvent { now: self.now, window, signal: Signal::Loss });
        }
        self.report();
    }

    fn persist(&mut self) {
        let before = self.controller.cwnd();
        self.add(Action::Lost { sent: Some(self.now), persistent: true, in_flight: None });
        self.controller.on_rto(self.now, before);
        let kept = self.controller.ssthresh();
        let ssthresh = if self.has(Cause::SsthreshTwice) { kept * kept / before } else { kept };
        let cwnd = if self.has(Cause::AboveMinimum) { 10.0 } else { 2.0 };
        self.controller.on_event(&EndpointEvent::IdleRestart(Window { cwnd, ssthresh }));
        self.recovery_start = None;
        self.report();
    }

    /// Sends until each number of ACKs, at which something happens; then to the end.
    fn run(mut self, acks: u32, script: &[(u32, Then)], packets: u32) -> Vec<Event> {
        for number in 0..acks {
            self.ack(packets);
            for (_, then) in script.iter().filter(|(at, _)| *at == number) {
                match then {
                    Then::Loss => self.lose(),
                    Then::LossAgain => self.lose_again(),
                    Then::Persistent => self.persist(),
                    Then::AppLimited => self.limit = Limit::Application,
                }
            }
        }
        self.log
    }
}

/// The judgement of a sender with a fault.
fn judged(name: &str, fault: Option<Cause>, rtt_ms: u64, script: &[(u32, Then)], packets: u32) -> Judgement {
    let log = Sender::new(name, fault, Duration::from_millis(rtt_ms)).run(12_000, script, packets);
    judge(&Subject::quic(name, MSS), &log).unwrap()
}

/// A sender with a fault that its script reveals.
struct Case(&'static str, Cause, u64, &'static [(u32, Then)], u32);

#[test]
fn a_planted_fault_is_named_as_the_first_divergence() {
    const BELOW: &[(u32, Then)] = &[(400, Then::Loss), (1500, Then::Loss)];
    const OUTAGE: &[(u32, Then)] = &[(900, Then::Persistent)];
    const ONE: &[(u32, Then)] = &[(400, Then::Loss)];
    let cases = [
        Case("cubic", Cause::FastConvergence, 40, BELOW, 1),
        Case("cubic", Cause::OtherFactor, 40, BELOW, 1),
        Case("reno", Cause::OtherFactor, 40, BELOW, 1),
        Case("reno", Cause::NoReduction, 40, BELOW, 1),
        Case("cubic", Cause::SsthreshTwice, 40, OUTAGE, 1),
        Case("reno", Cause::SsthreshTwice, 40, OUTAGE, 1),
        Case("reno", Cause::AboveMinimum, 40, OUTAGE, 1),
        Case("reno", Cause::ReducedAgain, 40, &[(400, Then::Loss), (420, Then::LossAgain)], 1),
        Case("cubic", Cause::AppLimitedGrowth, 40, &[(400, Then::Loss), (2000, Then::AppLimited)], 1),
        Case("cubic", Cause::LostIncrements, 1000, ONE, 1),
        Case("cubic", Cause::EarlyEpoch, 600, ONE, 1),
        Case("reno", Cause::AcksCounted, 40, BELOW, 2),
    ];
    for Case(name, fault, rtt_ms, script, packets) in cases {
        let found = judged(name, Some(fault), rtt_ms, script, packets);
        let causes: Vec<Cause> = found.divergences.iter().map(|divergence| divergence.cause).collect();
        assert_eq!(causes.first(), Some(&fault), "{name}: {:?}", found.divergences);
        let whole = judged(name, None, rtt_ms, script, packets);
        assert!(whole.divergences.is_empty(), "{name} without a fault: {:?}", whole.divergences);
    }
}

#[test]
fn packets_that_were_sent_before_a_loss_do_not_grow_the_window() {
    // Scalable grows by a packet in a hundred, so a round trip of recovery shows.
    let found = judged("scalable", Some(Cause::RecoveryGrowth), 40, &[(900, Then::Loss)], 1);
    assert_eq!(found.divergences[0].cause, Cause::RecoveryGrowth, "{:?}", found.divergences);
}

#[test]
fn a_k_that_follows_from_w_max_is_found_after_fast_convergence() {
    // The sender starts its epoch at the reduction, as quinn does, so it has two faults.
    let script = [(900, Then::Loss), (1500, Then::Loss)];
    let found = judged("cubic", Some(Cause::KOfWMax), 100, &script, 1);
    let mut causes: Vec<Cause> = found.divergences.iter().map(|divergence| divergence.cause).collect();
    causes.sort_unstable();
    assert_eq!(causes, [Cause::EarlyEpoch, Cause::KOfWMax], "{:?}", found.divergences);
}

#[test]
fn a_sender_may_reduce_its_data_in_flight_instead_of_its_window() {
    let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
    let window = |packets: u64| Action::Window { cwnd: packets * u64::from(MSS), ssthresh: Some(packets * u64::from(MSS)) };
    let log = |kept: u64, in_flight: Option<u64>| {
        let acked = Acked { bytes: u64::from(MSS), ..Acked::default() };
        let lost = Action::Lost { sent: Some(at(5)), persistent: false, in_flight };
        let events = [(0, window(100)), (1, Action::Acked(acked)), (1, window(100)), (10, lost), (10, window(kept))];
        judge(&Subject::quic("cubic", MSS), &events.map(|(ms, action)| Event { at: at(ms), action })).unwrap().divergences.len()
    };
    // rfc9438#4.6: 0.7 of 90 packets in flight; without them it is 0.63 of the window.
    assert_eq!([log(63, Some(90 * u64::from(MSS))), log(63, None), log(60, Some(90 * u64::from(MSS)))], [0, 1, 1]);
}

#[test]
fn a_later_fault_is_found_behind_an_earlier_one() {
    let script = [(400, Then::Loss), (1500, Then::Loss), (3000, Then::Persistent)];
    let mut sender = Sender::new("cubic", Some(Cause::FastConvergence), Duration::from_millis(40));
    for number in 0..4000 {
        sender.ack(1);
        if number == 3000 {
            sender.fault = Some(Cause::SsthreshTwice);
        }
        for (_, then) in script.iter().filter(|(at, _)| *at == number) {
            if *then == Then::Loss { sender.lose() } else { sender.persist() }
        }
    }
    let found = judge(&Subject::quic("cubic", MSS), &sender.log).unwrap();
    let causes: Vec<Cause> = found.divergences.iter().map(|divergence| divergence.cause).collect();
    assert_eq!(causes, [Cause::FastConvergence, Cause::SsthreshTwice], "{:?}", found.divergences);
    let cut = found.divergences[0];
    // rfc9438#4.6: 0.7 of the window; the fault multiplies by 0.85 too.
    assert!((cut.theirs.cwnd / cut.before.unwrap() - 0.595).abs() < 0.001);
    assert!((cut.ours.cwnd / cut.before.unwrap() - 0.7).abs() < 0.001);
}

#[test]
fn a_fall_without_a_signal_is_a_divergence() {
    let mut sender = Sender::new("reno", None, Duration::from_millis(40));
    (0..500).for_each(|_| sender.ack(1));
    sender.set(50.0);
    sender.ack(1);
    let found = judge(&Subject::quic("reno", MSS), &sender.log).unwrap();
    assert_eq!(found.divergences.iter().map(|divergence| divergence.cause).collect::<Vec<_>>(), [Cause::NoSignal]);
}

#[test]
fn growth_is_accepted_up_to_that_of_a_full_window_if_the_log_does_not_tell_what_limits() {
    let grown = |half: f64| {
        let mut sender = Sender::new("reno", None, Duration::from_millis(40));
        sender.limit = Limit::Unknown;
        for _ in 0..2000 {
            let before = sender.controller.cwnd();
            sender.ack(1);
            let after = sender.controller.cwnd();
            sender.log.pop();
            sender.controller.set_cwnd(before + (after - before) * half);
            sender.report();
        }
        judge(&Subject::quic("reno", MSS), &sender.log).unwrap().divergences.len()
    };
    assert_eq!([grown(0.0), grown(0.5), grown(1.0), grown(2.0)], [0, 0, 0, 1]);
}

#[test]
fn an_unknown_controller_and_one_whose_input_is_not_in_logs_are_errors() {
    for name in ["nonesuch", "bbr", "external", "ledbat"] {
        let error = judge(&Subject::quic(name, MSS), &[]).unwrap_err().to_string();
        assert!(error.starts_with("controller: expected one of reno, cubic, ") && error.ends_with(&format!("got \"{name}\"")), "{error}");
    }
}

#[test]
fn the_windows_of_tcp_in_recovery_are_not_compared_and_its_threshold_is() {
    let log = |ssthresh: u64| {
        let window = |cwnd: u64, ssthresh: u64| Action::Window { cwnd, ssthresh: Some(ssthresh) };
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        [
            (0, window(60_000, 60_000)),
            (5, Action::Acked(Acked { bytes: 1000, ..Acked::default() })),
            (10, Action::Lost { sent: None, persistent: false, in_flight: None }),
            (10, window(60_000, ssthresh)),
            (20, window(50_000, ssthresh)),
            (30, Action::Recovered),
            (30, window(ssthresh, ssthresh)),
        ]
        .map(|(ms, action)| Event { at: at(ms), action })
    };
    let subject = Subject { transport: Transport::Tcp, ..Subject::quic("reno", 1000) };
    assert!(judge(&subject, &log(30_000)).unwrap().divergences.is_empty());
    assert_eq!(judge(&subject, &log(45_000)).unwrap().divergences[0].cause, Cause::OtherFactor);
}

/// A TCP log of a CUBIC sender without fast convergence, whose second loss is at this window, with whole windows of a path of 100 ms.
fn second_loss_at(window: f64, grown: bool) -> Vec<Event> {
    let entry = REGISTRY.iter().find(|entry| entry.name == "cubic").unwrap();
    let mut controller = (entry.default)().build(Start::new(100.0, 100.0)).unwrap();
    let mut log = Vec::new();
    let mut now = Time::ZERO;
    let rtt = Duration::from_millis(100);
    let report = |now: Time, controller: &AnyController, log: &mut Vec<Event>| {
        let bytes = |segments: f64| (segments * 1000.0) as u64;
        let Window { cwnd, ssthresh } = controller.window();
        log.push(Event { at: now, action: Action::Window { cwnd: bytes(cwnd), ssthresh: Some(bytes(ssthresh)) } });
    };
    report(now, &controller, &mut log);
    for loss_at in [100.0, window] {
        log.push(Event { at: now, action: Action::Acked(Acked { bytes: 1000, srtt: rtt, limit: Limit::Window, ..Acked::default() }) });
        report(now, &controller, &mut log);
        log.push(Event { at: now, action: Action::Lost { sent: None, persistent: false, in_flight: None } });
        // Without fast convergence W_max is the window, as if it were above the one before.
        let used = if grown { f64::max(loss_at, 100.0) } else { loss_at };
        controller.on_congestion(&CongestionEvent { now, window: used, signal: Signal::Loss });
        report(now, &controller, &mut log);
        log.push(Event { at: now, action: Action::Recovered });
        report(now, &controller, &mut log);
        while controller.cwnd() < window - 0.01 || (loss_at == window && now < Time::ZERO + Duration::from_millis(30_000)) {
            now += rtt.mul_f64(1.0 / controller.cwnd());
            let acked = Acked { bytes: 1000, rtt: Some(rtt), srtt: rtt, rtt_min: rtt, limit: Limit::Window, ..Acked::default() };
            log.push(Event { at: now, action: Action::Acked(acked) });
            controller.on_ack(&Ack { now, rtt: Some(rtt), srtt: rtt, rtt_min: rtt, abc_limit: f64::INFINITY, ..Ack::ONE });
            report(now, &controller, &mut log);
        }
    }
    log
}

#[test]
fn a_window_that_equals_w_max_but_for_rounding_may_be_on_either_side_of_it() {
    let found = |window: f64, grown: bool| {
        let log = second_loss_at(window, grown);
        !judge(&Subject::tcp("cubic", 1000), &log).unwrap().divergences.is_empty()
    };
    assert_eq!([found(99.98, false), found(99.98, true)], [false, false]);
    // Two packets below, fast convergence is due.
    assert_eq!([found(98.0, false), found(98.0, true)], [false, true]);
}

#[test]
fn an_estimated_window_may_leave_the_first_slow_start_and_be_some_packets_off() {
    let found = |mut off: Box<dyn FnMut(f64) -> f64>, estimated: bool| {
        let mut sender = Sender::new("reno", None, Duration::from_millis(40));
        (0..4000).for_each(|_| sender.ack(1));
        let estimate = |event: &Event| match event.action {
            Action::Window { cwnd, .. } => {
                let cwnd = off(cwnd as f64 / f64::from(MSS)) * f64::from(MSS);
                Event { action: Action::Window { cwnd: cwnd as u64, ssthresh: None }, ..*event }
            }
            _ => *event,
        };
        let log: Vec<Event> = sender.log.iter().map(estimate).collect();
        !judge(&Subject { estimated, ..Subject::tcp("reno", MSS) }, &log).unwrap().divergences.is_empty()
    };
    // The sender's slow start ends at 200 packets, which its log does not tell.
    assert_eq!([found(Box::new(|cwnd| cwnd), true), found(Box::new(|cwnd| cwnd), false)], [false, true]);
    let alternates = |by: f64| {
        let mut sign = 1.0;
        Box::new(move |cwnd: f64| {
            sign = -sign;
            if cwnd > 205.0 { cwnd + sign * by } else { cwnd }
        })
    };
    assert_eq!([found(alternates(2.0), true), found(alternates(20.0), true)], [false, true]);
}

#[test]
fn tcp_reduces_its_threshold_once_in_a_recovery() {
    let log = |later: u64, renewed: bool| {
        let window = |cwnd: u64, ssthresh: u64| Action::Window { cwnd, ssthresh: Some(ssthresh) };
        let lost = Action::Lost { sent: None, persistent: false, in_flight: None };
        let acked = Action::Acked(Acked { bytes: 1000, ..Acked::default() });
        let at = |ms: u64| Time::ZERO + Duration::from_millis(ms);
        let again = if renewed { vec![(20, Action::Recovered), (20, lost)] } else { Vec::new() };
        let start =
            [(0, window(60_000, 60_000)), (5, acked), (10, lost), (10, window(60_000, 30_000)), (15, window(30_000, 30_000)), (20, acked)];
        let end = [(20, window(30_000, later)), (25, acked), (30, Action::Recovered), (30, window(later, later))];
        let events = start.into_iter().chain(again).chain(end);
        let events: Vec<Event> = events.map(|(ms, action)| Event { at: at(ms), action }).collect();
        let found = judge(&Subject::tcp("reno", 1000), &events).unwrap();
        found.divergences.iter().map(|divergence| divergence.cause).collect::<Vec<_>>()
    };
    assert_eq!([log(30_000, false), log(15_000, true)], [vec![], vec![]]);
    assert_eq!(log(15_000, false), [Cause::ReducedAgain]);
}

/// A TCP log of an H-TCP sender. The ACK that ends each recovery has a larger RTT, which counts if the recovery is over.
fn repaired(is_over: bool) -> Vec<Event> {
    let entry = REGISTRY.iter().find(|entry| entry.name == "htcp").unwrap();
    let mut htcp = (entry.default)().build(Start::new(200.0, 200.0)).unwrap();
    let (mut now, mut log) = (Time::ZERO, Vec::new());
    let mut act = |htcp: &mut AnyController, packets: u32, rtt: u64, in_recovery: bool| {
        now += Duration::from_millis(1);
        let (acked, rtt, in_flight) = (f64::from(packets), Duration::from_millis(rtt), htcp.cwnd());
        htcp.on_ack(&Ack {
            now,
            acked,
            advanced: acked,
            rtt: Some(rtt),
            srtt: rtt,
            in_flight,
            in_recovery,
            open: !in_recovery,
            ..Ack::ONE
        });
        let flying = (in_flight * 1000.0) as u64;
        let limit = Limit::Window;
        let bytes = u64::from(packets) * 1000;
        (now, Action::Acked(Acked { bytes, rtt: Some(rtt), srtt: rtt, in_flight: flying, limit, ..Acked::default() }))
    };
    let window = |htcp: &AnyController| {
        let bytes = |segments: f64| (segments * 1000.0).round() as u64;
        Action::Window { cwnd: bytes(htcp.cwnd()), ssthresh: Some(bytes(htcp.ssthresh())) }
    };
    log.push((Time::ZERO, window(&htcp)));
    for _ in 0..4 {
        for _ in 0..100 {
            let acked = act(&mut htcp, 1, 60, false);
            log.extend([acked, (acked.0, window(&htcp))]);
        }
        let at = log.last().unwrap().0;
        htcp.on_congestion(&CongestionEvent { now: at, window: htcp.cwnd(), signal: Signal::Loss });
        log.extend([(at, Action::Lost { sent: None, persistent: false, in_flight: None }), (at, window(&htcp))]);
        log.push(act(&mut htcp, 1, 60, true));
        let last = act(&mut htcp, 10, 79, !is_over);
        let ssthresh = htcp.ssthresh();
        htcp.on_event(&EndpointEvent::IdleRestart(Window { cwnd: ssthresh, ssthresh }));
        log.extend([last, (last.0, Action::Recovered), (last.0, window(&htcp))]);
    }
    log.into_iter().map(|(at, action)| Event { at, action }).collect()
}

#[test]
fn the_ack_that_ends_a_recovery_of_tcp_comes_after_it() {
    let found = |is_over: bool| judge(&Subject::tcp("htcp", 1000), &repaired(is_over)).unwrap().divergences;
    assert_eq!(found(true), []);
    assert!(!found(false).is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    /// Every controller of the registry that can be judged agrees with itself.
    #[test]
    fn a_controller_agrees_with_itself(
        rtt_ms in 5u64..800,
        packets in 1u32..3,
        times in prop::collection::vec((100u32..6000, prop_oneof![Just(Then::Loss), Just(Then::LossAgain), Just(Then::Persistent)]), 0..6),
    ) {
        for name in controllers() {
            let found = judged(name, None, rtt_ms, &times, packets);
            prop_assert!(found.divergences.is_empty(), "{name}: {:?}", found.divergences);
        }
    }
}
