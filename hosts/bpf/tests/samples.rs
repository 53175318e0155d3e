//! A million random events through BBRv3 in C and through the engine's.
//! The windows agree within 1/1000 of a segment, and the pacing rates within a millionth.

use sojourn_bpf::ONE;
use sojourn_bpf::sampled::{BBR3, CDraws, SampledConnection};
use sojourn_cc::algorithms::bbr3;
use sojourn_cc::{CongestionController, CongestionEvent, Event, LossState, LostSegment, RateSample, Signal, Start};
use sojourn_units::{Duration, Stream, Time};

const EVENTS: u32 = 1_000_000;
/// The largest difference of windows, in segments.
const TOLERANCE: f64 = 1e-3;
/// The largest relative difference of pacing rates.
const RELATIVE: f64 = 1e-6;
/// The largest difference of numbers that are a tie, in segments.
/// Losses are rounded differently in floats and in integers, so that a window may be on either side of a threshold.
const TIE: f64 = 1e-7;
/// The most replays that a tie may start again.
const MOST_TIES: u32 = 20;
/// Events of a connection, and of its lossy or congested beginning.
const CONNECTION: u32 = 5_000;
const BEGINNING: u32 = 300;
const MS: f64 = 1e6;

/// A path of random rate and delay, and the connection over it.
struct Path {
    random: Stream,
    now: u64,
    rate: f64,
    base: f64,
    srtt: f64,
    delivered: u64,
    lost: u64,
    state: LossState,
    selective_acks: bool,
    /// The number of the connection, and of its events.
    connection: u32,
    age: u32,
}

/// What happens to a connection.
#[derive(Debug)]
enum Happening {
    Sample(RateSample),
    Lost(LostSegment),
    Congestion(Signal),
    Timeout { in_flight: u64 },
    Restart { app_limited: bool },
    Spurious,
}

impl Path {
    fn new(seed: u64) -> Path {
        Path {
            random: Stream::named(seed, "path"),
            now: 1,
            rate: 2_000.0,
            base: 30.0 * MS,
            srtt: 0.0,
            delivered: 0,
            lost: 0,
            state: LossState::Open,
            selective_acks: seed != 3,
            connection: 0,
            age: 0,
        }
    }

    /// Begins another connection.
    fn restart(&mut self) {
        (self.srtt, self.delivered, self.lost, self.state) = (0.0, 0, 0, LossState::Open);
        (self.connection, self.age) = (self.connection + 1, 0);
    }

    /// Whether the connection begins with many losses.
    fn is_lossy(&self) -> bool {
        self.age < BEGINNING && self.connection % 3 == 1
    }

    /// Whether the connection begins with a queue that does not drain.
    fn is_congested(&self) -> bool {
        self.age < BEGINNING && self.connection % 3 == 2
    }

    fn chance(&mut self, probability: f64) -> bool {
        self.random.unit() < probability
    }

    fn now(&self) -> Time {
        Time::from_nanos(self.now)
    }

    /// The next event of a connection with this window.
    fn next(&mut self, cwnd: f64) -> Happening {
        self.age += 1;
        self.now += 1 + self.random.exponential(1.0 * MS) as u64;
        if self.chance(2e-5) {
            self.now += self.random.below(20_000_000_000);
            (self.rate, self.base) = (self.random.uniform(50.0, 50_000.0), self.random.uniform(0.2, 150.0) * MS);
        }
        let in_flight = (cwnd * self.random.uniform(if self.is_congested() { 1.0 } else { 0.2 }, 1.1)) as u64;
        if self.chance(if self.is_lossy() { 0.05 } else { 2e-3 }) {
            self.state = LossState::Recovery;
            return Happening::Congestion(if self.chance(0.8) { Signal::Loss } else { Signal::Mark });
        }
        if self.state != LossState::Open && self.chance(0.03) {
            self.state = LossState::Open;
            if self.chance(0.1) {
                return Happening::Spurious;
            }
        }
        if self.chance(1e-4) {
            self.state = LossState::Timeout;
            return Happening::Timeout { in_flight: in_flight.min(20) };
        }
        if self.chance(1e-3) {
            return Happening::Restart { app_limited: self.chance(0.5) };
        }
        if self.chance(if self.is_lossy() { 0.3 } else { 0.01 }) {
            return Happening::Lost(self.loss(in_flight));
        }
        Happening::Sample(self.sample(in_flight))
    }

    fn loss(&mut self, in_flight: u64) -> LostSegment {
        let size = 1 + self.random.below(3);
        self.lost += size;
        LostSegment {
            now: self.now(),
            size: size as f64,
            tx_in_flight: (in_flight + size) as f64,
            lost: (size + self.random.below(1 + in_flight / 20)) as f64,
            is_app_limited: self.chance(0.1),
            delivered_total: self.delivered as f64,
            contiguous: self.chance(0.2),
            selective_acks: self.selective_acks,
        }
    }

    fn sample(&mut self, in_flight: u64) -> RateSample {
        let newly_acked = if self.chance(0.02) { 0 } else { 1 + self.random.below(3) };
        self.delivered += newly_acked;
        let queue = self.random.exponential(5.0 * MS);
        let rtt = Duration::from_nanos((self.base + queue) as u64 + 1);
        self.srtt = if self.srtt > 0.0 { self.srtt + 0.125 * (rtt.as_nanos() as f64 - self.srtt) } else { rtt.as_nanos() as f64 };
        // The older the newest delivered segment, the more was delivered since it was sent.
        let delivered = (in_flight / 2 + newly_acked).min(self.delivered);
        // Rates that both numbers hold exactly. They grow in a lossy beginning.
        let growth = if self.is_lossy() { 1.02f64.powi(self.age as i32) / 8.0 } else { 1.0 };
        let rate = (self.rate * growth * self.random.uniform(0.7, 1.05) * ONE).round() / ONE;
        RateSample {
            now: self.now(),
            delivered_total: self.delivered as f64,
            lost_total: self.lost as f64,
            newly_acked: newly_acked as f64,
            newly_lost: self.random.below(2) as f64,
            prior_delivered: (newly_acked > 0).then_some((self.delivered - delivered) as f64),
            delivered: delivered as f64,
            lost: if self.chance(if self.is_lossy() { 0.3 } else { 0.9 }) { 0.0 } else { self.random.below(1 + in_flight / 20) as f64 },
            tx_in_flight: (in_flight + 1 + self.random.below(3)) as f64,
            delivery_rate: if self.chance(0.05) { 0.0 } else { rate },
            is_app_limited: self.chance(0.1),
            rtt: (!self.chance(0.05)).then_some(rtt),
            srtt: Duration::from_nanos(self.srtt as u64),
            prior_in_flight: (in_flight + newly_acked) as f64,
            in_flight: in_flight as f64,
            may_be_delayed: false,
            pacing_delay: Duration::ZERO,
            is_cwnd_limited: !self.chance(0.3),
            state: self.state,
            selective_acks: self.selective_acks,
            marked: 0.0,
        }
    }
}

/// The controller of the engine and the one in C, with the same random numbers.
struct Pair {
    exact: bbr3::Bbr3,
    fixed: SampledConnection,
    random: Stream,
}

impl Pair {
    fn new(params: &bbr3::Params, fields: &[u64], random: Stream) -> Pair {
        let mut exact = params.build(Start::new(10.0, f64::INFINITY)).unwrap();
        exact.on_event(&Event::Random(random.clone()));
        Pair { exact, fixed: SampledConnection::new(BBR3, fields, 10), random }
    }

    fn handle(&mut self, happening: &Happening, now: Time, srtt: Duration) {
        let mut ahead = self.random.clone();
        let coin = ahead.below(2);
        let wait = Duration::from_secs_f64(2.0 + ahead.unit());
        let (draws, drawn) = (CDraws { coin, time: wait.as_nanos() - 2_000_000_000 }, self.fixed.drawn());
        exactly(&mut self.exact, happening, now, srtt);
        match happening {
            Happening::Sample(sample) => self.fixed.on_sample(sample, draws),
            Happening::Lost(lost) => self.fixed.on_lost(lost, draws),
            &Happening::Congestion(signal) => self.fixed.on_congestion(signal == Signal::Loss),
            &Happening::Timeout { in_flight } => self.fixed.on_rto(in_flight + 1),
            &Happening::Restart { app_limited } => self.fixed.on_restart(now, srtt.as_nanos(), app_limited, draws),
            Happening::Spurious => self.fixed.on_spurious(),
        }
        if self.fixed.drawn() > drawn {
            self.random = ahead;
        }
    }

    /// The difference of the windows of the engine and of the C code.
    /// `None` if window or pacing rate do not agree.
    fn difference(&self, exact: &bbr3::Bbr3) -> Option<f64> {
        let window = (exact.cwnd() - self.fixed.cwnd()).abs();
        let rate = exact.pacing().unwrap().rate;
        (window <= TOLERANCE && (rate - self.fixed.pacing_rate()).abs() <= RELATIVE * rate).then_some(window)
    }

    /// Whether the engine comes to the result of the C code after a change by `TIE`.
    /// The window, the data in flight or the acknowledged data is changed.
    fn is_tie(&self, before: &bbr3::Bbr3, happening: &Happening, now: Time) -> bool {
        [-TIE, TIE].iter().any(|shift| {
            let mut moved = before.clone();
            moved.set_cwnd(moved.cwnd() + shift);
            exactly(&mut moved, happening, now, Duration::ZERO);
            let of_sample = |sample: RateSample| {
                let mut other = before.clone();
                other.on_sample(&sample);
                self.difference(&other).is_some()
            };
            let in_sample = match happening {
                &Happening::Sample(sample) => {
                    of_sample(RateSample { in_flight: sample.in_flight + shift, ..sample })
                        || of_sample(RateSample { newly_acked: sample.newly_acked + shift, ..sample })
                }
                _ => false,
            };
            in_sample || self.difference(&moved).is_some()
        })
    }
}

/// Passes an event to the engine's controller.
fn exactly(controller: &mut bbr3::Bbr3, happening: &Happening, now: Time, srtt: Duration) {
    let window = controller.cwnd();
    match happening {
        Happening::Sample(sample) => controller.on_sample(sample),
        Happening::Lost(lost) => controller.on_lost(lost),
        &Happening::Congestion(signal) => controller.on_congestion(&CongestionEvent { now, window, signal }),
        &Happening::Timeout { in_flight } => {
            controller.on_rto(now, window);
            controller.on_event(&Event::RtoRestart { in_flight: in_flight as f64 });
        }
        &Happening::Restart { app_limited } => controller.on_event(&Event::FlightStart { now, srtt, app_limited }),
        Happening::Spurious => controller.on_event(&Event::SpuriousRecovery),
    }
}

/// Replays the events through both.
/// Returns the largest difference of the windows, the number of ties, and the number of probes.
fn replay(params: &bbr3::Params, fields: &[u64], seed: u64) -> (f64, u32, u64) {
    let mut path = Path::new(seed);
    let mut pair = Pair::new(params, fields, Stream::named(seed, "controller"));
    let (mut worst, mut ties, mut probes, mut mean) = (0.0f64, 0, 0, 0.0);
    for event in 0..EVENTS {
        if event % CONNECTION == 0 {
            path.restart();
            pair = Pair::new(params, fields, Stream::named(event.into(), "controller"));
        }
        let (before, drawn) = (pair.exact.clone(), pair.fixed.drawn());
        let happening = path.next(before.cwnd());
        pair.handle(&happening, path.now(), Duration::from_nanos(path.srtt as u64));
        let Some(difference) = pair.difference(&pair.exact) else {
            let (exact, fixed) = (&pair.exact, (pair.fixed.cwnd(), pair.fixed.pacing_rate()));
            assert!(pair.is_tie(&before, &happening, path.now()), "event {event}: {exact:?}, C: {fixed:?} {happening:?}");
            ties += 1;
            assert!(ties <= MOST_TIES, "event {event}");
            pair = Pair::new(params, fields, Stream::named(event.into(), "controller"));
            continue;
        };
        worst = worst.max(difference);
        probes += pair.fixed.drawn() - drawn;
        mean += before.cwnd() / f64::from(EVENTS);
    }
    // The windows moved and the path was probed, so that the comparison means something.
    assert!(mean > 10.0 && probes > 1000, "mean {mean}, {probes} probes");
    (worst, ties, probes)
}

fn q32(value: f64) -> u64 {
    (value * ONE).round() as u64
}

#[test]
fn bbr3_in_c_sets_the_windows_and_rates_of_the_engine() {
    for seed in 1..=3 {
        let mut params = bbr3::Params::default();
        if seed == 2 {
            (params.startup_gain, params.cwnd_gain, params.loss_threshold, params.beta) = (2.0, 3.0, 0.05, 0.5);
            (params.headroom, params.probe_rtt) = (0.3, Duration::from_millis(50));
            (params.min_rtt_window, params.probe_rtt_interval) = (Duration::from_secs(4), Duration::from_secs(2));
        }
        let gains = [params.startup_gain, params.cwnd_gain, params.loss_threshold, params.beta, params.headroom].map(q32);
        let times = [params.min_rtt_window, params.probe_rtt_interval, params.probe_rtt].map(|time| time.as_nanos());
        println!("{:?}", replay(&params, &[&gains[..], &times].concat(), seed));
    }
}
